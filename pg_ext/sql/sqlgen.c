#include "pg_ext/sql/sqlgen.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "pg_ext/base/engine.h"

/* ---- names ---- */

static bool is_taken(const struct ifp_names *names, const char *name)
{
	ListCell *cell;

	foreach (cell, names->taken)
		if (strcmp(lfirst(cell), name) == 0)
			return true;
	return false;
}

void ifp_take_name(struct ifp_names *names, const char *name)
{
	if (strlen(name) >= NAMEDATALEN)
		ereport(ERROR, errcode(ERRCODE_NAME_TOO_LONG),
			errmsg("the functions of index \"%s\" would have a name that is too long", names->index->index_name),
			errdetail("\"%s\"", name), errhint("Give the index or the column a shorter name."));
	if (is_taken(names, name))
		ereport(ERROR, errcode(ERRCODE_DUPLICATE_COLUMN),
			errmsg("the functions of index \"%s\" would have two columns named \"%s\"", names->index->index_name,
			       name),
			errhint("Rename one of the columns of the table."));
	names->taken = lappend(names->taken, pstrdup(name));
}

void ifp_take_names(struct ifp_names *names, const char *const *list)
{
	for (; *list; list++)
		ifp_take_name(names, *list);
}

const char *ifp_take_column(struct ifp_names *names, const char *prefix, const char *name)
{
	const char *chosen = is_taken(names, name) ? psprintf("%s%s", prefix, name) : name;

	ifp_take_name(names, chosen);
	return quote_identifier(chosen);
}

/* ---- pieces ---- */

void ifp_print(StringInfo text, const struct ifp_sqlgen_index *index, const char *format, ...)
{
	StringInfoData expanded;
	int n_more;

	initStringInfo(&expanded);
	for (; *format; format++) {
		if (*format != '@') {
			appendStringInfoChar(&expanded, *format);
			continue;
		}
		for (const char *c = index->extension; *c; c++)
			appendStringInfo(&expanded, "%.*s", *c == '%' ? 2 : 1, *c == '%' ? "%%" : c);
		appendStringInfoString(&expanded, ".iforest_");
	}
	do {
		va_list arguments;

		va_start(arguments, format);
		n_more = appendStringInfoVA(text, expanded.data, arguments);
		va_end(arguments);
		if (n_more)
			enlargeStringInfo(text, n_more);
	} while (n_more);
	pfree(expanded.data);
}

void ifp_add_gates(StringInfo text, const struct ifp_sqlgen_index *index, const char *fill, bool is_filled)
{
	const char *filled = is_filled ? "true" : "false";

	ifp_print(text, index,
		  "(@window_asks(" IFP_BUCKETING ", %s, false, %s) OR @window_asks(" IFP_BUCKETING ", %s, true, %s))", fill,
		  filled, fill, filled);
}

void ifp_add_predicate(StringInfo text, const struct ifp_sqlgen_index *index, const char *word)
{
	if (index->predicate)
		appendStringInfo(text, " %s (%s)", word, index->predicate);
}

/* Appends the columns with their collations, since a function's columns have the collation of their type. */
static void add_collated(StringInfo text, TupleDesc columns)
{
	for (int i = 0; i < columns->natts; i++) {
		Form_pg_attribute column = TupleDescAttr(columns, i);

		appendStringInfo(text, "%sc%d", i == 0 ? "" : ", ", i + 1);
		if (OidIsValid(column->attcollation) && column->attcollation != get_typcollation(column->atttypid))
			appendStringInfo(text, " COLLATE %s", generate_collation_name(column->attcollation));
	}
}

