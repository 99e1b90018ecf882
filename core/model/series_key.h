/* model/series_key.h -- Canonical byte encoding of a series' by-column values: equal series have equal bytes.
 *
 * Integral doubles become integers, so 1 and 1.0 are one series, and -0 is 0. Keys of numbers compare as the numbers do.
 * Bytes: FORMAT.md, "Series".
 */
#ifndef IFOREST_MODEL_SERIES_KEY_H
#define IFOREST_MODEL_SERIES_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/alloc.h"
#include "core/base/status.h"

#define IFOREST_MAX_SERIES_KEY_BYTES (1u << 30)

enum iforest_series_tag {
	IFOREST_BY_NULL = 1,
	IFOREST_BY_INTEGER = 2,
	IFOREST_BY_REAL = 3,
	IFOREST_BY_TEXT = 4,
	IFOREST_BY_BLOB = 5
};

/* A value of a by column. data belongs to the caller. */
struct iforest_by_value {
	enum iforest_series_tag tag;
	uint32_t n_bytes; /* of data */
	union {
		int64_t integer;
		double real;
		const uint8_t *data;
	};
};

/* A series key being written; bytes are owned. Start with { .alloc = ... }, end with iforest_series_key_release(). */
struct iforest_series_key {
	const struct iforest_alloc *alloc;
	uint8_t *bytes;
	uint32_t n_bytes, n_reserved;
};

/* Appends a value in canonical form. Errors: IFOREST_NO_MEMORY; IFOREST_TOO_LARGE over 1 GiB. The key is then unchanged. */
enum iforest_status iforest_series_key_append(struct iforest_series_key *key, const struct iforest_by_value *value);
void iforest_series_key_release(struct iforest_series_key *key);

/* Makes a value canonical: an integral real becomes an integer, NaN becomes NULL. */
struct iforest_by_value iforest_by_canonical(struct iforest_by_value value);

/* True if an index probably has the wrong by columns: more than 10 000 rows, and fewer than 4 rows per series. */
static inline bool iforest_are_series_too_many(uint64_t n_series, uint64_t n_rows)
{
	return n_rows > 10000 && n_series > n_rows / 4;
}

/* Returns the term of a series in the checksum of a dictionary, which is the sum over all series modulo 2^64:
 * XXH64(key, seed 0) * (2 id + 1). It does not depend on the order of the series, but on which id each has. */
uint64_t iforest_series_key_checksum(uint32_t id, const uint8_t *key, uint32_t n_bytes);

/* Reads the value at *offset of untrusted bytes, and advances *offset; value->data points into the bytes.
 * Errors  IFOREST_CORRUPT: truncated, or an unknown tag. */
enum iforest_status iforest_series_key_next(const uint8_t *bytes, uint32_t n_bytes, uint32_t *offset,
					    struct iforest_by_value *value);

#endif
