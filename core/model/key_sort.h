/* key_sort.h -- entries put in order of their keys, as they come: interleaved by series, and mostly in order of time.
 *
 * Series are told apart by their bytes, stably; then ascending stretches are merged. So what is in order but for its series
 * takes a few passes, and anything else no longer than by merging. */
#ifndef IFOREST_KEY_SORT_H
#define IFOREST_KEY_SORT_H

#include "core/model/key.h"

/* A key, and which entry has it: less to move than an entry. */
struct iforest_arrival {
	struct iforest_key key;
	uint32_t entry;
};

/* Sorts by key; equal keys stay as they stand.
 * Requires  room for n arrivals.
 * Complexity  O(n) where each series ascends, else O(n log(number of ascending stretches)). */
void iforest_key_sort(struct iforest_arrival *arrivals, struct iforest_arrival *room, uint32_t n);

#endif
