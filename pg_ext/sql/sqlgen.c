#include "pg_ext/sql/sqlgen.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "pg_ext/base/engine.h"

/* Is that asked: without bounds or with them, filled or not? And the same, whichever bounds there are. */
static void add_gate(StringInfo text, const struct ifp_sqlgen_index *index, const char *fill, bool is_open, bool is_filled);

/* All of them, in the order of the answer: value by value, then variances; and then, to be carried, what is hidden. */
static List *value_columns(const struct ifp_sqlgen_index *index, enum ifp_window_fill fill);

/* Names of the output, quoted, in their order. */
static List *window_names(const struct ifp_sqlgen_index *index);

/* How many columns an arm has: c1 and so on. The by columns, six of the bucket, and those of the values. */
static int ifp_n_columns(const struct ifp_sqlgen_index *index, enum ifp_window_fill fill);

/* An aggregate of a value column, after a comma. */
static void add_value(StringInfo text, const struct ifp_sqlgen_index *index, const struct ifp_value_column *column);

/* add_gate() and ifp_add_gates(), of $6. */
static void add_window_gate(StringInfo text, const struct ifp_sqlgen_index *index, bool is_open, enum ifp_window_fill fill);

static void add_window_gates(StringInfo text, const struct ifp_sqlgen_index *index, enum ifp_window_fill fill);

/* Arms: the groups of all times or of a window; and every series with every bucket, of which nothing else is known (NULL, up
 * to so many columns). Between them the numbers of the first and the last bucket. */
static void add_grouped(StringInfo text, const struct ifp_sqlgen_index *index, bool is_open, enum ifp_window_fill fill);

static void add_first_bucket(StringInfo text, const struct ifp_sqlgen_index *index);

static void add_last_bucket(StringInfo text, const struct ifp_sqlgen_index *index);

/* All of the answer with fill => 'last' or 'linear', without names. Requires functions->is_carried. */
static void add_carried(StringInfo text, const struct ifp_sqlgen_index *index);

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

void ifp_add_text(StringInfo text, const char *piece)
{
	appendStringInfoString(text, piece);
}

void ifp_add_call(StringInfo text, const struct ifp_sqlgen_index *index, const char *name)
{
	appendStringInfo(text, "%s.iforest_%s(", index->extension, name);
}

void ifp_add_bucket_of(StringInfo text, const struct ifp_sqlgen_index *index, const char *time)
{
	ifp_add_call(text, index, "bucket_of");
	ifp_add_text(text, time);
	ifp_add_text(text, ", $1, $2, $3, $4, $5)");
}

void ifp_add_bounds(StringInfo text, const struct ifp_sqlgen_index *index, const char *bucket)
{
	ifp_add_call(text, index, "bucket_start");
	ifp_add_text(text, bucket);
	ifp_add_text(text, ", $1, $2, $3, $4, $5), ");
	ifp_add_call(text, index, "bucket_end");
	ifp_add_text(text, bucket);
	ifp_add_text(text, ", $1, $2, $3, $4, $5)");
}

static void add_gate(StringInfo text, const struct ifp_sqlgen_index *index, const char *fill, bool is_open, bool is_filled)
{
	ifp_add_call(text, index, "window_asks");
	appendStringInfo(text, "$1, $2, $3, $4, $5, %s, %s, %s)", fill, is_open ? "true" : "false",
			 is_filled ? "true" : "false");
}

void ifp_add_gates(StringInfo text, const struct ifp_sqlgen_index *index, const char *fill, bool is_filled)
{
	ifp_add_text(text, "(");
	add_gate(text, index, fill, false, is_filled);
	ifp_add_text(text, " OR ");
	add_gate(text, index, fill, true, is_filled);
	ifp_add_text(text, ")");
}

void ifp_add_last(StringInfo text, const struct ifp_sqlgen_index *index)
{
	ifp_add_call(text, index, "window_last");
	ifp_add_text(text, "$2)");
}

