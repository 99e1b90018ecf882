#include "tests/pg/random_query.h"

void query_piece(char piece[QUERY_PIECE], const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(piece, QUERY_PIECE, format, arguments);
	va_end(arguments);
	if (n < 0 || n >= QUERY_PIECE)
		snprintf(piece, QUERY_PIECE, "1");
}

#define ONE_OF(dice, list) (list)[random_below(dice, COUNT_OF(list))]

/* ---- aggregates ---- */

/* Of whole numbers, numeric and reals whose sums come out the same in any order. What would be rounded is left out. */
static const char *const of_whole[] = {
	"sum(@)", "sum(@)", "sum(@)", "avg(@)", "avg(@)", "min(@)", "max(@)", "max(@)", "count(@)", "sum(@ + 1)",
	"sum(@ - 3)",
	"avg(@ + 2)", "sum(@::numeric)", "sum(@::numeric * 0.5)", "sum(@ * 0.001)", "sum(@::bigint)", "avg(@::numeric)",
	"min(@ / 2)", "max(@::numeric * 2)", "min(@::bigint)", "sum(@::numeric - 0.25)", "sum(@ * 1.50)",
	"sum(@::numeric * -2)", "max(- (@ / 3))", "sum(@)", "max(@)", "avg(@)", "sum(@ * 2::bigint)", "sum(2::bigint * @)",
	"avg(@::bigint - 7)",
	"sum(@::numeric(20, 2))", "sum(coalesce(@, 0))", "sum(@ / 2)", "sum(@ % 7)", "min(abs(@ / 2))", "sum(- (@ / 2))",
	"max(@::text)", "sum(@ / 1000.0)", "max(coalesce(@, 0))",
}, *const of_numeric[] = {
	"sum(@)", "sum(@)", "sum(@)", "avg(@)", "avg(@)", "min(@)", "max(@)", "max(@)", "count(@)", "sum(@ * 1.5)",
	"sum(@ + 0.125)", "avg(@ * 3)", "sum(-@)", "max(round(@))", "min(floor(@))", "sum(@ - 1)", "max(@ * -2)",
	"sum(@::numeric)", "min(@ + 1)",
	"sum(round(@))", "sum(@ / 2)", "avg(abs(@))", "sum(@::numeric(20, 1))", "max(@::numeric(20, 8))",
	"sum(coalesce(@, 0))",
}, *const of_real[] = {
	"sum(@)", "sum(@)", "avg(@)", "avg(@)", "min(@)", "max(@)", "max(@)", "count(@)", "sum(@ * 2)", "sum(@ / 4)",
	"avg(@ - 0.5)", "sum(@::float8)", "max(floor(@))", "min(@ * -2)", "sum(@ + 1)", "max(@::numeric)", "sum(abs(@))",
	"sum(coalesce(@, 0))",
}, *const of_any[] = { "min(@)", "max(@)", "count(@)", "max(@)", "count(*)" };

static const char *const dear[] = {
	"count(DISTINCT @)", "string_agg(@::text, ',' ORDER BY @, id)", "(array_agg(@ ORDER BY id))[1]", "max(id)",
	"count(note)", "percentile_disc(0.5) WITHIN GROUP (ORDER BY @)", "count(DISTINCT ts)",
	"mode() WITHIN GROUP (ORDER BY @)", "sum(DISTINCT 1)", "count(DISTINCT (@, ts))", "max(@ ORDER BY id)",
	"sum(random()::integer * 0)", "var_pop(length(@::text))",
};

static void add_of_time(struct query *query, struct text *sql)
{
	static const char *const names[] = { "min", "max", "count", "max", "min" };
	unsigned n_steps = random_chance(query->dice, 30) + random_chance(query->dice, 10);
	enum term_type type;
	struct text term;

	text_set(&term, "%s", "");
	type = term_make(query, term_time(query), n_steps, &term);
	text_add(sql, "%s(%s)", type == OF_BOOL ? "bool_or" : ONE_OF(query->dice, names), term.at);
}

