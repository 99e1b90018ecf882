/* query/series_sweep.h -- Sweep over the chosen series of a query, each of which is one bucket: pages are read once, in order.
 *
 * A scan descends to each series, which is most of the work if many have few rows in the window, or none. A sweep
 * (core/query/sweep.h) does not descend, but meets the series in the order of their ids. Queries return series in the order of
 * their values. Both orders are the same for the series of a build, which numbers them so. Series that came later may be out of
 * order:
 *
 *   members, by value   a   b   n   c   d   m   e      built with a, b, c, d, e; then n and m came
 *   their ids           0   1   5   2   3   6   4
 *   swept over          x   x       x   x       x      `end` is 5: all ids below it ascend
 */
#ifndef IFS_QUERY_SERIES_SWEEP_H
#define IFS_QUERY_SERIES_SWEEP_H

#include "core/query/sweep.h"
#include "sqlite_ext/follow/snapshot.h"
#include "sqlite_ext/storage/dictionary.h"

struct ifs_series_sweep {
	struct ifs_index *index;
	struct iforest_scan scan; /* its cursors belong to the sweep */
	struct iforest_sweep sweep;
	struct iforest_filter filter; /* the delta's, without filtered nodes */
	bool has_scan, has_sweep;
	uint32_t end; /* series with ids below it are swept over; 0: none */
	uint64_t at;  /* the series reached, which has rows in the window, excluded ones included; UINT64_MAX: after the last */
	unsigned n_passed;
};

/* Opens a sweep with the bucketing and the request of a scan, if it can answer the members and is worth it; otherwise it has
 * none of them. It also reads pages of series that lie between the members. index and snapshot must outlive it, and the
 * snapshot must not change. Release it also after an error.
 * Errors  IFOREST_NO_MEMORY; as iforest_cursor_seek() */
enum iforest_status ifs_series_sweep_open(struct ifs_series_sweep *sweep, struct ifs_index *index,
					  struct ifs_snapshot *snapshot, const struct iforest_scan *scan,
					  const struct ifs_series *const *members, uint32_t n_members);
void ifs_series_sweep_release(struct ifs_series_sweep *sweep);

/* True if the series is swept over. */
static inline bool ifs_series_sweep_has(const struct ifs_series_sweep *sweep, uint32_t series)
{
	return series < sweep->end;
}

/* Returns the aggregate of a series; *found is false if no row of it counts.
 * Requires  ifs_series_sweep_has(); ascending series, each once */
enum iforest_status ifs_series_sweep_answer(struct ifs_series_sweep *sweep, uint32_t series,
					    struct iforest_aggregate *aggregate, bool *found);

#endif
