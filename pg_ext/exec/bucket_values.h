/* exec/bucket_values.h -- What a bucket's measures need beside its fold: sketches, and values one by one. */
#ifndef IFP_EXEC_BUCKET_VALUES_H
#define IFP_EXEC_BUCKET_VALUES_H

#include "pg_ext/base/engine.h"

#include "pg_ext/exec/agg_state.h"
#include "pg_ext/exec/snapshot_reader.h"
#include "pg_ext/storage/sidecar.h"

/* True if measures of the pass being read need any. */
bool ifp_bucket_values_are_needed(const struct ifp_agg_states *aggs);

/* Reads what the measures need of the entries with keys [from, to) that the scan's request lets pass. Numbers are in the context,
 * and their room is used again by the next bucket; sketches are in the current one. *sidecar: of kept sketches, opened when it is
 * needed first; NULL until then. */
enum iforest_status ifp_bucket_values_read(struct ifp_bucket_values *values, const struct ifp_agg_states *aggs,
					   struct ifp_snapshot_reader *reader, struct ifp_sketch_sidecar **sidecar,
					   const struct iforest_key *from, const struct iforest_key *to, MemoryContext context);

/* Frees the sketches. */
void ifp_bucket_values_free(struct ifp_bucket_values *values);

#endif
