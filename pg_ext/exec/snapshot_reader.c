#include "pg_ext/exec/snapshot_reader.h"

#include "access/xlog.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"

#include "pg_ext/base/test_points.h"
#include "pg_ext/storage/series_dict.h"

enum { PATIENCE = 2, MOST_ATTEMPTS = 1000 };

/* Memory that a session keeps for one reader at a time. malloc() would return that of a dozen runs to the system after each
 * question, and ask for it, page by page, at the next. */
enum { KEPT_BYTES = 512 * 1024 };

/* To read the visibility map for a row takes as long as to read that of this many neighbouring heap blocks. */
enum { BLOCKS_A_ROW = 8192 };

/* ---- the filter ---- */

static bool has_values(const struct ifp_snapshot_reader *reader)
{
	return reader->values && ifp_value_filter_has_conditions(reader->values);
}

static enum iforest_filter_class of_node(void *context, const uint8_t *node)
{
	struct ifp_snapshot_reader *reader = context;
	const struct iforest_node_schema *fields = &reader->index.manifest.fields;
	enum iforest_filter_class class = IFOREST_COUNTS_ALL;
	uint32_t lowest, highest;

	if (has_values(reader))
		class = iforest_value_predicate_node(ifp_value_filter_predicate(reader->values), fields, node);
	if (class == IFOREST_COUNTS_ALL) {
		iforest_node_blocks(node, fields, &lowest, &highest);
		if (!ifp_heap_visibility_of_blocks(&reader->visibility, lowest, highest, iforest_node_rows(node)))
			class = IFOREST_COUNTS_MOST;
	}
	return class;
}

/* True if the rows that were asked for in wide ranges of heap blocks, now and before, are so few that reading the map for each of
 * them costs less than reading it for all these blocks. */
static bool is_far(struct ifp_snapshot_reader *reader, BlockNumber lowest, BlockNumber highest, uint64_t asked)
{
	if (highest - lowest < BLOCKS_A_ROW)
		return false;
	reader->n_far_rows += iforest_popcount(asked);
	return (highest - lowest) / BLOCKS_A_ROW > reader->n_far_rows;
}

/* Sets *clean if all rows of a block are visible. Neighbours in time usually are neighbours in the heap, so rows then need not
 * be checked one by one. */
static enum iforest_status is_clean(struct ifp_snapshot_reader *reader, struct iforest_block_reader *block, uint64_t asked,
				    bool *clean)
{
	enum iforest_status status = IFOREST_OK;
	int64 low, high;
	bool is_known = iforest_leaf_refs(block->leaf, block->number, &low, &high);

	if (!is_known) {
		status = iforest_block_find_column(block, IFOREST_REFS);
		is_known = !status && iforest_column_bounds(&block->columns[IFOREST_REFS], block->block.n, &low, &high);
	}
	*clean = false;
	if (is_known && low >= 0) {
		BlockNumber lowest = (BlockNumber)(low >> 16), highest = (BlockNumber)Min(high >> 16, MaxBlockNumber);

		*clean = !is_far(reader, lowest, highest, asked) &&
			 ifp_heap_visibility_of_blocks(&reader->visibility, lowest, highest, block->block.n);
	}
	return status;
}

static enum iforest_status of_entries(void *context, struct iforest_block_reader *block, uint64_t *live)
{
	struct ifp_snapshot_reader *reader = context;
	enum iforest_status status = IFOREST_OK;
	bool clean = false;

	if (has_values(reader))
		status = iforest_value_predicate_entries(ifp_value_filter_predicate(reader->values), block, live);
	if (!status && *live)
		status = is_clean(reader, block, *live, &clean);
	if (status || !*live || clean)
		return status;
	status = iforest_block_need(block, IFOREST_REFS);
	if (!status)
		*live = ifp_heap_visibility_of_rows(&reader->visibility, block->block.refs, *live);
	return status;
}

