#include "sqlite_ext/vtab/row.h"

#include <math.h>

#include "core/model/variance.h"
#include "sqlite_ext/vtab/counter_columns.h"

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
		return iforest_counter_column_result(context, &query->counting, c / IFOREST_N_OF_COUNTER,
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
