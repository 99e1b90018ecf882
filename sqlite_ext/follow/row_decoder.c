#include "sqlite_ext/follow/row_decoder.h"

#include "core/model/real_time.h"
#include "sqlite_ext/storage/dictionary.h"

/* Columns of the table in a query. */
enum { ROWID, TIME, FIRST_BY };

/* Refuses the first row of the table that meets the condition, and names it. */
static int refuse_row(struct ifs_row_decoder *decoder, const char *column, const char *condition, const char *format,
		      const char *remedy)
{
	const char *where = ifs_definition_condition(decoder->definition);
	sqlite3_stmt *statement;
	int rc = ifs_prepare(decoder->error, decoder->db, &statement,
			     "SELECT \"%w\", \"%w\" FROM \"%w\".\"%w\" WHERE %s%s%s ORDER BY \"%w\" LIMIT 1",
			     decoder->base_table->rowid_column, column, decoder->schema, decoder->base_table->name, condition,
			     where ? " AND " : "", where ? where : "", decoder->base_table->rowid_column);

	if (rc)
		return rc;
	rc = sqlite3_step(statement);
	if (rc == SQLITE_ROW)
		ifs_error_set(decoder->error, SQLITE_ERROR, format, column, sqlite3_column_int64(statement, 0),
			      sqlite3_column_type(statement, 1) == SQLITE_BLOB
				      ? "a blob"
				      : (const char *)sqlite3_column_text(statement, 1),
			      remedy);
	else
		ifs_error_from_db(decoder->error, decoder->db, rc == SQLITE_DONE ? SQLITE_ERROR : rc);
	sqlite3_finalize(statement);
	return decoder->error->rc;
}

/* The number that a text is as a whole, by the affinity of the comparison; NULL of any other value. For sqlite3_mprintf(), the
 * column four times. */
#define NUMBER_OF_TEXT "(CASE WHEN \"%w\" = CAST(\"%w\" AS NUMERIC) THEN CAST(\"%w\" AS NUMERIC) END)"

/* True if all texts of the time column look like numbers. */
static bool are_numbers(struct ifs_row_decoder *decoder)
{
	const char *column = decoder->definition->time, *where = ifs_definition_condition(decoder->definition);
	sqlite3_stmt *statement;
	bool are_all = true;

	if (ifs_prepare(decoder->error, decoder->db, &statement,
			"SELECT \"%w\" FROM \"%w\".\"%w\" WHERE typeof(\"%w\") = 'text' AND %s", column, decoder->schema,
			decoder->base_table->name, column, where ? where : "1"))
		return false;
	while (are_all && sqlite3_step(statement) == SQLITE_ROW)
		are_all = sqlite3_value_numeric_type(sqlite3_column_value(statement, 0)) != SQLITE_TEXT;
	sqlite3_finalize(statement);
	return are_all;
}

/* What the message about a value of another type says of it: type, and text. */
static const char *word_of(sqlite3_value *value)
{
	int type = sqlite3_value_type(value);

	return type == SQLITE_BLOB ? "a blob" : type == SQLITE_TEXT ? "text" : "a number";
}

/* Returns the value as text, which is NULL without memory. */
static const char *text_of(sqlite3_value *value)
{
	return sqlite3_value_type(value) == SQLITE_BLOB ? "..." : (const char *)sqlite3_value_text(value);
}

static int refuse_other_type(struct ifs_row_decoder *decoder, const char *column, sqlite3_int64 id, sqlite3_value *value)
{
	static const char *const kinds[] = { "integers", "numbers", "texts" };
	bool is_text = sqlite3_value_type(value) == SQLITE_TEXT, are_texts = decoder->times->kind == IFS_TIMES_TEXT;

	if (sqlite3_value_type(value) == SQLITE_FLOAT && !are_texts)
		return ifs_error_set(decoder->error, SQLITE_ERROR,
				     "iforest: time column \"%s\" of row %lld holds %s, and the index was made when it held "
				     "integers only; run the command 'rebuild'",
				     column, id, text_of(value));
	if (is_text && are_numbers(decoder))
		return ifs_error_set(
			decoder->error, SQLITE_ERROR,
			"iforest: time column \"%s\" of row %lld holds text (%s); add a column of numbers: ALTER TABLE "
			"\"%w\" ADD COLUMN \"%w_number\" ANY AS " NUMBER_OF_TEXT ", and name that",
			column, id, text_of(value), decoder->base_table->name, column, column, column, column);
	return ifs_error_set(
		decoder->error, SQLITE_ERROR,
		"iforest: time column \"%s\" of row %lld holds %s (%s), and times of the index are %s; store times of "
		"one kind alone, and run the command 'rebuild' if the index exists already",
		column, id, word_of(value), text_of(value), kinds[decoder->times->kind]);
}