/* Lists the refs of a node's invisible rows. Called only for nodes whose entries all pass the other conditions. */
static bool refs_gone(void *context, const uint8_t *node, int64_t refs[IFOREST_MAX_EXCLUDED_REFS], unsigned *n_refs)
{
	struct ifp_snapshot_reader *reader = context;
	uint32_t lowest, highest;

	iforest_node_blocks(node, &reader->index.manifest.fields, &lowest, &highest);
	return ifp_heap_visibility_refs_gone(&reader->visibility, lowest, highest, refs, IFOREST_MAX_EXCLUDED_REFS, n_refs);
}

/* Selects the pending entries of the selected series and times. */
static uint32 choose(void *context, const struct iforest_key *keys, uint32 n_keys, uint16 *chosen)
{
	struct ifp_snapshot_reader *reader = context;

	return ifp_scan_keys_choose(&reader->keys, reader->sorted_series, keys, n_keys, chosen);
}

static bool counts(void *context, const struct iforest_entry *entry)
{
	struct ifp_snapshot_reader *reader = context;

	return (!reader->values || iforest_value_predicate_entry(ifp_value_filter_predicate(reader->values),
								 &reader->index.manifest.fields, entry)) &&
	       ifp_heap_visibility_of_row(&reader->visibility, entry->key.ref);
}

/* ---- memory ---- */

static MemoryContext kept_memory;
static bool is_lent;

static void take_back(void *unused)
{
	(void)unused;
	MemoryContextReset(kept_memory);
	is_lent = false;
}

/* Returns memory for what is large, the cursors and the pages that they pin. It lives as long as the current context, also when
 * an error ends that. It is the current context if another reader has the kept memory. */
static MemoryContext lend_memory(void)
{
	MemoryContextCallback *at_reset;

	if (is_lent)
		return CurrentMemoryContext;
	if (!kept_memory)
		/* not an AllocSet, which gives chunks of more than 8 KB back to malloc() */
		kept_memory = GenerationContextCreate(TopMemoryContext, "iforest scans", KEPT_BYTES, ALLOCSET_DEFAULT_INITSIZE,
						      ALLOCSET_DEFAULT_MAXSIZE);
	at_reset = palloc0(sizeof *at_reset);
	at_reset->func = take_back;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, at_reset);
	is_lent = true;
	return kept_memory;
}

/* ---- reading ---- */

void ifp_snapshot_reader_open(struct ifp_snapshot_reader *reader, Relation index)
{
	MemoryContext before = CurrentMemoryContext;

	reader->values = NULL;
	ifp_definition_read(index, &reader->definition);
	MemoryContextSwitchTo(lend_memory());
	ifp_index_open(&reader->index, index);
	/* one reader at a time has that memory */
	if (reader->index.context == kept_memory)
		ifp_index_use_kept_nodes(&reader->index);
	MemoryContextSwitchTo(before);
	ifp_index_refresh(&reader->index);
	ifp_test_point("metapage read");
}

/* Copies the keys of the series: the backend may drop its dictionary of this index when functions of the query read other
 * indexes. */
static void copy_series(struct ifp_snapshot_reader *reader)
{
	struct ifp_series_dict *dict = ifp_series_dict_get(reader->index.relation, reader->index.meta.index_id);
	StringInfoData keys;
	uint32 *sorted = palloc((reader->keys.n_series + 1) * sizeof *sorted);

	reader->series_ends = palloc((reader->keys.n_series + 1) * sizeof *reader->series_ends);
	initStringInfo(&keys);
	for (uint32 i = 0; i < reader->keys.n_series && reader->definition.n_by > 0; i++) {
		uint32 n_bytes;
		const uint8 *key = ifp_series_dict_key_of(reader->index.relation, dict, reader->keys.series[i], &n_bytes);

		appendBinaryStringInfo(&keys, (const char *)key, (int)n_bytes);
		reader->series_ends[i] = (Size)keys.len;
	}
	reader->series_keys = (uint8 *)keys.data;
	memcpy(sorted, reader->keys.series, reader->keys.n_series * sizeof *sorted);
	qsort(sorted, reader->keys.n_series, sizeof *sorted, ifp_compare_series);
	reader->sorted_series = sorted;
}

