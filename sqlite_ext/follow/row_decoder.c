#include "sqlite_ext/follow/row_decoder.h"

#include "core/base/bits.h"
#include "sqlite_ext/storage/dictionary.h"

/* Columns of the table in a query. */
enum { ROWID, TIME, FIRST_BY };

/* Refuses the first row of the table that meets the condition, and names it. */
static int refuse_row(struct ifs_row_decoder *decoder, const char *column, const char *condition, const char *format,
		      const char *remedy)
{
	sqlite3_stmt *statement;
	int rc = ifs_prepare(decoder->error, decoder->db, &statement,
			     "SELECT \"%w\", \"%w\" FROM \"%w\".\"%w\" WHERE %s ORDER BY \"%w\" LIMIT 1",
			     decoder->base_table->rowid_column, column, decoder->schema, decoder->base_table->name, condition,
			     decoder->base_table->rowid_column);

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

/* SQL that adds a generated column. Arguments: the table's name, then the column's, once for each use. */
#define ADD_TIMES(expression) "ALTER TABLE \"%w\" ADD COLUMN \"%w_ns\" INTEGER GENERATED ALWAYS AS (" expression ") VIRTUAL"

/* Converts whole units and the rest separately: their sum in nanoseconds has more digits than a double. */
#define UNITS_TO_NS "CAST(\"%w\" AS INTEGER) * 1000000000 + CAST(round((\"%w\" - CAST(\"%w\" AS INTEGER)) * 1e9) AS INTEGER)"

/* SQLite's dates end at milliseconds, so the digits after the point are read from the text. */
#define TEXT_FRACTION "CAST('0' || substr(\"%w\" || '.', instr(\"%w\" || '.', '.')) AS REAL)"
#define TEXT_TO_NS                                                                                            \
	"CAST(round((julianday(\"%w\") - 2440587.5) * 86400 - " TEXT_FRACTION ") AS INTEGER) * 1000000000 + " \
	"CAST(round(" TEXT_FRACTION " * 1e9) AS INTEGER)"

/* Returns SQL that adds a column of integers to the table. number_type: of the time, or of the number that its text is. */
static char *time_remedy(struct ifs_row_decoder *decoder, int number_type)
{
	const char *column = decoder->definition->time, *table = decoder->base_table->name;

	if (number_type == SQLITE_TEXT)
		return sqlite3_mprintf(ADD_TIMES(TEXT_TO_NS), table, column, column, column, column, column, column);
	if (number_type == SQLITE_FLOAT)
		return sqlite3_mprintf(ADD_TIMES(UNITS_TO_NS), table, column, column, column, column);
	return sqlite3_mprintf(ADD_TIMES("CAST(\"%w\" AS INTEGER)"), table, column, column);
}

static int refuse_time(struct ifs_row_decoder *decoder, int type, int number_type)
{
	const char *column = decoder->definition->time;
	char *condition = type == SQLITE_FLOAT
				  ? sqlite3_mprintf("typeof(\"%w\") = 'real' AND "
						    "(\"%w\" <> round(\"%w\") OR abs(\"%w\") >= 9223372036854775808.0)",
						    column, column, column, column)
				  : sqlite3_mprintf("typeof(\"%w\") IN ('text', 'blob')", column);
	char *remedy = time_remedy(decoder, number_type);
	int rc = SQLITE_NOMEM;

	if (condition && remedy)
		rc = refuse_row(decoder, column, condition,
				type == SQLITE_FLOAT ? "iforest: time column \"%s\" of row %lld holds %s, and times are "
						       "integers; store finer units, say nanoseconds: %s, "
						       "and name that"
						     : "iforest: time column \"%s\" of row %lld holds text or a blob (%s), and "
						       "times are integers; add such a column: %s, "
						       "and name that",
				remedy);
	else
		ifs_error_set(decoder->error, SQLITE_NOMEM, "");
	sqlite3_free(condition);
	sqlite3_free(remedy);
	return rc;
}

static int refuse_value(struct ifs_row_decoder *decoder, const char *column, const char *condition_format, const char *format)
{
	char *condition = sqlite3_mprintf(condition_format, column, column);
	char *remedy = sqlite3_mprintf("ALTER TABLE \"%w\" ADD COLUMN \"%w_number\" ANY GENERATED ALWAYS AS "
				       "(CAST(\"%w\" AS NUMERIC)) VIRTUAL",
				       decoder->base_table->name, column, column);
	int rc = condition && remedy ? refuse_row(decoder, column, condition, format, remedy)
				     : ifs_error_set(decoder->error, SQLITE_NOMEM, "");

	sqlite3_free(condition);
	sqlite3_free(remedy);
	return rc;
}

static int read_time(struct ifs_row_decoder *decoder, sqlite3_value *time, struct iforest_key *key)
{
	int type = sqlite3_value_type(time);

	key->time_is_null = type == SQLITE_NULL;
	key->time = 0;
	if (type == SQLITE_INTEGER)
		key->time = sqlite3_value_int64(time);
	else if (type != SQLITE_NULL && (type != SQLITE_FLOAT || !iforest_integral(sqlite3_value_double(time), &key->time)))
		return refuse_time(decoder, type, sqlite3_value_numeric_type(time));
	return SQLITE_OK;
}

/* Reports that a column of which accumulators are kept holds a real. */
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

/* Refuses an end that is no integer, or too far from the time. */
static int refuse_end(struct ifs_row_decoder *decoder, int type)
{
	const char *column = decoder->definition->end.source, *time = decoder->definition->time;
	char *condition;
	int rc = SQLITE_NOMEM;

	if (type == SQLITE_TEXT || type == SQLITE_BLOB)
		return refuse_value(decoder, column, "typeof(\"%w\") IN ('text', 'blob')",
				    "iforest: end column \"%s\" of row %lld holds text or a blob (%s); add a column of "
				    "numbers: %s, and name that");
	if (type == SQLITE_FLOAT)
		condition = sqlite3_mprintf("typeof(\"%w\") = 'real' AND "
					    "(\"%w\" <> round(\"%w\") OR abs(\"%w\") >= 9223372036854775808.0)",
					    column, column, column, column);
	else /* SQLite subtracts integers as reals where 64 bits do not hold the difference */
		condition = sqlite3_mprintf("typeof(CAST(\"%w\" AS INTEGER) - CAST(\"%w\" AS INTEGER)) = 'real'", column, time);
	if (condition)
		rc = refuse_row(decoder, column, condition,
				type == SQLITE_FLOAT ? "iforest: end column \"%s\" of row %lld holds %s; ends are integers in "
						       "the unit of the time column%s"
						     : "iforest: end column \"%s\" of row %lld holds %s, further from the "
						       "time than 64 bits can say%s",
				"");
	else
		ifs_error_set(decoder->error, SQLITE_NOMEM, "");
	sqlite3_free(condition);
	return rc;
}

/* Reads the duration of a row whose end is a column: end - time, NULL if either is. */
static int read_end(struct ifs_row_decoder *decoder, sqlite3_value *value, struct iforest_entry *entry)
{
	unsigned v = decoder->definition->duration_value;
	int type = sqlite3_value_type(value);
	int64_t end = 0;

	entry->values[v].integer = 0;
	if (type == SQLITE_INTEGER)
		end = sqlite3_value_int64(value);
	else if (type != SQLITE_NULL && (type != SQLITE_FLOAT || !iforest_integral(sqlite3_value_double(value), &end)))
		return refuse_end(decoder, type);
	if (type == SQLITE_NULL || entry->key.time_is_null)
		return SQLITE_OK;
	if (__builtin_sub_overflow(end, entry->key.time, &entry->values[v].integer))
		return refuse_end(decoder, SQLITE_INTEGER);
	entry->present |= 1u << v;
	return SQLITE_OK;
}

static int read_value(struct ifs_row_decoder *decoder, sqlite3_value *value, unsigned v, struct iforest_entry *entry)
{
	const char *column = decoder->definition->values[v].source;
	int type = sqlite3_value_type(value);
	bool is_real_column = decoder->fields->value_types[v] == IFOREST_FLOAT64;

	if (v == decoder->definition->duration_value && decoder->definition->end.source)
		return read_end(decoder, value, entry);
	entry->values[v].integer = 0;
	if (type == SQLITE_NULL)
		return SQLITE_OK;
	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
		return refuse_value(decoder, column, "typeof(\"%w\") IN ('text', 'blob')",
				    "iforest: value column \"%s\" of row %lld holds text or a blob (%s); add a column of "
				    "numbers: %s, and name that");
	if (type == SQLITE_FLOAT && v == decoder->definition->duration_value)
		return refuse_value(
			decoder, column, "typeof(\"%w\") = 'real'",
			"iforest: duration column \"%s\" of row %lld holds the real %s; durations are integers in the unit of "
			"the time column (for sums of reals leave duration out and write value=...)");
	if (type == SQLITE_FLOAT && ifs_kind_of_integers(decoder->definition, v))
		return refuse_real(decoder, column, ifs_kind_of_integers(decoder->definition, v));
	if (type == SQLITE_FLOAT && !is_real_column && decoder->may_widen) {
		decoder->has_real_in_integers = true;
		return SQLITE_OK;
	}
	if (type == SQLITE_FLOAT && !is_real_column)
		return refuse_value(decoder, column, "typeof(\"%w\") = 'real'",
				    "iforest: value column \"%s\" of row %lld holds the real %s, and the index was made when "
				    "it held integers only; run "
				    "the command 'rebuild'");
	if (type == SQLITE_INTEGER && is_real_column) {
		int64_t integer = sqlite3_value_int64(value);

		if (integer > INT64_C(1) << 53 || integer < -(INT64_C(1) << 53))
			return refuse_value(
				decoder, column,
				"typeof(\"%w\") = 'integer' AND \"%w\" NOT BETWEEN -9007199254740992 AND 9007199254740992",
				"iforest: value column \"%s\" of row %lld holds the integer %s beside reals, which cannot hold "
				"it exactly; "
				"store integers only, or reals only");
	}
	entry->present |= 1u << v;
	if (is_real_column)
		entry->values[v].real = sqlite3_value_double(value);
	else
		entry->values[v].integer = sqlite3_value_int64(value);
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
}

int ifs_row_decode(struct ifs_row_decoder *decoder, sqlite3_value **row, struct iforest_entry *entry)
{
	sqlite3_value **by = row + FIRST_BY, **values = by + decoder->definition->n_by;
	int rc;

	entry->key.ref = sqlite3_value_int64(row[ROWID]);
	entry->present = 0;
	rc = read_time(decoder, row[TIME], &entry->key);
	if (!rc)
		rc = ifs_row_decode_series(decoder, by, &entry->key.series);
	for (unsigned v = 0; v < decoder->definition->n_values && !rc; v++)
		rc = read_value(decoder, values[v], v, entry);
	return rc;
}

int ifs_row_decode_statement(struct ifs_row_decoder *decoder, sqlite3_stmt *statement, struct iforest_entry *entry)
{
	sqlite3_value *row[FIRST_BY + IFS_MAX_BY + IFOREST_MAX_VALUES];

	ifs_statement_columns(statement, 0, FIRST_BY + decoder->definition->n_by + decoder->definition->n_values, row);
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
