#include "core/model/key.h"

#include <string.h>

enum { DIGITS = 256 };

/* Returns the end of the ascending stretch that begins at i. */
static uint32_t stretch_end(const struct iforest_arrival *arrivals, uint32_t i, uint32_t n)
{
	for (i++; i < n; i++)
		if (iforest_key_compare(&arrivals[i - 1].key, &arrivals[i].key) > 0)
			break;
	return i < n ? i : n;
}

/* ---- By series ---- */

/* Distributes the arrivals by one byte of their series. */
static void deal(const struct iforest_arrival *from, struct iforest_arrival *to, uint32_t n, unsigned shift)
{
	uint32_t at[DIGITS] = { 0 }, sum = 0;

	for (uint32_t i = 0; i < n; i++)
		at[from[i].key.series >> shift & (DIGITS - 1)]++;
	for (unsigned d = 0; d < DIGITS; d++) {
		uint32_t count = at[d];

		at[d] = sum;
		sum += count;
	}
	for (uint32_t i = 0; i < n; i++)
		to[at[from[i].key.series >> shift & (DIGITS - 1)]++] = from[i];
}

static void sort_by_series(struct iforest_arrival *arrivals, struct iforest_arrival *room, uint32_t n)
{
	struct iforest_arrival *from = arrivals, *to = room, *swap;
	uint64_t all = 0;

	for (uint32_t i = 0; i < n; i++)
		all |= arrivals[i].key.series ^ arrivals[0].key.series;
	for (unsigned shift = 0; shift < 64 && all >> shift; shift += 8) {
		if (!(all >> shift & (DIGITS - 1)))
			continue;
		deal(from, to, n, shift);
		swap = from;
		from = to;
		to = swap;
	}
	if (from != arrivals)
		memcpy(arrivals, from, n * sizeof *arrivals);
}

/* ---- By stretches ---- */

/* Merges [from, middle) and [middle, to), both ascending. */
static void merge(struct iforest_arrival *arrivals, struct iforest_arrival *room, uint32_t from, uint32_t middle, uint32_t to)
{
	uint32_t n_left, left = 0;

	/* skip entries that are in place already; one is not, as the first stretch ends where the order does */
	while (iforest_key_compare(&arrivals[from].key, &arrivals[middle].key) <= 0)
		from++;
	n_left = middle - from;
	memcpy(room, arrivals + from, n_left * sizeof *room);
	while (left < n_left) {
		bool is_right = middle < to && iforest_key_compare(&arrivals[middle].key, &room[left].key) < 0;

		arrivals[from++] = is_right ? arrivals[middle++] : room[left++];
	}
}

/* Merges neighbouring stretches pairwise. Returns true if there was only one. */
static bool merge_pairs(struct iforest_arrival *arrivals, struct iforest_arrival *room, uint32_t n)
{
	uint32_t from = 0, middle = stretch_end(arrivals, 0, n);
	bool is_one = middle == n;

	while (middle < n) {
		uint32_t to = stretch_end(arrivals, middle, n);

		merge(arrivals, room, from, middle, to);
		from = to;
		middle = from < n ? stretch_end(arrivals, from, n) : n;
	}
	return is_one;
}

void iforest_key_sort(struct iforest_arrival *arrivals, struct iforest_arrival *room, uint32_t n)
{
	if (n == 0 || stretch_end(arrivals, 0, n) == n)
		return;
	sort_by_series(arrivals, room, n);
	while (!merge_pairs(arrivals, room, n))
		;
}
