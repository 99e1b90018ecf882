/* types/sketch_datum.h -- Sketches (quantile summaries) as bytea datums, and the SQL functions on them. */
#ifndef IFP_TYPES_SKETCH_DATUM_H
#define IFP_TYPES_SKETCH_DATUM_H

#include "pg_ext/base/engine.h"

#include "core/model/sketch.h"

/* A sketch as bytes, in the current memory context. */
bytea *ifp_sketch_to_bytea(const struct iforest_sketch *sketch);

/* The sum of two, in the current memory context. Requires  they are what ifp_sketch_to_bytea() gave. */
bytea *ifp_sketch_sum(const bytea *one, const bytea *other);

#endif
