#include "sqlite_ext/vtab/gaps.h"

#include <stdlib.h>

#include "core/base/bits.h"
#include "core/model/real_time.h"
#include "core/base/xxh64.h"
#include "core/query/gap.h"
#include "sqlite_ext/follow/snapshot.h"
#include "sqlite_ext/query/plan.h"
#include "sqlite_ext/query/series_filter.h"

/* ---- The gap query ----
 *
 * Rows are the gaps of the chosen series, either one series after the other, or all in order of time. Within a series, gaps are
 * found in order of time. Those of several series are gathered and sorted first. Even a condition like "= '3'" may choose
 * several series: that of the text '3', and that of the number 3. */

struct gap_row {
	struct iforest_gap gap;
	uint32_t series;
};

struct gap_query {
	struct ifs_index *index;
	struct ifs_snapshot *snapshot;
	uint64_t n_changes; /* as in query/rows.h */
	struct ifs_series_filter filter;
	struct iforest_gap_reader reader;
	bool has_reader;
	struct iforest_gap_question question;
	int64_t longer_than;	/* in the index's form of times; applied here to reals, whose distances core cannot compute */
	uint32_t n_started;	/* how many of the chosen series were begun */
	struct gap_row *sorted; /* all gaps by time, or NULL */
	size_t n_sorted, n_reserved, at;
	struct gap_row row;
};

/* What a query asks for besides its window and bound: conditions on by columns, and whether all gaps come in order of time. */
struct gap_plan {
	bool in_order;
	unsigned n_conditions;
	struct ifs_by_condition conditions[32];
};

static void gap_query_release(struct gap_query *gaps)
{
	if (gaps->has_reader)
		iforest_gap_release(&gaps->reader);
	ifs_snapshot_release(gaps->snapshot);
	ifs_series_filter_release(&gaps->filter);
	sqlite3_free(gaps->sorted);
	*gaps = (struct gap_query){ .index = NULL };
}

static enum iforest_status open_reader(struct gap_query *gaps)
{
	struct ifs_snapshot *snapshot = gaps->snapshot;
	enum iforest_status status = iforest_gap_init(&gaps->reader, &gaps->index->store, &snapshot->manifest);

	gaps->has_reader = !status;
	return status ? status
		      : iforest_gap_join(&gaps->reader, &snapshot->delta.memtable.store, &snapshot->delta.memtable.manifest);
}

static bool is_long_enough(const struct gap_query *gaps)
{
	const struct iforest_gap *gap = &gaps->row.gap;

	return gaps->snapshot->times.kind != IFS_TIMES_REAL ||
	       iforest_real_of_time(gap->end) - iforest_real_of_time(gap->start) > iforest_real_of_time(gaps->longer_than);
}

static enum iforest_status next_of_series(struct gap_query *gaps, bool *found)
{
	enum iforest_status status;

	do
		status = iforest_gap_next(&gaps->reader, &gaps->row.gap, found);
	while (!status && *found && !is_long_enough(gaps));
	return status;
}

/* Finds the next gap, series after series. */
static enum iforest_status find_next(struct gap_query *gaps, bool *found)
{
	enum iforest_status status = IFOREST_OK;

	*found = false;
	while (!status) {
		if (gaps->n_started > 0)
			status = next_of_series(gaps, found);
		if (status || *found || gaps->n_started == gaps->filter.n)
			break;
		gaps->row.series = gaps->filter.ids[gaps->n_started++];
		gaps->question.series = gaps->row.series;
		status = iforest_gap_start(&gaps->reader, &gaps->question);
	}
	return status;
}

static int compare_rows(const void *left, const void *right)
{
	const struct gap_row *a = left, *b = right;

	if (a->gap.start != b->gap.start)
		return a->gap.start < b->gap.start ? -1 : 1;
	return (a->series > b->series) - (a->series < b->series);
}

static enum iforest_status gather(struct gap_query *gaps)
{
	enum iforest_status status = IFOREST_OK;
	bool found = true;

	while (!status && found) {
		if (gaps->n_sorted == gaps->n_reserved) {
			size_t n = gaps->n_reserved ? 2 * gaps->n_reserved : 64;
			void *grown = sqlite3_realloc64(gaps->sorted, n * sizeof *gaps->sorted);

			if (!grown)
				return IFOREST_NO_MEMORY;
			gaps->sorted = grown;
			gaps->n_reserved = n;
		}
		status = find_next(gaps, &found);
		if (!status && found)
			gaps->sorted[gaps->n_sorted++] = gaps->row;
	}
	if (gaps->n_sorted > 0)
		qsort(gaps->sorted, gaps->n_sorted, sizeof *gaps->sorted, compare_rows);
	return status;
}

