#include "core/run/compact.h"

#include <stdbool.h>

#include "core/base/bits.h"
#include "core/run/cursor.h"

#define SHARES (UINT32_C(1) << 31) /* flag on a run's number: its range overlaps others of its tier */

enum { MOST_TIERS = 64 };

struct tier_choice {
	const struct iforest_merge_settings *settings;
	const struct iforest_merge_candidate *runs;
	uint32_t n_runs;
	uint32_t *chosen;
	uint32_t n_chosen;
	uint64_t n_pages; /* of the chosen runs, empty ones not counted */
};

static unsigned tier_of(const struct tier_choice *choice, uint32_t r)
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

/* True if two runs share at least a quarter of the narrower one's range. */
static bool overlap(const struct iforest_merge_candidate *a, const struct iforest_merge_candidate *b)
{
	iforest_int128 low = a->low > b->low ? a->low : b->low, high = a->high < b->high ? a->high : b->high;
	iforest_int128 width_a = (iforest_int128)a->high - a->low, width_b = (iforest_int128)b->high - b->low;

	return 4 * (high - low + 1) >= (width_a < width_b ? width_a : width_b) + 1 && high >= low;
}

static bool lies_before(const struct tier_choice *choice, uint32_t a, uint32_t b)
{
	return choice->runs[a].low != choice->runs[b].low ? choice->runs[a].low < choice->runs[b].low : a < b;
}

static void sift_down(const struct tier_choice *choice, bool by_number, uint32_t *numbers, uint32_t n, uint32_t i)
{
	for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
		uint32_t moved = numbers[i];

		if (child + 1 < n &&
		    (by_number ? numbers[child] < numbers[child + 1] : lies_before(choice, numbers[child], numbers[child + 1])))
			child++;
		if (by_number ? numbers[child] < moved : lies_before(choice, numbers[child], moved))
			return;
		numbers[i] = numbers[child];
		numbers[child] = moved;
	}
}

/* Sorts by number, or by range; a heap sort. */
static void sort(const struct tier_choice *choice, bool by_number, uint32_t *numbers, uint32_t n)
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

static void keep(struct tier_choice *choice, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		choice->chosen[i - from] = choice->chosen[i];
	choice->n_chosen = to - from;
}

/* Reduces the choice to neighbours that fit the bound: at least fan_in of them, or none. */
static void fit(struct tier_choice *choice)
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

/* Reduces the choice, sorted by range, to the runs that are at most the cap or overlap others. */
static void leave_alone(struct tier_choice *choice)
{
	const struct iforest_merge_candidate *runs = choice->runs;
	uint32_t *chosen = choice->chosen, n_left = 0;

	for (uint32_t i = 0; i < choice->n_chosen; i++) {
		const struct iforest_merge_candidate *run = &runs[chosen[i] & ~SHARES];

		/* runs that begin after its end do not overlap it */
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

static void choose_tier(struct tier_choice *choice, unsigned tier)
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

/* Adds smaller runs that lie between the chosen ones, up to 1 / fan_in of the merge. */
static void take_along(struct tier_choice *choice, unsigned below_tier)
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

			if (is_empty(run) || tier_of(choice, r) != tier || run->n_pages > n_spare || run->low < low ||
			    run->high > high)
				continue;
			n_spare -= run->n_pages;
			choice->chosen[choice->n_chosen++] = r;
		}
}

/* Chooses the first run that is more than a quarter dead and fits the bound. */
static void choose_dead(struct tier_choice *choice)
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
	struct tier_choice choice = { .runs = runs, .settings = settings, .n_runs = n_runs, .chosen = chosen };
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

/* ---- The merge ---- */

/* One run being merged. Its position is entry `at` of `block`. */
struct source {
	struct iforest_cursor cursor;
	const struct iforest_block *block;
	unsigned at;
	struct iforest_key key;
};

struct merge {
	struct source *sources;
	struct source **heap; /* smallest key first */
	uint32_t n_sources, n_heap;
};

