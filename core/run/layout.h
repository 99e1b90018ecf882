/* run/layout.h -- Layout of a run: the index of a page in its run, computed from its level and its number on that level.
 *
 * Leaf pages are level 0; level-k page j has the nodes of level-(k-1) pages [jB, (j+1)B), where B is the fan-out. A streaming
 * writer writes a node page as soon as it is full, and the partly filled ones last, lowest level first. B = 3, seven leaf
 * pages:
 *
 *   index   0  1  2  3   4  5  6  7   8  9  10
 *   page   L0 L1 L2 N0  L3 L4 L5 N1  L6 N2 M0         N: level 1, M: level 2 (the top: one page)
 *
 * The index of page `number` of a level is the number of pages written before it: those of its own level; those of the levels
 * below, up to its last leaf page; and the pages of the levels above that were full by then, one for every B pages of its
 * level, one for every B^2, and so on. For M0 these are 7 leaf pages, 3 pages N and no other M.
 */
#ifndef IFOREST_RUN_LAYOUT_H
#define IFOREST_RUN_LAYOUT_H

#include <stdint.h>

#include "core/base/bits.h"

/* Returns the number of pages of a level. Requires fanout >= 2, here and below. */
uint64_t iforest_pages_at(uint64_t n_leaf_pages, unsigned level, uint64_t fanout);

/* Returns the number of levels of node pages: 0 for an empty run, else the top level, which has one page. */
unsigned iforest_node_levels(uint64_t n_leaf_pages, uint64_t fanout);

/* Returns the number of all pages, leaf and node pages. */
uint64_t iforest_pages_total(uint64_t n_leaf_pages, uint64_t fanout);

/* Returns the index in the run of page `number` of `level`.
 * Requires  number < iforest_pages_at(n_leaf_pages, level, fanout). */
uint64_t iforest_page_index(uint64_t n_leaf_pages, unsigned level, uint64_t number, uint64_t fanout);

#endif