void ifp_add_part(StringInfo text, const struct ifp_sqlgen_index *index, const char *suffix, const char *query,
		  const char *fills, TupleDesc columns)
{
	if (index->distributed) {
		appendStringInfo(text, " UNION ALL SELECT * FROM (%s) AS part WHERE $6 IN (%s)", query, fills);
		return;
	}
	appendStringInfoString(text, " UNION ALL SELECT ");
	add_collated(text, columns);
	appendStringInfo(text, " FROM %s.%s($1, $2, $3, $4, $5, ", index->schema,
			 quote_identifier(psprintf("%s%s", index->index_name, suffix)));
	/* a call with a subselect among its arguments is not inlined */
	appendStringInfo(text, "CASE WHEN $6 IN (%s) THEN $6 ELSE (SELECT $6) END) AS part(%s) WHERE $6 IN (%s)", fills,
			 ifp_numbers(1, columns->natts), fills);
}

/* ---- columns ---- */

/* An aggregate of each value column, or of each accumulator of a kind. Its name is prefix_column suffix. */
struct shown {
	const char *prefix, *suffix, *aggregate;
	bool is_own;	/* an aggregate of a row, of this extension */
	bool is_ctid;	/* not for a partitioned table */
	bool is_summed; /* only for numbers */
	bool is_count;	/* becomes 0 in a filled bucket, except with fill => 'null' */
	bool is_zero;	/* becomes 0 with fill => 'zero' */
	bool is_end;	/* of the first and the last row: shown if the extension has functions for all of them, after the rest;
			 * otherwise needed to carry values into other buckets, and not shown */
};

/* A column of the output. */
struct window_column {
	const struct ifp_sqlgen_column *value; /* NULL if it is of an accumulator */
	const struct shown *shown;
	char *name, *call;
};

/* The treatment of buckets without rows or values. */
enum window_fill { WINDOW_PLAIN, WINDOW_FILLED, WINDOW_CARRIED };

static const struct shown of_values[] = {
	{ .prefix = "count", .aggregate = "count", .is_count = true, .is_zero = true },
	{ .prefix = "sum", .aggregate = "sum", .is_summed = true, .is_zero = true },
	{ .prefix = "min", .aggregate = "min" },
	{ .prefix = "max", .aggregate = "max" },
	{ .prefix = "avg", .aggregate = "avg", .is_summed = true },
	{ .prefix = "first", .aggregate = "first", .is_own = true },
	{ .prefix = "last", .aggregate = "last", .is_own = true },
	{ .prefix = "min", .suffix = "_ctid", .aggregate = "min_row", .is_own = true, .is_ctid = true },
	{ .prefix = "max", .suffix = "_ctid", .aggregate = "max_row", .is_own = true, .is_ctid = true },
	{ .prefix = "min", .suffix = "_ts", .aggregate = "min_time", .is_own = true },
	{ .prefix = "max", .suffix = "_ts", .aggregate = "max_time", .is_own = true },
	{ .prefix = "first", .suffix = "_ctid", .aggregate = "first_row", .is_own = true, .is_ctid = true, .is_end = true },
	{ .prefix = "last", .suffix = "_ctid", .aggregate = "last_row", .is_own = true, .is_ctid = true, .is_end = true },
	{ .prefix = "first", .suffix = "_ts", .aggregate = "first_time", .is_own = true, .is_end = true },
	{ .prefix = "last", .suffix = "_ts", .aggregate = "last_time", .is_own = true, .is_end = true },
};

static const struct shown of_squares[] = { { .prefix = "var", .aggregate = "var_samp" },
					   { .prefix = "stddev", .aggregate = "stddev_samp" } };

static const struct shown of_bound = { .prefix = "count", .aggregate = "count", .is_count = true, .is_zero = true };

static const struct shown of_pairs[] = {
	{ .prefix = "regr_count", .aggregate = "regr_count", .is_count = true, .is_zero = true },
	{ .prefix = "corr", .aggregate = "corr" },
	{ .prefix = "covar_pop", .aggregate = "covar_pop" },
	{ .prefix = "covar_samp", .aggregate = "covar_samp" },
	{ .prefix = "regr_slope", .aggregate = "regr_slope" },
	{ .prefix = "regr_intercept", .aggregate = "regr_intercept" },
	{ .prefix = "regr_r2", .aggregate = "regr_r2" },
};

