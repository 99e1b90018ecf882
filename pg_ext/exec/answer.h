/* answer.h -- a question answered from the indexes of one table, or of its partitions.
 *
 *   for each index        copy metapage and manifest, then ask what the snapshot sees (visibility.h)
 *     for each series     that the conditions on by columns let pass
 *       for each range    of times, and of what the conditions on time let pass
 *         for each bucket (buckets.h): fold runs and pending rows, find its group, add
 *
 * When an index has been read, its removal epoch must be what it was: else a VACUUM may have made room for other rows where the
 * visibility map was asked, and all begins again. It also does where a run was merged away and its pages were given to others.
 * After a few times the maintenance lock is taken, which a standby cannot do; there it goes on trying.
 *
 * All groups are in memory before the first is given. Tables and indexes are open from begin to end.
 */
#ifndef IFOREST_PG_ANSWER_H
#define IFOREST_PG_ANSWER_H

#include "pg_ext/planner/index_query.h"

#include "executor/tuptable.h"
#include "nodes/execnodes.h"

#include "pg_ext/planner/bucket_finder.h"

struct iforest_answer;

/* What was done, for EXPLAIN: the last attempt's, but for restarts and evaluations. */
struct iforest_answer_counts {
	uint64 n_series, n_buckets, n_nodes, n_pages, n_leaf_pages, n_runs, n_pending, n_heap_blocks, n_restarts;
	struct iforest_buckets_counts buckets;
};

/* Prepares. The node gives snapshot, parameters, and the context in which the answer lives. */
struct iforest_answer *iforest_answer_begin(const struct iforest_question *question, PlanState *node);

/* Forgets groups and parameters. */
void iforest_answer_rescan(struct iforest_answer *answer);

/* The next group: its keys and then the aggregates, in the order of the question's lists. False after the last. values and
 * are_null have room for both; what they point to lives until the next call. */
bool iforest_answer_next(struct iforest_answer *answer, Datum *values, bool *are_null);

void iforest_answer_end(struct iforest_answer *answer);

struct iforest_answer_counts iforest_answer_counts(const struct iforest_answer *answer);

#endif
