#include "core/run/layout.h"

#include "core/base/bits.h"

/* Returns the ceiling of n / fanout^level. */
static uint64_t groups(uint64_t n, unsigned level, uint64_t fanout)
{
	while (level-- > 0)
		n = n / fanout + (n % fanout != 0);
	return n;
}

uint64_t iforest_pages_at(uint64_t n_leaf_pages, unsigned level, uint64_t fanout)
{
	return groups(n_leaf_pages, level, fanout);
}

unsigned iforest_node_levels(uint64_t n_leaf_pages, uint64_t fanout)
{
	unsigned level = n_leaf_pages > 0;

	while (groups(n_leaf_pages, level, fanout) > 1)
		level++;
	return level;
}

uint64_t iforest_pages_total(uint64_t n_leaf_pages, uint64_t fanout)
{
	uint64_t total = 0;

	for (unsigned level = 0; level <= iforest_node_levels(n_leaf_pages, fanout); level++)
		total += groups(n_leaf_pages, level, fanout);
	return total;
}

/* Returns the number of leaf pages that are written before a node page. */
static uint64_t leaves_through(uint64_t n_leaf_pages, unsigned level, uint64_t number, uint64_t fanout)
{
	uint64_t n = number + 1;

	while (level-- > 0)
		n = n > n_leaf_pages / fanout ? n_leaf_pages : n * fanout;
	return n < n_leaf_pages ? n : n_leaf_pages;
}

uint64_t iforest_page_index(uint64_t n_leaf_pages, unsigned level, uint64_t number, uint64_t fanout)
{
	uint64_t n_leaves = level > 0 ? leaves_through(n_leaf_pages, level, number, fanout) : 0;
	uint64_t index = number;

	for (unsigned k = 0; k < level; k++)
		index += groups(n_leaves, k, fanout);
	for (uint64_t completed = number / fanout; completed > 0; completed /= fanout) /* 0 above the top level */
		index += completed;
	return index;
}
