/* tests/support/block_sample.h -- Entries for a forest over blocks, of any of several kinds, and their folds one by one. */
#ifndef TESTS_BLOCK_SAMPLE_H
#define TESTS_BLOCK_SAMPLE_H

#include <stdatomic.h>

#include "core/forest/block_forest.h"
#include "tests/support/forest_oracle.h"

struct block_entry {
	int64_t time;
	struct affine leaf;
	struct iforest_sample sample;
};

union block_state {
	uint64_t count;
	struct iforest_sum_int64 sum;
	struct iforest_sum_float64 real_sum;
	struct iforest_extreme row;
	struct affine affine;
};

/* Functions again, without weight. One that is constant ends what stood before it (reset), or, composed the other way round,
 * what comes after it (halt): they absorb from one side and never from the other. */
extern const struct iforest_monoid reset_kind, halt_kind;

/* Functions modulo 256: a state of three bytes, which stands anywhere. */
extern const struct iforest_monoid byte_kind;

/* affine, reset, halt, byte and the built-in ones. */
enum { BLOCK_KINDS = 13 };
extern const struct iforest_monoid *const block_kinds[BLOCK_KINDS];

struct block_sample {
	const struct iforest_monoid *kind;
	struct block_entry *entries;
	uint64_t n, n_most;
	struct iforest_entries of;        /* for iforest_block_forest_init() */
	atomic_ullong n_calls, n_folded;  /* of entries.fold(), and entries that it folded */
	atomic_bool is_misused;           /* it was asked for what is not there, or for nothing */
};

/* Room for so many entries; none yet. Must stay in place. */
void block_sample_start(struct block_sample *sample, const struct iforest_monoid *kind, uint64_t n_most, bool has_array,
			bool has_times);
void block_sample_stop(struct block_sample *sample);

/* So many more, with times that go on, or entry i anew, with a time between its neighbours'. */
void block_sample_add(struct block_sample *sample, uint64_t n, struct random *dice);
void block_sample_change(struct block_sample *sample, uint64_t i, struct random *dice);

/* Entries move to other memory. `of` and the forest's entries are to be the same afterwards. */
void block_sample_move(struct block_sample *sample);

/* By the kind's own functions, from left to right. */
void block_sample_fold(const struct block_sample *sample, uint64_t from, uint64_t to, union block_state *state);

/* state = state + entry i. */
void block_sample_next(const struct block_sample *sample, uint64_t i, union block_state *state);

/* Looks at all of them. */
uint64_t block_sample_before(const struct block_sample *sample, int64_t time);

bool block_states_equal(const struct iforest_monoid *kind, const void *a, const void *b);

#endif