void ifp_add_predicate(StringInfo text, const struct ifp_sqlgen_index *index, const char *word)
{
	if (index->predicate)
		appendStringInfo(text, " %s (%s)", word, index->predicate);
}

/* Columns of functions have the collation of their type. */
static void add_collated(StringInfo text, TupleDesc columns)
{
	for (int i = 0; i < columns->natts; i++) {
		Form_pg_attribute column = TupleDescAttr(columns, i);

		appendStringInfo(text, "%sc%d", i == 0 ? "" : ", ", i + 1);
		if (OidIsValid(column->attcollation) && column->attcollation != get_typcollation(column->atttypid))
			appendStringInfo(text, " COLLATE %s", generate_collation_name(column->attcollation));
	}
}

void ifp_add_part(StringInfo text, const struct ifp_sqlgen_index *index, const char *suffix, const char *fills,
		  TupleDesc columns)
{
	ifp_add_text(text, " UNION ALL SELECT ");
	add_collated(text, columns);
	appendStringInfo(text, " FROM %s.%s($1, $2, $3, $4, $5, ", index->schema,
			 quote_identifier(psprintf("%s%s", index->index_name, suffix)));
	/* a function is not put in the place of a call that has a subselect among its arguments */
	appendStringInfo(text, "CASE WHEN $6 IN (%s) THEN $6 ELSE (SELECT $6) END) AS part(", fills);
	for (int i = 1; i <= columns->natts; i++)
		appendStringInfo(text, "%sc%d", i > 1 ? ", " : "", i);
	appendStringInfo(text, ") WHERE $6 IN (%s)", fills);
}

static const struct ifp_shown all_shown[] = {
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
	{ .aggregate = "first_time", .is_own = true, .is_hidden = true },
	{ .aggregate = "last_time", .is_own = true, .is_hidden = true },
	{ .aggregate = "last_row", .is_own = true, .is_ctid = true, .is_hidden = true },
};

static bool has_sum(Oid type)
{
	return type != DATEOID && type != TIMESTAMPOID && type != TIMESTAMPTZOID;
}

static bool has_squares(const struct ifp_sqlgen_index *index, int v)
{
	return index->squares >> v & 1;
}

static bool is_shown(const struct ifp_sqlgen_index *index, int v, const struct ifp_shown *shown)
{
	return (!shown->is_summed || has_sum(index->values[v].type)) && (!shown->is_variance || has_squares(index, v)) &&
	       (!shown->is_ctid || !index->is_partitioned);
}

static void add_kind(List **columns, const struct ifp_sqlgen_index *index, bool is_variance, bool is_hidden)
{
	for (int v = 0; v < index->n_values; v++)
		for (size_t s = 0; s < lengthof(all_shown); s++) {
			struct ifp_value_column *column;

			if (all_shown[s].is_variance != is_variance || all_shown[s].is_hidden != is_hidden ||
			    !is_shown(index, v, &all_shown[s]))
				continue;
			column = palloc(sizeof *column);
			*column = (struct ifp_value_column){ &index->values[v], &all_shown[s] };
			*columns = lappend(*columns, column);
		}
}

static List *value_columns(const struct ifp_sqlgen_index *index, enum ifp_window_fill fill)
{
	List *columns = NIL;

	add_kind(&columns, index, false, false);
	add_kind(&columns, index, true, false);
	if (fill == IFP_WINDOW_CARRIED)
		add_kind(&columns, index, false, true);
	return columns;
}

/* %s of the pattern is the name. */
static char *shown_name(const struct ifp_value_column *column)
{
	const char *pattern = column->shown->name, *at = strstr(pattern, "%s");

	return psprintf("%.*s%s%s", (int)(at - pattern), pattern, column->value->name, at + 2);
}

/* By columns come first, and give way. */
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
	foreach (cell, value_columns(index, IFP_WINDOW_PLAIN)) {
		char *name = shown_name(lfirst(cell));

		ifp_take_name(&names, name);
		result = lappend(result, (char *)quote_identifier(name));
	}
	for (int i = 0; i < index->n_by; i++)
		by = lappend(by, (char *)ifp_take_column(&names, "by_", index->by[i].name));
	return list_concat(by, result);
}

