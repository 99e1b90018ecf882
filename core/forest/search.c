#include "core/forest/search.h"

enum { FEW = 16 };		 /* times per bound; with fewer, all are read */
enum { AT_ONCE = 8, FAR = 128 }; /* times read before a decision, while more than so many are left */

/* Narrows [low, high): times before low are less than the bound, those from high on are not. Over long distances it reads eight
 * times where bisection would read one, so that their cache misses overlap. */
uint64_t iforest_search(const struct iforest_times *times, uint64_t low, uint64_t high, int64_t bound)
{
	while (high - low > FAR) {
		uint64_t step = (high - low) / AT_ONCE, n_less = 0;

		for (uint64_t k = 1; k <= AT_ONCE; k++)
			n_less += iforest_time_at(times, low + k * step - 1) < bound;
		low += n_less * step;
		high = n_less < AT_ONCE ? low + step - 1 : high;
	}
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (iforest_time_at(times, middle) < bound)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t iforest_gallop(const struct iforest_times *times, uint64_t from, uint64_t to, uint64_t guess, int64_t bound)
{
	uint64_t low = from, high = to, at = guess, step = 1;

	if (guess < to && iforest_time_at(times, guess) < bound) {
		do {
			low = at + 1;
			at = step < to - at ? at + step : to;
			step *= 2;
		} while (at < to && iforest_time_at(times, at) < bound);
		return iforest_search(times, low, at, bound);
	}
	while (at > from) {
		uint64_t before = step < at - from ? at - step : from;

		high = at;
		if (iforest_time_at(times, before) < bound)
			return iforest_search(times, before + 1, high, bound);
		at = before;
		step *= 2;
	}
	return from;
}

/* Finds the bounds in one pass over the times. */
static void pass(const struct iforest_times *times, uint64_t from, uint64_t to, const int64_t *bounds, size_t n,
		 uint64_t *positions)
{
	for (size_t i = 0; i < n; i++)
		positions[i] = from = iforest_linear_search(times, from, to, bounds[i]);
}

/* Bisects for all bounds at once, one step of each at a time, so that cache misses overlap. Does not branch on what it reads.
 * Inlined for times that are next to each other. */
static inline __attribute__((always_inline)) void bisect_together(struct iforest_times times, uint64_t n_left,
								  const int64_t *bounds, size_t n, uint64_t *positions)
{
	uint64_t half;

	for (; n_left > 0; n_left -= half) {
		uint64_t next;

		half = n_left - n_left / 2;
		next = n_left - half;
		next -= next / 2;
		for (size_t i = 0; i < n; i++) {
			positions[i] += half & -(uint64_t)(iforest_time_at(&times, positions[i] + half - 1) < bounds[i]);
			if (next > 0)
				__builtin_prefetch((const uint8_t *)times.first + (positions[i] + next - 1) * times.stride);
		}
	}
}

void iforest_gallop_many(const struct iforest_times *times, uint64_t from, uint64_t to, const int64_t *bounds, size_t n,
			 uint64_t *positions)
{
	uint64_t first, last;

	if (n == 0)
		return;
	first = iforest_gallop(times, from, to, from, bounds[0]);
	last = iforest_gallop(times, first, to, to, bounds[n - 1]);
	if (last - first <= FEW * (uint64_t)n) {
		pass(times, first, last, bounds, n, positions);
		return;
	}
	for (size_t i = 0; i < n; i++)
		positions[i] = first;
	if (times->stride == sizeof(int64_t))
		bisect_together((struct iforest_times){ times->first, sizeof(int64_t) }, last - first, bounds, n, positions);
	else
		bisect_together(*times, last - first, bounds, n, positions);
}
