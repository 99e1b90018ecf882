/* types/sketch_datum.h -- Sketches (quantile summaries) as bytea datums, and the SQL functions on them. */
#ifndef IFP_TYPES_SKETCH_DATUM_H
#define IFP_TYPES_SKETCH_DATUM_H

#include "pg_ext/base/engine.h"

#include "core/model/digest.h"

/* Returns a sketch as bytes, in the current memory context. */
bytea *ifp_sketch_to_bytea(const struct iforest_digest *sketch);

/* Returns the sum of two sketches of a kind, in the current memory context. Raises an error if one is damaged or of another
 * kind.
 * Requires  both are detoasted. */
bytea *ifp_sketch_sum(enum iforest_digest_kind kind, const bytea *one, const bytea *other);

/* Estimates the number of distinct values of a sketch. Requires  it is a result of ifp_sketch_to_bytea(). */
int64 ifp_sketch_distinct_count(const bytea *sketch);

/* Returns the number at a place, from 1, of a sketch of a value column with these extremes.
 * Requires  sketch is a result of ifp_sketch_to_bytea(). */
union iforest_number ifp_sketch_number_at(const bytea *sketch, uint64 place, union iforest_number min, union iforest_number max,
					  enum iforest_value_type type);

#endif
