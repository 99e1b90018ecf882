/* forest/slots.h -- Slot arithmetic of the in-memory forest, and the cover of a range by slots.
 *
 * Leaf i is in slot 2i. The node of level k over leaves [g 2^k, (g+1) 2^k) is in the odd slot whose k lowest bits are ones and
 * the next is zero. Eight leaves (a..h) and their nodes:
 *
 *   slot    0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15
 *           a ab  b  |  c cd  d  |  e ef  f  |  g gh  h  |
 *   level      1     2     1     3     1     2     1     4 (open until leaf 15)
 *                  abcd       abcdefgh     efgh
 *
 * Appending a leaf moves nothing: it only completes the nodes whose last leaf it is, all of which lie to its left. (This is the
 * layout of Perfetto's ImplicitSegmentForest and of Brandon Dewey's in-order implicit trees.)
 */
#ifndef IFOREST_FOREST_SLOTS_H
#define IFOREST_FOREST_SLOTS_H

#include <stdint.h>

#include "core/base/bits.h"

/* Returns the slot of the node of `level` (0: a leaf) over leaves [group 2^level, (group + 1) 2^level). level < 64. */
static inline uint64_t iforest_slot(unsigned level, uint64_t group)
{
	return (group << (level + 1)) | iforest_low_bits(level);
}

/* Returns the number of levels that leaf number `leaf` completes: nodes of levels 1..result have it as their last leaf. */
static inline unsigned iforest_levels_completed(uint64_t leaf)
{
	return iforest_trailing_zeros(leaf + 1);
}

/* Returns the largest level of a node that starts at leaf `from` and ends at or before `to`. Requires from < to. */
static inline unsigned iforest_cover_level(uint64_t from, uint64_t to)
{
	unsigned fits = iforest_highest_bit(to - from);
	unsigned aligned = from ? iforest_trailing_zeros(from) : fits;

	return aligned < fits ? aligned : fits;
}

/* Returns the turning point of the cover of [from, to), from < to: nodes grow up to it from left to right, and shrink after it.
 * Their widths are the bits set in the two distances. A node over `width` leaves from leaf `at` on is in slot 2 at + width - 1.
 * */
static inline uint64_t iforest_cover_middle(uint64_t from, uint64_t to)
{
	return to & ~iforest_low_bits(iforest_highest_bit(from ^ to));
}

#endif
