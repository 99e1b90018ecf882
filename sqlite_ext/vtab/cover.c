#include "sqlite_ext/vtab/cover.h"

#include "core/base/xxh64.h"
#include "core/query/scan.h"
#include "sqlite_ext/query/buckets.h"
#include "sqlite_ext/vtab/buckets.h"

#define NAME "iforest_cover"

/* Columns after the by columns; four of each value follow, then t0 and t1. */
enum { RUN_ID, NODE_LEVEL, NODE_NUMBER, FIRST_TS, LAST_TS, COUNT, N_FIXED };

static const enum ifs_value_column of_value[] = { IFS_OF_COUNT, IFS_OF_SUM, IFS_OF_MIN, IFS_OF_MAX };

enum { N_OF_VALUE = sizeof of_value / sizeof *of_value, N_ARGUMENTS = 2 };

struct cover_cursor {
	struct ifs_cursor base;
	struct ifs_bucket_query query; /* the chosen series, and the scan */
	struct iforest_scan_cover cover;
	struct iforest_scan_cover_part part; /* the current row */
	uint32_t member;		     /* its series, by number among the query's series */
	bool is_started;
};

/* ---- creation ---- */

static int declare(const struct ifs_table *table, sqlite3 *db, struct ifs_error *error)
{
	const struct ifs_definition *definition = &table->definition;
	sqlite3_str *text = sqlite3_str_new(NULL);
	char *sql;
	int rc;

	sqlite3_str_appendall(text, "CREATE TABLE x(");
	ifs_table_add_by(text, definition);
	sqlite3_str_appendall(text, "run_id, node_level, node_number, first_ts, last_ts, count");
	for (unsigned v = 0; v < definition->n_values; v++) {
		const char *name = definition->values[v].name;

		sqlite3_str_appendf(text, ", \"count_%w\", \"sum_%w\", \"min_%w\", \"max_%w\"", name, name, name, name);
	}
	sqlite3_str_appendall(text, ", t0 HIDDEN, t1 HIDDEN)");
	sql = sqlite3_str_finish(text);
	if (!sql)
		return ifs_error_set(error, SQLITE_NOMEM, "");
	rc = sqlite3_declare_vtab(db, sql);
	sqlite3_free(sql);
	if (rc)
		return ifs_error_set(error, rc, NAME ": %s; give the by column another name in the index: by=(c AS c_)",
				     sqlite3_errmsg(db));
	sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS); /* why it may be: ifs_table_declare_text() */
	return SQLITE_OK;
}

static int open_cover(struct ifs_table *table, sqlite3 *db, struct ifs_connection *connection, int n_arguments,
		      struct ifs_error *error)
{
	int rc = ifs_table_open_index(table, db, connection, NAME, n_arguments, error);

	if (!rc && n_arguments > 4)
		rc = ifs_error_set(error, SQLITE_ERROR, NAME ": takes an index and nothing else: " NAME "(index)");
	table->first_argument = (int)(table->definition.n_by + N_FIXED + N_OF_VALUE * table->definition.n_values);
	return rc ? rc : declare(table, db, error);
}

/* ---- planning: idxNum is as in query/plan.h, idxStr has only the conditions on by columns ---- */

static int plan_cover(struct ifs_table *table, sqlite3_index_info *info, struct ifs_error *error)
{
	int constraint_of[N_ARGUMENTS], n_argv = 0;
	int rc = ifs_plan_take_arguments(table->name, ifs_argument_names, info, table->first_argument, N_ARGUMENTS,
					 constraint_of, &n_argv, error);
	sqlite3_str *text;
	bool has_left;
	double n_rows;

	if (rc)
		return rc;
	text = sqlite3_str_new(NULL);
	sqlite3_str_appendall(text, "cover");
	n_rows = ifs_plan_take_conditions(&table->definition, table->number_texts, info, &n_argv, text, &has_left) ? 50 : 500;
	ifs_plan_set_doubtful_cost(info, n_rows, n_rows, has_left);
	info->idxStr = sqlite3_str_finish(text);
	info->needToFreeIdxStr = 1;
	return info->idxStr ? SQLITE_OK : ifs_error_set(error, SQLITE_NOMEM, "");
}

static bool read_plan(struct ifs_plan *plan, const struct ifs_table *table, int index_number, const char *index_text)
{
	const struct ifs_definition *definition = &table->definition;
	const char *at = index_text + strlen("cover");

	*plan = (struct ifs_plan){ .name = table->name, .arguments = (unsigned)index_number & ((1u << IFS_N_ARGUMENTS) - 1) };
	plan->request =
		(struct iforest_request){ .values = (1u << definition->n_values) - 1, .no_rows = UINT32_MAX, .times = true };
	return ifs_plan_read_conditions(plan, definition, &at) && !*at;
}

/* ---- reading ---- */