/* Refuses a text with digits beyond the index's unit. In a finer one durations must keep theirs. */
static int refuse_fine_time(struct ifs_row_decoder *decoder, const char *what, const char *column, sqlite3_int64 id,
			    sqlite3_value *value)
{
	const struct ifs_times *times = decoder->times;
	const char *unit = ifs_time_unit_word(times->per_second);

	if (times->per_second == 1000000000)
		return ifs_error_set(
			decoder->error, SQLITE_ERROR,
			"iforest: %s column \"%s\" of row %lld holds %Q, which has digits beyond the index's unit=%s; "
			"there is no finer unit: add a generated column without them, and name that",
			what, column, id, text_of(value), unit);
	if (!decoder->definition->duration)
		return ifs_error_set(
			decoder->error, SQLITE_ERROR,
			"iforest: %s column \"%s\" of row %lld holds %Q, which has digits beyond the index's unit=%s; "
			"make the index with a finer unit; ns is the finest",
			what, column, id, text_of(value), unit);
	return ifs_error_set(
		decoder->error, SQLITE_ERROR,
		"iforest: %s column \"%s\" of row %lld holds %Q, which has digits beyond the index's unit=%s; make "
		"the index with a finer unit, and say what durations count: unit=%s, duration_unit=%s",
		what, column, id, text_of(value), unit, times->per_second < 1000000 ? "us" : "ns",
		ifs_time_unit_word(times->durations_per_second));
}

/* Refuses a time, or the end of a span. */
static int refuse_time(struct ifs_row_decoder *decoder, bool is_end, sqlite3_int64 id, sqlite3_value *value,
		       enum ifs_time_fault fault)
{
	const struct ifs_definition *definition = decoder->definition;
	const char *what = is_end ? "end" : "time", *column = is_end ? definition->end.source : definition->time;

	switch (fault) {
	case IFS_TIME_INFINITE:
		return ifs_error_set(decoder->error, SQLITE_ERROR,
				     "iforest: %s column \"%s\" of row %lld holds %s, which is not a time; store NULL", what,
				     column, id, text_of(value));
	case IFS_TIME_INEXACT:
		return ifs_error_set(
			decoder->error, SQLITE_ERROR,
			"iforest: %s column \"%s\" of row %lld holds the integer %s next to reals, which cannot hold "
			"it exactly; store integers only, or reals only",
			what, column, id, text_of(value));
	case IFS_TIME_TOO_FINE:
		return refuse_fine_time(decoder, what, column, id, value);
	case IFS_TIME_TOO_FAR:
		return ifs_error_set(
			decoder->error, SQLITE_ERROR,
			"iforest: %s column \"%s\" of row %lld holds %Q, which lies outside the years 1677 to 2262, "
			"all that 64 bits of nanoseconds can count; make the index with unit=us",
			what, column, id, text_of(value));
	case IFS_TIME_NO_TEXT:
		if (!is_end && are_numbers(decoder))
			return refuse_other_type(decoder, column, id, value);
		return ifs_error_set(
			decoder->error, SQLITE_ERROR,
			"iforest: %s column \"%s\" of row %lld holds %Q, which is not a date, or date and time of day, such as "
			"'2026-01-31 23:59:59.5'; add a generated column that makes such a text or a number of it, and "
			"name that",
			what, column, id, text_of(value));
	default:
		return refuse_other_type(decoder, column, id, value);
	}
}