static bool has_sum(Oid type)
{
	return type != DATEOID && type != TIMESTAMPOID && type != TIMESTAMPTZOID;
}

static void add_column(List **columns, const struct ifp_sqlgen_column *value, const struct shown *shown, const char *of,
		       char *call)
{
	struct window_column *column = palloc(sizeof *column);

	*column = (struct window_column){ value, shown,
					  psprintf("%s_%s%s", shown->prefix, of, shown->suffix ? shown->suffix : ""), call };
	*columns = lappend(*columns, column);
}

static char *value_call(const struct ifp_sqlgen_index *index, const struct ifp_sqlgen_column *value, const struct shown *shown)
{
	StringInfoData call;

	if (!shown->is_own)
		return psprintf("%s(%s)", shown->aggregate, value->expression);
	initStringInfo(&call);
	ifp_print(&call, index, "@%s(%s, %s, ctid)", shown->aggregate, value->expression, index->time.expression);
	return call.data;
}

static void add_values(List **columns, const struct ifp_sqlgen_index *index, bool is_end)
{
	for (const struct ifp_sqlgen_column *value = index->values; value < index->values + index->n_values; value++)
		for (const struct shown *shown = of_values; shown < of_values + lengthof(of_values); shown++)
			if (shown->is_end == is_end && (!shown->is_summed || has_sum(value->type)) &&
			    (!shown->is_ctid || !index->is_partitioned) &&
			    (index->has_ends || strcmp(shown->aggregate, "first_row") != 0))
				add_column(columns, value, shown, value->name, value_call(index, value, shown));
}

static void add_bounds(List **columns, const struct ifp_sqlgen_index *index, unsigned a)
{
	const struct iforest_accumulator *histogram = &index->accumulators.list[a];
	const struct ifp_sqlgen_column *value = &index->values[histogram->value];

	for (unsigned i = 0; i < histogram->n_parameters; i++) {
		long long bound = iforest_accumulator_parameters(&index->accumulators, a)[i];

		add_column(columns, NULL, &of_bound, psprintf("%s_le_%lld", value->name, bound),
			   psprintf("count(*) FILTER (WHERE %s <= '%lld'::bigint)", value->expression, bound));
	}
}

/* Adds the columns of an accumulator: the same as sqlite_ext/storage/accumulator_columns.c. */
static void add_accumulator(List **columns, const struct ifp_sqlgen_index *index, unsigned a)
{
	const struct iforest_accumulator *accumulator = &index->accumulators.list[a];
	const struct ifp_sqlgen_column *value = &index->values[accumulator->value];
	const struct ifp_sqlgen_column *second =
		accumulator->second == IFOREST_TIME_COLUMN ? &index->time : &index->values[accumulator->second];

	switch (accumulator->code) {
	case IFOREST_KIND_SQUARES:
		for (size_t s = 0; s < lengthof(of_squares); s++)
			add_column(columns, NULL, &of_squares[s], value->name, value_call(index, value, &of_squares[s]));
		break;
	case IFOREST_KIND_HISTOGRAM:
		add_bounds(columns, index, a);
		break;
	case IFOREST_KIND_PRODUCTS:
		for (size_t s = 0; s < lengthof(of_pairs); s++)
			add_column(columns, NULL, &of_pairs[s], psprintf("%s_%s", value->name, second->name),
				   psprintf("%s(%s, %s)", of_pairs[s].aggregate, value->expression, second->expression));
		break;
	}
}

/* Returns the columns of values in the order of the answer: value by value, then accumulators, kind by kind, then those
 * of ends. */
static List *window_columns(const struct ifp_sqlgen_index *index, enum window_fill fill)
{
	List *columns = NIL;

	add_values(&columns, index, false);
	for (unsigned kind = 0; kind < IFOREST_N_KINDS; kind++)
		for (unsigned a = 0; a < index->accumulators.n; a++)
			if (index->accumulators.list[a].code == iforest_kinds[kind].code)
				add_accumulator(&columns, index, a);
	if (fill == WINDOW_CARRIED || index->has_ends)
		add_values(&columns, index, true);
	return columns;
}

