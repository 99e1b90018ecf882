/* exec/bucket_values.h -- Data that a bucket's measures need in addition to its fold: sketches and single values. */
#ifndef IFP_EXEC_BUCKET_VALUES_H
#define IFP_EXEC_BUCKET_VALUES_H

#include "pg_ext/base/engine.h"

#include "pg_ext/exec/agg_state.h"
#include "pg_ext/exec/snapshot_reader.h"
#include "pg_ext/storage/sidecar.h"

/* True if measures of the current pass need any. */
bool ifp_bucket_values_are_needed(const struct ifp_agg_states *aggs);

/* Reads what the measures need of the entries with keys [from, to) that pass the scan's request. Numbers are allocated in the
 * context, and the next bucket reuses their memory; sketches are allocated in the current context. *sidecar has the kept
 * sketches; it is NULL until it is opened at first use. */
enum iforest_status ifp_bucket_values_read(struct ifp_bucket_values *values, const struct ifp_agg_states *aggs,
					   struct ifp_snapshot_reader *reader, struct ifp_sketch_sidecar **sidecar,
					   const struct iforest_key *from, const struct iforest_key *to, MemoryContext context);

/* Frees the sketches. */
void ifp_bucket_values_free(struct ifp_bucket_values *values);

#endif
