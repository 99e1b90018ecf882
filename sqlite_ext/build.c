#include "sqlite_ext/build.h"

#include "core/bits.h"
#include "core/run_build.h"
#include "sqlite_ext/entries.h"
#include "sqlite_ext/progress.h"
#include "sqlite_ext/watch.h"

struct build {
	struct iforest_index *index;
	const struct iforest_definition *definition;
	const struct iforest_source *source;
	struct iforest_error *error;
	struct iforest_fields fields;
	struct iforest_manifest manifest;
	struct iforest_run_builder *builder;
	struct iforest_entry_reader rows;
	struct iforest_progress progress;
	sqlite3_stmt *put_series;
	uint32_t first_series, next_series;
	uint64_t series_checksum;
	sqlite3_int64 last_rowid;
};

/* Turns a status of core into the build's error. */
static int build_error(struct build *build, enum iforest_status status)
{
	return iforest_index_error(build->index, build->index->snapshot, status, build->error);
}

/* ---- the query ---- */

/* SELECT s."id", s."ts", s."track", s."dur" FROM "main"."spans" AS s [WHERE ...] ORDER BY s."track", s."ts" NULLS LAST,
 * s."id" */
static int prepare_rows(struct build *build, sqlite3_stmt **statement)
{
	const struct iforest_definition *definition = build->definition;
	sqlite3_str *sql = sqlite3_str_new(build->index->db);
	char *text;
	int rc;

	sqlite3_str_appendall(sql, "SELECT ");
	iforest_entry_append_columns(definition, build->source, "s", sql);
	sqlite3_str_appendf(sql, " FROM \"%w\".\"%w\" AS s%s ORDER BY ", build->index->schema, build->source->name,
			    build->progress.is_on ? " WHERE iforest_progress(?1)" : "");
	for (unsigned b = 0; b < definition->n_by; b++)
		sqlite3_str_appendf(sql, "s.\"%w\", ", definition->by[b].source);
	sqlite3_str_appendf(sql, "s.\"%w\" NULLS LAST, s.\"%w\"", definition->time, build->source->rowid_column);
	text = sqlite3_str_finish(sql);
	if (!text)
		return iforest_error_set(build->error, SQLITE_NOMEM, "");
	rc = iforest_prepare(build->error, build->index->db, statement, "%s", text);
	sqlite3_free(text);
	if (!rc && build->progress.is_on)
		rc = sqlite3_bind_pointer(*statement, 1, &build->progress, IFOREST_PROGRESS_POINTER, NULL);
	return rc;
}

/* Rows come in the order of series, so that each new one is greater than all before. */
static int add_series(void *context, const struct iforest_series_key *key, uint32_t *id)
{
	struct build *build = context;
	int rc;

	if (build->next_series == UINT32_MAX)
		return build_error(build, IFOREST_TOO_LARGE);
	*id = build->next_series++;
	rc = iforest_index_put_series(build->index, &build->put_series, *id, key->bytes, key->n_bytes, build->error);
	build->series_checksum += iforest_series_checksum(*id, key->bytes, key->n_bytes);
	return rc;
}

static int add_row(struct build *build, sqlite3_stmt *statement)
{
	struct iforest_entry entry;
	int rc = iforest_entry_read_statement(&build->rows, statement, &entry);

	if (rc || build->rows.has_real_in_integers)
		return rc;
	if (entry.key.ref > build->last_rowid)
		build->last_rowid = entry.key.ref;
	return build_error(build, iforest_run_builder_add(build->builder, &entry));
}