/* Returns the names of the output, quoted, in order. By columns come first; they get a prefix if a name is taken. */
static List *window_names(const struct ifp_sqlgen_index *index)
{
	static const char *const fixed[] = { "t0",	     "t1",	   "n",	    "step",	"origin",  "fill", "bucket",
					     "bucket_start", "bucket_end", "count", "first_ts", "last_ts", NULL };
	const int n_arguments = 6;
	struct ifp_names names = { index, NIL };
	List *by = NIL, *result = NIL;
	ListCell *cell;

	ifp_take_names(&names, fixed);
	for (int i = n_arguments; fixed[i]; i++)
		result = lappend(result, (char *)fixed[i]);
	foreach (cell, window_columns(index, WINDOW_PLAIN)) {
		const struct window_column *column = lfirst(cell);

		ifp_take_name(&names, column->name);
		result = lappend(result, (char *)quote_identifier(column->name));
	}
	for (int i = 0; i < index->n_by; i++)
		by = lappend(by, (char *)ifp_take_column(&names, "by_", index->by[i].name));
	return list_concat(by, result);
}

char *ifp_numbers(int from, int to)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = from; i <= to; i++)
		appendStringInfo(&text, "%sc%d", i == from ? "" : ", ", i);
	return text.data;
}

/* Returns the number of columns c1 ... of an arm: the by columns, six of the bucket, and those of the values. */
static int n_columns_of(const struct ifp_sqlgen_index *index, enum window_fill fill)
{
	return index->n_by + 6 + list_length(window_columns(index, fill));
}

static char *numbers_of(const struct ifp_sqlgen_index *index, enum window_fill fill)
{
	return ifp_numbers(1, n_columns_of(index, fill));
}

void ifp_add_group_by(StringInfo text, int n)
{
	for (int i = 1; i <= n; i++)
		appendStringInfo(text, "%s%d", i == 1 ? " GROUP BY " : ", ", i);
}

/* ---- gates ---- */

/* Returns the gate of a window or of all times, for $6. */
static char *window_gate(const struct ifp_sqlgen_index *index, bool is_open, enum window_fill fill)
{
	bool is_carried = fill == WINDOW_CARRIED;
	StringInfoData text;

	initStringInfo(&text);
	if (index->is_carried)
		appendStringInfo(&text, "CASE WHEN $6 IN ('last', 'linear') %s ", is_carried ? "THEN" : "THEN false ELSE");
	ifp_print(&text, index, "@window_asks(" IFP_BUCKETING ", %s, %s, %s)", is_carried ? "'null'" : "$6",
		  is_open ? "true" : "false", fill != WINDOW_PLAIN ? "true" : "false");
	if (index->is_carried)
		appendStringInfoString(&text, is_carried ? " ELSE false END" : " END");
	return text.data;
}

/* ---- arms ---- */

/* Appends number and bounds of the bucket. All times, and rows without a time, are one bucket. */
static void add_bucket(StringInfo text, const struct ifp_sqlgen_index *index, bool is_open)
{
	const char *type = format_type_be(index->time_type), *time = index->time.expression;

	if (is_open)
		appendStringInfo(text, "0::bigint, NULL::%s, NULL::%s", type, type);
	else
		ifp_print(text, index, IFP_BUCKET_OF("%s") ", " IFP_BOUNDS(IFP_BUCKET_OF("%s")), time, time, time);
}

/* Appends GROUP BY series and bucket. No rows give no group, even without group keys. */
static void add_group_by(StringInfo text, const struct ifp_sqlgen_index *index, bool is_open)
{
	int n = index->n_by + (is_open ? 0 : 1);

	ifp_add_group_by(text, n);
	if (n == 0)
		appendStringInfoString(text, " HAVING count(*) > 0");
}

/* Appends the groups of a window or of all times. The gate is outside the grouping: nothing is planned below a gate that is
 * known to be closed. */
