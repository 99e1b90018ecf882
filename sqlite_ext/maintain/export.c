#include "sqlite_ext/maintain/export.h"

#include "core/model/bucket.h"
#include "sqlite_ext/follow/snapshot.h"

/* ---- Tables and view ---- */

static const char *const suffixes[] = { "rollup", "levels", "export" };

enum { ROLLUP, LEVELS, VIEW, N_TABLES };

static const char *const formats[] = {
	"count_%w", "sum_%w", "min_%w", "max_%w", "first_%w", "last_%w", "min_%w_id", "max_%w_id"
};

enum { COUNT_OF, SUM_OF, MIN_OF, MAX_OF, FIRST_OF, LAST_OF, N_FORMATS = sizeof formats / sizeof *formats };

/* ---- parts of SQL ---- */

/* Formats in place, because a separate string for the name could run out of memory unnoticed. */
static void append_value(sqlite3_str *text, const char *format, const char *value)
{
	sqlite3_str_appendall(text, "\"");
	sqlite3_str_appendf(text, format, value);
	sqlite3_str_appendall(text, "\"");
}

/* Appends the columns of x_rollup after the first two; the index has columns of the same names. */
static void append_columns(sqlite3_str *text, const struct ifs_definition *definition)
{
	for (unsigned b = 0; b < definition->n_by; b++)
		sqlite3_str_appendf(text, ", \"%w\"", definition->by[b].name);
	sqlite3_str_appendall(text, ", count, first_ts, last_ts");
	for (unsigned v = 0; v < definition->n_values; v++)
		for (unsigned f = 0; f < N_FORMATS; f++) {
			sqlite3_str_appendall(text, ", ");
			append_value(text, formats[f], definition->values[v].name);
		}
}

/* ---- creation ---- */

static const char *type_of(const uint8_t *value_types, unsigned v)
{
	return value_types[v] == IFOREST_FLOAT64 ? "REAL" : "INTEGER";
}

static int make_rollup(struct ifs_index *index, const struct ifs_definition *definition, const uint8_t *value_types,
		       struct ifs_error *error)
{
	sqlite3_str *text = sqlite3_str_new(index->db);

	sqlite3_str_appendf(text, "CREATE TABLE \"%w\".\"%w_rollup\"(bucket_level INTEGER, bucket_start INTEGER", index->schema,
			    index->name);
	for (unsigned b = 0; b < definition->n_by; b++)
		sqlite3_str_appendf(text, ", \"%w\" %s", definition->by[b].name,
				    definition->by_types[b] ? definition->by_types[b] : "");
	sqlite3_str_appendall(text, ", count INTEGER, first_ts INTEGER, last_ts INTEGER");
	for (unsigned v = 0; v < definition->n_values; v++)
		for (unsigned f = 0; f < N_FORMATS; f++) {
			bool is_number = f >= SUM_OF && f <= LAST_OF;

			sqlite3_str_appendall(text, ", ");
			append_value(text, formats[f], definition->values[v].name);
			sqlite3_str_appendf(text, " %s", is_number ? type_of(value_types, v) : "INTEGER");
		}
	sqlite3_str_appendall(text, ", PRIMARY KEY(bucket_level, bucket_start");
	for (unsigned b = 0; b < definition->n_by; b++)
		sqlite3_str_appendf(text, ", \"%w\"", definition->by[b].name);
	sqlite3_str_appendall(text, "))");
	return ifs_execute_text(error, index->db, text);
}

static int make_levels(struct ifs_index *index, struct ifs_error *error)
{
	return ifs_execute(error, index->db,
			   "CREATE TABLE \"%w\".\"%w_levels\"(bucket_level INTEGER PRIMARY KEY, bucket_width INTEGER,"
			   " interval_from INTEGER, interval_to INTEGER)",
			   index->schema, index->name);
}

/* CROSS JOIN makes SQLite choose a level first, then its buckets. */
static int make_view(struct ifs_index *index, const struct ifs_definition *definition, const char *name,
		     struct ifs_error *error)
{
	sqlite3_str *text = sqlite3_str_new(index->db);

