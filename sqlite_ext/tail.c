#include "sqlite_ext/tail_internal.h"

#include "core/bits.h"
#include "sqlite_ext/entries.h"
#include "sqlite_ext/index.h"

enum { MOST_ENTRIES = 1 << 17 }; /* that are sorted at once: 14 MB */

/* Reading what is new. */
struct reading {
	struct iforest_index *index;
	struct iforest_snapshot *snapshot;
	struct iforest_tail *tail;
	struct iforest_error *error;
	struct iforest_entry_reader rows;
	struct iforest_tail_news news;
	struct iforest_keys removed;
	int rc;                      /* once reading was given up */
};

/* ---- series ---- */

/* The series of a row of the table: a new one gets the next id, for the time being. */
static int series_of_row(void *context, const struct iforest_series_key *key, uint32_t *id)
{
	struct reading *reading = context;
	struct iforest_dictionary *dictionary = &reading->snapshot->dictionary;
	const struct iforest_series *series = iforest_dictionary_find(dictionary, key->bytes, key->n_bytes);
	enum iforest_status status = IFOREST_OK;

	if (!series && reading->snapshot->next_series == UINT32_MAX)
		status = IFOREST_TOO_LARGE;
	else if (!series)
		status = iforest_dictionary_add(dictionary, reading->snapshot->next_series, key->bytes, key->n_bytes);
	if (status)
		return iforest_index_error(reading->index, reading->snapshot, status, reading->error);
	*id = series ? series->id : reading->snapshot->next_series++;
	return SQLITE_OK;
}

static int log_is_wrong(const struct iforest_index *index, const char *what, struct iforest_error *error)
{
	return iforest_error_from_status(error, IFOREST_CORRUPT, index->name, &(struct iforest_fault){ .what = what }, 0);
}

/* ---- the log ---- */

/* Columns of the log in a query, before those of the table; with sync=append there are none. */
enum { SEQ, ID, WAS, OLD_TIME, FIRST_OLD_BY };

#define READING_POINTER "iforest-reading"

/* The series of an old key; UINT64_MAX if there is none. */
static int series_of_old_key(struct reading *reading, sqlite3_value **by, uint64_t *id)
{
	struct iforest_series_key bytes = { .alloc = &iforest_sqlite_alloc };
	const struct iforest_series *series;
	int rc;

	if (iforest_entry_recall_series(&reading->rows, by, id))
		return SQLITE_OK;
	rc = iforest_entry_series_key(&reading->index->definition, by, &bytes, reading->error);
	series = rc ? NULL : iforest_dictionary_find(&reading->snapshot->dictionary, bytes.bytes, bytes.n_bytes);
	*id = series ? series->id : UINT64_MAX;
	if (series)
		iforest_entry_remember_series(&reading->rows, by, *id);
	iforest_series_release(&bytes);
	return rc;
}

/* The key that the runs have of a row, if they have it, from the first row that the log has of it. *is_odd: they cannot have
 * it. */
static int read_old_key(struct reading *reading, sqlite3_value **log, sqlite3_int64 id, bool *is_odd)
{
	struct iforest_key key = { .ref = id };
	int type = sqlite3_value_type(log[OLD_TIME]);
	int rc = series_of_old_key(reading, log + FIRST_OLD_BY, &key.series);

	if (rc)
		return rc;
	key.time_is_null = type == SQLITE_NULL;
	if (type == SQLITE_INTEGER)
		key.time = sqlite3_value_int64(log[OLD_TIME]);
	else if (type != SQLITE_NULL &&
		 (type != SQLITE_FLOAT || !iforest_integral(sqlite3_value_double(log[OLD_TIME]), &key.time)))
		*is_odd = true;
	*is_odd = *is_odd || key.series >= reading->snapshot->end_of_series;
	if (!*is_odd && !iforest_keys_push(&reading->removed, &key))
		return iforest_error_set(reading->error, SQLITE_NOMEM, "");
	return SQLITE_OK;
}

/* Follows what the log says of a row before. A row that was inserted, and changed by triggers of the user before ours told of
 * it, begins with a key that the runs do not have, and perhaps cannot have; then it is told of later as one that was not
 * there. */
static int follow(struct reading *reading, sqlite3_value **log, struct iforest_pending_row *row, bool is_new)
{
	bool was_there = sqlite3_value_type(log[WAS]) != SQLITE_NULL;
	int rc = SQLITE_OK;

	if (is_new && was_there) {
		rc = read_old_key(reading, log, row->id, &row->is_odd);
		reading->tail->n_odd += row->is_odd;
	} else if (row->is_odd && !was_there) {
		row->is_odd = false;
		reading->tail->n_odd--;
	}
	return rc;
}