static void add_of_by(struct query *query, const struct query_column *column, struct text *sql)
{
	static const char *const names[] = { "min", "max", "count", "max" };
	static const char *const numbers[] = { "sum", "avg", "max", "min", "count" };
	static const char *const bools[] = { "bool_and", "bool_or", "every", "count" };
	const char *name;
	enum term_type type;
	struct text term;

	text_set(&term, "%s", "");
	type = term_make(query, column, (unsigned)random_below(query->dice, 3), &term);
	if (type == OF_BOOL)
		name = ONE_OF(query->dice, bools);
	else if (type == OF_INT4 || type == OF_INT8)
		name = ONE_OF(query->dice, numbers);
	else
		name = type == OF_UUID ? "count" : ONE_OF(query->dice, names);
	text_add(sql, "%s(%s)", name, term.at);
}

/* The column, or a CASE that gives it to some rows. */
static void add_operand(struct query *query, const struct query_column *column, struct text *sql)
{
	struct text condition;
	bool is_number = column->type == OF_INT4 || column->type == OF_INT8 || column->type == OF_NUMERIC ||
			 column->type == OF_FLOAT8;

	if (!random_chance(query->dice, 12)) {
		text_add(sql, "%s", column->name);
		return;
	}
	text_set(&condition, "%s", "");
	term_condition(query, random_chance(query->dice, 10), 1, &condition);
	text_add(sql, "CASE WHEN %s THEN %s%s END", condition.at, column->name,
		 is_number && random_chance(query->dice, 40) ? " ELSE 0" : "");
}

static void add_of_value(struct query *query, const struct query_column *column, struct text *sql)
{
	struct text operand;
	const char *form;

	switch (column->type) {
	case OF_INT4:
	case OF_INT8:
		form = ONE_OF(query->dice, of_whole);
		break;
	case OF_NUMERIC:
		form = ONE_OF(query->dice, of_numeric);
		break;
	case OF_FLOAT8:
		form = ONE_OF(query->dice, of_real);
		break;
	default:
		form = ONE_OF(query->dice, of_any);
	}
	text_set(&operand, "%s", "");
	add_operand(query, column, &operand);
	term_fill(query, form, operand.at, sql);
}

static void add_of_none(struct query *query, struct text *sql)
{
	static const char *const forms[] = { "count(*)", "count(*)", "count(*)", "count(1)", "sum(1)", "avg(2.50)",
					     "max('x'::text)", "count(NULL)", "sum(CASE WHEN # THEN 1 ELSE 0.0 END)",
					     "count(CASE WHEN # THEN 1 END)", "sum(CASE WHEN # THEN 1 ELSE 0 END)",
					     "sum((#)::integer)", "bool_and(#)",
					     "sum(CASE WHEN # THEN 1 WHEN # THEN 2 END)" };
	const char *form = ONE_OF(query->dice, forms);

	for (const char *c = form; *c; c++)
		if (*c == '#')
			term_condition(query, false, 1, sql);
		else
			text_add(sql, "%c", *c);
}

static void add_aggregate(struct query *query, struct text *sql)
{
	const struct query_column *value = term_value(query), *by = term_by(query);
	unsigned kind = (unsigned)random_below(query->dice, 100);
	struct text condition;

	if (kind < 40 && value)
		add_of_value(query, value, sql);
	else if (kind < 60)
		add_of_time(query, sql);
	else if (kind < 70 && by)
		add_of_by(query, by, sql);
	else
		add_of_none(query, sql);
	if (!random_chance(query->dice, 14))
		return;
	text_set(&condition, "%s", "");
	term_condition(query, random_chance(query->dice, 10), 1, &condition);
	text_add(sql, " FILTER (WHERE %s)", condition.at);
}

/* What tools put around aggregates. */
static void add_computed(struct query *query, struct text *sql)
{
	static const char *const forms[] = { "coalesce(@::text, 'none')", "@ IS NULL", "count(@) OVER ()", "count(*) / 2.0",
					     "round(100.0 * count(*) / nullif(count(*) + 1, 0), 2)", "nullif(@, NULL)",
					     "CASE WHEN count(*) > 3 THEN @ END", "(SELECT @)" };
	struct text aggregate;

	text_set(&aggregate, "%s", "");
	add_aggregate(query, &aggregate);
	term_fill(query, ONE_OF(query->dice, forms), aggregate.at, sql);
}

