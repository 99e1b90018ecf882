#include "pg_ext/sql/sqlgen_overlap.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/ruleutils.h"

#include "pg_ext/base/engine.h"
#include "pg_ext/sql/sqlgen.h"

/* r: the rows that reach into the window, with by columns c1 ..., ts, ends, length and id, their ctid. Requires a length. */
static void add_spans(StringInfo text, const struct iforest_functions *functions);

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

static void add_spans(StringInfo text, const struct iforest_functions *functions)
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

/* The overlap function: of an index that may be read, or else of the table. Columns are c1 and so on: the by columns, three of
 * the bucket, count, time inside, the longest, its ctid (not of a partitioned table), its time. */

/* ---- pieces ---- */

static bool is_of_intervals(const struct iforest_functions *functions)
{
	return functions->time_type != INT8OID && functions->time_type != DATEOID;
}

/* Is that asked, filled or not? */
static char *asked(const struct iforest_functions *functions, bool is_filled)
{
	StringInfoData text;

	initStringInfo(&text);
	if (!functions->is_overlap_filled) {
		iforest_add_gates(&text, functions, "NULL", false);
	} else {
		iforest_add_call(&text, functions, "overlap_asks");
		appendStringInfo(&text, "$1, $2, $3, $4, $5, $6, %s)", is_filled ? "true" : "false");
	}
	return text.data;
}

/* ---- from the table ---- */

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

/* The last time that a span has in it, or its own. An end at the greatest bigint is that, or was cut there. */
static void add_last_inside(StringInfo text, const struct iforest_functions *functions)
{
	iforest_add_text(text, "greatest(");
	if (functions->time_type == INT8OID)
		appendStringInfo(text, "CASE WHEN r.ends = 9223372036854775807 AND %s THEN 9223372036854775806 ELSE ",
				 functions->is_end ? "true" : "r.length = 9223372036854775807 - greatest(r.ts, 0)");
	iforest_add_call(text, functions, "window_last");
	iforest_add_text(text, functions->time_type == INT8OID ? "r.ends) END, r.ts)" : "r.ends), r.ts)");
}

static void add_overlaps(StringInfo text, struct iforest_names *names)
{
	Oid type = names->functions->time_type;
	bool is_interval = is_of_intervals(names->functions);

	appendStringInfo(text, "count(*) AS count, %ssum(", is_interval ? "justify_hours(" : "");
	add_inside_end(text, names->functions);
	appendStringInfo(text, " - greatest(r.ts, c.bucket_start, $1)%s)%s", type == INT8OID ? "::numeric" : "",
			 is_interval ? ")" : "");
	appendStringInfo(text, " AS %s, max(r.length)", named(names, "clipped_", ""));
	appendStringInfo(text, " AS %s, ", named(names, "longest_", ""));
	if (!names->functions->is_partitioned) {
		iforest_add_call(text, names->functions, "max_row");
		appendStringInfo(text, "r.length, r.ts, r.id) AS %s, ", named(names, "longest_", "_ctid"));
	}
	iforest_add_call(text, names->functions, "max_time");
	appendStringInfo(text, "r.length, r.ts, r.id) AS %s", named(names, "longest_", "_ts"));
}

char *iforest_overlap_query(const struct iforest_functions *functions)
{
	static const char *const fixed[] = { "t0", "t1", "n", "step", "origin", "fill", "bucket", "bucket_start", "bucket_end",
					     "count", NULL };
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
	iforest_add_text(&text, "least(");
	add_last_inside(&text, functions);
	iforest_add_text(&text, ", ");
	iforest_add_last(&text, functions);
	iforest_add_text(&text, "), $1, $2, $3, $4, $5)) AS b(bucket) CROSS JOIN LATERAL (SELECT ");
	iforest_add_bounds(&text, functions, "b.bucket");
	iforest_add_text(&text, ") AS c(bucket_start, bucket_end) GROUP BY ");
	for (int i = 1; i <= functions->n_by + 3; i++)
		appendStringInfo(&text, "%s%d", i > 1 ? ", " : "", i);
	return text.data;
}

/* ---- from the index ---- */

