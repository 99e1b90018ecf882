#include "sqlite_ext/follow/delta.h"

#include <stdlib.h>

#include "core/base/array.h"
#include "sqlite_ext/follow/row_decoder.h"
#include "sqlite_ext/follow/triggers.h"
#include "sqlite_ext/storage/pager.h"
#include "sqlite_ext/storage/shadow_tables.h"

/* How far the pending rows go in the database. A delta that goes as far has all of them, except for changes in the front. */
struct delta_extent {
	sqlite3_int64 last_seq, last_covered, last_rowid; /* as in ifs_delta */
};

struct key_list {
	struct iforest_key *keys;
	size_t n, n_reserved;
};

/* ---- Pending rows: those in order of id ---- */

/* Returns the row of that id among those in order, or NULL. Most ids have no gaps between them, so the place is guessed
 * first. */
static struct ifs_pending_row *find_ordered(const struct ifs_pending_rows *pending, sqlite3_int64 id)
{
	struct ifs_pending_row *rows = pending->ordered;
	size_t low = 0, high = pending->n_ordered;
	uint64_t guess;

	if (high == 0 || id < rows[0].id)
		return NULL;
	guess = (uint64_t)id - (uint64_t)rows[0].id;
	if (guess < high && rows[guess].id == id)
		return &rows[guess];
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rows[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < pending->n_ordered && rows[low].id == id ? &rows[low] : NULL;
}

/* ---- Pending rows: the hash table of all others ---- */

enum { NEIGHBOURS = 8 }; /* adjacent rowids, as most come, have adjacent slots: one cache miss for all of them */

static struct ifs_pending_row *slot_of(struct ifs_pending_row *rows, size_t n_slots, sqlite3_int64 id)
{
	uint64_t at = (uint64_t)id / NEIGHBOURS * UINT64_C(0x9E3779B97F4A7C15);

	for (at = (at ^ at >> 32) * NEIGHBOURS + (uint64_t)id % NEIGHBOURS;; at++) {
		struct ifs_pending_row *row = &rows[at & (n_slots - 1)];

		if (!row->is_used || row->id == id)
			return row;
	}
}

/* Keeps at least half of the slots free. */
static bool reserve_slot(struct ifs_pending_rows *pending)
{
	size_t n_slots = pending->n_slots ? 2 * pending->n_slots : 64;
	struct ifs_pending_row *rows;

	if (2 * (pending->n_others + 1) <= pending->n_slots)
		return true;
	rows = sqlite3_malloc64(n_slots * sizeof *rows);
	if (!rows)
		return false;
	memset(rows, 0, n_slots * sizeof *rows);
	for (size_t i = 0; i < pending->n_slots; i++)
		if (pending->others[i].is_used)
			*slot_of(rows, n_slots, pending->others[i].id) = pending->others[i];
	sqlite3_free(pending->others);
	pending->others = rows;
	pending->n_slots = n_slots;
	return true;
}

/* ---- Pending rows: both ---- */

/* Returns the row of that id, which is added if need be, with zeros in all members but id; NULL without memory. The next
 * addition may move it.
 * Cost  constant if the id is above all others, else log n comparisons */
static struct ifs_pending_row *pending_rows_take(struct ifs_pending_rows *pending, sqlite3_int64 id, bool *is_new)
{
	bool is_last = pending->n_ordered == 0 || pending->ordered[pending->n_ordered - 1].id < id;
	struct ifs_pending_row *row = is_last ? NULL : find_ordered(pending, id);

	*is_new = false;
	if (row)
		return row;
	if (is_last) {
		row = iforest_array_add(&ifs_alloc, &pending->ordered, sizeof *row, &pending->n_ordered, &pending->n_reserved);
		*is_new = row;
	} else if (reserve_slot(pending)) {
		row = slot_of(pending->others, pending->n_slots, id);
		*is_new = !row->is_used;
		pending->n_others += *is_new;
	}
	if (*is_new)
		*row = (struct ifs_pending_row){ .id = id, .is_used = true };
	return row;
}

/* Returns the row of that id, or NULL. */
static struct ifs_pending_row *find_pending(const struct ifs_pending_rows *pending, sqlite3_int64 id)
{
	struct ifs_pending_row *row = find_ordered(pending, id);

