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

/* ---- making a query ---- */

static void keep(struct query_list *list, const struct text *sql)
{
	if (list->n < QUERY_PIECES && sql->n < QUERY_PIECE)
		query_piece(list->at[list->n++], "%s", sql->at);
}

/* One of the time and a by column, in one. */
static void add_mixed_key(struct query *query, const struct query_column *by, struct text *sql)
{
	static const char *const forms[] = {
		"%s::text || (%s)::text", "%s::text || ' ' || (%s)::text", "concat(%s, '-', %s)",
		"coalesce(%s::text, (%s)::text)", "%s::text < (%s)::text", "format('%%s/%%s', %s, %s)",
		"CASE WHEN %s IS NULL THEN (%s) END", "(%s IS NOT NULL)::integer + length((%s)::text)",
	};
	struct text time;

	text_set(&time, "%s", "");
	term_make(query, term_time(query), 1, &time);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	text_add(sql, ONE_OF(query->dice, forms), term_operand(query, by), time.at);
#pragma GCC diagnostic pop
}

/* A few bands of values. */
static bool add_values_key(struct query *query, struct text *sql)
{
	struct text first, second;

	text_set(&first, "%s", "");
	text_set(&second, "%s", "");
	if (!term_values_condition(query, &first) || !term_values_condition(query, &second))
		return false;
	if (random_chance(query->dice, 50))
		text_add(sql, "%s", first.at);
	else if (random_chance(query->dice, 50))
		text_add(sql, "CASE WHEN %s THEN 'slow' ELSE 'fast' END", first.at);
	else
		text_add(sql, "CASE WHEN %s THEN 'slow' WHEN %s THEN 'fair' END", first.at, second.at);
	return true;
}

static void make_keys(struct query *query)
{
	static const unsigned char numbers[] = { 0, 0, 1, 1, 1, 1, 1, 2, 2, 3 };
	static const unsigned char lengths[] = { 0, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3 };
	bool are_of_time = random_chance(query->dice, 10);
	struct text sql;

	for (unsigned n = are_of_time ? 3 : ONE_OF(query->dice, numbers); n > 0; n--) {
		const struct query_column *by = are_of_time ? NULL : term_by(query), *value;

		text_set(&sql, "%s", "");
		if (random_chance(query->dice, 20) && term_bounds_key(query, &sql))
			;
		else if (random_chance(query->dice, 6) && add_values_key(query, &sql))
			;
		else if (by && random_chance(query->dice, 7))
			add_mixed_key(query, by, &sql);
		else if (by && random_chance(query->dice, 45))
			term_make(query, by, (unsigned)random_below(query->dice, 10) / 4, &sql);
		else if (random_chance(query->dice, 12) && (value = term_value(query)) != NULL)
			term_make(query, value, (unsigned)random_below(query->dice, 3) / 2, &sql);
		else if (random_chance(query->dice, 2))
			text_add(&sql, "%s IS NULL", query->table->values[0].name);
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
		term_output(query, &sql);
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
		else if ((!random_chance(query->dice, 25) || !term_bounds_condition(query, &sql)) &&
			 (!random_chance(query->dice, 15) || !term_values_condition(query, &sql)))
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

/* Rows that say more of a by column, some of the same value of it; what they say is a key or in an aggregate. */
static void make_dimension(struct query *query)
{
	static const char *const keys[] = { "dname", "dname", "dn", "dn % 2", "coalesce(dname, 'none')", "dname || dn" };
	static const char *const aggregates[] = { "sum(dn)", "max(dname)", "count(dk)", "count(*) FILTER (WHERE dn > 1)",
						  "count(DISTINCT dname)", "avg(CASE WHEN dname = 'a' THEN dn END)" };
	static const char *const names[] = { "'a'", "'b'", "'b'", "NULL" };
	const struct query_column *by;
	struct text sql, literal;

	if (query->shape != DIMENSION || query->table->n_by == 0) {
		query->shape = query->shape == DIMENSION ? PLAIN : query->shape;
		return;
	}
	query->dimension_by = (unsigned)random_below(query->dice, query->table->n_by);
	by = &query->table->by[query->dimension_by];
	text_set(&sql, "VALUES ");
	for (unsigned n = 0; n < 5; n++) {
		text_set(&literal, "%s", "");
		term_literal(query, by->type, &literal);
		text_add(&sql, "%s(%s, %s, %u)", n ? ", " : "", literal.at, ONE_OF(query->dice, names), n);
	}
	query_piece(query->dimension, "%s", sql.at);
	text_set(&sql, "%s", ONE_OF(query->dice, keys));
	if (query->variant % 8 < 6 && random_chance(query->dice, 70))
		keep(&query->keys, &sql);
	text_set(&sql, "%s", ONE_OF(query->dice, aggregates));
	if (query->variant % 8 < 6 && random_chance(query->dice, 50))
		keep(&query->aggregates, &sql);
}

static void make_having(struct query *query)
{
	struct text sql, aggregate;

	if (query->shape == DISTINCT_KEYS || !random_chance(query->dice, 15))
		return;
	text_set(&aggregate, "%s", "");
	term_aggregate(query, &aggregate);
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
		DISTINCT_KEYS, WRAPPED, WRAPPED, COMPUTED_BELOW, THROUGH_VIEW, THROUGH_CTE, UNION_ABOVE, UNION_BELOW, UNION_BELOW,
		SCALARS,
		LATERAL_BOUNDS, CORRELATED, AGGREGATED_AGAIN, FILTERED_ABOVE, JOINED, GROUPING, FIRST_ROWS, FIRST_ROWS,
		DIMENSION, DIMENSION, ELEMENTS, ELEMENTS, OUTER_ROWS, OUTER_ROWS, OUTER_ROWS,
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
	query->n_earlier = random_chance(query->dice, 60) ? random_chance(query->dice, 80) ? 1 : 6 : 0;
	make_keys(query);
	if (query->shape == DISTINCT_KEYS && query->keys.n == 0)
		query->shape = PLAIN;
	make_aggregates(query);
	make_conditions(query);
	make_dimension(query);
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

	if (query->is_prepared && query->n_earlier > 0) {
		if (n == 0) {
			query->n_earlier = 0;
			for (unsigned i = 0; i < query->parameters.n; i++)
				query_piece(query->parameters.at[i], "%s", query->later.at[i]);
			return true;
		}
		n--;
	}
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
