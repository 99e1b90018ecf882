/* model/digest.h -- Digest of values: a quantile sketch or a distinct sketch, behind one interface.
 *
 * Scans add values to a digest, engines store digests of nodes (query/sketch_scan.h), and the aggregates of both engines fill
 * one for each group.
 *
 *   kind       sketch                  values can be removed   counts its values
 *   QUANTILES  model/sketch.h          yes                     yes
 *   DISTINCT   model/distinct.h        no                      no
 */
#ifndef IFOREST_MODEL_DIGEST_H
#define IFOREST_MODEL_DIGEST_H

#include "core/model/distinct.h"
#include "core/model/sketch.h"

enum iforest_digest_kind { IFOREST_DIGEST_QUANTILES, IFOREST_DIGEST_DISTINCT, IFOREST_N_DIGESTS };

struct iforest_digest {
	enum iforest_digest_kind kind;
	union {
		struct iforest_sketch quantiles;
		struct iforest_distinct distinct;
	} as;
};

/* Starts an empty digest. alloc must outlive it. */
void iforest_digest_init(struct iforest_digest *digest, enum iforest_digest_kind kind, const struct iforest_alloc *alloc);
void iforest_digest_release(struct iforest_digest *digest);

bool iforest_digest_is_empty(const struct iforest_digest *digest);

/* True if values can be removed from digests of the kind. */
static inline bool iforest_digest_takes_out(enum iforest_digest_kind kind)
{
	return kind == IFOREST_DIGEST_QUANTILES;
}

/* The same functions as those of the sketch, with the same errors.
 * Requires  iforest_digest_takes_out(), for `remove` and `subtract`. */
enum iforest_status iforest_digest_add(struct iforest_digest *digest, union iforest_number number,
				       enum iforest_value_type type);
enum iforest_status iforest_digest_remove(struct iforest_digest *digest, union iforest_number number,
					  enum iforest_value_type type);
enum iforest_status iforest_digest_merge(struct iforest_digest *digest, const uint8_t *bytes, size_t n_bytes);
enum iforest_status iforest_digest_subtract(struct iforest_digest *digest, const uint8_t *bytes, size_t n_bytes);
enum iforest_status iforest_digest_write(const struct iforest_digest *digest, uint8_t **bytes, size_t *n_bytes);

#endif
