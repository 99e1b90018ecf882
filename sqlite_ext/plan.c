#include "sqlite_ext/plan.h"

#include <stdio.h>
#include <stdlib.h>

/* Bit 63 of colUsed stands for all columns from 63 on. */
static bool is_used(sqlite3_uint64 used, unsigned column)
{
	return used >> (column < 63 ? column : 63) & 1;
}

/* Which aggregates do the columns used need? */
static struct iforest_wanted wanted_by(const struct iforest_definition *definition, sqlite3_uint64 used)
{
	struct iforest_wanted wanted = { .no_mins = UINT32_MAX, .no_maxs = UINT32_MAX, .no_rows = UINT32_MAX };
	unsigned first = definition->n_by + IFOREST_N_FIXED;

	if (definition->is_overlap) {
		for (unsigned c = IFOREST_OF_CLIPPED; c < IFOREST_N_OVERLAP; c++)
			if (is_used(used, definition->n_by + c))
				wanted.values = 1u << definition->duration_value;
		return wanted;
	}
	for (unsigned f = 0; f < IFOREST_N_FIXED; f++)
		if ((f == IFOREST_COLUMN_FIRST_TS || f == IFOREST_COLUMN_LAST_TS) && used >> (definition->n_by + f) & 1)
			wanted.times = true;
	for (unsigned v = 0; v < definition->n_values; v++)
		for (unsigned c = 0; c < IFOREST_N_OF_VALUE; c++) {
			unsigned column = first + v * IFOREST_N_OF_VALUE + c;

			if (!is_used(used, column))
				continue;
			if (c == IFOREST_OF_FIRST)
				wanted.firsts |= 1u << v;
			else if (c == IFOREST_OF_LAST)
				wanted.lasts |= 1u << v;
			else
				wanted.values |= 1u << v;
			if (c == IFOREST_OF_MIN || c == IFOREST_OF_MIN_ID || c == IFOREST_OF_MIN_TS)
				wanted.no_mins &= ~(1u << v);
			if (c == IFOREST_OF_MAX || c == IFOREST_OF_MAX_ID || c == IFOREST_OF_MAX_TS)
				wanted.no_maxs &= ~(1u << v);
			if (c >= IFOREST_OF_MIN_ID)
				wanted.no_rows &= ~(1u << v);
		}
	for (unsigned i = 0; i < definition->n_variances; i++)
		for (unsigned c = 0; c < IFOREST_N_OF_VARIANCE; c++)
			if (is_used(used, iforest_first_variance(definition) + i * IFOREST_N_OF_VARIANCE + c))
				wanted.squares |= 1u << iforest_variance_value(definition, i);
	wanted.values |= wanted.squares;
	return wanted;
}

/* Takes the arguments. used[i]: constraint i is a usable "=" on one that was not given yet. */
static int take_arguments(const struct iforest_definition *definition, const char *name, sqlite3_index_info *info,
			  int *constraint_of, struct iforest_error *error)
{
	int first = iforest_first_argument(definition);

	for (int i = 0; i < info->nConstraint; i++) {
		int argument = info->aConstraint[i].iColumn - first;

		if (argument < 0 || argument >= IFOREST_N_ARGUMENTS)
			continue;
		if (info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ)
			return iforest_error_set(error, SQLITE_ERROR, "%s: argument %s takes = only: %s(t0, t1), or t0 = ... in WHERE",
						 name, iforest_argument_names[argument], name);
		if (!info->aConstraint[i].usable)
			return SQLITE_CONSTRAINT;
		if (constraint_of[argument] < 0)
			constraint_of[argument] = i;
	}
	return SQLITE_OK;
}

static double estimate(unsigned arguments, unsigned n_conditions)
{
	double n_rows = arguments & (1u << IFOREST_ARGUMENT_N | 1u << IFOREST_ARGUMENT_STEP) ? 100000 : 100;

	return n_conditions ? n_rows / 10 : n_rows;
}

/* Without by columns there is one series, whose rows come out in the order of buckets. A condition on a by column promises
 * no such thing: by the affinity of its other side, c = CAST(3 AS REAL) holds for the series 3, '3' and '3.0'. */