	sqlite3_str_appendf(text,
			    "CREATE VIEW \"%w\".\"%w_export\" AS SELECT interval_from, interval_to, bucket_width, bucket_start",
			    index->schema, name);
	append_columns(text, definition);
	for (unsigned v = 0; v < definition->n_values; v++) {
		sqlite3_str_appendall(text, ", CAST(");
		append_value(text, formats[SUM_OF], definition->values[v].name);
		sqlite3_str_appendall(text, " AS REAL) / ");
		append_value(text, formats[COUNT_OF], definition->values[v].name);
		sqlite3_str_appendall(text, " AS ");
		append_value(text, "avg_%w", definition->values[v].name);
	}
	sqlite3_str_appendf(text, " FROM \"%w_levels\" CROSS JOIN \"%w_rollup\" USING (bucket_level)", name, name);
	return ifs_execute_text(error, index->db, text);
}

static int check_names(const struct ifs_index *index, const struct ifs_definition *definition, struct ifs_error *error)
{
	static const char *const names[] = { "bucket_level", "bucket_width", "interval_from", "interval_to" };

	for (unsigned b = 0; b < definition->n_by; b++)
		for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
			if (sqlite3_stricmp(definition->by[b].name, names[i]) == 0)
				return ifs_error_set(error, SQLITE_ERROR,
						     "%s: by column \"%s\" has the name of a column of the export; give it "
						     "another one in the index: "
						     "by=(\"%w\" AS \"%w_\")",
						     index->name, definition->by[b].name, definition->by[b].source,
						     definition->by[b].name);
	return SQLITE_OK;
}

static int is_there(struct ifs_index *index, const char *name, const char *suffix, bool *found, struct ifs_error *error)
{
	sqlite3_stmt *statement;
	int rc = ifs_prepare(error, index->db, &statement,
			     "SELECT 1 FROM \"%w\".sqlite_schema WHERE name = '%q_%q' COLLATE NOCASE", index->schema, name,
			     suffix);

	if (rc)
		return rc;
	*found = sqlite3_step(statement) == SQLITE_ROW;
	rc = sqlite3_finalize(statement);
	return rc ? ifs_error_from_db(error, index->db, rc) : SQLITE_OK;
}

/* Sets *same if a value column has that type in x_rollup. A rebuild may have turned integers into reals, or back. */
static int has_type(struct ifs_index *index, const char *value, const char *type, bool *same, struct ifs_error *error)
{
	sqlite3_stmt *statement;
	int rc = ifs_prepare(error, index->db, &statement,
			     "SELECT 1 FROM pragma_table_info('%q_rollup', %Q) WHERE name = 'sum_%q' AND type = %Q",
			     index->name, index->schema, value, type);

	if (rc)
		return rc;
	*same = sqlite3_step(statement) == SQLITE_ROW;
	rc = sqlite3_finalize(statement);
	return rc ? ifs_error_from_db(error, index->db, rc) : SQLITE_OK;
}

/* Changes the type of a value column in x_rollup, and empties x_rollup. A command cannot drop a table. */
static int change_type(struct ifs_index *index, const char *value, const char *type, struct ifs_error *error)
{
	const char *schema = index->schema, *name = index->name;
	sqlite3_str *text = sqlite3_str_new(index->db);

	sqlite3_str_appendf(text, "DROP VIEW IF EXISTS \"%w\".\"%w_export\"; DELETE FROM \"%w\".\"%w_rollup\"", schema, name,
			    schema, name);
	for (unsigned f = SUM_OF; f <= LAST_OF; f++) {
		sqlite3_str_appendf(text, "; ALTER TABLE \"%w\".\"%w_rollup\" DROP COLUMN ", schema, name);
		append_value(text, formats[f], value);
		sqlite3_str_appendf(text, "; ALTER TABLE \"%w\".\"%w_rollup\" ADD COLUMN ", schema, name);
		append_value(text, formats[f], value);
		sqlite3_str_appendf(text, " %s", type);
	}
	return ifs_execute_text(error, index->db, text);
}

