#include "tests/pg/random_query.h"

/* ---- terms ---- */

/* Some steps from `operand` on. */
static enum term_type make(struct query *query, const char *operand, enum term_type type, unsigned n_steps, struct text *sql)
{
	struct text inner, outer;

	text_set(&inner, "%s", operand);
	for (; n_steps > 0 && inner.n < 400; n_steps--) {
		text_set(&outer, "%s", "");
		type = term_step(query, type, inner.at, &outer);
		text_set(&inner, "%s", outer.at);
	}
	text_add(sql, "%s", inner.at);
	return type;
}

enum term_type term_make(struct query *query, const struct query_column *column, unsigned n_steps, struct text *sql)
{
	return make(query, term_operand(query, column), column->type, n_steps, sql);
}

const char *term_operand(struct query *query, const struct query_column *column)
{
	return column->type != column->kind->type || random_chance(query->dice, 85) ? column->operand : column->name;
}

const struct query_column *term_time(const struct query *query)
{
	return &query->table->time;
}

static const struct query_column *choose_column(struct query *query, const struct query_column *columns, unsigned n)
{
	const struct query_column *column = n > 0 ? &columns[random_below(query->dice, n)] : NULL;

	return column && !column->is_indexed && random_chance(query->dice, 90) ? NULL : column;
}

const struct query_column *term_by(struct query *query)
{
	return choose_column(query, query->table->by, query->table->n_by);
}

const struct query_column *term_value(struct query *query)
{
	return choose_column(query, query->table->values, query->table->n_values);
}

/* ---- conditions ---- */

static const char *an_operator(struct query *query)
{
	static const char *const operators[] = { "<", "<=", "=", ">=", ">", ">=", "<", "<>", "<=", ">" };

	return operators[random_below(query->dice, COUNT_OF(operators))];
}

/* `marked`, with `operand` for \1. */
static void add_marked(const char *marked, const char *operand, struct text *sql)
{
	bool is_bare = strcmp(marked, "\1") == 0;

	text_add(sql, "%s", is_bare ? "" : "(");
	for (const char *c = marked; *c; c++)
		if (*c == '\1')
			text_add(sql, "%s", operand);
		else
			text_add(sql, "%c", *c);
	text_add(sql, "%s", is_bare ? "" : ")");
}

/* What a term of a column is compared with: a value, or the term of a value. */
static void add_right(struct query *query, const struct query_column *column, const char *marked, enum term_type type,
		      struct text *sql)
{
	struct text literal;

	if (random_chance(query->dice, 45) || strlen(marked) > 300) {
		term_literal(query, type, sql);
		return;
	}
	text_set(&literal, "%s", "");
	term_literal(query, column->type, &literal);
	add_marked(marked, literal.at, sql);
}

/* Two values of a column of which the second is seldom the lower. */
static void add_ends(struct query *query, const struct query_column *column, struct text *low, struct text *high)
{
	const char *type = term_type_of(column);
	unsigned n = column->n_samples, a, b, c;

	text_set(low, "%s", "");
	text_set(high, "%s", "");
	if (n < 2 || random_chance(query->dice, 20)) {
		term_literal(query, column->type, low);
		term_literal(query, column->type, high);
		return;
	}
	a = (unsigned)random_below(query->dice, random_chance(query->dice, 60) ? n / 2 : n);
	b = a + (unsigned)random_below(query->dice, n - a);
	c = (unsigned)random_below(query->dice, n);
	term_value_of(query, column->samples[a], column->samples[c / 2], type, low);
	term_value_of(query, column->samples[b], column->samples[c], type, high);
}

static void add_range(struct query *query, const struct query_column *column, const char *marked, struct text *sql)
{
	static const char *const forms[] = { ">= <", ">= <", ">= <=", "> <", "> <=", "B", "B", "B", "NOT B", "S" };
	const char *form = forms[random_below(query->dice, COUNT_OF(forms))];
	struct text low, high, term;

	add_ends(query, column, &low, &high);
	text_set(&term, "%s", "");
	add_marked(marked, term_operand(query, column), &term);
	text_add(sql, "%s%s", *form == 'N' ? "NOT " : "", term.at);
	if (*form == '>') {
		text_add(sql, " %.*s ", (int)strcspn(form, " "), form);
		add_marked(marked, low.at, sql);
		text_add(sql, " AND %s%s ", term.at, strchr(form, ' '));
	} else {
		text_add(sql, *form == 'S' ? " BETWEEN SYMMETRIC " : " BETWEEN ");
		add_marked(marked, low.at, sql);
		text_add(sql, " AND ");
	}
	add_marked(marked, high.at, sql);
}

