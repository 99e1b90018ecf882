#include "tests/pg/random_query.h"

#define ONE_OF(dice, list) (list)[random_below(dice, COUNT_OF(list))]

/* Of whole numbers, numeric and reals whose sums come out the same in any order, or do when rounded.
 * What is added before rounding keeps sums off the middle between two results. \2: where FILTER stands, if not at the end. */
static const char *const of_whole[] = {
	"sum(@)", "sum(@)", "sum(@)", "avg(@)", "avg(@)", "min(@)", "max(@)", "max(@)", "count(@)", "sum(@ + 1)",
	"sum(@ - 3)",
	"avg(@ + 2)", "sum(@::numeric)", "sum(@::numeric * 0.5)", "sum(@ * 0.001)", "sum(@::bigint)", "avg(@::numeric)",
	"min(@ / 2)", "max(@::numeric * 2)", "min(@::bigint)", "sum(@::numeric - 0.25)", "sum(@ * 1.50)",
	"sum(@::numeric * -2)", "max(- (@ / 3))", "max(@ / 1e6)", "min(@ / 1000.0)", "max(@ * 1.0 / 1e6)", "sum(@)", "max(@)", "avg(@)", "sum(@ * 2::bigint)", "sum(2::bigint * @)",
	"avg(@::bigint - 7)",
	"sum(@::numeric(20, 2))", "sum(coalesce(@, 0))", "sum(@ / 2)", "sum(@ % 7)", "min(abs(@ / 2))", "sum(- (@ / 2))",
	"max(@::text)", "sum(@ / 1000.0)", "max(coalesce(@, 0))", "sum(@ * 0.01)", "avg((@ + 1) * 2)", "sum(-@)",
	"max(@ * 2)", "min((@ + 1) * 0.01)", "max(floor(@ / 10.0))", "avg(@ / 1000.0)", "sum(@ / 1e3)", "avg(@ * 1.0 / 1000.0)", "sum(-0.5 * @ / 1e3)", "avg(@::numeric / 8)", "sum(@ / 60.0)", "max(round(@ / 3.0))", "min(round(@::numeric, 1))", "max(@ / 1000 + 1)",
	"sum((@ - 1) * 0.5)", "avg(-@)", "sum(100 - @)", "min(100 - @)", "max(@ * interval '1 millisecond')",
	"sum(@::numeric / 4)", "sum(numeric_mul(@::numeric, 3))", "avg(numeric_sub(@, 2))", "min(@ * 0.001)", "max(-@::numeric)", "avg(@ * 0.25)", "sum(@ + @)", "max(@ % 10)",
	"md5(iforest_sketch(@)\2)", "md5(iforest_distinct(@)\2)", "md5(iforest_sketch(@::bigint)\2)", "iforest_quantile(iforest_sketch(@)\2, 0.9)", "iforest_rank(iforest_sketch(@)\2, 40)", "md5(iforest_sketch(@::float8)\2)",
	"iforest_sketch_count(iforest_sketch(@)\2)", "sum(@ * 1e400)\2 > 0", "max(@ - 1e-400)\2 < 0",
	"percentile_disc(0.5) WITHIN GROUP (ORDER BY @)", "percentile_cont(0.95) WITHIN GROUP (ORDER BY @)", "percentile_disc(0.9) WITHIN GROUP (ORDER BY @ DESC)",
	"percentile_cont(ARRAY[0, 0.25, NULL, 0.99, 1]) WITHIN GROUP (ORDER BY @ / 10.0)", "percentile_disc(ARRAY[[0.1, 0.5], [0.5, 1]]) WITHIN GROUP (ORDER BY 7 - @)",
	"percentile_cont(0.3) WITHIN GROUP (ORDER BY @ DESC NULLS FIRST)", "percentile_disc(0.01 * 50) WITHIN GROUP (ORDER BY @ / 3)",
	"sum((@ IS NULL)::integer)", "count(CASE WHEN @ IS NULL THEN 1 END)", "bool_and(@ IS NOT NULL)",
}, *const of_numeric[] = {
	"sum(@)", "sum(@)", "sum(@)", "avg(@)", "avg(@)", "min(@)", "max(@)", "max(@)", "count(@)", "sum(@ * 1.5)",
	"sum(@ + 0.125)", "avg(@ * 3)", "sum(-@)", "max(round(@))", "min(floor(@))", "sum(@ - 1)", "max(@ * -2)",
	"sum(@::numeric)", "min(@ + 1)",
	"sum(round(@))", "sum(@ / 2)", "avg(abs(@))", "sum(@::numeric(20, 1))", "avg(@ / 100.0)", "sum(@ / -4)", "avg(@ / 7)", "max(@::numeric(20, 8))",
	"sum(coalesce(@, 0))", "sum((@ + 1) * 0.01)", "avg((@ + 1) * 2)", "avg(-@)", "max(@ / 3)", "max(@ / 100.0)", "min(@ / 1e6)", "min(-@)",
	"max(@::bigint)", "sum(1 - @)", "max(@::numeric(20, 1))", "min(trunc(@, 1))", "max((@ - 1) * 0.5)",
	"md5(iforest_sketch(@)\2)", "md5(iforest_distinct(@)\2)", "md5(iforest_sketch(@::float8)\2)", "sum(@ + 1e400)\2 > 0", "max(@ / 1e400)\2 > 0",
	"percentile_disc(0.5) WITHIN GROUP (ORDER BY @)", "percentile_cont(0.95) WITHIN GROUP (ORDER BY @)", "percentile_disc(ARRAY[0.2, 0.4]) WITHIN GROUP (ORDER BY -@ DESC)",
	"avg(CASE WHEN @ IS NULL THEN 1 ELSE 0 END)", "count(nullif(@ IS NULL, false))",
}, *const of_real[] = {
	"sum(@)", "sum(@)", "avg(@)", "avg(@)", "min(@)", "max(@)", "max(@)", "count(@)", "sum(@ * 2)", "sum(@ / 4)",
	"avg(@ - 0.5)", "sum(@::float8)", "max(floor(@))", "min(@ * -2)", "sum(@ + 1)", "max(@::numeric)", "sum(abs(@))",
	"sum(coalesce(@, 0))", "avg((@ + 1) * 2)", "sum(-@)", "avg(-@)", "max(@ / 3)", "min((@ + 1) * 0.01)", "max(-@)",
	"min(round(@))", "max(@::bigint)", "sum(@::float8 / 4)", "sum(1 - @)", "max(@::real)",
	"md5(iforest_sketch(@)\2)", "md5(iforest_distinct(@)\2)", "md5(iforest_sketch(@::float8)\2)", "iforest_quantile(iforest_sketch(@)\2, 0.5)", "md5(iforest_sketch(- @)\2)", "sum((@ IS NULL)::integer)", "max(CASE WHEN @ IS NOT NULL THEN 3 ELSE 2 END)",
	"percentile_disc(0.5) WITHIN GROUP (ORDER BY @)", "percentile_cont(0.95) WITHIN GROUP (ORDER BY @ DESC)", "percentile_cont(ARRAY[0.2, 0.4]) WITHIN GROUP (ORDER BY @ * 2)",
}, *const of_rough[] = {
	"sum(@::float8)", "round((sum(@ * 0.01::float8)\2 + 3.17e-3)::numeric, 2)", "sum(@::float8 / 4)", "avg(@::float8 / 4)",
	"round((sum(@::float8 / 3)\2 + 3.17e-3)::numeric, 2)", "round((sum((@ + 1) * 0.1::float8)\2 + 3.17e-3)::numeric, 2)", "max(@::float8 / 3)",
	"sum(-@::float8)", "max(@ * 0.1::float8)", "min(@::real)",
	"min(ceil(@::float8 / 7))", "max(sqrt(greatest(@::float8, 0)))",
}, *const of_exact[] = {
	"variance(@)", "variance(@)", "var_samp(@)", "var_pop(@)", "var_pop(@)", "stddev(@)", "stddev(@)", "stddev_samp(@)",
	"stddev_pop(@)", "stddev_pop(@)", "stddev(@::numeric)", "var_pop(@::bigint)", "round(stddev(@)\2, 2)",
	"variance(@)\2 / nullif(avg(@), 0)", "variance(@ + 1)", "stddev(-@)", "stddev(coalesce(@, 0))", "stddev(@ / 2)",
	"var_pop(@::numeric(20, 1))", "variance(DISTINCT @)", "stddev(numeric_mul(@::numeric, 2))", "var_pop(numeric_add(@, 1))",
}, *const of_any[] = { "min(@)", "max(@)", "count(@)", "max(@)", "count(*)", "percentile_disc(0.5) WITHIN GROUP (ORDER BY @)" };

