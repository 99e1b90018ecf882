#include "tests/pg/random_query.h"

#include <inttypes.h>

#define ONE_OF(dice, list) (list)[random_below(dice, COUNT_OF(list))]

/* ---- what an index keeps ---- */

static bool is_whole(const struct query_column *column)
{
	return column->kind->type == OF_INT4 || column->kind->type == OF_INT8;
}

static int compare_bounds(const void *a, const void *b)
{
	long long x = *(const long long *)a, y = *(const long long *)b;

	return (x > y) - (x < y);
}

/* Bounds that lie alike, so that width_bucket(v, lo, hi, n) ends at them, or any. */
static void choose_bounds(struct random *dice, struct query_column *column)
{
	static const long long any[] = { INT64_MIN, INT32_MIN, -32768, -5000, -300, -20, -2, -1, 0, 0, 1, 6, 7, 10, 24, 49, 99,
					 179, 180, 499, 500, 999, 4999, 49999, 99699, 50000000, INT32_MAX, INT64_MAX };
	static const long long steps[] = { 1, 10, 25, 100, 1000, 20000 };
	unsigned n = 1 + (unsigned)random_below(dice, QUERY_BOUNDS), kept = 0;
	long long first = random_between(dice, -30, 30);

	column->step = random_chance(dice, 35) ? ONE_OF(dice, steps) : 0;
	for (unsigned i = 0; i < n; i++)
		column->bounds[i] = column->step ? first + (long long)i * column->step : ONE_OF(dice, any);
	qsort(column->bounds, n, sizeof *column->bounds, compare_bounds);
	for (unsigned i = 0; i < n; i++)
		if (kept == 0 || column->bounds[i] != column->bounds[kept - 1])
			column->bounds[kept++] = column->bounds[i];
	column->n_bounds = kept;
}

void query_bounds_choose(struct query_table *table)
{
	for (unsigned i = 0; i < table->n_values; i++)
		if (is_whole(&table->values[i]) && table->values[i].is_indexed && random_chance(table->dice, 75))
			choose_bounds(table->dice, &table->values[i]);
}

static const char *second_of_pair(struct query_table *table, unsigned i)
{
	const struct query_column *time = &table->time;

	if (random_chance(table->dice, 40) && is_whole(time) && strcmp(time->operand, time->name) == 0)
		return time->name;
	for (unsigned k = 0; k < table->n_values; k++)
		if (k != i && is_whole(&table->values[k]) && table->values[k].is_indexed && random_chance(table->dice, 60))
			return table->values[k].name;
	return random_chance(table->dice, 50) ? table->values[i].name : NULL;
}

void query_bounds_write(struct query_table *table, struct text *sql)
{
	unsigned n = 0, n_pairs = 0;

	for (unsigned i = 0; i < table->n_values; i++) {
		const struct query_column *column = &table->values[i];

		/* an index may lack what another has: a partition's, for one */
		if (column->n_bounds == 0 || random_chance(table->dice, 7))
			continue;
		text_add(sql, "%s%s(", n++ ? ", " : ", histogram = '", column->name);
		for (unsigned k = 0; k < column->n_bounds; k++)
			text_add(sql, "%s%lld", k ? ", " : "", column->bounds[k]);
		text_add(sql, ")");
	}
	text_add(sql, "%s", n ? "'" : "");
	for (unsigned i = 0; i < table->n_values && n_pairs < 2; i++) {
		const char *second = is_whole(&table->values[i]) && table->values[i].is_indexed ? second_of_pair(table, i) : NULL;

		if (second)
			text_add(sql, "%s%s * %s", n_pairs++ ? ", " : ", products = '", table->values[i].name, second);
	}
	text_add(sql, "%s", n_pairs ? "'" : "");
}

/* ---- questions by bounds ---- */

/* Some value column that has bounds; NULL if the chosen one has none. */
static const struct query_column *choose(struct query *query)
{
	const struct query_column *column = term_value(query);

	return column && column->n_bounds > 0 ? column : NULL;
}

/* The bound, or what is one above it; seldom another number, which no index keeps. */
static void add_bound(struct query *query, const struct query_column *column, unsigned i, bool is_next, struct text *sql)
{
	long long bound = column->bounds[i];
	bool is_greatest = is_next && bound == INT64_MAX;

	if (is_greatest)
		text_add(sql, "9223372036854775808");
	else if (random_chance(query->dice, 3))
		text_add(sql, "%d", (int)random_below(query->dice, 100));
	else if (random_chance(query->dice, 50))
		text_add(sql, "(%lld)", bound + is_next);
	else
		text_add(sql, "'%lld'::bigint", bound + is_next);
}

/* The form, with the column for @, with bounds b <= c for $b and $c, with one above them for $B and $C, and with all of one
 * above them for $A. */
static void fill(struct query *query, const struct query_column *column, const char *form, struct text *sql)
{
	unsigned b = (unsigned)random_below(query->dice, column->n_bounds);
	unsigned c = b + (unsigned)random_below(query->dice, column->n_bounds - b);

	for (; *form; form++) {
		if (*form == '@') {
			text_add(sql, "%s", column->name);
		} else if (*form == '$' && *++form == 'A') {
			for (unsigned i = b; i < column->n_bounds; i++) {
				text_add(sql, "%s", i > b ? ", " : "");
				add_bound(query, column, i, true, sql);
			}
		} else if (form[-1] == '$') {
			add_bound(query, column, *form == 'b' || *form == 'B' ? b : c, *form == 'B' || *form == 'C', sql);
		} else {
			text_add(sql, "%c", *form);
		}
	}
}