/* Creates x_rollup, or changes its columns to the types that it would be created with. */
static int see_to_rollup(struct ifs_index *index, const struct ifs_definition *definition, bool *found, struct ifs_error *error)
{
	struct ifs_snapshot *snapshot = NULL;
	bool was_found = found[ROLLUP];
	int rc = ifs_snapshot_open(index, &snapshot, error);
	const uint8_t *value_types = rc ? NULL : snapshot->manifest.fields.value_types;

	if (!rc && !was_found)
		rc = make_rollup(index, definition, value_types, error);
	for (unsigned v = 0; v < definition->n_values && was_found && !rc; v++) {
		const char *value = definition->values[v].name;
		bool same;

		rc = has_type(index, value, type_of(value_types, v), &same, error);
		if (rc || same)
			continue;
		rc = change_type(index, value, type_of(value_types, v), error);
		found[VIEW] = false;
	}
	ifs_snapshot_release(snapshot);
	return rc;
}

static int is_taken(struct ifs_index *index, const char *name, const char *suffix, struct ifs_error *error)
{
	return ifs_error_set(error, SQLITE_ERROR,
			     "%s: there is already something named \"%s_%s\", which the export is to be called; drop or "
			     "rename it, or give the index another name",
			     index->name, name, suffix);
}

/* Creates the tables that are missing; *is_complete: none was. An existing one is an error unless are_ours. So is a by column
 * that has the name of another column. */
static int export_make_tables(struct ifs_index *index, const struct ifs_definition *definition, bool are_ours,
			      bool *is_complete, struct ifs_error *error)
{
	bool found[N_TABLES] = { false };
	int rc = check_names(index, definition, error);

	for (int t = 0; t < N_TABLES && !rc; t++) {
		rc = is_there(index, index->name, suffixes[t], &found[t], error);
		if (!rc && found[t] && !are_ours)
			rc = is_taken(index, index->name, suffixes[t], error);
	}
	if (!rc)
		rc = see_to_rollup(index, definition, found, error);
	*is_complete = found[ROLLUP] && found[LEVELS] && found[VIEW];
	if (!rc && !found[LEVELS])
		rc = make_levels(index, error);
	return rc || found[VIEW] ? rc : make_view(index, definition, index->name, error);
}

/* ---- contents ---- */

/* Empties x_levels, so that the view shows nothing; *n: how many levels there were. */
static int export_take_levels(struct ifs_index *index, int *n, struct ifs_error *error)
{
	sqlite3_stmt *statement;
	int rc = ifs_prepare(error, index->db, &statement, "SELECT count(*) FROM \"%w\".\"%w_levels\"", index->schema,
			     index->name);

	if (rc)
		return rc;
	sqlite3_step(statement);
	*n = sqlite3_column_int(statement, 0);
	rc = sqlite3_finalize(statement);
	if (rc)
		return ifs_error_from_db(error, index->db, rc);
	return ifs_execute(error, index->db, "DELETE FROM \"%w\".\"%w_levels\"", index->schema, index->name);
}

/* Fills x_levels with n levels, the first of that width, and deletes the rows that x_rollup has for higher levels. */
static int export_put_levels(struct ifs_index *index, int64_t width, int n, struct ifs_error *error)
{
	int rc = ifs_execute(error, index->db, "DELETE FROM \"%w\".\"%w_rollup\" WHERE bucket_level >= %d", index->schema,
			     index->name, n);

	/* each interval has one level: shorter ones have the finest, longer ones the widest */
	for (int level = 0; level < n && !rc; level++)
		rc = ifs_execute(error, index->db, "INSERT INTO \"%w\".\"%w_levels\" VALUES(%d, %lld, %lld, %lld)",
				 index->schema, index->name, level, (sqlite3_int64)(width << level),
				 (sqlite3_int64)(level ? width << level : INT64_MIN),
				 (sqlite3_int64)(level + 1 < n ? width << (level + 1) : INT64_MAX));
	return rc;
}

/* Replaces the rows of a level whose buckets start in [start, *end), or from start on if end is NULL, by those of the
 * index. Both are bounds of buckets of that width, or the ends of int64. */
