#include "sqlite_ext/build.h"

#include <math.h>

#include "core/bits.h"
#include "core/run_build.h"
#include "sqlite_ext/progress.h"

/* Columns of the query over the table: rowid, time, by columns, value columns. */
enum { ROWID, TIME, FIRST_BY };

struct build {
	struct iforest_index *index;
	const struct iforest_definition *definition;
	const struct iforest_source *source;
	struct iforest_error *error;
	struct iforest_fields fields;
	struct iforest_manifest manifest;
	struct iforest_run_builder *builder;
	struct iforest_progress progress;
	sqlite3_stmt *put_series;
	struct iforest_series_key key, previous_key;
	uint32_t first_series, next_series;
	bool has_real_in_integers;       /* a column taken for integers is one of reals: start over */
};

static int core_error(struct build *build, enum iforest_status status)
{
	return iforest_index_error(build->index, build->index->snapshot, status, build->error);
}

/* ---- what the table holds ---- */

/* The row to name in a refusal: the first of the table that has the same fault. */
static int refuse_row(struct build *build, const char *column, const char *condition, const char *format, const char *remedy)
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

static int refuse_time(struct build *build, int type)
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
		remedy = sqlite3_mprintf("ALTER TABLE \"%w\" ADD COLUMN \"%w_ns\" INTEGER; UPDATE \"%w\" SET \"%w_ns\" = "
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

static int refuse_value(struct build *build, const char *column, const char *condition_format, const char *format)
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

static int read_time(struct build *build, sqlite3_stmt *statement, struct iforest_key *key)
{
	int type = sqlite3_column_type(statement, TIME);
	double real = sqlite3_column_double(statement, TIME);

	key->time_is_null = type == SQLITE_NULL;
	key->time = 0;
	if (type == SQLITE_INTEGER)
		key->time = sqlite3_column_int64(statement, TIME);
	else if (type == SQLITE_FLOAT && real == floor(real) && real >= -0x1p63 && real < 0x1p63)
		key->time = (int64_t)real;
	else if (type != SQLITE_NULL)
		return refuse_time(build, type);
	return SQLITE_OK;
}

static int read_value(struct build *build, sqlite3_stmt *statement, unsigned v, struct iforest_entry *entry)
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
static int read_series(struct build *build, sqlite3_stmt *statement, struct iforest_key *key)
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
			return core_error(build, status);
	}
	if (build->next_series == build->first_series || build->key.n_bytes != build->previous_key.n_bytes ||
	    (build->key.n_bytes && memcmp(build->key.bytes, build->previous_key.bytes, build->key.n_bytes) != 0)) {
		if (build->next_series == UINT32_MAX)
			return core_error(build, IFOREST_TOO_LARGE);
		sqlite3_bind_int64(build->put_series, 1, build->next_series);
		sqlite3_bind_blob(build->put_series, 2, build->key.bytes ? build->key.bytes : (const void *)"",
				  (int)build->key.n_bytes, SQLITE_STATIC);
		sqlite3_step(build->put_series);
		rc = sqlite3_reset(build->put_series);
		if (rc)
			return iforest_error_from_db(build->error, build->index->db, rc);
		build->next_series++;
	}
	key->series = build->next_series - 1;
	return SQLITE_OK;
}

static int add_row(struct build *build, sqlite3_stmt *statement)
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
	return core_error(build, iforest_run_builder_add(build->builder, &entry));
}

/* ---- the query ---- */

/* SELECT "id", "ts", "track", "dur" FROM "main"."spans" [WHERE ...] ORDER BY "track", "ts" NULLS LAST, "id" */
static int prepare_rows(struct build *build, sqlite3_stmt **statement)
{
	const struct iforest_definition *definition = build->definition;
	sqlite3_str *sql = sqlite3_str_new(build->index->db);
	char *text;
	int rc;

	sqlite3_str_appendf(sql, "SELECT \"%w\", \"%w\"", build->source->rowid_column, definition->time);
	for (unsigned b = 0; b < definition->n_by; b++)
		sqlite3_str_appendf(sql, ", \"%w\"", definition->by[b].source);
	for (unsigned v = 0; v < definition->n_values; v++)
		sqlite3_str_appendf(sql, ", \"%w\"", definition->values[v].source);
	sqlite3_str_appendf(sql, " FROM \"%w\".\"%w\"%s ORDER BY ", build->index->schema, build->source->name,
			    build->progress.is_on ? " WHERE iforest_progress(?1)" : "");
	for (unsigned b = 0; b < definition->n_by; b++)
		sqlite3_str_appendf(sql, "\"%w\", ", definition->by[b].source);
	sqlite3_str_appendf(sql, "\"%w\" NULLS LAST, \"%w\"", definition->time, build->source->rowid_column);
	text = sqlite3_str_finish(sql);
	if (!text)
		return iforest_error_set(build->error, SQLITE_NOMEM, "");
	rc = iforest_prepare(build->error, build->index->db, statement, "%s", text);
	sqlite3_free(text);
	if (!rc && build->progress.is_on)
		rc = sqlite3_bind_pointer(*statement, 1, &build->progress, IFOREST_PROGRESS_POINTER, NULL);
	return rc;
}

