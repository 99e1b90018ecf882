#include "pg_ext/sql/function_window.h"
#include "pg_ext/sql/sql_sqlgen_own.h"

#include "utils/builtins.h"

/* ---- gates ---- */

void iforest_add_window_gate(StringInfo text, const struct iforest_functions *functions, bool is_open,
			     enum iforest_window_fill fill)
{
	bool is_carried = fill == IFOREST_WINDOW_CARRIED;

	if (functions->is_carried)
		appendStringInfo(text, "CASE WHEN $6 IN ('last', 'linear') %s ", is_carried ? "THEN" : "THEN false ELSE");
	iforest_add_gate(text, functions, is_carried ? "'null'" : "$6", is_open, fill != IFOREST_WINDOW_PLAIN);
	if (functions->is_carried)
		iforest_add_text(text, is_carried ? " ELSE false END" : " END");
}

void iforest_add_window_gates(StringInfo text, const struct iforest_functions *functions, enum iforest_window_fill fill)
{
	iforest_add_text(text, "(");
	iforest_add_window_gate(text, functions, false, fill);
	iforest_add_text(text, " OR ");
	iforest_add_window_gate(text, functions, true, fill);
	iforest_add_text(text, ")");
}

/* ---- arms ---- */

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
void iforest_add_grouped(StringInfo text, const struct iforest_functions *functions, bool is_open,
			 enum iforest_window_fill fill)
{
	ListCell *cell;

	iforest_add_text(text, "SELECT * FROM (SELECT ");
	for (int i = 0; i < functions->n_by; i++) {
		iforest_add_text(text, functions->by[i].expression);
		iforest_add_text(text, ", ");
	}
	add_bucket(text, functions, is_open);
	appendStringInfo(text, ", count(*), min(%s), max(%s)", functions->time.expression, functions->time.expression);
	foreach(cell, iforest_value_columns(functions, fill))
		iforest_add_value(text, functions, lfirst(cell));
	appendStringInfo(text, " FROM %s", functions->table);
	if (!is_open) {
		appendStringInfo(text, " WHERE %s >= $1 AND %s <= ", functions->time.expression, functions->time.expression);
		iforest_add_last(text, functions);
	}
	iforest_add_predicate(text, functions, is_open ? "WHERE" : "AND");
	add_group_by(text, functions, is_open);
	iforest_add_text(text, ") AS grouped");
	iforest_add_columns(text, 1, iforest_n_columns(functions, fill));
	iforest_add_text(text, " WHERE ");
	iforest_add_window_gate(text, functions, is_open, fill);
}

/* Where there are more buckets than times, those before that of $1 are empty. */
void iforest_add_first_bucket(StringInfo text, const struct iforest_functions *functions)
{
	iforest_add_text(text, "CASE WHEN $3 IS NULL THEN ");
	iforest_add_bucket_of(text, functions, "$1");
	iforest_add_text(text, " ELSE 0 END");
}

void iforest_add_last_bucket(StringInfo text, const struct iforest_functions *functions)
{
	iforest_add_call(text, functions, "bucket_of");
	iforest_add_last(text, functions);
	iforest_add_text(text, ", $1, $2, $3, $4, $5)");
}

