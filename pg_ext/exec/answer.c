#include "pg_ext/exec/answer_internal.h"

#include "access/genam.h"
#include "access/table.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "pgstat.h"
#include "storage/predicate.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "pg_ext/base/test_points.h"

/* ---- beginning ---- */

/* A row of the index's columns. */
static TupleTableSlot *make_row(const struct iforest_question *question)
{
	TupleDesc descriptor = CreateTemplateTupleDesc(list_length(question->columns));
	TupleTableSlot *row;
	AttrNumber attribute = 1;
	ListCell *cell;

	foreach(cell, question->columns) {
		Node *column = lfirst(cell);

		TupleDescInitEntry(descriptor, attribute, NULL, exprType(column), exprTypmod(column), 0);
		TupleDescInitEntryCollation(descriptor, attribute++, exprCollation(column));
	}
	row = MakeSingleTupleTableSlot(descriptor, &TTSOpsVirtual);
	ExecStoreAllNullTuple(row);
	return row;
}

static void begin_keys(struct iforest_answer *answer)
{
	int n = list_length(answer->question->keys);
	ListCell *cell;

	answer->keys = palloc((n + 1) * sizeof *answer->keys);
	answer->comparands = palloc0((n + 1) * sizeof(ExprState *));
	answer->operators = palloc0((n + 1) * sizeof *answer->operators);
	foreach(cell, answer->question->keys) {
		struct iforest_key_condition *key = &answer->keys[answer->n_keys];

		iforest_key_condition_read(lfirst(cell), key);
		if (key->comparand) {
			answer->comparands[answer->n_keys] = ExecInitExpr(key->comparand, NULL);
			fmgr_info(get_opcode(key->function), &answer->operators[answer->n_keys]);
		}
		answer->n_keys++;
	}
}

static struct iforest_soft *begin_softly(List *conditions, int *n)
{
	struct iforest_soft *soft = palloc((list_length(conditions) + 1) * sizeof *soft);
	ListCell *cell;

	foreach(cell, conditions)
		soft[(*n)++] = iforest_soft_begin(lfirst(cell));
	return soft;
}

/* The definition of the indexes is read from the first of them. */
static void open_tables(struct iforest_answer *answer)
{
	ListCell *cell;

	answer->heaps = palloc(list_length(answer->question->tables) * sizeof(Relation));
	answer->indexes = palloc(list_length(answer->question->tables) * sizeof(Relation));
	foreach(cell, answer->question->tables) {
		answer->heaps[answer->n_tables] = table_open(linitial_oid(lfirst(cell)), AccessShareLock);
		answer->indexes[answer->n_tables++] = index_open(lsecond_oid(lfirst(cell)), AccessShareLock);
	}
	iforest_definition_read(answer->indexes[0], &answer->definition);
}

static bool has_columns(List *expressions)
{
	ListCell *cell;

	foreach(cell, expressions)
		if (iforest_has_columns(lfirst(cell)))
			return true;
	return false;
}

/* May all be folded at once? */
static bool is_total(const struct iforest_question *question, const struct iforest_measures *measures)
{
	struct iforest_wanted wanted = iforest_measures_wanted(measures);
	ListCell *cell;

	foreach(cell, question->aggregates)
		if (has_columns(iforest_aggregate_conditions(lfirst(cell), question)))
			return false;
	return !question->keys && !question->series && !question->runs && !question->late && !has_columns(question->groups) &&
	       !wanted.times && !wanted.firsts && !wanted.lasts;
}

struct iforest_answer *iforest_answer_begin(const struct iforest_question *question, PlanState *node)
{
	struct iforest_answer *answer = palloc0(sizeof *answer);
	AttrNumber time = iforest_time_attribute(question);
	struct iforest_run_keys keys;

	answer->question = question;
	answer->node = node;
	answer->context = CurrentMemoryContext;
	answer->parameters = AllocSetContextCreate(CurrentMemoryContext, "iforest parameters", ALLOCSET_SMALL_SIZES);
	answer->attempt = AllocSetContextCreate(CurrentMemoryContext, "iforest answer", ALLOCSET_DEFAULT_SIZES);
	answer->result = AllocSetContextCreate(CurrentMemoryContext, "iforest group", ALLOCSET_SMALL_SIZES);
	answer->econtext = CreateExprContext(node->state);
	answer->row = make_row(question);
	answer->econtext->ecxt_scantuple = answer->row;
	open_tables(answer);
	begin_keys(answer);
	answer->gates = ExecInitExprList(question->gates, NULL);
	answer->series = begin_softly(question->series, &answer->n_series);
	answer->runs = begin_softly(question->runs, &answer->n_runs);
	answer->late = ExecInitExprList(question->late, NULL);
	answer->values = iforest_value_ranges_begin(question, &answer->definition, answer->econtext);
	iforest_question_range_keys(question, &keys);
	answer->ranges = iforest_buckets_begin(&keys, &answer->definition, time, answer->econtext);
	iforest_question_bucket_keys(question, &keys);
	answer->buckets = iforest_buckets_begin(&keys, &answer->definition, time, answer->econtext);
	answer->measures = iforest_measures_begin(question, &answer->definition, answer->econtext);
	if (answer->n_tables == 1)
		iforest_measures_set_table(answer->measures, answer->heaps[0], node->state->es_snapshot);
	answer->is_total = is_total(question, answer->measures);
	answer->groups = iforest_groups_begin(question, iforest_measures_bytes(answer->measures), node, answer->econtext);
	return answer;
}