static void begin_scan(struct ifp_snapshot_reader *reader)
{
	struct ifp_index *index = &reader->index;
	MemoryContext before = MemoryContextSwitchTo(index->context);

	ifp_index_require(index, iforest_scan_init(&reader->scan, &index->store, &index->manifest));
	MemoryContextSwitchTo(before);
}

/* Copies the pending entries. Returns false if the index changed meanwhile. */
static bool read_pending(struct ifp_snapshot_reader *reader)
{
	const struct ifp_pending_choice choice = { .choose = choose, .context = reader };

	ifp_index_require(&reader->index,
			  iforest_memtable_init(&reader->pending, &reader->index.store, &reader->index.manifest.fields));
	return ifp_pending_read(&reader->index, &choice, &reader->pending.batch, &reader->n_pending);
}

bool ifp_snapshot_reader_read(struct ifp_snapshot_reader *reader, Relation heap, Snapshot snapshot)
{
	copy_series(reader);
	reader->has_pending = ifp_pending_pages(&reader->index.meta) > 0;
	reader->n_pending = 0;
	reader->n_far_rows = 0;
	if (reader->has_pending && !read_pending(reader))
		return false;
	ifp_test_point("pending read");
	if (reader->values)
		ifp_value_filter_find(reader->values, &reader->index.manifest,
				      reader->has_pending ? &reader->pending.batch : NULL);
	/* not earlier: entries must be read before the map, since inserting their rows cleared the block's bit */
	ifp_heap_visibility_begin(&reader->visibility, heap, snapshot, CurrentMemoryContext);
	if (reader->has_pending)
		iforest_batch_keep(&reader->pending.batch, counts, reader);
	reader->filter = (struct iforest_filter){
		.context = reader, .of_node = of_node, .of_entries = of_entries, .list_excluded = refs_gone
	};
	begin_scan(reader);
	return true;
}

void ifp_snapshot_reader_by(const struct ifp_snapshot_reader *reader, uint32 i, Datum *values, bool *are_null)
{
	Size start = i > 0 ? reader->series_ends[i - 1] : 0;

	ifp_by_read(reader->index.relation, &reader->definition, reader->series_keys + start,
		    (uint32)(reader->series_ends[i] - start), values, are_null);
}

uint32 ifp_snapshot_reader_n_series(const struct ifp_snapshot_reader *reader)
{
	Relation index = reader->index.relation;

	return ifp_series_dict_refresh(index, ifp_series_dict_get(index, reader->index.meta.index_id));
}

/* True if nothing was removed since the metapage was read, and no page was reused. */
static bool is_unchanged(const struct ifp_snapshot_reader *reader)
{
	return !reader->index.met_foreign_page && !ifp_meta_has_removed(reader->index.relation, &reader->index.meta);
}

bool ifp_snapshot_reader_finish(struct ifp_snapshot_reader *reader, enum iforest_status status)
{
	ifp_test_point("runs read");
	/* pages found intact are recorded as verified when they are unpinned */
	iforest_scan_unpin(&reader->scan);
	if (status && !reader->index.met_foreign_page)
		ifp_index_require(&reader->index, status);
	ifp_meta_test_for_old_snapshot(reader->index.relation, reader->visibility.snapshot);
	return is_unchanged(reader);
}

/* ---- attempts ---- */

void ifp_snapshot_retry(bool (*attempt)(void *context, bool locked), void *context, uint64 *n_restarts)
{
	*n_restarts = 0;
	while (!attempt(context, *n_restarts >= PATIENCE && !RecoveryInProgress())) {
		CHECK_FOR_INTERRUPTS();
		if (++*n_restarts == MOST_ATTEMPTS)
			ereport(ERROR, errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				errmsg("could not read an iforest index while rows were being removed from it"),
				errhint("Try again; or SET iforest.enable = off for this query."));
	}
}