static void add_type(StringInfo text, Form_pg_attribute column)
{
	iforest_add_text(text, format_type_extended(column->atttypid, column->atttypmod,
						    FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
	if (OidIsValid(column->attcollation))
		appendStringInfo(text, " COLLATE %s", generate_collation_name(column->attcollation));
}

/* iforest_overlap_spans(), and what it is to give. Of a partitioned table the row is said, too. */
static void add_index(StringInfo text, const struct iforest_functions *functions, TupleDesc columns)
{
	iforest_add_call(text, functions, "overlap_spans");
	iforest_add_text(text, "(SELECT i FROM i), $1, $2, $3, $4, $5) AS o(");
	for (int i = 0; i < columns->natts; i++) {
		if (functions->is_partitioned && i == columns->natts - 1)
			iforest_add_text(text, ", ctid_of tid");
		appendStringInfo(text, "%sc%d ", i == 0 ? "" : ", ", i + 1);
		add_type(text, TupleDescAttr(columns, i));
	}
	iforest_add_text(text, ")");
}

/* What each partition has, added up. */
static void add_partitions(StringInfo text, const struct iforest_functions *functions, TupleDesc columns)
{
	int n = functions->n_by + 3;

	iforest_add_text(text, "(SELECT ");
	iforest_add_numbers(text, 1, n);
	appendStringInfo(text, is_of_intervals(functions) ? ", sum(c%d)::bigint, justify_hours(sum(c%d))"
							  : ", sum(c%d)::bigint, sum(c%d)::%s",
			 n + 1, n + 2, format_type_be(TupleDescAttr(columns, n + 1)->atttypid));
	appendStringInfo(text, ", max(c%d), ", n + 3);
	iforest_add_call(text, functions, "max_time");
	appendStringInfo(text, "c%d, c%d, ctid_of) FROM ", n + 3, n + 4);
	add_index(text, functions, columns);
	iforest_add_text(text, " GROUP BY ");
	iforest_add_numbers(text, 1, n);
	iforest_add_text(text, ") AS parts");
	iforest_add_columns(text, 1, columns->natts);
}

/* Which index there is, and whether it may be read, is asked once: so it is one half or the other that answers. Gates stand
 * outside of the grouping. */
static void add_answer(StringInfo text, const struct iforest_functions *functions, TupleDesc columns, bool is_filled)
{
	char *query = iforest_overlap_query(functions), *gate = asked(functions, is_filled);

	if (!functions->is_overlap_read) {
		appendStringInfo(text, "SELECT * FROM (%s) AS p WHERE %s", query, gate);
		return;
	}
	iforest_add_text(text, "WITH i(i) AS MATERIALIZED (SELECT ");
	iforest_add_call(text, functions, "overlap_index");
	appendStringInfo(text, "%s::regclass, %s::text[], %s, %d)) SELECT * FROM ",
			 quote_literal_cstr(functions->table), quote_literal_cstr(functions->columns),
			 functions->predicate ? quote_literal_cstr(functions->predicate) : "NULL", functions->length);
	(functions->is_partitioned ? add_partitions : add_index)(text, functions, columns);
	appendStringInfo(text, " WHERE %s UNION ALL SELECT * FROM (%s) AS p WHERE (SELECT i FROM i) IS NULL AND %s", gate,
			 query, gate);
}

/* ---- the queries ---- */

static void add_names(StringInfo text, TupleDesc columns)
{
	for (int i = 0; i < columns->natts; i++)
		appendStringInfo(text, "%s%s", i == 0 ? "(" : ", ",
				 quote_identifier(NameStr(TupleDescAttr(columns, i)->attname)));
	iforest_add_text(text, ")");
}

char *iforest_overlap_by_index(const struct iforest_functions *functions, TupleDesc columns)
{
	StringInfoData text;

	initStringInfo(&text);
	iforest_add_text(&text, "SELECT * FROM (");
	add_answer(&text, functions, columns, false);
	if (functions->is_overlap_filled)
		iforest_add_part(&text, functions, IFOREST_OVERLAP_FILL, "'null', 'zero'", columns);
	iforest_add_text(&text, ") AS answer");
	add_names(&text, columns);
	if (functions->n_by == 0)
		iforest_add_text(&text, " ORDER BY bucket");
	return text.data;
}

char *iforest_overlap_fill_query(const struct iforest_functions *functions, TupleDesc columns)
{
	int bucket = functions->n_by + 1, n = columns->natts;
	StringInfoData text;

	initStringInfo(&text);
	iforest_add_text(&text, "SELECT * FROM (SELECT ");
	iforest_add_numbers(&text, 1, bucket);
	iforest_add_text(&text, ", ");
	iforest_add_bounds(&text, functions, psprintf("c%d", bucket));
	appendStringInfo(&text, ", coalesce(max(c%d), 0), CASE WHEN $6 = 'zero' AND max(c%d) IS NULL THEN %s ELSE max(c%d) END",
			 bucket + 3, bucket + 3, is_of_intervals(functions) ? "interval '0'" : "0", bucket + 4);
	for (int i = bucket + 5; i <= n; i++)
		appendStringInfo(&text, ", max(c%d)", i);
	iforest_add_text(&text, " FROM (SELECT * FROM (");
	add_answer(&text, functions, columns, true);
	iforest_add_text(&text, ") AS answer UNION ALL ");
	iforest_add_all_buckets(&text, functions, n);
	iforest_add_text(&text, ") AS g");
	iforest_add_columns(&text, 1, n);
	iforest_add_text(&text, " GROUP BY ");
	iforest_add_numbers(&text, 1, bucket);
	iforest_add_text(&text, ") AS filled");
	add_names(&text, columns);
	appendStringInfo(&text, " WHERE %s", asked(functions, true));
	return text.data;
}