static bool is_ordered(const struct iforest_definition *definition, const sqlite3_index_info *info)
{
	return definition->n_by == 0 && info->nOrderBy == 1 && !info->aOrderBy[0].desc &&
	       (info->aOrderBy[0].iColumn == IFOREST_COLUMN_BUCKET || info->aOrderBy[0].iColumn == IFOREST_COLUMN_BUCKET + 1);
}

/* Can the condition narrow the series? SQLite checks it again: it knows affinities. Other collations it keeps to itself. */
static bool narrows(const struct iforest_definition *definition, sqlite3_index_info *info, int i)
{
	const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];

	return constraint->usable && constraint->iColumn >= 0 && constraint->iColumn < (int)definition->n_by &&
	       (constraint->op == SQLITE_INDEX_CONSTRAINT_EQ || constraint->op == SQLITE_INDEX_CONSTRAINT_IS) &&
	       sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") == 0;
}

int iforest_plan_make(const struct iforest_definition *definition, const char *name, sqlite3_index_info *info,
		      struct iforest_error *error)
{
	int constraint_of[IFOREST_N_ARGUMENTS] = { -1, -1, -1, -1, -1, -1 };
	struct iforest_wanted wanted = wanted_by(definition, info->colUsed);
	sqlite3_str *text;
	unsigned n_conditions = 0;
	int n_argv = 0, rc = take_arguments(definition, name, info, constraint_of, error);

	if (rc)
		return rc;
	for (unsigned a = 0; a < IFOREST_N_ARGUMENTS; a++)
		if (constraint_of[a] >= 0) {
			info->aConstraintUsage[constraint_of[a]].argvIndex = ++n_argv;
			info->aConstraintUsage[constraint_of[a]].omit = 1;
			info->idxNum |= 1 << a;
		}
	text = sqlite3_str_new(NULL);
	sqlite3_str_appendf(text, "%x %x %x %x %x %x %x %x", wanted.values, wanted.no_mins, wanted.no_maxs, wanted.no_rows,
			    wanted.squares, wanted.firsts, wanted.lasts, wanted.times);
	for (int i = 0; i < info->nConstraint && n_conditions < IFOREST_MAX_CONDITIONS; i++) {
		bool is_equal = info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ;

		if (!narrows(definition, info, i))
			continue;
		info->aConstraintUsage[i].argvIndex = ++n_argv;
		sqlite3_str_appendf(text, " %c%d", is_equal ? '=' : 'i', info->aConstraint[i].iColumn);
		n_conditions++;
	}
	info->idxStr = sqlite3_str_finish(text);
	info->needToFreeIdxStr = 1;
	info->orderByConsumed = is_ordered(definition, info);
	info->estimatedRows = (sqlite3_int64)estimate((unsigned)info->idxNum, n_conditions);
	info->estimatedCost = 100 + (double)info->estimatedRows;
	return info->idxStr ? SQLITE_OK : iforest_error_set(error, SQLITE_NOMEM, "");
}

void iforest_plan_read(struct iforest_plan *plan, int index_number, const char *index_text)
{
	char *at = (char *)index_text;

	*plan = (struct iforest_plan){ .arguments = (unsigned)index_number };
	plan->wanted.values = (uint32_t)strtoul(at, &at, 16);
	plan->wanted.no_mins = (uint32_t)strtoul(at, &at, 16);
	plan->wanted.no_maxs = (uint32_t)strtoul(at, &at, 16);
	plan->wanted.no_rows = (uint32_t)strtoul(at, &at, 16);
	plan->wanted.squares = (uint32_t)strtoul(at, &at, 16);
	plan->wanted.firsts = (uint32_t)strtoul(at, &at, 16);
	plan->wanted.lasts = (uint32_t)strtoul(at, &at, 16);
	plan->wanted.times = strtoul(at, &at, 16) != 0;
	while (*at == ' ') {
		struct iforest_condition *condition = &plan->conditions[plan->n_conditions++];

		condition->is_is = at[1] == 'i';
		condition->by = (unsigned)strtoul(at + 2, &at, 10);
	}
}