static const char *const dear[] = {
	"count(DISTINCT @)", "string_agg(@::text, ',' ORDER BY @, id)", "(array_agg(@ ORDER BY id))[1]", "max(id)",
	"count(note)", "count(DISTINCT ts)",
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
	text_add(sql, "%s(%s%s)", type == OF_BOOL ? "bool_or" : ONE_OF(query->dice, names),
		 random_chance(query->dice, 20) ? "DISTINCT " : "", term.at);
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
	text_add(sql, "%s(%s%s)", name, random_chance(query->dice, 30) ? "DISTINCT " : "", term.at);
}

/* Does it give one of the values as it is written? Two numerics may be equal and written differently, as 0 and 0.00 are: of these
 * a plan gives whichever it meets first. */
static bool gives_a_value(const char *form)
{
	return strstr(form, "min(") || strstr(form, "max(") || strstr(form, "percentile_disc(");
}

/* The column, or a CASE that gives it to some rows; for the aggregate `form`. */
static void add_operand(struct query *query, const struct query_column *column, const char *form, struct text *sql)
{
	struct text condition;
	bool is_number = column->type == OF_INT4 || column->type == OF_INT8 || column->type == OF_NUMERIC ||
			 column->type == OF_FLOAT8;

	if (!random_chance(query->dice, 12)) {
		text_add(sql, "%s", column->name);
		return;
	}
	text_set(&condition, "%s", "");
	if (!random_chance(query->dice, 40) || !term_values_condition(query, &condition))
		term_condition(query, random_chance(query->dice, 10), 1, &condition);
	text_add(sql, "CASE WHEN %s THEN %s", condition.at, column->name);
	if (is_number && random_chance(query->dice, 40)) {
		text_add(sql, " ELSE 0");
		if (column->type == OF_NUMERIC && gives_a_value(form))
			text_add(sql, "::%s", column->kind->name);
	}
	text_add(sql, " END");
}