	if (!row && pending->n_slots)
		row = slot_of(pending->others, pending->n_slots, id);
	return row && row->is_used ? row : NULL;
}

bool ifs_pending_rows_contain(const struct ifs_pending_rows *pending, sqlite3_int64 id)
{
	return find_pending(pending, id) != NULL;
}

const struct ifs_pending_row *ifs_pending_rows_next(const struct ifs_pending_rows *pending, size_t *at)
{
	const struct ifs_pending_row *row = NULL;

	for (; !row && *at < pending->n_ordered + pending->n_slots; ++*at) {
		row = *at < pending->n_ordered ? &pending->ordered[*at] : &pending->others[*at - pending->n_ordered];
		if (!row->is_used)
			row = NULL;
	}
	return row;
}

static void pending_rows_release(struct ifs_pending_rows *pending)
{
	sqlite3_free(pending->ordered);
	sqlite3_free(pending->others);
	*pending = (struct ifs_pending_rows){ .ordered = NULL };
}

/* ---- Filter of the old keys ---- */

static bool is_up_to(const struct ifs_delta *delta, uint64_t at, const struct iforest_key *last)
{
	return at < delta->n_removed && iforest_key_compare(&delta->removed[at], last) <= 0;
}

static enum iforest_filter_class of_node(void *context, const uint8_t *node)
{
	const struct ifs_delta *delta = context;
	struct iforest_key first = iforest_node_first(node), last = iforest_node_last(node);

	return is_up_to(delta, iforest_key_search(delta->removed, delta->n_removed, &first), &last) ? IFOREST_COUNTS_SOME
												    : IFOREST_COUNTS_ALL;
}

static uint64_t n_gone(void *context, const uint8_t *node)
{
	const struct ifs_delta *delta = context;
	struct iforest_key first = iforest_node_first(node), last = iforest_node_last(node);
	uint64_t from = iforest_key_search(delta->removed, delta->n_removed, &first);
	uint64_t n = iforest_key_search(delta->removed + from, delta->n_removed - from, &last);

	return n + is_up_to(delta, from + n, &last); /* the last key's ref may be the greatest there is */
}

static enum iforest_status of_entries(void *context, struct iforest_block_reader *reader, uint64_t *live)
{
	const struct ifs_delta *delta = context;
	struct iforest_key first = iforest_leaf_block(reader->leaf, reader->number).first;
	enum iforest_status status = IFOREST_OK;

	for (uint64_t at = iforest_key_search(delta->removed, delta->n_removed, &first); at < delta->n_removed && !status;
	     at++) {
		const struct iforest_key *key = &delta->removed[at];
		const struct iforest_block *block = &reader->block;
		unsigned entry;

		if (key->series != block->series || key->time_is_null != block->time_is_null)
			break;
		status = iforest_block_need(reader, IFOREST_TIMES);
		if (!status)
			status = iforest_block_need(reader, IFOREST_REFS);
		if (!status)
			status = iforest_block_find(reader, key, &entry);
		if (status || entry == block->n)
			break;
		if (block->refs[entry] == key->ref && block->times[entry] == key->time)
			*live &= ~(UINT64_C(1) << entry);
	}
	return status;
}

/* Initializes delta->filter. */
static void init_filter(struct ifs_delta *delta)
{
	delta->filter = (struct iforest_filter){ .context = delta,
						 .of_node = of_node,
						 .of_entries = of_entries,
						 .filtered_nodes = &delta->filtered_nodes,
						 .n_excluded = n_gone };
}

/* ---- Lists of keys and entries ---- */

static int compare_keys(const void *left, const void *right)
{
	return iforest_key_compare(left, right);
}

/* Appends a key. Returns false without memory. */
static bool keys_push(struct key_list *list, const struct iforest_key *key)
{
	struct iforest_key *added = iforest_array_add(&ifs_alloc, &list->keys, sizeof *list->keys, &list->n, &list->n_reserved);

	if (added)
		*added = *key;
	return added;
}

static bool entry_list_push(struct ifs_entry_list *list, const struct iforest_entry *entry)
{
	struct iforest_entry *added =
		iforest_array_add(&ifs_alloc, &list->entries, sizeof *list->entries, &list->n, &list->n_reserved);

	if (added)
		*added = *entry;
	return added;
}

/* Adds keys to delta->removed, merging from the back. */
static enum iforest_status remove_keys(struct ifs_delta *delta, struct iforest_batch *keys)
{
	size_t old = delta->n_removed, to = old + keys->n;
	uint32_t new = keys->n;
	enum iforest_status status;

