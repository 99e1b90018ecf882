#include "sqlite_ext/follow/tail_internal.h"

#include "core/base/bits.h"
#include "sqlite_ext/follow/row_decoder.h"
#include "sqlite_ext/storage/shadow_tables.h"
#include "sqlite_ext/storage/pager.h"

enum { MOST_ENTRIES = 1 << 17 }; /* that are sorted at once: 14 MB */

/* Reading what is new. */
struct reading {
	struct iforest_index *index;
	struct iforest_dictionary *dictionary;
	struct iforest_tail *tail;
	struct iforest_error *error;
	struct iforest_entry_reader rows;
	struct iforest_tail_news news;
	struct iforest_keys removed;
	struct iforest_tail_state state;
	struct iforest_entry_list front;
	size_t n_passed;             /* rows of the front as it was, below the row at hand */
	bool is_look;                /* nothing is taken: is the front as it was? */
	bool differs;
	int rc;                      /* once reading was given up */
};

/* ---- series ---- */

/* The series of a row of the table: a new one gets the next id, for the time being; in a look one that no row has. */
static int series_of_row(void *context, const struct iforest_series_key *key, uint32_t *id)
{
	struct reading *reading = context;
	struct iforest_dictionary *dictionary = reading->dictionary;
	const struct iforest_series *series = iforest_dictionary_find(dictionary, key->bytes, key->n_bytes);
	enum iforest_status status = IFOREST_OK;

	if (!series && reading->is_look) {
		*id = UINT32_MAX;
		return SQLITE_OK;
	}
	if (!series && reading->dictionary->next_id == UINT32_MAX)
		status = IFOREST_TOO_LARGE;
	else if (!series)
		status = iforest_dictionary_add(dictionary, reading->dictionary->next_id, key->bytes, key->n_bytes);
	if (status)
		return iforest_pager_sqlite_error(reading->index, status, reading->error);
	*id = series ? series->id : reading->dictionary->next_id++;
	return SQLITE_OK;
}

static int log_is_wrong(const struct iforest_index *index, const char *what, struct iforest_error *error)
{
	return iforest_error_from_status(error, IFOREST_CORRUPT, index->name, &(struct iforest_fault){ .what = what }, 0);
}

/* ---- the log ---- */

/* Columns of the log in a query, before those of the table. */
enum { ID, WAS, OLD_TIME, FIRST_OLD_BY };

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
	series = rc ? NULL : iforest_dictionary_find(reading->dictionary, bytes.bytes, bytes.n_bytes);
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
	*is_odd = *is_odd || key.series >= reading->dictionary->end_of_stored;
	if (!*is_odd && !iforest_keys_push(&reading->removed, &key))
		return iforest_error_set(reading->error, SQLITE_NOMEM, "");
	return SQLITE_OK;
}

/* Follows what the log says of a row before that may be in the runs. A row that was inserted, and changed by triggers of the
 * user before ours told of it, begins with a key that the runs do not have, and perhaps cannot have; then it is told of later
 * as one that was not there. */
static int follow(struct reading *reading, sqlite3_value **log, struct iforest_pending_row *row, bool is_new)
{
	bool was_there = sqlite3_value_type(log[WAS]) != SQLITE_NULL;
	int rc = SQLITE_OK;

	if (row->id > reading->tail->sealed)
		return SQLITE_OK;
	if (is_new && was_there) {
		rc = read_old_key(reading, log, row->id, &row->is_odd);
		reading->tail->n_odd += row->is_odd;
	} else if (row->is_odd && !was_there) {
		row->is_odd = false;
		reading->tail->n_odd--;
	}
	return rc;
}

/* ---- rows ---- */

