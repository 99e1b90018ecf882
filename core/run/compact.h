/* run/compact.h -- Compaction: the choice of runs to merge, and the merge of runs into one without removed entries.
 *
 * The choice depends only on sizes and ranges. A run's tier is floor(log(n_pages) to base fan_in). The lowest tier that has
 * fan_in runs is merged to a run of the next tier, so that each entry is written about once per tier, and each tier has fewer
 * than fan_in runs: O(fan_in log N) in all. Examples with fan_in 4, no cap, no dead entries; a letter is a run, followed by its
 * pages:
 *
 *   a 1  b 1  c 1                            nothing: three runs of tier 0
 *   a 1  b 1  c 1  d 2                       a b c d, to a run of tier 1
 *   a 20 b 5  c 6  d 4  e 9  f 1             b c d e of tier 1; not a (tier 2); also f if it lies between them, as it is cheap
 *   a 16 b 16 c 16 d 16 e 1 f 1 g 1 h 1      e f g h, to a run of tier 1 that stays; then a b c d of tier 2
 *
 * - Runs above cap_pages that lie apart from the others of their tier are left alone: traces come in time order, and a window
 *   that touches one or two runs gains nothing from merging them. Two runs lie apart if they share less than a quarter of the
 *   narrower one's range.
 *     cap 10:  a 16 [0, 9]  b 16 [10, 19]  c 16 [20, 29]  d 16 [30, 39]     nothing
 *              a 16 [0, 9]  b 16 [0, 9]    c 16 [2, 8]    d 16 [1, 9]       a b c d
 * - A run more than a quarter dead is rewritten: with its tier if the tier is merged, alone if no tier is merged.
 *     a 16, 100 of 300 entries dead    a
 * - An empty run costs nothing: it is added to any merge, or removed alone.
 * - A merge reads at most most_pages. A larger tier is merged in part: at least fan_in neighbours by range. A tier is skipped
 *   if fewer than fan_in of its runs fit, and so is a dead run that does not fit.
 *     most_pages 10:  a 1 b 2 c 2 d 3 e 3 f 1     a b c d      (by their range's start)
 *                     a 4 b 5 c 4 d 4             nothing, until most_pages is 17
 *
 * A constant most_pages would let runs pile up, so iforest_merge_bound() raises it with their number. Then one merge per flush
 * is enough: there are at most IFOREST_RUNS_A_DOUBLING runs for each doubling from few_pages to the index's size or to the cap,
 * plus the runs above the cap that lie apart. Merging everything to one run needs no policy.
 */
#ifndef IFOREST_RUN_COMPACT_H
#define IFOREST_RUN_COMPACT_H

#include <stdint.h>

#include "core/run/writer.h"

/* A run, as the policy sees it. */
struct iforest_merge_candidate {
	uint64_t n_pages;
	uint64_t n_rows, n_dead; /* live entries, removed ones */
	int64_t low, high;	 /* its range, inclusive, in a unit chosen by the engine: heap blocks, times */
};

struct iforest_merge_settings {
	uint32_t fan_in;     /* at least 2; IFOREST_USUAL_FAN_IN */
	uint64_t most_pages; /* pages read by one merge; UINT64_MAX: no bound */
	uint64_t cap_pages;  /* UINT64_MAX: no cap */
};

#define IFOREST_USUAL_FAN_IN 8
#define IFOREST_RUNS_A_DOUBLING 32

/* Writes the indexes of the runs to merge next to `chosen`, ascending. `chosen` has room for n_runs.
 * Returns  their number; 0 if no merge is due, or most_pages allows none.
 * Cost     O(n_runs log n_runs) per tier; and if runs are above the cap, a comparison of each pair of that tier whose ranges
 *          overlap. */
uint32_t iforest_merge_choose(const struct iforest_merge_candidate *runs, uint32_t n_runs,
			      const struct iforest_merge_settings *settings, uint32_t *chosen);

/* Returns most_pages for a merge in the foreground: few_pages, doubled for every IFOREST_RUNS_A_DOUBLING runs; saturates. */
uint64_t iforest_merge_bound(uint64_t few_pages, uint32_t n_runs);

/* ---- The merge ---- */

/* Adds the live entries of one or more runs, in order, to a run writer with the same fields, possibly of another store.
 * Cost    reads each page once, except those without live entries by their nodes; log2(n_runs) comparisons for each sequence of
 *         entries of one run; memory of n_runs cursors, about 20 KB each.
 * Errors  IFOREST_CORRUPT, IFOREST_UNORDERED (two runs have the same key, or the writer has a greater one), IFOREST_NO_MEMORY,
 *         what the pagers returned; then abandon the writer. */
enum iforest_status iforest_compact_into(struct iforest_store *store, const struct iforest_manifest *manifest,
					 const struct iforest_run *runs, uint32_t n_runs, struct iforest_run_writer *writer);

/* Merges the runs with these ids (at least one) into one new run, publishes the manifest with the new run in their place, and
 * frees their pages. *merged is the new run; if no live entry is left there is no new run, and merged->n_leaves is 0. Other
 * writers may publish changes of other runs meanwhile (pager.h); the engine must prevent changes of these runs.
 * Cost    that of iforest_compact_into(), and writing each page of the new run once.
 * Errors  IFOREST_NOT_FOUND: there is no such run. IFOREST_CORRUPT, IFOREST_UNORDERED (two runs have the same key),
 *         IFOREST_NO_MEMORY, what the pager returned. The stored manifest and the one in memory then still name the old runs,
 *         except after an error from freeing pages, which happens after the publish: they then name the new run, and the old
 *         pages leak until they are dropped. */
enum iforest_status iforest_compact(struct iforest_store *store, struct iforest_manifest *manifest, const uint64_t *run_ids,
				    uint32_t n_runs, struct iforest_run *merged);

/* ---- The choice and the merge in one ---- */

/* How an engine compacts an index. */
struct iforest_compaction {
	bool to_one; /* merge all runs to one without removed entries, regardless of the policy */
	struct iforest_merge_settings settings;
	/* Returns false for a run that must not be merged; else gives its range for the policy. NULL: all runs may be merged,
	 * and overlap. */
	bool (*may_merge)(void *context, const struct iforest_run *run, int64_t *low, int64_t *high);
	void *context;
};

/* Performs the next due merge, as iforest_compact() does. *n_runs becomes the number of runs merged; 0: no merge is due.
 * settings.most_pages is reduced by the pages read. To perform all due merges, call it until *n_runs is 0; with to_one, once is
 * enough.
 * Errors  as iforest_compact(). */
enum iforest_status iforest_compact_next(struct iforest_store *store, struct iforest_manifest *manifest,
					 struct iforest_compaction *compaction, uint32_t *n_runs);

/* Gives the number of runs that iforest_compact_next() would merge. Errors: IFOREST_NO_MEMORY. */
enum iforest_status iforest_compact_peek(const struct iforest_manifest *manifest, const struct iforest_compaction *compaction,
					 uint32_t *n_runs);

#endif
