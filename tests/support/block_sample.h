/* tests/support/block_sample.h -- Entries for a forest over blocks, of several kinds, and reference folds entry by entry. */
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

/* Functions as in the affine kind, without weight. A constant function makes all functions before it irrelevant (reset), or,
 * composed the other way round, all after it (halt). So it absorbs from one side only. */
extern const struct iforest_monoid reset_kind, halt_kind;

/* Functions modulo 256: a state of three bytes, without alignment. */
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
	atomic_bool is_misused;           /* fold() was called for entries that do not exist, or for none */
};

/* Makes room for n_most entries; there are none yet. The struct must stay in place. */
void block_sample_start(struct block_sample *sample, const struct iforest_monoid *kind, uint64_t n_most, bool has_array,
			bool has_times);
void block_sample_stop(struct block_sample *sample);

/* Adds n entries, whose times continue; or replaces entry i by one with a time between its neighbours'. */
void block_sample_add(struct block_sample *sample, uint64_t n, struct random *dice);
void block_sample_change(struct block_sample *sample, uint64_t i, struct random *dice);

/* Moves the entries to other memory. The caller must then set the forest's entries to `of`. */
void block_sample_move(struct block_sample *sample);

/* Folds entries [from, to) with the kind's own functions, from left to right. */
void block_sample_fold(const struct block_sample *sample, uint64_t from, uint64_t to, union block_state *state);

/* state = state + entry i. */
void block_sample_next(const struct block_sample *sample, uint64_t i, union block_state *state);

/* Counts the entries before a time by looking at all of them. */
uint64_t block_sample_before(const struct block_sample *sample, int64_t time);

bool block_states_equal(const struct iforest_monoid *kind, const void *a, const void *b);

#endif
