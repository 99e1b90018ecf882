#include "sqlite_ext/query/rows_question.h"

#include <math.h>

#include "sqlite_ext/query/arguments.h"
#include "sqlite_ext/query/bound.h"
#include "sqlite_ext/query/row_key.h"

/* What the conditions leave. */
struct limits {
	bool is_empty;
	bool needs_time, lacks_time;                 /* rows with a time alone, without one alone */
	int64_t first_time, last_time;
	int64_t first_end, last_end;
	int64_t first_id, last_id;
};

static int choose_series(struct ifs_row_query *rows, sqlite3_value **argv, struct iforest_error *error)
{
	struct iforest_by_condition conditions[IFOREST_MAX_ROWS_CONDITIONS];
	int time = iforest_rows_time(&rows->index->definition);

	for (unsigned c = 0; c < rows->plan.n_conditions; c++) {
		conditions[c].op = rows->plan.conditions[c].op;
		conditions[c].by =
			rows->plan.conditions[c].column < time ? rows->plan.conditions[c].column - IFOREST_ROWS_FIRST_BY : -1;
	}
	return iforest_choice_make(&rows->choice, conditions, rows->plan.n_conditions, argv, error);
}

/* ---- times, ends and values ---- */

static void limit_time(struct limits *limits, char op, sqlite3_value *value, int64_t *low, int64_t *high)
{
	if (op == 'n' || (op == 'i' && sqlite3_value_type(value) == SQLITE_NULL)) {
		limits->lacks_time = true;
		return;
	}
	limits->needs_time = true;
	if (!iforest_bound_integers(op == 'i' ? '=' : op, value, low, high))
		limits->is_empty = true;
}

static void limit_id(struct limits *limits, sqlite3_value *value)
{
	if (!iforest_bound_integers('=', value, &limits->first_id, &limits->last_id))
		limits->is_empty = true;
}

static void limit_value(struct ifs_row_query *rows, struct limits *limits, unsigned v, char op, sqlite3_value *value)
{
	enum iforest_value_kind kind = (enum iforest_value_kind)rows->snapshot->manifest.fields.kinds[v];
	union iforest_number low = { .integer = INT64_MIN }, high = { .integer = INT64_MAX };
	bool may = true;

	if (op == 'n' || (op == 'i' && sqlite3_value_type(value) == SQLITE_NULL)) {
		rows->match.nulls |= 1u << v;
		return;
	}
	if (kind == IFOREST_FLOAT64) {
		low.real = -INFINITY;
		high.real = INFINITY;
	}
	op = op == 'i' ? '=' : op;
	if (kind == IFOREST_INT64)
		may = iforest_bound_integers(op, value, &low.integer, &high.integer);
	else
		may = iforest_bound_reals(op, value, &low.real, &high.real);
	limits->is_empty = limits->is_empty || !may || iforest_number_compare(low, high, kind) > 0;
	iforest_match_at_least(&rows->match, v, low, kind);
	iforest_match_at_most(&rows->match, v, high, kind);
}

static void read_conditions(struct ifs_row_query *rows, struct limits *limits, sqlite3_value **argv)
{
	const struct iforest_definition *definition = &rows->index->definition;
	int time = iforest_rows_time(definition), end = iforest_rows_end(definition),
	    first_value = iforest_rows_first_value(definition);

	for (unsigned c = 0; c < rows->plan.n_conditions; c++) {
		int column = rows->plan.conditions[c].column;
		char op = rows->plan.conditions[c].op;

		if (column == IFOREST_ROWS_ID)
			limit_id(limits, argv[c]);
		else if (column == time)
			limit_time(limits, op, argv[c], &limits->first_time, &limits->last_time);
		else if (column == end)
			limit_time(limits, op, argv[c], &limits->first_end, &limits->last_end);
		else if (column >= first_value)
			limit_value(rows, limits, (unsigned)(column - first_value), op, argv[c]);
	}
}

/* No span starts after its end. Of several that must reach somewhere, the furthest. */
static void reach(struct ifs_row_query *rows, int64_t at)
{
	if (!rows->match.has_reach || at > rows->match.reach)
		rows->match.reach = at;
	rows->match.has_reach = true;
}

static void read_window(struct ifs_row_query *rows, struct limits *limits, const struct iforest_arguments *arguments)
{
	const int64_t *values = arguments->values;

	if (arguments->is_given[IFOREST_ARGUMENT_T0] || arguments->is_given[IFOREST_ARGUMENT_T1])
		limits->needs_time = true;
	if (arguments->is_given[IFOREST_ARGUMENT_T1] && values[IFOREST_ARGUMENT_T1] == INT64_MIN)
		limits->is_empty = true;
	else if (arguments->is_given[IFOREST_ARGUMENT_T1] && values[IFOREST_ARGUMENT_T1] - 1 < limits->last_time)
		limits->last_time = values[IFOREST_ARGUMENT_T1] - 1;
	if (!arguments->is_given[IFOREST_ARGUMENT_T0])
		return;
	if (arguments->is_given[IFOREST_ARGUMENT_T1] && values[IFOREST_ARGUMENT_T0] >= values[IFOREST_ARGUMENT_T1])
		limits->is_empty = true;
	if (rows->snapshot->manifest.fields.latest_end_offset)
		reach(rows, values[IFOREST_ARGUMENT_T0]);
	else if (values[IFOREST_ARGUMENT_T0] > limits->first_time)
		limits->first_time = values[IFOREST_ARGUMENT_T0];
}