static void add_grouped(StringInfo text, const struct ifp_sqlgen_index *index, bool is_open, enum window_fill fill)
{
	ListCell *cell;

	appendStringInfoString(text, "SELECT * FROM (SELECT ");
	for (int i = 0; i < index->n_by; i++)
		appendStringInfo(text, "%s, ", index->by[i].expression);
	add_bucket(text, index, is_open);
	appendStringInfo(text, ", count(*), min(%s), max(%s)", index->time.expression, index->time.expression);
	foreach (cell, window_columns(index, fill))
		appendStringInfo(text, ", %s", ((struct window_column *)lfirst(cell))->call);
	appendStringInfo(text, " FROM %s", index->table);
	if (!is_open)
		ifp_print(text, index, " WHERE %s >= $1 AND %s <= " IFP_LAST, index->time.expression, index->time.expression);
	ifp_add_predicate(text, index, is_open ? "WHERE" : "AND");
	add_group_by(text, index, is_open);
	appendStringInfo(text, ") AS grouped(%s) WHERE %s", numbers_of(index, fill), window_gate(index, is_open, fill));
}

/* The number of the first bucket. With n buckets that is 0: if there are more buckets than times, some are empty. */
#define FIRST_BUCKET "CASE WHEN $3 IS NULL THEN " IFP_BUCKET_OF("$1") " ELSE 0 END"
#define LAST_BUCKET IFP_BUCKET_OF(IFP_LAST)

void ifp_add_all_buckets(StringInfo text, const struct ifp_sqlgen_index *index, int n_columns)
{
	appendStringInfoString(text, "SELECT ");
	for (int i = 0; i < index->n_by; i++)
		appendStringInfo(text, "s.c%d, ", i + 1);
	appendStringInfoString(text, "b.b");
	for (int i = index->n_by + 1; i < n_columns; i++)
		appendStringInfoString(text, ", NULL");
	ifp_print(text, index, " FROM generate_series(" FIRST_BUCKET ", " LAST_BUCKET ") AS b(b)");
	if (index->n_by == 0)
		return;
	appendStringInfoString(text, " CROSS JOIN (SELECT DISTINCT ");
	for (int i = 0; i < index->n_by; i++)
		appendStringInfo(text, "%s%s", i > 0 ? ", " : "", index->by[i].expression);
	appendStringInfo(text, " FROM %s", index->table);
	ifp_add_predicate(text, index, "WHERE");
	appendStringInfo(text, ") AS s(%s)", ifp_numbers(1, index->n_by));
}

/* Appends the groups of the window, or of all times, and all buckets. */
static void add_all_rows(StringInfo text, const struct ifp_sqlgen_index *index, enum window_fill fill)
{
	add_grouped(text, index, false, fill);
	appendStringInfoString(text, " UNION ALL ");
	add_grouped(text, index, true, fill);
	appendStringInfoString(text, " UNION ALL ");
	ifp_add_all_buckets(text, index, n_columns_of(index, fill));
}

/* Appends the filled groups. Each series and bucket has at most one row with values, which max() picks. This is not a join, so
 * conditions on by columns apply to all of it. */
static void add_filled(StringInfo text, const struct ifp_sqlgen_index *index)
{
	int bucket = index->n_by + 1, column = index->n_by + 7;
	ListCell *cell;

	ifp_print(text, index, "SELECT %s, " IFP_BOUNDS("c%d") ", coalesce(max(c%d), 0), max(c%d), max(c%d)",
		  ifp_numbers(1, bucket), bucket, bucket, bucket + 3, bucket + 4, bucket + 5);
	foreach (cell, window_columns(index, WINDOW_FILLED)) {
		const struct window_column *shown = lfirst(cell);

		/* a bucket with rows is not filled */
		if (shown->shown->is_zero)
			appendStringInfo(text, ", CASE WHEN $6 = 'zero' AND max(c%d) IS NULL THEN 0 ELSE max(c%d) END",
					 bucket + 3, column);
		else
			appendStringInfo(text, ", max(c%d)", column);
		column++;
	}
	appendStringInfoString(text, " FROM (");
	add_all_rows(text, index, WINDOW_FILLED);
	appendStringInfo(text, ") AS g(%s)", numbers_of(index, WINDOW_FILLED));
	ifp_add_group_by(text, bucket);
}