void iforest_add_all_buckets(StringInfo text, const struct iforest_functions *functions, int n_columns)
{
	iforest_add_text(text, "SELECT ");
	for (int i = 0; i < functions->n_by; i++)
		appendStringInfo(text, "s.c%d, ", i + 1);
	iforest_add_text(text, "b.b");
	for (int i = functions->n_by + 1; i < n_columns; i++)
		iforest_add_text(text, ", NULL");
	iforest_add_text(text, " FROM generate_series(");
	iforest_add_first_bucket(text, functions);
	iforest_add_text(text, ", ");
	iforest_add_last_bucket(text, functions);
	iforest_add_text(text, ") AS b(b)");
	if (functions->n_by == 0)
		return;
	iforest_add_text(text, " CROSS JOIN (SELECT DISTINCT ");
	for (int i = 0; i < functions->n_by; i++)
		appendStringInfo(text, "%s%s", i > 0 ? ", " : "", functions->by[i].expression);
	appendStringInfo(text, " FROM %s", functions->table);
	iforest_add_predicate(text, functions, "WHERE");
	iforest_add_text(text, ") AS s");
	iforest_add_columns(text, 1, functions->n_by);
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
	foreach(cell, iforest_value_columns(functions, IFOREST_WINDOW_FILLED)) {
		const struct iforest_value_column *shown = lfirst(cell);

		/* a bucket that has rows is not filled */
		if (shown->shown->is_zero)
			appendStringInfo(text, ", CASE WHEN $6 = 'zero' AND max(c%d) IS NULL THEN 0 ELSE max(c%d) END",
					 bucket + 3, column);
		else
			appendStringInfo(text, ", max(c%d)", column);
		column++;
	}
	iforest_add_text(text, " FROM (");
	iforest_add_grouped(text, functions, false, IFOREST_WINDOW_FILLED);
	iforest_add_text(text, " UNION ALL ");
	iforest_add_grouped(text, functions, true, IFOREST_WINDOW_FILLED);
	iforest_add_text(text, " UNION ALL ");
	iforest_add_all_buckets(text, functions, iforest_n_columns(functions, IFOREST_WINDOW_FILLED));
	iforest_add_text(text, ") AS g");
	iforest_add_columns(text, 1, iforest_n_columns(functions, IFOREST_WINDOW_FILLED));
	iforest_add_text(text, " GROUP BY ");
	for (int i = 1; i <= bucket; i++)
		appendStringInfo(text, "%s%d", i > 1 ? ", " : "", i);
}

/* One that is not asked for is cut off as a whole. */
static void add_gated(StringInfo text, const struct iforest_functions *functions, enum iforest_window_fill fill)
{
	iforest_add_text(text, "SELECT * FROM (");
	if (fill == IFOREST_WINDOW_CARRIED)
		iforest_add_carried(text, functions);
	else
		add_filled(text, functions);
	iforest_add_text(text, ") AS filled");
	iforest_add_columns(text, 1, iforest_n_columns(functions, IFOREST_WINDOW_PLAIN));
	iforest_add_text(text, " WHERE ");
	iforest_add_window_gates(text, functions, fill);
}

static void add_answer_names(StringInfo text, const struct iforest_functions *functions)
{
	const char *separator = "";
	ListCell *cell;

	iforest_add_text(text, ") AS answer(");
	foreach(cell, iforest_window_names(functions)) {
		iforest_add_text(text, separator);
		iforest_add_text(text, lfirst(cell));
		separator = ", ";
	}
	iforest_add_text(text, ")");
}

char *iforest_window_fill_query(const struct iforest_functions *functions)
{
	StringInfoData text;

	initStringInfo(&text);
	iforest_add_text(&text, "SELECT * FROM (");
	add_gated(&text, functions, IFOREST_WINDOW_CARRIED);
	add_answer_names(&text, functions);
	return text.data;
}

char *iforest_window_query(const struct iforest_functions *functions, TupleDesc columns)
{
	StringInfoData text;

	initStringInfo(&text);
	iforest_add_text(&text, "SELECT * FROM (");
	iforest_add_grouped(&text, functions, false, IFOREST_WINDOW_PLAIN);
	iforest_add_text(&text, " UNION ALL ");
	iforest_add_grouped(&text, functions, true, IFOREST_WINDOW_PLAIN);
	iforest_add_text(&text, " UNION ALL ");
	add_gated(&text, functions, IFOREST_WINDOW_FILLED);
	if (columns)
		iforest_add_part(&text, functions, IFOREST_WINDOW_FILL, "'last', 'linear'", columns);
	add_answer_names(&text, functions);
	if (functions->n_by == 0)
		iforest_add_text(&text, " ORDER BY bucket");
	return text.data;
}
