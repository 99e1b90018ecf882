#include "sqlite_ext/vtab/buckets.h"

#include <math.h>
#include <stddef.h>

#include "core/model/aggregate.h"
#include "core/query/counter_scan.h"
#include "sqlite_ext/query/plan.h"
#include "sqlite_ext/storage/definition.h"

/* What core/query/counter_scan.h tells of a bucket, as the columns of iforest_counter. */

/* xColumn of a column of value v. Returns SQLITE_ERROR for an increase beyond 64 bits, with the result set to say so. */
static int counter_column_result(sqlite3_context *context, const struct iforest_counting *counting, unsigned v,
				  enum iforest_counter_column column);

static void result_counter(sqlite3_context *context, union iforest_number number, enum iforest_value_kind kind)
{
	if (kind == IFOREST_INT64)
		sqlite3_result_int64(context, number.integer);
	else
		sqlite3_result_double(context, number.real);
}

static int result_increase(sqlite3_context *context, const struct iforest_counter *counter, enum iforest_value_kind kind)
{
	if (kind == IFOREST_FLOAT64) {
		sqlite3_result_double(context, counter->real_increase);
	} else if (counter->increase > INT64_MAX || counter->increase < INT64_MIN) {
		sqlite3_result_error(context, "integer overflow", -1);
		return SQLITE_ERROR;
	} else {
		sqlite3_result_int64(context, (sqlite3_int64)counter->increase);
	}
	return SQLITE_OK;
}

static int counter_column_result(sqlite3_context *context, const struct iforest_counting *counting, unsigned v,
			    enum iforest_counter_column column)
{
	const struct iforest_counter *counter = &counting->values[v];
	enum iforest_value_kind kind = (enum iforest_value_kind)counting->fields->kinds[v];

	if (column == IFOREST_COUNTER_COUNT)
		sqlite3_result_int64(context, (sqlite3_int64)counter->n);
	else if (column == IFOREST_COUNTER_START && counter->has_start)
		result_counter(context, counter->start, kind);
	if (column <= IFOREST_COUNTER_START || !counter->is_known)
		return SQLITE_OK;
	switch (column) {
	case IFOREST_COUNTER_END:
		result_counter(context, counter->value, kind);
		break;
	case IFOREST_COUNTER_MEAN:
		if (counter->known > 0)
			sqlite3_result_double(context, iforest_counter_mean(counter, kind));
		break;
	case IFOREST_COUNTER_INCREASE:
		return result_increase(context, counter, kind);
	case IFOREST_COUNTER_RATE:
		sqlite3_result_double(context, iforest_counter_increase(counter, kind) / (double)counting->width);
		break;
	default:
		sqlite3_result_int64(context, (sqlite3_int64)counter->n_resets);
	}
	return SQLITE_OK;
}

/* ---- Columns of a row ---- */

static void result_number(sqlite3_context *context, union iforest_number number, unsigned kind)
{
	if (kind == IFOREST_INT64)
		sqlite3_result_int64(context, number.integer);
	else
		sqlite3_result_double(context, number.real);
}

static int result_sum(sqlite3_context *context, const struct iforest_value_aggregate *value, unsigned kind, bool zero_if_empty)
{
	if (value->n == 0) {
		if (!zero_if_empty)
			sqlite3_result_null(context);
		else if (kind == IFOREST_INT64)
			sqlite3_result_int64(context, 0);
		else
			sqlite3_result_double(context, 0);
	} else if (kind == IFOREST_FLOAT64) {
		sqlite3_result_double(context, iforest_real_sum(value));
	} else if (value->sum > INT64_MAX || value->sum < INT64_MIN) {
		sqlite3_result_error(context, "integer overflow", -1);
		return SQLITE_ERROR;
	} else {
		sqlite3_result_int64(context, (sqlite3_int64)value->sum);
	}
	return SQLITE_OK;
}

