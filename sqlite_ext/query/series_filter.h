/* query/series_filter.h -- Selection of the series that meet the conditions of a query on by columns.
 *
 * Operators of conditions are letters: '=', '<', '>', 'l' <=, 'g' >=, 'i' IS, 'n' IS NULL, 'm' IN with all values at once.
 */
#ifndef IFS_QUERY_SERIES_FILTER_H
#define IFS_QUERY_SERIES_FILTER_H

#include "sqlite_ext/storage/dictionary.h"

/* The letter of an operator of xBestIndex, but for 'm'; 0 for one that has none. And the word for a letter. */
char iforest_condition_operator(unsigned char op);
const char *iforest_condition_word(char op);

struct iforest_by_condition {
	char op;
	int by;                                 /* the column; -1: a condition on something else */
};

struct iforest_choice {
	const struct iforest_series **by_id;    /* those of the dictionary, from the one of id first_id on */
	uint32_t first_id, n_by_id;
	uint32_t *ids, n;                       /* of those chosen, ascending; room for all */
};

/* Takes the series of a dictionary, which must stay; none are chosen yet. */
int iforest_choice_list(struct iforest_choice *choice, const struct iforest_dictionary *dictionary,
			struct iforest_error *error);
void iforest_choice_release(struct iforest_choice *choice);

/* Chooses the series that may meet all conditions; argv has a value for each. Where affinities could make a number equal a text
 * they may: SQLite checks. Cost: series times conditions, times the logarithm of how many values an IN has. */
int iforest_choice_make(struct iforest_choice *choice, const struct iforest_by_condition *conditions, unsigned n,
			sqlite3_value **argv, struct iforest_error *error);

/* Clears is_chosen of those of n series of which a by column can have none of the values of an IN, which come all at once. */
int iforest_choice_among(const struct iforest_series *const *series, uint32_t n, unsigned by, sqlite3_value *values,
			 bool *is_chosen, struct iforest_error *error);

/* The series of an id, NULL if there is none. */
const struct iforest_series *iforest_choice_series(const struct iforest_choice *choice, uint64_t id);

#endif
