/* tests/support/sample_list.h -- Random questions for entries, and the expected lists, which are made by looking at every entry
 * and sorting.
 *
 * A question has the conditions in the oracle's terms and in those of core.
 */
#ifndef TESTS_SAMPLE_LIST_H
#define TESTS_SAMPLE_LIST_H

#include "core/page/leaf_fold.h"
#include "core/page/value_predicate.h"
#include "tests/support/sample_index.h"

/* A filter that hides the entries whose keys lie in [from, to), as if a snapshot did not see them. */
struct sample_hidden {
	struct iforest_filter filter;     /* .context points to the struct itself, which must stay in place */
	const struct sample_index *index;
	struct iforest_key from, to;
	uint64_t n_verdicts[4];           /* classes returned for nodes, by kind */
};

void sample_hide(struct sample_hidden *hidden, const struct sample_index *index, struct random *dice);

/* Returns a random condition on the values and on the ends of spans; half of the time, one that is always true. */
struct iforest_value_predicate sample_match(const struct sample_index *index, struct random *dice);

/* A question: the condition on values, and the rest. */
struct sample_list_question {
	struct iforest_value_predicate match;
	const struct sample_hidden *hidden;  /* of the first index, or NULL */
	struct iforest_key from, to;
	bool is_of_each_series;              /* from and to are those of series 0, and hold for each series below (NULL: all) */
	const uint32_t *series;
	uint32_t n_series;
	int (*order)(const struct sample_list_question *question, const struct oracle_entry *a, const struct oracle_entry *b);
	unsigned value;                      /* for the order */
	bool needs_value;                    /* entries without it are left out */
};

/* Returns the entries of the indexes that answer the question, in order. Only entries of the first index may be hidden. The
 * caller frees the array. */
const struct oracle_entry **sample_list(const struct sample_index *indexes, unsigned n_indexes,
					const struct sample_list_question *question, size_t *n);

/* Compare by the order of keys, and by its reverse. */
int sample_ascending(const struct sample_list_question *question, const struct oracle_entry *a, const struct oracle_entry *b);
int sample_descending(const struct sample_list_question *question, const struct oracle_entry *a, const struct oracle_entry *b);

/* Fails unless the entry is the expected one. Only the values whose bit is set in `values` are compared. */
void sample_compare_entry(const struct sample_index *index, const struct oracle_entry *expected,
			  const struct iforest_entry *got, uint32_t values);

/* Asks a reader of two indexes random questions, and compares the entries that it returns with the lists; *n_given counts
 * them. The second index is joined to the first, whose entries may be hidden. */
typedef void sample_ask(struct sample_index two[2], struct random *dice, struct sample_hidden *hidden, uint64_t *n_given);

/* Calls ask() for rounds of random indexes, and checks that enough entries were compared. */
void sample_rounds(sample_ask *ask);

/* Starts two indexes of the same shape, each with runs, without common refs. The second one is to be joined to the first. */
void sample_start_two(struct sample_index *two, struct random *dice, const struct sample_shape *shape, unsigned n_series,
		      enum sample_times style);

#endif