/* Puts the row in the place of what was read of it before; NULL: the table does not have it any more. */
static int put_row(struct reading *reading, struct iforest_pending_row *row, const struct iforest_entry *entry)
{
	struct iforest_tail_news *news = &reading->news;
	struct iforest_key before = {
		.series = row->series, .time_is_null = row->time_is_null, .time = row->time, .ref = row->id
	};

	if ((row->is_present && !iforest_keys_push(&news->outdated, &before)) ||
	    (entry && !iforest_entry_list_push(&news->rows, entry)))
		return iforest_error_set(reading->error, SQLITE_NOMEM, "");
	row->batch = reading->tail->n_batches;
	row->is_present = entry;
	if (!entry)
		return SQLITE_OK;
	row->series = (uint32_t)entry->key.series;
	row->time = entry->key.time;
	row->time_is_null = entry->key.time_is_null;
	if (news->rows.n < MOST_ENTRIES)
		return SQLITE_OK;
	return iforest_pager_sqlite_error(reading->index, iforest_tail_settle(reading->tail, news), reading->error);
}

/* A row of the log beside the row of the table, which is taken the first time that it is met in this reading. */
static int take_logged(struct reading *reading, sqlite3_value **values)
{
	sqlite3_value **columns = values + FIRST_OLD_BY + reading->index->definition.n_by;
	bool is_present = sqlite3_value_type(columns[0]) != SQLITE_NULL, is_new;
	struct iforest_pending_row *row =
		iforest_pending_take(&reading->tail->pending, sqlite3_value_int64(values[ID]), &is_new);
	struct iforest_entry entry;
	int rc = row ? SQLITE_OK : iforest_error_set(reading->error, SQLITE_NOMEM, "");

	if (!rc && sqlite3_value_type(values[ID]) != SQLITE_INTEGER)
		rc = log_is_wrong(reading->index, "the log names no rowid", reading->error);
	if (!rc)
		rc = follow(reading, values, row, is_new);
	if (rc || row->batch == reading->tail->n_batches)
		return rc;
	if (is_present)
		rc = iforest_entry_read(&reading->rows, columns, &entry);
	return rc ? rc : put_row(reading, row, is_present ? &entry : NULL);
}

static bool is_same_entry(const struct iforest_entry *a, const struct iforest_entry *b, unsigned n_values)
{
	bool is_same = iforest_key_compare(&a->key, &b->key) == 0 && a->present == b->present;

	for (unsigned v = 0; v < n_values && is_same; v++)
		is_same = a->values[v].integer == b->values[v].integer;
	return is_same;
}

/* Was a row of the front that is read once more as it is now? Rows come by rowid. */
static bool is_known(struct reading *reading, const struct iforest_entry *entry)
{
	const struct iforest_entry_list *front = &reading->tail->front;
	size_t at = reading->n_passed;

	while (at < front->n && front->entries[at].key.ref < entry->key.ref)
		at++;
	reading->n_passed = at;
	return at < front->n && is_same_entry(&front->entries[at], entry, reading->tail->manifest.fields.n_values);
}

/* A row of the table above those that the log follows. */
static int take_row(struct reading *reading, sqlite3_value **columns)
{
	struct iforest_pending_row *row;
	struct iforest_entry entry;
	bool is_new, known;
	int rc = iforest_entry_read(&reading->rows, columns, &entry);

	if (rc)
		return rc;
	known = is_known(reading, &entry);
	if (reading->is_look) {
		reading->differs = reading->differs || !known;
		return SQLITE_OK;
	}
	row = known ? NULL : iforest_pending_take(&reading->tail->pending, entry.key.ref, &is_new);
	if ((!known && !row) ||
	    (entry.key.ref > reading->state.followed && !iforest_entry_list_push(&reading->front, &entry)))
		return iforest_error_set(reading->error, SQLITE_NOMEM, "");
	return known ? SQLITE_OK : put_row(reading, row, &entry);
}

/* ---- statements ---- */

/* iforest_pending(reading, is_log, columns ...): takes the row, and is true where reading is to end. So a row is read in
 * 0.2 us, and in 0.6 where the statement hands it out. */
