#include "tests/pg/random_query.h"

/* ---- a grouped query over something named t ---- */

static void add_where(const struct query *query, unsigned first, unsigned n, const char *more, struct text *sql)
{
	const char *word = " WHERE ";

	for (unsigned i = first; i < first + n && i < query->conditions.n; i++) {
		text_add(sql, "%s%s", word, query->conditions.at[i]);
		word = " AND ";
	}
	if (more)
		text_add(sql, "%s%s", word, more);
}

/* k1 .., as the select list and GROUP BY have them: by expression, by place or by name. */
static void add_keys(const struct query *query, bool is_grouping, bool are_computed, struct text *sql)
{
	unsigned how = query->variant % 3;

	for (unsigned i = 0; i < query->keys.n; i++) {
		text_add(sql, "%s", i ? ", " : "");
		if (are_computed || (is_grouping && how == 1))
			text_add(sql, "k%u", i + 1);
		else if (is_grouping && how == 2)
			text_add(sql, "%u", i + 1);
		else
			text_add(sql, "%s", query->keys.at[i]);
		if (!is_grouping && !are_computed)
			text_add(sql, " AS k%u", i + 1);
	}
}

struct core {
	const char *from, *more;    /* a further condition, or NULL */
	unsigned first, n_conditions;
	bool are_computed;
};

static void add_grouping(const struct query *query, const struct core *core, struct text *sql)
{
	static const char *const forms[][2] = { { "ROLLUP (", ")" }, { "CUBE (", ")" }, { "GROUPING SETS (", ")" },
						{ "GROUPING SETS ((), (", "), ())" }, { "GROUPING SETS (", ", ROLLUP (1))" },
						{ "DISTINCT ROLLUP (1), CUBE (", ")" }, { "", ", ROLLUP (1)" } };
	const char *const *form = forms[query->variant / 3 % COUNT_OF(forms)];

	if (query->keys.n == 0 || query->shape == DISTINCT_KEYS)
		return;
	text_add(sql, " GROUP BY %s", query->shape == GROUPING ? form[0] : "");
	add_keys(query, true, core->are_computed, sql);
	text_add(sql, "%s", query->shape == GROUPING ? form[1] : "");
}

/* GROUPING() of some of the keys, the last first. */
static void add_grouping_functions(const struct query *query, struct text *sql)
{
	text_add(sql, ", GROUPING(%s) AS g1, GROUPING(", query->keys.at[query->variant / 21 % query->keys.n]);
	for (unsigned i = query->keys.n; i > 0; i--)
		text_add(sql, "%s%s", query->keys.at[i - 1], i > 1 ? ", " : ") AS g");
}

static void add_core(const struct query *query, const struct core *core, struct text *sql)
{
	const char *separator = query->keys.n ? ", " : "";

	text_add(sql, "SELECT %s", query->shape == DISTINCT_KEYS ? "DISTINCT " : "");
	add_keys(query, false, core->are_computed, sql);
	for (unsigned i = 0; i < query->aggregates.n; i++, separator = ", ")
		text_add(sql, "%s%s AS a%u", separator, query->aggregates.at[i], i + 1);
	for (unsigned i = 0; i < query->windows.n && query->shape != GROUPING && !core->are_computed; i++, separator = ", ")
		text_add(sql, "%s%s AS w%u", separator, query->windows.at[i], i + 1);
	if (query->shape == GROUPING && query->keys.n > 0 && query->variant / 100 % 4)
		add_grouping_functions(query, sql);
	text_add(sql, " FROM %s", core->from);
	add_where(query, core->first, core->n_conditions, core->more, sql);
	add_grouping(query, core, sql);
	for (unsigned i = 0; i < query->having.n; i++)
		text_add(sql, "%s%s", i ? " AND " : " HAVING ", query->having.at[i]);
}

static void add_core_over(const struct query *query, const char *from, const char *more, struct text *sql)
{
	add_core(query, &(struct core){ .from = from, .more = more, .n_conditions = QUERY_PIECES }, sql);
}

/* ---- shapes ---- */

static const char *base(const struct query *query)
{
	static const char *const bases[] = { "t", "t", "t", "t", "t", "t", "t", "t", "public.t", "t AS t", "ONLY t",
					     "t TABLESAMPLE SYSTEM (100)", "t CROSS JOIN (VALUES (1), (2)) two(n)" };
	unsigned n = query->variant / 3 % 50;

	if (query->table->is_temporary && n == 8 && query->shape == PLAIN)
		return "pg_temp.t";
	return bases[n < COUNT_OF(bases) && query->shape == PLAIN ? n : 0];
}