static bool is_day_or_time(enum term_type type)
{
	return type == OF_DATE || type == OF_TIMESTAMPTZ;
}

/* Whether sums of it as reals have digits to spare. */
static bool is_small(const struct query_column *column)
{
	return column->type == OF_INT4 || (column->type == OF_FLOAT8 && strcmp(column->kind->name, "real") != 0) ||
	       strcmp(column->kind->name, "numeric(5,0)") == 0;
}

static bool is_exact(const struct query_column *column)
{
	return column->type == OF_INT4 || column->type == OF_INT8 || column->type == OF_NUMERIC;
}

/* Variances and deviations, also of a column for some rows and another, of other digits, for the others. */
static void add_variance(struct query *query, const struct query_column *column, struct text *sql)
{
	const struct query_column *other = term_value(query);
	const char *form = ONE_OF(query->dice, of_exact);
	struct text operand, condition;

	text_set(&operand, "%s", "");
	text_set(&condition, "%s", "");
	if (other && is_exact(other) && random_chance(query->dice, 15)) {
		term_condition(query, false, 1, &condition);
		text_set(&operand, "CASE WHEN %s THEN %s ELSE %s END", condition.at, column->name, other->name);
	} else {
		add_operand(query, column, form, &operand);
	}
	term_fill(query, form, operand.at, sql);
}

static bool has_ctid(const struct query *query)
{
	return query->shape != WRAPPED && query->shape != COMPUTED_BELOW && query->shape != THROUGH_VIEW &&
	       query->shape != THROUGH_CTE && query->shape != UNION_BELOW;
}

/* The time of the row with an extreme. Of rows that are alike in time and value the index may name another one than a scan, so
 * ctids, and values of the first and last, are not compared. */
static void add_of_row(struct query *query, const struct query_column *column, struct text *sql)
{
	static const char *const names[] = { "min_time", "max_time" };

	text_add(sql, "iforest_%s(%s, %s, %s)", ONE_OF(query->dice, names), term_operand(query, column),
		 term_operand(query, term_time(query)), random_chance(query->dice, 90) ? "t.ctid" : "NULL");
}

