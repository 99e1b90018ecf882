/* varint.h -- numbers in as many bytes as they need: 7 bits a byte, lowest first, the high bit set on all but the last. */
#ifndef IFOREST_VARINT_H
#define IFOREST_VARINT_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/bits.h"

#define IFOREST_MAX_VARINT_BYTES 10

/* Returns the first byte after what was written. */
static inline uint8_t *iforest_varint_write(uint8_t *out, uint64_t x)
{
	for (; x >= 0x80; x >>= 7)
		*out++ = (uint8_t)(x | 0x80);
	*out++ = (uint8_t)x;
	return out;
}

/* Returns the first byte after the number, NULL where it is cut by `end` or too long. */
static inline const uint8_t *iforest_varint_read(const uint8_t *bytes, const uint8_t *end, uint64_t *x)
{
	uint64_t value = 0;

	if (end - bytes >= 8) {
		uint64_t word = iforest_load64(bytes), last = ~word & UINT64_C(0x8080808080808080);

		if (last) {
			/* up to the first byte without the high bit; then sevens are put together, fourteens, and 28 bits */
			word &= last ^ (last - 1);
			word = (word & UINT64_C(0x007f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
			word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
			*x = (word & UINT64_C(0x000000000fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
			return bytes + iforest_trailing_zeros(last) / 8 + 1;
		}
	}
	for (unsigned shift = 0; bytes < end && shift < 64; shift += 7) {
		uint8_t byte = *bytes++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*x = value;
			return bytes;
		}
	}
	return NULL;
}

#endif
