/* types_sketch_datum_own.h -- Not for others. */
#ifndef IFOREST_PG_TYPES_SKETCH_DATUM_OWN_H
#define IFOREST_PG_TYPES_SKETCH_DATUM_OWN_H

#include "pg_ext/base/engine.h"
#include "pg_ext/types/sketch_datum.h"

/* Raises what a status of core means for the SQL function of that name; returns if it is IFOREST_OK. */
void iforest_sketch_require(enum iforest_status status, const char *name);

#endif