/* ---- making a query ---- */

static void keep(struct query_list *list, const struct text *sql)
{
	if (list->n < QUERY_PIECES && sql->n < QUERY_PIECE)
		query_piece(list->at[list->n++], "%s", sql->at);
}

static void make_keys(struct query *query)
{
	static const unsigned char numbers[] = { 0, 0, 1, 1, 1, 1, 1, 2, 2, 3 };
	static const unsigned char lengths[] = { 0, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3 };
	struct text sql;

	for (unsigned n = ONE_OF(query->dice, numbers); n > 0; n--) {
		const struct query_column *by = term_by(query);

		text_set(&sql, "%s", "");
		if (by && random_chance(query->dice, 45))
			term_make(query, by, (unsigned)random_below(query->dice, 10) / 4, &sql);
		else if (random_chance(query->dice, 4) && term_value(query))
			term_make(query, &query->table->values[0], 0, &sql);
		else
			term_make(query, term_time(query), ONE_OF(query->dice, lengths), &sql);
		keep(&query->keys, &sql);
	}
}

static void make_aggregates(struct query *query)
{
	struct text sql;
	unsigned n = query->shape == DISTINCT_KEYS ? 0 : 1 + (unsigned)random_below(query->dice, 4);

	for (; n > 0; n--) {
		text_set(&sql, "%s", "");
		if (random_chance(query->dice, 12))
			add_computed(query, &sql);
		else if (random_chance(query->dice, 2))
			term_fill(query, ONE_OF(query->dice, dear), query->table->values[0].name, &sql);
		else
			add_aggregate(query, &sql);
		keep(&query->aggregates, &sql);
	}
}

static void make_conditions(struct query *query)
{
	static const unsigned char numbers[] = { 0, 0, 0, 1, 1, 1, 1, 2, 2, 3 };
	const struct query_column *time = term_time(query);
	struct text sql, low, high;

	for (unsigned n = ONE_OF(query->dice, numbers); n > 0; n--) {
		text_set(&sql, "%s", "");
		if (random_chance(query->dice, 2))
			text_add(&sql, "%s", random_chance(query->dice, 50) ? "id % 3 > 0" : "(SELECT count(*) FROM t) > 5");
		else
			term_condition(query, true, random_chance(query->dice, 30) ? 2 : 0, &sql);
		keep(&query->conditions, &sql);
	}
	text_set(&sql, "VALUES ");
	for (unsigned n = 0; n < 4; n++) {
		text_set(&low, "%s", "");
		text_set(&high, "%s", "");
		term_literal(query, time->type, &low);
		term_literal(query, time->type, &high);
		text_add(&sql, "%s(%u, %s, %s)", n ? ", " : "", n, low.at, high.at);
	}
	query_piece(query->bounds, "%s", sql.at);
}

static void make_having(struct query *query)
{
	struct text sql, aggregate;

	if (query->shape == DISTINCT_KEYS || !random_chance(query->dice, 15))
		return;
	text_set(&aggregate, "%s", "");
	add_aggregate(query, &aggregate);
	text_set(&sql, "%s", "");
	if (random_chance(query->dice, 50))
		text_add(&sql, "%s IS NOT NULL", aggregate.at);
	else
		text_add(&sql, "count(*) > %u", (unsigned)random_below(query->dice, 4));
	keep(&query->having, &sql);
}

static void make_windows(struct query *query)
{
	static const char *const forms[] = { "sum(count(*)) OVER (ORDER BY %s)", "lag(count(*)) OVER (ORDER BY %s)",
					     "rank() OVER (ORDER BY count(*) DESC)%.0s",
					     "count(*) - lag(count(*), 2, 0::bigint) OVER (ORDER BY %s)",
					     "count(*) / sum(count(*)) OVER ()%.0s" };
	struct text keys, sql;

	if (query->keys.n == 0 || query->shape == DISTINCT_KEYS || !random_chance(query->dice, 8))
		return;
	text_set(&keys, "%s", "");
	text_set(&sql, "%s", "");
	for (unsigned i = 0; i < query->keys.n; i++)
		text_add(&keys, "%s%s", i ? ", " : "", query->keys.at[i]);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	text_add(&sql, ONE_OF(query->dice, forms), keys.at);
#pragma GCC diagnostic pop
	keep(&query->windows, &sql);
}

