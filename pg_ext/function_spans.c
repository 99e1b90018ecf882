#include "pg_ext/function_pieces.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/ruleutils.h"

/* ---- rows ---- */

/* The end of a row's span. */
static char *span_end(const struct iforest_functions *functions)
{
	const struct iforest_column *length = functions->length < 0 ? NULL : &functions->values[functions->length];
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

/* ---- overlap ---- */

/* r: rows with by columns c1 ..., their time, end, length and ctid. */
static void add_spans(StringInfo text, const struct iforest_functions *functions)
{
	const struct iforest_column *length = &functions->values[functions->length];
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
	iforest_add_text(text, " AND ");
	iforest_add_gates(text, functions, "NULL", false);
	iforest_add_text(text, ") AS r");
}

/* A column named after the duration, quoted. */
static const char *named(struct iforest_names *names, const char *before, const char *after)
{
	const struct iforest_functions *functions = names->functions;
	char *name = psprintf("%s%s%s", before, functions->values[functions->length].name, after);

	iforest_take_name(names, name);
	return quote_identifier(name);
}

/* Where the part of a span ends that lies inside. Ends of integers are not cut at the greatest: what lies in a bucket, or
 * window, without an end is all of it. */
static void add_inside_end(StringInfo text, const struct iforest_functions *functions)
{
	if (functions->time_type != INT8OID) {
		iforest_add_text(text, "least(r.ends, c.bucket_end, $2)");
		return;
	}
	iforest_add_text(text, functions->is_end ? "least(r.ends" : "least(r.ts::numeric + greatest(r.length, 0)");
	/* the last bucket has the greatest time in it, which then is no end */
	iforest_add_text(text, ", CASE WHEN c.bucket_end < 9223372036854775807 OR ");
	iforest_add_bucket_of(text, functions, "c.bucket_end");
	iforest_add_text(text, " > b.bucket THEN c.bucket_end END, nullif($2, 9223372036854775807))::numeric");
}

static void add_overlaps(StringInfo text, struct iforest_names *names)
{
	Oid type = names->functions->time_type;
	bool is_interval = type != INT8OID && type != DATEOID;

	appendStringInfo(text, "count(*) AS count, %ssum(", is_interval ? "justify_hours(" : "");
	add_inside_end(text, names->functions);
	appendStringInfo(text, " - greatest(r.ts, c.bucket_start, $1)%s)%s", type == INT8OID ? "::numeric" : "",
			 is_interval ? ")" : "");
	appendStringInfo(text, " AS %s, max(r.length)", named(names, "clipped_", ""));
	appendStringInfo(text, " AS %s, ", named(names, "longest_", ""));
	iforest_add_call(text, names->functions, "max_row");
	appendStringInfo(text, "r.length, r.ts, r.id) AS %s, ", named(names, "longest_", "_ctid"));
	iforest_add_call(text, names->functions, "max_time");
	appendStringInfo(text, "r.length, r.ts, r.id) AS %s", named(names, "longest_", "_ts"));
}

char *iforest_overlap_query(const struct iforest_functions *functions)
{
	static const char *const fixed[] = { "t0", "t1", "n", "step", "origin", "bucket", "bucket_start", "bucket_end", "count",
					     NULL };
	struct iforest_names names = { functions, NIL };
	StringInfoData text, overlaps;

	initStringInfo(&text);
	initStringInfo(&overlaps);
	iforest_take_names(&names, fixed);
	add_overlaps(&overlaps, &names);
	iforest_add_text(&text, "SELECT ");
	for (int i = 0; i < functions->n_by; i++)
		appendStringInfo(&text, "r.c%d AS %s, ", i + 1, iforest_take_column(&names, "by_", functions->by[i].name));
	iforest_add_text(&text, "b.bucket AS bucket, c.bucket_start AS bucket_start, c.bucket_end AS bucket_end, ");
	iforest_add_text(&text, overlaps.data);
	iforest_add_text(&text, " FROM ");
	add_spans(&text, functions);
	/* of more buckets than there are times, the first is empty, and yet covered by what begins before it */
	iforest_add_text(&text, " CROSS JOIN LATERAL generate_series(CASE WHEN r.ts < $1 AND $3 > 1 THEN 0 ELSE ");
	iforest_add_bucket_of(&text, functions, "greatest(r.ts, $1)");
	iforest_add_text(&text, " END, ");
	iforest_add_call(&text, functions, "bucket_of");
	iforest_add_text(&text, "least(greatest(");
	iforest_add_call(&text, functions, "window_last");
	iforest_add_text(&text, "r.ends), r.ts), ");
	iforest_add_last(&text, functions);
	iforest_add_text(&text, "), $1, $2, $3, $4, $5)) AS b(bucket) CROSS JOIN LATERAL (SELECT ");
	iforest_add_bounds(&text, functions, "b.bucket");
	iforest_add_text(&text, ") AS c(bucket_start, bucket_end)");
	iforest_add_text(&text, " GROUP BY ");
	for (int i = 0; i < functions->n_by + 3; i++)
		appendStringInfo(&text, "%s%d", i > 0 ? ", " : "", i + 1);
	if (functions->n_by == 0)
		iforest_add_text(&text, " ORDER BY bucket");
	return text.data;
}

/* (c1 type, ...): what iforest_overlap_spans() is to give. */
static void add_column_types(StringInfo text, TupleDesc columns)
{
	for (int i = 0; i < columns->natts; i++) {
		Form_pg_attribute column = TupleDescAttr(columns, i);

		appendStringInfo(text, "%sc%d %s", i == 0 ? "(" : ", ", i + 1,
				 format_type_extended(column->atttypid, column->atttypmod,
						      FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
		if (OidIsValid(column->attcollation))
			appendStringInfo(text, " COLLATE %s", generate_collation_name(column->attcollation));
	}
	iforest_add_text(text, ")");
}

/* Which index there is, and whether it may be read, is asked once: so it is one half or the other that answers. */
char *iforest_overlap_by_index(const struct iforest_functions *functions, const char *query, TupleDesc columns)
{
	StringInfoData text;

	initStringInfo(&text);
	iforest_add_text(&text, "WITH i(i) AS MATERIALIZED (SELECT ");
	iforest_add_call(&text, functions, "overlap_index");
	appendStringInfo(&text, "%s::regclass, %s::text[], %s, %d)) SELECT * FROM (SELECT * FROM ",
			 quote_literal_cstr(functions->table), quote_literal_cstr(functions->columns),
			 functions->predicate ? quote_literal_cstr(functions->predicate) : "NULL", functions->length);
	iforest_add_call(&text, functions, "overlap_spans");
	iforest_add_text(&text, "(SELECT i FROM i), $1, $2, $3, $4, $5) AS o");
	add_column_types(&text, columns);
	iforest_add_text(&text, " UNION ALL SELECT * FROM (");
	iforest_add_text(&text, query);
	iforest_add_text(&text, ") AS p WHERE (SELECT i FROM i) IS NULL) AS answer");
	for (int i = 0; i < columns->natts; i++)
		appendStringInfo(&text, "%s%s", i == 0 ? "(" : ", ",
				 quote_identifier(NameStr(TupleDescAttr(columns, i)->attname)));
	iforest_add_text(&text, ")");
	if (functions->n_by == 0)
		iforest_add_text(&text, " ORDER BY bucket");
	return text.data;
}
