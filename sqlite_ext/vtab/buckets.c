#include "sqlite_ext/vtab/counter_columns.h"

static void result_number(sqlite3_context *context, union iforest_number number, enum iforest_value_kind kind)
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

int iforest_counter_column_result(sqlite3_context *context, const struct iforest_counting *counting, unsigned v,
			    enum iforest_counter_column column)
{
	const struct iforest_counter *counter = &counting->values[v];
	enum iforest_value_kind kind = (enum iforest_value_kind)counting->fields->kinds[v];

	if (column == IFOREST_COUNTER_COUNT)
		sqlite3_result_int64(context, (sqlite3_int64)counter->n);
	else if (column == IFOREST_COUNTER_START && counter->has_start)
		result_number(context, counter->start, kind);
	if (column <= IFOREST_COUNTER_START || !counter->is_known)
		return SQLITE_OK;
	switch (column) {
	case IFOREST_COUNTER_END:
		result_number(context, counter->value, kind);
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
