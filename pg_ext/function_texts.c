#include "pg_ext/function_texts.h"

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"

/* ---- names ---- */

/* Output columns and arguments of one function. */
struct names {
	const struct iforest_functions *functions;
	List *taken;
};

static bool is_taken(const struct names *names, const char *name)
{
	ListCell *cell;

	foreach(cell, names->taken)
		if (strcmp(lfirst(cell), name) == 0)
			return true;
	return false;
}

static void take(struct names *names, const char *name)
{
	if (strlen(name) >= NAMEDATALEN)
		ereport(ERROR, errcode(ERRCODE_NAME_TOO_LONG),
			errmsg("the functions of index \"%s\" would have a name that is too long", names->functions->index_name),
			errdetail("\"%s\"", name), errhint("Give the index or the column a shorter name."));
	if (is_taken(names, name))
		ereport(ERROR, errcode(ERRCODE_DUPLICATE_COLUMN),
			errmsg("the functions of index \"%s\" would have two columns named \"%s\"", names->functions->index_name, name),
			errhint("Rename one of the columns of the table."));
	names->taken = lappend(names->taken, pstrdup(name));
}

static void take_all(struct names *names, const char *const *list)
{
	for (; *list; list++)
		take(names, *list);
}

/* The name, with a prefix where it is taken; quoted. */
static const char *take_column(struct names *names, const char *prefix, const char *name)
{
	const char *chosen = is_taken(names, name) ? psprintf("%s%s", prefix, name) : name;

	take(names, chosen);
	return quote_identifier(chosen);
}

/* ---- pieces ---- */

/* Names are no formats: they are appended as they are. */
static void add(StringInfo text, const char *piece)
{
	appendStringInfoString(text, piece);
}

static void add_call(StringInfo text, const struct iforest_functions *functions, const char *name)
{
	appendStringInfo(text, "%s.iforest_%s(", functions->extension, name);
}

static void add_bucket_of(StringInfo text, const struct iforest_functions *functions, const char *time)
{
	add_call(text, functions, "bucket_of");
	add(text, time);
	add(text, ", $1, $2, $3, $4, $5)");
}

static void add_bounds(StringInfo text, const struct iforest_functions *functions, const char *bucket)
{
	add_call(text, functions, "bucket_start");
	add(text, bucket);
	add(text, ", $1, $2, $3, $4, $5), ");
	add_call(text, functions, "bucket_end");
	add(text, bucket);
	add(text, ", $1, $2, $3, $4, $5)");
}

static void add_gate(StringInfo text, const struct iforest_functions *functions, const char *fill, bool is_open, bool is_filled)
{
	add_call(text, functions, "window_asks");
	appendStringInfo(text, "$1, $2, $3, $4, $5, %s, %s, %s)", fill, is_open ? "true" : "false", is_filled ? "true" : "false");
}

/* Whichever bounds there are. */
static void add_gates(StringInfo text, const struct iforest_functions *functions, const char *fill, bool is_filled)
{
	add(text, "(");
	add_gate(text, functions, fill, false, is_filled);
	add(text, " OR ");
	add_gate(text, functions, fill, true, is_filled);
	add(text, ")");
}

/* The last time before t1. */
static void add_last(StringInfo text, const struct iforest_functions *functions)
{
	add_call(text, functions, "window_last");
	add(text, "$2)");
}

static void add_predicate(StringInfo text, const struct iforest_functions *functions, const char *word)
{
	if (functions->predicate)
		appendStringInfo(text, " %s (%s)", word, functions->predicate);
}

static bool has_sum(Oid type)
{
	return type != DATEOID && type != TIMESTAMPOID && type != TIMESTAMPTZOID;
}

static bool has_squares(const struct iforest_functions *functions, int v)
{
	return functions->squares >> v & 1;
}

/* ---- windows ---- */

/* What is shown of value column v: the aggregate, and the name, into which its own is put. */
struct shown {
	const char *name, *aggregate;
	bool is_own;      /* of the extension, and of a row */
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
	{ .name = "min_%s_ctid", .aggregate = "min_row", .is_own = true },
	{ .name = "max_%s_ctid", .aggregate = "max_row", .is_own = true },
	{ .name = "min_%s_ts", .aggregate = "min_time", .is_own = true },
	{ .name = "max_%s_ts", .aggregate = "max_time", .is_own = true },
	{ .name = "var_%s", .aggregate = "var_samp", .is_variance = true },
	{ .name = "stddev_%s", .aggregate = "stddev_samp", .is_variance = true },
};

static bool is_shown(const struct iforest_functions *functions, int v, const struct shown *shown)
{
	return (!shown->is_summed || has_sum(functions->values[v].type)) && (!shown->is_variance || has_squares(functions, v));
}

