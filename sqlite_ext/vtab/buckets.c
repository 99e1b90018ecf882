#include "sqlite_ext/vtab/buckets.h"

#include <stddef.h>

#include "core/model/aggregate.h"
#include "core/query/counter_scan.h"
#include "sqlite_ext/query/plan.h"
#include "sqlite_ext/storage/accumulator_columns.h"
#include "sqlite_ext/storage/definition.h"

/* ---- Columns of iforest_counter (core/query/counter_scan.h) ---- */

/* Sets the result to an exact sum. If it exceeds 64 bits, sets an error as the result and returns SQLITE_ERROR. */
static int result_whole(sqlite3_context *context, iforest_int128 whole)
{
	if (whole > INT64_MAX || whole < INT64_MIN) {
		sqlite3_result_error(context, "integer overflow", -1);
		return SQLITE_ERROR;
	}
	sqlite3_result_int64(context, (sqlite3_int64)whole);
	return SQLITE_OK;
}

/* Sets the result to a column of value v. If an increase exceeds 64 bits, sets an error as the result and returns
 * SQLITE_ERROR. */
static int counter_column_result(sqlite3_context *context, const struct iforest_counter_scan *scan, unsigned v,
				 enum ifs_counter_column column)
{
	const struct iforest_counter *counter = &scan->values[v];
	enum iforest_value_type value_type = (enum iforest_value_type)scan->fields->value_types[v];

	if (column == IFS_COUNTER_COUNT)
		sqlite3_result_int64(context, (sqlite3_int64)counter->n);
	else if (column == IFS_COUNTER_START && counter->has_start)
		ifs_table_number(context, counter->start, value_type);
	if (column <= IFS_COUNTER_START || !counter->is_known)
		return SQLITE_OK;
	switch (column) {
	case IFS_COUNTER_END:
		ifs_table_number(context, counter->value, value_type);
		break;
	case IFS_COUNTER_MEAN:
		if (iforest_counter_has_mean(counter))
			sqlite3_result_double(context, iforest_counter_mean(counter, value_type));
		break;
	case IFS_COUNTER_INCREASE:
		if (value_type == IFOREST_INT64)
			return result_whole(context, counter->increase);
		sqlite3_result_double(context, counter->real_increase);
		break;
	case IFS_COUNTER_RATE:
		sqlite3_result_double(context, iforest_counter_increase(counter, value_type) / scan->width);
		break;
	default:
		sqlite3_result_int64(context, (sqlite3_int64)counter->n_resets);
	}
	return SQLITE_OK;
}

/* ---- Columns of a row ---- */

static int result_sum(sqlite3_context *context, const struct iforest_value_aggregate *value, unsigned value_type,
		      bool zero_if_empty)
{
	if (value->n == 0 && !zero_if_empty)
		sqlite3_result_null(context);
	else if (value_type == IFOREST_INT64)
		return result_whole(context, value->n ? value->sum : 0);
	else
		sqlite3_result_double(context, value->n ? iforest_real_sum(value) : 0);
	return SQLITE_OK;
}

/* The result stays NULL if there is no such row. */
static void result_extreme(sqlite3_context *context, const struct ifs_times *times, const struct iforest_extreme *extreme,
			   enum ifs_value_column column, unsigned value_type)
{
	if (!extreme->is_set)
		return;
	switch (column) {
	case IFS_OF_MIN_ID:
	case IFS_OF_MAX_ID:
	case IFS_OF_FIRST_ID:
	case IFS_OF_LAST_ID:
		sqlite3_result_int64(context, extreme->ref);
		break;
	case IFS_OF_MIN_TS:
	case IFS_OF_MAX_TS:
	case IFS_OF_FIRST_TS:
	case IFS_OF_LAST_TS:
		if (!extreme->time_is_null)
			ifs_time_result(context, times, extreme->time);
		break;
	default:
		ifs_table_number(context, extreme->value, value_type);
	}
}

/* Sets the result to a column of a bucket without value v, by `fill`. With fill = 'last', all columns come from the row before;
 * an interpolated value belongs to no row. */
static void filled_column(sqlite3_context *context, const struct ifs_times *times, const struct iforest_fill *fill, unsigned v,
			  unsigned value_type, enum ifs_value_column column)
{
	const struct iforest_extreme *extreme = &fill->before[v];
	bool is_linear = fill->mode == IFOREST_FILL_LINEAR;

	if (column == IFS_OF_COUNT)
		sqlite3_result_int64(context, 0);
	else if (column == IFS_OF_SUM || (is_linear && column >= IFS_OF_MIN_ID))
		sqlite3_result_null(context);
	else if (is_linear)
		sqlite3_result_double(context, fill->lines[v]);
	else if (column == IFS_OF_AVG && value_type == IFOREST_INT64)
		sqlite3_result_double(context, (double)extreme->value.integer);
	else
		result_extreme(context, times, extreme, column, value_type);
}

