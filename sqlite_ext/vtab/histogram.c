#include "sqlite_ext/vtab/histogram.h"

#include <math.h>

#include "core/base/array.h"
#include "core/base/xxh64.h"
#include "core/model/sketch.h"
#include "sqlite_ext/query/plan.h"
#include "sqlite_ext/vtab/common.h"
#include "sqlite_ext/vtab/functions.h"

#define NAME "iforest_histogram"

enum column { LOWER, UPPER, COUNT, SKETCH, BOUNDS };

/* idxNum: the arguments that are given. */
enum { HAS_SKETCH = 1, HAS_BOUNDS = 2 };

struct histogram_cursor {
	struct ifs_function_cursor base;
	sqlite3_value *sketch, *bounds; /* copies of the arguments; NULL where not given */
	struct iforest_sketch_view view;
	bool has_bounds;
	size_t bin; /* number of the row */

	/* with bounds */
	double *limits;
	uint64_t *counts;
	size_t n_limits, n_reserved, n_counts_reserved;

	/* without */
	struct iforest_sketch_place place;
	struct iforest_sketch_bin own;
};

/* ---- Table ---- */

static int histogram_connect(sqlite3 *db, void *context, int n_arguments, const char *const *arguments, sqlite3_vtab **base,
			     char **message)
{
	(void)n_arguments;
	(void)arguments;
	(void)message;
	return ifs_function_connect(db, context,
				    "CREATE TABLE x(lower REAL, upper REAL, count INTEGER, sketch HIDDEN, bounds HIDDEN)",
				    SQLITE_VTAB_INNOCUOUS, base);
}

static int histogram_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	int rc = ifs_function_arguments(info, SKETCH);

	(void)base;
	if (rc)
		return rc;
	/* without bounds the last bucket may be that of NaN, which is NULL here and would come first */
	if (info->idxNum & HAS_BOUNDS && info->nOrderBy == 1 && info->aOrderBy[0].iColumn == LOWER && !info->aOrderBy[0].desc)
		info->orderByConsumed = 1;
	info->estimatedRows = 50;
	/* a plan without the sketch may be for a branch of an OR: see ifs_plan_set_cost() */
	info->estimatedCost = info->idxNum & HAS_SKETCH ? 50 : IFS_COST_OF_UNUSABLE;
	return SQLITE_OK;
}

/* ---- Cursor ---- */

static int histogram_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	(void)base;
	return ifs_function_open(sizeof(struct histogram_cursor), out);
}

static int histogram_close(sqlite3_vtab_cursor *base)
{
	struct histogram_cursor *cursor = (struct histogram_cursor *)base;

	sqlite3_value_free(cursor->sketch);
	sqlite3_value_free(cursor->bounds);
	sqlite3_free(cursor->limits);
	sqlite3_free(cursor->counts);
	sqlite3_free(cursor);
	return SQLITE_OK;
}

static int keep_argument(sqlite3_value **kept, sqlite3_value *argument, struct ifs_error *error)
{
	sqlite3_value_free(*kept);
	*kept = argument ? sqlite3_value_dup(argument) : NULL;
	return argument && !*kept ? ifs_error_set(error, SQLITE_NOMEM, "") : error->rc;
}

/* True if the bounds are those of the previous query, as they often are in a join. */
static bool are_same(sqlite3_value *a, sqlite3_value *b)
{
	int n = a && b ? sqlite3_value_bytes(a) : -1;

	return n >= 0 && sqlite3_value_type(a) == sqlite3_value_type(b) && n == sqlite3_value_bytes(b) &&
	       (n == 0 || memcmp(sqlite3_value_blob(a), sqlite3_value_blob(b), (size_t)n) == 0);
}

static void add_limit(struct histogram_cursor *cursor, sqlite3_stmt *row, struct ifs_error *error)
{
	int type = sqlite3_column_type(row, 0);

	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
		ifs_error_set(error, SQLITE_ERROR, NAME ": the bounds are no JSON array of numbers, such as '[1000, 2000]'");
	else if (!iforest_array_reserve(&ifs_alloc, &cursor->limits, sizeof(double), cursor->n_limits + 1, &cursor->n_reserved))
		ifs_error_set(error, SQLITE_NOMEM, "");
	else
		cursor->limits[cursor->n_limits++] = sqlite3_column_double(row, 0);
}

/* Reads the bounds with SQLite's JSON functions. */
static int read_bounds(struct histogram_cursor *cursor, sqlite3_value *bounds, struct ifs_error *error)
{
	sqlite3 *db = ((struct ifs_function_table *)cursor->base.base.pVtab)->db;
	sqlite3_stmt *statement;
	int rc;

	if (are_same(cursor->bounds, bounds))
		return SQLITE_OK;
	cursor->n_limits = 0;
	if (keep_argument(&cursor->bounds, NULL, error) ||
	    ifs_prepare(error, db, &statement, "SELECT value FROM json_each(iif(json_type(?1) = 'array', ?1, json('[\"\"]')))"))
		return error->rc;
	rc = sqlite3_bind_value(statement, 1, bounds);
	while (!rc && !error->rc && sqlite3_step(statement) == SQLITE_ROW)
		add_limit(cursor, statement, error);
	rc = sqlite3_finalize(statement);
	if (rc)
		ifs_error_set(error, rc, NAME ": bounds: %s", sqlite3_errmsg(db));
	if (!error->rc && !iforest_sketch_are_bounds(cursor->limits, cursor->n_limits))
		ifs_error_set(error, SQLITE_ERROR, NAME ": the bounds do not ascend");
	if (!error->rc && !iforest_array_reserve(&ifs_alloc, &cursor->counts, sizeof(uint64_t), cursor->n_limits + 1,
						 &cursor->n_counts_reserved))
		ifs_error_set(error, SQLITE_NOMEM, "");
	return error->rc ? error->rc : keep_argument(&cursor->bounds, bounds, error);
}