static int next_part(struct ifs_cursor *base, struct ifs_error *error)
{
	struct cover_cursor *cursor = (struct cover_cursor *)base;
	struct ifs_bucket_query *query = &cursor->query;
	enum iforest_status status = IFOREST_OK;
	bool found = false;

	if (ifs_bucket_query_check(query, error))
		return error->rc;
	while (!status && !found && cursor->member < query->n_members) {
		if (!cursor->is_started) {
			status = iforest_scan_start(&query->scan, query->members[cursor->member]->id);
			iforest_scan_cover_start(&cursor->cover, &query->scan);
			cursor->is_started = true;
		}
		if (!status)
			status = iforest_scan_cover_next(&cursor->cover, &cursor->part, &found);
		if (!found) {
			cursor->member++;
			cursor->is_started = false;
		}
	}
	base->at_end = !found;
	return ifs_snapshot_error(query->index, query->snapshot, status, error);
}

static void release_cover(struct ifs_cursor *cursor)
{
	ifs_bucket_query_release(&((struct cover_cursor *)cursor)->query);
}

static int start_cover(struct ifs_cursor *base, int index_number, const char *index_text, sqlite3_value **argv,
		       struct ifs_error *error)
{
	struct cover_cursor *cursor = (struct cover_cursor *)base;
	struct ifs_table *table = (struct ifs_table *)base->base.pVtab;
	struct ifs_plan plan;

	ifs_bucket_query_release(&cursor->query);
	cursor->member = 0;
	cursor->is_started = false;
	if (!read_plan(&plan, table, index_number, index_text))
		return SQLITE_INTERNAL;
	return ifs_bucket_query_start(&cursor->query, &table->index, &table->definition, table->kept, &plan, argv, error);
}

static void fixed_column(sqlite3_context *context, const struct ifs_times *times, const struct iforest_scan_cover_part *part,
			 unsigned column)
{
	switch (column) {
	case RUN_ID:
		if (!part->is_joined)
			sqlite3_result_int64(context, (sqlite3_int64)part->run->place.run_id);
		break;
	case NODE_LEVEL:
		sqlite3_result_int64(context, part->level);
		break;
	case NODE_NUMBER:
		sqlite3_result_int64(context, (sqlite3_int64)part->number);
		break;
	case FIRST_TS:
	case LAST_TS:
		if (part->aggregate.has_times)
			ifs_time_result(context, times,
					column == FIRST_TS ? part->aggregate.first_time : part->aggregate.last_time);
		break;
	default:
		sqlite3_result_int64(context, (sqlite3_int64)part->aggregate.n_rows);
	}
}

static int column_of_cover(struct ifs_cursor *base, sqlite3_context *context, int column)
{
	const struct cover_cursor *cursor = (const struct cover_cursor *)base;
	const struct ifs_table *table = ifs_cursor_table(base);
	const struct ifs_bucket_query *query = &cursor->query;
	unsigned n_by = table->definition.n_by, c = (unsigned)column;

	if (c < n_by) {
		ifs_by_result(context, &query->members[cursor->member]->values[c]);
	} else if (c < n_by + N_FIXED) {
		fixed_column(context, &query->snapshot->times, &cursor->part, c - n_by);
	} else {
		c -= n_by + N_FIXED;
		return ifs_bucket_value(context, &query->snapshot->times, &cursor->part.aggregate.values[c / N_OF_VALUE],
					query->snapshot->manifest.fields.value_types[c / N_OF_VALUE], of_value[c % N_OF_VALUE]);
	}
	return SQLITE_OK;
}

static sqlite3_int64 rowid_of_cover(const struct ifs_cursor *base)
{
	const struct cover_cursor *cursor = (const struct cover_cursor *)base;
	const struct iforest_window *window = &cursor->query.scan.bucketing.window;
	const struct iforest_scan_cover_part *part = &cursor->part;
	uint64_t parts[] = {
		cursor->query.members[cursor->member]->id,
		part->run->place.run_id,
		part->is_joined,
		part->level,
		part->number,
		part->time_is_null,
		window->has_t0,
		window->has_t1,
		(uint64_t)window->t0,
		(uint64_t)window->t1,
	};

	return (sqlite3_int64)iforest_xxh64((const uint8_t *)parts, sizeof parts);
}

static const struct ifs_reader reader = {
	.cursor_bytes = sizeof(struct cover_cursor),
	.n_zeros = sizeof(struct cover_cursor),
	.n_arguments = N_ARGUMENTS,
	.argument_names = ifs_argument_names,
	.plan = plan_cover,
	.start = start_cover,
	.next = next_part,
	.column = column_of_cover,
	.rowid = rowid_of_cover,
	.release = release_cover,
};

const struct ifs_module ifs_cover_module = {
	.name = NAME, .methods = &ifs_derived_methods, .open = open_cover, .reader = &reader
};