/* %s of the pattern is the name. */
static char *shown_name(const struct shown *shown, const char *name)
{
	const char *at = strstr(shown->name, "%s");

	return psprintf("%.*s%s%s", (int)(at - shown->name), shown->name, name, at + 2);
}

/* Names of the output, in their order; by columns come first, and give way. */
static List *window_names(const struct iforest_functions *functions)
{
	static const char *const fixed[] = { "t0", "t1", "n", "step", "origin", "fill", "bucket", "bucket_start", "bucket_end",
					     "count", "first_ts", "last_ts", NULL };
	const int n_arguments = 6;
	struct names names = { functions, NIL };
	List *by = NIL, *result = NIL;

	take_all(&names, fixed);
	for (int i = n_arguments; fixed[i]; i++)
		result = lappend(result, (char *)fixed[i]);
	for (int v = 0; v < functions->n_values; v++)
		for (size_t s = 0; s < lengthof(all_shown); s++)
			if (is_shown(functions, v, &all_shown[s])) {
				char *name = shown_name(&all_shown[s], functions->values[v].name);

				take(&names, name);
				result = lappend(result, (char *)quote_identifier(name));
			}
	for (int i = 0; i < functions->n_by; i++)
		by = lappend(by, (char *)take_column(&names, "by_", functions->by[i].name));
	return list_concat(by, result);
}

static void add_value(StringInfo text, const struct iforest_functions *functions, int v)
{
	const struct iforest_column *value = &functions->values[v];

	for (size_t s = 0; s < lengthof(all_shown); s++) {
		const struct shown *shown = &all_shown[s];

		if (!is_shown(functions, v, shown))
			continue;
		add(text, ", ");
		if (shown->is_own)
			add_call(text, functions, shown->aggregate);
		else
			appendStringInfo(text, "%s(", shown->aggregate);
		add(text, value->expression);
		if (shown->is_own) {
			add(text, ", ");
			add(text, functions->time.expression);
			add(text, ", ctid");
		}
		add(text, ")");
	}
}

/* Columns of the answer. */
static int n_columns(const struct iforest_functions *functions)
{
	int n = functions->n_by + 6;

	for (int v = 0; v < functions->n_values; v++)
		for (size_t s = 0; s < lengthof(all_shown); s++)
			n += is_shown(functions, v, &all_shown[s]);
	return n;
}

/* (c1, c2, ...), for an alias. */
static void add_columns(StringInfo text, int from, int to)
{
	for (int i = from; i <= to; i++)
		appendStringInfo(text, "%sc%d", i == from ? "(" : ", ", i);
	add(text, ")");
}

/* Number and bounds of the bucket. All times, those of rows without one too, are one bucket. */
static void add_bucket(StringInfo text, const struct iforest_functions *functions, bool is_open)
{
	const char *type = format_type_be(functions->time_type);
	StringInfoData bucket;

	initStringInfo(&bucket);
	add_bucket_of(&bucket, functions, functions->time.expression);
	if (is_open) {
		appendStringInfo(text, "0::bigint, NULL::%s, NULL::%s", type, type);
	} else {
		add(text, bucket.data);
		add(text, ", ");
		add_bounds(text, functions, bucket.data);
	}
}

/* GROUP BY series and bucket. No row is no group, without group keys neither. */
static void add_group_by(StringInfo text, const struct iforest_functions *functions, bool is_open)
{
	int n = functions->n_by + (is_open ? 0 : 1);

	for (int i = 1; i <= n; i++)
		appendStringInfo(text, "%s%d", i == 1 ? " GROUP BY " : ", ", i);
	if (n == 0)
		add(text, " HAVING count(*) > 0");
}

/* The gate stands outside of the grouping: then nothing is planned below one that is known to be shut. */
static void add_grouped(StringInfo text, const struct iforest_functions *functions, bool is_open, bool is_filled)
{
	add(text, "SELECT * FROM (SELECT ");
	for (int i = 0; i < functions->n_by; i++) {
		add(text, functions->by[i].expression);
		add(text, ", ");
	}
	add_bucket(text, functions, is_open);
	appendStringInfo(text, ", count(*), min(%s), max(%s)", functions->time.expression, functions->time.expression);
	for (int v = 0; v < functions->n_values; v++)
		add_value(text, functions, v);
	appendStringInfo(text, " FROM %s", functions->table);
	if (!is_open) {
		appendStringInfo(text, " WHERE %s >= $1 AND %s <= ", functions->time.expression, functions->time.expression);
		add_last(text, functions);
	}
	add_predicate(text, functions, is_open ? "WHERE" : "AND");
	add_group_by(text, functions, is_open);
	add(text, ") AS grouped");
	add_columns(text, 1, n_columns(functions));
	add(text, " WHERE ");
	add_gate(text, functions, "$6", is_open, is_filled);
}