static int add_rows(struct build *build)
{
	sqlite3_stmt *statement = NULL;
	int rc = prepare_rows(build, &statement), step = SQLITE_ROW;

	iforest_progress_stage(&build->progress, "sorting");
	while (!rc && !build->has_real_in_integers && (step = sqlite3_step(statement)) == SQLITE_ROW) {
		if (build->next_series == build->first_series)
			iforest_progress_stage(&build->progress, "writing");
		rc = add_row(build, statement);
		iforest_progress_step(&build->progress);
	}
	if (!rc && step != SQLITE_ROW && step != SQLITE_DONE)
		rc = iforest_error_from_db(build->error, build->index->db, step);
	sqlite3_finalize(statement);
	return rc;
}

/* Integers until a real shows up: then the column is one of reals, and the build starts over. */
static int choose_kinds(struct build *build)
{
	sqlite3_stmt *statement;
	int rc = SQLITE_OK;

	build->fields = (struct iforest_fields){ .n_values = (uint8_t)build->definition->n_values,
						 .duration_value = build->definition->duration_value };
	for (unsigned v = 0; v < build->definition->n_values && !rc; v++) {
		const char *column = build->definition->values[v].source, *type = NULL;
		bool is_real;

		if (v == build->definition->duration_value) {
			build->fields.kinds[v] = IFOREST_INT64;
			continue;
		}
		rc = iforest_prepare(build->error, build->index->db, &statement,
				     "SELECT typeof(\"%w\") FROM \"%w\".\"%w\" WHERE \"%w\" IS NOT NULL LIMIT 1", column,
				     build->index->schema, build->source->name, column);
		if (rc)
			break;
		if (sqlite3_step(statement) == SQLITE_ROW)
			is_real = strcmp((const char *)sqlite3_column_text(statement, 0), "real") == 0;
		else
			is_real = !sqlite3_table_column_metadata(build->index->db, build->index->schema, build->source->name,
								 column, &type, NULL, NULL, NULL, NULL) &&
				  type && sqlite3_strlike("%REAL%", type, 0) == 0;
		rc = sqlite3_finalize(statement);
		if (rc)
			iforest_error_from_db(build->error, build->index->db, rc);
		build->fields.kinds[v] = is_real ? IFOREST_FLOAT64 : IFOREST_INT64;
	}
	return rc ? rc : core_error(build, iforest_fields_finish(&build->fields));
}

/* The columns in which a real has shown up are those that hold one. */
static int widen_kinds(struct build *build)
{
	int rc = SQLITE_OK;

	for (unsigned v = 0; v < build->definition->n_values && !rc; v++) {
		const char *column = build->definition->values[v].source;
		sqlite3_stmt *statement;

		rc = iforest_prepare(build->error, build->index->db, &statement,
				     "SELECT 1 FROM \"%w\".\"%w\" WHERE typeof(\"%w\") = 'real' LIMIT 1", build->index->schema,
				     build->source->name, column);
		if (!rc && sqlite3_step(statement) == SQLITE_ROW)
			build->fields.kinds[v] = IFOREST_FLOAT64;
		if (!rc && (rc = sqlite3_finalize(statement)))
			iforest_error_from_db(build->error, build->index->db, rc);
	}
	return rc ? rc : core_error(build, iforest_fields_finish(&build->fields));
}

/* ---- the whole ---- */

static int write_run(struct build *build, struct iforest_run *run)
{
	struct iforest_index *index = build->index;
	int rc = core_error(build, iforest_manifest_init(&build->manifest, &iforest_sqlite_alloc, &build->fields,
							 IFOREST_SQLITE_PAGE_BYTES));

	if (!rc)
		rc = core_error(build, iforest_run_builder_start(build->builder, &index->store, &build->manifest));
	if (rc)
		return rc;
	rc = add_rows(build);
	if (rc || build->has_real_in_integers)
		iforest_run_builder_abandon(build->builder);
	else
		rc = core_error(build, iforest_run_builder_finish(build->builder, run));
	return rc;
}

/* Takes back the series that were written. */
static int forget_series(struct build *build, struct iforest_error *error)
{
	build->next_series = build->first_series;
	build->key.n_bytes = build->previous_key.n_bytes = 0;
	return iforest_execute(error, build->index->db, "DELETE FROM \"%w\".\"%w_series\" WHERE id >= %u", build->index->schema,
			       build->index->name, build->first_series);
}