/* ---- parts ---- */

static void add_part(struct ifs_row_query *rows, const struct limits *limits, bool with_time, bool without,
		     struct iforest_rows_part part)
{
	if ((with_time && limits->first_time > limits->last_time) || (!with_time && !without))
		return;
	part.from = with_time ? iforest_key_at(0, limits->first_time) : iforest_key_nulls(0);
	part.to = limits->last_time == INT64_MAX ? iforest_key_nulls(0) : iforest_key_at(0, limits->last_time + 1);
	if (without)
		part.to = iforest_key_at(1, INT64_MIN);
	rows->parts[rows->n_parts++] = part;
}

static void divide(struct ifs_row_query *rows, const struct limits *limits)
{
	bool timed = !limits->lacks_time, timeless = !limits->needs_time, is_null = rows->match.nulls >> rows->plan.value & 1,
	     is_there = rows->match.values >> rows->plan.value & 1;
	struct iforest_rows_part by_time = { .is_ordered = true, .order = IFOREST_EARLIEST_FIRST };
	struct iforest_rows_part by_value = { .is_ordered = true, .order = IFOREST_SMALLEST_FIRST };
	struct iforest_rows_part any = { .is_ordered = false }, lacking = { .lacks_value = true };

	switch (rows->plan.order) {
	case IFOREST_ROWS_IN_ANY_ORDER:
		add_part(rows, limits, timed, timeless, any);
		break;
	case IFOREST_ROWS_BY_TIME:
		add_part(rows, limits, false, timeless, by_time);
		add_part(rows, limits, timed, false, by_time);
		break;
	case IFOREST_ROWS_BY_TIME_DESCENDING:
		by_time.order = IFOREST_LATEST_FIRST;
		by_time.descends = true;
		add_part(rows, limits, timed, false, by_time);
		add_part(rows, limits, false, timeless, by_time);
		break;
	case IFOREST_ROWS_BY_VALUE:
	case IFOREST_ROWS_BY_VALUE_DESCENDING:
		if (rows->plan.ties_in_order) {
			lacking = by_time;
			lacking.lacks_value = true;
		}
		if (rows->plan.order == IFOREST_ROWS_BY_VALUE && !is_there)
			add_part(rows, limits, timed, timeless, lacking);
		if (rows->plan.order == IFOREST_ROWS_BY_VALUE_DESCENDING)
			by_value.order = IFOREST_LARGEST_FIRST;
		if (!is_null)
			add_part(rows, limits, timed, timeless, by_value);
		if (rows->plan.order == IFOREST_ROWS_BY_VALUE_DESCENDING && !is_there)
			add_part(rows, limits, timed, timeless, lacking);
		break;
	}
}

/* The one row of an id, which is looked up in the table; SQLite checks conditions, but not the window. */
static int find_row(struct ifs_row_query *rows, const struct limits *limits, struct iforest_error *error)
{
	struct iforest_key key;
	bool found;
	int rc = iforest_row_key(rows->index, rows->snapshot, limits->first_id, &key, &found, error);
	struct iforest_rows_part part = { .is_ordered = false };

	if (rc || !found ||
	    (key.time_is_null ? limits->needs_time :
				limits->lacks_time || key.time < limits->first_time || key.time > limits->last_time))
		return rc;
	rows->choice.ids[0] = (uint32_t)key.series;
	rows->choice.n = 1;
	key.series = 0;
	part.from = part.to = key;
	if (key.ref < INT64_MAX)
		part.to.ref++;
	else if (key.time_is_null)
		part.to = iforest_key_at(1, INT64_MIN);
	else
		part.to = key.time == INT64_MAX ? iforest_key_nulls(0) : iforest_key_at(0, key.time + 1);
	rows->parts[rows->n_parts++] = part;
	return SQLITE_OK;
}

int iforest_rows_ask(struct ifs_row_query *rows, sqlite3_value **argv, struct iforest_error *error)
{
	struct limits limits = { .first_time = INT64_MIN, .last_time = INT64_MAX, .first_end = INT64_MIN, .last_end = INT64_MAX,
				 .first_id = INT64_MIN, .last_id = INT64_MAX };
	struct iforest_arguments arguments;
	unsigned given = (unsigned)rows->plan.has_t0 << IFOREST_ARGUMENT_T0 | (unsigned)rows->plan.has_t1
										      << IFOREST_ARGUMENT_T1;
	int rc = iforest_arguments_read(rows->plan.name, given, argv, &arguments, error);

	if (rc || arguments.has_null)
		return rc;
	argv += iforest_popcount(given);
	rows->match = (struct iforest_match){ .values = 0 };
	read_window(rows, &limits, &arguments);
	read_conditions(rows, &limits, argv);
	if (limits.first_end > INT64_MIN)
		reach(rows, limits.first_end - 1);
	if (limits.last_end < limits.last_time)
		limits.last_time = limits.last_end;
	if (limits.is_empty || limits.first_end > limits.last_end || limits.first_id > limits.last_id ||
	    (limits.needs_time && limits.lacks_time) || (rows->match.nulls & rows->match.values))
		return SQLITE_OK;
	if (limits.first_id == limits.last_id && !iforest_index_is_passing(rows->index))
		return find_row(rows, &limits, error);
	rc = choose_series(rows, argv, error);
	if (!rc && rows->choice.n > 0)
		divide(rows, &limits);
	return rc;
}