static int add_rows(struct build *build)
{
	sqlite3_stmt *statement = NULL;
	int rc = prepare_rows(build, &statement), step = SQLITE_ROW;

	iforest_progress_stage(&build->progress, "sorting");
	while (!rc && !build->rows.has_real_in_integers && (step = sqlite3_step(statement)) == SQLITE_ROW) {
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

/* Integers until a real shows up: then the column is one of reals, and the build starts over. One that is empty, and can hold
 * no number but a real, is one of reals too. */
static int choose_kinds(struct build *build)
{
	sqlite3_stmt *statement;
	int rc = SQLITE_OK;

	build->fields = (struct iforest_fields){ .n_values = (uint8_t)build->definition->n_values,
						 .squares = build->definition->squares,
						 .duration_value = build->definition->duration_value };
	for (unsigned v = 0; v < build->definition->n_values && !rc; v++) {
		const char *column = build->definition->values[v].source, *type = NULL;
		bool is_real;

		if (v == build->definition->duration_value || build->definition->squares >> v & 1) {
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
				  strcmp(iforest_affinity_of(type, false), "REAL") == 0;
		rc = sqlite3_finalize(statement);
		if (rc)
			iforest_error_from_db(build->error, build->index->db, rc);
		build->fields.kinds[v] = is_real ? IFOREST_FLOAT64 : IFOREST_INT64;
	}
	return rc ? rc : build_error(build, iforest_fields_finish(&build->fields));
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
	return rc ? rc : build_error(build, iforest_fields_finish(&build->fields));
}

/* ---- the whole ---- */

static int write_run(struct build *build, struct iforest_run *run)
{
	struct iforest_index *index = build->index;
	int rc = build_error(build, iforest_manifest_init(&build->manifest, &iforest_sqlite_alloc, &build->fields,
							 IFOREST_SQLITE_PAGE_BYTES));

	if (!rc)
		rc = build_error(build, iforest_run_builder_start(build->builder, &index->store, &build->manifest));
	if (rc)
		return rc;
	rc = add_rows(build);
	if (rc || build->rows.has_real_in_integers)
		iforest_run_builder_abandon(build->builder);
	else
		rc = build_error(build, iforest_run_builder_finish(build->builder, run));
	return rc;
}

/* Takes back the series that were written. */
static int forget_series(struct build *build, struct iforest_error *error)
{
	build->next_series = build->first_series;
	build->series_checksum = 0;
	iforest_entry_reader_forget_series(&build->rows);
	return iforest_execute(error, build->index->db, "DELETE FROM \"%w\".\"%w_series\" WHERE id >= %u", build->index->schema,
			       build->index->name, build->first_series);
}

static int publish(struct build *build, const struct iforest_run *run)
{
	struct iforest_manifest *manifest = &build->manifest;
	struct iforest_edit edit = { .added = run->n_leaves ? run : NULL };

	if (iforest_index_set_host(manifest, &(struct iforest_host_bytes){ build->first_series, build->next_series,
				   build->series_checksum, build->last_rowid }))
		return iforest_error_set(build->error, SQLITE_NOMEM, "");
	return build_error(build, iforest_manifest_commit(manifest, &build->index->store, &edit));
}

/* A build that failed leaves nothing behind, also where the transaction goes on: the manifest before still stands. */
static void take_back(struct build *build, const struct iforest_run *run)
{
	struct iforest_error ignored = { .rc = SQLITE_OK };

	if (run->n_leaves)
		(void)build->index->pager.drop_run(build->index, &run->place, iforest_run_pages(&build->manifest, run));
	if (build->put_series)
		forget_series(build, &ignored);
	iforest_error_clear(&ignored);
}

/* What the manifest before named is of no use any more, and the table is as the index says. */
static int clean_up(struct build *build, const struct iforest_run *run)
{
	struct iforest_index *index = build->index;
	sqlite3_int64 first_page = (sqlite3_int64)(run->place.location << 32);
	const char *schema = index->schema, *name = index->name;
	struct iforest_error ignored = { .rc = SQLITE_OK };
	sqlite3_stmt *statement = NULL;
	int rc = iforest_execute(build->error, index->db,
				 "DELETE FROM \"%w\".\"%w_page\" WHERE id <> 0 AND id NOT BETWEEN %lld AND %lld;"
				 "DELETE FROM \"%w\".\"%w_series\" WHERE id < %u OR id >= %u",
				 schema, name, first_page, run->n_leaves ? first_page + UINT32_MAX : first_page - 1, schema,
				 name, build->first_series, build->next_series);

	if (build->definition->sync != IFOREST_SYNC_LOG)
		return rc;
	if (!rc)
		rc = iforest_watch_start(index->db, schema, name, build->source, build->definition, build->error);
	if (!rc)
		rc = iforest_watch_prepare_empty(index->db, schema, name, build->source, build->definition, &statement,
						 build->error);
	if (!rc && iforest_step_to_end(statement) != SQLITE_DONE)
		rc = iforest_error_from_db(build->error, index->db, sqlite3_errcode(index->db));
	sqlite3_finalize(statement);
	/* in a transaction SQLite undoes nothing of it: without triggers no question is answered from a log that is not
	 * empty */
	if (rc)
		(void)iforest_watch_stop(index->db, schema, name, &ignored);
	iforest_error_clear(&ignored);
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
	return rc;
}

int iforest_build(struct iforest_index *index, const struct iforest_definition *definition,
		  const struct iforest_source *source, struct iforest_error *error)
{
	struct build build = {
		.index = index, .definition = definition, .source = source, .error = error, .last_rowid = INT64_MIN
	};
	struct iforest_run run = { .n_leaves = 0 };
	int rc;

	build.rows = (struct iforest_entry_reader){
		.db = index->db, .schema = index->schema, .definition = definition, .source = source, .fields = &build.fields,
		.error = error, .may_widen = true, .series_of = add_series, .context = &build,
		.key.alloc = &iforest_sqlite_alloc, .previous_key.alloc = &iforest_sqlite_alloc };
	build.builder = sqlite3_malloc64(sizeof *build.builder);
	rc = build.builder ? start(&build) : iforest_error_set(error, SQLITE_NOMEM, "");
	if (!rc)
		rc = choose_kinds(&build);
	if (!rc)
		rc = write_run(&build, &run);
	if (!rc && build.rows.has_real_in_integers) {
		build.rows.has_real_in_integers = false;
		iforest_manifest_release(&build.manifest);
		rc = forget_series(&build, error);
		if (!rc)
			rc = widen_kinds(&build);
		if (!rc)
			rc = write_run(&build, &run);
	}
	if (!rc)
		rc = iforest_index_note_flush(index, error);
	if (!rc)
		rc = publish(&build, &run);
	if (rc)
		take_back(&build, &run);
	else
		rc = clean_up(&build, &run);
	iforest_progress_end(&build.progress);
	sqlite3_finalize(build.put_series);
	iforest_manifest_release(&build.manifest);
	iforest_entry_reader_release(&build.rows);
	sqlite3_free(build.builder);
	return rc;
}
