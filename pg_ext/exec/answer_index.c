#include "pg_ext/exec/answer_internal.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "pg_ext/storage/locks.h"
#include "pg_ext/base/test_points.h"

/* ---- reading what the index is ---- */

/* The conditions on the key, evaluated. False: one is NULL, so nothing passes. */
static bool read_keys(struct iforest_answer_reader *reader)
{
	struct iforest_answer *answer = reader->answer;
	ScanKey keys = palloc0((answer->n_keys + 1) * sizeof *keys);
	Relation index = reader->read.index.relation;

	for (int i = 0; i < answer->n_keys; i++) {
		const struct iforest_key_condition *condition = &answer->keys[i];
		int flags = condition->is_array ? SK_SEARCHARRAY : 0;
		bool is_null = false;
		Datum comparand = (Datum)0;

		if (condition->is_null_test)
			flags = SK_ISNULL | (condition->wants_null ? SK_SEARCHNULL : SK_SEARCHNOTNULL);
		else
			comparand = ExecEvalExpr(answer->comparands[i], answer->econtext, &is_null);
		if (is_null)
			return false;
		ScanKeyEntryInitializeWithInfo(&keys[i], flags, condition->column,
					       condition->is_null_test ?
						       InvalidStrategy :
						       (StrategyNumber)get_op_opfamily_strategy(
							       condition->function, index->rd_opfamily[condition->column - 1]),
					       condition->right_type, condition->collation, &answer->operators[i], comparand);
	}
	iforest_scan_keys_read(index, &answer->definition, reader->read.index.meta.index_id, keys, answer->n_keys, false,
			       &reader->read.keys);
	return true;
}

/* ---- the index ---- */

static enum iforest_status read_index(struct iforest_answer_reader *reader)
{
	struct iforest_answer *answer = reader->answer;
	enum iforest_status status = IFOREST_OK;

	reader->wanted = iforest_measures_wanted(answer->measures);
	reader->wanted.filter = &reader->read.filter;
	reader->fold = palloc(sizeof *reader->fold);
	if (answer->is_total)
		return iforest_answer_total(reader);
	for (uint32 i = 0; i < reader->read.keys.n_series && !status; i++) {
		status = iforest_answer_series(reader, i);
		iforest_pause("series read");
		ResetExprContext(answer->econtext);
		CHECK_FOR_INTERRUPTS();
	}
	return status;
}

static void count(struct iforest_answer_reader *reader)
{
	struct iforest_answer_counts *counts = &reader->answer->counts;

	counts->n_nodes += iforest_scan_nodes(&reader->read.scan);
	counts->n_pages += iforest_scan_pages(&reader->read.scan);
	counts->n_leaf_pages += iforest_scan_leaf_pages(&reader->read.scan);
	counts->n_runs += reader->read.index.manifest.n_runs;
	counts->n_pending += reader->read.pending.n_read;
	counts->n_heap_blocks += reader->read.visibility.n_looks;
}

static bool read_consistently(struct iforest_answer_reader *reader, Relation heap, Relation index)
{
	struct iforest_answer *answer = reader->answer;
	enum iforest_status status;

	iforest_reader_open(&reader->read, index);
	/* series come after the manifest: so all that its runs have are known */
	if (!read_keys(reader))
		return true;
	reader->read.values = answer->values;
	if (!iforest_reader_read(&reader->read, heap, answer->node->state->es_snapshot))
		return false;
	status = read_index(reader);
	count(reader);
	return iforest_reader_finish(&reader->read, status);
}

bool iforest_answer_index(struct iforest_answer *answer, Relation heap, Relation index, bool locked)
{
	struct iforest_answer_reader *reader = palloc0(sizeof *reader);
	bool done;

	reader->answer = answer;
	reader->series_context = AllocSetContextCreate(answer->attempt, "iforest series", ALLOCSET_SMALL_SIZES);
	if (locked)
		iforest_lock(index, IFOREST_LOCK_MAINTENANCE, ShareLock);
	done = read_consistently(reader, heap, index);
	if (locked)
		iforest_unlock(index, IFOREST_LOCK_MAINTENANCE, ShareLock);
	return done;
}
