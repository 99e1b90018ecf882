/* tests/support/sample_list.h -- Random questions for entries, and the list of those that answer them: every entry is looked
 * at, then sorted.
 *
 * The conditions stand here in the oracle's terms and as core takes them.
 */
#ifndef TESTS_SAMPLE_LIST_H
#define TESTS_SAMPLE_LIST_H

#include "core/page/leaf_fold.h"
#include "core/page/value_predicate.h"
#include "tests/support/sample_index.h"

/* Entries whose keys lie in [from, to) do not count, as for a snapshot that does not see them. */
struct sample_hidden {
	struct iforest_filter filter;     /* .context points to the struct itself: it stays in place */
	const struct sample_index *index;
	struct iforest_key from, to;
	uint64_t n_verdicts[4];           /* given, by kind */
};

void sample_hide(struct sample_hidden *hidden, const struct sample_index *index, struct random *dice);

/* A random condition on the values and on how far spans reach; half of them none at all. */
struct iforest_value_predicate sample_match(const struct sample_index *index, struct random *dice);

/* What a question asks for, beside the match. */
struct sample_list_question {
	struct iforest_value_predicate match;
	const struct sample_hidden *hidden;  /* of the first index, or NULL */
	struct iforest_key from, to;
	bool is_of_each_series;              /* from and to are those of series 0, and these series are asked for, NULL: all */
	const uint32_t *series;
	uint32_t n_series;
	int (*order)(const struct sample_list_question *question, const struct oracle_entry *a, const struct oracle_entry *b);
	unsigned value;                      /* for the order */
	bool needs_value;                    /* entries without it are left out */
};

/* The entries of the indexes (hidden ones of the first alone) that answer it, in order. The caller frees the array. */
const struct oracle_entry **sample_list(const struct sample_index *indexes, unsigned n_indexes,
					const struct sample_list_question *question, size_t *n);

/* The order of keys, and its reverse. */
int sample_ascending(const struct sample_list_question *question, const struct oracle_entry *a, const struct oracle_entry *b);
int sample_descending(const struct sample_list_question *question, const struct oracle_entry *a, const struct oracle_entry *b);

/* Fails unless the entry is the expected one, with those of its values whose bit is set in `values`. */
void sample_compare_entry(const struct sample_index *index, const struct oracle_entry *expected,
			  const struct iforest_entry *got, uint32_t values);

/* Asks a reader of two indexes random questions, and compares what it gives with the lists; *n_given counts that. The second index
 * is joined to the first, whose entries may be hidden. */
typedef void sample_ask(struct sample_index two[2], struct random *dice, struct sample_hidden *hidden, uint64_t *n_given);

/* Calls ask() for rounds of random indexes, and checks that it was asked enough. */
void sample_rounds(sample_ask *ask);

/* Two indexes of the same shape with runs of both, whose refs differ; the second one is to be joined to the first. */
void sample_start_two(struct sample_index *two, struct random *dice, const struct sample_shape *shape, unsigned n_series,
		      enum sample_times style);

#endif
