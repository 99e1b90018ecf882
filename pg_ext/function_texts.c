#include "pg_ext/function_pieces.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

/* ---- columns ---- */

/* What is shown of value column v: the aggregate, and the name, into which its own is put. */
struct shown {
	const char *name, *aggregate;
	bool is_own;      /* of the extension, and of a row */
	bool is_ctid;     /* not of a partitioned table */
	bool is_summed;   /* only of numbers */
	bool is_variance; /* only where squares are kept */
	bool is_zero;     /* where filled with zeros */
};

static const struct shown all_shown[] = {
	{ .name = "count_%s", .aggregate = "count", .is_zero = true },
	{ .name = "sum_%s", .aggregate = "sum", .is_summed = true, .is_zero = true },
	{ .name = "min_%s", .aggregate = "min" },
	{ .name = "max_%s", .aggregate = "max" },
	{ .name = "avg_%s", .aggregate = "avg", .is_summed = true },
	{ .name = "first_%s", .aggregate = "first", .is_own = true },
	{ .name = "last_%s", .aggregate = "last", .is_own = true },
	{ .name = "min_%s_ctid", .aggregate = "min_row", .is_own = true, .is_ctid = true },
	{ .name = "max_%s_ctid", .aggregate = "max_row", .is_own = true, .is_ctid = true },
	{ .name = "min_%s_ts", .aggregate = "min_time", .is_own = true },
	{ .name = "max_%s_ts", .aggregate = "max_time", .is_own = true },
	{ .name = "var_%s", .aggregate = "var_samp", .is_variance = true },
	{ .name = "stddev_%s", .aggregate = "stddev_samp", .is_variance = true },
};

static bool has_sum(Oid type)
{
	return type != DATEOID && type != TIMESTAMPOID && type != TIMESTAMPTZOID;
}

static bool has_squares(const struct iforest_functions *functions, int v)
{
	return functions->squares >> v & 1;
}

static bool is_shown(const struct iforest_functions *functions, int v, const struct shown *shown)
{
	return (!shown->is_summed || has_sum(functions->values[v].type)) &&
	       (!shown->is_variance || has_squares(functions, v)) && (!shown->is_ctid || !functions->is_partitioned);
}

/* One of the columns of value v. */
struct value_column {
	const struct iforest_column *value;
	const struct shown *shown;
};

/* All of them, in the order of the answer: value by value, then variances. */
static List *value_columns(const struct iforest_functions *functions)
{
	List *columns = NIL;

	for (int variances = 0; variances <= 1; variances++)
		for (int v = 0; v < functions->n_values; v++)
			for (size_t s = 0; s < lengthof(all_shown); s++) {
				struct value_column *column;

				if (all_shown[s].is_variance != variances || !is_shown(functions, v, &all_shown[s]))
					continue;
				column = palloc(sizeof *column);
				*column = (struct value_column){ &functions->values[v], &all_shown[s] };
				columns = lappend(columns, column);
			}
	return columns;
}

/* %s of the pattern is the name. */
static char *shown_name(const struct value_column *column)
{
	const char *pattern = column->shown->name, *at = strstr(pattern, "%s");

	return psprintf("%.*s%s%s", (int)(at - pattern), pattern, column->value->name, at + 2);
}

/* Names of the output, in their order; by columns come first, and give way. */
static List *window_names(const struct iforest_functions *functions)
{
	static const char *const fixed[] = { "t0", "t1", "n", "step", "origin", "fill", "bucket", "bucket_start", "bucket_end",
					     "count", "first_ts", "last_ts", NULL };
	const int n_arguments = 6;
	struct iforest_names names = { functions, NIL };
	List *by = NIL, *result = NIL;
	ListCell *cell;

	iforest_take_names(&names, fixed);
	for (int i = n_arguments; fixed[i]; i++)
		result = lappend(result, (char *)fixed[i]);
	foreach(cell, value_columns(functions)) {
		char *name = shown_name(lfirst(cell));

		iforest_take_name(&names, name);
		result = lappend(result, (char *)quote_identifier(name));
	}
	for (int i = 0; i < functions->n_by; i++)
		by = lappend(by, (char *)iforest_take_column(&names, "by_", functions->by[i].name));
	return list_concat(by, result);
}

