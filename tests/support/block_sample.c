#include "tests/support/block_sample.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/harness.h"

/* ---- kinds ---- */

static void linear_identity(void *state) { *(struct affine *)state = affine_nothing; }

static void linear_lift(void *state, const void *sample)
{
	*(struct affine *)state = *(const struct affine *)sample;
	((struct affine *)state)->a &= 0 - (((const struct affine *)sample)->weight > 0); /* a quarter is constant */
	((struct affine *)state)->weight = 0;
}

static void reset_combine(void *state, const void *left, const void *right)
{
	*(struct affine *)state = affine_compose(*(const struct affine *)left, *(const struct affine *)right);
}

static void halt_combine(void *state, const void *left, const void *right)
{
	*(struct affine *)state = affine_compose(*(const struct affine *)right, *(const struct affine *)left);
}

static bool reset_absorbs(const void *state, const void *whole, bool from_left)
{
	(void)whole;
	return from_left && ((const struct affine *)state)->a == 0;
}

static bool halt_absorbs(const void *state, const void *whole, bool from_left)
{
	(void)whole;
	return !from_left && ((const struct affine *)state)->a == 0;
}

const struct iforest_monoid reset_kind =
	{ "reset", sizeof(struct affine), linear_identity, linear_lift, reset_combine, reset_absorbs };
const struct iforest_monoid halt_kind = { "halt", sizeof(struct affine), linear_identity, linear_lift, halt_combine, halt_absorbs };

enum { A, B, WEIGHT, BYTE_STATE };

static void byte_identity(void *state)
{
	memset(state, 0, BYTE_STATE);
	((uint8_t *)state)[A] = 1;
}

static void byte_lift(void *state, const void *sample)
{
	const struct affine *leaf = sample;
	uint8_t lifted[BYTE_STATE] = { (uint8_t)leaf->a, (uint8_t)leaf->b, (uint8_t)leaf->weight };

	memcpy(state, lifted, sizeof lifted);
}

static void byte_combine(void *state, const void *left, const void *right)
{
	const uint8_t *f = left, *g = right;
	uint8_t both[BYTE_STATE] = { (uint8_t)(f[A] * g[A]), (uint8_t)(g[A] * f[B] + g[B]), (uint8_t)(f[WEIGHT] + g[WEIGHT]) };

	memcpy(state, both, sizeof both);
}

const struct iforest_monoid byte_kind = { "byte", BYTE_STATE, byte_identity, byte_lift, byte_combine, NULL };

const struct iforest_monoid *const block_kinds[BLOCK_KINDS] = { &affine_kind,
							      &reset_kind,
							      &halt_kind,
							      &byte_kind,
							      &iforest_monoid_count,
							      &iforest_monoid_sum_int64,
							      &iforest_monoid_sum_float64,
							      &iforest_monoid_min_int64,
							      &iforest_monoid_max_int64,
							      &iforest_monoid_min_float64,
							      &iforest_monoid_max_float64,
							      &iforest_monoid_first,
							      &iforest_monoid_last };

static bool is_function(const struct iforest_monoid *kind)
{
	return kind == &affine_kind || kind == &reset_kind || kind == &halt_kind || kind == &byte_kind;
}

static bool is_real(const struct iforest_monoid *kind)
{
	return kind == &iforest_monoid_sum_float64 || kind == &iforest_monoid_min_float64 || kind == &iforest_monoid_max_float64;
}

static bool is_row(const struct iforest_monoid *kind)
{
	return !is_function(kind) && kind->state_bytes == sizeof(struct iforest_extreme);
}

bool block_states_equal(const struct iforest_monoid *kind, const void *a, const void *b)
{
	const struct iforest_extreme *row = a, *other = b;

	if (!is_row(kind))
		return memcmp(a, b, kind->state_bytes) == 0;
	return row->is_set == other->is_set && (!row->is_set || (row->time == other->time && row->ref == other->ref &&
								 row->value.integer == other->value.integer));
}

/* ---- folding ---- */

void block_sample_next(const struct block_sample *sample, uint64_t i, union block_state *state)
{
	const struct block_entry *entry = &sample->entries[i];
	union block_state lifted;

	sample->kind->lift(&lifted, is_function(sample->kind) ? (const void *)&entry->leaf : (const void *)&entry->sample);
	sample->kind->combine(state, state, &lifted);
}

