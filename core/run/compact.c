#include "core/run/compact.h"

#include <stdbool.h>

#include "core/base/bits.h"

#define SHARES (UINT32_C(1) << 31) /* a mark beside the number of a run: others of its tier lie where it does */

enum { MOST_TIERS = 64 };

struct choice {
	const struct iforest_merge_settings *settings;
	const struct iforest_merge_candidate *runs;
	uint32_t n_runs;
	uint32_t *chosen;
	uint32_t n_chosen;
	uint64_t n_pages;   /* of those chosen that are not empty */
};

static unsigned tier_of(const struct choice *choice, uint32_t r)
{
	unsigned tier = 0;

	for (uint64_t n = choice->runs[r].n_pages / choice->settings->fan_in; n > 0; n /= choice->settings->fan_in)
		tier++;
	return tier;
}

static bool is_empty(const struct iforest_merge_candidate *run)
{
	return run->n_rows == 0;
}

/* Does what they share make a quarter of the narrower one? */
static bool overlap(const struct iforest_merge_candidate *a, const struct iforest_merge_candidate *b)
{
	iforest_int128 low = a->low > b->low ? a->low : b->low, high = a->high < b->high ? a->high : b->high;
	iforest_int128 width_a = (iforest_int128)a->high - a->low, width_b = (iforest_int128)b->high - b->low;

	return 4 * (high - low + 1) >= (width_a < width_b ? width_a : width_b) + 1 && high >= low;
}

static bool lies_before(const struct choice *choice, uint32_t a, uint32_t b)
{
	return choice->runs[a].low != choice->runs[b].low ? choice->runs[a].low < choice->runs[b].low : a < b;
}

static void sift_down(const struct choice *choice, bool by_number, uint32_t *numbers, uint32_t n, uint32_t i)
{
	for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
		uint32_t moved = numbers[i];

		if (child + 1 < n && (by_number ? numbers[child] < numbers[child + 1] :
						  lies_before(choice, numbers[child], numbers[child + 1])))
			child++;
		if (by_number ? numbers[child] < moved : lies_before(choice, numbers[child], moved))
			return;
		numbers[i] = numbers[child];
		numbers[child] = moved;
	}
}

/* Heap sort: by number, or by where the runs lie. */
static void sort(const struct choice *choice, bool by_number, uint32_t *numbers, uint32_t n)
{
	for (uint32_t i = n / 2; i-- > 0;)
		sift_down(choice, by_number, numbers, n, i);
	while (n-- > 1) {
		uint32_t greatest = numbers[0];

		numbers[0] = numbers[n];
		numbers[n] = greatest;
		sift_down(choice, by_number, numbers, n, 0);
	}
}

static void keep(struct choice *choice, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		choice->chosen[i - from] = choice->chosen[i];
	choice->n_chosen = to - from;
}

/* Of the runs chosen, those beside each other that fit the bound, at least fan_in of them, else none. */
static void fit(struct choice *choice)
{
	uint32_t from = 0, to = 0;

	choice->n_pages = 0;
	while (to < choice->n_chosen) {
		uint64_t n_pages = choice->runs[choice->chosen[to]].n_pages;

		if (n_pages <= choice->settings->most_pages - choice->n_pages) {
			choice->n_pages += n_pages;
			to++;
		} else if (to - from >= choice->settings->fan_in) {
			break;
		} else if (from < to) {
			choice->n_pages -= choice->runs[choice->chosen[from++]].n_pages;
		} else {
			from = ++to;
		}
	}
	keep(choice, from, to - from >= choice->settings->fan_in ? to : from);
}

/* Of the runs chosen, sorted by where they lie, those that are not above the cap, or share their range with others. */
static void leave_alone(struct choice *choice)
{
	const struct iforest_merge_candidate *runs = choice->runs;
	uint32_t *chosen = choice->chosen, n_left = 0;

	for (uint32_t i = 0; i < choice->n_chosen; i++) {
		const struct iforest_merge_candidate *run = &runs[chosen[i] & ~SHARES];

		/* those that begin after its end share nothing with it */
		for (uint32_t k = i + 1; k < choice->n_chosen && runs[chosen[k] & ~SHARES].low <= run->high; k++)
			if (overlap(run, &runs[chosen[k] & ~SHARES])) {
				chosen[i] |= SHARES;
				chosen[k] |= SHARES;
			}
		if (chosen[i] & SHARES || run->n_pages <= choice->settings->cap_pages)
			chosen[n_left++] = chosen[i] & ~SHARES;
	}
	choice->n_chosen = n_left;
}