static void add_value(StringInfo text, const struct iforest_functions *functions, const struct value_column *column)
{
	const struct shown *shown = column->shown;

	iforest_add_text(text, ", ");
	if (shown->is_own)
		iforest_add_call(text, functions, shown->aggregate);
	else
		appendStringInfo(text, "%s(", shown->aggregate);
	iforest_add_text(text, column->value->expression);
	if (shown->is_own) {
		iforest_add_text(text, ", ");
		iforest_add_text(text, functions->time.expression);
		iforest_add_text(text, ", ctid");
	}
	iforest_add_text(text, ")");
}

/* Columns of the answer. */
static int n_columns(const struct iforest_functions *functions)
{
	return functions->n_by + 6 + list_length(value_columns(functions));
}

/* (c1, c2, ...), for an alias. */
static void add_columns(StringInfo text, int from, int to)
{
	for (int i = from; i <= to; i++)
		appendStringInfo(text, "%sc%d", i == from ? "(" : ", ", i);
	iforest_add_text(text, ")");
}

/* Number and bounds of the bucket. All times, those of rows without one too, are one bucket. */
static void add_bucket(StringInfo text, const struct iforest_functions *functions, bool is_open)
{
	const char *type = format_type_be(functions->time_type);
	StringInfoData bucket;

	initStringInfo(&bucket);
	iforest_add_bucket_of(&bucket, functions, functions->time.expression);
	if (is_open) {
		appendStringInfo(text, "0::bigint, NULL::%s, NULL::%s", type, type);
	} else {
		iforest_add_text(text, bucket.data);
		iforest_add_text(text, ", ");
		iforest_add_bounds(text, functions, bucket.data);
	}
}

/* GROUP BY series and bucket. No row is no group, without group keys neither. */
static void add_group_by(StringInfo text, const struct iforest_functions *functions, bool is_open)
{
	int n = functions->n_by + (is_open ? 0 : 1);

	for (int i = 1; i <= n; i++)
		appendStringInfo(text, "%s%d", i == 1 ? " GROUP BY " : ", ", i);
	if (n == 0)
		iforest_add_text(text, " HAVING count(*) > 0");
}

/* The gate stands outside of the grouping: then nothing is planned below one that is known to be shut. */
static void add_grouped(StringInfo text, const struct iforest_functions *functions, bool is_open, bool is_filled)
{
	ListCell *cell;

	iforest_add_text(text, "SELECT * FROM (SELECT ");
	for (int i = 0; i < functions->n_by; i++) {
		iforest_add_text(text, functions->by[i].expression);
		iforest_add_text(text, ", ");
	}
	add_bucket(text, functions, is_open);
	appendStringInfo(text, ", count(*), min(%s), max(%s)", functions->time.expression, functions->time.expression);
	foreach(cell, value_columns(functions))
		add_value(text, functions, lfirst(cell));
	appendStringInfo(text, " FROM %s", functions->table);
	if (!is_open) {
		appendStringInfo(text, " WHERE %s >= $1 AND %s <= ", functions->time.expression, functions->time.expression);
		iforest_add_last(text, functions);
	}
	iforest_add_predicate(text, functions, is_open ? "WHERE" : "AND");
	add_group_by(text, functions, is_open);
	iforest_add_text(text, ") AS grouped");
	add_columns(text, 1, n_columns(functions));
	iforest_add_text(text, " WHERE ");
	iforest_add_gate(text, functions, "$6", is_open, is_filled);
}

/* Every series with every bucket, of which nothing else is known. Where there are more buckets than times, those before that
 * of $1 are empty. */
