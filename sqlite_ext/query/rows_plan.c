#include "sqlite_ext/query/rows.h"

#include <math.h>
#include <stdlib.h>

#include "sqlite_ext/query/series_filter.h"
#include "sqlite_ext/query/plan.h"

enum { ORDER_SHIFT = 4, VALUE_SHIFT = 8, TIES_SHIFT = 12, VALUES_SHIFT = 16 };

/* A plan being made. */
struct planning {
	const struct iforest_definition *definition;
	sqlite3_index_info *info;
	int n_argv;
	unsigned n_conditions;
	sqlite3_str *tokens, *words;
	bool has_time;         /* rows without a time are left out */
	double share;          /* of the rows, as a guess */
};

/* ---- t0 and t1 ---- */

static int take_arguments(struct planning *planning, const char *name, struct iforest_error *error)
{
	int first = iforest_rows_first_argument(planning->definition), constraint_of[2];
	int rc = iforest_plan_take_arguments(name, iforest_argument_names, planning->info, first, 2, constraint_of,
					     &planning->n_argv, error);

	for (int a = 0; a < 2 && !rc; a++)
		if (constraint_of[a] >= 0) {
			planning->has_time = true;
			planning->share /= 4;
			sqlite3_str_appendf(planning->words, "%s%s", a && constraint_of[0] >= 0 ? ", " : "",
					    iforest_argument_names[a]);
		}
	return rc;
}

/* ---- conditions ---- */

/* One of the names that the table has columns by. */
static const char *name_of(const struct iforest_definition *definition, int column)
{
	int value = column - iforest_rows_first_value(definition);

	if (column == IFOREST_ROWS_ID)
		return "id";
	if (column < iforest_rows_time(definition))
		return definition->by[column - IFOREST_ROWS_FIRST_BY].name;
	if (column == iforest_rows_time(definition))
		return definition->time;
	return value < (int)definition->n_values ? definition->values[value].name : "end";
}

/* By both names of it. Where the index does not follow its table, a row may stand elsewhere in it. */
static bool is_id(const struct planning *planning, int i)
{
	const struct sqlite3_index_constraint *constraint = &planning->info->aConstraint[i];

	return constraint->iColumn <= IFOREST_ROWS_ID && planning->definition->sync != IFOREST_SYNC_MANUAL &&
	       (constraint->op == SQLITE_INDEX_CONSTRAINT_EQ || constraint->op == SQLITE_INDEX_CONSTRAINT_IS);
}

/* Other collations than the one the series are told apart by SQLite keeps to itself. */
static bool can_narrow(struct planning *planning, int i)
{
	const struct sqlite3_index_constraint *constraint = &planning->info->aConstraint[i];

	if (constraint->usable && is_id(planning, i))
		return true;
	if (!constraint->usable || constraint->iColumn < IFOREST_ROWS_FIRST_BY ||
	    constraint->iColumn >= iforest_rows_first_argument(planning->definition) ||
	    !iforest_condition_operator(constraint->op))
		return false;
	return constraint->iColumn >= iforest_rows_time(planning->definition) || iforest_plan_may_choose(planning->info, i);
}

/* The condition that looks a row up by its id, where there is one; else -1. */
static int find_id(struct planning *planning)
{
	for (int i = 0; i < planning->info->nConstraint; i++)
		if (planning->info->aConstraint[i].usable && is_id(planning, i))
			return i;
	return -1;
}

/* SQLite gives the values of an IN one by one, and each of one beside each of another: so what is looked up by an id, or by
 * another condition of the same column, is not looked up by this one, too. SQLite itself then asks it of the rows. */
static bool would_repeat(const struct planning *planning, int i, int id)
{
	const struct sqlite3_index_constraint *constraints = planning->info->aConstraint;

	if (id >= 0)
		return i != id;
	for (int before = 0; before < i; before++)
		if (constraints[i].op == SQLITE_INDEX_CONSTRAINT_EQ && constraints[before].op == SQLITE_INDEX_CONSTRAINT_EQ &&
		    constraints[before].iColumn == constraints[i].iColumn && planning->info->aConstraintUsage[before].argvIndex)
			return true;
	return false;
}