/* Refuses the first value that meets the condition. The remedy is freed; it is NULL without memory. */
static int refuse_with(struct ifs_row_decoder *decoder, const char *column, const char *condition_format, const char *format,
		       char *remedy)
{
	char *condition = sqlite3_mprintf(condition_format, column, column);
	int rc = condition && remedy ? refuse_row(decoder, column, condition, format, remedy)
				     : ifs_error_set(decoder->error, SQLITE_NOMEM, "");

	sqlite3_free(condition);
	sqlite3_free(remedy);
	return rc;
}

static int refuse_value(struct ifs_row_decoder *decoder, const char *column, const char *condition_format, const char *format)
{
	return refuse_with(decoder, column, condition_format, format,
			   sqlite3_mprintf("ALTER TABLE \"%w\" ADD COLUMN \"%w_number\" ANY AS " NUMBER_OF_TEXT,
					   decoder->base_table->name, column, column, column, column));
}

/* True if a real among integers may make reals of them. */
static bool widens(struct ifs_row_decoder *decoder, sqlite3_value *value)
{
	if (!decoder->may_widen || decoder->times->kind != IFS_TIMES_INTEGER || sqlite3_value_type(value) != SQLITE_FLOAT)
		return false;
	decoder->has_real_in_integers = true;
	return true;
}

static int read_time(struct ifs_row_decoder *decoder, sqlite3_value *time, struct iforest_key *key)
{
	int type = sqlite3_value_type(time);
	enum ifs_time_fault fault;

	key->time_is_null = type == SQLITE_NULL;
	key->time = 0;
	if (type == SQLITE_NULL)
		return SQLITE_OK;
	if (type == SQLITE_INTEGER && decoder->times->kind == IFS_TIMES_INTEGER) {
		key->time = sqlite3_value_int64(time);
		return SQLITE_OK;
	}
	fault = ifs_time_convert(decoder->times, time, &key->time);
	if (!fault && decoder->forms && decoder->times->kind == IFS_TIMES_TEXT)
		ifs_time_note_form(decoder->times, time, key->time, decoder->forms);
	if (!fault)
		return SQLITE_OK;
	if (widens(decoder, time))
		return SQLITE_OK;
	return refuse_time(decoder, false, key->ref, time, fault);
}

/* Reports a real in a column that has accumulators. */
static int refuse_real(struct ifs_row_decoder *decoder, const char *column, const struct iforest_kind *kind)
{
	char *format = sqlite3_mprintf("iforest: value column \"%%s\" of row %%lld holds the real %%s, and %s are kept of "
				       "integers alone; store integers, or leave the column out of %s=...",
				       kind->results, kind->option);
	int rc = format ? refuse_value(decoder, column, "typeof(\"%w\") = 'real'", format)
			: ifs_error_set(decoder->error, SQLITE_NOMEM, "");

	sqlite3_free(format);
	return rc;
}

/* Refuses an end that is too far from the time. */
static int refuse_distance(struct ifs_row_decoder *decoder, sqlite3_int64 id, sqlite3_value *value)
{
	return ifs_error_set(decoder->error, SQLITE_ERROR,
			     "iforest: end column \"%s\" of row %lld holds %s, further from the time than 64 bits can say",
			     decoder->definition->end.source, id, text_of(value));
}

static int refuse_end(struct ifs_row_decoder *decoder, sqlite3_int64 id, sqlite3_value *value, enum ifs_time_fault fault)
{
	const char *column = decoder->definition->end.source;
	int type = sqlite3_value_type(value);

	if (fault != IFS_TIME_OF_OTHER_TYPE)
		return refuse_time(decoder, true, id, value, fault);
	if (decoder->times->kind == IFS_TIMES_TEXT)
		return ifs_error_set(decoder->error, SQLITE_ERROR,
				     "iforest: end column \"%s\" of row %lld holds %s (%s), and times are texts; ends are, too",
				     column, id, word_of(value), text_of(value));
	if (type == SQLITE_TEXT || type == SQLITE_BLOB)
		return refuse_value(decoder, column, "typeof(\"%w\") IN ('text', 'blob')",
				    "iforest: end column \"%s\" of row %lld holds text or a blob (%s); add a column of "
				    "numbers, with NULL for what is none: %s, and name that");
	return ifs_error_set(decoder->error, SQLITE_ERROR,
			     "iforest: end column \"%s\" of row %lld holds %s; ends are integers, as the times are", column, id,
			     text_of(value));
}

