#include "core/base/xxh64.h"

#include "core/base/bits.h"

static const uint64_t prime1 = 0x9E3779B185EBCA87u, prime2 = 0xC2B2AE3D27D4EB4Fu, prime3 = 0x165667B19E3779F9u,
		      prime4 = 0x85EBCA77C2B2AE63u, prime5 = 0x27D4EB2F165667C5u;

static uint64_t rotate(uint64_t x, unsigned n)
{
	return (x << n) | (x >> (64 - n));
}

static uint64_t mix(uint64_t lane, uint64_t word)
{
	return rotate(lane + word * prime2, 31) * prime1;
}

static uint64_t merge(uint64_t hash, uint64_t lane)
{
	return (hash ^ mix(0, lane)) * prime1 + prime4;
}

uint64_t iforest_xxh64(const uint8_t *bytes, uint64_t n_bytes)
{
	const uint8_t *end = bytes + n_bytes;
	uint64_t a = prime1 + prime2, b = prime2, c = 0, d = 0 - prime1;
	uint64_t hash = prime5;

	if (n_bytes >= 32) {
		/* four lanes in registers: an array of them would be loaded and stored at every step */
		for (; end - bytes >= 32; bytes += 32) {
			a = mix(a, iforest_load64(bytes));
			b = mix(b, iforest_load64(bytes + 8));
			c = mix(c, iforest_load64(bytes + 16));
			d = mix(d, iforest_load64(bytes + 24));
		}
		hash = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
		hash = merge(merge(merge(merge(hash, a), b), c), d);
	}
	hash += n_bytes;
	for (; end - bytes >= 8; bytes += 8)
		hash = rotate(hash ^ mix(0, iforest_load64(bytes)), 27) * prime1 + prime4;
	if (end - bytes >= 4) {
		hash = rotate(hash ^ iforest_load32(bytes) * prime1, 23) * prime2 + prime3;
		bytes += 4;
	}
	for (; bytes < end; bytes++)
		hash = rotate(hash ^ *bytes * prime5, 11) * prime1;
	hash = (hash ^ (hash >> 33)) * prime2;
	hash = (hash ^ (hash >> 29)) * prime3;
	return hash ^ (hash >> 32);
}