static void add_value(StringInfo text, const struct ifp_sqlgen_index *index, const struct ifp_value_column *column)
{
	const struct ifp_shown *shown = column->shown;

	ifp_add_text(text, ", ");
	if (shown->is_own)
		ifp_add_call(text, index, shown->aggregate);
	else
		appendStringInfo(text, "%s(", shown->aggregate);
	ifp_add_text(text, column->value->expression);
	if (shown->is_own) {
		ifp_add_text(text, ", ");
		ifp_add_text(text, index->time.expression);
		ifp_add_text(text, ", ctid");
	}
	ifp_add_text(text, ")");
}

static int ifp_n_columns(const struct ifp_sqlgen_index *index, enum ifp_window_fill fill)
{
	return index->n_by + 6 + list_length(value_columns(index, fill));
}

void ifp_add_numbers(StringInfo text, int from, int to)
{
	for (int i = from; i <= to; i++)
		appendStringInfo(text, "%sc%d", i == from ? "" : ", ", i);
}

void ifp_add_columns(StringInfo text, int from, int to)
{
	ifp_add_text(text, "(");
	ifp_add_numbers(text, from, to);
	ifp_add_text(text, ")");
}

/* ---- gates ---- */

static void add_window_gate(StringInfo text, const struct ifp_sqlgen_index *index, bool is_open, enum ifp_window_fill fill)
{
	bool is_carried = fill == IFP_WINDOW_CARRIED;

	if (index->is_carried)
		appendStringInfo(text, "CASE WHEN $6 IN ('last', 'linear') %s ", is_carried ? "THEN" : "THEN false ELSE");
	add_gate(text, index, is_carried ? "'null'" : "$6", is_open, fill != IFP_WINDOW_PLAIN);
	if (index->is_carried)
		ifp_add_text(text, is_carried ? " ELSE false END" : " END");
}

static void add_window_gates(StringInfo text, const struct ifp_sqlgen_index *index, enum ifp_window_fill fill)
{
	ifp_add_text(text, "(");
	add_window_gate(text, index, false, fill);
	ifp_add_text(text, " OR ");
	add_window_gate(text, index, true, fill);
	ifp_add_text(text, ")");
}

/* ---- arms ---- */

/* Number and bounds of the bucket. All times, those of rows without one too, are one bucket. */
static void add_bucket(StringInfo text, const struct ifp_sqlgen_index *index, bool is_open)
{
	const char *type = format_type_be(index->time_type);
	StringInfoData bucket;

	initStringInfo(&bucket);
	ifp_add_bucket_of(&bucket, index, index->time.expression);
	if (is_open) {
		appendStringInfo(text, "0::bigint, NULL::%s, NULL::%s", type, type);
	} else {
		ifp_add_text(text, bucket.data);
		ifp_add_text(text, ", ");
		ifp_add_bounds(text, index, bucket.data);
	}
}

/* GROUP BY series and bucket. No row is no group, without group keys neither. */
static void add_group_by(StringInfo text, const struct ifp_sqlgen_index *index, bool is_open)
{
	int n = index->n_by + (is_open ? 0 : 1);

	for (int i = 1; i <= n; i++)
		appendStringInfo(text, "%s%d", i == 1 ? " GROUP BY " : ", ", i);
	if (n == 0)
		ifp_add_text(text, " HAVING count(*) > 0");
}