static int read_sketch(struct histogram_cursor *cursor, sqlite3_value *sketch, struct ifs_error *error)
{
	const uint8_t *bytes;

	cursor->view = (struct iforest_sketch_view){ .n = 0 };
	if (keep_argument(&cursor->sketch, sketch, error) || sqlite3_value_type(sketch) == SQLITE_NULL)
		return error->rc;
	bytes = sqlite3_value_blob(cursor->sketch);
	return ifs_sketch_error_set(
		error, iforest_sketch_open(&cursor->view, bytes, (size_t)sqlite3_value_bytes(cursor->sketch)), NAME);
}

static void move_to_row(struct histogram_cursor *cursor)
{
	if (cursor->has_bounds)
		cursor->base.at_end = cursor->bin > cursor->n_limits;
	else
		cursor->base.at_end = !iforest_sketch_next_bin(&cursor->view, &cursor->place, &cursor->own);
}

static int histogram_filter(sqlite3_vtab_cursor *base, int index_number, const char *index_text, int n_argv,
			    sqlite3_value **argv)
{
	struct histogram_cursor *cursor = (struct histogram_cursor *)base;
	struct ifs_error error = { .rc = SQLITE_OK };

	(void)index_text;
	(void)n_argv;
	cursor->has_bounds = index_number & HAS_BOUNDS;
	cursor->base.at_end = true;
	cursor->bin = 0;
	cursor->place = (struct iforest_sketch_place){ .next = 0 };
	if (!(index_number & HAS_SKETCH))
		ifs_error_set(&error, SQLITE_ERROR, NAME ": give it a sketch: " NAME "((SELECT iforest_sketch(v) FROM ...))");
	else if (cursor->has_bounds && sqlite3_value_type(argv[1]) == SQLITE_NULL)
		return SQLITE_OK;
	else if (!read_sketch(cursor, argv[0], &error) && cursor->has_bounds)
		(void)read_bounds(cursor, argv[1], &error);
	if (error.rc)
		return ifs_function_report(base->pVtab, &error);
	if (cursor->has_bounds)
		iforest_sketch_histogram(&cursor->view, cursor->limits, cursor->n_limits, cursor->counts);
	move_to_row(cursor);
	return SQLITE_OK;
}

static int histogram_next(sqlite3_vtab_cursor *base)
{
	struct histogram_cursor *cursor = (struct histogram_cursor *)base;

	cursor->bin++;
	move_to_row(cursor);
	return SQLITE_OK;
}

/* ---- Row ---- */

static struct iforest_sketch_bin row_of(const struct histogram_cursor *cursor)
{
	size_t bin = cursor->bin;

	if (!cursor->has_bounds)
		return cursor->own;
	return (struct iforest_sketch_bin){ .lower = bin == 0 ? -INFINITY : cursor->limits[bin - 1],
					    .upper = bin == cursor->n_limits ? INFINITY : cursor->limits[bin],
					    .n = cursor->counts[bin] };
}

static int histogram_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	const struct histogram_cursor *cursor = (const struct histogram_cursor *)base;
	struct iforest_sketch_bin row = row_of(cursor);

	switch ((enum column)column) {
	case LOWER:
		sqlite3_result_double(context, row.lower);
		break;
	case UPPER:
		sqlite3_result_double(context, row.upper);
		break;
	case COUNT:
		sqlite3_result_int64(context, (sqlite3_int64)row.n);
		break;
	case SKETCH:
		sqlite3_result_value(context, cursor->sketch);
		break;
	case BOUNDS:
		if (cursor->has_bounds)
			sqlite3_result_value(context, cursor->bounds);
		break;
	}
	return SQLITE_OK;
}

static uint64_t hash_of(sqlite3_value *value)
{
	const void *bytes = value ? sqlite3_value_blob(value) : NULL;

	return bytes ? iforest_xxh64(bytes, (size_t)sqlite3_value_bytes(value)) : 0;
}

/* No other histogram has the same rowid, up to chance: see ifs_bucket_query_rowid(). */
static int histogram_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
	const struct histogram_cursor *cursor = (const struct histogram_cursor *)base;
	uint64_t parts[] = { hash_of(cursor->sketch), cursor->has_bounds ? hash_of(cursor->bounds) : 0, cursor->bin };

	*rowid = (sqlite3_int64)iforest_xxh64((const uint8_t *)parts, sizeof parts);
	return SQLITE_OK;
}

/* Without xCreate the table exists under its own name, and CREATE VIRTUAL TABLE is refused. */
static const sqlite3_module module = {
	.xConnect = histogram_connect,
	.xBestIndex = histogram_best_index,
	.xDisconnect = ifs_function_disconnect,
	.xOpen = histogram_open,
	.xClose = histogram_close,
	.xFilter = histogram_filter,
	.xNext = histogram_next,
	.xEof = ifs_function_eof,
	.xColumn = histogram_column,
	.xRowid = histogram_rowid,
};

const struct ifs_module ifs_histogram_module = { .name = NAME, .methods = &module };