static void add_condition(struct query *query, const struct query_column *column, struct text *sql)
{
	static const char *const forms[] = {
		"@ <= $b", "@ > $b", "@ <= $b", "@ > $b", "@ >= $B", "@ < $B", "@ BETWEEN $B AND $c", "@ > $b AND @ <= $c",
		"NOT @ > $b", "@ IS NULL", "@ IS NOT NULL", "$b >= @", "coalesce(@, 0) > $b", "@ > $b + 0.5", "@::numeric <= $b",
		"@ = $b", "@ <> $B", "@ IN ($b, $C)", "(@ > $c OR @ <= $b)", "(@ > $c) = (@ <= $b)", "@::float8 <= $b",
		"(@ > $b) IS NOT TRUE", "(CASE WHEN @ <= $b THEN 1 WHEN @ > $c THEN 2 END) > 1", "@ <= $b OR @ IS NULL",
	};

	fill(query, column, ONE_OF(query->dice, forms), sql);
}

bool term_bounds_condition(struct query *query, struct text *sql)
{
	const struct query_column *column = choose(query);

	if (!column)
		return false;
	add_condition(query, column, sql);
	return true;
}

bool term_bounds_key(struct query *query, struct text *sql)
{
	static const char *const forms[] = {
		"width_bucket(@, ARRAY[$A])", "width_bucket(@, ARRAY[$A])", "width_bucket(@::numeric, ARRAY[$B - 0.5, $C])", "@ > $b",
		"CASE WHEN @ <= $b THEN 'few' WHEN @ > $c THEN 'many' END", "(@ <= $b)::integer", "@ IS NULL",
		"width_bucket(@, ARRAY[$B, $C]) / 2", "(@ > $b)::text || 'x'",
	};
	const struct query_column *column = choose(query);

	if (!column)
		return false;
	if (column->step && column->n_bounds > 1 && random_chance(query->dice, 50))
		text_add(sql, "width_bucket(%s, %lld, %lld, %u)", column->name, column->bounds[0] + 1,
			 column->bounds[column->n_bounds - 1] + 1, column->n_bounds - 1);
	else
		fill(query, column, ONE_OF(query->dice, forms), sql);
	return true;
}

/* Functions of pairs whose results are the same when rounded: sums of the values have digits to spare. */
static void add_pair(struct query *query, const struct query_column *column, struct text *sql)
{
	static const char *const rounded[] = { "regr_avgx", "regr_avgy" };
	const struct query_column *other = random_chance(query->dice, 20) ? term_time(query) : term_value(query);

	if (!other || !is_whole(other))
		other = column;
	if (column->kind->type == OF_INT4 && other->kind->type == OF_INT4 && random_chance(query->dice, 60))
		text_add(sql, "round((%s(%s, %s) + 3.17e-5)::numeric, 4)", ONE_OF(query->dice, rounded), column->name, other->name);
	else
		text_add(sql, "regr_count(%s, %s)", column->name, other->name);
}

bool term_bounds_aggregate(struct query *query, struct text *sql)
{
	/* #: a condition by bounds; %: one without values */
	static const char *const forms[] = {
		"sum(CASE WHEN # THEN 1 ELSE 0 END)", "count(CASE WHEN # THEN 1 END)", "avg((#)::integer)", "count(CASE WHEN # THEN 'x' END)",
		"avg(CASE WHEN # THEN 1.0 WHEN # THEN 0.5 ELSE 0 END)", "sum(CASE WHEN # AND % THEN 2 ELSE 1 END)",
		"count(*) FILTER (WHERE #)", "count(*) FILTER (WHERE #)", "count(@) FILTER (WHERE #)", "sum(2) FILTER (WHERE # AND %)",
		"bool_or(#)", "max(CASE WHEN # THEN 2 WHEN # THEN 3 END)", "count(nullif(#, false))", "count(ts) FILTER (WHERE #)",
		"count(*) FILTER (WHERE #)::float8 / nullif(count(@), 0)", "count(*) FILTER (WHERE # OR %)",
		"(count(*) FILTER (WHERE #) + count(*) FILTER (WHERE #) / 2.0) / nullif(count(*), 0)",
		"sum(CASE @ WHEN 0 THEN 10 WHEN 1 THEN 1 ELSE 0 END)", "sum(@) FILTER (WHERE #)", "count(@)",
	};
	const struct query_column *column = choose(query);
	const char *form = ONE_OF(query->dice, forms);

	if (!column)
		return false;
	if (random_chance(query->dice, 20)) {
		add_pair(query, column, sql);
		return true;
	}
	for (; *form; form++)
		if (*form == '#')
			add_condition(query, column, sql);
		else if (*form == '%')
			term_condition(query, false, 1, sql);
		else if (*form == '@')
			text_add(sql, "%s", column->name);
		else
			text_add(sql, "%c", *form);
	return true;
}
