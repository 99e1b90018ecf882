#include "pg_ext/sql/sqlgen_counter.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "pg_ext/base/engine.h"
#include "pg_ext/sql/sqlgen_overlap.h"

/* ---- values ---- */

static bool is_number(Oid type)
{
	return type != DATEOID && type != TIMESTAMPOID && type != TIMESTAMPTZOID && type != BOOLOID;
}

static bool is_real(Oid type)
{
	return type == FLOAT4OID || type == FLOAT8OID;
}

bool ifp_has_counters(const struct ifp_sqlgen_index *index)
{
	bool has_numbers = false;

	for (int v = 0; v < index->n_values; v++)
		has_numbers = has_numbers || is_number(index->values[v].type);
	return has_numbers && index->is_carried;
}

enum { N_OF_COUNTER = 7 };

static const char *const column_formats[N_OF_COUNTER] = { "count_%s",	 "start_%s", "end_%s",	 "twa_%s",
							  "increase_%s", "rate_%s",  "resets_%s" };

static int n_counters(const struct ifp_sqlgen_index *index)
{
	int n = 0;

	for (int v = 0; v < index->n_values; v++)
		n += is_number(index->values[v].type);
	return n;
}

/* Appends a comma and NULL, for each of n columns. */
static void add_nulls(StringInfo text, int n)
{
	for (int i = 0; i < n; i++)
		appendStringInfoString(text, ", NULL");
}

static void add_by(StringInfo text, const struct ifp_sqlgen_index *index)
{
	for (int i = 0; i < index->n_by; i++)
		appendStringInfo(text, "%s, ", index->by[i].expression);
}

/* ---- times ---- */

/* Appends the distance from b to a as numeric; for timestamps in seconds. */
static void add_distance(StringInfo text, const struct ifp_sqlgen_index *index, const char *a, const char *b)
{
	if (index->time_type == INT8OID)
		appendStringInfo(text, "((%s)::numeric - (%s))", a, b);
	else if (index->time_type == DATEOID)
		appendStringInfo(text, "((%s) - (%s))::numeric", a, b);
	else
		appendStringInfo(text, "extract(epoch FROM (%s) - (%s))::numeric", a, b);
}

/* Appends the time until which a row's values are valid, if the row gives one. */
static void add_until(StringInfo text, const struct ifp_sqlgen_index *index)
{
	const char *type = format_type_be(index->time_type);

	if (index->length < 0) {
		appendStringInfo(text, "NULL::%s", type);
		return;
	}
	appendStringInfo(text, "CASE WHEN %s >= %s THEN %s END::%s", index->values[index->length].expression,
			 index->is_end ? index->time.expression : "0", ifp_span_end_text(index), type);
}

/* ---- arms ---- */

static void add_window(StringInfo text, const struct ifp_sqlgen_index *index)
{
	ifp_print(text, index, " FROM %s WHERE %s >= $1 AND %s <= " IFP_LAST, index->table, index->time.expression,
		  index->time.expression);
	ifp_add_predicate(text, index, "AND");
}

/* Appends a NULL with the type of each column of each counter, as the first arm of a UNION must. */
static void add_typed_nulls(StringInfo text, const struct ifp_sqlgen_index *index)
{
	for (int v = 0; v < index->n_values; v++) {
		Oid type = index->values[v].type;
		const char *name = format_type_be(type);

		if (is_number(type))
			appendStringInfo(
				text, ", NULL::bigint, NULL::%s, NULL::%s, NULL::float8, NULL::%s, NULL::float8, NULL::bigint",
				name, name, is_real(type) ? "float8" : "numeric");
	}
}

/* Appends the rows of each bucket: how many, the first and the last time. */
static void add_rows(StringInfo text, const struct ifp_sqlgen_index *index)
{
	const char *time = index->time.expression;

	appendStringInfoString(text, "SELECT ");
	add_by(text, index);
	ifp_print(text, index, IFP_BUCKET_OF("%s") ", count(*), min(%s), max(%s)", time, time, time);
	add_typed_nulls(text, index);
	add_window(text, index);
	ifp_add_group_by(text, index->n_by + 1);
}

/* Appends all buckets of each series from its first row on, except empty intervals. */
static void add_buckets(StringInfo text, const struct ifp_sqlgen_index *index)
{
	const char *time = index->time.expression;

	appendStringInfoString(text, " UNION ALL SELECT ");
	for (int i = 1; i <= index->n_by; i++)
		appendStringInfo(text, "f.c%d, ", i);
	appendStringInfoString(text, "b.bucket");
	add_nulls(text, 3 + N_OF_COUNTER * n_counters(index));
	appendStringInfoString(text, " FROM (SELECT ");
	add_by(text, index);
	ifp_print(text, index, "min(%s) FROM %s WHERE %s <= " IFP_LAST, time, index->table, time);
	ifp_add_predicate(text, index, "AND");
	ifp_add_group_by(text, index->n_by);
	appendStringInfoString(text, ") AS f(");
	for (int i = 1; i <= index->n_by; i++)
		appendStringInfo(text, "c%d, ", i);
	ifp_print(text, index,
		  "ts) CROSS JOIN LATERAL generate_series(" IFP_BUCKET_OF("greatest(f.ts, $1)") ", " IFP_BUCKET_OF(
			  IFP_LAST) ") AS b(bucket) WHERE f.ts IS NOT NULL AND greatest(@bucket_start(b.bucket, " IFP_BUCKETING
				    "), $1) < least(@bucket_end(b.bucket, " IFP_BUCKETING "), $2)");
}

