#include "core/model/key.h"

#include <string.h>

enum { DIGITS = 256 };

struct sorting {
	struct iforest_arrival *arrivals, *room;
	uint32_t n;
	const struct iforest_interrupt *interrupt;
	uint32_t n_left; /* entries until it is asked again */
	enum iforest_status status;
};

/* Counts an entry. Returns false if the sort is interrupted. */
static inline bool go_on(struct sorting *sorting)
{
	if (--sorting->n_left > 0)
		return true;
	sorting->n_left = IFOREST_UNIT_OF_WORK;
	sorting->status = iforest_interrupt_check(sorting->interrupt);
	return !sorting->status;
}

static bool copy(struct sorting *sorting, struct iforest_arrival *to, const struct iforest_arrival *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		to[i] = from[i];
		if (!go_on(sorting))
			return false;
	}
	return true;
}

/* Returns the end of the ascending stretch that begins at i, or where the sort is interrupted. */
static uint32_t stretch_end(struct sorting *sorting, uint32_t i)
{
	const struct iforest_arrival *arrivals = sorting->arrivals;

	for (i++; i < sorting->n && go_on(sorting); i++)
		if (iforest_key_compare(&arrivals[i - 1].key, &arrivals[i].key) > 0)
			break;
	return i < sorting->n ? i : sorting->n;
}

/* ---- By series ---- */

/* Distributes the arrivals by one byte of their series. */
static bool deal(struct sorting *sorting, const struct iforest_arrival *from, struct iforest_arrival *to, unsigned shift)
{
	uint32_t at[DIGITS] = { 0 }, sum = 0;

	for (uint32_t i = 0; i < sorting->n; i++) {
		at[from[i].key.series >> shift & (DIGITS - 1)]++;
		if (!go_on(sorting))
			return false;
	}
	for (unsigned d = 0; d < DIGITS; d++) {
		uint32_t count = at[d];

		at[d] = sum;
		sum += count;
	}
	for (uint32_t i = 0; i < sorting->n; i++) {
		to[at[from[i].key.series >> shift & (DIGITS - 1)]++] = from[i];
		if (!go_on(sorting))
			return false;
	}
	return true;
}

static bool sort_by_series(struct sorting *sorting)
{
	struct iforest_arrival *from = sorting->arrivals, *to = sorting->room, *swap;
	uint64_t all = 0;

	for (uint32_t i = 0; i < sorting->n; i++) {
		all |= from[i].key.series ^ from[0].key.series;
		if (!go_on(sorting))
			return false;
	}
	for (unsigned shift = 0; shift < 64 && all >> shift; shift += 8) {
		if (!(all >> shift & (DIGITS - 1)))
			continue;
		if (!deal(sorting, from, to, shift))
			return false;
		swap = from;
		from = to;
		to = swap;
	}
	return from == sorting->arrivals || copy(sorting, sorting->arrivals, from, sorting->n);
}

/* ---- By stretches ---- */

/* Merges [from, middle) and [middle, to), both ascending. */
static bool merge(struct sorting *sorting, uint32_t from, uint32_t middle, uint32_t to)
{
	struct iforest_arrival *arrivals = sorting->arrivals, *room = sorting->room;
	uint32_t n_left, left = 0;

	/* skip entries that are in place already; one is not, as the first stretch ends where the order does */
	while (iforest_key_compare(&arrivals[from].key, &arrivals[middle].key) <= 0) {
		from++;
		if (!go_on(sorting))
			return false;
	}
	n_left = middle - from;
	if (!copy(sorting, room, arrivals + from, n_left))
		return false;
	while (left < n_left) {
		bool is_right = middle < to && iforest_key_compare(&arrivals[middle].key, &room[left].key) < 0;

		arrivals[from++] = is_right ? arrivals[middle++] : room[left++];
		if (!go_on(sorting))
			return false;
	}
	return true;
}

/* Merges neighbouring stretches pairwise. Returns true if there was only one, or the sort is interrupted. */
static bool merge_pairs(struct sorting *sorting)
{
	uint32_t n = sorting->n, from = 0, middle = stretch_end(sorting, 0);
	bool is_one = middle == n;

	while (middle < n && !sorting->status) {
		uint32_t to = stretch_end(sorting, middle);

		if (sorting->status || !merge(sorting, from, middle, to))
			break;
		from = to;
		middle = from < n ? stretch_end(sorting, from) : n;
	}
	return is_one || sorting->status;
}

enum iforest_status iforest_key_sort(struct iforest_arrival *arrivals, struct iforest_arrival *room, uint32_t n,
				     const struct iforest_interrupt *interrupt)
{
	struct sorting sorting = {
		.arrivals = arrivals, .room = room, .n = n, .interrupt = interrupt, .n_left = IFOREST_UNIT_OF_WORK
	};

	if (n == 0 || stretch_end(&sorting, 0) == n || sorting.status || !sort_by_series(&sorting))
		return sorting.status;
	while (!merge_pairs(&sorting))
		;
	return sorting.status;
}
