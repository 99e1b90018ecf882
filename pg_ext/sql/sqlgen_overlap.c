#include "pg_ext/sql/sqlgen_overlap.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/ruleutils.h"

#include "pg_ext/base/engine.h"
#include "pg_ext/sql/sqlgen.h"

/* ---- rows ---- */

char *ifp_span_end_text(const struct ifp_sqlgen_index *index)
{
	const struct ifp_sqlgen_column *length = index->length < 0 ? NULL : &index->values[index->length];
	StringInfoData text;

	initStringInfo(&text);
	if (!length)
		appendStringInfoString(&text, index->time.expression);
	else if (index->is_end)
		appendStringInfo(&text, "greatest(%s, %s)", index->time.expression, length->expression);
	else
		ifp_print(&text, index, "@span_end(%s, %s, %s)", index->time.expression, length->expression,
			  index->unit ? index->unit : "NULL");
	return text.data;
}

/* Appends FROM and WHERE for the rows that reach into [$1, $2). The longest span that begins before $1 bounds how early such
 * rows can begin, which gives a range of times. */
static void add_reaching(StringInfo text, const struct ifp_sqlgen_index *index)
{
	const char *time = index->time.expression;

	ifp_print(text, index, " FROM %s WHERE %s <= " IFP_LAST, index->table, time);
	if (index->length >= 0 && !index->is_end) {
		ifp_print(text, index, " AND %s >= @span_earliest($1, (SELECT max(%s) FROM %s WHERE %s < $1", time,
			  index->values[index->length].expression, index->table, time);
		ifp_add_predicate(text, index, "AND");
		appendStringInfo(text, "), %s)", index->unit ? index->unit : "NULL");
	}
	appendStringInfo(text, " AND (%s >= $1", time);
	if (index->length >= 0)
		appendStringInfo(text, " OR %s > $1", ifp_span_end_text(index));
	appendStringInfoString(text, ")");
	ifp_add_predicate(text, index, "AND");
}

char *ifp_rows_query(const struct ifp_sqlgen_index *index)
{
	static const char *const fixed[] = { "t0", "t1", "ctid", "end", NULL };
	struct ifp_names names = { index, NIL };
	StringInfoData text;

	initStringInfo(&text);
	ifp_take_names(&names, fixed);
	appendStringInfoString(&text, "SELECT ");
	if (index->is_partitioned)
		appendStringInfo(&text, "tableoid AS %s, ", ifp_take_column(&names, "", "tableoid"));
	appendStringInfoString(&text, "ctid AS ctid, ");
	for (int i = 0; i < index->n_by; i++)
		appendStringInfo(&text, "%s AS %s, ", index->by[i].expression,
				 ifp_take_column(&names, "by_", index->by[i].name));
	appendStringInfo(&text, "%s AS %s", index->time.expression, ifp_take_column(&names, "time_", index->time.name));
	for (int v = 0; v < index->n_values; v++)
		appendStringInfo(&text, ", %s AS %s", index->values[v].expression,
				 ifp_take_column(&names, "value_", index->values[v].name));
	if (index->length >= 0)
		appendStringInfo(&text, ", %s AS \"end\"", ifp_span_end_text(index));
	add_reaching(&text, index);
	/* no row reaches into an empty window */
	appendStringInfoString(&text, " AND $1 < $2");
	return text.data;
}

/* ---- spans of the overlap function ---- */

/* Appends r: the rows that reach into the window, with by columns c1 ..., ts, ends, length, and id, their ctid.
 * Requires  a length. */
static void add_spans(StringInfo text, const struct ifp_sqlgen_index *index)
{
	const struct ifp_sqlgen_column *length = &index->values[index->length];
	bool is_number = index->time_type == INT8OID;
	const char *end = ifp_span_end_text(index);

	appendStringInfoString(text, "(SELECT ");
	for (int i = 0; i < index->n_by; i++)
		appendStringInfo(text, "%s AS c%d, ", index->by[i].expression, i + 1);
	appendStringInfo(text, "%s AS ts, %s AS ends, ", index->time.expression, end);
	if (!index->is_end)
		appendStringInfoString(text, length->expression);
	else
		appendStringInfo(text, "%s%s - %s", length->expression, is_number ? "::numeric" : "", index->time.expression);
	appendStringInfoString(text, " AS length, ctid AS id");
	add_reaching(text, index);
	appendStringInfoString(text, ") AS r");
}

/* ---- pieces ---- */