static double share_of(char op, double of_one)
{
	switch (op) {
	case '=':
	case 'i':
	case 'n':
		return of_one;
	case 'm':
		return 3 * of_one < 1 ? 3 * of_one : 1;
	default:
		return 0.25;
	}
}

static void take_conditions(struct planning *planning, const struct iforest_rows_size *size)
{
	const struct iforest_definition *definition = planning->definition;
	sqlite3_index_info *info = planning->info;
	int time = iforest_rows_time(definition), end = iforest_rows_end(definition);
	double of_a_by_value = definition->n_by ? pow(size->n_series, -1.0 / definition->n_by) : 1;
	int id = find_id(planning);

	for (int i = 0; i < info->nConstraint && planning->n_conditions < IFOREST_MAX_ROWS_CONDITIONS; i++) {
		int column = info->aConstraint[i].iColumn < 0 ? IFOREST_ROWS_ID : info->aConstraint[i].iColumn;
		bool is_by = column >= IFOREST_ROWS_FIRST_BY && column < time;
		char op = iforest_condition_operator(info->aConstraint[i].op);

		if (!can_narrow(planning, i) || would_repeat(planning, i, id))
			continue;
		/* series can be chosen by all values of an IN at once; times and values are looked up one by one, which SQLite
		 * does */
		if (op == '=' && is_by && sqlite3_vtab_in(info, i, 1))
			op = 'm';
		info->aConstraintUsage[i].argvIndex = ++planning->n_argv;
		sqlite3_str_appendf(planning->tokens, "%c%d ", op, column);
		sqlite3_str_appendf(planning->words, "%s%s%s", sqlite3_str_length(planning->words) ? ", " : "",
				    name_of(definition, column), iforest_condition_word(op));
		if (column == IFOREST_ROWS_ID)
			info->idxFlags |= SQLITE_INDEX_SCAN_UNIQUE;
		planning->share *= share_of(op, is_by			  ? of_a_by_value :
						column == IFOREST_ROWS_ID ? 1 / size->n_rows :
						column == time		  ? 1e-6 :
									    0.05);
		planning->has_time = planning->has_time || ((column == time || column == end) && op != 'n' && op != 'i');
		planning->n_conditions++;
	}
}

/* ---- order ---- */

static bool is_next(const sqlite3_index_info *info, int term, int column, bool descends)
{
	return term < info->nOrderBy && info->aOrderBy[term].iColumn == column && (bool)info->aOrderBy[term].desc == descends;
}

/* Both names of it. */
static bool is_id_next(const sqlite3_index_info *info, int term, bool descends)
{
	return is_next(info, term, IFOREST_ROWS_ID, descends) || is_next(info, term, -1, descends);
}

static void take_order(struct planning *planning)
{
	const struct iforest_definition *definition = planning->definition;
	sqlite3_index_info *info = planning->info;
	enum iforest_rows_order order = IFOREST_ROWS_IN_ANY_ORDER;
	int time = iforest_rows_time(definition), column, value, n = 1;
	bool descends, ties_in_order = false;

	if (info->nOrderBy == 0)
		return;
	column = info->aOrderBy[0].iColumn;
	descends = info->aOrderBy[0].desc;
	value = column - iforest_rows_first_value(definition);
	if (column == time) {
		order = descends ? IFOREST_ROWS_BY_TIME_DESCENDING : IFOREST_ROWS_BY_TIME;
		n += is_id_next(info, n, descends);
	} else if (value >= 0 && value < (int)definition->n_values) {
		order = descends ? IFOREST_ROWS_BY_VALUE_DESCENDING : IFOREST_ROWS_BY_VALUE;
		/* SQLite has rows without a time first, and the index last */
		ties_in_order = planning->has_time && is_next(info, n, time, false);
		n += ties_in_order;
		n += ties_in_order && is_id_next(info, n, false);
		info->idxNum |= value << VALUE_SHIFT | ties_in_order << TIES_SHIFT;
	}
	if (order == IFOREST_ROWS_IN_ANY_ORDER || n < info->nOrderBy)
		return;
	info->idxNum |= (int)order << ORDER_SHIFT;
	info->orderByConsumed = 1;
	sqlite3_str_appendf(planning->words, "%sin order of %s%s", sqlite3_str_length(planning->words) ? ", " : "",
			    name_of(definition, column), descends ? " descending" : "");
}