static void add_all_buckets(StringInfo text, const struct iforest_functions *functions)
{
	iforest_add_text(text, "SELECT ");
	for (int i = 0; i < functions->n_by; i++)
		appendStringInfo(text, "s.c%d, ", i + 1);
	iforest_add_text(text, "b.b");
	for (int i = functions->n_by + 1; i < n_columns(functions); i++)
		iforest_add_text(text, ", NULL");
	iforest_add_text(text, " FROM generate_series(CASE WHEN $3 IS NULL THEN ");
	iforest_add_bucket_of(text, functions, "$1");
	iforest_add_text(text, " ELSE 0 END, ");
	iforest_add_call(text, functions, "bucket_of");
	iforest_add_last(text, functions);
	iforest_add_text(text, ", $1, $2, $3, $4, $5)) AS b(b)");
	if (functions->n_by == 0)
		return;
	iforest_add_text(text, " CROSS JOIN (SELECT DISTINCT ");
	for (int i = 0; i < functions->n_by; i++)
		appendStringInfo(text, "%s%s", i > 0 ? ", " : "", functions->by[i].expression);
	appendStringInfo(text, " FROM %s", functions->table);
	iforest_add_predicate(text, functions, "WHERE");
	iforest_add_text(text, ") AS s");
	add_columns(text, 1, functions->n_by);
}

/* Of each series and bucket what the one row that knows something has of it: that is its maximum. Not a join, so that
 * conditions on by columns narrow all of it. */
static void add_filled(StringInfo text, const struct iforest_functions *functions)
{
	int bucket = functions->n_by + 1, column = functions->n_by + 7;
	ListCell *cell;

	iforest_add_text(text, "SELECT ");
	for (int i = 1; i <= bucket; i++)
		appendStringInfo(text, "c%d, ", i);
	iforest_add_bounds(text, functions, psprintf("c%d", bucket));
	appendStringInfo(text, ", coalesce(max(c%d), 0), max(c%d), max(c%d)", bucket + 3, bucket + 4, bucket + 5);
	foreach(cell, value_columns(functions)) {
		const struct value_column *shown = lfirst(cell);

		/* a bucket that has rows is not filled */
		if (shown->shown->is_zero)
			appendStringInfo(text, ", CASE WHEN $6 = 'zero' AND max(c%d) IS NULL THEN 0 ELSE max(c%d) END",
					 bucket + 3, column);
		else
			appendStringInfo(text, ", max(c%d)", column);
		column++;
	}
	iforest_add_text(text, " FROM (");
	add_grouped(text, functions, false, true);
	iforest_add_text(text, " UNION ALL ");
	add_grouped(text, functions, true, true);
	iforest_add_text(text, " UNION ALL ");
	add_all_buckets(text, functions);
	iforest_add_text(text, ") AS g");
	add_columns(text, 1, n_columns(functions));
	iforest_add_text(text, " GROUP BY ");
	for (int i = 1; i <= bucket; i++)
		appendStringInfo(text, "%s%d", i > 1 ? ", " : "", i);
}

char *iforest_window_query(const struct iforest_functions *functions)
{
	StringInfoData text;
	const char *separator = "";
	ListCell *cell;

	initStringInfo(&text);
	iforest_add_text(&text, "SELECT * FROM (");
	add_grouped(&text, functions, false, false);
	iforest_add_text(&text, " UNION ALL ");
	add_grouped(&text, functions, true, false);
	iforest_add_text(&text, " UNION ALL ");
	iforest_add_text(&text, "SELECT * FROM (");
	add_filled(&text, functions);
	iforest_add_text(&text, ") AS filled");
	add_columns(&text, 1, n_columns(functions));
	iforest_add_text(&text, " WHERE ");
	iforest_add_gates(&text, functions, "$6", true);
	iforest_add_text(&text, ") AS answer(");
	foreach(cell, window_names(functions)) {
		iforest_add_text(&text, separator);
		iforest_add_text(&text, lfirst(cell));
		separator = ", ";
	}
	iforest_add_text(&text, ")");
	if (functions->n_by == 0)
		iforest_add_text(&text, " ORDER BY bucket");
	return text.data;
}