static bool is_of_intervals(const struct ifp_sqlgen_index *index)
{
	return index->time_type != INT8OID && index->time_type != DATEOID;
}

/* Returns the gate of overlaps, filled or not; `fill` is the fill argument. */
static char *asked(const struct ifp_sqlgen_index *index, const char *fill, bool is_filled)
{
	StringInfoData text;

	initStringInfo(&text);
	if (!index->is_overlap_filled)
		ifp_add_gates(&text, index, "NULL", false);
	else
		ifp_print(&text, index, "@overlap_asks(" IFP_BUCKETING ", %s, %s)", fill, is_filled ? "true" : "false");
	return text.data;
}

/* ---- from the table ---- */

/* Takes a column named after the duration; returns it quoted. */
static const char *named(struct ifp_names *names, const char *before, const char *after)
{
	const struct ifp_sqlgen_index *index = names->index;
	char *name = psprintf("%s%s%s", before, index->values[index->length].name, after);

	ifp_take_name(names, name);
	return quote_identifier(name);
}

/* Appends the end of the part of a span inside the bucket. Integer ends are not cut at the greatest integer: in a bucket or
 * window without an end the whole span counts. */
static void add_inside_end(StringInfo text, const struct ifp_sqlgen_index *index)
{
	if (index->time_type != INT8OID) {
		appendStringInfoString(text, "least(r.ends, c.bucket_end, $2)");
		return;
	}
	appendStringInfoString(text, index->is_end ? "least(r.ends" : "least(r.ts::numeric + greatest(r.length, 0)");
	/* the last bucket has the greatest time in it, which then is no end */
	ifp_print(text, index,
		  ", CASE WHEN c.bucket_end < 9223372036854775807 OR " IFP_BUCKET_OF(
			  "c.bucket_end") " > b.bucket "
					  "THEN c.bucket_end END, nullif($2, 9223372036854775807))::numeric");
}

/* Returns the condition that a span ends at the greatest bigint, and was not cut there. */
static const char *ends_at_greatest(const struct ifp_sqlgen_index *index)
{
	return index->is_end ? "true" : "r.length = 9223372036854775807 - greatest(r.ts, 0)";
}

/* Appends the last time of a span, at least its own time. An end at the greatest bigint is that, or was cut there. */
static void add_last_inside(StringInfo text, const struct ifp_sqlgen_index *index)
{
	appendStringInfoString(text, "greatest(");
	if (index->time_type == INT8OID)
		appendStringInfo(text, "CASE WHEN r.ends = 9223372036854775807 AND %s THEN 9223372036854775806 ELSE ",
				 ends_at_greatest(index));
	ifp_print(text, index, "@window_last(r.ends)%s, r.ts)", index->time_type == INT8OID ? " END" : "");
}

static void add_overlaps(StringInfo text, struct ifp_names *names)
{
	Oid type = names->index->time_type;
	bool is_interval = is_of_intervals(names->index);

	appendStringInfo(text, "count(*) AS count, %ssum(", is_interval ? "justify_hours(" : "");
	add_inside_end(text, names->index);
	appendStringInfo(text, " - greatest(r.ts, c.bucket_start, $1)%s)%s", type == INT8OID ? "::numeric" : "",
			 is_interval ? ")" : "");
	appendStringInfo(text, " AS %s, max(r.length)", named(names, "clipped_", ""));
	appendStringInfo(text, " AS %s, ", named(names, "longest_", ""));
	if (!names->index->is_partitioned)
		ifp_print(text, names->index, "@max_row(r.length, r.ts, r.id) AS %s, ", named(names, "longest_", "_ctid"));
	ifp_print(text, names->index, "@max_time(r.length, r.ts, r.id) AS %s", named(names, "longest_", "_ts"));
}

/* Appends the peak and its time. A span is cut at its start, by bucket and window, and not at its end. */
static void add_peaks(StringInfo text, const struct ifp_sqlgen_index *index)
{
	static const char *const names[] = { "peak", "peak_time" };
	const char *type = format_type_be(index->time_type);

	for (size_t i = 0; i < lengthof(names); i++) {
		ifp_print(text, index, i == 0 ? "@%s(" : " AS peak, @%s(", names[i]);
		appendStringInfo(text, "greatest(r.ts, c.bucket_start, $1)::%s, r.ends::%s", type, type);
		if (index->time_type == INT8OID)
			appendStringInfo(text, ", r.ends = 9223372036854775807 AND NOT (%s)", ends_at_greatest(index));
		appendStringInfoChar(text, ')');
	}
	appendStringInfoString(text, " AS peak_ts");
}