static struct iforest_key key_of(const struct iforest_block *block, unsigned i)
{
	return (struct iforest_key){
		.series = block->series, .time_is_null = block->time_is_null, .time = block->times[i], .ref = block->refs[i]
	};
}

/* Moves a source to its first live entry at or after entry `at` of its block; block is NULL when there is none. */
static enum iforest_status settle(struct source *source, unsigned at)
{
	struct iforest_cursor *cursor = &source->cursor;
	uint32_t all = (1u << (IFOREST_VALUES + cursor->manifest->fields.n_values)) - 1;
	enum iforest_status status = IFOREST_OK;

	for (;; at = 0) {
		const struct iforest_block *block = source->block;
		uint64_t live = block ? iforest_low_bits(block->n) & ~iforest_low_bits(at) & ~block->dead : 0;

		if (live) {
			/* unpacked only now, because blocks without live entries are skipped */
			status = iforest_cursor_block(cursor, all, &source->block);
			if (status)
				return status;
			source->at = iforest_trailing_zeros(live);
			source->key = key_of(source->block, source->at);
			return IFOREST_OK;
		}
		if (source->block)
			status = iforest_cursor_next(cursor);
		if (!status)
			status = iforest_cursor_pass_dead(cursor);
		if (!status)
			status = iforest_cursor_block(cursor, 0, &source->block);
		if (status || !source->block)
			return status;
	}
}

static void sift_source_down(struct merge *merge, uint32_t i)
{
	for (;;) {
		uint32_t least = i;

		for (uint32_t child = 2 * i + 1; child <= 2 * i + 2 && child < merge->n_heap; child++)
			if (iforest_key_compare(&merge->heap[child]->key, &merge->heap[least]->key) < 0)
				least = child;
		if (least == i)
			return;
		struct source *moved = merge->heap[i];

		merge->heap[i] = merge->heap[least];
		merge->heap[least] = moved;
		i = least;
	}
}

static enum iforest_status fill_heap(struct merge *merge)
{
	enum iforest_status status = IFOREST_OK;

	for (uint32_t s = 0; s < merge->n_sources && !status; s++) {
		status = settle(&merge->sources[s], 0);
		if (!status && merge->sources[s].block)
			merge->heap[merge->n_heap++] = &merge->sources[s];
	}
	for (uint32_t i = merge->n_heap / 2; i-- > 0;)
		sift_source_down(merge, i);
	return status;
}

/* Returns the end of the first source's live entries that precede those of all other sources; at least one entry. */
static unsigned end_of_stretch(const struct merge *merge)
{
	const struct source *least = merge->heap[0];
	const struct iforest_block *block = least->block;
	uint64_t dead = block->dead & ~iforest_low_bits(least->at);
	unsigned end = dead ? iforest_trailing_zeros(dead) : block->n, to;
	struct iforest_key limit, last = key_of(block, end - 1);

	if (merge->n_heap == 1)
		return end;
	limit = merge->heap[1]->key;
	if (merge->n_heap > 2 && iforest_key_compare(&merge->heap[2]->key, &limit) < 0)
		limit = merge->heap[2]->key;
	if (iforest_key_compare(&last, &limit) < 0)
		return end;
	for (to = least->at + 1; to < end; to++) {
		struct iforest_key key = key_of(block, to);

		if (iforest_key_compare(&key, &limit) >= 0)
			break;
	}
	return to;
}

static enum iforest_status drain_heap(struct merge *merge, struct iforest_run_writer *writer)
{
	enum iforest_status status = IFOREST_OK;

	while (!status && merge->n_heap > 0) {
		struct source *least = merge->heap[0];
		unsigned to = end_of_stretch(merge);

		status = iforest_run_writer_add_block(writer, least->block, least->at, to);
		if (!status)
			status = settle(least, to);
		if (!status && !least->block)
			merge->heap[0] = merge->heap[--merge->n_heap];
		sift_source_down(merge, 0);
	}
	return status;
}

