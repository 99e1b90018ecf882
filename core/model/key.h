/* model/key.h -- Sort key of an entry: (series, time, ref), with NULL times last in their series; comparison and sorting.
 *
 * A key is also a position: "the first entry at or after this key". Windows are half-open, so their ends are
 * positions with the lowest ref.
 */
#ifndef IFOREST_MODEL_KEY_H
#define IFOREST_MODEL_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/interrupt.h"

struct iforest_key {
	uint64_t series; /* id in the dictionary, below 2^32; a position may have 2^32, "after the last series" */
	bool time_is_null;
	int64_t time; /* 0 when time_is_null */
	int64_t ref;  /* rowid (SQLite) or TID (PostgreSQL) */
};

/* Returns -1, 0 or 1 if a is before, at or after b. */
static inline int iforest_key_compare(const struct iforest_key *a, const struct iforest_key *b)
{
	if (a->series != b->series)
		return a->series < b->series ? -1 : 1;
	if (a->time_is_null != b->time_is_null)
		return a->time_is_null ? 1 : -1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return (a->ref > b->ref) - (a->ref < b->ref);
}

/* Binary search. Returns the index of the first of n ascending keys that is at or after a position; n if there is none. */
static inline uint64_t iforest_key_search(const struct iforest_key *keys, uint64_t n, const struct iforest_key *position)
{
	uint64_t low = 0, high = n;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (iforest_key_compare(&keys[middle], position) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns the position of the first entry of a series whose time is at least `time`. */
static inline struct iforest_key iforest_key_at(uint64_t series, int64_t time)
{
	return (struct iforest_key){ .series = series, .time = time, .ref = INT64_MIN };
}

/* Returns the position of the first entry of a series whose time is NULL: the end of its timed entries. */
static inline struct iforest_key iforest_key_nulls(uint64_t series)
{
	return (struct iforest_key){ .series = series, .time_is_null = true, .ref = INT64_MIN };
}

/* ---- Sorting of entries as they arrive: interleaved by series, and mostly in order of time ----
 *
 * A stable radix sort by series, followed by a natural merge sort (of ascending stretches). Entries that are ordered within
 * each series take a few passes, and any others no longer than a merge sort. */

/* A key and the number of its entry, which is less to move than the entry. */
struct iforest_arrival {
	struct iforest_key key;
	uint32_t entry;
};

/* Sorts by key; stable. `room` is scratch space for n arrivals. `interrupt` may be NULL.
 * Cost    O(n) if each series ascends, else O(n log(number of ascending stretches)).
 * Errors  those of the interrupt. */
enum iforest_status iforest_key_sort(struct iforest_arrival *arrivals, struct iforest_arrival *room, uint32_t n,
				     const struct iforest_interrupt *interrupt);

#endif