static int publish(struct build *build, const struct iforest_run *run)
{
	struct iforest_manifest *manifest = &build->manifest;
	int rc = run->n_leaves ? core_error(build, iforest_manifest_add(manifest, run)) : SQLITE_OK;

	if (rc)
		return rc;
	manifest->host_bytes = iforest_allocate(&iforest_sqlite_alloc, 8);
	if (!manifest->host_bytes)
		return iforest_error_set(build->error, SQLITE_NOMEM, "");
	manifest->n_host_bytes = 8;
	iforest_store32(manifest->host_bytes, build->first_series);
	iforest_store32(manifest->host_bytes + 4, build->next_series);
	return core_error(build, iforest_manifest_publish(manifest, &build->index->store));
}

/* What the manifest before named is of no use any more, and the table is as the index says. */
static int clean_up(struct build *build, const struct iforest_run *run)
{
	struct iforest_index *index = build->index;
	sqlite3_int64 first_page = (sqlite3_int64)(run->place.location << 32);
	const char *schema = index->schema, *name = index->name;
	int rc = iforest_execute(build->error, index->db,
				 "DELETE FROM \"%w\".\"%w_page\" WHERE id <> 0 AND id NOT BETWEEN %lld AND %lld;"
				 "DELETE FROM \"%w\".\"%w_series\" WHERE id < %u OR id >= %u",
				 schema, name, first_page, run->n_leaves ? first_page + UINT32_MAX : first_page - 1, schema, name,
				 build->first_series, build->next_series);

	if (!rc)
		rc = iforest_source_watch(index->db, schema, name, build->source->name, build->error);
	if (!rc)
		rc = iforest_execute(build->error, index->db,
				     "DELETE FROM \"%w\".\"%w_changed\"; INSERT INTO \"%w\".\"%w_changed\" VALUES(0)", schema, name,
				     schema, name);
	return rc;
}

static int start(struct build *build)
{
	struct iforest_index *index = build->index;
	sqlite3_stmt *statement;
	sqlite3_int64 n_rows = 0, last_series = -1;
	int rc = iforest_prepare(build->error, index->db, &statement,
				 "SELECT (SELECT max(id) FROM \"%w\".\"%w_series\"), %s(SELECT count(*) FROM \"%w\".\"%w\")",
				 index->schema, index->name, iforest_progress_is_possible() ? "" : "0 AND ", index->schema,
				 build->source->name);

	if (rc)
		return rc;
	if (sqlite3_step(statement) == SQLITE_ROW) {
		n_rows = sqlite3_column_int64(statement, 1);
		if (sqlite3_column_type(statement, 0) != SQLITE_NULL)
			last_series = sqlite3_column_int64(statement, 0);
	}
	rc = sqlite3_finalize(statement);
	if (rc)
		return iforest_error_from_db(build->error, index->db, rc);
	/* ids of series are not used again, unless foreign hands have put an id there that leaves no room */
	build->first_series = last_series >= 0 && last_series < INT32_MAX ? (uint32_t)last_series + 1 : 0;
	if (last_series >= INT32_MAX || last_series < -1)
		rc = forget_series(build, build->error);
	build->next_series = build->first_series;
	iforest_progress_start(&build->progress, n_rows);
	if (!rc)
		rc = iforest_prepare(build->error, index->db, &build->put_series,
				     "INSERT INTO \"%w\".\"%w_series\"(id, key) VALUES(?, ?)", index->schema, index->name);
	return rc;
}

int iforest_build(struct iforest_index *index, const struct iforest_definition *definition,
		  const struct iforest_source *source, struct iforest_error *error)
{
	struct build build = { .index = index, .definition = definition, .source = source, .error = error,
			       .key.alloc = &iforest_sqlite_alloc, .previous_key.alloc = &iforest_sqlite_alloc };
	struct iforest_run run = { .n_leaves = 0 };
	int rc;

	build.builder = sqlite3_malloc64(sizeof *build.builder);
	rc = build.builder ? start(&build) : iforest_error_set(error, SQLITE_NOMEM, "");
	if (!rc)
		rc = choose_kinds(&build);
	if (!rc)
		rc = write_run(&build, &run);
	if (!rc && build.has_real_in_integers) {
		build.has_real_in_integers = false;
		iforest_manifest_release(&build.manifest);
		rc = forget_series(&build, error);
		if (!rc)
			rc = widen_kinds(&build);
		if (!rc)
			rc = write_run(&build, &run);
	}
	if (!rc)
		rc = publish(&build, &run);
	if (rc && build.put_series) {
		struct iforest_error ignored = { .rc = SQLITE_OK };

		forget_series(&build, &ignored);
		iforest_error_clear(&ignored);
	}
	if (!rc)
		rc = clean_up(&build, &run);
	iforest_progress_end(&build.progress);
	sqlite3_finalize(build.put_series);
	iforest_manifest_release(&build.manifest);
	iforest_series_release(&build.key);
	iforest_series_release(&build.previous_key);
	sqlite3_free(build.builder);
	return rc;
}