enum iforest_status iforest_compact_into(struct iforest_store *store, const struct iforest_manifest *manifest,
					 const struct iforest_run *runs, uint32_t n_runs, struct iforest_run_writer *writer)
{
	struct merge merge = { .n_sources = n_runs };
	enum iforest_status status = IFOREST_NO_MEMORY;

	merge.sources = iforest_allocate(store->alloc, n_runs * sizeof *merge.sources);
	merge.heap = iforest_allocate(store->alloc, n_runs * sizeof(struct source *));
	if (merge.sources && merge.heap) {
		for (uint32_t s = 0; s < n_runs; s++) {
			merge.sources[s].block = NULL;
			iforest_cursor_init(&merge.sources[s].cursor, store, manifest, &runs[s]);
		}
		status = fill_heap(&merge);
		if (!status)
			status = drain_heap(&merge, writer);
		for (uint32_t s = 0; s < n_runs; s++)
			iforest_cursor_release(&merge.sources[s].cursor);
	}
	iforest_release(store->alloc, merge.sources);
	iforest_release(store->alloc, merge.heap);
	return status;
}

/* ---- Runs of an index ---- */

/* Copies runs, because those in the manifest may move. */
static enum iforest_status copy_runs(const struct iforest_manifest *manifest, const uint64_t *run_ids, uint32_t n_runs,
				     struct iforest_run *runs)
{
	for (uint32_t i = 0; i < n_runs; i++) {
		uint32_t r = iforest_manifest_find(manifest, run_ids[i]);

		if (r == manifest->n_runs)
			return IFOREST_NOT_FOUND;
		runs[i] = manifest->runs[r];
	}
	return IFOREST_OK;
}

static enum iforest_status build_merged(struct iforest_store *store, const struct iforest_manifest *manifest,
					const struct iforest_run *runs, uint32_t n_runs, struct iforest_run_writer *writer,
					struct iforest_run *merged)
{
	enum iforest_status status = iforest_run_writer_start(writer, store, manifest);

	if (status)
		return status;
	status = iforest_compact_into(store, manifest, runs, n_runs, writer);
	if (status)
		iforest_run_writer_abandon(writer);
	else
		status = iforest_run_writer_finish(writer, merged);
	return status;
}

/* Publishes the new run instead of the old ones, then frees the old pages. */
static enum iforest_status replace(struct iforest_store *store, struct iforest_manifest *manifest, const uint64_t *run_ids,
				   const struct iforest_run *runs, uint32_t n_runs, const struct iforest_run *merged)
{
	const struct iforest_pager *pager = store->pager;
	struct iforest_edit edit = { .removed = run_ids, .n_removed = n_runs, .added = merged->n_leaves > 0 ? merged : NULL };
	enum iforest_status status = iforest_manifest_commit(manifest, store, &edit);

	/* no manifest names the new run then, so a failure to drop it only wastes space */
	if (status && merged->n_leaves > 0)
		(void)pager->drop_run(pager->context, &merged->place, iforest_run_pages(manifest, merged));
	for (uint32_t i = 0; !status && i < n_runs; i++)
		status = pager->drop_run(pager->context, &runs[i].place, iforest_run_pages(manifest, &runs[i]));
	return status;
}

enum iforest_status iforest_compact(struct iforest_store *store, struct iforest_manifest *manifest, const uint64_t *run_ids,
				    uint32_t n_runs, struct iforest_run *merged)
{
	struct iforest_run_writer *writer = iforest_allocate(store->alloc, sizeof *writer);
	struct iforest_run *runs = iforest_allocate(store->alloc, n_runs * sizeof *runs), made;
	enum iforest_status status = IFOREST_NO_MEMORY;

	if (writer && runs)
		status = copy_runs(manifest, run_ids, n_runs, runs);
	if (!status)
		status = build_merged(store, manifest, runs, n_runs, writer, &made);
	if (!status)
		status = replace(store, manifest, run_ids, runs, n_runs, &made);
	if (!status)
		*merged = made;
	iforest_release(store->alloc, runs);
	iforest_release(store->alloc, writer);
	return status;
}

