/* layout.h -- where things stand, by arithmetic alone. Pure; no allocation, no page, no error code.
 *
 * 1. The in-memory forest. Leaf i lies in slot 2i; the node of level k over leaves [g 2^k, (g+1) 2^k) lies in the odd slot
 *    whose k lowest bits are ones and the next is zero. Eight leaves (a..h) and their nodes:
 *
 *      slot    0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15
 *              a ab  b  |  c cd  d  |  e ef  f  |  g gh  h  |
 *      level      1     2     1     3     1     2     1     4 (open until leaf 15)
 *                     abcd       abcdefgh     efgh
 *
 *    Nothing moves when a leaf is appended: it completes the nodes whose last leaf it is, all to its left.
 *    (The layout of Perfetto's ImplicitSegmentForest and of Brandon Dewey's in-order implicit trees.)
 *
 * 2. The pages of a run. Level 0 are leaf pages; level-k page j holds the nodes of level-(k-1) pages [jB, (j+1)B), B the
 *    fan-out. A streaming builder writes a node page as soon as it is full, and the partly filled ones last, lowest level
 *    first. B = 3, seven leaf pages:
 *
 *      index   0  1  2  3   4  5  6  7   8  9  10  
 *      page   L0 L1 L2 N0  L3 L4 L5 N1  L6 N2 M0         N: level 1, M: level 2 (the top: one page)
 *
 *    So high nodes lie together on few pages, and the index of any page follows from the number of leaf pages.
 */
#ifndef IFOREST_LAYOUT_H
#define IFOREST_LAYOUT_H

#include <stdint.h>

#include "core/bits.h"

/* Slot of the node of `level` (0: a leaf) over leaves [group 2^level, (group + 1) 2^level). level < 64. */
static inline uint64_t iforest_slot(unsigned level, uint64_t group)
{
	return (group << (level + 1)) | iforest_low_bits(level);
}

/* Level of a slot: the number of its trailing one bits. */
unsigned iforest_slot_level(uint64_t slot);

/* Levels that appending leaf number `leaf` completes: nodes of levels 1..result have it as their last leaf. */
static inline unsigned iforest_levels_completed(uint64_t leaf)
{
	return iforest_trailing_zeros(leaf + 1);
}

/* The largest level of a node that starts at leaf `from` and ends at or before `to`. Requires from < to. */
static inline unsigned iforest_cover_level(uint64_t from, uint64_t to)
{
	unsigned fits = iforest_highest_bit(to - from);
	unsigned aligned = from ? iforest_trailing_zeros(from) : fits;

	return aligned < fits ? aligned : fits;
}

/* Pages of a level in a run of n_leaf_pages. fanout >= 2. */
uint64_t iforest_pages_at(uint64_t n_leaf_pages, unsigned level, uint64_t fanout);

/* Levels of node pages: 0 for an empty run, else the top level, which has one page. */
unsigned iforest_node_levels(uint64_t n_leaf_pages, uint64_t fanout);

/* All pages of a run, leaf and node pages. */
uint64_t iforest_pages_total(uint64_t n_leaf_pages, uint64_t fanout);

/* Where page `number` of `level` stands in the run, 0-based. Requires number < iforest_pages_at(...). */
uint64_t iforest_page_index(uint64_t n_leaf_pages, unsigned level, uint64_t number, uint64_t fanout);

#endif