/* The gate stands outside of the grouping: then nothing is planned below one that is known to be shut. */
static void add_grouped(StringInfo text, const struct ifp_sqlgen_index *index, bool is_open, enum ifp_window_fill fill)
{
	ListCell *cell;

	ifp_add_text(text, "SELECT * FROM (SELECT ");
	for (int i = 0; i < index->n_by; i++) {
		ifp_add_text(text, index->by[i].expression);
		ifp_add_text(text, ", ");
	}
	add_bucket(text, index, is_open);
	appendStringInfo(text, ", count(*), min(%s), max(%s)", index->time.expression, index->time.expression);
	foreach (cell, value_columns(index, fill))
		add_value(text, index, lfirst(cell));
	appendStringInfo(text, " FROM %s", index->table);
	if (!is_open) {
		appendStringInfo(text, " WHERE %s >= $1 AND %s <= ", index->time.expression, index->time.expression);
		ifp_add_last(text, index);
	}
	ifp_add_predicate(text, index, is_open ? "WHERE" : "AND");
	add_group_by(text, index, is_open);
	ifp_add_text(text, ") AS grouped");
	ifp_add_columns(text, 1, ifp_n_columns(index, fill));
	ifp_add_text(text, " WHERE ");
	add_window_gate(text, index, is_open, fill);
}

/* Where there are more buckets than times, those before that of $1 are empty. */
static void add_first_bucket(StringInfo text, const struct ifp_sqlgen_index *index)
{
	ifp_add_text(text, "CASE WHEN $3 IS NULL THEN ");
	ifp_add_bucket_of(text, index, "$1");
	ifp_add_text(text, " ELSE 0 END");
}

static void add_last_bucket(StringInfo text, const struct ifp_sqlgen_index *index)
{
	ifp_add_call(text, index, "bucket_of");
	ifp_add_last(text, index);
	ifp_add_text(text, ", $1, $2, $3, $4, $5)");
}

void ifp_add_all_buckets(StringInfo text, const struct ifp_sqlgen_index *index, int n_columns)
{
	ifp_add_text(text, "SELECT ");
	for (int i = 0; i < index->n_by; i++)
		appendStringInfo(text, "s.c%d, ", i + 1);
	ifp_add_text(text, "b.b");
	for (int i = index->n_by + 1; i < n_columns; i++)
		ifp_add_text(text, ", NULL");
	ifp_add_text(text, " FROM generate_series(");
	add_first_bucket(text, index);
	ifp_add_text(text, ", ");
	add_last_bucket(text, index);
	ifp_add_text(text, ") AS b(b)");
	if (index->n_by == 0)
		return;
	ifp_add_text(text, " CROSS JOIN (SELECT DISTINCT ");
	for (int i = 0; i < index->n_by; i++)
		appendStringInfo(text, "%s%s", i > 0 ? ", " : "", index->by[i].expression);
	appendStringInfo(text, " FROM %s", index->table);
	ifp_add_predicate(text, index, "WHERE");
	ifp_add_text(text, ") AS s");
	ifp_add_columns(text, 1, index->n_by);
}

/* Of each series and bucket what the one row that knows something has of it: that is its maximum. Not a join, so that
 * conditions on by columns narrow all of it. */
static void add_filled(StringInfo text, const struct ifp_sqlgen_index *index)
{
	int bucket = index->n_by + 1, column = index->n_by + 7;
	ListCell *cell;

	ifp_add_text(text, "SELECT ");
	for (int i = 1; i <= bucket; i++)
		appendStringInfo(text, "c%d, ", i);
	ifp_add_bounds(text, index, psprintf("c%d", bucket));
	appendStringInfo(text, ", coalesce(max(c%d), 0), max(c%d), max(c%d)", bucket + 3, bucket + 4, bucket + 5);
	foreach (cell, value_columns(index, IFP_WINDOW_FILLED)) {
		const struct ifp_value_column *shown = lfirst(cell);

		/* a bucket that has rows is not filled */
		if (shown->shown->is_zero)
			appendStringInfo(text, ", CASE WHEN $6 = 'zero' AND max(c%d) IS NULL THEN 0 ELSE max(c%d) END",
					 bucket + 3, column);
		else
			appendStringInfo(text, ", max(c%d)", column);
		column++;
	}
	ifp_add_text(text, " FROM (");
	add_grouped(text, index, false, IFP_WINDOW_FILLED);
	ifp_add_text(text, " UNION ALL ");
	add_grouped(text, index, true, IFP_WINDOW_FILLED);
	ifp_add_text(text, " UNION ALL ");
	ifp_add_all_buckets(text, index, ifp_n_columns(index, IFP_WINDOW_FILLED));
	ifp_add_text(text, ") AS g");
	ifp_add_columns(text, 1, ifp_n_columns(index, IFP_WINDOW_FILLED));
	ifp_add_text(text, " GROUP BY ");
	for (int i = 1; i <= bucket; i++)
		appendStringInfo(text, "%s%d", i > 1 ? ", " : "", i);
}

