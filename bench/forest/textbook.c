/* The in-order forest as it is usually written: blocks of 16 events, 2n slots of 16 bytes, drawn in core/run/layout.h (Perfetto's
 * ImplicitSegmentForest; Brandon Dewey's in-order implicit trees). A pixel is two binary searches over all times and a fold. */
#include "bench/forest/structure.h"

#include <stdlib.h>

enum { BLOCK_LEVEL = 4, BLOCK = 1 << BLOCK_LEVEL };

struct tree {
	const struct event *events;
	struct longest *slots;
	uint64_t n_events, n_leaves, n_slots_held, n_moved;
};

static void *create(const void *options, const struct event *events)
{
	struct tree *tree = get_memory(NULL, sizeof *tree);

	(void)options;
	*tree = (struct tree){ .events = events };
	return tree;
}

static void destroy(void *self)
{
	free(((struct tree *)self)->slots);
	free(self);
}

static void hold(struct tree *tree, uint64_t n_slots)
{
	struct longest *old = tree->slots;

	if (n_slots <= tree->n_slots_held)
		return;
	tree->slots = get_memory(tree->slots, 2 * n_slots * sizeof *tree->slots);
	if (tree->slots != old)
		tree->n_moved += tree->n_slots_held * sizeof *tree->slots;
	tree->n_slots_held = 2 * n_slots;
}

static inline void append_leaf(struct tree *tree)
{
	uint64_t leaf = tree->n_leaves++, first = leaf * BLOCK;

	hold(tree, 2 * tree->n_leaves);
	tree->slots[2 * leaf] = longest_of(tree->events, first, first + BLOCK, NO_EVENT);
	for (uint64_t slot = 2 * leaf, half = 1; (leaf & half) != 0; half *= 2) {
		uint64_t above = slot - half;

		tree->slots[above] = longer(tree->slots[above - half], tree->slots[slot]);
		slot = above;
	}
}

static void extend(void *self, uint64_t n_events, unsigned n_threads)
{
	struct tree *tree = self;

	(void)n_threads;
	tree->n_events = n_events;
	while (tree->n_leaves < n_events / BLOCK)
		append_leaf(tree);
}

static uint64_t bytes(const void *self)
{
	return 2 * ((const struct tree *)self)->n_leaves * sizeof(struct longest);
}

static uint64_t n_moved(const void *self)
{
	return ((const struct tree *)self)->n_moved;
}

static inline struct longest fold_blocks(const struct tree *tree, uint64_t from, uint64_t to, struct longest best)
{
	while (from < to) {
		unsigned fits = 63 - (unsigned)__builtin_clzll(to - from);
		unsigned aligned = from ? (unsigned)__builtin_ctzll(from) : fits, level = aligned < fits ? aligned : fits;
		uint64_t width = UINT64_C(1) << level;

		best = longer(best, tree->slots[2 * from + width - 1]);
		from += width;
	}
	return best;
}

static inline struct longest fold_inline(const struct tree *tree, uint64_t from, uint64_t to)
{
	uint64_t first = (from + BLOCK - 1) / BLOCK, last = to / BLOCK;
	struct longest best = NO_EVENT;

	if (first >= last)
		return longest_of(tree->events, from, to, best);
	best = longest_of(tree->events, from, first * BLOCK, best);
	best = fold_blocks(tree, first, last, best);
	return longest_of(tree->events, last * BLOCK, to, best);
}

static struct longest fold(const void *self, uint64_t from, uint64_t to)
{
	return fold_inline(self, from, to);
}

static void zoom(const void *self, const int64_t *bounds, size_t n_pixels, struct longest *answers)
{
	const struct tree *tree = self;

	for (size_t p = 0; p < n_pixels; p++) {
		uint64_t from = first_not_before(tree->events, tree->n_events, bounds[p]);
		uint64_t to = first_not_before(tree->events, tree->n_events, bounds[p + 1]);

		answers[p] = fold_inline(tree, from, to);
	}
}

const struct structure textbook = { .name = "textbook", .appends = true, .create = create, .extend = extend,
				    .destroy = destroy, .bytes = bytes, .n_moved = n_moved, .fold = fold, .zoom = zoom };