/* Opens the snapshot of a query. Release it also after an error; after that it may be opened again. */
static int gap_query_open(struct gap_query *gaps, struct ifs_index *index, struct ifs_error *error)
{
	gaps->index = index;
	gaps->n_changes = index->connection->n_changes;
	return ifs_snapshot_open(index, &gaps->snapshot, error);
}

/* Starts a query that was opened. */
static int gap_query_start(struct gap_query *gaps, struct ifs_index *index, const struct gap_plan *plan,
			   const struct iforest_window *window, int64_t longer_than, sqlite3_value **argv,
			   struct ifs_error *error)
{
	bool is_real = gaps->snapshot->times.kind == IFS_TIMES_REAL;
	enum iforest_status status;
	int rc = ifs_series_filter_apply(&gaps->filter, &gaps->snapshot->dictionary, plan->conditions, plan->n_conditions, argv,
					 error);

	if (rc)
		return rc;
	gaps->question = (struct iforest_gap_question){ .window = *window,
							.longer_than = is_real ? 0 : (uint64_t)longer_than,
							.filter = ifs_delta_filter(&gaps->snapshot->delta) };
	gaps->longer_than = longer_than;
	status = open_reader(gaps);
	if (!status && plan->in_order && gaps->filter.n > 1)
		status = gather(gaps);
	return ifs_snapshot_error(index, gaps->snapshot, status, error);
}

/* Moves to the next row, or the first; sets *at_end if there is none. */
static int gap_query_next(struct gap_query *gaps, bool *at_end, struct ifs_error *error)
{
	enum iforest_status status = IFOREST_OK;
	bool found;

	if (ifs_snapshot_check_since(gaps->index, gaps->snapshot, &gaps->n_changes, error))
		return error->rc;
	if (gaps->sorted) {
		found = gaps->at < gaps->n_sorted;
		if (found)
			gaps->row = gaps->sorted[gaps->at++];
	} else {
		status = find_next(gaps, &found);
	}
	*at_end = status || !found;
	return ifs_snapshot_error(gaps->index, gaps->snapshot, status, error);
}

/* ---- The virtual table ---- */

/* Columns: by columns | gap_start gap_end | hidden t0 t1 longer_than. */
enum { GAP_START, GAP_END, N_FIXED };
enum { T0, T1, LONGER_THAN, N_ARGUMENTS };

static const char *const fixed_names[N_FIXED] = { "gap_start", "gap_end" };
static const char *const argument_names[N_ARGUMENTS] = { "t0", "t1", "longer_than" };

struct cursor {
	struct ifs_cursor base;
	struct gap_query gaps;
};

/* ---- creation ---- */

static int check_name(const struct ifs_definition *definition, const char *name, struct ifs_error *error)
{
	for (unsigned b = 0; b < definition->n_by; b++)
		if (sqlite3_stricmp(definition->by[b].name, name) == 0)
			return ifs_error_set(error, SQLITE_ERROR,
					     "iforest_gaps: two columns named \"%s\"; make the index with by=(\"%w\" AS "
					     "\"%w_\")",
					     name, definition->by[b].source, definition->by[b].name);
	return SQLITE_OK;
}

static int declare(struct ifs_table *table, sqlite3 *db, struct ifs_error *error)
{
	const struct ifs_definition *definition = &table->definition;
	sqlite3_str *sql = sqlite3_str_new(db);
	int rc = SQLITE_OK;

	sqlite3_str_appendall(sql, "CREATE TABLE x(");
	ifs_table_add_by(sql, definition);
	for (unsigned f = 0; f < N_FIXED && !rc; f++) {
		rc = check_name(definition, fixed_names[f], error);
		sqlite3_str_appendf(sql, "%s %s, ", fixed_names[f], ifs_time_types[definition->time_kind]);
	}
	for (unsigned a = 0; a < N_ARGUMENTS && !rc; a++) {
		rc = check_name(definition, argument_names[a], error);
		sqlite3_str_appendf(sql, "%s HIDDEN%s", argument_names[a], a + 1 < N_ARGUMENTS ? ", " : ")");
	}
	return ifs_table_declare_text(db, sqlite3_str_finish(sql), error);
}

