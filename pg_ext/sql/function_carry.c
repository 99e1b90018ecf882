#include "pg_ext/sql/function_window.h"
#include "pg_ext/sql/sql_sqlgen_own.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

/* fill => 'last' and 'linear': beside each bucket, what the samples before it have, and those after.
 *
 * To the groups of the window and all buckets comes, for each series, what was last before the window, as if it were in the
 * first bucket, and what was first after it, in the last one. What a bucket itself has is later, or earlier. The last value
 * before a bucket that has none is the last of those up to it in this order, found for all buckets in one pass, and the first
 * one after it in a pass the other way. */

/* The number of the column in which an aggregate of this value stands. */
static int column_of(const struct iforest_functions *functions, const struct iforest_sqlgen_column *value, const char *aggregate)
{
	int column = functions->n_by + 7;
	ListCell *cell;

	foreach(cell, iforest_value_columns(functions, IFOREST_WINDOW_CARRIED)) {
		const struct iforest_value_column *at = lfirst(cell);

		if (at->value == value && strcmp(at->shown->aggregate, aggregate) == 0)
			return column;
		column++;
	}
	elog(ERROR, "an index's functions have no column of %s", aggregate);
}

/* ---- buckets, and what is beside them ---- */

static bool is_beside(const struct iforest_value_column *column, bool is_after)
{
	const char *prefix = is_after ? "first" : "last";

	return column->shown->is_own && strncmp(column->shown->aggregate, prefix, strlen(prefix)) == 0;
}

/* For each series the last values of times before the window, or the first of those after it. */
static void add_beside_rows(StringInfo text, const struct iforest_functions *functions, bool is_after)
{
	StringInfoData names;
	int number = functions->n_by + 7;
	ListCell *cell;

	initStringInfo(&names);
	iforest_add_text(text, "SELECT 1");
	for (int i = 0; i < functions->n_by; i++) {
		appendStringInfo(text, ", %s", functions->by[i].expression);
		appendStringInfo(&names, ", c%d", i + 1);
	}
	foreach(cell, iforest_value_columns(functions, IFOREST_WINDOW_CARRIED)) {
		if (is_beside(lfirst(cell), is_after)) {
			iforest_add_value(text, functions, lfirst(cell));
			appendStringInfo(&names, ", c%d", number);
		}
		number++;
	}
	appendStringInfo(text, " FROM %s WHERE %s", functions->table, functions->time.expression);
	if (is_after) {
		iforest_add_text(text, " > ");
		iforest_add_last(text, functions);
	} else {
		iforest_add_text(text, " < $1");
	}
	iforest_add_predicate(text, functions, "AND");
	for (int i = 1; i <= functions->n_by; i++)
		appendStringInfo(text, "%s%d", i == 1 ? " GROUP BY " : ", ", i + 1);
	appendStringInfo(text, ") AS beside(one%s)", names.data);
}

static void add_beside(StringInfo text, const struct iforest_functions *functions, bool is_after)
{
	int number = functions->n_by + 7;
	ListCell *cell;

	iforest_add_text(text, " UNION ALL SELECT ");
	for (int i = 1; i <= functions->n_by; i++)
		appendStringInfo(text, "c%d, ", i);
	(is_after ? iforest_add_last_bucket : iforest_add_first_bucket)(text, functions);
	iforest_add_text(text, ", NULL, NULL, NULL, NULL, NULL");
	foreach(cell, iforest_value_columns(functions, IFOREST_WINDOW_CARRIED)) {
		if (is_beside(lfirst(cell), is_after))
			appendStringInfo(text, ", c%d", number);
		else
			iforest_add_text(text, ", NULL");
		number++;
	}
	iforest_add_text(text, " FROM (");
	add_beside_rows(text, functions, is_after);
	iforest_add_text(text, " WHERE ");
	iforest_add_window_gate(text, functions, false, IFOREST_WINDOW_CARRIED);
	if (is_after)
		iforest_add_text(text, " AND $6 = 'linear'");
}