/* One that is not asked for is cut off as a whole. */
static void add_gated(StringInfo text, const struct ifp_sqlgen_index *index, enum ifp_window_fill fill)
{
	ifp_add_text(text, "SELECT * FROM (");
	if (fill == IFP_WINDOW_CARRIED)
		add_carried(text, index);
	else
		add_filled(text, index);
	ifp_add_text(text, ") AS filled");
	ifp_add_columns(text, 1, ifp_n_columns(index, IFP_WINDOW_PLAIN));
	ifp_add_text(text, " WHERE ");
	add_window_gates(text, index, fill);
}

static void add_answer_names(StringInfo text, const struct ifp_sqlgen_index *index)
{
	const char *separator = "";
	ListCell *cell;

	ifp_add_text(text, ") AS answer(");
	foreach (cell, window_names(index)) {
		ifp_add_text(text, separator);
		ifp_add_text(text, lfirst(cell));
		separator = ", ";
	}
	ifp_add_text(text, ")");
}

char *ifp_window_fill_query(const struct ifp_sqlgen_index *index)
{
	StringInfoData text;

	initStringInfo(&text);
	ifp_add_text(&text, "SELECT * FROM (");
	add_gated(&text, index, IFP_WINDOW_CARRIED);
	add_answer_names(&text, index);
	return text.data;
}

char *ifp_window_query(const struct ifp_sqlgen_index *index, TupleDesc columns)
{
	StringInfoData text;

	initStringInfo(&text);
	ifp_add_text(&text, "SELECT * FROM (");
	add_grouped(&text, index, false, IFP_WINDOW_PLAIN);
	ifp_add_text(&text, " UNION ALL ");
	add_grouped(&text, index, true, IFP_WINDOW_PLAIN);
	ifp_add_text(&text, " UNION ALL ");
	add_gated(&text, index, IFP_WINDOW_FILLED);
	if (columns)
		ifp_add_part(&text, index, IFP_WINDOW_FILL, "'last', 'linear'", columns);
	add_answer_names(&text, index);
	if (index->n_by == 0)
		ifp_add_text(&text, " ORDER BY bucket");
	return text.data;
}

/* fill => 'last' and 'linear': beside each bucket, what the samples before it have, and those after.
 *
 * To the groups of the window and all buckets comes, for each series, what was last before the window, as if it were in the
 * first bucket, and what was first after it, in the last one. What a bucket itself has is later, or earlier. The last value
 * before a bucket that has none is the last of those up to it in this order, found for all buckets in one pass, and the first
 * one after it in a pass the other way. */

/* The number of the column in which an aggregate of this value stands. */
static int column_of(const struct ifp_sqlgen_index *index, const struct ifp_sqlgen_column *value, const char *aggregate)
{
	int column = index->n_by + 7;
	ListCell *cell;

	foreach (cell, value_columns(index, IFP_WINDOW_CARRIED)) {
		const struct ifp_value_column *at = lfirst(cell);

		if (at->value == value && strcmp(at->shown->aggregate, aggregate) == 0)
			return column;
		column++;
	}
	elog(ERROR, "an index's functions have no column of %s", aggregate);
}

/* ---- buckets, and what is beside them ---- */

static bool is_beside(const struct ifp_value_column *column, bool is_after)
{
	const char *prefix = is_after ? "first" : "last";

	return column->shown->is_own && strncmp(column->shown->aggregate, prefix, strlen(prefix)) == 0;
}