static int export_fill(struct ifs_index *index, const struct ifs_definition *definition, int level, int64_t width,
		       int64_t start, const int64_t *end, struct ifs_error *error)
{
	const char *schema = index->schema, *name = index->name;
	sqlite3_str *text = sqlite3_str_new(index->db);

	sqlite3_str_appendf(text, "DELETE FROM \"%w\".\"%w_rollup\" WHERE bucket_level = %d AND bucket_start >= %lld", schema,
			    name, level, (sqlite3_int64)start);
	if (end)
		sqlite3_str_appendf(text, " AND bucket_start < %lld", (sqlite3_int64)*end);
	sqlite3_str_appendf(text, ";INSERT INTO \"%w\".\"%w_rollup\"(bucket_level, bucket_start", schema, name);
	append_columns(text, definition);
	sqlite3_str_appendf(text, ") SELECT %d, bucket_start", level);
	append_columns(text, definition);
	sqlite3_str_appendf(text, " FROM \"%w\".\"%w\" WHERE step = %lld AND t0 = %lld", schema, name, (sqlite3_int64)width,
			    (sqlite3_int64)start);
	if (end)
		sqlite3_str_appendf(text, " AND t1 = %lld", (sqlite3_int64)*end);
	sqlite3_str_appendall(text, " ORDER BY bucket_start");
	return ifs_execute_text(error, index->db, text);
}

/* ---- drop and rename ---- */

/* Drops those of the tables that exist. */
static int export_drop_tables(struct ifs_index *index, struct ifs_error *error)
{
	const char *schema = index->schema, *name = index->name;

	return ifs_execute(error, index->db,
			   "DROP VIEW IF EXISTS \"%w\".\"%w_export\";DROP TABLE IF EXISTS \"%w\".\"%w_rollup\";"
			   "DROP TABLE IF EXISTS \"%w\".\"%w_levels\"",
			   schema, name, schema, name, schema, name);
}

static int export_rename_tables(struct ifs_index *index, const struct ifs_definition *definition, const char *new_name,
				struct ifs_error *error)
{
	bool found[N_TABLES] = { false }, is_new_there;
	int rc = SQLITE_OK;

	for (int t = 0; t < N_TABLES && !rc; t++) {
		rc = is_there(index, index->name, suffixes[t], &found[t], error);
		if (!rc && found[t])
			rc = is_there(index, new_name, suffixes[t], &is_new_there, error);
		if (!rc && found[t] && is_new_there)
			rc = is_taken(index, new_name, suffixes[t], error);
	}
	if (!rc && found[VIEW])
		rc = ifs_execute(error, index->db, "DROP VIEW \"%w\".\"%w_export\"", index->schema, index->name);
	for (int t = 0; t < VIEW && !rc; t++)
		if (found[t])
			rc = ifs_execute(error, index->db, "ALTER TABLE \"%w\".\"%w_%w\" RENAME TO \"%w_%w\"", index->schema,
					 index->name, suffixes[t], new_name, suffixes[t]);
	return rc || !found[VIEW] ? rc : make_view(index, definition, new_name, error);
}

/* ---- The export ---- */

/* The records of an export in x_config. */
struct state {
	bool exists;
	int64_t width, until, from, to;
};

/* The state of a running command. */
struct export
{
	struct ifs_index *index;
	const struct ifs_definition *definition;
	struct ifs_error *error;
	struct state state; /* before the command */
	int64_t width;
	int n_levels, n_levels_before;
	bool is_full; /* all buckets are recomputed */
	bool has_times;
	int64_t first, last; /* the earliest and latest time of the index */
};

/* ---- records of the last export ---- */

static int read_state(struct ifs_index *index, struct state *state, struct ifs_error *error)
{
	static const char *const names[] = { "export width", "export until", "export from", "export to" };
	int64_t *values[] = { &state->width, &state->until, &state->from, &state->to };
	sqlite3_stmt *statement;
	int n = 0, rc = ifs_prepare(error, index->db, &statement, "SELECT value FROM \"%w\".\"%w_config\" WHERE name = ?1",
				    index->schema, index->name);

	for (int i = 0; i < 4 && !rc; i++) {
		sqlite3_bind_text(statement, 1, names[i], -1, SQLITE_STATIC);
		if (sqlite3_step(statement) == SQLITE_ROW) {
			*values[i] = sqlite3_column_int64(statement, 0);
			n++;
		}
		rc = sqlite3_reset(statement);
		if (rc)
			ifs_error_from_db(error, index->db, rc);
	}
	sqlite3_finalize(statement);
	state->exists = n == 4 && state->width > 0;
	return rc;
}

