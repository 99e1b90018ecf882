/* query/series_filter.h -- Selection of the series that meet the conditions of a query on by columns.
 *
 * Operators of conditions are letters: '=', '<', '>', 'l' <=, 'g' >=, 'i' IS, 'n' IS NULL, 'm' IN with all values at once.
 */
#ifndef IFS_QUERY_SERIES_FILTER_H
#define IFS_QUERY_SERIES_FILTER_H

#include "sqlite_ext/storage/dictionary.h"

/* Return the letter of an operator of xBestIndex (never 'm'; 0 if it has none), and the SQL operator of a letter. */
char ifs_condition_operator(unsigned char op);
const char *ifs_condition_word(char op);

struct ifs_by_condition {
	char op;
	int by; /* the column; -1 for a condition on something else */
};

struct ifs_series_filter {
	const struct ifs_series **by_id; /* series of the dictionary; by_id[i] has id first_id + i */
	uint32_t first_id, n_by_id;
	uint32_t *ids, n; /* ids of the n chosen series, ascending; with room for all series */
};

/* Initializes a filter over a dictionary, which must outlive it, with no series chosen. May be called again. */
int ifs_series_filter_init(struct ifs_series_filter *filter, const struct ifs_dictionary *dictionary, struct ifs_error *error);
void ifs_series_filter_release(struct ifs_series_filter *filter);

/* Chooses the series that may meet all conditions; argv has a value for each. Chooses a series also if affinities could make a
 * number equal to a text: SQLite checks the condition again.
 * Cost  series times conditions, for an IN times the logarithm of the number of its values */
int ifs_series_filter_apply(struct ifs_series_filter *filter, const struct ifs_by_condition *conditions, unsigned n,
			    sqlite3_value **argv, struct ifs_error *error);

/* Clears is_chosen of the series that cannot meet one condition. */
int ifs_series_filter_narrow(const struct ifs_series *const *series, uint32_t n, char op, unsigned by, sqlite3_value *argument,
			     bool *is_chosen, struct ifs_error *error);

/* Returns the series with that id, NULL if there is none. */
const struct ifs_series *ifs_series_filter_find(const struct ifs_series_filter *filter, uint64_t id);

#endif