/* Results stay NULL where there is no such row. */
static void result_row(sqlite3_context *context, const struct iforest_row *row, enum iforest_value_column column, unsigned kind)
{
	if (!row->is_set)
		return;
	switch (column) {
	case IFOREST_OF_MIN_ID:
	case IFOREST_OF_MAX_ID:
		sqlite3_result_int64(context, row->ref);
		break;
	case IFOREST_OF_MIN_TS:
	case IFOREST_OF_MAX_TS:
		if (!row->time_is_null)
			sqlite3_result_int64(context, row->time);
		break;
	default:
		result_number(context, row->value, kind);
	}
}

/* Of a bucket without v: the row carried in stands for all of them, the line has no row. */
static void filled_column(sqlite3_context *context, const struct iforest_carry *carry, unsigned v, unsigned kind,
			  enum iforest_value_column column)
{
	const struct iforest_row *row = &carry->before[v];
	bool is_linear = carry->fill == IFOREST_FILL_LINEAR;

	if (column == IFOREST_OF_COUNT)
		sqlite3_result_int64(context, 0);
	else if (column == IFOREST_OF_SUM || (is_linear && column >= IFOREST_OF_MIN_ID))
		sqlite3_result_null(context);
	else if (is_linear)
		sqlite3_result_double(context, carry->lines[v]);
	else if (column == IFOREST_OF_AVG && kind == IFOREST_INT64)
		sqlite3_result_double(context, (double)row->value.integer);
	else
		result_row(context, row, column, kind);
}

int iforest_row_value(sqlite3_context *context, const struct iforest_value_aggregate *value, unsigned kind,
		      enum iforest_value_column column)
{
	if (column == IFOREST_OF_COUNT)
		sqlite3_result_int64(context, (sqlite3_int64)value->n);
	else if (column == IFOREST_OF_SUM)
		return result_sum(context, value, kind, false);
	else
		result_row(context, column == IFOREST_OF_MIN ? &value->min : &value->max, column, kind);
	return SQLITE_OK;
}

static int value_column(sqlite3_context *context, const struct iforest_query *query, unsigned v,
			enum iforest_value_column column)
{
	const struct iforest_value_aggregate *value = &query->aggregate.values[v];
	unsigned kind = query->snapshot->manifest.fields.kinds[v];
	bool is_null_fill = query->fill == IFOREST_FILL_NULL && query->aggregate.n_rows == 0;

	if (query->carry.filled >> v & 1) {
		filled_column(context, &query->carry, v, kind, column);
		return SQLITE_OK;
	}
	switch (column) {
	case IFOREST_OF_COUNT:
		if (!is_null_fill)
			sqlite3_result_int64(context, (sqlite3_int64)value->n);
		break;
	case IFOREST_OF_SUM:
		return result_sum(context, value, kind, query->fill == IFOREST_FILL_ZERO && query->aggregate.n_rows == 0);
	case IFOREST_OF_AVG:
		if (value->n > 0)
			sqlite3_result_double(context, iforest_mean(value, (enum iforest_value_kind)kind));
		break;
	case IFOREST_OF_MIN:
	case IFOREST_OF_MIN_ID:
	case IFOREST_OF_MIN_TS:
		result_row(context, &value->min, column, kind);
		break;
	case IFOREST_OF_MAX:
	case IFOREST_OF_MAX_ID:
	case IFOREST_OF_MAX_TS:
		result_row(context, &value->max, column, kind);
		break;
	case IFOREST_OF_FIRST:
		result_row(context, &value->first, column, kind);
		break;
	case IFOREST_OF_LAST:
		result_row(context, &value->last, column, kind);
		break;
	case IFOREST_N_OF_VALUE:
		break;
	}
	return SQLITE_OK;
}

/* NULL for fewer than two numbers. */
static void variance_column(sqlite3_context *context, const struct iforest_value_aggregate *value,
			    enum iforest_variance_column column)
{
	double variance;

	if (value->n < 2)
		return;
	variance = iforest_sample_variance(value);
	sqlite3_result_double(context, column == IFOREST_OF_VAR ? variance : sqrt(variance));
}