static void add_over_select(const struct query *query, struct text *sql)
{
	/* most have no effect; LIMIT does, and leaves which rows to the order of id */
	static const char *const ends[] = { "", "", "", " OFFSET 0", " ORDER BY ts DESC", " ORDER BY id LIMIT ALL OFFSET 0",
					    " LIMIT NULL", " ORDER BY id OFFSET 2", " ORDER BY random()" };
	struct text from;

	text_set(&from, "(SELECT *");
	for (unsigned i = 0; i < query->keys.n && query->shape == COMPUTED_BELOW; i++)
		text_add(&from, ", %s AS k%u", query->keys.at[i], i + 1);
	text_add(&from, " FROM t");
	add_where(query, 0, 1, NULL, &from);
	text_add(&from, "%s) %s", ends[query->variant / 5 % COUNT_OF(ends)], query->variant % 5 ? "t" : "AS \"t\"");
	add_core(query, &(struct core){ .from = from.at, .first = 1, .n_conditions = QUERY_PIECES,
					.are_computed = query->shape == COMPUTED_BELOW }, sql);
}

static void add_over_cte(const struct query *query, struct text *sql)
{
	static const char *const words[] = { "", "", "NOT MATERIALIZED", "MATERIALIZED" };

	text_add(sql, "WITH t AS %s (SELECT * FROM t", words[query->variant / 3 % 4]);
	add_where(query, 0, 1, NULL, sql);
	text_add(sql, ") ");
	add_core(query, &(struct core){ .from = "t", .first = 1, .n_conditions = QUERY_PIECES }, sql);
}

/* Conditions are of the arms, or of their rows. */
static void add_over_union(const struct query *query, struct text *sql)
{
	unsigned n_of_arm = query->variant / 3 % 2;
	struct text from;

	text_set(&from, "(SELECT * FROM t");
	add_where(query, 0, n_of_arm, NULL, &from);
	text_add(&from, " UNION ALL SELECT * FROM t");
	add_where(query, 1, n_of_arm, NULL, &from);
	text_add(&from, ") t");
	add_core(query, &(struct core){ .from = from.at, .first = 2 * n_of_arm, .n_conditions = QUERY_PIECES }, sql);
}

static void add_scalars(const struct query *query, struct text *sql)
{
	for (unsigned i = 0; i < query->aggregates.n; i++) {
		text_add(sql, "%s(SELECT %s FROM t", i ? ", " : "SELECT ", query->aggregates.at[i]);
		add_where(query, i, 2, NULL, sql);
		text_add(sql, ") AS x%u", i + 1);
	}
}

static const char *bounds_condition(const struct query *query)
{
	static const char *const conditions[] = { "ts >= b.lo AND ts < b.hi", "ts BETWEEN b.lo AND b.hi", "ts = b.lo",
						  "ts > b.lo", "(ts < b.lo OR ts >= b.hi)" };

	return conditions[query->variant / 3 % COUNT_OF(conditions)];
}

static void add_correlated(const struct query *query, struct text *sql)
{
	text_add(sql, "SELECT b.n, (SELECT %s FROM t", query->aggregates.at[0]);
	add_where(query, 0, QUERY_PIECES, bounds_condition(query), sql);
	text_add(sql, ") AS x FROM (%s) b(n, lo, hi)", query->bounds);
}