static int write_state(struct ifs_index *index, const struct state *state, struct ifs_error *error)
{
	return ifs_execute(error, index->db,
			   "REPLACE INTO \"%w\".\"%w_config\" VALUES('export width', %lld), ('export until', %lld), "
			   "('export from', %lld), "
			   "('export to', %lld)",
			   index->schema, index->name, (sqlite3_int64)state->width, (sqlite3_int64)state->until,
			   (sqlite3_int64)state->from, (sqlite3_int64)state->to);
}

static void touch(struct state *state, const struct ifs_delta *delta)
{
	const struct ifs_pending_row *row;

	for (size_t k = 0; k < delta->n_removed; k++) {
		const struct iforest_key *key = &delta->removed[k];

		if (!key->time_is_null && key->time <= state->until) {
			state->from = key->time < state->from ? key->time : state->from;
			state->to = key->time > state->to ? key->time : state->to;
		}
	}
	for (size_t at = 0; (row = ifs_pending_rows_next(&delta->pending, &at));) {
		if (row->is_present && !row->time_is_null && row->time <= state->until) {
			state->from = row->time < state->from ? row->time : state->from;
			state->to = row->time > state->to ? row->time : state->to;
		}
	}
}

int ifs_export_note(struct ifs_index *index, const struct ifs_delta *delta, struct ifs_error *error)
{
	struct state state = { .exists = false };
	int rc = read_state(index, &state, error);

	if (rc || !state.exists)
		return rc;
	touch(&state, delta);
	return write_state(index, &state, error);
}

int ifs_export_note_all(struct ifs_index *index, struct ifs_error *error)
{
	struct state state = { .exists = false };
	int rc = read_state(index, &state, error);

	if (rc || !state.exists)
		return rc;
	state.from = INT64_MIN;
	state.to = INT64_MAX;
	return write_state(index, &state, error);
}

static bool is_all_touched(const struct state *state)
{
	return state->from == INT64_MIN && state->to == INT64_MAX;
}

/* ---- buckets ---- */

static int read_extent(struct export *export)
{
	const struct ifs_index *index = export->index;
	sqlite3_stmt *statement;
	int rc = ifs_prepare(export->error, index->db, &statement, "SELECT min(first_ts), max(last_ts) FROM \"%w\".\"%w\"",
			     index->schema, index->name);

	if (rc)
		return rc;
	if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL) {
		export->has_times = true;
		export->first = sqlite3_column_int64(statement, 0);
		export->last = sqlite3_column_int64(statement, 1);
	}
	rc = sqlite3_finalize(statement);
	return rc ? ifs_error_from_db(export->error, index->db, rc) : SQLITE_OK;
}

/* Counts levels up to the first whose buckets are wider than the extent of all times. */
static int count_levels(const struct export *export)
{
	uint64_t extent = export->has_times ? (uint64_t) export->last - (uint64_t) export->first : 0;
	int n = 1;

	for (int64_t width = export->width; (uint64_t)width <= extent && width <= INT64_MAX / 2; width *= 2)
		n++;
	return n;
}

/* Recomputes the buckets of a level that hold times from `from` through `to`. */
static int refresh_range(struct export *export, int level, int64_t from, int64_t to)
{
	struct iforest_bucketing bucketing = { .mode = IFOREST_STEP, .step = export->width << level };
	int64_t first, last, start, end;
	bool after_all;

	/* with origin 0 every time has a bucket */
	if (iforest_bucket_of(&bucketing, from, &first) || iforest_bucket_of(&bucketing, to, &last))
		return ifs_error_set(export->error, SQLITE_INTERNAL, "%s: no bucket", export->index->name);
	start = iforest_bucket_start(&bucketing, first);
	end = iforest_bucket_end(&bucketing, last, &after_all);
	return export_fill(export->index, export->definition, level, bucketing.step, start, after_all ? NULL : &end,
			   export->error);
}