/* For each series the last values of times before the window, or the first of those after it. */
static void add_beside_rows(StringInfo text, const struct ifp_sqlgen_index *index, bool is_after)
{
	StringInfoData names;
	int number = index->n_by + 7;
	ListCell *cell;

	initStringInfo(&names);
	ifp_add_text(text, "SELECT 1");
	for (int i = 0; i < index->n_by; i++) {
		appendStringInfo(text, ", %s", index->by[i].expression);
		appendStringInfo(&names, ", c%d", i + 1);
	}
	foreach (cell, value_columns(index, IFP_WINDOW_CARRIED)) {
		if (is_beside(lfirst(cell), is_after)) {
			add_value(text, index, lfirst(cell));
			appendStringInfo(&names, ", c%d", number);
		}
		number++;
	}
	appendStringInfo(text, " FROM %s WHERE %s", index->table, index->time.expression);
	if (is_after) {
		ifp_add_text(text, " > ");
		ifp_add_last(text, index);
	} else {
		ifp_add_text(text, " < $1");
	}
	ifp_add_predicate(text, index, "AND");
	for (int i = 1; i <= index->n_by; i++)
		appendStringInfo(text, "%s%d", i == 1 ? " GROUP BY " : ", ", i + 1);
	appendStringInfo(text, ") AS beside(one%s)", names.data);
}

static void add_beside(StringInfo text, const struct ifp_sqlgen_index *index, bool is_after)
{
	int number = index->n_by + 7;
	ListCell *cell;

	ifp_add_text(text, " UNION ALL SELECT ");
	for (int i = 1; i <= index->n_by; i++)
		appendStringInfo(text, "c%d, ", i);
	(is_after ? add_last_bucket : add_first_bucket)(text, index);
	ifp_add_text(text, ", NULL, NULL, NULL, NULL, NULL");
	foreach (cell, value_columns(index, IFP_WINDOW_CARRIED)) {
		if (is_beside(lfirst(cell), is_after))
			appendStringInfo(text, ", c%d", number);
		else
			ifp_add_text(text, ", NULL");
		number++;
	}
	ifp_add_text(text, " FROM (");
	add_beside_rows(text, index, is_after);
	ifp_add_text(text, " WHERE ");
	add_window_gate(text, index, false, IFP_WINDOW_CARRIED);
	if (is_after)
		ifp_add_text(text, " AND $6 = 'linear'");
}

/* One column of all that is known of a bucket: only the arms beside it have firsts and lasts that are not its own. */
static void add_merged(StringInfo text, const struct ifp_sqlgen_index *index, const struct ifp_value_column *column, int number)
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
	ifp_add_text(text, ", ");
	ifp_add_call(text, index, is_first ? "first" : "last");
	appendStringInfo(text, "c%d, c%d)", number, column_of(index, column->value, times));
}

static void add_buckets(StringInfo text, const struct ifp_sqlgen_index *index)
{
	int bucket = index->n_by + 1, number = index->n_by + 7;
	int n = ifp_n_columns(index, IFP_WINDOW_CARRIED);
	ListCell *cell;

	ifp_add_text(text, "SELECT ");
	ifp_add_numbers(text, 1, bucket);
	for (int i = bucket + 1; i < number; i++)
		appendStringInfo(text, ", max(c%d)", i);
	foreach (cell, value_columns(index, IFP_WINDOW_CARRIED))
		add_merged(text, index, lfirst(cell), number++);
	ifp_add_text(text, " FROM (");
	add_grouped(text, index, false, IFP_WINDOW_CARRIED);
	ifp_add_text(text, " UNION ALL ");
	add_grouped(text, index, true, IFP_WINDOW_CARRIED);
	ifp_add_text(text, " UNION ALL ");
	ifp_add_all_buckets(text, index, n);
	add_beside(text, index, false);
	add_beside(text, index, true);
	ifp_add_text(text, ") AS p");
	ifp_add_columns(text, 1, n);
	ifp_add_text(text, " GROUP BY ");
	ifp_add_numbers(text, 1, bucket);
}

/* ---- one after the other ---- */