static int open_gaps(struct ifs_table *table, sqlite3 *db, struct ifs_connection *connection, int n_arguments,
		     struct ifs_error *error)
{
	int rc = ifs_table_open_index(table, db, connection, "iforest_gaps", n_arguments, error);

	if (!rc && n_arguments > 4)
		rc = ifs_error_set(error, SQLITE_ERROR, "iforest_gaps: takes one argument, the index, and not \"%s\"",
				   table->arguments[4]);
	table->first_argument = (int)table->definition.n_by + N_FIXED;
	return rc ? rc : declare(table, db, error);
}

/* ---- planning ---- */

/* idxNum has a bit for each argument given, and bit 4 if rows come in order of time; idxStr is as in query/rows.h. */

enum { IN_ORDER = 1 << 4, MAX_CONDITIONS = 32 - N_ARGUMENTS };

/* Encodes the conditions, and returns the by columns that are bound to one value, as bits. *has_left is as in query/plan.h. */
static unsigned take_conditions(const struct ifs_table *table, sqlite3_index_info *info, int *n_argv, sqlite3_str *text,
				bool *has_left)
{
	unsigned bound = 0;

	for (int i = 0, n = 0; i < info->nConstraint && n < MAX_CONDITIONS; i++) {
		const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
		char op = ifs_condition_operator(constraint->op);

		if (!op || constraint->iColumn < 0 || constraint->iColumn >= (int)table->definition.n_by ||
		    !ifs_plan_may_choose(info, i))
			continue;
		if (!constraint->usable) {
			*has_left =
				*has_left || ifs_plan_is_doubtful(info, i, (unsigned)constraint->iColumn, table->number_texts);
			continue;
		}
		if (op == '=')
			op = ifs_plan_equality(info, i, (unsigned)constraint->iColumn, table->number_texts);
		if (op == '=' || op == '~' || op == 'i')
			bound |= 1u << constraint->iColumn;
		info->aConstraintUsage[i].argvIndex = ++*n_argv;
		sqlite3_str_appendf(text, "%c%d ", op, constraint->iColumn);
		n++;
	}
	return bound;
}

static int plan_gaps(struct ifs_table *table, sqlite3_index_info *info, struct ifs_error *error)
{
	int constraint_of[N_ARGUMENTS], n_argv = 0, n_by = (int)table->definition.n_by;
	int rc = ifs_plan_take_arguments(table->name, argument_names, info, table->first_argument, N_ARGUMENTS, constraint_of,
					 &n_argv, error);
	sqlite3_str *text;
	unsigned bound;
	bool has_left = false;
	double n_rows;

	if (rc)
		return rc;
	text = sqlite3_str_new(NULL);
	bound = take_conditions(table, info, &n_argv, text, &has_left);
	if (info->nOrderBy == 1 && info->aOrderBy[0].iColumn == n_by + GAP_START && !info->aOrderBy[0].desc &&
	    bound == (1u << n_by) - 1) {
		info->orderByConsumed = 1;
		info->idxNum |= IN_ORDER;
	}
	sqlite3_str_appendall(text, info->orderByConsumed ? ": in order of gap_start" : ": series after series");
	info->idxStr = sqlite3_str_finish(text);
	info->needToFreeIdxStr = 1;
	n_rows = bound || has_left ? 100 : 10000;
	ifs_plan_set_doubtful_cost(info, n_rows, 100 + n_rows, has_left);
	return info->idxStr ? SQLITE_OK : ifs_error_set(error, SQLITE_NOMEM, "");
}

static void read_plan(struct gap_plan *plan, int index_number, const char *index_text)
{
	char *at = (char *)index_text;

	*plan = (struct gap_plan){ .in_order = index_number & IN_ORDER };
	while (*at != ':' && plan->n_conditions < MAX_CONDITIONS) {
		plan->conditions[plan->n_conditions].op = *at;
		plan->conditions[plan->n_conditions++].by = (int)strtol(at + 1, &at, 10);
		at += *at == ' ';
	}
}

/* ---- reading ---- */

/* Reads the arguments kept in the cursor. */
static int read_arguments(const struct ifs_times *times, sqlite3_value *const *arguments, const char *name,
			  struct iforest_window *window, int64_t *longer_than, bool *has_null, struct ifs_error *error)
{
	int64_t numbers[N_ARGUMENTS] = { 0 };
	int rc = SQLITE_OK;

