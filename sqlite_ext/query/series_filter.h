/* query/series_filter.h -- Selection of the series that meet the conditions of a query on by columns.
 *
 * Operators of conditions are letters: '=', '<', '>', 'l' <=, 'g' >=, 'i' IS, 'n' IS NULL, 'm' IN with all values at once, and
 * '~' for = where the planner knew that texts of the column are numbers (ifs_plan_equality() in query/plan.h).
 */
#ifndef IFS_QUERY_SERIES_FILTER_H
#define IFS_QUERY_SERIES_FILTER_H

#include "sqlite_ext/storage/dictionary.h"

/* Return the letter of an operator of xBestIndex (neither 'm' nor '~'; 0 if it has none), and the SQL operator of a letter. */
char ifs_condition_operator(unsigned char op);
const char *ifs_condition_word(char op);

struct ifs_by_condition {
	char op;
	int by; /* the column; -1 for a condition on something else */
};

/* Returns the series of the dictionary that may meet all conditions, in its order; argv has a value for each condition. Includes
 * a series also if affinities could make a number equal to a text: SQLite checks the condition again. Release *chosen by
 * sqlite3_free(), also after an error.
 * Errors  SQLITE_ERROR: a number is given for '=', but the column has texts that are numbers: the plan is of a time when it had
 *         none, and what SQLite checks might be wrong
 * Cost  the logarithm of the number of series, and for each series that may have the value of the first by column: conditions,
 *       or for an IN the logarithm of the number of its values */
int ifs_series_choose(const struct ifs_dictionary *dictionary, const struct ifs_by_condition *conditions, unsigned n,
		      sqlite3_value **argv, const struct ifs_series ***chosen, uint32_t *n_chosen, struct ifs_error *error);

struct ifs_series_filter {
	const struct ifs_series **series; /* chosen ones, by id */
	uint32_t *ids, n;		  /* of these, ascending */
};

/* Chooses the series that may meet all conditions, as ifs_series_choose() does. A filter is all zeros before its first use. */
int ifs_series_filter_apply(struct ifs_series_filter *filter, const struct ifs_dictionary *dictionary,
			    const struct ifs_by_condition *conditions, unsigned n, sqlite3_value **argv,
			    struct ifs_error *error);

/* Chooses one series. */
int ifs_series_filter_set(struct ifs_series_filter *filter, const struct ifs_series *series, struct ifs_error *error);

/* Returns the chosen series with that id, NULL if there is none.
 * Cost  O(log n), O(1) if no id between the chosen ones is left out */
const struct ifs_series *ifs_series_filter_find(const struct ifs_series_filter *filter, uint64_t id);

void ifs_series_filter_release(struct ifs_series_filter *filter);

#endif
