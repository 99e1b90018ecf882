/* base/engine.h -- Memory, errors and interrupts, as core asks its host engine for them.
 *
 * Every file of this folder includes it first.
 */
#ifndef IFP_BASE_ENGINE_H
#define IFP_BASE_ENGINE_H

/* what is compiled with hidden visibility and yet to be found by the server; PostgreSQL 15 leaves it empty */
#define PGDLLEXPORT __attribute__((visibility("default")))

#include "postgres.h"

#include "utils/rel.h"

#include "core/base/alloc.h"
#include "core/run/pager.h"
#include "core/base/status.h"
#include "pg_ext/base/compat.h"

/* Memory from CurrentMemoryContext at the time of the call; huge pieces are allowed. Errors jump. */
extern const struct iforest_alloc ifp_palloc_allocator;

/* Raises what a status of core means for this index; returns if it is IFOREST_OK. `fault` tells which page is wrong, or NULL,
 * `block` in which block it is, or InvalidBlockNumber. */
void ifp_require_at(enum iforest_status status, Relation index, const struct iforest_fault *fault, uint32 block);

static inline void ifp_require(enum iforest_status status, Relation index, const struct iforest_fault *fault)
{
	ifp_require_at(status, index, fault, UINT32_MAX);
}

/* Before the definition of a function that SQL calls. PG_FUNCTION_INFO_V1 alone would leave it hidden in PostgreSQL 15. */
#define IFP_SQL_FUNCTION(name)                           \
	extern PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	PG_FUNCTION_INFO_V1(name)

#endif
