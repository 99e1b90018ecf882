#include "sqlite_ext/build_internal.h"

#include "core/bits.h"

/* The row to name in a refusal: the first of the table that has the same fault. */
static int refuse_row(struct iforest_build *build, const char *column, const char *condition, const char *format, const char *remedy)
{
	sqlite3_stmt *statement;
	int rc = iforest_prepare(build->error, build->index->db, &statement,
				 "SELECT \"%w\", \"%w\" FROM \"%w\".\"%w\" WHERE %s ORDER BY \"%w\" LIMIT 1",
				 build->source->rowid_column, column, build->index->schema, build->source->name, condition,
				 build->source->rowid_column);

	if (rc)
		return rc;
	if (sqlite3_step(statement) == SQLITE_ROW)
		iforest_error_set(build->error, SQLITE_ERROR, format, column, sqlite3_column_int64(statement, 0),
				  sqlite3_column_type(statement, 1) == SQLITE_BLOB ? "a blob" :
					(const char *)sqlite3_column_text(statement, 1), remedy);
	else
		iforest_error_from_db(build->error, build->index->db, SQLITE_ERROR);
	sqlite3_finalize(statement);
	return build->error->rc;
}

/* is_numeric: the text is that of a number */
static int refuse_time(struct iforest_build *build, int type, bool is_numeric)
{
	const char *column = build->definition->time, *table = build->source->name;
	char *condition, *remedy;
	int rc = SQLITE_NOMEM;

	if (type == SQLITE_FLOAT) {
		condition = sqlite3_mprintf("typeof(\"%w\") = 'real' AND (\"%w\" <> round(\"%w\") OR abs(\"%w\") >= 9223372036854775808.0)",
					    column, column, column, column);
		remedy = sqlite3_mprintf("ALTER TABLE \"%w\" ADD COLUMN \"%w_ns\" INTEGER; UPDATE \"%w\" SET \"%w_ns\" = "
					 "CAST(round(\"%w\" * 1e9) AS INTEGER)", table, column, table, column, column);
	} else {
		condition = sqlite3_mprintf("typeof(\"%w\") IN ('text', 'blob')", column);
		remedy = sqlite3_mprintf(is_numeric ?
			"ALTER TABLE \"%w\" ADD COLUMN \"%w_ns\" INTEGER; UPDATE \"%w\" SET \"%w_ns\" = CAST(\"%w\" AS INTEGER)" :
			"ALTER TABLE \"%w\" ADD COLUMN \"%w_ns\" INTEGER; UPDATE \"%w\" SET \"%w_ns\" = "
			"CAST(round((julianday(\"%w\") - 2440587.5) * 86400000) AS INTEGER) * 1000000",
			table, column, table, column, column);
	}
	if (condition && remedy)
		rc = refuse_row(build, column, condition, type == SQLITE_FLOAT ?
			"iforest: time column \"%s\" of row %lld holds %s, and times are integers; store finer units, say nanoseconds: %s, "
			"and name that" :
			"iforest: time column \"%s\" of row %lld holds text or a blob (%s), and times are integers; add such a column: %s, "
			"and name that", remedy);
	else
		iforest_error_set(build->error, SQLITE_NOMEM, "");
	sqlite3_free(condition);
	sqlite3_free(remedy);
	return rc;
}

static int refuse_value(struct iforest_build *build, const char *column, const char *condition_format, const char *format)
{
	char *condition = sqlite3_mprintf(condition_format, column, column);
	char *remedy = sqlite3_mprintf("ALTER TABLE \"%w\" ADD COLUMN \"%w_number\" NUMERIC; UPDATE \"%w\" SET \"%w_number\" = "
				       "CAST(\"%w\" AS NUMERIC)", build->source->name, column, build->source->name, column, column);
	int rc = condition && remedy ? refuse_row(build, column, condition, format, remedy) :
				       iforest_error_set(build->error, SQLITE_NOMEM, "");

	sqlite3_free(condition);
	sqlite3_free(remedy);
	return rc;
}

static int read_time(struct iforest_build *build, sqlite3_stmt *statement, struct iforest_key *key)
{
	int type = sqlite3_column_type(statement, TIME);

	key->time_is_null = type == SQLITE_NULL;
	key->time = 0;
	if (type == SQLITE_INTEGER)
		key->time = sqlite3_column_int64(statement, TIME);
	else if (type != SQLITE_NULL &&
		 (type != SQLITE_FLOAT || !iforest_integral(sqlite3_column_double(statement, TIME), &key->time)))
		return refuse_time(build, type, sqlite3_value_numeric_type(sqlite3_column_value(statement, TIME)) != SQLITE_TEXT);
	return SQLITE_OK;
}