/* The rows that each of a few rows joins, of which some are of one group. */
static void add_outer_rows(const struct query *query, struct text *sql)
{
	static const char *const keys[] = { "b.n",    "b.n / 2", "b.lo",      "b.n, m", "coalesce(b.lo, b.hi), b.n / 3",
					    "m % 2", "s.step",	"b.n, s.step" };
	static const char *const more[] = { "", "", " CROSS JOIN generate_series(1, 3) m", " JOIN generate_series(0, 2) m ON m < b.n" };
	const char *key = keys[query->variant / 15 % COUNT_OF(keys)], *join = query->variant % 4 ? "LEFT JOIN" : "JOIN";
	const char *others = more[strchr(key, 'm') ? 2 + query->variant / 90 % 2 : query->variant / 90 % COUNT_OF(more)];
	bool has_dependent = strstr(key, "s.step"); /* steps has columns beside its key */
	unsigned n_within = query->variant / 360 % 3;
	const char *separator = ", ";

	text_add(sql, "SELECT %s", key);
	for (unsigned i = 0; i < query->aggregates.n; i++)
		text_add(sql, "%s%s AS a%u", separator, query->aggregates.at[i], i + 1);
	text_add(sql, "%s%s AS n1, count(t.*) AS n2%s FROM (%s) b(n, lo, hi)%s%s %s t ON %s", separator,
		 query->table->has_key ? "count(t.id)" : "count(*)", has_dependent ? ", upper(s.label) AS label, s.remark AS remark" : "",
		 query->bounds, others, has_dependent ? " JOIN steps s ON s.step <> b.n" : "", join, bounds_condition(query));
	if (query->table->n_by > 0 && query->variant % 5 == 0)
		text_add(sql, " AND (%s)::text > b.n::text", query->table->by[0].operand);
	for (unsigned i = 0; i < n_within && i < query->conditions.n; i++)
		text_add(sql, " AND %s", query->conditions.at[i]);
	add_where(query, n_within, QUERY_PIECES, NULL, sql);
	text_add(sql, " GROUP BY %s", key);
	for (unsigned i = 0; i < query->having.n; i++)
		text_add(sql, "%s%s", i ? " AND " : " HAVING ", query->having.at[i]);
}

static void add_joined(const struct query *query, struct text *sql)
{
	text_add(sql, "SELECT a.*, b.a1 AS other FROM (");
	add_core_over(query, "t", NULL, sql);
	text_add(sql, ") a %s JOIN (", query->variant / 3 % 2 ? "LEFT" : "FULL");
	add_core(query, &(struct core){ .from = "t", .first = 1, .n_conditions = QUERY_PIECES }, sql);
	text_add(sql, ") b ON true");
	for (unsigned i = 0; i < query->keys.n; i++)
		text_add(sql, " AND a.k%u = b.k%u", i + 1, i + 1);
}

/* Over t and its dimension, which is joined in one of some ways; or is only asked whether it has such a row. */
static void add_over_dimension(const struct query *query, struct text *sql)
{
	static const char *const joins[] = { "JOIN", "LEFT JOIN", "JOIN", "LEFT JOIN", "JOIN", "LEFT JOIN" };
	static const char *const operators[] = { "=", "=", "=", "=", "<>", ">=" };
	static const char *const more[] = { "", "", " AND dn > 1", " AND (dn <> 2 OR note = 'x')", " AND dname IS NOT NULL" };
	const char *by = query->table->by[query->dimension_by].operand;
	struct text from, condition, also;

	text_set(&also, "%s", more[query->variant / 8 % COUNT_OF(more)]);
	if (query->variant / 40 % 3 == 0 && query->conditions.n > 0 && strlen(query->conditions.at[0]) < QUERY_PIECE / 4)
		text_add(&also, " AND (dn > 1 OR %s)", query->conditions.at[0]);
	if (query->variant % 8 < COUNT_OF(joins)) {
		text_set(&from, "t %s (%s) d(dk, dname, dn) ON dk %s %s%s", joins[query->variant % 8], query->dimension,
			 operators[query->variant % 8], by, also.at);
		if (query->variant % 8 == 4 && query->variant / 40 % 2)
			text_set(&from, "t CROSS JOIN (%s) d(dk, dname, dn)", query->dimension);
		add_core_over(query, from.at, NULL, sql);
	} else {
		text_set(&condition, "%s (SELECT 1 FROM (%s) d(dk, dname, dn) WHERE dk = %s%s)",
			 query->variant % 8 == 6 ? "EXISTS" : "NOT EXISTS", query->dimension, by, also.at);
		add_core_over(query, "t", condition.at, sql);
	}
}

/* Makes a filter for the first element: none, one on the value, or a condition of the query, so short that a piece holds three. */
static void element_filter(const struct query *query, const char *value, struct text *filter)
{
	unsigned kind = query->variant / 16 % 4;

	text_set(filter, "%s", "");
	if (kind == 2)
		text_add(filter, "%s IS NOT NULL", value);
	else if (kind == 3 && query->conditions.n > 0 && strlen(query->conditions.at[0]) < QUERY_PIECE / 4)
		text_add(filter, "%s", query->conditions.at[0]);
}