static void add_comparison(struct query *query, const struct query_column *column, const char *marked, enum term_type type,
			   struct text *sql)
{
	unsigned kind = (unsigned)random_below(query->dice, 100);

	if (kind < 30) {
		add_range(query, column, marked, sql);
		return;
	}
	if (kind < 35) {
		add_right(query, column, marked, type, sql);
		text_add(sql, " %s ", an_operator(query));
	}
	add_marked(marked, term_operand(query, column), sql);
	if (kind >= 35 && kind < 68) {
		text_add(sql, " %s ", an_operator(query));
		add_right(query, column, marked, type, sql);
	} else if (kind >= 68 && kind < 88) {
		text_add(sql, kind < 84 ? " IN (" : kind < 86 ? " NOT IN (" : " = ANY(ARRAY[");
		for (uint64_t n = random_below(query->dice, 4) + 1; n > 0; n--) {
			add_right(query, column, marked, type, sql);
			text_add(sql, n > 1 ? ", " : kind < 86 ? ")" : "])");
		}
	} else if (kind >= 88 && kind < 96) {
		text_add(sql, kind < 91 ? " IS NULL" : " IS NOT NULL");
	} else if (kind >= 96) {
		text_add(sql, kind < 98 ? " IS DISTINCT FROM " : " IS NOT DISTINCT FROM ");
		add_right(query, column, marked, type, sql);
	}
}

/* The time column beside values of other types, of unknown type, and that are known only when the query runs. */
static void add_bound(struct query *query, struct text *sql)
{
	static const char *const stamps[] = { "{tz}", "{ts}", "{date}", "{tz} + interval '{span}'", "(SELECT {tz})", "now()",
					      "(SELECT min(ts) FROM t)", "date_trunc({unit}, {tz})", "'2024-11-03 01:30'",
					      "to_timestamp('2024-11-03 05:30:00.5', 'YYYY-MM-DD HH24:MI:SS.US')",
					      "current_date", "{ts} + interval '{span}'" };
	static const char *const numbers[] = { "{i4}", "{i8}", "{num}", "{f8}", "(SELECT {i8})", "(SELECT max(ts) FROM t)",
					       "1000", "1e3", "(SELECT max(ts) / 2.0 FROM t)", "5::smallint", "'7'",
					       "{w} * {small}" };
	const struct query_column *time = term_time(query);
	bool is_stamp = time->type == OF_TIMESTAMPTZ || time->type == OF_TIMESTAMP || time->type == OF_DATE;
	const char *form = is_stamp ? stamps[random_below(query->dice, COUNT_OF(stamps))]
				    : numbers[random_below(query->dice, COUNT_OF(numbers))];

	text_add(sql, "%s %s ", term_operand(query, time), an_operator(query));
	term_fill(query, form, "", sql);
}

static bool is_number(enum term_type type)
{
	return type == OF_INT4 || type == OF_INT8 || type == OF_NUMERIC || type == OF_FLOAT8;
}

/* What is computed of a value before it is compared, with \1 for it. */
static enum term_type add_arithmetic(struct query *query, enum term_type type, struct text *marked)
{
	static const struct {
		enum term_type to;
		const char *form;
	} forms[] = {
		{ OF_INT8, "@ * 2" }, { OF_INT8, "@ / 1000" }, { OF_NUMERIC, "(@ + 1) * 0.01" }, { OF_INT8, "-@" },
		{ OF_NUMERIC, "@::numeric" }, { OF_FLOAT8, "@::float8" }, { OF_INT8, "@ - 3" }, { OF_INT8, "@ * -2" },
		{ OF_FLOAT8, "@::float8 / 4" }, { OF_NUMERIC, "@ * 0.001" }, { OF_NUMERIC, "@ / 60.0" },
		{ OF_INT8, "100 - @" }, { OF_NUMERIC, "@::numeric * 1.5 + 2" }, { OF_INT8, "2 * @" },
		{ OF_INT8, "@::bigint * 1000" }, { OF_NUMERIC, "floor(@ / 10.0)" }, { OF_NUMERIC, "round(@::numeric, -1)" },
		{ OF_FLOAT8, "ceil(@::float8 * 0.1)" }, { OF_INT8, "(@ + 1) / 2" }, { OF_INT8, "abs(@)" },
		{ OF_INT8, "coalesce(@, 0)" }, { OF_INT4, "@::integer" }, { OF_FLOAT8, "@::real" },
		{ OF_NUMERIC, "@::numeric(20, 1)" }, { OF_INT8, "@::bigint" }, { OF_FLOAT8, "@ * 0.1::float8" },
		{ OF_NUMERIC, "@::numeric * 2" }, { OF_NUMERIC, "(@::numeric + 1) * 0.01" }, { OF_NUMERIC, "-@::numeric" },
		{ OF_NUMERIC, "@::numeric / 1000" }, { OF_NUMERIC, "1.5 - @::numeric" }, { OF_NUMERIC, "@ * 0.01" },
		{ OF_NUMERIC, "-(@ / 1000.0) + 1" }, { OF_INT8, "@ + {w}" }, { OF_FLOAT8, "(@ - 20) / {w}::float8" },
	};
	unsigned n;

