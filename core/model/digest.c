#include "core/model/digest.h"

void iforest_digest_init(struct iforest_digest *digest, enum iforest_digest_kind kind, const struct iforest_alloc *alloc)
{
	digest->kind = kind;
	if (kind == IFOREST_DIGEST_DISTINCT)
		iforest_distinct_init(&digest->as.distinct, alloc);
	else
		iforest_sketch_init(&digest->as.quantiles, alloc);
}

void iforest_digest_release(struct iforest_digest *digest)
{
	if (digest->kind == IFOREST_DIGEST_DISTINCT)
		iforest_distinct_release(&digest->as.distinct);
	else
		iforest_sketch_release(&digest->as.quantiles);
}

bool iforest_digest_is_empty(const struct iforest_digest *digest)
{
	return digest->kind == IFOREST_DIGEST_DISTINCT ? iforest_distinct_is_empty(&digest->as.distinct)
						       : digest->as.quantiles.n == 0;
}

enum iforest_status iforest_digest_add(struct iforest_digest *digest, union iforest_number number, enum iforest_value_type type)
{
	return digest->kind == IFOREST_DIGEST_DISTINCT ? iforest_distinct_add(&digest->as.distinct, number, type)
						       : iforest_sketch_add(&digest->as.quantiles, number, type);
}

enum iforest_status iforest_digest_remove(struct iforest_digest *digest, union iforest_number number,
					  enum iforest_value_type type)
{
	return iforest_sketch_remove(&digest->as.quantiles, number, type);
}

enum iforest_status iforest_digest_merge(struct iforest_digest *digest, const uint8_t *bytes, size_t n_bytes)
{
	return digest->kind == IFOREST_DIGEST_DISTINCT ? iforest_distinct_merge(&digest->as.distinct, bytes, n_bytes)
						       : iforest_sketch_merge(&digest->as.quantiles, bytes, n_bytes);
}

enum iforest_status iforest_digest_subtract(struct iforest_digest *digest, const uint8_t *bytes, size_t n_bytes)
{
	return iforest_sketch_subtract(&digest->as.quantiles, bytes, n_bytes);
}

enum iforest_status iforest_digest_write(const struct iforest_digest *digest, uint8_t **bytes, size_t *n_bytes)
{
	return digest->kind == IFOREST_DIGEST_DISTINCT ? iforest_distinct_write(&digest->as.distinct, bytes, n_bytes)
						       : iforest_sketch_write(&digest->as.quantiles, bytes, n_bytes);
}