/* (array_agg(v ORDER BY ts))[1] by the keys, and its time. Of rows at one time any may be the first: so what is answered is whether
 * there is such a row. */
static void add_elements(const struct query *query, struct text *sql)
{
	static const char *const orders[] = { "", " DESC", " DESC NULLS LAST", " NULLS FIRST" };
	static struct query by_keys;
	const char *time = query->table->time.operand;
	const char *value = query->table->values[query->variant % query->table->n_values].operand;
	unsigned order = query->variant / 4 % COUNT_OF(orders), has_conditions = query->variant / 64 % 2;
	struct text filter, filtered;

	element_filter(query, value, &filter);
	text_set(&filtered, "%s%s%s", filter.n ? " FILTER (WHERE " : "", filter.at, filter.n ? ")" : "");
	by_keys = *query;
	by_keys.windows.n = by_keys.having.n = 0;
	by_keys.aggregates.n = 3;
	query_piece(by_keys.aggregates.at[0], "(array_agg(%s ORDER BY %s%s)%s)[1]", value, time, orders[order], filtered.at);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	query_piece(by_keys.aggregates.at[1], order % 2 ? "CASE WHEN count(*)%s = count(%s)%s THEN %s(%s)%s END" : "%.0s%.0s%.0s%s(%s)%s",
		    filtered.at, time, filtered.at, order == 1 || order == 2 ? "max" : "min", time, filtered.at);
#pragma GCC diagnostic pop
	query_piece(by_keys.aggregates.at[2], "count(*)%s", filtered.at);
	text_add(sql, "WITH e AS MATERIALIZED (");
	add_core(&by_keys, &(struct core){ .from = "t", .n_conditions = has_conditions ? QUERY_PIECES : 0 }, sql);
	text_add(sql, ") SELECT ");
	for (unsigned i = 0; i < query->keys.n; i++)
		text_add(sql, "k%u, ", i + 1);
	text_add(sql, "a2, a3, a3 = 0 OR EXISTS (SELECT FROM t");
	add_where(query, 0, has_conditions ? QUERY_PIECES : 0, filter.n ? filter.at : "true", sql);
	text_add(sql, " AND %s IS NOT DISTINCT FROM e.a2 AND (%s)::text IS NOT DISTINCT FROM e.a1::text", time, value);
	for (unsigned i = 0; i < query->keys.n; i++)
		text_add(sql, " AND (%s) IS NOT DISTINCT FROM e.k%u", query->keys.at[i], i + 1);
	/* a few groups: each is looked for in the whole table */
	text_add(sql, ") AS is_right FROM (SELECT * FROM e");
	for (unsigned i = 0; i < query->keys.n; i++)
		text_add(sql, "%sk%u", i ? ", " : " ORDER BY ", i + 1);
	text_add(sql, " LIMIT 30) e");
}

static void add_union_above(const struct query *query, struct text *sql)
{
	add_core_over(query, "t", NULL, sql);
	text_add(sql, query->variant / 3 % 4 ? " UNION ALL " : " UNION ");
	add_core(query, &(struct core){ .from = "t", .first = 1, .n_conditions = QUERY_PIECES }, sql);
}

/* Adds the first n by columns, and a key of any kind. */
static void add_series_keys(const struct query *query, unsigned n, struct text *sql)
{
	for (unsigned i = 0; i < n; i++)
		text_add(sql, "%s%s", i ? ", " : "", query->table->by[i].operand);
	if (query->keys.n > 0 && query->variant % 8 == 0)
		text_add(sql, "%s%s", n ? ", " : "", query->keys.at[0]);
	else if (n == 0)
		text_add(sql, "1::integer");
}

/* The first or last rows of a group by time or by a value, by DISTINCT ON, row_number() or rank(). What is equal in that comes in the
 * order of id. */
