#include "core/model/series_key.h"

#include <math.h>

#include "core/base/bits.h"
#include "core/base/xxh64.h"

static const uint64_t sign_bit = UINT64_C(1) << 63;

static void store_big_endian(uint8_t *bytes, uint64_t x)
{
	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(x >> (56 - 8 * i));
}

static uint64_t load_big_endian(const uint8_t *bytes)
{
	uint64_t x = 0;

	for (unsigned i = 0; i < 8; i++)
		x = x << 8 | bytes[i];
	return x;
}

/* Maps a double to bits that compare as the doubles do: inverts negative ones, and sets the sign bit of the others. */
static uint64_t ordered_bits(double real)
{
	uint64_t bits;

	memcpy(&bits, &real, sizeof bits);
	return bits & sign_bit ? ~bits : bits | sign_bit;
}

static double from_ordered_bits(uint64_t bits)
{
	double real;

	bits = bits & sign_bit ? bits & ~sign_bit : ~bits;
	memcpy(&real, &bits, sizeof real);
	return real;
}

struct iforest_by_value iforest_by_canonical(struct iforest_by_value value)
{
	int64_t integer;

	if (value.tag == IFOREST_BY_REAL && isnan(value.real))
		return (struct iforest_by_value){ .tag = IFOREST_BY_NULL };
	if (value.tag == IFOREST_BY_REAL && iforest_integral(value.real, &integer))
		return (struct iforest_by_value){ .tag = IFOREST_BY_INTEGER, .integer = integer };
	return value;
}

static enum iforest_status reserve(struct iforest_series_key *key, uint64_t n_bytes)
{
	uint64_t n_wanted = key->n_bytes + n_bytes;
	uint8_t *bytes;

	if (n_wanted > IFOREST_MAX_SERIES_KEY_BYTES)
		return IFOREST_TOO_LARGE;
	if (n_wanted <= key->n_reserved)
		return IFOREST_OK;
	n_wanted = n_wanted > 2 * (uint64_t)key->n_reserved ? n_wanted : 2 * (uint64_t)key->n_reserved;
	bytes = key->alloc->reallocate(key->alloc->context, key->bytes, n_wanted);
	if (!bytes)
		return IFOREST_NO_MEMORY;
	key->bytes = bytes;
	key->n_reserved = (uint32_t)n_wanted;
	return IFOREST_OK;
}

enum iforest_status iforest_series_key_append(struct iforest_series_key *key, const struct iforest_by_value *value)
{
	struct iforest_by_value canonical = iforest_by_canonical(*value);
	bool has_data = canonical.tag == IFOREST_BY_TEXT || canonical.tag == IFOREST_BY_BLOB;
	enum iforest_status status = reserve(key, UINT64_C(9) + (has_data ? canonical.n_bytes : 0));
	uint8_t *out;

	if (status)
		return status;
	out = key->bytes + key->n_bytes;
	*out++ = (uint8_t)canonical.tag;
	if (has_data) {
		iforest_store32(out, canonical.n_bytes);
		if (canonical.n_bytes)
			memcpy(out + 4, canonical.data, canonical.n_bytes);
		out += 4 + canonical.n_bytes;
	} else if (canonical.tag != IFOREST_BY_NULL) {
		store_big_endian(out, canonical.tag == IFOREST_BY_INTEGER ? (uint64_t)canonical.integer ^ sign_bit
									  : ordered_bits(canonical.real));
		out += 8;
	}
	key->n_bytes = (uint32_t)(out - key->bytes);
	return IFOREST_OK;
}

void iforest_series_key_release(struct iforest_series_key *key)
{
	iforest_release(key->alloc, key->bytes);
	*key = (struct iforest_series_key){ .alloc = key->alloc };
}

uint64_t iforest_series_key_checksum(uint32_t id, const uint8_t *key, uint32_t n_bytes)
{
	return iforest_xxh64(n_bytes ? key : (const uint8_t *)"", n_bytes) * (2 * (uint64_t)id + 1);
}

enum iforest_status iforest_series_key_next(const uint8_t *bytes, uint32_t n_bytes, uint32_t *offset,
					    struct iforest_by_value *value)
{
	struct iforest_by_value read = { .tag = IFOREST_BY_NULL };
	uint32_t n_left, n_used = 1;
	const uint8_t *at;

	if (*offset >= n_bytes)
		return IFOREST_CORRUPT;
	n_left = n_bytes - *offset;
	at = bytes + *offset;
	read.tag = (enum iforest_series_tag)at[0];
	switch (at[0]) {
	case IFOREST_BY_NULL:
		break;
	case IFOREST_BY_INTEGER:
	case IFOREST_BY_REAL:
		n_used = 9;
		if (n_left < n_used)
			return IFOREST_CORRUPT;
		if (at[0] == IFOREST_BY_INTEGER)
			read.integer = (int64_t)(load_big_endian(at + 1) ^ sign_bit);
		else
			read.real = from_ordered_bits(load_big_endian(at + 1));
		break;
	case IFOREST_BY_TEXT:
	case IFOREST_BY_BLOB:
		if (n_left < 5 || iforest_load32(at + 1) > n_left - 5)
			return IFOREST_CORRUPT;
		read.n_bytes = iforest_load32(at + 1);
		read.data = at + 5;
		n_used = 5 + read.n_bytes;
		break;
	default:
		return IFOREST_CORRUPT;
	}
	*offset += n_used;
	*value = read;
	return IFOREST_OK;
}