/* ---- carried values: fill => 'last' and 'linear' ----
 *
 * A bucket without values needs the last value before it and the first value after it. To the groups of the window and all
 * buckets we add, for each series, the last value before the window as if it were in the first bucket, and the first value
 * after the window as if it were in the last. A bucket's own values are later, or earlier, than these. Then one window function
 * in ascending order finds the last value up to each bucket, and one in descending order the first value from it on. */

/* Returns the number of the column of an aggregate of this value. */
static int column_of(const struct ifp_sqlgen_index *index, const struct ifp_sqlgen_column *value, const char *aggregate)
{
	int column = index->n_by + 7;
	ListCell *cell;

	foreach (cell, window_columns(index, WINDOW_CARRIED)) {
		const struct window_column *at = lfirst(cell);

		if (at->value == value && strcmp(at->shown->aggregate, aggregate) == 0)
			return column;
		column++;
	}
	elog(ERROR, "an index's functions have no column of %s", aggregate);
}

/* ---- carried values: buckets, and values outside the window ---- */

static bool is_beside(const struct window_column *column, bool is_after)
{
	const char *prefix = is_after ? "first" : "last";

	return column->shown->is_own && strncmp(column->shown->aggregate, prefix, strlen(prefix)) == 0;
}

/* Appends, for each series, the last values before the window, or the first after it. */
static void add_beside_rows(StringInfo text, const struct ifp_sqlgen_index *index, bool is_after)
{
	StringInfoData names;
	int number = index->n_by + 7;
	ListCell *cell;

	initStringInfo(&names);
	appendStringInfoString(text, "SELECT 1");
	for (int i = 0; i < index->n_by; i++) {
		appendStringInfo(text, ", %s", index->by[i].expression);
		appendStringInfo(&names, ", c%d", i + 1);
	}
	foreach (cell, window_columns(index, WINDOW_CARRIED)) {
		if (is_beside(lfirst(cell), is_after)) {
			appendStringInfo(text, ", %s", ((struct window_column *)lfirst(cell))->call);
			appendStringInfo(&names, ", c%d", number);
		}
		number++;
	}
	appendStringInfo(text, " FROM %s WHERE %s ", index->table, index->time.expression);
	ifp_print(text, index, is_after ? "> " IFP_LAST : "< $1");
	ifp_add_predicate(text, index, "AND");
	for (int i = 1; i <= index->n_by; i++)
		appendStringInfo(text, "%s%d", i == 1 ? " GROUP BY " : ", ", i + 1);
	appendStringInfo(text, ") AS beside(one%s)", names.data);
}

static void add_beside(StringInfo text, const struct ifp_sqlgen_index *index, bool is_after)
{
	int number = index->n_by + 7;
	ListCell *cell;

	appendStringInfoString(text, " UNION ALL SELECT ");
	for (int i = 1; i <= index->n_by; i++)
		appendStringInfo(text, "c%d, ", i);
	ifp_print(text, index, is_after ? LAST_BUCKET : FIRST_BUCKET);
	appendStringInfoString(text, ", NULL, NULL, NULL, NULL, NULL");
	foreach (cell, window_columns(index, WINDOW_CARRIED)) {
		if (is_beside(lfirst(cell), is_after))
			appendStringInfo(text, ", c%d", number);
		else
			appendStringInfoString(text, ", NULL");
		number++;
	}
	appendStringInfoString(text, " FROM (");
	add_beside_rows(text, index, is_after);
	appendStringInfo(text, " WHERE %s%s", window_gate(index, false, WINDOW_CARRIED), is_after ? " AND $6 = 'linear'" : "");
}