/* Of each series (s) and bucket (b) what the groups (g) have of it. */
static void add_filled(StringInfo text, const struct iforest_functions *functions)
{
	int column = functions->n_by + 4;

	add(text, "SELECT ");
	for (int i = 0; i < functions->n_by; i++)
		appendStringInfo(text, "s.c%d, ", i + 1);
	add(text, "b.b, ");
	add_bounds(text, functions, "b.b");
	appendStringInfo(text, ", coalesce(g.c%d, 0), g.c%d, g.c%d", column, column + 1, column + 2);
	column += 3;
	for (int v = 0; v < functions->n_values; v++)
		for (size_t s = 0; s < lengthof(all_shown); s++) {
			if (!is_shown(functions, v, &all_shown[s]))
				continue;
			if (all_shown[s].is_zero)
				appendStringInfo(text, ", CASE WHEN $6 = 'zero' THEN coalesce(g.c%d, 0) ELSE g.c%d END", column, column);
			else
				appendStringInfo(text, ", g.c%d", column);
			column++;
		}
	add(text, " FROM ");
	if (functions->n_by > 0) {
		add(text, "(SELECT DISTINCT ");
		for (int i = 0; i < functions->n_by; i++)
			appendStringInfo(text, "%s%s", i > 0 ? ", " : "", functions->by[i].expression);
		appendStringInfo(text, " FROM %s", functions->table);
		add_predicate(text, functions, "WHERE");
		add(text, ") AS s");
		add_columns(text, 1, functions->n_by);
		add(text, " CROSS JOIN ");
	}
	add(text, "generate_series(");
	add_bucket_of(text, functions, "$1");
	add(text, ", ");
	add_call(text, functions, "bucket_of");
	add_last(text, functions);
	add(text, ", $1, $2, $3, $4, $5)) AS b(b) LEFT JOIN (");
	add_grouped(text, functions, false, true);
	add(text, " UNION ALL ");
	add_grouped(text, functions, true, true);
	add(text, ") AS g");
	add_columns(text, 1, n_columns(functions));
	appendStringInfo(text, " ON g.c%d = b.b", functions->n_by + 1);
	for (int i = 1; i <= functions->n_by; i++)
		appendStringInfo(text, " AND g.c%d IS NOT DISTINCT FROM s.c%d", i, i);
	add(text, " WHERE ");
	add_gates(text, functions, "$6", true);
}

char *iforest_window_query(const struct iforest_functions *functions)
{
	StringInfoData text;
	const char *separator = "";
	ListCell *cell;

	initStringInfo(&text);
	add(&text, "SELECT * FROM (");
	add_grouped(&text, functions, false, false);
	add(&text, " UNION ALL ");
	add_grouped(&text, functions, true, false);
	add(&text, " UNION ALL ");
	add_filled(&text, functions);
	add(&text, ") AS answer(");
	foreach(cell, window_names(functions)) {
		add(&text, separator);
		add(&text, lfirst(cell));
		separator = ", ";
	}
	add(&text, ")");
	if (functions->n_by == 0)
		add(&text, " ORDER BY bucket");
	return text.data;
}

/* ---- rows ---- */

/* The end of a row's span. */
static char *span_end(const struct iforest_functions *functions)
{
	const struct iforest_column *length = functions->length < 0 ? NULL : &functions->values[functions->length];
	StringInfoData text;

	initStringInfo(&text);
	if (!length) {
		add(&text, functions->time.expression);
	} else if (functions->is_end) {
		appendStringInfo(&text, "greatest(%s, %s)", functions->time.expression, length->expression);
	} else {
		add_call(&text, functions, "span_end");
		appendStringInfo(&text, "%s, %s, %s)", functions->time.expression, length->expression, functions->unit ? functions->unit : "NULL");
	}
	return text.data;
}

/* Which rows reach into [$1, $2). No span that begins before lasts longer than the longest of those: that is a range of times. */
static void add_reaching(StringInfo text, const struct iforest_functions *functions)
{
	const char *time = functions->time.expression;

	appendStringInfo(text, " FROM %s WHERE %s <= ", functions->table, time);
	add_last(text, functions);
	if (functions->length >= 0 && !functions->is_end) {
		appendStringInfo(text, " AND %s >= ", time);
		add_call(text, functions, "span_earliest");
		appendStringInfo(text, "$1, (SELECT max(%s) FROM %s WHERE %s < $1", functions->values[functions->length].expression,
				 functions->table, time);
		add_predicate(text, functions, "AND");
		appendStringInfo(text, "), %s)", functions->unit ? functions->unit : "NULL");
	}
	appendStringInfo(text, " AND (%s >= $1", time);
	if (functions->length >= 0)
		appendStringInfo(text, " OR %s > $1", span_end(functions));
	add(text, ")");
	add_predicate(text, functions, "AND");
}