/* Returns the query of every span that reaches into the window with every bucket that it overlaps, in groups of series and
 * bucket; `aggregates` are its columns after those of the bucket. */
static char *by_bucket(struct ifp_names *names, const char *aggregates)
{
	const struct ifp_sqlgen_index *index = names->index;
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(&text, "SELECT ");
	for (int i = 0; i < index->n_by; i++)
		appendStringInfo(&text, "r.c%d AS %s, ", i + 1, ifp_take_column(names, "by_", index->by[i].name));
	appendStringInfo(&text, "b.bucket AS bucket, c.bucket_start AS bucket_start, c.bucket_end AS bucket_end, %s FROM ",
			 aggregates);
	add_spans(&text, index);
	/* if there are more buckets than times, the first is empty, yet spans that start before it cover it */
	ifp_print(&text, index,
		  " CROSS JOIN LATERAL generate_series(CASE WHEN r.ts < $1 AND $3 > 1 THEN 0 ELSE " IFP_BUCKET_OF(
			  "greatest(r.ts, $1)") " END, @bucket_of(least(");
	add_last_inside(&text, index);
	ifp_print(&text, index,
		  ", " IFP_LAST "), " IFP_BUCKETING ")) AS b(bucket) "
		  "CROSS JOIN LATERAL (SELECT " IFP_BOUNDS("b.bucket") ") AS c(bucket_start, bucket_end)");
	return text.data;
}

static void take_fixed_names(struct ifp_names *names)
{
	static const char *const fixed[] = { "t0",     "t1",	       "n",	     "step", "origin", "fill",
					     "bucket", "bucket_start", "bucket_end", NULL };

	ifp_take_names(names, fixed);
}

char *ifp_overlap_query(const struct ifp_sqlgen_index *index)
{
	struct ifp_names names = { index, NIL };
	StringInfoData text, overlaps;

	initStringInfo(&text);
	initStringInfo(&overlaps);
	take_fixed_names(&names);
	ifp_take_name(&names, "count");
	add_overlaps(&overlaps, &names);
	appendStringInfoString(&text, by_bucket(&names, overlaps.data));
	ifp_add_group_by(&text, index->n_by + 3);
	return text.data;
}

char *ifp_peak_query(const struct ifp_sqlgen_index *index)
{
	struct ifp_names names = { index, NIL };
	StringInfoData text, peaks;

	initStringInfo(&text);
	initStringInfo(&peaks);
	take_fixed_names(&names);
	ifp_take_name(&names, "peak");
	ifp_take_name(&names, "peak_ts");
	add_peaks(&peaks, index);
	appendStringInfoString(&text, by_bucket(&names, peaks.data));
	if (index->time_type != INT8OID)
		appendStringInfoString(&text, " WHERE isfinite(r.ts)");
	ifp_add_group_by(&text, index->n_by + 3);
	return text.data;
}

/* ---- from the index ---- */

