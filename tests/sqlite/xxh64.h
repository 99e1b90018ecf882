/* tests/sqlite/xxh64.h -- XXH64 with seed 0, written from its specification (github.com/Cyan4973/xxHash, doc/xxhash_spec.md),
 * so that tests can correct the checksum of damaged bytes without the code under test. */
#ifndef IFOREST_TESTS_XXH64_H
#define IFOREST_TESTS_XXH64_H

#include <stddef.h>
#include <stdint.h>

#define XXH_P1 UINT64_C(0x9E3779B185EBCA87)
#define XXH_P2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define XXH_P3 UINT64_C(0x165667B19E3779F9)
#define XXH_P4 UINT64_C(0x85EBCA77C2B2AE63)
#define XXH_P5 UINT64_C(0x27D4EB2F165667C5)

static inline uint64_t xxh_rotl(uint64_t x, int r)
{
	return x << r | x >> (64 - r);
}

static inline uint64_t xxh_read(const unsigned char *p, int n)
{
	uint64_t x = 0;

	while (n-- > 0)
		x = x << 8 | p[n];
	return x;
}

static inline uint64_t xxh_round(uint64_t acc, uint64_t lane)
{
	return xxh_rotl(acc + lane * XXH_P2, 31) * XXH_P1;
}

static inline uint64_t xxh64(const unsigned char *p, size_t n)
{
	const unsigned char *end = p + n;
	uint64_t acc = XXH_P5;

	if (n >= 32) {
		uint64_t a[4] = { XXH_P1 + XXH_P2, XXH_P2, 0, 0 - XXH_P1 };

		for (; end - p >= 32; p += 32)
			for (int i = 0; i < 4; i++)
				a[i] = xxh_round(a[i], xxh_read(p + 8 * i, 8));
		acc = xxh_rotl(a[0], 1) + xxh_rotl(a[1], 7) + xxh_rotl(a[2], 12) + xxh_rotl(a[3], 18);
		for (int i = 0; i < 4; i++)
			acc = (acc ^ xxh_round(0, a[i])) * XXH_P1 + XXH_P4;
	}
	acc += n;
	for (; end - p >= 8; p += 8)
		acc = xxh_rotl(acc ^ xxh_round(0, xxh_read(p, 8)), 27) * XXH_P1 + XXH_P4;
	if (end - p >= 4) {
		acc = xxh_rotl(acc ^ xxh_read(p, 4) * XXH_P1, 23) * XXH_P2 + XXH_P3;
		p += 4;
	}
	for (; p < end; p++)
		acc = xxh_rotl(acc ^ *p * XXH_P5, 11) * XXH_P1;
	acc = (acc ^ acc >> 33) * XXH_P2;
	acc = (acc ^ acc >> 29) * XXH_P3;
	return acc ^ acc >> 32;
}

#endif
