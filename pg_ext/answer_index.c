#include "pg_ext/answer_internal.h"

#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "pg_ext/locks.h"
#include "pg_ext/pause.h"
#include "pg_ext/pending_rows.h"
#include "pg_ext/series_pages.h"

/* ---- what counts ---- */

static enum iforest_verdict of_node(void *context, const uint8_t *node)
{
	struct iforest_answer_reader *reader = context;
	const struct iforest_fields *fields = &reader->index.manifest.fields;
	enum iforest_verdict verdict = IFOREST_ALL;
	uint32_t lowest, highest;

	if (iforest_value_ranges_exist(reader->answer->values))
		verdict = iforest_value_ranges_of_node(reader->answer->values, node, fields);
	if (verdict == IFOREST_ALL) {
		iforest_node_blocks(node, fields, &lowest, &highest);
		if (!iforest_visibility_of_blocks(&reader->visibility, lowest, highest, iforest_node_rows(node)))
			verdict = IFOREST_MOST;
	}
	return verdict;
}

/* Neighbours in time are so in the heap, as a rule: then the block's rows need not be asked about one by one. */
static enum iforest_status is_clean(struct iforest_answer_reader *reader, struct iforest_block_reader *block, bool *clean)
{
	enum iforest_status status = IFOREST_OK;
	int64 low, high;
	bool is_known = iforest_leaf_refs(block->leaf, block->number, &low, &high);

	if (!is_known) {
		status = iforest_block_find_column(block, IFOREST_REFS);
		is_known = !status && iforest_column_bounds(&block->columns[IFOREST_REFS], block->block.n, &low, &high);
	}
	*clean = is_known && low >= 0 &&
		 iforest_visibility_of_blocks(&reader->visibility, (BlockNumber)(low >> 16),
					      (BlockNumber)Min(high >> 16, MaxBlockNumber), block->block.n);
	return status;
}

static enum iforest_status of_entries(void *context, struct iforest_block_reader *block, uint64_t *live)
{
	struct iforest_answer_reader *reader = context;
	enum iforest_status status = IFOREST_OK;
	bool clean = false;

	if (iforest_value_ranges_exist(reader->answer->values))
		status = iforest_value_ranges_of_entries(reader->answer->values, block, live);
	if (!status && *live)
		status = is_clean(reader, block, &clean);
	if (status || !*live || clean)
		return status;
	status = iforest_block_need(block, IFOREST_REFS);
	if (!status)
		*live = iforest_visibility_of_rows(&reader->visibility, block->block.refs, *live);
	return status;
}

/* Is a pending entry of the series and times asked for? */
static bool is_asked(void *context, const struct iforest_entry *entry)
{
	struct iforest_answer_reader *reader = context;
	uint32 id = (uint32)entry->key.series;

	return iforest_scan_keys_hold(&reader->keys, &entry->key) &&
	       bsearch(&id, reader->sorted_series, reader->keys.n_series, sizeof id, iforest_compare_series);
}

static bool counts(void *context, const struct iforest_entry *entry)
{
	struct iforest_answer_reader *reader = context;

	return iforest_value_ranges_of_entry(reader->answer->values, entry) &&
	       iforest_visibility_of_row(&reader->visibility, entry->key.ref);
}

/* ---- reading what the index is ---- */

/* The conditions on the key, evaluated. False: one is NULL, so nothing passes. */
static bool read_keys(struct iforest_answer_reader *reader)
{
	struct iforest_answer *answer = reader->answer;
	ScanKey keys = palloc0((answer->n_keys + 1) * sizeof *keys);
	Relation index = reader->index.relation;

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
					       condition->is_null_test
						       ? InvalidStrategy
						       : (StrategyNumber)get_op_opfamily_strategy(
								 condition->function, index->rd_opfamily[condition->column - 1]),
					       condition->right_type, condition->collation, &answer->operators[i], comparand);
	}
	iforest_scan_keys_read(index, &answer->definition, reader->index.meta.index_id, keys, answer->n_keys, false,
			       &reader->keys);
	return true;
}