/* Appends the time until which the sample l is valid. Its row is found by ctid, or in a partitioned table by series and
 * time. */
static void add_until_of_last(StringInfo text, const struct ifp_sqlgen_index *index, const struct ifp_sqlgen_column *value)
{
	if (index->length < 0) {
		add_until(text, index);
		return;
	}
	appendStringInfoString(text, "(SELECT ");
	add_until(text, index);
	appendStringInfo(text, " FROM %s AS held WHERE ", index->table);
	if (!index->is_partitioned) {
		appendStringInfoString(text, "ctid = l.id)");
		return;
	}
	appendStringInfo(text, "%s = l.ts AND %s IS NOT NULL", index->time.expression, value->expression);
	for (int i = 1; i <= index->n_by; i++) {
		const char *by = index->by[i - 1].expression;

		appendStringInfo(text, " AND (%s = l.c%d OR (%s IS NULL AND l.c%d IS NULL))", by, i, by, i);
	}
	ifp_add_predicate(text, index, "AND");
	appendStringInfo(text, " ORDER BY ctid DESC, %s DESC, 1 DESC LIMIT 1)", value->expression);
}

/* Appends the samples of a value: those of the window, and the last one of each series before it. */
static void add_samples(StringInfo text, const struct ifp_sqlgen_index *index, const struct ifp_sqlgen_column *value)
{
	const char *time = index->time.expression, *type = format_type_be(index->time_type);

	appendStringInfoString(text, "SELECT ");
	add_by(text, index);
	appendStringInfo(text, "%s::%s, ctid, %s, ", time, type, value->expression);
	add_until(text, index);
	add_window(text, index);
	appendStringInfo(text, " AND %s IS NOT NULL UNION ALL SELECT ", value->expression);
	for (int i = 1; i <= index->n_by; i++)
		appendStringInfo(text, "l.c%d, ", i);
	appendStringInfo(text, "l.ts::%s, l.id, l.v, ", type);
	add_until_of_last(text, index, value);
	appendStringInfoString(text, " FROM (SELECT ");
	add_by(text, index);
	ifp_print(text, index, "@last_time(%s, %s, ctid), ", value->expression, time);
	if (index->is_partitioned)
		appendStringInfoString(text, "NULL::tid, ");
	else
		ifp_print(text, index, "@last_row(%s, %s, ctid), ", value->expression, time);
	ifp_print(text, index, "@last(%s, %s, ctid) FROM %s WHERE %s < $1", value->expression, time, index->table, time);
	ifp_add_predicate(text, index, "AND");
	ifp_add_group_by(text, index->n_by);
	appendStringInfoString(text, ") AS l(");
	for (int i = 1; i <= index->n_by; i++)
		appendStringInfo(text, "c%d, ", i);
	appendStringInfoString(text, "ts, id, v) WHERE l.ts IS NOT NULL");
}

/* Appends the seven columns of a value, over samples s in the bucket c. */
static void add_columns(StringInfo text, const struct ifp_sqlgen_index *index, const struct ifp_sqlgen_column *value)
{
	const char *number = is_real(value->type) ? "float8" : "numeric";
	StringInfoData held, width, increase;

	initStringInfo(&held);
	initStringInfo(&width);
	initStringInfo(&increase);
	add_distance(&held, index, "least(s.next_ts, s.until, c.z)", "greatest(s.ts, c.a)");
	add_distance(&width, index, "c.z", "c.a");
	appendStringInfo(&increase,
			 "sum(CASE WHEN s.ts < c.a OR s.before IS NULL THEN 0::%s WHEN s.v < s.before THEN s.v::%s "
			 "ELSE s.v::%s - s.before::%s END)",
			 number, number, number, number);
	appendStringInfoString(text, ", count(*) FILTER (WHERE s.ts >= c.a)");
	appendStringInfoString(text, ", (array_agg(CASE WHEN s.ts < c.a THEN s.v ELSE s.before END ORDER BY s.ts, s.id))[1]");
	appendStringInfoString(text, ", (array_agg(s.v ORDER BY s.ts DESC, s.id DESC))[1]");
	appendStringInfo(text, ", (sum(s.v::%s * greatest(%s, 0)::%s) / nullif(sum(greatest(%s, 0)::%s), 0))::float8", number,
			 held.data, number, held.data, number);
	appendStringInfo(text, ", %s, %s::float8 / %s::float8", increase.data, increase.data, width.data);
	appendStringInfoString(text, ", count(*) FILTER (WHERE s.ts >= c.a AND s.v < s.before)");
}