static void fixed_column(sqlite3_context *context, const struct iforest_query *query, enum iforest_fixed_column column)
{
	const struct iforest_bucketing *bucketing = &query->bucketing;
	bool is_whole = bucketing->mode == IFOREST_WHOLE, after_all;

	switch (column) {
	case IFOREST_COLUMN_BUCKET:
		sqlite3_result_int64(context, query->bucket);
		break;
	case IFOREST_COLUMN_BUCKET_START:
		if (!is_whole || bucketing->window.has_t0)
			sqlite3_result_int64(context, iforest_bucket_start(bucketing, query->bucket));
		break;
	case IFOREST_COLUMN_BUCKET_END:
		if (!is_whole || bucketing->window.has_t1)
			sqlite3_result_int64(context, iforest_bucket_end(bucketing, query->bucket, &after_all));
		break;
	case IFOREST_COLUMN_COUNT:
		sqlite3_result_int64(context, (sqlite3_int64)query->aggregate.n_rows);
		break;
	case IFOREST_COLUMN_FIRST_TS:
		if (query->aggregate.has_times)
			sqlite3_result_int64(context, query->aggregate.first_time);
		break;
	case IFOREST_COLUMN_LAST_TS:
		if (query->aggregate.has_times)
			sqlite3_result_int64(context, query->aggregate.last_time);
		break;
	case IFOREST_N_FIXED:
		break;
	}
}

static int sketch_column(sqlite3_context *context, struct iforest_query *query, unsigned v)
{
	struct iforest_error error = { .rc = SQLITE_OK };
	const uint8_t *bytes;
	size_t n_bytes;
	int rc = iforest_query_sketch(query, v, &bytes, &n_bytes, &error);

	if (rc == SQLITE_NOMEM)
		sqlite3_result_error_nomem(context);
	else if (rc)
		sqlite3_result_error(context, error.message ? error.message : sqlite3_errstr(rc), -1);
	else if (bytes)
		sqlite3_result_blob64(context, bytes, n_bytes, SQLITE_TRANSIENT);
	if (rc && rc != SQLITE_NOMEM)
		sqlite3_result_error_code(context, rc);
	iforest_error_clear(&error);
	return rc;
}

/* The time inside of a bucket that no span overlaps is NULL or 0, as fill says, but nothing is the longest. */
static int overlap_column(sqlite3_context *context, const struct iforest_query *query, unsigned v,
			  enum iforest_overlap_column column)
{
	static const enum iforest_value_column max_columns[] = {
		[IFOREST_OF_LONGEST] = IFOREST_OF_MAX, [IFOREST_OF_LONGEST_ID] = IFOREST_OF_MAX_ID,
		[IFOREST_OF_LONGEST_TS] = IFOREST_OF_MAX_TS
	};
	const struct iforest_value_aggregate *value = &query->aggregate.values[v];

	if (column == IFOREST_OF_CLIPPED)
		return result_sum(context, value, IFOREST_INT64, query->fill == IFOREST_FILL_ZERO);
	result_row(context, &value->max, max_columns[column], IFOREST_INT64);
	return SQLITE_OK;
}

int iforest_row_column(sqlite3_context *context, struct iforest_query *query,
		       const struct iforest_definition *definition, int column)
{
	unsigned n_by = definition->n_by, c = (unsigned)column;

	if (c < n_by) {
		iforest_by_result(context, &iforest_query_series(query)->values[query->kept[c]]);
	} else if (definition->is_overlap && c > n_by + IFOREST_OVERLAPS) {
		return overlap_column(context, query, definition->duration_value, (enum iforest_overlap_column)(c - n_by));
	} else if (c < n_by + IFOREST_N_FIXED) {
		fixed_column(context, query, (enum iforest_fixed_column)(c - n_by));
	} else if (definition->is_counter) {
		c -= n_by + IFOREST_N_FIXED;
		return counter_column_result(context, &query->counting, c / IFOREST_N_OF_COUNTER,
					       (enum iforest_counter_column)(c % IFOREST_N_OF_COUNTER));
	} else if (c >= iforest_first_sketch(definition)) {
		return sketch_column(context, query, definition->sketch_values[c - iforest_first_sketch(definition)]);
	} else if (c >= iforest_first_variance(definition)) {
		c -= iforest_first_variance(definition);
		variance_column(context,
				&query->aggregate.values[iforest_variance_value(definition, c / IFOREST_N_OF_VARIANCE)],
				(enum iforest_variance_column)(c % IFOREST_N_OF_VARIANCE));
	} else {
		c -= n_by + IFOREST_N_FIXED;
		return value_column(context, query, c / IFOREST_N_OF_VALUE,
				    (enum iforest_value_column)(c % IFOREST_N_OF_VALUE));
	}
	return SQLITE_OK;
}