	if (!is_number(type))
		return make(query, "\1", type, 1, marked);
	n = (unsigned)random_below(query->dice, COUNT_OF(forms));
	term_fill(query, forms[n].form, "\1", marked);
	return forms[n].to;
}

static void add_compared(struct query *query, const struct query_column *column, const char *marked, enum term_type type,
			 struct text *sql)
{
	struct text term;

	if (type == OF_BOOL && random_chance(query->dice, 80)) {
		add_marked(marked, term_operand(query, column), sql);
		return;
	}
	text_set(&term, "%s", "");
	add_comparison(query, column, marked, type, &term);
	text_add(sql, "%s", term.at);
}

static void add_simple(struct query *query, bool with_values, struct text *sql)
{
	unsigned kind = (unsigned)random_below(query->dice, 100), n_steps = 0;
	const struct query_column *column = NULL;
	struct text marked;
	enum term_type type;

	if (kind < 13) {
		add_bound(query, sql);
		return;
	}
	text_set(&marked, "%s", "");
	if (kind >= 84 && with_values && (column = term_value(query)) != NULL) {
		type = kind < 90 ? make(query, "\1", column->type, 0, &marked)
				 : add_arithmetic(query, column->type, &marked);
	} else {
		if (kind >= 58)
			column = term_by(query);
		if (!column)
			column = term_time(query);
		if (random_chance(query->dice, 40))
			n_steps = 1 + random_chance(query->dice, 20);
		type = make(query, "\1", column->type, n_steps, &marked);
	}
	add_compared(query, column, marked.at, type, sql);
}

bool term_values_condition(struct query *query, struct text *sql)
{
	const struct query_column *column = term_value(query);
	unsigned n = 1 + (unsigned)random_below(query->dice, 3);
	const char *joint = random_chance(query->dice, 70) ? " OR " : " AND ";

	if (!column)
		return false;
	text_add(sql, random_chance(query->dice, 15) ? "NOT (" : "(");
	for (unsigned i = 0; i < n; i++) {
		struct text marked;
		enum term_type type = column->type;

		text_set(&marked, "%s", "");
		type = random_chance(query->dice, 80) ? make(query, "\1", type, 0, &marked) : add_arithmetic(query, type, &marked);
		text_add(sql, i > 0 ? joint : "");
		add_compared(query, column, marked.at, type, sql);
		/* known only when the query runs */
		if (random_chance(query->dice, 10))
			text_add(sql, " AND %s", random_chance(query->dice, 50) ? "now() > '2020-01-01'" : "(SELECT count(*) FROM t) > 5");
		if (random_chance(query->dice, 30))
			column = &query->table->values[random_below(query->dice, query->table->n_values)];
	}
	text_add(sql, ")");
	return true;
}

void term_coarse_condition(struct query *query, struct text *sql)
{
	struct text marked;
	enum term_type type;

	text_set(&marked, "%s", "");
	type = make(query, "\1", term_time(query)->type, 1 + random_chance(query->dice, 30), &marked);
	add_compared(query, term_time(query), marked.at, type, sql);
}

void term_condition(struct query *query, bool with_values, unsigned depth, struct text *sql)
{
	unsigned kind = (unsigned)random_below(query->dice, 100);

	if (depth == 0 || kind < 65) {
		add_simple(query, with_values, sql);
	} else if (kind < 72) {
		text_add(sql, "NOT (");
		term_condition(query, with_values, depth - 1, sql);
		text_add(sql, ")");
	} else {
		text_add(sql, "(");
		term_condition(query, with_values, depth - 1, sql);
		text_add(sql, kind < 92 ? " OR " : " AND ");
		term_condition(query, with_values, depth - 1, sql);
		text_add(sql, ")");
	}
}