	*has_null = false;
	for (unsigned a = 0; a < N_ARGUMENTS && !rc; a++)
		if (arguments[a] && sqlite3_value_type(arguments[a]) == SQLITE_NULL)
			*has_null = true;
		else if (arguments[a])
			rc = (a == LONGER_THAN ? ifs_length_argument : ifs_time_argument)(times, name, argument_names[a],
											  arguments[a], &numbers[a], error);
	if (!rc && numbers[LONGER_THAN] < 0)
		rc = ifs_error_set(error, SQLITE_ERROR, "%s: longer_than must not be negative", name);
	*window = (struct iforest_window){
		.has_t0 = arguments[T0], .has_t1 = arguments[T1], .t0 = numbers[T0], .t1 = numbers[T1]
	};
	*longer_than = numbers[LONGER_THAN];
	return rc;
}

static void release_gaps(struct ifs_cursor *cursor)
{
	gap_query_release(&((struct cursor *)cursor)->gaps);
}

/* If an argument is NULL, no query is started, and there are no rows. */
static int start_gaps(struct ifs_cursor *cursor, int index_number, const char *index_text, sqlite3_value **argv,
		      struct ifs_error *error)
{
	struct ifs_table *table = (struct ifs_table *)cursor->base.pVtab;
	struct gap_query *gaps = &((struct cursor *)cursor)->gaps;
	struct gap_plan plan;
	struct iforest_window window;
	int64_t longer_than;
	bool has_null;
	int rc;

	gap_query_release(gaps);
	rc = gap_query_open(gaps, &table->index, error);
	if (!rc)
		rc = read_arguments(&gaps->snapshot->times, cursor->arguments, table->name, &window, &longer_than, &has_null,
				    error);
	if (rc)
		return rc;
	if (has_null) {
		gap_query_release(gaps);
		return SQLITE_OK;
	}
	read_plan(&plan, index_number, index_text);
	argv += iforest_popcount((unsigned)index_number & ((1u << N_ARGUMENTS) - 1));
	return gap_query_start(gaps, &table->index, &plan, &window, longer_than, argv, error);
}

static int next_gap(struct ifs_cursor *cursor, struct ifs_error *error)
{
	struct gap_query *gaps = &((struct cursor *)cursor)->gaps;

	return gaps->index ? gap_query_next(gaps, &cursor->at_end, error) : SQLITE_OK;
}

static int column_of_gap(struct ifs_cursor *cursor, sqlite3_context *context, int column)
{
	const struct gap_query *gaps = &((struct cursor *)cursor)->gaps;
	int fixed = column - (int)ifs_cursor_table(cursor)->definition.n_by;

	if (fixed < 0)
		ifs_by_result(context, &ifs_series_filter_find(&gaps->filter, gaps->row.series)->values[column]);
	else
		ifs_time_result(context, &gaps->snapshot->times, fixed == GAP_START ? gaps->row.gap.start : gaps->row.gap.end);
	return SQLITE_OK;
}

/* No two gaps of a series start at the same time. */
static sqlite3_int64 rowid_of_gap(const struct ifs_cursor *cursor)
{
	const struct gap_query *gaps = &((const struct cursor *)cursor)->gaps;
	const struct iforest_window *window = &gaps->question.window;
	uint64_t parts[] = {
		gaps->row.series, (uint64_t)gaps->row.gap.start, (uint64_t)gaps->longer_than, window->has_t0,
		window->has_t1,	  (uint64_t)window->t0,		 (uint64_t)window->t1,
	};

	return (sqlite3_int64)iforest_xxh64((const uint8_t *)parts, sizeof parts);
}

static const struct ifs_reader reader = {
	.cursor_bytes = sizeof(struct cursor),
	.n_zeros = sizeof(struct cursor),
	.n_arguments = N_ARGUMENTS,
	.argument_names = argument_names,
	.plan = plan_gaps,
	.start = start_gaps,
	.next = next_gap,
	.column = column_of_gap,
	.rowid = rowid_of_gap,
	.release = release_gaps,
};

const struct ifs_module ifs_gaps_module = {
	.name = "iforest_gaps", .methods = &ifs_derived_methods, .open = open_gaps, .reader = &reader
};
