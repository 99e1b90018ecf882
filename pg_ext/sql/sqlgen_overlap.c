#include "pg_ext/sql/function_pieces.h"
#include "pg_ext/sql/sqlgen_overlap.h"
#include "pg_ext/sql/sql_sqlgen_overlap_own.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

/* ---- rows ---- */

/* The end of a row's span. */
static char *span_end(const struct iforest_functions *functions)
{
	const struct iforest_sqlgen_column *length = functions->length < 0 ? NULL : &functions->values[functions->length];
	StringInfoData text;

	initStringInfo(&text);
	if (!length) {
		iforest_add_text(&text, functions->time.expression);
	} else if (functions->is_end) {
		appendStringInfo(&text, "greatest(%s, %s)", functions->time.expression, length->expression);
	} else {
		iforest_add_call(&text, functions, "span_end");
		appendStringInfo(&text, "%s, %s, %s)", functions->time.expression, length->expression,
				 functions->unit ? functions->unit : "NULL");
	}
	return text.data;
}

/* Which rows reach into [$1, $2). No span that begins before lasts longer than the longest of those: that is a range of
 * times. */
static void add_reaching(StringInfo text, const struct iforest_functions *functions)
{
	const char *time = functions->time.expression;

	appendStringInfo(text, " FROM %s WHERE %s <= ", functions->table, time);
	iforest_add_last(text, functions);
	if (functions->length >= 0 && !functions->is_end) {
		appendStringInfo(text, " AND %s >= ", time);
		iforest_add_call(text, functions, "span_earliest");
		appendStringInfo(text, "$1, (SELECT max(%s) FROM %s WHERE %s < $1",
				 functions->values[functions->length].expression, functions->table, time);
		iforest_add_predicate(text, functions, "AND");
		appendStringInfo(text, "), %s)", functions->unit ? functions->unit : "NULL");
	}
	appendStringInfo(text, " AND (%s >= $1", time);
	if (functions->length >= 0)
		appendStringInfo(text, " OR %s > $1", span_end(functions));
	iforest_add_text(text, ")");
	iforest_add_predicate(text, functions, "AND");
}

char *iforest_rows_query(const struct iforest_functions *functions)
{
	static const char *const fixed[] = { "t0", "t1", "ctid", "end", NULL };
	struct iforest_names names = { functions, NIL };
	StringInfoData text;

	initStringInfo(&text);
	iforest_take_names(&names, fixed);
	iforest_add_text(&text, "SELECT ");
	if (functions->is_partitioned)
		appendStringInfo(&text, "tableoid AS %s, ", iforest_take_column(&names, "", "tableoid"));
	iforest_add_text(&text, "ctid AS ctid, ");
	for (int i = 0; i < functions->n_by; i++)
		appendStringInfo(&text, "%s AS %s, ", functions->by[i].expression,
				 iforest_take_column(&names, "by_", functions->by[i].name));
	appendStringInfo(&text, "%s AS %s", functions->time.expression,
			 iforest_take_column(&names, "time_", functions->time.name));
	for (int v = 0; v < functions->n_values; v++)
		appendStringInfo(&text, ", %s AS %s", functions->values[v].expression,
				 iforest_take_column(&names, "value_", functions->values[v].name));
	if (functions->length >= 0)
		appendStringInfo(&text, ", %s AS \"end\"", span_end(functions));
	add_reaching(&text, functions);
	/* nothing reaches into a window in which no time lies */
	iforest_add_text(&text, " AND $1 < $2");
	return text.data;
}

/* ---- those of the overlap function ---- */

void iforest_add_spans(StringInfo text, const struct iforest_functions *functions)
{
	const struct iforest_sqlgen_column *length = &functions->values[functions->length];
	bool is_number = functions->time_type == INT8OID;
	const char *end = span_end(functions);

	iforest_add_text(text, "(SELECT ");
	for (int i = 0; i < functions->n_by; i++)
		appendStringInfo(text, "%s AS c%d, ", functions->by[i].expression, i + 1);
	appendStringInfo(text, "%s AS ts, %s AS ends, ", functions->time.expression, end);
	if (!functions->is_end)
		iforest_add_text(text, length->expression);
	else if (is_number)
		appendStringInfo(text, "%s::numeric - %s", end, functions->time.expression);
	else
		appendStringInfo(text, "%s - %s", end, functions->time.expression);
	iforest_add_text(text, " AS length, ctid AS id");
	add_reaching(text, functions);
	iforest_add_text(text, ") AS r");
}
