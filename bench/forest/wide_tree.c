/* bench/forest/wide_tree.c -- Contender: a tree of four children a node without pointers, level after level in one array,
 * the widest first; 32 events a leaf.
 *
 *      | leaves a b c d e f g ... | abcd efgh ... | abcdefgh... |
 */
#include "bench/forest/structure.h"

#include <stdlib.h>

enum { LEAF = 32, FANOUT = 4, MOST_LEVELS = 32 };

struct tree {
	const struct event *events;
	struct longest *nodes;
	uint64_t n_leaves, n_nodes, starts[MOST_LEVELS];
};

static void *create(const void *options, const struct event *events)
{
	struct tree *tree = get_memory(NULL, sizeof *tree);

	(void)options;
	*tree = (struct tree){ .events = events };
	return tree;
}

static void make_level(struct tree *tree, uint64_t below, uint64_t n_below, uint64_t to)
{
	for (uint64_t i = 0; i < n_below; i++) {
		struct longest *node = &tree->nodes[to + i / FANOUT];

		*node = i % FANOUT ? longer(*node, tree->nodes[below + i]) : tree->nodes[below + i];
	}
}

static void extend(void *self, uint64_t n_events, unsigned n_threads)
{
	struct tree *tree = self;
	unsigned n_levels = 1;

	(void)n_threads;
	tree->n_leaves = tree->n_nodes = n_events / LEAF;
	for (uint64_t n = tree->n_leaves; n > 1; n_levels++) {
		n = (n + FANOUT - 1) / FANOUT;
		tree->starts[n_levels] = tree->n_nodes;
		tree->n_nodes += n;
	}
	tree->nodes = get_memory(tree->nodes, (tree->n_nodes + 1) * sizeof *tree->nodes);
	for (uint64_t i = 0; i < tree->n_leaves; i++)
		tree->nodes[i] = longest_of(tree->events, i * LEAF, (i + 1) * LEAF, NO_EVENT);
	for (unsigned level = 1; level < n_levels; level++)
		make_level(tree, tree->starts[level - 1], tree->starts[level] - tree->starts[level - 1], tree->starts[level]);
}

static void destroy(void *self)
{
	free(((struct tree *)self)->nodes);
	free(self);
}

static uint64_t bytes(const void *self)
{
	return ((const struct tree *)self)->n_nodes * sizeof(struct longest);
}

static struct longest fold(const void *self, uint64_t from, uint64_t to)
{
	const struct tree *tree = self;
	uint64_t first = (from + LEAF - 1) / LEAF, last = to / LEAF;
	struct longest left = NO_EVENT, right;

	if (first >= last)
		return longest_of(tree->events, from, to, left);
	left = longest_of(tree->events, from, first * LEAF, left);
	right = longest_of(tree->events, last * LEAF, to, NO_EVENT);
	for (unsigned level = 0; first < last; level++, first /= FANOUT, last /= FANOUT) {
		const struct longest *nodes = tree->nodes + tree->starts[level];

		while (first % FANOUT && first < last)
			left = longer(left, nodes[first++]);
		while (last % FANOUT && first < last)
			right = longer(nodes[--last], right);
	}
	return longer(left, right);
}

const struct structure wide_tree = { .name = "4-ary tree, implicit", .create = create, .extend = extend, .destroy = destroy,
				     .bytes = bytes, .fold = fold };
