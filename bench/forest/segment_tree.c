/* bench/forest/segment_tree.c -- Contender: a segment tree in breadth-first (Eytzinger's) order, asked from the bottom: the
 * leaf of event i at n + i, the node over 2k and 2k + 1 at k.
 *
 * Right of any n, though then some nodes are never asked (Al.Cash, "Efficient and easy segment trees", 2015).
 *
 *      n = 4        1: abcd   2: ab   3: cd   4: a   5: b   6: c   7: d
 */
#include "bench/forest/structure.h"

#include <stdlib.h>

struct tree {
	const struct event *events;
	struct longest *nodes;
	uint64_t n;
};

static void *create(const void *options, const struct event *events)
{
	struct tree *tree = get_memory(NULL, sizeof *tree);

	(void)options;
	*tree = (struct tree){ .events = events };
	return tree;
}

static void extend(void *self, uint64_t n_events, unsigned n_threads)
{
	struct tree *tree = self;

	(void)n_threads;
	tree->n = n_events;
	tree->nodes = get_memory(tree->nodes, 2 * n_events * sizeof *tree->nodes);
	for (uint64_t i = 0; i < n_events; i++)
		tree->nodes[n_events + i] = (struct longest){ tree->events[i].duration_ns, i };
	for (uint64_t k = n_events - 1; k > 0; k--)
		tree->nodes[k] = longer(tree->nodes[2 * k], tree->nodes[2 * k + 1]);
}

static void destroy(void *self)
{
	free(((struct tree *)self)->nodes);
	free(self);
}

static uint64_t bytes(const void *self)
{
	return 2 * ((const struct tree *)self)->n * sizeof(struct longest);
}

static struct longest fold(const void *self, uint64_t from, uint64_t to)
{
	const struct tree *tree = self;
	struct longest left = NO_EVENT, right = NO_EVENT;

	for (from += tree->n, to += tree->n; from < to; from /= 2, to /= 2) {
		if (from & 1)
			left = longer(left, tree->nodes[from++]);
		if (to & 1)
			right = longer(tree->nodes[--to], right);
	}
	return longer(left, right);
}

const struct structure segment_tree = { .name = "segment tree", .create = create, .extend = extend, .destroy = destroy,
					.bytes = bytes, .fold = fold };