static void add_type(StringInfo text, Form_pg_attribute column)
{
	appendStringInfoString(text, format_type_extended(column->atttypid, column->atttypmod,
							  FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
	if (OidIsValid(column->attcollation))
		appendStringInfo(text, " COLLATE %s", generate_collation_name(column->attcollation));
}

/* Appends the call of iforest_overlap_spans() with these arguments and its column definitions. For a partitioned table it also
 * returns the row. */
static void add_index(StringInfo text, const struct ifp_sqlgen_index *index, const char *arguments, TupleDesc columns)
{
	ifp_print(text, index, "@overlap_spans((SELECT i FROM i), %s) AS o(", arguments);
	for (int i = 0; i < columns->natts; i++) {
		if (index->is_partitioned && i == columns->natts - 1)
			appendStringInfoString(text, ", ctid_of tid");
		appendStringInfo(text, "%sc%d ", i == 0 ? "" : ", ", i + 1);
		add_type(text, TupleDescAttr(columns, i));
	}
	appendStringInfoString(text, ")");
}

/* Appends the sums over all partitions. */
static void add_partitions(StringInfo text, const struct ifp_sqlgen_index *index, TupleDesc columns)
{
	int n = index->n_by + 3;

	appendStringInfo(text, "(SELECT %s", ifp_numbers(1, n));
	appendStringInfo(text,
			 is_of_intervals(index) ? ", sum(c%d)::bigint, justify_hours(sum(c%d))"
						: ", sum(c%d)::bigint, sum(c%d)::%s",
			 n + 1, n + 2, format_type_be(TupleDescAttr(columns, n + 1)->atttypid));
	ifp_print(text, index, ", max(c%d), @max_time(c%d, c%d, ctid_of) FROM ", n + 3, n + 3, n + 4);
	add_index(text, index, IFP_BUCKETING, columns);
	appendStringInfo(text, " GROUP BY %s) AS parts(%s)", ifp_numbers(1, n), ifp_numbers(1, columns->natts));
}

/* Appends the call of iforest_overlap_index(), which is evaluated once: I. */
static void add_which_index(StringInfo text, const struct ifp_sqlgen_index *index)
{
	ifp_print(text, index,
		  "WITH i(i) AS MATERIALIZED (SELECT @overlap_index(%s::regclass, %s::text[], %s, %d)) SELECT * FROM ",
		  quote_literal_cstr(index->table), quote_literal_cstr(index->columns),
		  index->predicate ? quote_literal_cstr(index->predicate) : "NULL", index->length);
}

/* What a function returns for each bucket. */
struct told {
	const char *fill; /* the suffix of the part with fills */
	char *query;	  /* over the table */
	bool adds_up;	  /* that of a table is a sum over its partitions */
	int n_counts; /* the first columns after those of the bucket that are 0 where nothing is open; the others are NULL */
};

static struct told tell_overlaps(const struct ifp_sqlgen_index *index)
{
	return (struct told){ .fill = IFP_OVERLAP_FILL, .query = ifp_overlap_query(index), .adds_up = true, .n_counts = 2 };
}

static struct told tell_peaks(const struct ifp_sqlgen_index *index)
{
	return (struct told){ .fill = IFP_PEAK_FILL, .query = ifp_peak_query(index), .n_counts = 1 };
}

/* Appends both arms. The index to read is determined once, so exactly one arm answers. Gates are outside the grouping. */
static void add_answer(StringInfo text, const struct ifp_sqlgen_index *index, const struct told *told, TupleDesc columns,
		       bool is_filled)
{
	char *gate = asked(index, "$6", is_filled);

	if (!index->is_overlap_read || (index->is_partitioned && !told->adds_up)) {
		appendStringInfo(text, "SELECT * FROM (%s) AS p WHERE %s", told->query, gate);
		return;
	}
	add_which_index(text, index);
	if (index->is_partitioned)
		add_partitions(text, index, columns);
	else
		add_index(text, index, IFP_BUCKETING, columns);
	appendStringInfo(text, " WHERE %s UNION ALL SELECT * FROM (%s) AS p WHERE (SELECT i FROM i) IS NULL AND %s", gate,
			 told->query, gate);
}

/* ---- the queries ---- */

static void add_names(StringInfo text, TupleDesc columns)
{
	for (int i = 0; i < columns->natts; i++)
		appendStringInfo(text, "%s%s", i == 0 ? "(" : ", ",
				 quote_identifier(NameStr(TupleDescAttr(columns, i)->attname)));
	appendStringInfoString(text, ")");
}

static char *fill_query(const struct ifp_sqlgen_index *index, const struct told *told, TupleDesc columns)
{
	int bucket = index->n_by + 1, count = bucket + 3, n = columns->natts;
	StringInfoData text;

	initStringInfo(&text);
	ifp_print(&text, index, "SELECT * FROM (SELECT %s, " IFP_BOUNDS("c%d") ", coalesce(max(c%d), 0)",
		  ifp_numbers(1, bucket), bucket, bucket, count);
	for (int i = count + 1; i < count + told->n_counts; i++)
		appendStringInfo(&text, ", CASE WHEN $6 = 'zero' AND max(c%d) IS NULL THEN %s ELSE max(c%d) END", count,
				 is_of_intervals(index) ? "interval '0'" : "0", i);
	for (int i = count + told->n_counts; i <= n; i++)
		appendStringInfo(&text, ", max(c%d)", i);
	appendStringInfoString(&text, " FROM (SELECT * FROM (");
	add_answer(&text, index, told, columns, true);
	appendStringInfoString(&text, ") AS answer UNION ALL ");
	ifp_add_all_buckets(&text, index, n);
	appendStringInfo(&text, ") AS g(%s) GROUP BY %s) AS filled", ifp_numbers(1, n), ifp_numbers(1, bucket));
	add_names(&text, columns);
	appendStringInfo(&text, " WHERE %s", asked(index, "$6", true));
	return text.data;
}

static char *by_index(const struct ifp_sqlgen_index *index, const struct told *told, TupleDesc columns)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(&text, "SELECT * FROM (");
	add_answer(&text, index, told, columns, false);
	if (index->is_overlap_filled)
		ifp_add_part(&text, index, told->fill, fill_query(index, told, columns), "'null', 'zero'", columns);
	appendStringInfoString(&text, ") AS answer");
	add_names(&text, columns);
	if (index->n_by == 0)
		appendStringInfoString(&text, " ORDER BY bucket");
	return text.data;
}

char *ifp_overlap_by_index(const struct ifp_sqlgen_index *index, TupleDesc columns)
{
	struct told told = tell_overlaps(index);

	return by_index(index, &told, columns);
}

char *ifp_overlap_fill_query(const struct ifp_sqlgen_index *index, TupleDesc columns)
{
	struct told told = tell_overlaps(index);

	return fill_query(index, &told, columns);
}

char *ifp_peak_by_index(const struct ifp_sqlgen_index *index, TupleDesc columns)
{
	struct told told = tell_peaks(index);

	return by_index(index, &told, columns);
}

char *ifp_peak_fill_query(const struct ifp_sqlgen_index *index, TupleDesc columns)
{
	struct told told = tell_peaks(index);

	return fill_query(index, &told, columns);
}

/* ---- gaps ---- */

char *ifp_gaps_query(const struct ifp_sqlgen_index *index)
{
	static const char *const fixed[] = { "t0", "t1", "longer_than", "gap_start", "gap_end", NULL };
	struct ifp_names names = { index, NIL };
	const char *time = index->time.expression, *type = format_type_be(index->time_type);
	const char *exact = index->time_type == INT8OID ? "::numeric" : "";
	StringInfoData text;

	initStringInfo(&text);
	ifp_take_names(&names, fixed);
	appendStringInfoString(&text, "SELECT ");
	for (int i = 0; i < index->n_by; i++)
		appendStringInfo(&text, "g.c%d AS %s, ", i + 1, ifp_take_column(&names, "by_", index->by[i].name));
	appendStringInfoString(&text, "g.gap_start AS gap_start, g.gap_end AS gap_end FROM (SELECT ");
	for (int i = 0; i < index->n_by; i++)
		appendStringInfo(&text, "%s AS c%d, ", index->by[i].expression, i + 1);
	appendStringInfo(&text, "(max(%s) OVER (", ifp_span_end_text(index));
	for (int i = 0; i < index->n_by; i++)
		appendStringInfo(&text, "%s%s", i == 0 ? "PARTITION BY " : ", ", index->by[i].expression);
	appendStringInfo(&text,
			 " ORDER BY %s ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING))::%s AS gap_start, %s::%s AS gap_end "
			 "FROM %s WHERE %s IS NOT NULL",
			 time, type, time, type, index->table, time);
	if (index->time_type != INT8OID)
		appendStringInfo(&text, " AND isfinite(%s)", time);
	ifp_add_predicate(&text, index, "AND");
	ifp_print(&text, index,
		  ") AS g WHERE g.gap_start < g.gap_end AND g.gap_start <= " IFP_LAST " AND g.gap_end > $1 AND $1 < $2 "
		  "AND ($3 IS NULL OR g.gap_end%s - g.gap_start > $3)",
		  exact);
	return text.data;
}

/* The gaps of a partitioned table are not those of its partitions: its rows are read. */
char *ifp_gaps_by_index(const struct ifp_sqlgen_index *index, TupleDesc columns)
{
	/* the step has the type of a bucket's, and must be greater than 0 */
	const char *zero = is_of_intervals(index) ? "interval '0'" : "0", *query = ifp_gaps_query(index);
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(&text, "SELECT * FROM (");
	if ((index->length < 0 || index->is_overlap_read) && !index->is_partitioned) {
		add_which_index(&text, index);
		add_index(&text, index,
			  psprintf("$1, $2, NULL::bigint, CASE WHEN $3 > %s THEN $3 END, NULL::%s", zero,
				   format_type_be(index->time_type)),
			  columns);
		appendStringInfo(&text, " UNION ALL SELECT * FROM (%s) AS p WHERE (SELECT i FROM i) IS NULL", query);
	} else {
		appendStringInfoString(&text, query);
	}
	appendStringInfoString(&text, ") AS answer");
	add_names(&text, columns);
	return text.data;
}
