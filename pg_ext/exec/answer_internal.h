/* answer_internal.h -- what answer.c (attempts, results), answer_index.c (one index, what counts of it), answer_series.c
 * (series, ranges, buckets) and answer_sketches.c share. Not for others. */
#ifndef IFOREST_PG_ANSWER_INTERNAL_H
#define IFOREST_PG_ANSWER_INTERNAL_H

#include "pg_ext/exec/answer.h"
#include "pg_ext/exec/groups.h"
#include "pg_ext/exec/agg_state.h"
#include "pg_ext/exec/snapshot_reader.h"
#include "pg_ext/base/safe_eval.h"

struct iforest_answer {
	const struct iforest_question *question;
	PlanState *node;
	MemoryContext context;               /* as long as the node */
	MemoryContext parameters;            /* what was made of parameters, until the next rescan */
	MemoryContext attempt;               /* until the next attempt */
	MemoryContext result;                /* until the next group is given */
	ExprContext *econtext;               /* its scan tuple is the row */
	TupleTableSlot *row;                 /* of the index's columns */
	Relation *heaps, *indexes;           /* held open from begin to end, as those of a scan are */
	int n_tables;
	struct iforest_definition definition;/* of the first index; the others' are alike */
	bool is_total;                       /* nothing tells rows apart: no condition, no group, no time */
	bool is_begun, is_done;              /* groups are there */

	struct iforest_key_condition *keys;  /* conditions on the index's key */
	ExprState **comparands;
	FmgrInfo *operators;
	int n_keys;
	List *gates, *late;                  /* ExprStates */
	struct iforest_soft *series, *runs;
	int n_series, n_runs;
	struct iforest_value_ranges *values;
	struct iforest_buckets *ranges, *buckets;
	struct iforest_measures *measures;
	struct iforest_groups *groups;
	struct iforest_answer_counts counts;
};

/* Are all conditions true of the row? */
bool iforest_answer_holds(const struct iforest_answer *answer, List *conditions);

/* The same of conditions that are asked before it is known whether there are visible rows. Where none is false but one raises
 * an error, that is *error, else NULL: it is to be raised if there are. */
bool iforest_answer_holds_softly(const struct iforest_answer *answer, const struct iforest_soft *conditions, int n_conditions,
				 ErrorData **error);

/* Adds what one index holds to the groups. False: it changed meanwhile, all has to begin again. `locked`: under the maintenance
 * lock, so that it does not. */
bool iforest_answer_index(struct iforest_answer *answer, Relation heap, Relation index, bool locked);

/* One index being read. */
struct iforest_answer_reader {
	struct iforest_answer *answer;
	struct iforest_reader read;
	struct iforest_wanted wanted;
	struct iforest_sketches *shelf;      /* of kept sketches; NULL: none was needed yet */
	struct iforest_aggregate *fold;      /* of a bucket */
	MemoryContext series_context;        /* by values of the series in hand */
	ErrorData *series_error;             /* what its conditions raised; NULL: nothing */
};

/* Where the entries of a bucket lie: in runs the keys [from, to), and pending ones. */
struct iforest_bucket_range {
	struct iforest_key from, to;
	uint32 pending, pending_end;
};

/* Makes the sketches that measures need of a bucket, by value column; NULL where there are no values, and of other columns. In
 * the current memory context. Errors: those of core. */
enum iforest_status iforest_answer_sketches(struct iforest_answer_reader *reader, const struct iforest_bucket_range *range,
					    bytea **sketches);

/* Adds series number i of keys.series to the groups; or all entries of all series in one fold. Errors: those of core. */
enum iforest_status iforest_answer_series(struct iforest_answer_reader *reader, uint32 i);
enum iforest_status iforest_answer_total(struct iforest_answer_reader *reader);

#endif
