#include "core/gallop.h"

enum { FEW = 16 }; /* times to a bound: then they are all read */

/* In [low, high]: all before low are less than the bound, those from high on are not. */
static uint64_t bisect(const struct iforest_times *times, uint64_t low, uint64_t high, int64_t bound)
{
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
		return bisect(times, low, at, bound);
	}
	while (at > from) {
		uint64_t before = step < at - from ? at - step : from;

		high = at;
		if (iforest_time_at(times, before) < bound)
			return bisect(times, before + 1, high, bound);
		at = before;
		step *= 2;
	}
	return from;
}

/* A merge of both. */
static void pass(const struct iforest_times *times, uint64_t from, uint64_t to, const int64_t *bounds, size_t n,
		 uint64_t *positions)
{
	for (size_t i = 0; i < n; i++) {
		while (from < to && iforest_time_at(times, from) < bounds[i])
			from++;
		positions[i] = from;
	}
}

/* Bisects for all bounds at once, a step of each before the next step of any: so that the misses of many are waited for together.
 * Without branches on what is read. Inlined for times that stand next to each other. */
static inline __attribute__((always_inline)) void bisect_together(struct iforest_times times, uint64_t n_left, const int64_t *bounds,
								   size_t n, uint64_t *positions)
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