static bool reserve_entry(struct iforest_tail_news *news)
{
	size_t n_wanted = news->n_entries_reserved ? 2 * news->n_entries_reserved : 64;
	void *grown;

	if (news->n_entries < news->n_entries_reserved)
		return true;
	grown = sqlite3_realloc64(news->entries, n_wanted * sizeof *news->entries);
	if (!grown)
		return false;
	news->entries = grown;
	news->n_entries_reserved = n_wanted;
	return true;
}

/* Takes the row as the table has it, the first time that it is met in this reading. */
static int read_row(struct reading *reading, sqlite3_value **columns, struct iforest_pending_row *row)
{
	struct iforest_entry *entry;
	int rc;

	if (row->is_present) {
		struct iforest_key key = {
			.series = row->series, .time_is_null = row->time_is_null, .time = row->time, .ref = row->id
		};

		if (!iforest_keys_push(&reading->news.outdated, &key))
			return iforest_error_set(reading->error, SQLITE_NOMEM, "");
	}
	row->batch = reading->tail->n_batches;
	row->is_present = sqlite3_value_type(columns[0]) != SQLITE_NULL;
	if (!row->is_present)
		return SQLITE_OK;
	if (!reserve_entry(&reading->news))
		return iforest_error_set(reading->error, SQLITE_NOMEM, "");
	entry = &reading->news.entries[reading->news.n_entries];
	rc = iforest_entry_read(&reading->rows, columns, entry);
	row->series = (uint32_t)entry->key.series;
	row->time = entry->key.time;
	row->time_is_null = entry->key.time_is_null;
	reading->news.n_entries += !rc;
	if (!rc && reading->news.n_entries == MOST_ENTRIES)
		rc = iforest_index_error(reading->index, reading->snapshot, iforest_tail_settle(reading->tail, &reading->news),
					 reading->error);
	return rc;
}

/* A row of the log beside the row of the table; with sync=append the latter alone. */
static int take(struct reading *reading, sqlite3_value **values)
{
	bool is_log = reading->index->definition.sync == IFOREST_SYNC_LOG, is_new;
	sqlite3_value **columns = is_log ? values + FIRST_OLD_BY + reading->index->definition.n_by : values;
	sqlite3_int64 id = sqlite3_value_int64(is_log ? values[ID] : columns[0]);
	struct iforest_pending_row *row = iforest_pending_take(&reading->tail->pending, id, &is_new);
	int rc = row ? SQLITE_OK : iforest_error_set(reading->error, SQLITE_NOMEM, "");

	if (!rc && is_log && sqlite3_value_type(values[ID]) != SQLITE_INTEGER)
		rc = log_is_wrong(reading->index, "the log names no rowid", reading->error);
	if (!rc && is_log)
		rc = follow(reading, values, row, is_new);
	if (!rc && row->batch != reading->tail->n_batches)
		rc = read_row(reading, columns, row);
	reading->tail->last = is_log ? sqlite3_value_int64(values[SEQ]) : id;
	return rc;
}

/* iforest_pending(reading, columns ...): takes the row, and is true where reading is to end. So a row is read in 0.2 us, and in
 * 0.6 where the statement hands it out. */
static void pending_function(sqlite3_context *context, int n_arguments, sqlite3_value **arguments)
{
	struct reading *reading = n_arguments > 0 ? sqlite3_value_pointer(arguments[0], READING_POINTER) : NULL;

	if (!reading) {
		sqlite3_result_error(context, "iforest_pending() is for the statements of an index alone", -1);
		return;
	}
	reading->rc = take(reading, arguments + 1);
	sqlite3_result_int(context, reading->rc != SQLITE_OK);
}

int iforest_tail_register(sqlite3 *db)
{
	return sqlite3_create_function_v2(db, "iforest_pending", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL, pending_function,
					  NULL, NULL, NULL);
}

/* SELECT 1 FROM "x_log" AS l LEFT JOIN "spans" AS s ON s."id" = l.id WHERE l.seq > ?1 AND
 * iforest_pending(?2, l.seq, l.id, l.was, l.time, l.by_0, s."id", s."ts", ...) ORDER BY l.seq; or only what is of s. */
