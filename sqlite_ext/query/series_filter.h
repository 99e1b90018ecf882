/* query/series_filter.h -- Selection of the series that meet the conditions of a query on by columns.
 *
 * Operators of conditions are letters: '=', '<', '>', 'l' <=, 'g' >=, 'i' IS, 'n' IS NULL, 'm' IN with all values at once.
 */
#ifndef IFS_QUERY_SERIES_FILTER_H
#define IFS_QUERY_SERIES_FILTER_H

#include "sqlite_ext/storage/dictionary.h"

/* Returns the letter of an operator of xBestIndex, except 'm'; 0 if it has none. And the word for a letter. */
char ifs_condition_operator(unsigned char op);
const char *ifs_condition_word(char op);

struct ifs_by_condition {
	char op;
	int by; /* the column; -1 for a condition on something else */
};

struct ifs_series_filter {
	const struct ifs_series **by_id; /* all of the dictionary, by id from first_id on */
	uint32_t first_id, n_by_id;
	uint32_t *ids, n; /* the chosen, ascending; room for all */
};

/* Takes the series of a dictionary, which must outlive the filter; none are chosen yet. May be called again. */
int ifs_series_filter_init(struct ifs_series_filter *filter, const struct ifs_dictionary *dictionary, struct ifs_error *error);
void ifs_series_filter_release(struct ifs_series_filter *filter);

/* Chooses the series that may meet all conditions; argv has a value for each. Where affinities could make a number equal
 * to a text a series is chosen: SQLite checks again.
 * Cost  series times conditions, times the logarithm of the number of values for an IN */
int ifs_series_filter_apply(struct ifs_series_filter *filter, const struct ifs_by_condition *conditions, unsigned n,
			    sqlite3_value **argv, struct ifs_error *error);

/* Clears is_chosen of the series that cannot meet one condition. */
int ifs_series_filter_narrow(const struct ifs_series *const *series, uint32_t n, char op, unsigned by, sqlite3_value *argument,
			     bool *is_chosen, struct ifs_error *error);

/* Returns the series of an id, NULL if there is none. */
const struct ifs_series *ifs_series_filter_find(const struct ifs_series_filter *filter, uint64_t id);

#endif