/* ---- Methods ---- */

struct cursor {
	sqlite3_vtab_cursor base;
	sqlite3_value *arguments[IFOREST_N_ARGUMENTS];
	struct iforest_query query;
};

int iforest_table_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct iforest_table *table = (struct iforest_table *)base;
	struct iforest_error error = { .rc = SQLITE_OK };
	int rc;

	if (table->broken) {
		iforest_error_set(&error, SQLITE_ERROR, "%s: %s", table->name, table->broken);
		return iforest_table_report(base, &error);
	}
	rc = iforest_plan_make(&table->definition, table->name, info, &error);
	return rc == SQLITE_CONSTRAINT ? rc : iforest_table_report(base, &error);
}

int iforest_table_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct cursor *cursor = sqlite3_malloc64(sizeof *cursor);

	(void)base;
	if (!cursor)
		return SQLITE_NOMEM;
	memset(cursor, 0, offsetof(struct cursor, query));
	iforest_query_init(&cursor->query);
	*out = &cursor->base;
	return SQLITE_OK;
}

static void reset_cursor(struct cursor *cursor)
{
	iforest_query_release(&cursor->query);
	for (unsigned a = 0; a < IFOREST_N_ARGUMENTS; a++) {
		sqlite3_value_free(cursor->arguments[a]);
		cursor->arguments[a] = NULL;
	}
}

int iforest_table_close(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;

	reset_cursor(cursor);
	sqlite3_free(cursor);
	return SQLITE_OK;
}

int iforest_table_next(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	struct iforest_error error = { .rc = SQLITE_OK };

	return iforest_query_next(&cursor->query, &error) ? iforest_table_report(base->pVtab, &error) : SQLITE_OK;
}

int iforest_table_filter(sqlite3_vtab_cursor *base, int index_number, const char *index_text, int n_argv, sqlite3_value **argv)
{
	struct cursor *cursor = (struct cursor *)base;
	struct iforest_table *table = (struct iforest_table *)base->pVtab;
	struct iforest_error error = { .rc = SQLITE_OK };
	struct iforest_plan plan;
	int at = 0, rc;

	reset_cursor(cursor);
	if ((rc = iforest_table_check_arguments(base->pVtab, index_number, iforest_argument_names)))
		return rc;
	if (!iforest_plan_read(&plan, &table->definition, table->name, index_number, index_text))
		return SQLITE_INTERNAL;
	for (unsigned a = 0; a < IFOREST_N_ARGUMENTS && at < n_argv; a++) {
		if (!(plan.arguments >> a & 1))
			continue;
		cursor->arguments[a] = sqlite3_value_dup(argv[at++]);
		if (!cursor->arguments[a])
			return SQLITE_NOMEM;
	}
	if (!iforest_query_start(&cursor->query, &table->index, &table->definition, table->kept, &plan, argv, &error))
		iforest_query_next(&cursor->query, &error);
	if (error.rc)
		cursor->query.at_end = true;
	return iforest_table_report(base->pVtab, &error);
}

int iforest_table_eof(sqlite3_vtab_cursor *base)
{
	return ((struct cursor *)base)->query.at_end;
}

int iforest_table_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	struct cursor *cursor = (struct cursor *)base;
	const struct iforest_table *table = (const struct iforest_table *)base->pVtab;
	int n_hidden = (int)table->definition.n_hidden;

	if (column >= n_hidden)
		return iforest_row_column(context, &cursor->query, &table->definition, column - n_hidden);
	/* an UPDATE, which is refused later */
	if (column >= iforest_n_arguments(&table->definition) || sqlite3_vtab_nochange(context))
		return SQLITE_OK;
	if (!cursor->arguments[column])
		return iforest_table_refuse_argument(context, table->name, iforest_argument_names[column]);
	sqlite3_result_value(context, cursor->arguments[column]);
	return SQLITE_OK;
}

