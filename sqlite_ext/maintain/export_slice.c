#include "sqlite_ext/maintain/export.h"

#include "core/model/bucket.h"
#include "sqlite_ext/maintain/export_tables.h"

/* What x_config says. */
struct state {
	bool exists;
	int64_t width, until, from, to;
};

/* An export at work. */
struct export {
	struct iforest_index *index;
	const struct iforest_definition *definition;
	struct iforest_error *error;
	struct state state;          /* as it was before */
	int64_t width;
	int n_levels, n_levels_before;
	bool is_full;                /* all buckets are made anew */
	bool has_times;
	int64_t first, last;         /* times of the index */
};

/* ---- what is known of the last one ---- */

static int read_state(struct iforest_index *index, struct state *state, struct iforest_error *error)
{
	static const char *const names[] = { "export width", "export until", "export from", "export to" };
	int64_t *values[] = { &state->width, &state->until, &state->from, &state->to };
	sqlite3_stmt *statement;
	int n = 0, rc = iforest_prepare(error, index->db, &statement, "SELECT value FROM \"%w\".\"%w_config\" WHERE name = ?1",
					index->schema, index->name);

	for (int i = 0; i < 4 && !rc; i++) {
		sqlite3_bind_text(statement, 1, names[i], -1, SQLITE_STATIC);
		if (sqlite3_step(statement) == SQLITE_ROW) {
			*values[i] = sqlite3_column_int64(statement, 0);
			n++;
		}
		rc = sqlite3_reset(statement);
		if (rc)
			iforest_error_from_db(error, index->db, rc);
	}
	sqlite3_finalize(statement);
	state->exists = n == 4 && state->width > 0;
	return rc;
}

static int write_state(struct iforest_index *index, const struct state *state, struct iforest_error *error)
{
	return iforest_execute(error, index->db,
			       "REPLACE INTO \"%w\".\"%w_config\" VALUES('export width', %lld), ('export until', %lld), "
			       "('export from', %lld), "
			       "('export to', %lld)",
			       index->schema, index->name, (sqlite3_int64)state->width, (sqlite3_int64)state->until,
			       (sqlite3_int64)state->from, (sqlite3_int64)state->to);
}

static void touch(struct state *state, const struct iforest_tail *tail)
{
	const struct iforest_pending_row *row;

	for (size_t k = 0; k < tail->n_removed; k++) {
		const struct iforest_key *key = &tail->removed[k];

		if (!key->time_is_null && key->time <= state->until) {
			state->from = key->time < state->from ? key->time : state->from;
			state->to = key->time > state->to ? key->time : state->to;
		}
	}
	for (size_t at = 0; (row = iforest_pending_next(&tail->pending, &at));) {
		if (row->is_present && !row->time_is_null && row->time <= state->until) {
			state->from = row->time < state->from ? row->time : state->from;
			state->to = row->time > state->to ? row->time : state->to;
		}
	}
}

int iforest_export_note(struct iforest_index *index, const struct iforest_tail *tail, struct iforest_error *error)
{
	struct state state = { .exists = false };
	int rc = read_state(index, &state, error);

	if (rc || !state.exists)
		return rc;
	touch(&state, tail);
	return write_state(index, &state, error);
}

int iforest_export_note_all(struct iforest_index *index, struct iforest_error *error)
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
	const struct iforest_index *index = export->index;
	sqlite3_stmt *statement;
	int rc = iforest_prepare(export->error, index->db, &statement, "SELECT min(first_ts), max(last_ts) FROM \"%w\".\"%w\"",
				 index->schema, index->name);

	if (rc)
		return rc;
	if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL) {
		export->has_times = true;
		export->first = sqlite3_column_int64(statement, 0);
		export->last = sqlite3_column_int64(statement, 1);
	}
	rc = sqlite3_finalize(statement);
	return rc ? iforest_error_from_db(export->error, index->db, rc) : SQLITE_OK;
}

