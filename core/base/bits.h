/* base/bits.h -- Bit operations, 128-bit arithmetic, little-endian loads and stores, and varints.
 *
 * Domains are stated; outside them the result is undefined.
 */
#ifndef IFOREST_BASE_BITS_H
#define IFOREST_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Aligned to 8, as the memory of SQLite's and PostgreSQL's allocators is. */
__extension__ typedef __int128 iforest_int128 __attribute__((aligned(8)));
__extension__ typedef unsigned __int128 iforest_uint128 __attribute__((aligned(8)));

/* Trailing zero bits of x; x != 0. */
static inline unsigned iforest_trailing_zeros(uint64_t x)
{
	return (unsigned)__builtin_ctzll(x);
}

/* Index of the highest set bit, floor(log2 x); x != 0. */
static inline unsigned iforest_highest_bit(uint64_t x)
{
	return 63u - (unsigned)__builtin_clzll(x);
}

/* Bits needed to write x: 0 for 0, 64 for UINT64_MAX. */
static inline unsigned iforest_bit_width(uint64_t x)
{
	return x ? iforest_highest_bit(x) + 1 : 0;
}

/* Number of bits set in x. The compiler's builtin is a library call unless the target is known to have an instruction for it.
 * */
static inline unsigned iforest_popcount(uint64_t x)
{
	x -= x >> 1 & UINT64_C(0x5555555555555555);
	x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
	x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (unsigned)(x * UINT64_C(0x0101010101010101) >> 56);
}

/* A word with its n lowest bits set; n <= 64. */
static inline uint64_t iforest_low_bits(unsigned n)
{
	return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/* Maps signed to unsigned so that small magnitudes stay small: 0 -1 1 -2 -> 0 1 2 3. */
static inline uint64_t iforest_zigzag(int64_t x)
{
	return ((uint64_t)x << 1) ^ (uint64_t)(x >> 63);
}

static inline int64_t iforest_unzigzag(uint64_t x)
{
	return (int64_t)((x >> 1) ^ (0 - (x & 1)));
}

/* Floor of a / b; b > 0, a of any sign. */
static inline iforest_int128 iforest_floor_divide(iforest_int128 a, iforest_int128 b)
{
	return a / b - (a % b < 0);
}

/* True if the real is an integer that fits int64; writes it to *integer. */
static inline bool iforest_integral(double real, int64_t *integer)
{
	if (!(real >= -0x1p63 && real < 0x1p63) || (double)(int64_t)real != real)
		return false;
	*integer = (int64_t)real;
	return true;
}

/* Returns 2^exponent, -1022 <= exponent <= 1023. */
static inline double iforest_power_of_two(int exponent)
{
	uint64_t bits = (uint64_t)(exponent + 1023) << 52;
	double number;

	memcpy(&number, &bits, sizeof number);
	return number;
}

/* a + b modulo 2^128. Sums of real entries never overflow, but those of a forged node may. */
static inline iforest_int128 iforest_add_wrapping(iforest_int128 a, iforest_int128 b)
{
	return (iforest_int128)((iforest_uint128)a + (iforest_uint128)b);
}

/* Little-endian loads and stores at any alignment, the same bytes on every machine. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define IFOREST_LITTLE(x, bits) (x)
#else
#define IFOREST_LITTLE(x, bits) __builtin_bswap##bits(x)
#endif

static inline uint16_t iforest_load16(const uint8_t *bytes)
{
	uint16_t x;

	memcpy(&x, bytes, sizeof x);
	return IFOREST_LITTLE(x, 16);
}

static inline uint32_t iforest_load32(const uint8_t *bytes)
{
	uint32_t x;

	memcpy(&x, bytes, sizeof x);
	return IFOREST_LITTLE(x, 32);
}

static inline uint64_t iforest_load64(const uint8_t *bytes)
{
	uint64_t x;

	memcpy(&x, bytes, sizeof x);
	return IFOREST_LITTLE(x, 64);
}

static inline int64_t iforest_load_int64(const uint8_t *bytes)
{
	return (int64_t)iforest_load64(bytes);
}

static inline void iforest_store16(uint8_t *bytes, uint16_t x)
{
	x = IFOREST_LITTLE(x, 16);
	memcpy(bytes, &x, sizeof x);
}

static inline void iforest_store32(uint8_t *bytes, uint32_t x)
{
	x = IFOREST_LITTLE(x, 32);
	memcpy(bytes, &x, sizeof x);
}

static inline void iforest_store64(uint8_t *bytes, uint64_t x)
{
	x = IFOREST_LITTLE(x, 64);
	memcpy(bytes, &x, sizeof x);
}

/* Varints: 7 bits per byte, lowest first, with the high bit set on every byte but the last. */

#define IFOREST_MAX_VARINT_BYTES 10

/* Returns the first byte after the number written. */
static inline uint8_t *iforest_varint_write(uint8_t *out, uint64_t x)
{
	for (; x >= 0x80; x >>= 7)
		*out++ = (uint8_t)(x | 0x80);
	*out++ = (uint8_t)x;
	return out;
}

/* Returns the number that a varint of up to 8 bytes stands for, as the lowest bytes of a word without others. */
static inline uint64_t iforest_varint_number(uint64_t word)
{
	/* join groups of 7, 14 and 28 bits */
	word = (word & UINT64_C(0x007f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
	word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
	return (word & UINT64_C(0x000000000fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
}

/* Returns the first byte after the number read; NULL if `end` cuts it off or it is too long. */
static inline const uint8_t *iforest_varint_read(const uint8_t *bytes, const uint8_t *end, uint64_t *x)
{
	uint64_t value = 0;

	if (end - bytes >= 8) {
		uint64_t word = iforest_load64(bytes), last = ~word & UINT64_C(0x8080808080808080);

		if (last) {
			*x = iforest_varint_number(word & (last ^ (last - 1)));
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
