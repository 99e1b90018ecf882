/* bench/forest/pointer_tree.c -- Contender: a tree of four children a node, each by a pointer and allocated alone; four
 * events a leaf. */
#include "bench/forest/structure.h"

#include <malloc.h>
#include <stdlib.h>

enum { FANOUT = 4, MALLOC_HEADER = 8 };

struct node {
	struct longest longest;
	struct node *children[FANOUT];   /* NULL: past the end, or this is a leaf */
};

struct tree {
	const struct event *events;
	struct node *root;
	uint64_t n_events, width, n_bytes;   /* width: events under the root, were it full */
};

static void *create(const void *options, const struct event *events)
{
	struct tree *tree = get_memory(NULL, sizeof *tree);

	(void)options;
	*tree = (struct tree){ .events = events };
	return tree;
}

static struct node *make_node(struct tree *tree, uint64_t first, uint64_t width)
{
	struct node *node = get_memory(NULL, sizeof *node);
	uint64_t end = first + width < tree->n_events ? first + width : tree->n_events, part = width / FANOUT;

	tree->n_bytes += malloc_usable_size(node) + MALLOC_HEADER;
	*node = (struct node){ .longest = NO_EVENT };
	if (width == FANOUT) {
		node->longest = longest_of(tree->events, first, end, NO_EVENT);
		return node;
	}
	for (unsigned c = 0; c < FANOUT && first + c * part < end; c++) {
		node->children[c] = make_node(tree, first + c * part, part);
		node->longest = longer(node->longest, node->children[c]->longest);
	}
	return node;
}

static void extend(void *self, uint64_t n_events, unsigned n_threads)
{
	struct tree *tree = self;

	(void)n_threads;
	tree->n_events = n_events;
	for (tree->width = FANOUT; tree->width < n_events;)
		tree->width *= FANOUT;
	tree->root = make_node(tree, 0, tree->width);
}

static void free_node(struct node *node)
{
	for (unsigned c = 0; c < FANOUT && node->children[c]; c++)
		free_node(node->children[c]);
	free(node);
}

static void destroy(void *self)
{
	struct tree *tree = self;

	if (tree->root)
		free_node(tree->root);
	free(tree);
}

static uint64_t bytes(const void *self)
{
	return ((const struct tree *)self)->n_bytes;
}

/* Of events [from, to) under the node, which has those of [first, first + width). */
static struct longest fold_node(const struct tree *tree, const struct node *node, uint64_t first, uint64_t width, uint64_t from,
				uint64_t to, struct longest best)
{
	uint64_t part = width / FANOUT;

	if (from <= first && first + width <= to)
		return longer(best, node->longest);
	if (width == FANOUT)
		return longest_of(tree->events, from > first ? from : first, to < first + width ? to : first + width, best);
	for (unsigned c = 0; c < FANOUT; c++) {
		uint64_t start = first + c * part;

		if (start < to && from < start + part)
			best = fold_node(tree, node->children[c], start, part, from, to, best);
	}
	return best;
}

static struct longest fold(const void *self, uint64_t from, uint64_t to)
{
	const struct tree *tree = self;

	return from < to ? fold_node(tree, tree->root, 0, tree->width, from, to, NO_EVENT) : NO_EVENT;
}

const struct structure pointer_tree = { .name = "4-ary tree, pointers", .create = create, .extend = extend, .destroy = destroy,
					.bytes = bytes, .fold = fold };