static int read_value(struct iforest_build *build, sqlite3_stmt *statement, unsigned v, struct iforest_entry *entry)
{
	const char *column = build->definition->values[v].source;
	int c = FIRST_BY + (int)(build->definition->n_by + v), type = sqlite3_column_type(statement, c);
	bool is_real_column = build->fields.kinds[v] == IFOREST_FLOAT64;

	if (type == SQLITE_NULL)
		return SQLITE_OK;
	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
		return refuse_value(build, column, "typeof(\"%w\") IN ('text', 'blob')",
				    "iforest: value column \"%s\" of row %lld holds text or a blob (%s); add a column of numbers: %s, and name that");
	if (type == SQLITE_FLOAT && v == build->definition->duration_value)
		return refuse_value(build, column, "typeof(\"%w\") = 'real'",
				    "iforest: duration column \"%s\" of row %lld holds the real %s; durations are integers in the unit of "
				    "the time column (for sums of reals leave duration out and write value=...)");
	if (type == SQLITE_FLOAT && !is_real_column) {
		build->has_real_in_integers = true;
		return SQLITE_OK;
	}
	if (type == SQLITE_INTEGER && is_real_column) {
		int64_t integer = sqlite3_column_int64(statement, c);

		if (integer > INT64_C(1) << 53 || integer < -(INT64_C(1) << 53))
			return refuse_value(build, column, "typeof(\"%w\") = 'integer' AND abs(CAST(\"%w\" AS REAL)) >= 9007199254740992.0",
				"iforest: value column \"%s\" of row %lld holds the integer %s beside reals, which cannot hold it exactly; "
				"store integers only, or reals only");
	}
	entry->present |= 1u << v;
	if (is_real_column)
		entry->values[v].real = sqlite3_column_double(statement, c);
	else
		entry->values[v].integer = sqlite3_column_int64(statement, c);
	return SQLITE_OK;
}

/* Finds out whether this row opens a new series, and writes it to the table of series if so. */
static int read_series(struct iforest_build *build, sqlite3_stmt *statement, struct iforest_key *key)
{
	struct iforest_series_key swapped = build->previous_key;
	int rc;

	build->previous_key = build->key;
	build->key = swapped;
	build->key.n_bytes = 0;
	for (unsigned b = 0; b < build->definition->n_by; b++) {
		sqlite3_value *value = sqlite3_column_value(statement, FIRST_BY + (int)b);
		struct iforest_by_value by = iforest_by_from_sql(value);
		enum iforest_status status = by.tag == IFOREST_BY_TEXT && !by.data ? IFOREST_NO_MEMORY :
					     iforest_series_append(&build->key, &by);

		if (status)
			return iforest_build_error(build, status);
	}
	if (build->next_series == build->first_series || build->key.n_bytes != build->previous_key.n_bytes ||
	    (build->key.n_bytes && memcmp(build->key.bytes, build->previous_key.bytes, build->key.n_bytes) != 0)) {
		if (build->next_series == UINT32_MAX)
			return iforest_build_error(build, IFOREST_TOO_LARGE);
		sqlite3_bind_int64(build->put_series, 1, build->next_series);
		sqlite3_bind_blob(build->put_series, 2, build->key.bytes ? build->key.bytes : (const void *)"",
				  (int)build->key.n_bytes, SQLITE_STATIC);
		sqlite3_step(build->put_series);
		rc = sqlite3_reset(build->put_series);
		if (rc)
			return iforest_error_from_db(build->error, build->index->db, rc);
		build->series_checksum += iforest_series_checksum(build->next_series++, build->key.bytes, build->key.n_bytes);
	}
	key->series = build->next_series - 1;
	return SQLITE_OK;
}

int iforest_build_add_row(struct iforest_build *build, sqlite3_stmt *statement)
{
	struct iforest_entry entry = { .present = 0 };
	int rc = read_time(build, statement, &entry.key);

	if (!rc)
		rc = read_series(build, statement, &entry.key);
	entry.key.ref = sqlite3_column_int64(statement, ROWID);
	for (unsigned v = 0; v < build->definition->n_values && !rc; v++)
		rc = read_value(build, statement, v, &entry);
	if (rc || build->has_real_in_integers)
		return rc;
	return iforest_build_error(build, iforest_run_builder_add(build->builder, &entry));
}