static int refresh_level(struct export *export, int level)
{
	const struct state *state = &export->state;
	int rc = SQLITE_OK;

	if (export->is_full || level >= export->n_levels_before)
		return refresh_range(export, level, INT64_MIN, INT64_MAX);
	if (state->from <= state->to)
		rc = refresh_range(export, level, state->from, state->to);
	return rc ? rc : refresh_range(export, level, state->until, INT64_MAX);
}

/* ---- the command ---- */

static int choose_width(struct export *export, sqlite3_value *step)
{
	const char *name = export->index->name;

	if (sqlite3_value_type(step) != SQLITE_NULL) {
		if (ifs_value_to_integer(name, "step", step, &export->width, export->error))
			return export->error->rc;
		if (export->width <= 0)
			return ifs_error_set(export->error, SQLITE_ERROR, "%s: step must be greater than 0", name);
	} else if (export->state.exists) {
		export->width = export->state.width;
	} else {
		return ifs_error_set(export->error, SQLITE_ERROR,
				     "%s: the first export needs the width of its finest buckets: INSERT INTO "
				     "\"%w\"(\"%w\", step) VALUES('export', ...)",
				     name, name, name);
	}
	return SQLITE_OK;
}

/* Until the export is finished, the view is empty, and x_config says that the next export has to recompute everything: within a
 * transaction, SQLite does not undo a command that fails. */
static int begin(struct export *export)
{
	struct state unfinished = { .width = export->width, .until = INT64_MAX, .from = INT64_MIN, .to = INT64_MAX };
	bool is_complete = false;
	int rc = export_make_tables(export->index, export->definition, export->state.exists, &is_complete, export->error);

	export->is_full =
		!export->state.exists || !is_complete || export->width != export->state.width || is_all_touched(&export->state);
	if (!rc)
		rc = export_take_levels(export->index, &export->n_levels_before, export->error);
	return rc ? rc : write_state(export->index, &unfinished, export->error);
}

static int finish(struct export *export)
{
	struct state state = { .width = export->width,
			       .until = export->has_times ? export->last : INT64_MIN,
			       .from = INT64_MAX,
			       .to = INT64_MIN };
	int rc = export_put_levels(export->index, export->width, export->n_levels, export->error);

	return rc ? rc : write_state(export->index, &state, export->error);
}

int ifs_export(struct ifs_index *index, const struct ifs_definition *definition, sqlite3_value *step, struct ifs_error *error)
{
	struct export export = { .index = index, .definition = definition, .error = error };
	int rc = SQLITE_OK;

	if (index->times.kind != IFS_TIMES_INTEGER)
		rc = ifs_error_set(
			error, SQLITE_ERROR,
			"%s: times are reals or texts, and an export has buckets of integers; make an index over a column of "
			"integers for it",
			index->name);
	if (!rc)
		rc = read_state(index, &export.state, error);
	if (!rc)
		rc = choose_width(&export, step);
	if (!rc)
		rc = read_extent(&export);
	if (!rc)
		rc = begin(&export);
	if (!rc)
		export.n_levels = count_levels(&export);
	for (int level = 0; level < export.n_levels && !rc; level++)
		rc = refresh_level(&export, level);
	return rc ? rc : finish(&export);
}

/* ---- drop and rename ---- */

/* Reads the records of the export. If the index's own tables are damaged, it is taken to have no export: exported tables could
 * not be told from a user's, and it must still be possible to drop the index. */
static int find(struct ifs_index *index, struct state *state, struct ifs_error *error)
{
	int rc = read_state(index, state, error);

	if (rc != SQLITE_ERROR)
		return rc;
	ifs_error_clear(error);
	state->exists = false;
	return SQLITE_OK;
}

int ifs_export_drop(struct ifs_index *index, struct ifs_error *error)
{
	struct state state = { .exists = false };
	int rc = find(index, &state, error);

	return rc || !state.exists ? rc : export_drop_tables(index, error);
}

int ifs_export_rename(struct ifs_index *index, const struct ifs_definition *definition, const char *new_name,
		      struct ifs_error *error)
{
	struct state state = { .exists = false };
	int rc = find(index, &state, error);

	return rc || !state.exists ? rc : export_rename_tables(index, definition, new_name, error);
}