/* Reads the end of a span, which is not NULL. */
static int read_end(struct ifs_row_decoder *decoder, sqlite3_value *value, sqlite3_int64 id, int64_t *end)
{
	enum ifs_time_fault fault = ifs_time_of(decoder->times, value, end);

	*end = fault ? 0 : *end;
	return fault && !widens(decoder, value) ? refuse_end(decoder, id, value, fault) : SQLITE_OK;
}

/* Keeps the end of a span beside its real duration. It lies before the time if the span is unfinished, however small the
 * negative duration. */
static void keep_end(struct ifs_row_decoder *decoder, int64_t end, struct iforest_entry *entry)
{
	unsigned v = decoder->fields->duration_value;
	bool is_unfinished = entry->values[decoder->definition->duration_value].real < 0;

	entry->values[v].integer = is_unfinished && end == entry->key.time ? end - 1 : end;
	entry->present |= 1u << v;
}

/* Reads the duration of a row whose end is a column: end - time, NULL if either is. */
static int read_duration_by_end(struct ifs_row_decoder *decoder, sqlite3_value *value, struct iforest_entry *entry)
{
	unsigned v = decoder->definition->duration_value;
	int64_t end;
	int rc;

	entry->values[v].integer = 0;
	if (sqlite3_value_type(value) == SQLITE_NULL)
		return SQLITE_OK;
	rc = read_end(decoder, value, entry->key.ref, &end);
	if (rc || entry->key.time_is_null)
		return rc;
	entry->present |= 1u << v;
	if (decoder->times->kind == IFS_TIMES_REAL) {
		entry->values[v].real = iforest_real_of_time(end) - iforest_real_of_time(entry->key.time);
		keep_end(decoder, end, entry);
		return SQLITE_OK;
	}
	return __builtin_sub_overflow(end, entry->key.time, &entry->values[v].integer)
		       ? refuse_distance(decoder, entry->key.ref, value)
		       : SQLITE_OK;
}

/* Refuses a real duration whose unit is not known. */
static int refuse_real_duration(struct ifs_row_decoder *decoder, const char *column)
{
	if (decoder->times->kind == IFS_TIMES_TEXT)
		return refuse_with(decoder, column, "typeof(\"%w\") = 'real'",
				   "iforest: duration column \"%s\" of row %lld holds the real %s, and the index counts whole "
				   "units; say what that column counts: duration_unit=s for seconds, duration_unit=ms for "
				   "milliseconds, and count in a finer unit: unit=us, or unit=ns%s",
				   sqlite3_mprintf(""));
	return refuse_with(decoder, column, "typeof(\"%w\") = 'real'",
			   "iforest: duration column \"%s\" of row %lld holds the real %s next to times that are integers; say "
			   "what both columns count, such as unit=ns, duration_unit=ms (for sums of reals alone leave duration "
			   "out and write value=...)%s",
			   sqlite3_mprintf(""));
}

/* Offers finer times for durations with digits beyond the unit of times. */
static int refuse_fine_duration(struct ifs_row_decoder *decoder, const char *column, sqlite3_int64 id, sqlite3_value *value)
{
	const struct ifs_times *times = decoder->times;
	const char *time = decoder->definition->time, *coarse = ifs_time_unit_word(times->durations_per_second);
	sqlite3_int64 per_second = times->per_second >= 1000000 ? 1000000000 : 1000000;
	const char *unit = ifs_time_unit_word(per_second);

	if (times->per_second == 1000000000)
		return ifs_error_set(decoder->error, SQLITE_ERROR,
				     "iforest: duration column \"%s\" of row %lld holds %s, a fraction of a nanosecond; add a "
				     "column of whole ones: ALTER TABLE \"%w\" ADD COLUMN \"%w_ns\" INTEGER AS "
				     "(CAST(round(\"%w\") AS INTEGER)), and name that",
				     column, id, text_of(value), decoder->base_table->name, column, column);
	if (times->kind == IFS_TIMES_TEXT)
		return ifs_error_set(
			decoder->error, SQLITE_ERROR,
			"iforest: duration column \"%s\" of row %lld holds %s, which has digits beyond the index's "
			"unit=%s; make the index with unit=%s, duration_unit=%s",
			column, id, text_of(value), ifs_time_unit_word(times->per_second), unit, coarse);
	return ifs_error_set(
		decoder->error, SQLITE_ERROR,
		"iforest: duration column \"%s\" of row %lld holds %s, which has digits beyond unit=%s of the time column; add "
		"finer times: ALTER TABLE \"%w\" ADD COLUMN \"%w_%s\" INTEGER AS (\"%w\" * %lld), and name that in time=..., "
		"with unit=%s, duration_unit=%s",
		column, id, text_of(value), ifs_time_unit_word(times->per_second), decoder->base_table->name, time, unit, time,
		per_second / times->per_second, unit, coarse);
}