int ifs_bucket_value(sqlite3_context *context, const struct ifs_times *times, const struct iforest_value_aggregate *value,
		     unsigned value_type, enum ifs_value_column column)
{
	if (column == IFS_OF_COUNT)
		sqlite3_result_int64(context, (sqlite3_int64)value->n);
	else if (column == IFS_OF_SUM)
		return result_sum(context, value, value_type, false);
	else
		result_extreme(context, times, column == IFS_OF_MIN ? &value->min : &value->max, column, value_type);
	return SQLITE_OK;
}

static int value_column(sqlite3_context *context, const struct ifs_bucket_query *query, unsigned v,
			enum ifs_value_column column)
{
	const struct iforest_value_aggregate *value = &query->aggregate.values[v];
	const struct ifs_times *times = &query->snapshot->times;
	unsigned value_type = query->snapshot->manifest.fields.value_types[v];

	if (query->fill.filled >> v & 1) {
		filled_column(context, times, &query->fill, v, value_type, column);
		return SQLITE_OK;
	}
	switch (column) {
	case IFS_OF_COUNT:
		if (query->fill_mode != IFS_FILL_NULL || query->aggregate.n_rows > 0)
			sqlite3_result_int64(context, (sqlite3_int64)value->n);
		break;
	case IFS_OF_SUM:
		return result_sum(context, value, value_type,
				  query->fill_mode == IFS_FILL_ZERO && query->aggregate.n_rows == 0);
	case IFS_OF_AVG:
		if (value->n > 0)
			sqlite3_result_double(context, iforest_mean(value, (enum iforest_value_type)value_type));
		break;
	case IFS_OF_MIN:
	case IFS_OF_MIN_ID:
	case IFS_OF_MIN_TS:
		result_extreme(context, times, &value->min, column, value_type);
		break;
	case IFS_OF_MAX:
	case IFS_OF_MAX_ID:
	case IFS_OF_MAX_TS:
		result_extreme(context, times, &value->max, column, value_type);
		break;
	case IFS_OF_FIRST:
	case IFS_OF_FIRST_ID:
	case IFS_OF_FIRST_TS:
		result_extreme(context, times, &value->first, column, value_type);
		break;
	case IFS_OF_LAST:
	case IFS_OF_LAST_ID:
	case IFS_OF_LAST_TS:
		result_extreme(context, times, &value->last, column, value_type);
		break;
	case IFS_END_OF_VALUE:
		break;
	}
	return SQLITE_OK;
}

static void fixed_column(sqlite3_context *context, const struct ifs_bucket_query *query, enum ifs_fixed_column column)
{
	const struct iforest_bucketing *bucketing = &query->bucketing;
	const struct ifs_times *times = &query->snapshot->times;
	bool is_whole = bucketing->mode == IFOREST_WHOLE, after_all;

	switch (column) {
	case IFS_COLUMN_BUCKET:
		sqlite3_result_int64(context, query->bucket);
		break;
	case IFS_COLUMN_BUCKET_START:
		if (!is_whole || bucketing->window.has_t0)
			ifs_time_result(context, times, iforest_bucket_start(bucketing, query->bucket));
		break;
	case IFS_COLUMN_BUCKET_END:
		if (!is_whole || bucketing->window.has_t1)
			ifs_time_result(context, times, iforest_bucket_end(bucketing, query->bucket, &after_all));
		break;
	case IFS_COLUMN_COUNT:
		sqlite3_result_int64(context, (sqlite3_int64)query->aggregate.n_rows);
		break;
	case IFS_COLUMN_FIRST_TS:
		if (query->aggregate.has_times)
			ifs_time_result(context, times, query->aggregate.first_time);
		break;
	case IFS_COLUMN_LAST_TS:
		if (query->aggregate.has_times)
			ifs_time_result(context, times, query->aggregate.last_time);
		break;
	case IFS_N_FIXED:
		break;
	}
}

static int sketch_column(sqlite3_context *context, struct ifs_bucket_query *query, enum iforest_digest_kind kind, unsigned v)
{
	struct ifs_error error = { .rc = SQLITE_OK };
	const uint8_t *bytes;
	size_t n_bytes;
	int rc = ifs_bucket_query_sketch(query, kind, v, &bytes, &n_bytes, &error);

	if (rc == SQLITE_NOMEM)
		sqlite3_result_error_nomem(context);
	else if (rc)
		sqlite3_result_error(context, error.message ? error.message : sqlite3_errstr(rc), -1);
	else if (bytes)
		sqlite3_result_blob64(context, bytes, n_bytes, SQLITE_TRANSIENT);
	if (rc && rc != SQLITE_NOMEM)
		sqlite3_result_error_code(context, rc);
	ifs_error_clear(&error);
	return rc;
}