/* Appends one column of a bucket, merged from its own group and the values outside the window. */
static void add_merged(StringInfo text, const struct ifp_sqlgen_index *index, const struct window_column *column, int number)
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
	ifp_print(text, index, ", @%s(c%d, c%d)", is_first ? "first" : "last", number, column_of(index, column->value, times));
}

static void add_buckets(StringInfo text, const struct ifp_sqlgen_index *index)
{
	int bucket = index->n_by + 1, number = index->n_by + 7;
	ListCell *cell;

	appendStringInfo(text, "SELECT %s", ifp_numbers(1, bucket));
	for (int i = bucket + 1; i < number; i++)
		appendStringInfo(text, ", max(c%d)", i);
	foreach (cell, window_columns(index, WINDOW_CARRIED))
		add_merged(text, index, lfirst(cell), number++);
	appendStringInfoString(text, " FROM (");
	add_all_rows(text, index, WINDOW_CARRIED);
	add_beside(text, index, false);
	add_beside(text, index, true);
	appendStringInfo(text, ") AS p(%s) GROUP BY %s", numbers_of(index, WINDOW_CARRIED), ifp_numbers(1, bucket));
}

/* ---- carried values: neighbours ---- */

/* Appends before<v>, before_ts<v>, before_ctid<v>, after<v> and after_ts<v>, of value v. */
static void add_neighbours(StringInfo text, const struct ifp_sqlgen_index *index, int v)
{
	const struct ifp_sqlgen_column *value = &index->values[v];
	int last = column_of(index, value, "last"), last_time = column_of(index, value, "last_time");
	int first = column_of(index, value, "first"), first_time = column_of(index, value, "first_time");

	ifp_print(text, index, ", @last(c%d, c%d) OVER up AS before%d, max(c%d) OVER up AS before_ts%d, ", last, last_time, v,
		  last_time, v);
	if (!index->is_partitioned)
		ifp_print(text, index, "@last(c%d, c%d) OVER up AS before_ctid%d, ", column_of(index, value, "last_row"),
			  last_time, v);
	ifp_print(text, index, "@first(c%d, c%d) OVER down AS after%d, min(c%d) OVER down AS after_ts%d", first, first_time, v,
		  first_time, v);
}

static void add_row(StringInfo text, const struct ifp_sqlgen_index *index)
{
	const char *partition = index->n_by > 0 ? psprintf("PARTITION BY %s", ifp_numbers(1, index->n_by)) : "";
	int bucket = index->n_by + 1;

	appendStringInfoString(text, "SELECT g.*");
	for (int v = 0; v < index->n_values; v++)
		add_neighbours(text, index, v);
	appendStringInfoString(text, " FROM (");
	add_buckets(text, index);
	appendStringInfo(text,
			 ") AS g(%s) WINDOW up AS (%s ORDER BY c%d  ROWS UNBOUNDED PRECEDING), "
			 "down AS (%s ORDER BY c%d DESC ROWS UNBOUNDED PRECEDING)",
			 numbers_of(index, WINDOW_CARRIED), partition, bucket, partition, bucket);
}

/* ---- carried values: the answer ---- */

static bool is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/* Returns the type of interpolated values of a column, which is that of its avg(). */
static Oid line_type(Oid type)
{
	if (is_integer(type))
		return NUMERICOID;
	return type == FLOAT4OID ? FLOAT8OID : type;
}

/* Appends line<v>, the interpolated value at the start of the bucket, or of the window if that cuts the first one. */
static void add_line(StringInfo text, const struct ifp_sqlgen_index *index, int v)
{
	const char *time = format_type_be(index->time_type), *value = format_type_be(line_type(index->values[v].type));

	ifp_print(text, index,
		  ", @line(greatest(@bucket_start(c%d, " IFP_BUCKETING "), $1), before_ts%d::%s, after_ts%d::%s, "
		  "before%d::%s, after%d::%s) AS line%d",
		  index->n_by + 1, v, time, v, time, v, value, v, value, v);
}