/* Reads a duration in a unit of its own, next to times that are no reals. */
static int read_duration(struct ifs_row_decoder *decoder, sqlite3_value *value, unsigned v, struct iforest_entry *entry)
{
	const char *column = decoder->definition->values[v].source;

	switch (ifs_duration_of(decoder->times, value, &entry->values[v].integer)) {
	case IFS_TIME_OK:
		entry->present |= 1u << v;
		return SQLITE_OK;
	case IFS_TIME_TOO_FINE:
		return refuse_fine_duration(decoder, column, entry->key.ref, value);
	default:
		return ifs_error_set(decoder->error, SQLITE_ERROR,
				     "iforest: duration column \"%s\" of row %lld holds %s, more %s than 64 bits can count; "
				     "store NULL, or make the index with a coarser unit=...",
				     column, (sqlite3_int64)entry->key.ref, text_of(value),
				     ifs_time_unit_word(decoder->times->per_second));
	}
}

/* Refuses a value that a column of integers cannot hold, unless it is a real that may make reals of them. */
static int refuse_type(struct ifs_row_decoder *decoder, sqlite3_value *value, unsigned v)
{
	const char *column = decoder->definition->values[v].source;
	const struct iforest_kind *kind = ifs_kind_of_integers(decoder->definition, v);

	if (sqlite3_value_type(value) != SQLITE_FLOAT)
		return refuse_value(decoder, column, "typeof(\"%w\") IN ('text', 'blob')",
				    "iforest: value column \"%s\" of row %lld holds text or a blob (%s); add a column of "
				    "numbers, with NULL for what is none: %s, and name that");
	if (v == decoder->definition->duration_value)
		return widens(decoder, value) ? SQLITE_OK : refuse_real_duration(decoder, column);
	if (kind)
		return refuse_real(decoder, column, kind);
	if (decoder->may_widen) {
		decoder->has_real_in_integers = true;
		return SQLITE_OK;
	}
	return refuse_value(decoder, column, "typeof(\"%w\") = 'real'",
			    "iforest: value column \"%s\" of row %lld holds the real %s, and the index was made when it held "
			    "integers only; run the command 'rebuild'");
}

/* Reads a value of a column of reals, which is an integer or a real. */
static int read_real(struct ifs_row_decoder *decoder, sqlite3_value *value, unsigned v, struct iforest_entry *entry)
{
	const char *column = decoder->definition->values[v].source;
	const struct iforest_kind *kind = ifs_kind_of_integers(decoder->definition, v);

	if (sqlite3_value_type(value) == SQLITE_INTEGER) {
		int64_t integer = sqlite3_value_int64(value);

		if (integer > INT64_C(1) << 53 || integer < -(INT64_C(1) << 53))
			return refuse_value(
				decoder, column,
				"typeof(\"%w\") = 'integer' AND \"%w\" NOT BETWEEN -9007199254740992 AND 9007199254740992",
				"iforest: value column \"%s\" of row %lld holds the integer %s, and next to reals integers "
				"are exact up to 2^53 only; store integers only, or reals only");
	} else if (kind) {
		return refuse_real(decoder, column, kind);
	}
	entry->present |= 1u << v;
	entry->values[v].real = sqlite3_value_double(value);
	if (v != decoder->definition->duration_value)
		return SQLITE_OK;
	if (decoder->times->has_duration_unit)
		entry->values[v].real = ifs_real_duration_of(decoder->times, entry->values[v].real);
	if (!entry->key.time_is_null)
		keep_end(decoder, iforest_time_of_real(iforest_real_of_time(entry->key.time) + entry->values[v].real), entry);
	return SQLITE_OK;
}