/* Up to the first level whose buckets are wider than all times are apart. */
static int count_levels(const struct export *export)
{
	uint64_t extent = export->has_times ? (uint64_t)export->last - (uint64_t)export->first : 0;
	int n = 1;

	for (int64_t width = export->width; (uint64_t)width <= extent && width <= INT64_MAX / 2; width *= 2)
		n++;
	return n;
}

/* Makes the buckets of a level anew that hold times from `from` through `to`. */
static int refresh_range(struct export *export, int level, int64_t from, int64_t to)
{
	struct iforest_bucketing bucketing = { .mode = IFOREST_STEP, .step = export->width << level };
	int64_t first, last, start, end;
	bool after_all;

	/* with origin 0 every time has a bucket */
	if (iforest_bucket_of(&bucketing, from, &first) || iforest_bucket_of(&bucketing, to, &last))
		return iforest_error_set(export->error, SQLITE_INTERNAL, "%s: no bucket", export->index->name);
	start = iforest_bucket_start(&bucketing, first);
	end = iforest_bucket_end(&bucketing, last, &after_all);
	return iforest_export_fill(export->index, export->definition, level, bucketing.step, start, after_all ? NULL : &end,
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
		if (iforest_argument_integer(name, "step", step, &export->width, export->error))
			return export->error->rc;
		if (export->width <= 0)
			return iforest_error_set(export->error, SQLITE_ERROR, "%s: step must be greater than 0", name);
	} else if (export->state.exists) {
		export->width = export->state.width;
	} else {
		return iforest_error_set(export->error, SQLITE_ERROR,
					 "%s: the first export needs the width of its finest buckets: INSERT INTO "
					 "\"%w\"(\"%w\", step) VALUES('export', ...)",
					 name, name, name);
	}
	return SQLITE_OK;
}

/* Until all is done the view is empty, and the next export is to make all anew: a command that fails within a transaction
 * leaves what it has written. */
static int begin(struct export *export)
{
	struct state unfinished = { .width = export->width, .until = INT64_MAX, .from = INT64_MIN, .to = INT64_MAX };
	bool is_complete = false;
	int rc = iforest_export_make_tables(export->index, export->definition, export->state.exists, &is_complete,
					    export->error);

	export->is_full =
		!export->state.exists || !is_complete || export->width != export->state.width || is_all_touched(&export->state);
	if (!rc)
		rc = iforest_export_take_levels(export->index, &export->n_levels_before, export->error);
	return rc ? rc : write_state(export->index, &unfinished, export->error);
}

static int finish(struct export *export)
{
	struct state state = { .width = export->width,
			       .until = export->has_times ? export->last : INT64_MIN,
			       .from = INT64_MAX,
			       .to = INT64_MIN };
	int rc = iforest_export_put_levels(export->index, export->width, export->n_levels, export->error);

	return rc ? rc : write_state(export->index, &state, export->error);
}

int iforest_export(struct iforest_index *index, const struct iforest_definition *definition, sqlite3_value *step,
		   struct iforest_error *error)
{
	struct export export = { .index = index, .definition = definition, .error = error };
	int rc = read_state(index, &export.state, error);
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

/* ---- with the index ---- */

/* An index whose own tables are damaged has no export that could be told from a user's tables, but can be dropped. */
static int find(struct iforest_index *index, struct state *state, struct iforest_error *error)
{
	int rc = read_state(index, state, error);

	if (rc != SQLITE_ERROR)
		return rc;
	iforest_error_clear(error);
	state->exists = false;
	return SQLITE_OK;
}

int iforest_export_drop(struct iforest_index *index, struct iforest_error *error)
{
	struct state state = { .exists = false };
	int rc = find(index, &state, error);

	return rc || !state.exists ? rc : iforest_export_drop_tables(index, error);
}

int iforest_export_rename(struct iforest_index *index, const struct iforest_definition *definition, const char *new_name,
			  struct iforest_error *error)
{
	struct state state = { .exists = false };
	int rc = find(index, &state, error);

	return rc || !state.exists ? rc : iforest_export_rename_tables(index, definition, new_name, error);
}