static void add_of_value(struct query *query, const struct query_column *column, struct text *sql)
{
	struct text operand;
	const char *form;
	enum term_type type;

	text_set(&operand, "%s", "");
	if (has_ctid(query) && random_chance(query->dice, 10)) {
		add_of_row(query, column, sql);
		return;
	}
	if (is_day_or_time(column->type) && random_chance(query->dice, 40)) {
		type = term_make(query, column, 1, &operand);
		text_add(sql, "%s(%s)", type == OF_BOOL ? "bool_or" : random_chance(query->dice, 50) ? "min" : "max",
			 operand.at);
		return;
	}
	if (is_exact(column) && random_chance(query->dice, 25)) {
		add_variance(query, column, sql);
		return;
	}
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
	if (is_small(column) && random_chance(query->dice, 20))
		form = ONE_OF(query->dice, of_rough);
	add_operand(query, column, form, &operand);
	term_fill(query, form, operand.at, sql);
}

static void add_of_none(struct query *query, struct text *sql)
{
	static const char *const forms[] = { "count(*)", "count(*)", "count(*)", "count(1)", "sum(1)", "avg(2.50)",
					     "max('x'::text)", "count(NULL)", "sum(CASE WHEN # THEN 1 ELSE 0.0 END)",
					     "count(CASE WHEN # THEN 1 END)", "sum(CASE WHEN # THEN 1 ELSE 0 END)",
					     "sum((#)::integer)", "bool_and(#)",
					     "sum(CASE WHEN # THEN 1 WHEN # THEN 2 END)" },
			   *const of_key[] = { "count(DISTINCT id)", "count(DISTINCT CASE WHEN # THEN id END)",
					       "count(DISTINCT CASE WHEN # THEN NULL ELSE id END)" };
	bool is_of_key = query->table->has_key && random_chance(query->dice, 15);
	const char *form = is_of_key ? ONE_OF(query->dice, of_key) : ONE_OF(query->dice, forms);

	for (const char *c = form; *c; c++)
		if (*c == '#' && (!random_chance(query->dice, 30) || !term_values_condition(query, sql)))
			term_condition(query, false, 1, sql);
		else if (*c == '#')
			continue;
		else
			text_add(sql, "%c", *c);
}

/* The filter stands at \2, or at the end. */
static void add_filtered(const char *aggregate, const char *filter, struct text *sql)
{
	const char *place = strchr(aggregate, '\2');
	size_t n = place ? (size_t)(place - aggregate) : strlen(aggregate);

	text_add(sql, "%.*s%s%s", (int)n, aggregate, filter, place ? place + 1 : "");
}

void term_aggregate(struct query *query, struct text *sql)
{
	const struct query_column *value = term_value(query), *by = term_by(query);
	unsigned kind = (unsigned)random_below(query->dice, 100);
	struct text aggregate, condition;

	text_set(&aggregate, "%s", "");
	text_set(&condition, "%s", "");
	if (random_chance(query->dice, 25) && term_bounds_aggregate(query, sql))
		return;
	if (kind < 45 && value)
		add_of_value(query, value, &aggregate);
	else if (kind < 63)
		add_of_time(query, &aggregate);
	else if (kind < 72 && by)
		add_of_by(query, by, &aggregate);
	else
		add_of_none(query, &aggregate);
	if (random_chance(query->dice, 18)) {
		text_set(&condition, " FILTER (WHERE ");
		if (random_chance(query->dice, 40))
			term_coarse_condition(query, &condition);
		else if (!random_chance(query->dice, 40) || !term_values_condition(query, &condition))
			term_condition(query, random_chance(query->dice, 25), 1, &condition);
		text_add(&condition, ")");
	}
	add_filtered(aggregate.at, condition.at, sql);
}

/* What tools put around aggregates. */
static void add_computed(struct query *query, struct text *sql)
{
	static const char *const forms[] = { "coalesce(@::text, 'none')", "@ IS NULL", "count(@) OVER ()", "count(*) / 2.0",
					     "round(100.0 * count(*) / nullif(count(*) + 1, 0), 2)", "nullif(@, NULL)",
					     "CASE WHEN count(*) > 3 THEN @ END", "(SELECT @)" };
	struct text aggregate;

	text_set(&aggregate, "%s", "");
	term_aggregate(query, &aggregate);
	term_fill(query, ONE_OF(query->dice, forms), aggregate.at, sql);
}

void term_output(struct query *query, struct text *sql)
{
	if (random_chance(query->dice, 12))
		add_computed(query, sql);
	else if (random_chance(query->dice, 2))
		term_fill(query, ONE_OF(query->dice, dear), query->table->values[0].name, sql);
	else
		term_aggregate(query, sql);
}