/* before<v>, before_ts<v>, before_ctid<v>, after<v> and after_ts<v>, of value v. */
static void add_neighbours(StringInfo text, const struct ifp_sqlgen_index *index, int v)
{
	const struct ifp_sqlgen_column *value = &index->values[v];
	int last_time = column_of(index, value, "last_time"), first_time = column_of(index, value, "first_time");

	ifp_add_text(text, ", ");
	ifp_add_call(text, index, "last");
	appendStringInfo(text, "c%d, c%d) OVER up AS before%d, max(c%d) OVER up AS before_ts%d, ",
			 column_of(index, value, "last"), last_time, v, last_time, v);
	if (!index->is_partitioned) {
		ifp_add_call(text, index, "last");
		appendStringInfo(text, "c%d, c%d) OVER up AS before_ctid%d, ", column_of(index, value, "last_row"), last_time,
				 v);
	}
	ifp_add_call(text, index, "first");
	appendStringInfo(text, "c%d, c%d) OVER down AS after%d, min(c%d) OVER down AS after_ts%d",
			 column_of(index, value, "first"), first_time, v, first_time, v);
}

static void add_window(StringInfo text, const struct ifp_sqlgen_index *index, const char *name, const char *direction)
{
	appendStringInfo(text, "%s AS (", name);
	if (index->n_by > 0) {
		ifp_add_text(text, "PARTITION BY ");
		ifp_add_numbers(text, 1, index->n_by);
	}
	appendStringInfo(text, " ORDER BY c%d %s ROWS UNBOUNDED PRECEDING)", index->n_by + 1, direction);
}

static void add_row(StringInfo text, const struct ifp_sqlgen_index *index)
{
	ifp_add_text(text, "SELECT g.*");
	for (int v = 0; v < index->n_values; v++)
		add_neighbours(text, index, v);
	ifp_add_text(text, " FROM (");
	add_buckets(text, index);
	ifp_add_text(text, ") AS g");
	ifp_add_columns(text, 1, ifp_n_columns(index, IFP_WINDOW_CARRIED));
	ifp_add_text(text, " WINDOW ");
	add_window(text, index, "up", "");
	ifp_add_text(text, ", ");
	add_window(text, index, "down", "DESC");
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
static void add_line(StringInfo text, const struct ifp_sqlgen_index *index, int v)
{
	const char *time = format_type_be(index->time_type), *value = format_type_be(line_type(index->values[v].type));

	ifp_add_text(text, ", ");
	ifp_add_call(text, index, "line");
	ifp_add_text(text, "greatest(");
	ifp_add_call(text, index, "bucket_start");
	appendStringInfo(text, "c%d, $1, $2, $3, $4, $5), $1), before_ts%d::%s, after_ts%d::%s", index->n_by + 1, v, time, v,
			 time);
	appendStringInfo(text, ", before%d::%s, after%d::%s) AS line%d", v, value, v, value, v);
}

static void add_filled_value(StringInfo text, const struct ifp_sqlgen_index *index, const struct ifp_value_column *column,
			     int number)
{
	const char *aggregate = column->shown->aggregate;
	int v = (int)(column->value - index->values), count = column_of(index, column->value, "count");
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

static void add_carried(StringInfo text, const struct ifp_sqlgen_index *index)
{
	int bucket = index->n_by + 1, number = index->n_by + 7;
	ListCell *cell;

	ifp_add_text(text, "SELECT ");
	ifp_add_numbers(text, 1, bucket);
	ifp_add_text(text, ", ");
	ifp_add_bounds(text, index, psprintf("c%d", bucket));
	appendStringInfo(text, ", coalesce(c%d, 0), c%d, c%d", bucket + 3, bucket + 4, bucket + 5);
	foreach (cell, value_columns(index, IFP_WINDOW_PLAIN))
		add_filled_value(text, index, lfirst(cell), number++);
	ifp_add_text(text, " FROM (SELECT n.*");
	for (int v = 0; v < index->n_values; v++)
		add_line(text, index, v);
	ifp_add_text(text, " FROM (");
	add_row(text, index);
	ifp_add_text(text, ") AS n) AS f");
}