/* In a bucket that no span overlaps, the clipped time is NULL or 0, by `fill`; the longest span is NULL, the peak 0. */
static int overlap_column(sqlite3_context *context, const struct ifs_bucket_query *query, unsigned v,
			  enum ifs_overlap_column column)
{
	static const enum ifs_value_column max_columns[] = {
		[IFS_OF_LONGEST] = IFS_OF_MAX, [IFS_OF_LONGEST_ID] = IFS_OF_MAX_ID, [IFS_OF_LONGEST_TS] = IFS_OF_MAX_TS
	};
	const struct iforest_value_aggregate *value = &query->aggregate.values[v];
	unsigned value_type = query->snapshot->manifest.fields.value_types[v];

	if (column == IFS_OF_PEAK)
		sqlite3_result_int64(context, (sqlite3_int64)query->peak.n);
	else if (column == IFS_OF_PEAK_TS && query->peak.n > 0)
		ifs_time_result(context, &query->snapshot->times, query->peak.time);
	if (column == IFS_OF_PEAK || column == IFS_OF_PEAK_TS)
		return SQLITE_OK;
	if (column == IFS_OF_CLIPPED)
		return result_sum(context, value, value_type, query->fill_mode == IFS_FILL_ZERO);
	result_extreme(context, &query->snapshot->times, &value->max, max_columns[column], value_type);
	return SQLITE_OK;
}

/* xColumn for every column except the hidden ones, numbered without them. If a sum exceeds 64 bits, sets an error as the result
 * and returns SQLITE_ERROR. */
static int bucket_column(sqlite3_context *context, struct ifs_bucket_query *query, const struct ifs_definition *definition,
			 unsigned c)
{
	unsigned n_by = definition->n_by;

	if (c < n_by) {
		ifs_by_result(context, &ifs_bucket_query_series(query)->values[query->kept[c]]);
	} else if (definition->is_overlap && c > n_by + IFS_OVERLAPS) {
		return overlap_column(context, query, definition->duration_value, (enum ifs_overlap_column)(c - n_by));
	} else if (c < n_by + IFS_N_FIXED) {
		fixed_column(context, query, (enum ifs_fixed_column)(c - n_by));
	} else if (definition->is_counter) {
		c -= n_by + IFS_N_FIXED;
		return counter_column_result(context, &query->counter_scan, c / IFS_N_OF_COUNTER,
					     (enum ifs_counter_column)(c % IFS_N_OF_COUNTER));
	} else if (c < ifs_first_of_accumulators(definition)) {
		c -= n_by + IFS_N_FIXED;
		return value_column(context, query, c / IFS_N_OF_VALUE, (enum ifs_value_column)(c % IFS_N_OF_VALUE));
	} else if (c >= ifs_first_distinct(definition)) {
		return sketch_column(context, query, IFOREST_DIGEST_DISTINCT,
				     definition->distinct_fields[c - ifs_first_distinct(definition)]);
	} else if (c >= ifs_first_of_ends(definition)) {
		c -= ifs_first_of_ends(definition);
		return value_column(context, query, c / IFS_N_OF_ENDS,
				    (enum ifs_value_column)(IFS_N_OF_VALUE + c % IFS_N_OF_ENDS));
	} else if (c >= ifs_first_sketch(definition)) {
		return sketch_column(context, query, IFOREST_DIGEST_QUANTILES,
				     definition->sketch_values[c - ifs_first_sketch(definition)]);
	} else if (query->aggregate.n_rows > 0 || query->fill_mode != IFS_FILL_NULL) {
		/* otherwise the result is NULL, like the counts of values */
		ifs_accumulator_column_result(context, &query->snapshot->manifest.fields.accumulators,
					      c - ifs_first_of_accumulators(definition), &query->aggregate);
	}
	return SQLITE_OK;
}

/* ---- Methods ---- */

struct cursor {
	struct ifs_cursor base;
	struct ifs_bucket_query query; /* idle while query.index is NULL */
};

static int plan_buckets(struct ifs_table *table, sqlite3_index_info *info, struct ifs_error *error)
{
	return ifs_plan_make(&table->definition, table->number_texts, table->name, info, error);
}

static void release_buckets(struct ifs_cursor *cursor)
{
	ifs_bucket_query_release(&((struct cursor *)cursor)->query);
}

static int start_buckets(struct ifs_cursor *base, int index_number, const char *index_text, sqlite3_value **argv,
			 struct ifs_error *error)
{
	struct cursor *cursor = (struct cursor *)base;
	struct ifs_table *table = (struct ifs_table *)base->base.pVtab;
	struct ifs_plan plan;