/* ---- The choice and the merge in one ---- */

/* The runs of a manifest that may be merged, as the policy sees them. */
struct candidates {
	struct iforest_merge_candidate *runs; /* the allocation; it also has the other arrays */
	uint64_t *run_ids;
	uint32_t n, *chosen, n_chosen;
};

static void describe(struct candidates *candidates, const struct iforest_manifest *manifest,
		     const struct iforest_compaction *compaction)
{
	for (uint32_t r = 0; r < manifest->n_runs; r++) {
		const struct iforest_run *run = &manifest->runs[r];
		struct iforest_merge_candidate *candidate = &candidates->runs[candidates->n];

		*candidate = (struct iforest_merge_candidate){ .n_pages = iforest_run_pages(manifest, run),
							       .n_rows = iforest_node_rows(run->root),
							       .n_dead = iforest_node_dead(run->root),
							       .low = INT64_MIN,
							       .high = INT64_MAX };
		if (!compaction->may_merge ||
		    compaction->may_merge(compaction->context, run, &candidate->low, &candidate->high))
			candidates->run_ids[candidates->n++] = run->place.run_id;
	}
}

/* Chooses all candidates, unless there is only one, without removed entries. */
static void choose_all(struct candidates *candidates)
{
	bool has_dead = false;

	for (uint32_t i = 0; i < candidates->n; i++) {
		candidates->chosen[i] = i;
		has_dead = has_dead || candidates->runs[i].n_dead > 0;
	}
	candidates->n_chosen = candidates->n > 1 || has_dead ? candidates->n : 0;
}

/* The caller releases candidates->runs. */
static enum iforest_status choose(struct candidates *candidates, const struct iforest_manifest *manifest,
				  const struct iforest_compaction *compaction)
{
	size_t n = manifest->n_runs,
	       item_bytes = sizeof *candidates->runs + sizeof *candidates->run_ids + sizeof *candidates->chosen;

	*candidates = (struct candidates){ .runs = iforest_allocate(manifest->alloc, n * item_bytes) };
	if (!candidates->runs)
		return IFOREST_NO_MEMORY;
	candidates->run_ids = (uint64_t *)(candidates->runs + n);
	candidates->chosen = (uint32_t *)(candidates->run_ids + n);
	describe(candidates, manifest, compaction);
	if (compaction->to_one)
		choose_all(candidates);
	else
		candidates->n_chosen =
			iforest_merge_choose(candidates->runs, candidates->n, &compaction->settings, candidates->chosen);
	return IFOREST_OK;
}

enum iforest_status iforest_compact_peek(const struct iforest_manifest *manifest, const struct iforest_compaction *compaction,
					 uint32_t *n_runs)
{
	struct candidates candidates;
	enum iforest_status status = choose(&candidates, manifest, compaction);

	*n_runs = candidates.n_chosen;
	iforest_release(manifest->alloc, candidates.runs);
	return status;
}

enum iforest_status iforest_compact_next(struct iforest_store *store, struct iforest_manifest *manifest,
					 struct iforest_compaction *compaction, uint32_t *n_runs)
{
	struct candidates candidates;
	struct iforest_run merged;
	enum iforest_status status = choose(&candidates, manifest, compaction);

	*n_runs = candidates.n_chosen;
	for (uint32_t i = 0; i < *n_runs; i++) { /* ascending, so that each is moved before it is overwritten */
		const struct iforest_merge_candidate *run = &candidates.runs[candidates.chosen[i]];

		candidates.run_ids[i] = candidates.run_ids[candidates.chosen[i]];
		if (!compaction->to_one && run->n_rows > 0)
			compaction->settings.most_pages -= run->n_pages;
	}
	if (!status && *n_runs > 0)
		status = iforest_compact(store, manifest, candidates.run_ids, *n_runs, &merged);
	iforest_release(manifest->alloc, candidates.runs);
	return status;
}