static int read_value(struct ifs_row_decoder *decoder, sqlite3_value *value, unsigned v, struct iforest_entry *entry)
{
	int type = sqlite3_value_type(value);
	bool is_real_column = decoder->fields->value_types[v] == IFOREST_FLOAT64;

	if (v == decoder->definition->duration_value && decoder->definition->end.source)
		return read_duration_by_end(decoder, value, entry);
	entry->values[v].integer = 0;
	if (type == SQLITE_NULL)
		return SQLITE_OK;
	if (v == decoder->definition->duration_value && decoder->times->has_duration_unit && !is_real_column &&
	    (type == SQLITE_INTEGER || type == SQLITE_FLOAT))
		return read_duration(decoder, value, v, entry);
	if (type == SQLITE_INTEGER && !is_real_column) {
		entry->present |= 1u << v;
		entry->values[v].integer = sqlite3_value_int64(value);
		return SQLITE_OK;
	}
	if (is_real_column && (type == SQLITE_INTEGER || type == SQLITE_FLOAT))
		return read_real(decoder, value, v, entry);
	return refuse_type(decoder, value, v);
}

/* Reads a column that the index stores as keys of distinct sketches. */
static int read_hashed(struct ifs_row_decoder *decoder, sqlite3_value *value, unsigned v, struct iforest_entry *entry)
{
	if (sqlite3_value_type(value) == SQLITE_NULL)
		return SQLITE_OK;
	if (!ifs_distinct_key(value, &entry->values[v].integer))
		return ifs_error_set(decoder->error, SQLITE_NOMEM, "");
	entry->present |= 1u << v;
	return SQLITE_OK;
}

/* Returns the cache slot of a single integer by value, chosen by its last bits; NULL for other by values. */
static struct ifs_recent_series *recent_of(struct ifs_row_decoder *decoder, sqlite3_value **by, int64_t *value)
{
	if (decoder->definition->n_by != 1 || sqlite3_value_type(by[0]) != SQLITE_INTEGER)
		return NULL;
	*value = sqlite3_value_int64(by[0]);
	return &decoder->recent[(uint64_t)*value % IFS_N_RECENT];
}

bool ifs_row_decoder_recall_series(struct ifs_row_decoder *decoder, sqlite3_value **by, uint64_t *series)
{
	int64_t value;
	const struct ifs_recent_series *recent = recent_of(decoder, by, &value);

	if (!recent || !recent->is_known || recent->value != value)
		return false;
	*series = recent->series;
	return true;
}

void ifs_row_decoder_remember_series(struct ifs_row_decoder *decoder, sqlite3_value **by, uint64_t series)
{
	int64_t value;
	struct ifs_recent_series *recent = recent_of(decoder, by, &value);

	if (recent)
		*recent = (struct ifs_recent_series){ .is_known = true, .series = (uint32_t)series, .value = value };
}

/* Finds the series of the row: that of the row before, or by series_of(). */
static int find_series(struct ifs_row_decoder *decoder, sqlite3_value **by, uint64_t *series)
{
	struct iforest_series_key swapped = decoder->previous_key;
	uint32_t id;
	int rc;

	decoder->previous_key = decoder->key;
	decoder->key = swapped;
	rc = ifs_row_series_key(decoder->definition, by, &decoder->key, decoder->error);
	if (rc)
		return rc;
	if (!decoder->has_series || decoder->key.n_bytes != decoder->previous_key.n_bytes ||
	    (decoder->key.n_bytes && memcmp(decoder->key.bytes, decoder->previous_key.bytes, decoder->key.n_bytes) != 0)) {
		decoder->has_series = false;
		rc = decoder->series_of(decoder->context, &decoder->key, &id);
		if (rc)
			return rc;
		decoder->series = id;
		decoder->has_series = true;
	}
	*series = decoder->series;
	return SQLITE_OK;
}