void block_sample_fold(const struct block_sample *sample, uint64_t from, uint64_t to, union block_state *state)
{
	sample->kind->identity(state);
	for (; from < to; from++)
		block_sample_next(sample, from, state);
}

/* The callback that core calls. Its memory for a state has the size of one state, which may be less than the union's. */
static void fold(void *context, uint64_t from, uint64_t to, void *state)
{
	struct block_sample *sample = context;
	union block_state sum;

	atomic_fetch_add(&sample->n_calls, 1);
	atomic_fetch_add(&sample->n_folded, to - from);
	if (from >= to || to > sample->n) {
		atomic_store(&sample->is_misused, true);
		return;
	}
	memcpy(&sum, state, sample->kind->state_bytes);
	for (; from < to; from++)
		block_sample_next(sample, from, &sum);
	memcpy(state, &sum, sample->kind->state_bytes);
}

uint64_t block_sample_before(const struct block_sample *sample, int64_t time)
{
	uint64_t n_before = 0;

	for (uint64_t i = 0; i < sample->n; i++)
		n_before += sample->entries[i].time < time;
	return n_before;
}

/* ---- entries ---- */

static void fill(struct block_sample *sample, uint64_t i, struct random *dice)
{
	struct block_entry *entry = &sample->entries[i];

	affine_random(&entry->leaf, 1, dice);
	entry->sample =
		(struct iforest_sample){ .has_value = !random_chance(dice, 20), .time = entry->time, .ref = (int64_t)i };
	if (is_real(sample->kind))
		entry->sample.value.real = (double)random_between(dice, -50, 50);
	else
		entry->sample.value.integer = random_between(dice, -50, 50);
}

/* Sets where core finds the entries. */
static void point(struct block_sample *sample, bool has_array, bool has_times)
{
	sample->of = (struct iforest_entries){ .fold = fold, .context = sample };
	if (has_array) {
		sample->of.array = sample->entries;
		sample->of.entry_bytes = sizeof sample->entries[0];
	}
	if (has_times)
		sample->of.times = (struct iforest_times){ &sample->entries[0].time, sizeof sample->entries[0] };
}

void block_sample_start(struct block_sample *sample, const struct iforest_monoid *kind, uint64_t n_most, bool has_array,
			bool has_times)
{
	*sample = (struct block_sample){ .kind = kind, .n_most = n_most };
	sample->entries = malloc((n_most ? n_most : 1) * sizeof sample->entries[0]);
	assert_non_null(sample->entries);
	point(sample, has_array, has_times);
}

void block_sample_stop(struct block_sample *sample)
{
	assert_false(sample->is_misused);
	free(sample->entries);
}

void block_sample_add(struct block_sample *sample, uint64_t n, struct random *dice)
{
	assert_true(sample->n + n <= sample->n_most);
	for (uint64_t i = sample->n; i < sample->n + n; i++) {
		int64_t time = i ? sample->entries[i - 1].time : random_between(dice, -3000, 3000);

		if (i && random_chance(dice, 60))
			time += (int64_t)random_below(dice, random_chance(dice, 3) ? 500 : 4);
		sample->entries[i].time = time;
		fill(sample, i, dice);
	}
	sample->n += n;
}

void block_sample_change(struct block_sample *sample, uint64_t i, struct random *dice)
{
	int64_t least = i ? sample->entries[i - 1].time : sample->entries[i].time - 10;
	int64_t most = i + 1 < sample->n ? sample->entries[i + 1].time : sample->entries[i].time + 10;

	sample->entries[i].time = random_between(dice, least, most);
	fill(sample, i, dice);
}

void block_sample_move(struct block_sample *sample)
{
	struct block_entry *entries = malloc((sample->n_most ? sample->n_most : 1) * sizeof sample->entries[0]);

	assert_non_null(entries);
	memcpy(entries, sample->entries, sample->n * sizeof sample->entries[0]);
	free(sample->entries);
	sample->entries = entries;
	point(sample, sample->of.array != NULL, sample->of.times.first != NULL);
}