/* ---- the index ---- */

static enum iforest_status read_index(struct iforest_answer_reader *reader)
{
	struct iforest_answer *answer = reader->answer;
	enum iforest_status status = iforest_scan_init(&reader->scan, &reader->index.store, &reader->index.manifest);

	reader->filter = (struct iforest_filter){ .context = reader, .of_node = of_node, .of_entries = of_entries };
	reader->wanted = iforest_measures_wanted(answer->measures);
	reader->wanted.filter = &reader->filter;
	reader->fold = palloc(sizeof *reader->fold);
	if (!status && answer->is_total)
		return iforest_answer_total(reader);
	for (uint32 i = 0; i < reader->keys.n_series && !status; i++) {
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

	counts->n_nodes += iforest_scan_nodes(&reader->scan);
	counts->n_pages += iforest_scan_pages(&reader->scan);
	counts->n_leaf_pages += iforest_scan_leaf_pages(&reader->scan);
	counts->n_runs += reader->index.manifest.n_runs;
	counts->n_pending += reader->pending.n_read;
	counts->n_heap_blocks += reader->visibility.n_looks;
}

/* Was nothing removed since the metapage was read, and no page given to somebody else? */
static bool is_unchanged(struct iforest_answer_reader *reader)
{
	struct iforest_meta *now = palloc(sizeof *now);
	bool unchanged;

	iforest_meta_read(reader->index.relation, now);
	unchanged = !reader->index.met_foreign_page && now->removal_epoch == reader->index.meta.removal_epoch &&
		    now->index_id == reader->index.meta.index_id;
	pfree(now);
	return unchanged;
}

/* Copies the keys of the series. The backend's dictionary of this index may go when functions of the query read other indexes. */
static void copy_series(struct iforest_answer_reader *reader)
{
	struct iforest_series_cache *cache = iforest_series_cache_get(reader->index.meta.index_id);
	StringInfoData keys;

	reader->series_ends = palloc((reader->keys.n_series + 1) * sizeof *reader->series_ends);
	initStringInfo(&keys);
	for (uint32 i = 0; i < reader->keys.n_series && reader->answer->definition.n_by > 0; i++) {
		uint32 n_bytes;
		const uint8 *key = iforest_series_key(cache, reader->keys.series[i], &n_bytes);

		appendBinaryStringInfo(&keys, (const char *)key, (int)n_bytes);
		reader->series_ends[i] = (Size)keys.len;
	}
	reader->series_keys = (uint8 *)keys.data;
}

static bool read_consistently(struct iforest_answer_reader *reader, Relation heap, Relation index)
{
	struct iforest_answer *answer = reader->answer;
	enum iforest_status status;
	uint32 *sorted;

	iforest_index_open(&reader->index, index);
	iforest_index_refresh(&reader->index);
	iforest_pause("metapage read");
	/* series come after the manifest: so all that its runs have are known */
	if (!read_keys(reader))
		return true;
	copy_series(reader);
	sorted = palloc((reader->keys.n_series + 1) * sizeof *sorted);
	memcpy(sorted, reader->keys.series, reader->keys.n_series * sizeof *sorted);
	qsort(sorted, reader->keys.n_series, sizeof *sorted, iforest_compare_series);
	reader->sorted_series = sorted;
	if (!iforest_pending_rows_read(&reader->index, is_asked, reader, &reader->pending))
		return false;
	iforest_pause("pending read");
	iforest_value_ranges_find(answer->values, &reader->index.manifest, &reader->pending);
	/* only now: an entry read before the map is copied had cleared its block's bit */
	iforest_visibility_begin(&reader->visibility, heap, answer->node->state->es_snapshot, answer->attempt);
	iforest_pending_rows_keep(&reader->pending, counts, reader);
	status = read_index(reader);
	iforest_pause("runs read");
	if (status && !reader->index.met_foreign_page)
		iforest_index_require(&reader->index, status);
	count(reader);
	iforest_meta_test_for_old_snapshot(index, answer->node->state->es_snapshot);
	return is_unchanged(reader);
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