static void add_first_rows(const struct query *query, struct text *sql)
{
	static const char *const directions[] = { "", " DESC", " DESC", " DESC NULLS LAST", " NULLS FIRST" };
	static const char *const more[] = { "row_number()", "rank()", "rank()", "row_number()", "dense_rank()", "count(*)" };
	static const char *const limits[] = { "<= 1", "= 1", "<= 3", "< 3", "<= 2", "<= 40" };
	const char *direction = directions[query->variant / 8 % COUNT_OF(directions)], *time = query->table->time.operand;
	unsigned v = query->variant / 3 % (query->table->n_values * 2 + 1);
	const char *order = v < query->table->n_values ? query->table->values[v].name : time;
	const char *function = more[query->variant / 7 % COUNT_OF(more)];
	unsigned n = query->variant / 40 % (query->table->n_by + 1);
	struct text keys, values;

	text_set(&keys, "%s", "");
	text_set(&values, "%s", "");
	add_series_keys(query, n, &keys);
	for (unsigned i = 0; i < query->table->n_values; i++)
		text_add(&values, "%s, ", query->table->values[i].name);
	if (query->variant % 3) {
		text_add(sql, "SELECT DISTINCT ON (%s) concat_ws('|', %s) AS k, %s AS at, %sid, note FROM t", keys.at, keys.at, time,
			 values.at);
		add_where(query, 0, QUERY_PIECES, NULL, sql);
		text_add(sql, " ORDER BY %s, %s%s, id", keys.at, order, direction);
	} else {
		text_add(sql, "SELECT * FROM (SELECT %sid, %s OVER (PARTITION BY %s ORDER BY %s%s%s) AS n FROM t", values.at,
			 function, keys.at, order, direction, strcmp(function, "row_number()") == 0 ? ", id" : "");
		add_where(query, 0, QUERY_PIECES, NULL, sql);
		text_add(sql, ") s WHERE n %s", limits[query->variant / 11 % COUNT_OF(limits)]);
	}
}

void query_write(const struct query *query, struct text *sql)
{
	text_set(sql, "%s", "");
	switch (query->shape) {
	case WRAPPED:
	case COMPUTED_BELOW:
		add_over_select(query, sql);
		break;
	case THROUGH_VIEW:
		add_core_over(query, "v AS t", NULL, sql);
		break;
	case THROUGH_CTE:
		add_over_cte(query, sql);
		break;
	case UNION_ABOVE:
		add_union_above(query, sql);
		break;
	case UNION_BELOW:
		add_over_union(query, sql);
		break;
	case SCALARS:
		add_scalars(query, sql);
		break;
	case LATERAL_BOUNDS:
		text_add(sql, "SELECT b.n, s.* FROM (%s) b(n, lo, hi) LEFT JOIN LATERAL (", query->bounds);
		add_core_over(query, "t", bounds_condition(query), sql);
		text_add(sql, ") s ON true");
		break;
	case CORRELATED:
		add_correlated(query, sql);
		break;
	case AGGREGATED_AGAIN:
		/* zero has no sign: 0 and -0 are one group, and either may stand for it */
		text_add(sql, "SELECT count(*), md5(string_agg(line, '|' ORDER BY line)) FROM"
			      " (SELECT regexp_replace(s::text, '([(,])-0(?=[,)])', '\\10', 'g') AS line FROM (");
		add_core_over(query, "t", NULL, sql);
		text_add(sql, ") s) lines");
		break;
	case FILTERED_ABOVE:
		text_add(sql, "SELECT * FROM (");
		add_core_over(query, "t", NULL, sql);
		text_add(sql, ") s WHERE NOT s.a1 IS NULL");
		break;
	case JOINED:
		add_joined(query, sql);
		break;
	case FIRST_ROWS:
		add_first_rows(query, sql);
		break;
	case ELEMENTS:
		add_elements(query, sql);
		break;
	case OUTER_ROWS:
		add_outer_rows(query, sql);
		break;
	case DIMENSION:
		add_over_dimension(query, sql);
		break;
	default:
		add_core_over(query, base(query), NULL, sql);
	}
	text_add(sql, "%s", query->order);
}

void query_write_prepare(const struct query *query, struct text *sql)
{
	struct text statement;

	query_write(query, &statement);
	text_set(sql, "PREPARE q(");
	for (unsigned i = 0; i < query->parameters.n; i++)
		text_add(sql, "%s%s", i ? ", " : "", query->parameter_types[i]);
	text_add(sql, ") AS %s", statement.at);
}

void query_write_execute(const struct query *query, bool is_last, struct text *sql)
{
	const struct query_list *values = is_last && query->n_earlier > 0 ? &query->later : &query->parameters;

	text_add(sql, "EXECUTE q(");
	for (unsigned i = 0; i < query->parameters.n; i++)
		text_add(sql, "%s%s", i ? ", " : "", values->at[i]);
	text_add(sql, ")");
}