int iforest_table_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
	*rowid = iforest_query_rowid(&((struct cursor *)base)->query);
	return SQLITE_OK;
}

const sqlite3_module iforest_bucket_methods = {
	.iVersion = 3,
	.xCreate = iforest_borrowed_create,
	.xConnect = iforest_borrowed_connect,
	.xBestIndex = iforest_table_best_index,
	.xDisconnect = iforest_table_disconnect,
	.xDestroy = iforest_table_disconnect,
	.xOpen = iforest_table_open,
	.xClose = iforest_table_close,
	.xFilter = iforest_table_filter,
	.xNext = iforest_table_next,
	.xEof = iforest_table_eof,
	.xColumn = iforest_table_column,
	.xRowid = iforest_table_rowid,
};

/* ---- iforest_fold ---- */

static int open_fold(struct iforest_table *table, sqlite3 *db, struct iforest_connection *connection, int n_arguments,
		     struct iforest_error *error)
{
	int rc = iforest_table_borrow(table, db, connection, "iforest_fold", n_arguments, error);

	if (!rc)
		rc = iforest_definition_keep_by(&table->definition, "iforest_fold", n_arguments - 4, table->arguments + 4,
						table->kept, error);
	return rc ? rc : iforest_table_declare(table, db, NULL, error);
}

const struct iforest_module iforest_fold_module = { .name = "iforest_fold",
						    .methods = &iforest_bucket_methods,
						    .open = open_fold };

/* ---- iforest_overlap ---- */

/* All by columns are kept unless some are named, or none: (). */
static int keep_by(struct iforest_table *table, int n_arguments, struct iforest_error *error)
{
	int n_names = n_arguments - 4;
	const char *const *names = table->arguments + 4;

	if (n_names == 0)
		return SQLITE_OK;
	if (n_names == 1 && strcmp(names[0], "()") == 0)
		n_names = 0;
	return iforest_definition_keep_by(&table->definition, "iforest_overlap", n_names, names, table->kept, error);
}

static int open_overlap(struct iforest_table *table, sqlite3 *db, struct iforest_connection *connection, int n_arguments,
			struct iforest_error *error)
{
	int rc = iforest_table_borrow(table, db, connection, "iforest_overlap", n_arguments, error);

	if (!rc && table->definition.duration_value == IFOREST_NO_VALUE)
		rc = iforest_error_set(error, SQLITE_ERROR,
				       "iforest_overlap: index \"%s\" has no durations: make it with duration=...",
				       table->index.name);
	if (!rc)
		rc = keep_by(table, n_arguments, error);
	table->definition.is_overlap = true;
	return rc ? rc : iforest_table_declare(table, db, NULL, error);
}

const struct iforest_module iforest_overlap_module = { .name = "iforest_overlap",
						       .methods = &iforest_bucket_methods,
						       .open = open_overlap };

/* ---- iforest_counter ---- */

static int open_counter(struct iforest_table *table, sqlite3 *db, struct iforest_connection *connection, int n_arguments,
			struct iforest_error *error)
{
	int rc = iforest_table_borrow(table, db, connection, "iforest_counter", n_arguments, error);

	if (!rc && n_arguments > 4)
		rc = iforest_error_set(error, SQLITE_ERROR, "iforest_counter: it takes one argument, the index");
	if (!rc && table->definition.n_values == 0)
		rc = iforest_error_set(error, SQLITE_ERROR,
				       "iforest_counter: \"%s\" has no value column; make an index with value=...",
				       table->index.name);
	table->definition.is_counter = true;
	return rc ? rc : iforest_table_declare(table, db, NULL, error);
}

const struct iforest_module iforest_counter_module = { .name = "iforest_counter",
						       .methods = &iforest_bucket_methods,
						       .open = open_counter };
