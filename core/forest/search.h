/* forest/search.h -- Search for bounds among sorted times: linear, binary and galloping, one or many at once.
 *
 * A galloping search starts where a bound is expected, and doubles its steps (Bentley and Yao, "An almost optimal algorithm for
 * unbounded searching", 1976). Many bounds are bisected together, so that their cache misses overlap. A single bound that may
 * lie anywhere is searched for in eighths, for the same reason.
 */
#ifndef IFOREST_FOREST_SEARCH_H
#define IFOREST_FOREST_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* Times in an array of their own (stride 8) or within the entries. */
struct iforest_times {
	const void *first;
	size_t stride; /* bytes from one to the next */
};

static inline int64_t iforest_time_at(const struct iforest_times *times, uint64_t i)
{
	int64_t time;

	__builtin_memcpy(&time, (const uint8_t *)times->first + i * times->stride, sizeof time);
	return time;
}

/* Linear search. Returns the position of the first of times [from, to) that is not less than the bound; `to` if there is none.
 * */
static inline uint64_t iforest_linear_search(const struct iforest_times *times, uint64_t from, uint64_t to, int64_t bound)
{
	while (from < to && iforest_time_at(times, from) < bound)
		from++;
	return from;
}

/* The same in O(log(to - from)). */
uint64_t iforest_search(const struct iforest_times *times, uint64_t from, uint64_t to, int64_t bound);

/* The same in O(log(distance from `guess`)), from <= guess <= to. */
uint64_t iforest_gallop(const struct iforest_times *times, uint64_t from, uint64_t to, uint64_t guess, int64_t bound);

/* Writes the positions of n ascending bounds in [from, to). The first is expected near `from`, the last near `to`.
 * Cost  with w times between the first and the last bound: a pass over them if they are few, else O(log w) per bound. */
void iforest_gallop_many(const struct iforest_times *times, uint64_t from, uint64_t to, const int64_t *bounds, size_t n,
			 uint64_t *positions);

#endif