/* ---- the plan ---- */

/* Bit 63 of colUsed stands for all columns from 63 on; there are fewer. The end needs its duration. */
static void take_columns(struct planning *planning)
{
	const struct iforest_definition *definition = planning->definition;
	sqlite3_uint64 used = planning->info->colUsed;
	unsigned values = (unsigned)(used >> iforest_rows_first_value(definition)) & ((1u << definition->n_values) - 1);

	if (iforest_rows_has_end(definition) && used >> iforest_rows_end(definition) & 1)
		values |= 1u << definition->duration_value;
	planning->info->idxNum |= (int)(values << VALUES_SHIFT);
}

/* How many rows are wanted, if that is a number in the text of the query. */
static double limit_of(sqlite3_index_info *info)
{
	double limit = INFINITY;

	for (int i = 0; i < info->nConstraint; i++) {
		sqlite3_value *value;

		if (info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_LIMIT &&
		    sqlite3_vtab_rhs_value(info, i, &value) == SQLITE_OK && sqlite3_value_type(value) == SQLITE_INTEGER &&
		    sqlite3_value_int64(value) >= 0)
			limit = (double)sqlite3_value_int64(value);
	}
	return limit;
}

static void estimate(const struct planning *planning, const struct iforest_rows_size *size)
{
	sqlite3_index_info *info = planning->info;
	double n_rows = size->n_rows * planning->share,
	       limit = info->nOrderBy == 0 || info->orderByConsumed ? limit_of(info) : INFINITY;

	n_rows = n_rows < 1 ? 1 : n_rows;
	if (n_rows > limit)
		n_rows = limit < 1 ? 1 : limit;
	iforest_plan_set_cost(info, n_rows, 50 + n_rows * (info->orderByConsumed ? 2 : 1));
}

int iforest_rows_plan_make(const struct iforest_definition *definition, const char *name, const struct iforest_rows_size *size,
			   sqlite3_index_info *info, struct iforest_error *error)
{
	struct planning planning = { .definition = definition, .info = info, .share = 1, .tokens = sqlite3_str_new(NULL),
				     .words = sqlite3_str_new(NULL) };
	int rc = take_arguments(&planning, name, error);
	char *words, *text;

	if (!rc) {
		take_conditions(&planning, size);
		take_order(&planning);
		take_columns(&planning);
		estimate(&planning, size);
	}
	words = sqlite3_str_finish(planning.words);
	sqlite3_str_appendf(planning.tokens, ": %s", words ? words : "all rows");
	sqlite3_free(words);
	text = sqlite3_str_finish(planning.tokens);
	if (rc) {
		sqlite3_free(text); /* which SQLite forgets where the join order is not to be */
		return rc;
	}
	info->idxStr = text;
	info->needToFreeIdxStr = 1;
	return text ? SQLITE_OK : iforest_error_set(error, SQLITE_NOMEM, "");
}

void iforest_rows_plan_read(struct iforest_rows_plan *plan, const char *name, int index_number, const char *index_text)
{
	unsigned bits = (unsigned)index_number;
	const char *at = index_text ? index_text : "";

	*plan = (struct iforest_rows_plan){ .name = name, .has_t0 = bits & 1, .has_t1 = bits >> 1 & 1,
		.order = (enum iforest_rows_order)(bits >> ORDER_SHIFT & 7), .value = bits >> VALUE_SHIFT & 7,
		.ties_in_order = bits >> TIES_SHIFT & 1, .values = bits >> VALUES_SHIFT & ((1u << IFOREST_MAX_VALUES) - 1) };
	while (*at && at[1] >= '0' && at[1] <= '9' && plan->n_conditions < IFOREST_MAX_ROWS_CONDITIONS) {
		char *end;

		plan->conditions[plan->n_conditions].op = *at;
		plan->conditions[plan->n_conditions++].column = (int)strtol(at + 1, &end, 10);
		at = *end ? end + 1 : end;
	}
}