static void pending_function(sqlite3_context *context, int n_arguments, sqlite3_value **arguments)
{
	struct reading *reading = n_arguments > 1 ? sqlite3_value_pointer(arguments[0], READING_POINTER) : NULL;

	if (!reading) {
		sqlite3_result_error(context, "iforest_pending() is for the statements of an index alone", -1);
		return;
	}
	if (sqlite3_value_int(arguments[1]))
		reading->rc = take_logged(reading, arguments + 2);
	else
		reading->rc = take_row(reading, arguments + 2);
	sqlite3_result_int(context, reading->rc != SQLITE_OK || (reading->is_look && reading->differs));
}

int iforest_tail_register(sqlite3 *db)
{
	return sqlite3_create_function_v2(db, "iforest_pending", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL, pending_function,
					  NULL, NULL, NULL);
}

static int prepare(struct reading *reading, sqlite3_stmt **statement, sqlite3_str *sql)
{
	char *text = sqlite3_str_finish(sql);
	int rc = text ? iforest_prepare(reading->error, reading->index->db, statement, "%s", text) :
			iforest_error_set(reading->error, SQLITE_NOMEM, "");

	sqlite3_free(text);
	return rc;
}

/* SELECT 1 FROM "spans" AS s WHERE s."id" > ?1 AND iforest_pending(?2, 0, s."id", s."ts", ...) ORDER BY s."id" */
static int prepare_rows(struct reading *reading)
{
	struct iforest_index *index = reading->index;
	const char *rowid = index->source.rowid_column;
	sqlite3_str *sql;

	if (index->read_rows)
		return SQLITE_OK;
	sql = sqlite3_str_new(index->db);
	sqlite3_str_appendf(sql, "SELECT 1 FROM \"%w\".\"%w\" AS s WHERE s.\"%w\" > ?1 AND iforest_pending(?2, 0, ",
			    index->schema, index->source.name, rowid);
	iforest_entry_append_columns(&index->definition, &index->source, "s", sql);
	sqlite3_str_appendf(sql, ") ORDER BY s.\"%w\"", rowid);
	return prepare(reading, &index->read_rows, sql);
}

/* SELECT 1 FROM "x_log" AS l LEFT JOIN "spans" AS s ON s."id" = l.id WHERE l.seq > ?1 AND
 * iforest_pending(?2, 1, l.id, l.was, l.time, l.by_0, s."id", s."ts", ...) ORDER BY l.seq */
static int prepare_log(struct reading *reading)
{
	struct iforest_index *index = reading->index;
	sqlite3_str *sql;

	if (index->read_log)
		return SQLITE_OK;
	sql = sqlite3_str_new(index->db);
	sqlite3_str_appendf(sql,
			    "SELECT 1 FROM \"%w\".\"%w_log\" AS l LEFT JOIN \"%w\".\"%w\" AS s ON s.\"%w\" = l.id "
			    "WHERE l.seq > ?1 AND iforest_pending(?2, 1, l.id, l.was, l.time, ",
			    index->schema, index->name, index->schema, index->source.name, index->source.rowid_column);
	for (unsigned b = 0; b < index->definition.n_by; b++)
		sqlite3_str_appendf(sql, "l.by_%u, ", b);
	iforest_entry_append_columns(&index->definition, &index->source, "s", sql);
	sqlite3_str_appendall(sql, ") ORDER BY l.seq");
	return prepare(reading, &index->read_log, sql);
}

/* What comes after `after`, by rowid or seq. */
static int read_after(struct reading *reading, sqlite3_stmt *statement, sqlite3_int64 after)
{
	int failed;

	sqlite3_bind_int64(statement, 1, after);
	sqlite3_bind_pointer(statement, 2, reading, READING_POINTER, NULL);
	sqlite3_step(statement);
	failed = sqlite3_reset(statement);
	if (!reading->rc && failed) /* before another call makes SQLite forget why */
		reading->rc = iforest_error_from_db(reading->error, reading->index->db, failed);
	sqlite3_bind_null(statement, 2);
	return reading->rc;
}