/* One column of all that is known of a bucket: only the arms beside it have firsts and lasts that are not its own. */
static void add_merged(StringInfo text, const struct iforest_functions *functions, const struct iforest_value_column *column,
		       int number)
{
	const char *aggregate = column->shown->aggregate, *times;
	bool is_first = is_beside(column, true);

	if (!is_first && !is_beside(column, false)) {
		appendStringInfo(text, ", max(c%d)", number);
		return;
	}
	times = is_first ? "first_time" : "last_time";
	if (strcmp(aggregate, times) == 0) {
		appendStringInfo(text, ", %s(c%d)", is_first ? "min" : "max", number);
		return;
	}
	iforest_add_text(text, ", ");
	iforest_add_call(text, functions, is_first ? "first" : "last");
	appendStringInfo(text, "c%d, c%d)", number, column_of(functions, column->value, times));
}

static void add_buckets(StringInfo text, const struct iforest_functions *functions)
{
	int bucket = functions->n_by + 1, number = functions->n_by + 7;
	int n = iforest_n_columns(functions, IFOREST_WINDOW_CARRIED);
	ListCell *cell;

	iforest_add_text(text, "SELECT ");
	iforest_add_numbers(text, 1, bucket);
	for (int i = bucket + 1; i < number; i++)
		appendStringInfo(text, ", max(c%d)", i);
	foreach(cell, iforest_value_columns(functions, IFOREST_WINDOW_CARRIED))
		add_merged(text, functions, lfirst(cell), number++);
	iforest_add_text(text, " FROM (");
	iforest_add_grouped(text, functions, false, IFOREST_WINDOW_CARRIED);
	iforest_add_text(text, " UNION ALL ");
	iforest_add_grouped(text, functions, true, IFOREST_WINDOW_CARRIED);
	iforest_add_text(text, " UNION ALL ");
	iforest_add_all_buckets(text, functions, n);
	add_beside(text, functions, false);
	add_beside(text, functions, true);
	iforest_add_text(text, ") AS p");
	iforest_add_columns(text, 1, n);
	iforest_add_text(text, " GROUP BY ");
	iforest_add_numbers(text, 1, bucket);
}

/* ---- one after the other ---- */

/* before<v>, before_ts<v>, before_ctid<v>, after<v> and after_ts<v>, of value v. */
static void add_neighbours(StringInfo text, const struct iforest_functions *functions, int v)
{
	const struct iforest_sqlgen_column *value = &functions->values[v];
	int last_time = column_of(functions, value, "last_time"), first_time = column_of(functions, value, "first_time");

	iforest_add_text(text, ", ");
	iforest_add_call(text, functions, "last");
	appendStringInfo(text, "c%d, c%d) OVER up AS before%d, max(c%d) OVER up AS before_ts%d, ",
			 column_of(functions, value, "last"), last_time, v, last_time, v);
	if (!functions->is_partitioned) {
		iforest_add_call(text, functions, "last");
		appendStringInfo(text, "c%d, c%d) OVER up AS before_ctid%d, ", column_of(functions, value, "last_row"),
				 last_time, v);
	}
	iforest_add_call(text, functions, "first");
	appendStringInfo(text, "c%d, c%d) OVER down AS after%d, min(c%d) OVER down AS after_ts%d",
			 column_of(functions, value, "first"), first_time, v, first_time, v);
}

static void add_window(StringInfo text, const struct iforest_functions *functions, const char *name, const char *direction)
{
	appendStringInfo(text, "%s AS (", name);
	if (functions->n_by > 0) {
		iforest_add_text(text, "PARTITION BY ");
		iforest_add_numbers(text, 1, functions->n_by);
	}
	appendStringInfo(text, " ORDER BY c%d %s ROWS UNBOUNDED PRECEDING)", functions->n_by + 1, direction);
}

