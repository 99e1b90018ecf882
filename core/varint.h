/* varint.h -- numbers in as many bytes as they need: 7 bits a byte, lowest first, the high bit set on all but the last. */
#ifndef IFOREST_VARINT_H
#define IFOREST_VARINT_H

#include <stddef.h>
#include <stdint.h>

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
