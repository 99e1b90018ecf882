/* stats.h -- what an index is made of, in numbers. */
#ifndef IFOREST_SQLITE_STATS_H
#define IFOREST_SQLITE_STATS_H

#include "sqlite_ext/follow/snapshot.h"

struct ifs_index_stats {
	uint64_t n_rows;          /* live, those pending included */
	uint64_t n_removed;       /* entries of the runs that were removed, and take room until a merge */
	uint64_t n_stored;        /* live entries of the runs */
	uint64_t n_runs, n_pending, n_series, n_pages;
	uint64_t n_bytes;         /* of pages, manifest and series; 0 unless asked for */
	unsigned n_levels;        /* of node pages, of the highest run */
	bool has_flush_time;
	int64_t flush_time;       /* Unix time of the last build, or flush that found something */
};

/* Reads the state of the index as a question would.
 * Cost  of opening the index (its series, and what is pending), and two pages a level and run for each old key that is pending;
 *       with_bytes looks at every page's length besides. */
int iforest_stats_read(struct iforest_index *index, bool with_bytes, struct ifs_index_stats *stats, struct iforest_error *error);

#endif