static void choose_tier(struct choice *choice, unsigned tier)
{
	bool above_cap = false;

	choice->n_chosen = 0;
	for (uint32_t r = 0; r < choice->n_runs; r++)
		if (!is_empty(&choice->runs[r]) && tier_of(choice, r) == tier) {
			choice->chosen[choice->n_chosen++] = r;
			above_cap = above_cap || choice->runs[r].n_pages > choice->settings->cap_pages;
		}
	sort(choice, false, choice->chosen, choice->n_chosen);
	if (above_cap)
		leave_alone(choice);
	fit(choice);
}

/* Smaller runs that lie between those chosen, as long as all of them make no more than 1 / fan_in of the merge. */
static void take_along(struct choice *choice, unsigned below_tier)
{
	int64_t low = INT64_MAX, high = INT64_MIN;
	uint64_t n_spare = choice->n_pages / choice->settings->fan_in;
	uint64_t n_left = choice->settings->most_pages - choice->n_pages;

	for (uint32_t i = 0; i < choice->n_chosen; i++) {
		const struct iforest_merge_candidate *run = &choice->runs[choice->chosen[i]];

		low = run->low < low ? run->low : low;
		high = run->high > high ? run->high : high;
	}
	n_spare = n_spare < n_left ? n_spare : n_left;
	for (unsigned tier = 0; tier < below_tier; tier++)
		for (uint32_t r = 0; r < choice->n_runs; r++) {
			const struct iforest_merge_candidate *run = &choice->runs[r];

			if (is_empty(run) || tier_of(choice, r) != tier || run->n_pages > n_spare ||
			    run->low < low || run->high > high)
				continue;
			n_spare -= run->n_pages;
			choice->chosen[choice->n_chosen++] = r;
		}
}

/* The first run that is more than a quarter dead and fits the bound. */
static void choose_dead(struct choice *choice)
{
	for (uint32_t r = 0; r < choice->n_runs; r++) {
		const struct iforest_merge_candidate *run = &choice->runs[r];

		if (is_empty(run) || run->n_pages > choice->settings->most_pages || run->n_dead <= run->n_rows / 3)
			continue;
		choice->chosen[choice->n_chosen++] = r;
		return;
	}
}

uint32_t iforest_merge_choose(const struct iforest_merge_candidate *runs, uint32_t n_runs,
			      const struct iforest_merge_settings *settings, uint32_t *chosen)
{
	struct choice choice = { .runs = runs, .settings = settings, .n_runs = n_runs, .chosen = chosen };
	uint32_t n_in_tier[MOST_TIERS] = { 0 };

	for (uint32_t r = 0; r < n_runs; r++)
		n_in_tier[tier_of(&choice, r)] += !is_empty(&runs[r]);
	for (unsigned tier = 0; tier < MOST_TIERS && choice.n_chosen == 0; tier++) {
		if (n_in_tier[tier] < settings->fan_in)
			continue;
		choose_tier(&choice, tier);
		if (choice.n_chosen > 0)
			take_along(&choice, tier);
	}
	if (choice.n_chosen == 0)
		choose_dead(&choice);
	for (uint32_t r = 0; r < n_runs; r++)
		if (is_empty(&runs[r]))
			chosen[choice.n_chosen++] = r;
	sort(&choice, true, chosen, choice.n_chosen);
	return choice.n_chosen;
}

uint64_t iforest_merge_bound(uint64_t few_pages, uint32_t n_runs)
{
	uint32_t n_doublings = n_runs / IFOREST_RUNS_A_DOUBLING;

	if (few_pages == 0 || n_doublings >= 64 || few_pages > UINT64_MAX >> n_doublings)
		return few_pages ? UINT64_MAX : 0;
	return few_pages << n_doublings;
}