static int prepare_rows(struct iforest_index *index, struct iforest_error *error)
{
	const struct iforest_source *source = &index->source;
	bool is_log = index->definition.sync == IFOREST_SYNC_LOG;
	sqlite3_str *sql;
	char *text;
	int rc;

	if (index->read_pending)
		return SQLITE_OK;
	sql = sqlite3_str_new(index->db);
	sqlite3_str_appendall(sql, "SELECT 1 FROM ");
	if (is_log)
		sqlite3_str_appendf(sql,
				    "\"%w\".\"%w_log\" AS l LEFT JOIN \"%w\".\"%w\" AS s ON s.\"%w\" = l.id WHERE l.seq > ?1",
				    index->schema, index->name, index->schema, source->name, source->rowid_column);
	else
		sqlite3_str_appendf(sql, "\"%w\".\"%w\" AS s WHERE s.\"%w\" > ?1", index->schema, source->name,
				    source->rowid_column);
	sqlite3_str_appendall(sql, " AND iforest_pending(?2, ");
	if (is_log)
		sqlite3_str_appendall(sql, "l.seq, l.id, l.was, l.time, ");
	for (unsigned b = 0; b < index->definition.n_by && is_log; b++)
		sqlite3_str_appendf(sql, "l.by_%u, ", b);
	iforest_entry_append_columns(&index->definition, source, "s", sql);
	if (is_log)
		sqlite3_str_appendall(sql, ") ORDER BY l.seq");
	else
		sqlite3_str_appendf(sql, ") ORDER BY s.\"%w\"", source->rowid_column);
	text = sqlite3_str_finish(sql);
	rc = text ? iforest_prepare(error, index->db, &index->read_pending, "%s", text) :
		    iforest_error_set(error, SQLITE_NOMEM, "");
	sqlite3_free(text);
	return rc;
}

static int read_rows(struct reading *reading)
{
	struct iforest_index *index = reading->index;
	int failed, rc = prepare_rows(index, reading->error);

	if (rc)
		return rc;
	sqlite3_bind_int64(index->read_pending, 1, reading->tail->last);
	sqlite3_bind_pointer(index->read_pending, 2, reading, READING_POINTER, NULL);
	sqlite3_step(index->read_pending);
	failed = sqlite3_reset(index->read_pending);
	if (!reading->rc && failed) /* before another call makes SQLite forget why */
		reading->rc = iforest_error_from_db(reading->error, index->db, failed);
	sqlite3_bind_null(index->read_pending, 2);
	return reading->rc;
}

int iforest_tail_read(struct iforest_index *index, struct iforest_snapshot *snapshot, struct iforest_error *error)
{
	struct iforest_tail *tail = &snapshot->tail;
	uint32_t n_series = snapshot->dictionary.n_series;
	struct reading reading = {
		.index = index, .snapshot = snapshot, .tail = tail, .error = error,
		.rows = { .db = index->db, .schema = index->schema, .definition = &index->definition, .source = &index->source,
			  .fields = &snapshot->manifest.fields, .error = error, .series_of = series_of_row, .context = &reading,
			  .key.alloc = &iforest_sqlite_alloc, .previous_key.alloc = &iforest_sqlite_alloc },
	};
	enum iforest_status status;
	int rc;

	tail->n_batches++;
	rc = read_rows(&reading);
	if (!rc) {
		status = iforest_tail_settle(tail, &reading.news);
		if (!status)
			status = iforest_tail_remove(tail, &reading.removed);
		rc = iforest_index_error(index, snapshot, status, error);
	}
	if (!rc && snapshot->dictionary.n_series != n_series)
		iforest_dictionary_sort(&snapshot->dictionary);
	iforest_entry_reader_release(&reading.rows);
	sqlite3_free(reading.news.entries);
	sqlite3_free(reading.news.outdated.keys);
	sqlite3_free(reading.removed.keys);
	return rc;
}

int iforest_tail_check(const struct iforest_index *index, const struct iforest_tail *tail, struct iforest_error *error)
{
	return tail->n_odd == 0 ? SQLITE_OK : log_is_wrong(index, "the log tells of a row that the index cannot have", error);
}

/* ---- is it current? ---- */

int iforest_tail_look(struct iforest_index *index, const struct iforest_tail *tail, bool *is_current, bool *is_part,
		      struct iforest_error *error)
{
	bool is_log = index->definition.sync == IFOREST_SYNC_LOG;
	sqlite3_int64 last;
	int rc = SQLITE_OK;

	*is_current = *is_part = true;
	if (index->definition.sync == IFOREST_SYNC_MANUAL)
		return SQLITE_OK;
	if (!index->read_last && is_log)
		rc = iforest_prepare(error, index->db, &index->read_last, "SELECT max(seq) FROM \"%w\".\"%w_log\"",
				     index->schema, index->name);
	else if (!index->read_last)
		rc = iforest_prepare(error, index->db, &index->read_last, "SELECT max(\"%w\") FROM \"%w\".\"%w\"",
				     index->source.rowid_column, index->schema, index->source.name);
	if (rc)
		return rc;
	if (sqlite3_step(index->read_last) == SQLITE_ROW) {
		bool is_empty = sqlite3_column_type(index->read_last, 0) == SQLITE_NULL;

		last = is_empty ? is_log ? 0 : INT64_MIN : sqlite3_column_int64(index->read_last, 0);
		*is_part = last >= tail->last || (is_log && tail->last == 0);
		*is_current = *is_part && last == tail->last;
	}
	rc = sqlite3_reset(index->read_last);
	return rc ? iforest_error_from_db(error, index->db, rc) : SQLITE_OK;
}