static void add_filled_value(StringInfo text, const struct ifp_sqlgen_index *index, const struct window_column *column,
			     int number)
{
	const char *aggregate = column->shown->aggregate;
	bool is_average = strcmp(aggregate, "avg") == 0;
	const char *type;
	int v, count;

	if (!column->value || column->shown->is_count || (column->shown->is_summed && !is_average)) {
		appendStringInfo(text, column->shown->is_count ? ", coalesce(c%d, 0)" : ", c%d", number);
		return;
	}
	v = (int)(column->value - index->values);
	count = column_of(index, column->value, "count");
	type = format_type_be(is_average ? line_type(column->value->type) : column->value->type);
	appendStringInfo(text, ", CASE WHEN c%d > 0 THEN c%d WHEN $6 = 'last' THEN ", count, number);
	if (column->shown->is_ctid)
		appendStringInfo(text, "before_ctid%d END", v);
	else if (strstr(aggregate, "_time"))
		appendStringInfo(text, "before_ts%d END", v);
	else
		appendStringInfo(text, "before%d::%s ELSE line%d::%s END", v, type, v, type);
}

/* Appends the whole answer with fill => 'last' and 'linear', without names. Requires  index->is_carried. */
static void add_carried(StringInfo text, const struct ifp_sqlgen_index *index)
{
	int bucket = index->n_by + 1, number = index->n_by + 7;
	ListCell *cell;

	ifp_print(text, index, "SELECT %s, " IFP_BOUNDS("c%d") ", coalesce(c%d, 0), c%d, c%d", ifp_numbers(1, bucket), bucket,
		  bucket, bucket + 3, bucket + 4, bucket + 5);
	foreach (cell, window_columns(index, WINDOW_PLAIN))
		add_filled_value(text, index, lfirst(cell), number++);
	appendStringInfoString(text, " FROM (SELECT n.*");
	for (int v = 0; v < index->n_values; v++)
		add_line(text, index, v);
	appendStringInfoString(text, " FROM (");
	add_row(text, index);
	appendStringInfoString(text, ") AS n) AS f");
}

/* ---- the queries ---- */

/* Appends the filled or carried arm with its gates, which cut off the whole arm if it is not needed. */
static void add_gated(StringInfo text, const struct ifp_sqlgen_index *index, enum window_fill fill)
{
	appendStringInfoString(text, "SELECT * FROM (");
	(fill == WINDOW_CARRIED ? add_carried : add_filled)(text, index);
	appendStringInfo(text, ") AS filled(%s) WHERE (%s OR %s)", numbers_of(index, WINDOW_PLAIN),
			 window_gate(index, false, fill), window_gate(index, true, fill));
}

static void add_answer_names(StringInfo text, const struct ifp_sqlgen_index *index)
{
	const char *separator = "";
	ListCell *cell;

	appendStringInfoString(text, ") AS answer(");
	foreach (cell, window_names(index)) {
		appendStringInfoString(text, separator);
		appendStringInfoString(text, lfirst(cell));
		separator = ", ";
	}
	appendStringInfoString(text, ")");
}

char *ifp_window_fill_query(const struct ifp_sqlgen_index *index)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(&text, "SELECT * FROM (");
	add_gated(&text, index, WINDOW_CARRIED);
	add_answer_names(&text, index);
	return text.data;
}

char *ifp_window_query(const struct ifp_sqlgen_index *index, TupleDesc columns)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(&text, "SELECT * FROM (");
	add_grouped(&text, index, false, WINDOW_PLAIN);
	appendStringInfoString(&text, " UNION ALL ");
	add_grouped(&text, index, true, WINDOW_PLAIN);
	appendStringInfoString(&text, " UNION ALL ");
	add_gated(&text, index, WINDOW_FILLED);
	if (columns)
		ifp_add_part(&text, index, IFP_WINDOW_FILL, ifp_window_fill_query(index), "'last', 'linear'", columns);
	add_answer_names(&text, index);
	if (index->n_by == 0)
		appendStringInfoString(&text, " ORDER BY bucket");
	return text.data;
}