int ifs_row_decode_series(struct ifs_row_decoder *decoder, sqlite3_value **by, uint64_t *series)
{
	int rc;

	if (ifs_row_decoder_recall_series(decoder, by, series))
		return SQLITE_OK;
	rc = find_series(decoder, by, series);
	if (!rc)
		ifs_row_decoder_remember_series(decoder, by, *series);
	return rc;
}

int ifs_row_series_key(const struct ifs_definition *definition, sqlite3_value **values, struct iforest_series_key *key,
		       struct ifs_error *error)
{
	key->n_bytes = 0;
	for (unsigned b = 0; b < definition->n_by; b++) {
		struct iforest_by_value by = ifs_by_from_sql(values[b]);
		enum iforest_status status =
			by.tag == IFOREST_BY_TEXT && !by.data ? IFOREST_NO_MEMORY : iforest_series_key_append(key, &by);

		if (status)
			return ifs_error_from_status(error, status, "iforest", &(struct iforest_fault){ .what = NULL }, 0);
	}
	return SQLITE_OK;
}

void ifs_row_decoder_append_columns(const struct ifs_definition *definition, const struct ifs_base_table *base_table,
				    const char *row, sqlite3_str *sql)
{
	sqlite3_str_appendf(sql, "%s.\"%w\", %s.\"%w\"", row, base_table->rowid_column, row, definition->time);
	for (unsigned b = 0; b < definition->n_by; b++)
		sqlite3_str_appendf(sql, ", %s.\"%w\"", row, definition->by[b].source);
	for (unsigned v = 0; v < definition->n_values; v++)
		sqlite3_str_appendf(sql, ", %s.\"%w\"", row, definition->values[v].source);
	for (unsigned h = 0; h < definition->n_hashed; h++)
		sqlite3_str_appendf(sql, ", %s.\"%w\"", row, definition->hashed[h]);
}

unsigned ifs_row_decoder_n_columns(const struct ifs_definition *definition)
{
	return FIRST_BY + definition->n_by + definition->n_values + definition->n_hashed;
}

int ifs_row_decode(struct ifs_row_decoder *decoder, sqlite3_value **row, struct iforest_entry *entry)
{
	sqlite3_value **by = row + FIRST_BY, **values = by + decoder->definition->n_by;
	unsigned n_values = decoder->definition->n_values;
	int rc;

	entry->key.ref = sqlite3_value_int64(row[ROWID]);
	entry->present = 0;
	for (unsigned v = n_values; v < decoder->fields->n_values; v++)
		entry->values[v].integer = 0;
	rc = read_time(decoder, row[TIME], &entry->key);
	if (!rc)
		rc = ifs_row_decode_series(decoder, by, &entry->key.series);
	for (unsigned v = 0; v < n_values && !rc; v++)
		rc = read_value(decoder, values[v], v, entry);
	for (unsigned v = n_values; v < n_values + decoder->definition->n_hashed && !rc; v++)
		rc = read_hashed(decoder, values[v], v, entry);
	return rc;
}

int ifs_row_decode_statement(struct ifs_row_decoder *decoder, sqlite3_stmt *statement, struct iforest_entry *entry)
{
	sqlite3_value *row[FIRST_BY + IFS_MAX_BY + IFOREST_MAX_VALUES];

	ifs_statement_columns(statement, 0, ifs_row_decoder_n_columns(decoder->definition), row);
	return ifs_row_decode(decoder, row, entry);
}

void ifs_statement_columns(sqlite3_stmt *statement, int first, unsigned n, sqlite3_value **values)
{
	for (unsigned i = 0; i < n; i++)
		values[i] = sqlite3_column_value(statement, first + (int)i);
}

void ifs_row_decoder_forget_series(struct ifs_row_decoder *decoder)
{
	decoder->has_series = false;
	memset(decoder->recent, 0, sizeof decoder->recent);
}

void ifs_row_decoder_release(struct ifs_row_decoder *decoder)
{
	iforest_series_key_release(&decoder->key);
	iforest_series_key_release(&decoder->previous_key);
}
