/* bench/forest/b_tree.c -- Contender: a B-tree that is appended to, 64 events a leaf, 64 children a node, the aggregate of
 * each child in its parent.
 *
 * All nodes but those at the right edge are full, so that positions are found by arithmetic and keys are left out.
 */
#include "bench/forest/structure.h"

#include <stdlib.h>

enum { FANOUT_LEVEL = 6, FANOUT = 1 << FANOUT_LEVEL, MOST_LEVELS = 11 };

struct node {
	struct longest longest[FANOUT];
	struct node *children[FANOUT];   /* of level 1: unused, the events are the children's place */
	unsigned n;
};

struct tree {
	const struct event *events;
	struct node *edge[MOST_LEVELS];   /* the last node of each level from 1 on; the highest is the root */
	unsigned n_levels;
	uint64_t n_events, n_nodes;
};

static struct node *add_node(struct tree *tree)
{
	struct node *node = get_memory(NULL, sizeof *node);

	node->n = 0;
	tree->n_nodes++;
	return node;
}

static void *create(const void *options, const struct event *events)
{
	struct tree *tree = get_memory(NULL, sizeof *tree);

	(void)options;
	*tree = (struct tree){ .events = events };
	return tree;
}

static void free_node(struct node *node, unsigned level)
{
	for (unsigned c = 0; level > 1 && c < node->n; c++)
		free_node(node->children[c], level - 1);
	free(node);
}

static void destroy(void *self)
{
	struct tree *tree = self;

	if (tree->n_levels)
		free_node(tree->edge[tree->n_levels], tree->n_levels);
	free(tree);
}

/* A child at the right edge of a level; a node that is full gets a neighbour, which the level above then has as its last. */
static void add_child(struct tree *tree, unsigned level, struct node *child)
{
	if (level > tree->n_levels) {
		struct node *below = tree->edge[level - 1];

		tree->edge[level] = add_node(tree);
		tree->n_levels = level;
		if (level > 1) {
			struct longest all = NO_EVENT;

			for (unsigned c = 0; c < below->n; c++)
				all = longer(all, below->longest[c]);
			tree->edge[level]->children[0] = below;
			tree->edge[level]->longest[0] = all;
			tree->edge[level]->n = 1;
		}
	} else if (tree->edge[level]->n == FANOUT) {
		struct node *next = add_node(tree);

		add_child(tree, level + 1, next);
		tree->edge[level] = next;
	}
	tree->edge[level]->children[tree->edge[level]->n] = child;
	tree->edge[level]->longest[tree->edge[level]->n++] = NO_EVENT;
}

static void append(struct tree *tree, uint64_t i)
{
	struct longest one = { tree->events[i].duration_ns, i };

	if (i % FANOUT == 0)
		add_child(tree, 1, NULL);
	for (unsigned level = 1; level <= tree->n_levels; level++) {
		struct longest *last = &tree->edge[level]->longest[tree->edge[level]->n - 1];

		if (one.duration_ns <= last->duration_ns)
			return;
		*last = one;
	}
}

static void extend(void *self, uint64_t n_events, unsigned n_threads)
{
	struct tree *tree = self;

	(void)n_threads;
	while (tree->n_events < n_events)
		append(tree, tree->n_events++);
}

static uint64_t bytes(const void *self)
{
	return ((const struct tree *)self)->n_nodes * sizeof(struct node);
}

static struct longest fold_node(const struct tree *tree, const struct node *node, unsigned level, uint64_t first, uint64_t from,
				uint64_t to, struct longest best)
{
	unsigned shift = level * FANOUT_LEVEL;
	uint64_t width = UINT64_C(1) << shift, end = first + node->n * width;
	uint64_t start = from > first ? from - first : 0, stop = (to < end ? to : end) - first;

	for (uint64_t c = start >> shift; c << shift < stop; c++) {
		uint64_t child = first + (c << shift);

		if (from <= child && child + width <= to)
			best = longer(best, node->longest[c]);
		else if (level > 1)
			best = fold_node(tree, node->children[c], level - 1, child, from, to, best);
		else
			best = longest_of(tree->events, from > child ? from : child, to < child + width ? to : child + width,
					  best);
	}
	return best;
}

static struct longest fold(const void *self, uint64_t from, uint64_t to)
{
	const struct tree *tree = self;

	return from < to ? fold_node(tree, tree->edge[tree->n_levels], tree->n_levels, 0, from, to, NO_EVENT) : NO_EVENT;
}

const struct structure b_tree = { .name = "B-tree", .appends = true, .create = create, .extend = extend, .destroy = destroy,
				  .bytes = bytes, .fold = fold };