static void add_row(StringInfo text, const struct iforest_functions *functions)
{
	iforest_add_text(text, "SELECT g.*");
	for (int v = 0; v < functions->n_values; v++)
		add_neighbours(text, functions, v);
	iforest_add_text(text, " FROM (");
	add_buckets(text, functions);
	iforest_add_text(text, ") AS g");
	iforest_add_columns(text, 1, iforest_n_columns(functions, IFOREST_WINDOW_CARRIED));
	iforest_add_text(text, " WINDOW ");
	add_window(text, functions, "up", "");
	iforest_add_text(text, ", ");
	add_window(text, functions, "down", "DESC");
}

/* ---- the answer ---- */

static bool is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/* The type in which a value is drawn, and meant: avg() has it, too. */
static Oid line_type(Oid type)
{
	if (is_integer(type))
		return NUMERICOID;
	return type == FLOAT4OID ? FLOAT8OID : type;
}

/* As line<v>: where the bucket starts, or the window, which may cut the first one. */
static void add_line(StringInfo text, const struct iforest_functions *functions, int v)
{
	const char *time = format_type_be(functions->time_type), *value = format_type_be(line_type(functions->values[v].type));

	iforest_add_text(text, ", ");
	iforest_add_call(text, functions, "line");
	iforest_add_text(text, "greatest(");
	iforest_add_call(text, functions, "bucket_start");
	appendStringInfo(text, "c%d, $1, $2, $3, $4, $5), $1), before_ts%d::%s, after_ts%d::%s", functions->n_by + 1, v, time,
			 v, time);
	appendStringInfo(text, ", before%d::%s, after%d::%s) AS line%d", v, value, v, value, v);
}

static void add_filled_value(StringInfo text, const struct iforest_functions *functions,
			     const struct iforest_value_column *column, int number)
{
	const char *aggregate = column->shown->aggregate;
	int v = (int)(column->value - functions->values), count = column_of(functions, column->value, "count");
	bool is_count = strcmp(aggregate, "count") == 0, is_average = strcmp(aggregate, "avg") == 0;
	const char *type = format_type_be(is_average ? line_type(column->value->type) : column->value->type);

	if (is_count) {
		appendStringInfo(text, ", coalesce(c%d, 0)", number);
		return;
	}
	if (column->shown->is_variance || (column->shown->is_summed && !is_average)) {
		appendStringInfo(text, ", c%d", number);
		return;
	}
	appendStringInfo(text, ", CASE WHEN c%d > 0 THEN c%d WHEN $6 = 'last' THEN ", count, number);
	if (column->shown->is_ctid) {
		appendStringInfo(text, "before_ctid%d END", v);
	} else if (strstr(aggregate, "_time")) {
		appendStringInfo(text, "before_ts%d END", v);
	} else {
		appendStringInfo(text, "before%d::%s ELSE line%d::%s END", v, type, v, type);
	}
}

void iforest_add_carried(StringInfo text, const struct iforest_functions *functions)
{
	int bucket = functions->n_by + 1, number = functions->n_by + 7;
	ListCell *cell;

	iforest_add_text(text, "SELECT ");
	iforest_add_numbers(text, 1, bucket);
	iforest_add_text(text, ", ");
	iforest_add_bounds(text, functions, psprintf("c%d", bucket));
	appendStringInfo(text, ", coalesce(c%d, 0), c%d, c%d", bucket + 3, bucket + 4, bucket + 5);
	foreach(cell, iforest_value_columns(functions, IFOREST_WINDOW_PLAIN))
		add_filled_value(text, functions, lfirst(cell), number++);
	iforest_add_text(text, " FROM (SELECT n.*");
	for (int v = 0; v < functions->n_values; v++)
		add_line(text, functions, v);
	iforest_add_text(text, " FROM (");
	add_row(text, functions);
	iforest_add_text(text, ") AS n) AS f");
}