char *iforest_rows_query(const struct iforest_functions *functions)
{
	static const char *const fixed[] = { "t0", "t1", "ctid", "end_ts", NULL };
	struct names names = { functions, NIL };
	StringInfoData text;

	initStringInfo(&text);
	take_all(&names, fixed);
	add(&text, "SELECT ctid AS ctid, ");
	for (int i = 0; i < functions->n_by; i++)
		appendStringInfo(&text, "%s AS %s, ", functions->by[i].expression, take_column(&names, "by_", functions->by[i].name));
	appendStringInfo(&text, "%s AS %s", functions->time.expression, take_column(&names, "time_", functions->time.name));
	for (int v = 0; v < functions->n_values; v++)
		appendStringInfo(&text, ", %s AS %s", functions->values[v].expression,
				 take_column(&names, "value_", functions->values[v].name));
	if (functions->length >= 0)
		appendStringInfo(&text, ", %s AS end_ts", span_end(functions));
	add_reaching(&text, functions);
	return text.data;
}

/* ---- overlap ---- */

/* r: rows with by columns c1 ..., their time, end, length and ctid. */
static void add_spans(StringInfo text, const struct iforest_functions *functions)
{
	const struct iforest_column *length = &functions->values[functions->length];
	bool is_number = functions->time_type == INT8OID;
	const char *end = span_end(functions);

	add(text, "(SELECT ");
	for (int i = 0; i < functions->n_by; i++)
		appendStringInfo(text, "%s AS c%d, ", functions->by[i].expression, i + 1);
	appendStringInfo(text, "%s AS ts, %s AS ends, ", functions->time.expression, end);
	if (!functions->is_end)
		appendStringInfo(text, "greatest(%s, 0)", length->expression);
	else if (is_number)
		appendStringInfo(text, "%s::numeric - %s", end, functions->time.expression);
	else
		appendStringInfo(text, "%s - %s", end, functions->time.expression);
	add(text, " AS length, ctid AS id");
	add_reaching(text, functions);
	add(text, " AND ");
	add_gates(text, functions, "NULL", false);
	add(text, ") AS r");
}

char *iforest_overlap_query(const struct iforest_functions *functions)
{
	static const char *const fixed[] = { "t0", "t1", "n", "step", "origin", "bucket", "bucket_start", "bucket_end", "count", "clipped",
					     "longest", "longest_ts", "longest_ctid", NULL };
	struct names names = { functions, NIL };
	const char *number = functions->time_type == INT8OID ? "::numeric" : "";
	StringInfoData text;

	initStringInfo(&text);
	take_all(&names, fixed);
	add(&text, "SELECT ");
	for (int i = 0; i < functions->n_by; i++)
		appendStringInfo(&text, "r.c%d AS %s, ", i + 1, take_column(&names, "by_", functions->by[i].name));
	appendStringInfo(&text, "b.bucket AS bucket, c.bucket_start AS bucket_start, c.bucket_end AS bucket_end, count(*) AS count, "
			 "sum(least(r.ends, c.bucket_end, $2)%s - greatest(r.ts, c.bucket_start, $1)%s) AS clipped, max(r.length) AS longest, ",
			 number, number);
	add_call(&text, functions, "max_time");
	add(&text, "r.length, r.ts, r.id) AS longest_ts, ");
	add_call(&text, functions, "max_row");
	add(&text, "r.length, r.ts, r.id) AS longest_ctid FROM ");
	add_spans(&text, functions);
	add(&text, " CROSS JOIN LATERAL generate_series(");
	add_bucket_of(&text, functions, "greatest(r.ts, $1)");
	add(&text, ", ");
	add_call(&text, functions, "bucket_of");
	add(&text, "least(greatest(");
	add_call(&text, functions, "window_last");
	add(&text, "r.ends), r.ts), ");
	add_last(&text, functions);
	add(&text, "), $1, $2, $3, $4, $5)) AS b(bucket) CROSS JOIN LATERAL (SELECT ");
	add_bounds(&text, functions, "b.bucket");
	add(&text, ") AS c(bucket_start, bucket_end) WHERE (c.bucket_start < c.bucket_end) IS NOT FALSE GROUP BY ");
	for (int i = 0; i < functions->n_by + 3; i++)
		appendStringInfo(&text, "%s%d", i > 0 ? ", " : "", i + 1);
	if (functions->n_by == 0)
		add(&text, " ORDER BY 1");
	return text.data;
}