/* Appends the counter of a value, the i-th number, in each bucket in which one of its samples is taken or valid. */
static void add_counter(StringInfo text, const struct ifp_sqlgen_index *index, const struct ifp_sqlgen_column *value, int i)
{
	appendStringInfoString(text, " UNION ALL SELECT ");
	for (int b = 1; b <= index->n_by; b++)
		appendStringInfo(text, "s.c%d, ", b);
	appendStringInfoString(text, "b.bucket");
	add_nulls(text, 3 + N_OF_COUNTER * i);
	add_columns(text, index, value);
	add_nulls(text, N_OF_COUNTER * (n_counters(index) - i - 1));
	appendStringInfoString(text, " FROM (SELECT w.*, lead(w.ts) OVER o AS next_ts, lag(w.v) OVER o AS before FROM (");
	add_samples(text, index, value);
	appendStringInfoString(text, ") AS w(");
	for (int b = 1; b <= index->n_by; b++)
		appendStringInfo(text, "c%d, ", b);
	appendStringInfoString(text, "ts, id, v, until) WINDOW o AS (");
	for (int b = 1; b <= index->n_by; b++)
		appendStringInfo(text, "%sw.c%d", b == 1 ? "PARTITION BY " : ", ", b);
	ifp_print(
		text, index,
		" ORDER BY w.ts, w.id)) AS s CROSS JOIN LATERAL generate_series(" IFP_BUCKET_OF("greatest(s.ts, $1)") ", " IFP_BUCKET_OF(
			"CASE WHEN s.next_ts IS NULL THEN " IFP_LAST
			" ELSE greatest(@window_last(s.next_ts), s.ts, $1) END") ") AS b(bucket) CROSS JOIN LATERAL ("
										 "SELECT greatest(@bucket_start(b.bucket, " IFP_BUCKETING
										 "), $1), least(@bucket_end(b.bucket, " IFP_BUCKETING
										 "), $2)) AS c(a, z) WHERE c.a < c.z GROUP BY ");
	for (int b = 1; b <= index->n_by; b++)
		appendStringInfo(text, "s.c%d, ", b);
	appendStringInfoString(text, "b.bucket, c.a, c.z");
}

/* ---- the query ---- */

/* Appends the names of the output. */
static void add_names(StringInfo text, const struct ifp_sqlgen_index *index)
{
	static const char *const fixed[] = { "t0",	     "t1",	   "n",	    "step",	"origin",  "bucket",
					     "bucket_start", "bucket_end", "count", "first_ts", "last_ts", NULL };
	const int n_arguments = 5;
	struct ifp_names names = { index, NIL };
	StringInfoData shown;

	initStringInfo(&shown);
	ifp_take_names(&names, fixed);
	for (int i = n_arguments; fixed[i]; i++)
		appendStringInfo(&shown, "%s%s", i > n_arguments ? ", " : "", fixed[i]);
	for (int v = 0; v < index->n_values; v++)
		for (int c = 0; is_number(index->values[v].type) && c < N_OF_COUNTER; c++) {
			const char *format = column_formats[c];
			char *name = psprintf("%.*s%s", (int)(strlen(format) - 2), format, index->values[v].name);

			ifp_take_name(&names, name);
			appendStringInfo(&shown, ", %s", quote_identifier(name));
		}
	for (int i = 0; i < index->n_by; i++)
		appendStringInfo(text, "%s, ", ifp_take_column(&names, "by_", index->by[i].name));
	appendStringInfoString(text, shown.data);
}

char *ifp_counter_query(const struct ifp_sqlgen_index *index)
{
	int bucket = index->n_by + 1, column = index->n_by + 2, i = 0;
	StringInfoData text;

	initStringInfo(&text);
	ifp_print(&text, index, "SELECT * FROM (SELECT %s, " IFP_BOUNDS("c%d") ", coalesce(max(c%d), 0), max(c%d), max(c%d)",
		  ifp_numbers(1, bucket), bucket, bucket, column, column + 1, column + 2);
	for (column += 3; i < N_OF_COUNTER * n_counters(index); i++)
		appendStringInfo(&text, i % N_OF_COUNTER == 0 ? ", coalesce(max(c%d), 0)" : ", max(c%d)", column + i);
	appendStringInfoString(&text, " FROM (");
	add_rows(&text, index);
	add_buckets(&text, index);
	i = 0;
	for (int v = 0; v < index->n_values; v++)
		if (is_number(index->values[v].type))
			add_counter(&text, index, &index->values[v], i++);
	ifp_print(&text, index, ") AS g(%s) WHERE @window_asks(" IFP_BUCKETING ", 'null', false, true) GROUP BY %s) AS answer(",
		  ifp_numbers(1, column + N_OF_COUNTER * n_counters(index) - 1), ifp_numbers(1, bucket));
	add_names(&text, index);
	appendStringInfoString(&text, ")");
	if (index->n_by == 0)
		appendStringInfoString(&text, " ORDER BY bucket");
	return text.data;
}
