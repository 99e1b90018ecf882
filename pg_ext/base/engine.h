/* base/engine.h -- PostgreSQL's side of core's host interface: palloc allocator, and core's statuses raised as errors.
 *
 * Every source file of pg_ext includes it before PostgreSQL's headers, directly or through its own header.
 */
#ifndef IFP_BASE_ENGINE_H
#define IFP_BASE_ENGINE_H

/* The library is compiled with hidden visibility; this exports a symbol to the server. PostgreSQL 15 leaves it empty. */
#define PGDLLEXPORT __attribute__((visibility("default")))

#include "postgres.h"

#include "utils/rel.h"

#include "core/base/alloc.h"
#include "core/run/pager.h"
#include "core/base/status.h"
#include "pg_ext/base/compat.h"

/* Allocates in the CurrentMemoryContext at the time of the call, huge sizes included. Raises an error if memory runs out. */
extern const struct iforest_alloc ifp_palloc_allocator;

/* Ends work in memory by the server's error where the query is cancelled. */
extern const struct iforest_interrupt ifp_interrupt;

/* Raises the error for a status of core on this index; returns if it is IFOREST_OK. `fault` names the damaged page, or is NULL;
 * `block` is its block, or InvalidBlockNumber. */
void ifp_require_at(enum iforest_status status, Relation index, const struct iforest_fault *fault, uint32 block);

static inline void ifp_require(enum iforest_status status, Relation index, const struct iforest_fault *fault)
{
	ifp_require_at(status, index, fault, UINT32_MAX);
}

/* Precedes the definition of a function that SQL calls. In PostgreSQL 15, PG_FUNCTION_INFO_V1 alone leaves it hidden. */
#define IFP_SQL_FUNCTION(name)                           \
	extern PGDLLEXPORT Datum name(PG_FUNCTION_ARGS); \
	PG_FUNCTION_INFO_V1(name)

#endif
