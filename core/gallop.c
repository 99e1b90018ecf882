#include "core/gallop.h"

enum { FEW = 16 /* times to a bound: then they are all read */, AHEAD = 8 };

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

/* Where bounds are to be expected, if times between two known places were spread evenly. */
struct line {
	uint64_t from, to;
	int64_t low;
	double slope;
};

static uint64_t expect(const struct line *line, int64_t bound, int64_t shift)
{
	double offset = ((double)bound - (double)line->low) * line->slope + (double)shift;

	if (!(offset > 0))
		return line->from;
	return offset < (double)(line->to - line->from) ? line->from + (uint64_t)offset : line->to;
}

/* What a bound's place differs from the expected is expected of the next one, too. */
static void follow(const struct iforest_times *times, struct line line, const int64_t *bounds, size_t n, uint64_t *positions)
{
	int64_t shift = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t guess = expect(&line, bounds[i], shift);

		if (i + AHEAD < n)
			__builtin_prefetch((const uint8_t *)times->first + expect(&line, bounds[i + AHEAD], shift) * times->stride);
		if (i > 0 && guess < positions[i - 1])
			guess = positions[i - 1];
		positions[i] = iforest_gallop(times, i > 0 ? positions[i - 1] : line.from, line.to, guess, bounds[i]);
		shift += (int64_t)(positions[i] - guess);
	}
}

void iforest_gallop_many(const struct iforest_times *times, uint64_t from, uint64_t to, const int64_t *bounds, size_t n,
			 uint64_t *positions)
{
	struct line line = { .low = n ? bounds[0] : 0 };

	if (n == 0)
		return;
	line.from = iforest_gallop(times, from, to, from, bounds[0]);
	line.to = iforest_gallop(times, line.from, to, line.from, bounds[n - 1]);
	if (bounds[n - 1] > bounds[0])
		line.slope = (double)(line.to - line.from) / ((double)bounds[n - 1] - (double)bounds[0]);
	if (line.to - line.from <= FEW * (uint64_t)n)
		pass(times, line.from, line.to, bounds, n, positions);
	else
		follow(times, line, bounds, n, positions);
}
