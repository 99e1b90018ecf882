/* model/distinct.h -- Distinct sketch: a mergeable HyperLogLog, which estimates how many different values there are.
 *
 * A value is hashed to 64 bits. Up to IFOREST_DISTINCT_MOST_LISTED values are kept as a list of hashes, each cut to its first
 * 26 bits and the position of the first bit set after them. More are kept as 4096 registers, each of which has the highest such
 * position among the hashes that begin with its number. The sketch does not depend on the order in which values are added and
 * sketches merged, nor on how often; equal sets are equal bytes. Values cannot be removed.
 *
 *   error   of a list, whose length is the answer: none, unless two hashes agree in 26 bits (with 768 values one time in 228).
 *           Of registers: a standard error of 1.04 / sqrt(4096) = 1.625 % (IFOREST_DISTINCT_ERROR)
 *   hash    XXH64 of the value's key, an int64 in little-endian bytes. The key of an integer, or of a real equal to one, is
 *           that integer. The key of another real, a string or a blob is 40 bits of the XXH64 of its bytes, in a range of its
 *           own. (In a billion strings one in 2000 shares its key with another: far below the error.)
 *
 * After Flajolet, Fusy, Gandouet, Meunier: HyperLogLog: the analysis of a near-optimal cardinality estimation algorithm, 2007;
 * the list is the sparse form of Heule, Nunkesser, Hall: HyperLogLog in practice, 2013; the estimate, which needs no tables, is
 * that of Otmar Ertl: New cardinality estimation algorithms for HyperLogLog sketches, 2017 (arXiv:1702.01284).
 *
 * Bytes: FORMAT.md, "Distinct sketches".
 */
#ifndef IFOREST_MODEL_DISTINCT_H
#define IFOREST_MODEL_DISTINCT_H

#include "core/base/alloc.h"
#include "core/base/status.h"
#include "core/model/aggregate.h"

#define IFOREST_DISTINCT_BITS 12u
#define IFOREST_DISTINCT_MOST_LISTED 768u
#define IFOREST_DISTINCT_ERROR 0.01625

/* ---- Keys ---- */

/* Return the key of a value. Equal values have equal keys: 1 and 1.0, 0 and -0, all NaN. The key of a key is the key itself. */
int64_t iforest_distinct_key_of_number(union iforest_number number, enum iforest_value_type type);
int64_t iforest_distinct_key_of_text(const void *bytes, size_t n_bytes);
int64_t iforest_distinct_key_of_blob(const void *bytes, size_t n_bytes);

/* ---- Filling ---- */

struct iforest_distinct {
	const struct iforest_alloc *alloc;
	uint32_t *list; /* ascending; of two items with the same 26 bits only the greater is kept */
	size_t n_listed, n_reserved;
	uint8_t *registers; /* NULL while there is a list */
};

/* Starts an empty sketch. alloc must outlive it. */
void iforest_distinct_init(struct iforest_distinct *distinct, const struct iforest_alloc *alloc);
void iforest_distinct_release(struct iforest_distinct *distinct);

/* Adds a number, or a key as an integer.
 * Cost    log2(length of the list), and a move of the list for a new value.
 * Errors  IFOREST_NO_MEMORY; the sketch is then unchanged. */
enum iforest_status iforest_distinct_add(struct iforest_distinct *distinct, union iforest_number number,
					 enum iforest_value_type type);

/* Adds the values of a stored sketch. After an error the sketch can only be released.
 * Errors  IFOREST_CORRUPT, IFOREST_FORMAT: the bytes are not a distinct sketch; IFOREST_NO_MEMORY. */
enum iforest_status iforest_distinct_merge(struct iforest_distinct *distinct, const uint8_t *bytes, size_t n_bytes);

/* Serializes the sketch. The caller frees the bytes with iforest_release(). Errors: IFOREST_NO_MEMORY. */
enum iforest_status iforest_distinct_write(const struct iforest_distinct *distinct, uint8_t **bytes, size_t *n_bytes);

/* True if nothing was added. */
bool iforest_distinct_is_empty(const struct iforest_distinct *distinct);

/* ---- Stored sketches ---- */

/* Estimates the number of distinct values of a stored sketch. Validates the bytes completely: only bytes that
 * iforest_distinct_write() could have written pass.
 * Errors  IFOREST_CORRUPT, IFOREST_FORMAT. */
enum iforest_status iforest_distinct_count(const uint8_t *bytes, size_t n_bytes, uint64_t *n);

#endif