	ifs_bucket_query_release(&cursor->query);
	if (!ifs_plan_read(&plan, &table->definition, table->name, index_number, index_text))
		return SQLITE_INTERNAL;
	return ifs_bucket_query_start(&cursor->query, &table->index, &table->definition, table->kept, &plan, argv, error);
}

static int next_bucket(struct ifs_cursor *base, struct ifs_error *error)
{
	return ifs_bucket_query_next(&((struct cursor *)base)->query, &base->at_end, error);
}

static int column_of_bucket(struct ifs_cursor *base, sqlite3_context *context, int column)
{
	const struct ifs_definition *definition = &ifs_cursor_table(base)->definition;
	int c = column - (int)definition->n_hidden;

	return c < 0 ? SQLITE_OK : bucket_column(context, &((struct cursor *)base)->query, definition, (unsigned)c);
}

static sqlite3_int64 rowid_of_bucket(const struct ifs_cursor *base)
{
	return ifs_bucket_query_rowid(&((const struct cursor *)base)->query);
}

const struct ifs_reader ifs_bucket_reader = {
	.cursor_bytes = sizeof(struct cursor),
	.n_zeros = offsetof(struct cursor, query.snapshot),
	.n_arguments = IFS_N_ARGUMENTS,
	.argument_names = ifs_argument_names,
	.plan = plan_buckets,
	.start = start_buckets,
	.next = next_bucket,
	.column = column_of_bucket,
	.rowid = rowid_of_bucket,
	.release = release_buckets,
};

/* ---- iforest_fold ---- */

static int open_fold(struct ifs_table *table, sqlite3 *db, struct ifs_connection *connection, int n_arguments,
		     struct ifs_error *error)
{
	int rc = ifs_table_open_index(table, db, connection, "iforest_fold", n_arguments, error);

	if (!rc)
		rc = ifs_definition_keep_by(&table->definition, "iforest_fold", n_arguments - 4, table->arguments + 4,
					    table->kept, error);
	return rc ? rc : ifs_table_declare(table, db, NULL, error);
}

const struct ifs_module ifs_fold_module = {
	.name = "iforest_fold", .methods = &ifs_derived_methods, .open = open_fold, .reader = &ifs_bucket_reader
};

/* ---- iforest_overlap ---- */

/* Keeps the by columns that the argument names: none for (), all if there is no argument. */
static int keep_by(struct ifs_table *table, int n_arguments, struct ifs_error *error)
{
	int n_names = n_arguments - 4;
	const char *const *names = table->arguments + 4;

	if (n_names == 0)
		return SQLITE_OK;
	if (n_names == 1 && strcmp(names[0], "()") == 0)
		n_names = 0;
	return ifs_definition_keep_by(&table->definition, "iforest_overlap", n_names, names, table->kept, error);
}

static int open_overlap(struct ifs_table *table, sqlite3 *db, struct ifs_connection *connection, int n_arguments,
			struct ifs_error *error)
{
	int rc = ifs_table_open_index(table, db, connection, "iforest_overlap", n_arguments, error);

	if (!rc && table->definition.duration_value == IFOREST_NO_VALUE)
		rc = ifs_error_set(error, SQLITE_ERROR,
				   "iforest_overlap: index \"%s\" has no durations: make it with duration=... or end=...",
				   table->index.name);
	if (!rc)
		rc = keep_by(table, n_arguments, error);
	table->definition.is_overlap = true;
	return rc ? rc : ifs_table_declare(table, db, NULL, error);
}

const struct ifs_module ifs_overlap_module = {
	.name = "iforest_overlap", .methods = &ifs_derived_methods, .open = open_overlap, .reader = &ifs_bucket_reader
};

/* ---- iforest_counter ---- */

static int open_counter(struct ifs_table *table, sqlite3 *db, struct ifs_connection *connection, int n_arguments,
			struct ifs_error *error)
{
	int rc = ifs_table_open_index(table, db, connection, "iforest_counter", n_arguments, error);

	if (!rc && n_arguments > 4)
		rc = ifs_error_set(error, SQLITE_ERROR, "iforest_counter: it takes one argument, the index");
	if (!rc && table->definition.n_values == 0)
		rc = ifs_error_set(error, SQLITE_ERROR,
				   "iforest_counter: \"%s\" has no value column; make an index with value=...",
				   table->index.name);
	table->definition.is_counter = true;
	table->n_arguments = IFS_ARGUMENT_FILL;
	return rc ? rc : ifs_table_declare(table, db, NULL, error);
}

const struct ifs_module ifs_counter_module = {
	.name = "iforest_counter", .methods = &ifs_derived_methods, .open = open_counter, .reader = &ifs_bucket_reader
};
