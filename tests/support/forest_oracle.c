#include "tests/support/forest_oracle.h"

#include <string.h>

#include "core/forest/slots.h"

const struct affine affine_nothing = { 1, 0, 0 };

static void identity(void *state) { *(struct affine *)state = affine_nothing; }
static void lift(void *state, const void *sample) { memcpy(state, sample, sizeof(struct affine)); }

static void combine(void *state, const void *left, const void *right)
{
	*(struct affine *)state = affine_compose(*(const struct affine *)left, *(const struct affine *)right);
}

const struct iforest_monoid affine_kind = { "affine", sizeof(struct affine), identity, lift, combine, NULL };

struct affine affine_compose(struct affine first, struct affine then)
{
	return (struct affine){ first.a * then.a, then.a * first.b + then.b, first.weight + then.weight };
}

struct affine affine_fold(const struct affine *leaves, uint64_t from, uint64_t to)
{
	struct affine sum = affine_nothing;

	for (; from < to; from++)
		sum = affine_compose(sum, leaves[from]);
	return sum;
}

bool affine_equal(struct affine f, struct affine g)
{
	return f.a == g.a && f.b == g.b && f.weight == g.weight;
}

void affine_random(struct affine *leaves, uint64_t n, struct random *dice)
{
	for (uint64_t i = 0; i < n; i++)
		leaves[i] = (struct affine){ random_next(dice) | 1, random_next(dice), random_below(dice, 4) };
}

static bool weighs(void *context, const void *state)
{
	return ((const struct affine *)state)->weight >= *(const uint64_t *)context;
}

struct iforest_predicate affine_weighs(const uint64_t *least)
{
	return (struct iforest_predicate){ .holds = weighs, .context = (void *)(uintptr_t)least };
}

static const uint8_t *node(const struct iforest_forest *forest, unsigned level, uint64_t group)
{
	return forest->slots.bytes + iforest_slot(level, group) * forest->kind->state_bytes;
}

bool slots_equal(const struct iforest_forest *a, const struct iforest_forest *b)
{
	if (a->n_leaves != b->n_leaves)
		return false;
	for (unsigned level = 0; level < 64 && a->n_leaves >> level > 0; level++)
		for (uint64_t group = 0; group < a->n_leaves >> level; group++)
			if (memcmp(node(a, level, group), node(b, level, group), a->kind->state_bytes) != 0)
				return false;
	return true;
}

bool slots_are_of(const struct iforest_forest *forest, const struct affine *leaves)
{
	for (unsigned level = 0; level < 64 && forest->n_leaves >> level > 0; level++)
		for (uint64_t group = 0; group < forest->n_leaves >> level; group++) {
			struct affine expected = affine_fold(leaves, group << level, (group + 1) << level), got;

			memcpy(&got, node(forest, level, group), sizeof got);
			if (!affine_equal(expected, got))
				return false;
		}
	return true;
}

void times_random(int64_t *times, uint64_t n, int64_t first, struct random *dice)
{
	int64_t time = first;

	for (uint64_t i = 0; i < n; i++) {
		times[i] = time;
		if (random_chance(dice, 50))
			time += (int64_t)random_below(dice, random_chance(dice, 5) ? 1000 : 4);
	}
}

uint64_t times_before(const int64_t *times, uint64_t n, int64_t bound)
{
	uint64_t n_before = 0;

	for (uint64_t i = 0; i < n; i++)
		n_before += times[i] < bound;
	return n_before;
}