/* By all keys, so that the order is one; or by some. */
static void make_order(struct query *query)
{
	static const char *const directions[] = { "", "", " DESC", " NULLS FIRST", " DESC NULLS LAST" };
	unsigned n = random_chance(query->dice, 70) ? query->keys.n : (unsigned)random_below(query->dice, query->keys.n + 1);
	struct text sql;

	if (query->shape >= UNION_ABOVE || n == 0 || random_chance(query->dice, 45))
		return;
	text_set(&sql, " ORDER BY ");
	for (unsigned i = 0; i < n; i++)
		text_add(&sql, "%s%u%s", i ? ", " : "", i + 1, ONE_OF(query->dice, directions));
	query->is_ordered = n == query->keys.n;
	if (query->is_ordered && random_chance(query->dice, 35))
		text_add(&sql, " LIMIT %u", 1 + (unsigned)random_below(query->dice, 20));
	if (query->is_ordered && random_chance(query->dice, 10))
		text_add(&sql, " OFFSET %u", (unsigned)random_below(query->dice, 5));
	query_piece(query->order, "%s", sql.at);
}

void query_make(struct query *query, struct query_table *table)
{
	static const unsigned char shapes[] = {
		PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, DISTINCT_KEYS,
		DISTINCT_KEYS, WRAPPED, WRAPPED, COMPUTED_BELOW, THROUGH_VIEW, THROUGH_CTE, UNION_ABOVE, UNION_BELOW,
		SCALARS,
		LATERAL_BOUNDS, CORRELATED, AGGREGATED_AGAIN, FILTERED_ABOVE, JOINED, GROUPING,
	};

	query->table = table;
	query->dice = table->dice;
	query->shape = (enum query_shape)ONE_OF(query->dice, shapes);
	query->variant = (unsigned)random_below(query->dice, 1000);
	query->keys.n = query->aggregates.n = query->conditions.n = query->having.n = query->windows.n = 0;
	query->parameters.n = 0;
	*query->order = 0;
	query->is_ordered = false;
	query->is_prepared = random_chance(query->dice, 20);
	make_keys(query);
	if (query->shape == DISTINCT_KEYS && query->keys.n == 0)
		query->shape = PLAIN;
	make_aggregates(query);
	make_conditions(query);
	make_having(query);
	make_windows(query);
	make_order(query);
	if (query->parameters.n == 0)
		query->is_prepared = false;
}

/* ---- leaving pieces out ---- */

static bool leave_out_of(struct query_list *list, unsigned fewest, unsigned *n)
{
	if (list->n <= fewest || *n >= list->n) {
		*n -= list->n <= fewest ? 0 : list->n;
		return false;
	}
	memmove(list->at[*n], list->at[*n + 1], (list->n - *n - 1) * sizeof list->at[0]);
	list->n--;
	return true;
}

bool query_leave_out(struct query *query, unsigned n)
{
	bool has_order = *query->order;

	if (n == 0 && has_order) {
		*query->order = 0;
		query->is_ordered = false;
		return true;
	}
	n -= has_order;
	if (n == 0 && query->shape > DISTINCT_KEYS) {
		query->shape = PLAIN;
		return true;
	}
	n -= query->shape > DISTINCT_KEYS;
	if (has_order && n < query->keys.n + query->windows.n + query->conditions.n)
		has_order = false;
	return leave_out_of(&query->conditions, 0, &n) || leave_out_of(&query->having, 0, &n) ||
	       leave_out_of(&query->windows, 0, &n) || leave_out_of(&query->aggregates, 1, &n) ||
	       (query->windows.n == 0 && !*query->order && leave_out_of(&query->keys, query->shape == DISTINCT_KEYS, &n));
}