void iforest_answer_rescan(struct iforest_answer *answer)
{
	answer->is_begun = answer->is_done = false;
	iforest_buckets_rescan(answer->ranges);
	iforest_buckets_rescan(answer->buckets);
}

void iforest_answer_end(struct iforest_answer *answer)
{
	for (int i = 0; i < answer->n_tables; i++) {
		index_close(answer->indexes[i], NoLock);
		table_close(answer->heaps[i], NoLock);
	}
	MemoryContextDelete(answer->parameters);
	MemoryContextDelete(answer->attempt);
	MemoryContextDelete(answer->result);
}

/* ---- attempts ---- */

bool iforest_answer_holds(const struct iforest_answer *answer, List *conditions)
{
	ListCell *cell;

	foreach(cell, conditions) {
		bool is_null;
		Datum holds = ExecEvalExprSwitchContext(lfirst(cell), answer->econtext, &is_null);

		if (is_null || !DatumGetBool(holds))
			return false;
	}
	return true;
}

bool iforest_answer_holds_softly(const struct iforest_answer *answer, const struct iforest_soft *conditions, int n_conditions,
				 ErrorData **error)
{
	*error = NULL;
	for (int i = 0; i < n_conditions; i++) {
		bool is_null;
		Datum holds;

		if (iforest_soft_evaluate(&conditions[i], answer->econtext, &holds, &is_null, *error ? NULL : error) &&
		    (is_null || !DatumGetBool(holds))) {
			*error = NULL;
			return false;
		}
	}
	return true;
}

static bool attempt(void *context, bool locked)
{
	struct iforest_answer *answer = context;
	bool done = true;

	MemoryContextReset(answer->attempt);
	iforest_groups_reset(answer->groups, answer->attempt);
	answer->counts = (struct iforest_answer_counts){ .n_restarts = answer->counts.n_restarts };
	for (int i = 0; i < answer->n_tables && done; i++) {
		/* as a sequential scan would, and before anything is read: whatever comes later conflicts; and as an index scan
		 * would, for a row may be in the table while its entry is not in the index yet */
		PredicateLockRelation(answer->heaps[i], answer->node->state->es_snapshot);
		PredicateLockRelation(answer->indexes[i], answer->node->state->es_snapshot);
		done = iforest_answer_index(answer, answer->heaps[i], answer->indexes[i], locked);
		iforest_pause("index read");
	}
	return done;
}

/* For pg_stat_user_indexes. Nodes are no entries, so idx_tup_read says nothing of this. */
static void count_scans(const struct iforest_answer *answer)
{
	for (int i = 0; i < answer->n_tables; i++)
		pgstat_count_index_scan(answer->indexes[i]);
}

static void answer_question(struct iforest_answer *answer)
{
	MemoryContext before = MemoryContextSwitchTo(answer->parameters);
	Snapshot snapshot = answer->node->state->es_snapshot;

	if (!IsMVCCSnapshot(snapshot))
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("an iforest index answers MVCC snapshots only"));
	MemoryContextReset(answer->parameters);
	iforest_measures_rescan(answer->measures, answer->parameters);
	MemoryContextReset(answer->attempt);
	MemoryContextSwitchTo(answer->attempt);
	iforest_groups_reset(answer->groups, answer->attempt);
	if (iforest_answer_holds(answer, answer->gates)) {
		count_scans(answer);
		iforest_attempt(attempt, answer, &answer->counts.n_restarts);
	}
	answer->is_begun = true;
	MemoryContextSwitchTo(before);
}

bool iforest_answer_next(struct iforest_answer *answer, Datum *values, bool *are_null)
{
	int n_groups = list_length(answer->question->groups);
	const struct iforest_measure_state *states;
	MemoryContext before;

	if (!answer->is_begun)
		answer_question(answer);
	if (answer->is_done)
		return false;
	MemoryContextReset(answer->result);
	states = iforest_groups_next(answer->groups, values, are_null);
	answer->is_done = !states;
	if (!states)
		return false;
	before = MemoryContextSwitchTo(answer->result);
	for (int i = 0; i < list_length(answer->question->aggregates); i++)
		values[n_groups + i] = iforest_measures_result(answer->measures, i, states, &are_null[n_groups + i]);
	MemoryContextSwitchTo(before);
	return true;
}

struct iforest_answer_counts iforest_answer_counts(const struct iforest_answer *answer)
{
	struct iforest_answer_counts counts = answer->counts;

	counts.buckets = iforest_buckets_counts(answer->buckets);
	return counts;
}