	if (new == 0)
		return IFOREST_OK;
	if (!iforest_array_reserve(&ifs_alloc, &delta->removed, sizeof *delta->removed, to, &delta->n_reserved))
		return IFOREST_NO_MEMORY;
	status = iforest_batch_sort(keys, &delta->memtable.memory.pager.interrupt);
	if (status)
		return status;
	delta->n_removed = to;
	while (new > 0) {
		const struct iforest_key *last = iforest_batch_key(keys, new - 1);
		bool is_old = old > 0 && iforest_key_compare(&delta->removed[old - 1], last) > 0;

		delta->removed[--to] = is_old ? delta->removed[--old] : *last;
		new -= !is_old;
	}
	iforest_filtered_nodes_outdate(&delta->filtered_nodes);
	return IFOREST_OK;
}

/* Applies the changes to the runs in memory. Outdated keys are removed first: a row may come back under the same key. */
static enum iforest_status apply_changes(struct ifs_delta *delta, struct key_list *outdated)
{
	enum iforest_status status = IFOREST_OK;

	if (outdated->n > 0) {
		qsort(outdated->keys, outdated->n, sizeof *outdated->keys, compare_keys);
		status = iforest_memtable_remove(&delta->memtable, outdated->keys, outdated->n);
		outdated->n = 0;
	}
	return status ? status : iforest_memtable_build(&delta->memtable);
}

/* ---- the whole ---- */

enum iforest_status ifs_delta_init(struct ifs_delta *delta, const struct iforest_store *store,
				   const struct iforest_node_schema *fields, sqlite3_int64 last_flushed)
{
	*delta = (struct ifs_delta){ .last_flushed = last_flushed, .last_covered = last_flushed, .last_rowid = last_flushed };
	iforest_filtered_nodes_init(&delta->filtered_nodes, &ifs_alloc);
	init_filter(delta);
	return iforest_memtable_init(&delta->memtable, store, fields);
}

void ifs_delta_release(struct ifs_delta *delta)
{
	iforest_memtable_release(&delta->memtable);
	if (delta->filtered_nodes.alloc)
		iforest_filtered_nodes_release(&delta->filtered_nodes);
	pending_rows_release(&delta->pending);
	sqlite3_free(delta->removed);
	sqlite3_free(delta->front.entries);
	*delta = (struct ifs_delta){ .n_batches = 0 };
}

/* ---- Extent of the pending rows ---- */

enum { LAST_SEQ, BLOCK, LAST_ROWID };

/* An edited database may have several fronts: then the first counts, as for the triggers. */
static int prepare_state(struct ifs_index *index, struct ifs_error *error)
{
	const char *schema = index->schema, *name = index->name;
	const struct ifs_base_table *base_table = &index->base_table;

	if (index->read_state)
		return SQLITE_OK;
	if (index->definition.sync == IFS_SYNC_LOG)
		return ifs_prepare(error, index->db, &index->read_state,
				   "SELECT (SELECT max(seq) FROM \"%w\".\"%w_log\"), "
				   "(SELECT block FROM \"%w\".\"%w_front\"), "
				   "(SELECT max(\"%w\") FROM \"%w\".\"%w\")",
				   schema, name, schema, name, base_table->rowid_column, schema, base_table->name);
	return ifs_prepare(error, index->db, &index->read_state, "SELECT 0, 0, max(\"%w\") FROM \"%w\".\"%w\"",
			   base_table->rowid_column, schema, base_table->name);
}

/* An error: the front must hold no row that the runs may hold, because the log would not record its changes. */
static int front_is_wrong(const struct ifs_index *index, struct ifs_error *error)
{
	return ifs_error_from_status(error, IFOREST_CORRUPT, index->name,
				     &(struct iforest_fault){ .what = "the table of the front is wrong" }, 0);
}

static int read_extent(struct ifs_index *index, const struct ifs_delta *delta, struct delta_extent *state,
		       struct ifs_error *error)
{
	bool is_log = index->definition.sync == IFS_SYNC_LOG, has_front = true;
	sqlite3_stmt *statement;
	sqlite3_int64 block;
	int failed, rc = prepare_state(index, error);