static int read_rows(struct reading *reading)
{
	int rc = prepare_rows(reading);

	return rc ? rc : read_after(reading, reading->index->read_rows, reading->tail->followed);
}

static int read_log(struct reading *reading)
{
	int rc = prepare_log(reading);

	return rc ? rc : read_after(reading, reading->index->read_log, reading->tail->last_seq);
}

/* ---- the whole ---- */

static void start(struct reading *reading, struct iforest_index *index, struct iforest_tail *tail,
		  struct iforest_dictionary *dictionary, bool is_look, struct iforest_error *error)
{
	*reading = (struct reading){
		.index = index, .dictionary = dictionary, .tail = tail, .error = error, .is_look = is_look,
		.rows = { .db = index->db, .schema = index->schema, .definition = &index->definition, .source = &index->source,
			  .fields = &tail->manifest.fields, .error = error, .series_of = series_of_row,
			  .context = reading, .key.alloc = &iforest_sqlite_alloc,
			  .previous_key.alloc = &iforest_sqlite_alloc },
	};
}

static void end(struct reading *reading)
{
	iforest_entry_reader_release(&reading->rows);
	sqlite3_free(reading->news.rows.entries);
	sqlite3_free(reading->news.outdated.keys);
	sqlite3_free(reading->removed.keys);
	sqlite3_free(reading->front.entries);
}

static int settle(struct reading *reading)
{
	struct iforest_tail *tail = reading->tail;
	struct iforest_entry_list before = tail->front;
	enum iforest_status status = iforest_tail_settle(tail, &reading->news);

	if (!status)
		status = iforest_tail_remove(tail, &reading->removed);
	tail->front = reading->front;
	reading->front = before;
	tail->last_seq = reading->state.last_seq;
	tail->followed = reading->state.followed;
	tail->last_rowid = reading->state.last_rowid;
	return iforest_pager_sqlite_error(reading->index, status, reading->error);
}

int iforest_tail_read(struct iforest_index *index, struct iforest_tail *tail, struct iforest_dictionary *dictionary,
		      struct iforest_error *error)
{
	uint32_t n_series = dictionary->n_series;
	struct reading reading;
	int rc;

	start(&reading, index, tail, dictionary, false, error);
	tail->n_batches++;
	rc = iforest_tail_read_state(index, tail, &reading.state, error);
	if (!rc) /* before the log: so they are pending in the order of their rowids, most of them */
		rc = read_rows(&reading);
	if (!rc && reading.state.last_seq != tail->last_seq)
		rc = read_log(&reading);
	if (!rc)
		rc = settle(&reading);
	if (!rc && dictionary->n_series != n_series)
		iforest_dictionary_sort(dictionary);
	end(&reading);
	return rc;
}

int iforest_tail_look(struct iforest_index *index, struct iforest_tail *tail, struct iforest_dictionary *dictionary,
		      bool *is_current, bool *is_part, struct iforest_error *error)
{
	struct iforest_tail_state state;
	struct reading reading;
	int rc;

	*is_current = *is_part = true;
	if (index->definition.sync == IFOREST_SYNC_MANUAL)
		return SQLITE_OK;
	rc = iforest_tail_read_state(index, tail, &state, error);
	if (rc)
		return rc;
	*is_part = state.last_seq >= tail->last_seq && state.followed >= tail->followed;
	*is_current = state.last_seq == tail->last_seq && state.followed == tail->followed &&
		      state.last_rowid == tail->last_rowid;
	if (!*is_current || tail->front.n == 0)
		return SQLITE_OK;
	start(&reading, index, tail, dictionary, true, error);
	rc = read_rows(&reading);
	*is_current = !reading.differs; /* of rows that are gone the log tells */
	end(&reading);
	return rc;
}

int iforest_tail_check(const struct iforest_index *index, const struct iforest_tail *tail, struct iforest_error *error)
{
	return tail->n_odd == 0 ? SQLITE_OK : log_is_wrong(index, "the log tells of a row that the index cannot have", error);
}