	if (rc)
		return rc;
	statement = index->read_state;
	if (sqlite3_step(statement) == SQLITE_ROW) {
		state->last_seq = sqlite3_column_int64(statement, LAST_SEQ); /* 0 if there is none */
		if (state->last_seq < 0)				     /* of an edited database */
			state->last_seq = 0;
		state->last_rowid = sqlite3_column_type(statement, LAST_ROWID) == SQLITE_NULL
					    ? INT64_MIN
					    : sqlite3_column_int64(statement, LAST_ROWID);
		state->last_covered = state->last_rowid;
		block = sqlite3_column_int64(statement, BLOCK);
		has_front = sqlite3_column_type(statement, BLOCK) == SQLITE_INTEGER && block > INT64_MIN / IFS_FRONT_ROWS &&
			    block <= INT64_MAX / IFS_FRONT_ROWS + 1;
		if (is_log && has_front) /* the last rowid before the block, whose first may be one too many for the type */
			state->last_covered = (sqlite3_int64)((uint64_t)block * IFS_FRONT_ROWS - 1);
	}
	failed = sqlite3_reset(statement);
	if (failed)
		return ifs_error_from_db(error, index->db, failed);
	return is_log && (!has_front || state->last_covered < delta->last_flushed) ? front_is_wrong(index, error) : SQLITE_OK;
}

/* ---- The delta, and the reading of new pending rows ---- */

enum { MOST_ENTRIES = 1 << 17 }; /* entries sorted at once: 14 MB */

/* A read of new pending rows, or of the front for comparison. */
struct reading {
	struct ifs_index *index;
	struct ifs_dictionary *dictionary;
	struct ifs_delta *delta;
	struct ifs_error *error;
	struct ifs_row_decoder rows;
	struct key_list outdated;     /* of rows in the memtable, in any order */
	struct iforest_batch removed; /* keys of rows in the stored runs */
	struct delta_extent state;
	struct ifs_entry_list front;
	size_t n_passed;    /* rows of the former front below the present row */
	bool is_stepping;   /* the statement runs that may call iforest_pending() */
	bool is_taking;	    /* it calls it now */
	bool only_compares; /* takes nothing, and sets `differs` if the front is not as before */
	bool differs;
	int rc; /* set when reading was given up */
};

/* ---- series ---- */

/* Finds the series of a row of the table. A new one gets the next id, in the dictionary alone; in a comparison an id that
 * no row has. */
static int series_of_row(void *context, const struct iforest_series_key *key, uint32_t *id)
{
	struct reading *reading = context;
	struct ifs_dictionary *dictionary = reading->dictionary;
	const struct ifs_series *series;
	enum iforest_status status = ifs_dictionary_find(dictionary, key->bytes, key->n_bytes, &series);

	if (!status && !series && reading->only_compares) {
		*id = UINT32_MAX;
		return SQLITE_OK;
	}
	if (!status && !series && reading->dictionary->next_id == UINT32_MAX)
		status = IFOREST_TOO_LARGE;
	else if (!status && !series)
		status = ifs_dictionary_add(dictionary, reading->dictionary->next_id, key->bytes, key->n_bytes);
	if (status)
		return ifs_pager_error(reading->index, status, reading->error);
	*id = series ? series->id : reading->dictionary->next_id++;
	return SQLITE_OK;
}

static int log_is_wrong(const struct ifs_index *index, const char *what, struct ifs_error *error)
{
	return ifs_error_from_status(error, IFOREST_CORRUPT, index->name, &(struct iforest_fault){ .what = what }, 0);
}

/* ---- the log ---- */

/* Columns of the log in a query, before those of the table. */
enum { ID, WAS, OLD_TIME, FIRST_OLD_BY };

#define READING_POINTER "iforest-reading"

/* Finds the series of an old key; UINT64_MAX if there is none. */
static int series_of_old_key(struct reading *reading, sqlite3_value **by, uint64_t *id)
{
	struct iforest_series_key bytes = { .alloc = &ifs_alloc };
	const struct ifs_series *series = NULL;
	int rc;

	if (ifs_row_decoder_recall_series(&reading->rows, by, id))
		return SQLITE_OK;
	rc = ifs_row_series_key(&reading->index->definition, by, &bytes, reading->error);
	if (!rc && ifs_dictionary_find(reading->dictionary, bytes.bytes, bytes.n_bytes, &series))
		rc = ifs_pager_error(reading->index, IFOREST_NO_MEMORY, reading->error);
	*id = series ? series->id : UINT64_MAX;
	if (series)
		ifs_row_decoder_remember_series(&reading->rows, by, *id);
	iforest_series_key_release(&bytes);
	return rc;
}

/* Reads the key under which the runs hold a row, if they do, from its first row in the log, into reading->removed. Sets
 * *has_impossible_key if they cannot hold it. */
static int read_old_key(struct reading *reading, sqlite3_value **log, sqlite3_int64 id, bool *has_impossible_key)
{
	struct iforest_entry entry = { .key.ref = id };
	struct iforest_key *key = &entry.key;
	int rc = series_of_old_key(reading, log + FIRST_OLD_BY, &key->series);

	if (rc)
		return rc;
	key->time_is_null = sqlite3_value_type(log[OLD_TIME]) == SQLITE_NULL;
	if (!key->time_is_null && ifs_time_of(&reading->index->times, log[OLD_TIME], &key->time))
		*has_impossible_key = true;
	*has_impossible_key = *has_impossible_key || key->series >= reading->dictionary->end_of_stored;
	if (!*has_impossible_key && iforest_batch_add(&reading->removed, &entry))
		return ifs_error_set(reading->error, SQLITE_NOMEM, "");
	return SQLITE_OK;
}

/* Tracks the old key of a row that may be in the runs. A row that was inserted, and changed by the user's triggers before
 * ours logged the insertion, begins with a key that the runs do not have, and perhaps cannot have; later the log says that
 * it was new. */
static int track_old_key(struct reading *reading, sqlite3_value **log, struct ifs_pending_row *row, bool is_new)
{
	bool was_there = sqlite3_value_type(log[WAS]) != SQLITE_NULL;
	int rc = SQLITE_OK;

	if (row->id > reading->delta->last_flushed)
		return SQLITE_OK;
	if (is_new && was_there) {
		rc = read_old_key(reading, log, row->id, &row->has_impossible_key);
		reading->delta->n_impossible_keys += row->has_impossible_key;
	} else if (row->has_impossible_key && !was_there) {
		row->has_impossible_key = false;
		reading->delta->n_impossible_keys--;
	}
	return rc;
}

/* ---- rows ---- */

/* Replaces what was read of the row before. Without an entry the table no longer has the row. */
static int put_row(struct reading *reading, struct ifs_pending_row *row, const struct iforest_entry *entry)
{
	struct iforest_batch *batch = &reading->delta->memtable.batch;
	struct iforest_key before = {
		.series = row->series, .time_is_null = row->time_is_null, .time = row->time, .ref = row->id
	};

	if ((row->is_present && !keys_push(&reading->outdated, &before)) || (entry && iforest_batch_add(batch, entry)))
		return ifs_error_set(reading->error, SQLITE_NOMEM, "");
	row->batch = reading->delta->n_batches;
	row->is_present = entry;
	if (!entry)
		return SQLITE_OK;
	row->series = (uint32_t)entry->key.series;
	row->time = entry->key.time;
	row->time_is_null = entry->key.time_is_null;
	if (batch->n < MOST_ENTRIES)
		return SQLITE_OK;
	return ifs_pager_error(reading->index, apply_changes(reading->delta, &reading->outdated), reading->error);
}

/* Takes a row of the log joined with the row of the table, which is read the first time that it comes up. */
static int take_logged(struct reading *reading, sqlite3_value **values)
{
	sqlite3_value **columns = values + FIRST_OLD_BY + reading->index->definition.n_by;
	bool is_present = sqlite3_value_type(columns[0]) != SQLITE_NULL, is_new;
	struct ifs_pending_row *row = pending_rows_take(&reading->delta->pending, sqlite3_value_int64(values[ID]), &is_new);
	struct iforest_entry entry;
	int rc = row ? SQLITE_OK : ifs_error_set(reading->error, SQLITE_NOMEM, "");

	if (!rc && sqlite3_value_type(values[ID]) != SQLITE_INTEGER)
		rc = log_is_wrong(reading->index, "the log names no rowid", reading->error);
	if (!rc)
		rc = track_old_key(reading, values, row, is_new);
	if (rc || row->batch == reading->delta->n_batches)
		return rc;
	if (is_present)
		rc = ifs_row_decode(&reading->rows, columns, &entry);
	return rc ? rc : put_row(reading, row, is_present ? &entry : NULL);
}

static bool is_same_entry(const struct iforest_entry *a, const struct iforest_entry *b, unsigned n_values)
{
	bool is_same = iforest_key_compare(&a->key, &b->key) == 0 && a->present == b->present;

	for (unsigned v = 0; v < n_values && is_same; v++)
		is_same = a->values[v].integer == b->values[v].integer;
	return is_same;
}

/* True if a row of the front is unchanged. Rows come in order of rowid. */
static bool is_known(struct reading *reading, const struct iforest_entry *entry)
{
	const struct ifs_entry_list *front = &reading->delta->front;
	size_t at = reading->n_passed;

	while (at < front->n && front->entries[at].key.ref < entry->key.ref)
		at++;
	reading->n_passed = at;
	return at < front->n && is_same_entry(&front->entries[at], entry, reading->delta->memtable.manifest.fields.n_values);
}

/* Takes a row of the table above those that the log covers. */
static int take_row(struct reading *reading, sqlite3_value **columns)
{
	struct ifs_pending_row *row;
	struct iforest_entry entry;
	bool is_new, known;
	int rc = ifs_row_decode(&reading->rows, columns, &entry);

	if (rc)
		return rc;
	known = is_known(reading, &entry);
	if (reading->only_compares) {
		reading->differs = reading->differs || !known;
		return SQLITE_OK;
	}
	row = known ? NULL : pending_rows_take(&reading->delta->pending, entry.key.ref, &is_new);
	if ((!known && !row) || (entry.key.ref > reading->state.last_covered && !entry_list_push(&reading->front, &entry)))
		return ifs_error_set(reading->error, SQLITE_NOMEM, "");
	return known ? SQLITE_OK : put_row(reading, row, &entry);
}

/* Handles a row that does not meet the index's condition. In the front it may have replaced one that did, which is not logged.
 *  */
static int pass_row(struct reading *reading, sqlite3_int64 id)
{
	struct ifs_pending_row *row = find_pending(&reading->delta->pending, id);

	if (!row || !row->is_present)
		return SQLITE_OK;
	if (!reading->only_compares)
		return put_row(reading, row, NULL);
	reading->differs = true;
	return SQLITE_OK;
}

/* ---- statements ---- */

/* The second argument of iforest_pending(). */
enum { OF_TABLE, OF_LOG, OF_TABLE_AND_PASSED };

/* True if the call is one that a statement of this file makes: in its connection, with as many arguments as the definition of the
 * index takes, and not within another. Their values are read without further checks. */
static bool is_own_call(sqlite3_context *context, const struct reading *reading, int which, int n_arguments)
{
	const struct ifs_definition *definition = &reading->index->definition;
	unsigned n = 2 + ifs_row_decoder_n_columns(definition) + (which == OF_LOG ? FIRST_OLD_BY + definition->n_by : 0);

	return reading->is_stepping && !reading->is_taking && sqlite3_context_db_handle(context) == reading->index->db &&
	       which >= OF_TABLE && which <= OF_TABLE_AND_PASSED && n_arguments == (int)n;
}

/* iforest_pending(reading, which, columns ...): takes the row, and is true if reading is to end. A row takes 0.2 us this
 * way, and 0.6 us if the statement returns it. */
static void pending_function(sqlite3_context *context, int n_arguments, sqlite3_value **arguments)
{
	struct reading *reading = n_arguments > 1 ? sqlite3_value_pointer(arguments[0], READING_POINTER) : NULL;
	int which = reading ? sqlite3_value_int(arguments[1]) : OF_TABLE;

	if (!reading || !is_own_call(context, reading, which, n_arguments)) {
		sqlite3_result_error(context, "iforest_pending() is for the statements of an index alone", -1);
		return;
	}
	reading->is_taking = true;
	switch (which) {
	case OF_LOG:
		reading->rc = take_logged(reading, arguments + 2);
		break;
	case OF_TABLE_AND_PASSED:
		reading->rc = pass_row(reading, sqlite3_value_int64(arguments[2]));
		break;
	default:
		reading->rc = take_row(reading, arguments + 2);
	}
	reading->is_taking = false;
	sqlite3_result_int(context, reading->rc != SQLITE_OK || (reading->only_compares && reading->differs));
}

int ifs_delta_register(sqlite3 *db)
{
	return sqlite3_create_function_v2(db, "iforest_pending", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL, pending_function,
					  NULL, NULL, NULL);
}

/* SELECT 1 FROM "spans" AS s WHERE s."id" > ?1 AND iforest_pending(?2, 0, s."id", s."ts", ...) ORDER BY s."id"
 * With a condition, the 0 becomes iif((...), 0, 2). */
static int prepare_rows(struct reading *reading)
{
	struct ifs_index *index = reading->index;
	const char *rowid = index->base_table.rowid_column, *where = ifs_definition_condition(&index->definition);
	sqlite3_str *sql;

	if (index->read_rows)
		return SQLITE_OK;
	sql = sqlite3_str_new(index->db);
	sqlite3_str_appendf(sql, "SELECT 1 FROM \"%w\".\"%w\" AS s WHERE s.\"%w\" > ?1 AND iforest_pending(?2, ", index->schema,
			    index->base_table.name, rowid);
	if (where)
		sqlite3_str_appendf(sql, "iif(%s, %d, %d), ", where, OF_TABLE, OF_TABLE_AND_PASSED);
	else
		sqlite3_str_appendf(sql, "%d, ", OF_TABLE);
	ifs_row_decoder_append_columns(&index->definition, &index->base_table, "s", sql);
	sqlite3_str_appendf(sql, ") ORDER BY s.\"%w\"", rowid);
	return ifs_prepare_text(reading->error, index->db, &index->read_rows, sql);
}

/* SELECT 1 FROM "x_log" AS l LEFT JOIN "spans" AS s ON s."id" = l.id WHERE l.seq > ?1 AND
 * iforest_pending(?2, 1, l.id, l.was, l.time, l.by_0, s."id", s."ts", ...) ORDER BY l.seq
 * With a condition: ON s."id" = l.id AND EXISTS(SELECT 1 FROM "spans" AS s WHERE s."id" = l.id AND (...)), in which it
 * names no column of the log. */
static int prepare_log(struct reading *reading)
{
	struct ifs_index *index = reading->index;
	const char *schema = index->schema, *table = index->base_table.name, *rowid = index->base_table.rowid_column;
	sqlite3_str *sql;

	if (index->read_log)
		return SQLITE_OK;
	sql = sqlite3_str_new(index->db);
	sqlite3_str_appendf(sql, "SELECT 1 FROM \"%w\".\"%w_log\" AS l LEFT JOIN \"%w\".\"%w\" AS s ON s.\"%w\" = l.id", schema,
			    index->name, schema, table, rowid);
	if (index->definition.where)
		sqlite3_str_appendf(sql, " AND EXISTS(SELECT 1 FROM \"%w\".\"%w\" AS s WHERE s.\"%w\" = l.id AND %s)", schema,
				    table, rowid, ifs_definition_condition(&index->definition));
	sqlite3_str_appendf(sql, " WHERE l.seq > ?1 AND iforest_pending(?2, %d, l.id, l.was, l.time, ", OF_LOG);
	for (unsigned b = 0; b < index->definition.n_by; b++)
		sqlite3_str_appendf(sql, "l.by_%u, ", b);
	ifs_row_decoder_append_columns(&index->definition, &index->base_table, "s", sql);
	sqlite3_str_appendall(sql, ") ORDER BY l.seq");
	return ifs_prepare_text(reading->error, index->db, &index->read_log, sql);
}

/* Reads the rows after `after`, by rowid or seq. */
static int read_after(struct reading *reading, sqlite3_stmt *statement, sqlite3_int64 after)
{
	int failed;

	sqlite3_bind_int64(statement, 1, after);
	sqlite3_bind_pointer(statement, 2, reading, READING_POINTER, NULL);
	reading->is_stepping = true;
	sqlite3_step(statement);
	reading->is_stepping = false;
	failed = sqlite3_reset(statement);
	if (!reading->rc && failed) /* before another call replaces SQLite's message */
		reading->rc = ifs_error_from_db(reading->error, reading->index->db, failed);
	sqlite3_bind_null(statement, 2);
	return reading->rc;
}

static int read_rows(struct reading *reading)
{
	int rc = prepare_rows(reading);

	return rc ? rc : read_after(reading, reading->index->read_rows, reading->delta->last_covered);
}

static int read_log(struct reading *reading)
{
	int rc = prepare_log(reading);

	return rc ? rc : read_after(reading, reading->index->read_log, reading->delta->last_seq);
}

/* ---- the whole ---- */

static void start(struct reading *reading, struct ifs_index *index, struct ifs_delta *delta, struct ifs_dictionary *dictionary,
		  bool only_compares, struct ifs_error *error)
{
	*reading = (struct reading){
		.index = index,
		.dictionary = dictionary,
		.delta = delta,
		.error = error,
		.only_compares = only_compares,
		.rows = { .db = index->db,
			  .schema = index->schema,
			  .definition = &index->definition,
			  .base_table = &index->base_table,
			  .fields = &delta->memtable.manifest.fields,
			  .times = &index->times,
			  .error = error,
			  .series_of = series_of_row,
			  .context = reading,
			  .key.alloc = &ifs_alloc,
			  .previous_key.alloc = &ifs_alloc },
	};
	iforest_batch_init(&reading->removed, &ifs_alloc, 0);
}

static void end(struct reading *reading)
{
	ifs_row_decoder_release(&reading->rows);
	sqlite3_free(reading->outdated.keys);
	iforest_batch_release(&reading->removed);
	iforest_batch_release(&reading->delta->memtable.batch); /* empty, but after an error */
	sqlite3_free(reading->front.entries);
}

static int apply(struct reading *reading)
{
	struct ifs_delta *delta = reading->delta;
	struct ifs_entry_list before = delta->front;
	enum iforest_status status = apply_changes(delta, &reading->outdated);

	if (!status)
		status = remove_keys(delta, &reading->removed);
	delta->front = reading->front;
	reading->front = before;
	delta->last_seq = reading->state.last_seq;
	delta->last_covered = reading->state.last_covered;
	delta->last_rowid = reading->state.last_rowid;
	return ifs_pager_error(reading->index, status, reading->error);
}

int ifs_delta_read(struct ifs_index *index, struct ifs_delta *delta, struct ifs_dictionary *dictionary, struct ifs_error *error)
{
	uint32_t n_series = dictionary->n_series;
	struct reading reading;
	int rc;

	start(&reading, index, delta, dictionary, false, error);
	delta->n_batches++;
	rc = read_extent(index, delta, &reading.state, error);
	if (!rc) /* before the log, so that most pending rows come in order of rowid */
		rc = read_rows(&reading);
	if (!rc && reading.state.last_seq != delta->last_seq)
		rc = read_log(&reading);
	if (!rc)
		rc = apply(&reading);
	if (!rc && dictionary->n_series != n_series)
		ifs_dictionary_sort(dictionary);
	end(&reading);
	return rc;
}

int ifs_delta_is_current(struct ifs_index *index, struct ifs_delta *delta, struct ifs_dictionary *dictionary, bool *is_current,
			 bool *is_part, struct ifs_error *error)
{
	struct delta_extent state;
	struct reading reading;
	int rc;

	*is_current = *is_part = true;
	if (index->definition.sync == IFS_SYNC_MANUAL)
		return SQLITE_OK;
	rc = read_extent(index, delta, &state, error);
	if (rc)
		return rc;
	*is_part = state.last_seq >= delta->last_seq && state.last_covered >= delta->last_covered;
	*is_current = state.last_seq == delta->last_seq && state.last_covered == delta->last_covered &&
		      state.last_rowid == delta->last_rowid;
	if (!*is_current || (delta->front.n == 0 && !(index->definition.where && index->definition.sync == IFS_SYNC_LOG)))
		return SQLITE_OK;
	start(&reading, index, delta, dictionary, true, error);
	rc = read_rows(&reading);
	*is_current = !reading.differs; /* the log records rows that are gone */
	end(&reading);
	return rc;
}

int ifs_delta_check_log(const struct ifs_index *index, const struct ifs_delta *delta, struct ifs_error *error)
{
	return delta->n_impossible_keys == 0 ? SQLITE_OK
					     : log_is_wrong(index, "the log tells of a row that the index cannot have", error);
}
