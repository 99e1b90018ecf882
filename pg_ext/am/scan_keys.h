/* am/scan_keys.h -- Conditions of an index scan as a list of series and ranges of time. */
#ifndef IFP_AM_SCAN_KEYS_H
#define IFP_AM_SCAN_KEYS_H

#include "pg_ext/types/values.h"

#include "access/skey.h"

/* Times from low to high, both inside. */
struct ifp_time_range {
	int64 low, high;
};

struct ifp_scan_keys {
	struct ifp_time_range *ranges; /* ascending, without overlap */
	uint32 n_ranges;
	bool must_recheck; /* the ranges hold more than the conditions */
	bool has_nulls;	   /* entries whose time is NULL match, too */
	uint32 *series;	   /* ids, in the order of their by values with NULLs last, or ascending */
	uint32 n_series;
};

/* Evaluates the scan keys, in the current memory context. With `in_order` series are sorted by their values, as an ordered scan
 * needs; else by id, which is faster.
 * Cost      a look-up for each combination of listed values, or else a comparison with every series of the index. */
void ifp_scan_keys_read(Relation index, const struct ifp_definition *definition, uint64 index_id, ScanKey keys, int n_keys,
			bool in_order, struct ifp_scan_keys *result);

/* Evaluates the ranges of time alone, without the series. */
void ifp_scan_times_read(Relation index, const struct ifp_definition *definition, ScanKey keys, int n_keys,
			 struct ifp_scan_keys *result);

/* True if an entry's time lies in the ranges. The series is not checked. */
struct iforest_key;
bool ifp_scan_keys_hold(const struct ifp_scan_keys *keys, const struct iforest_key *key);

/* Writes the numbers of those keys of n_keys whose time lies in the ranges, and whose series is among n_series ascending ids.
 * Returns how many they are. */
uint32 ifp_scan_keys_choose(const struct ifp_scan_keys *keys, const uint32 *series, const struct iforest_key *of, uint32 n_keys,
			    uint16 *chosen);

/* Compares ids of series, for qsort and bsearch. */
int ifp_compare_series(const void *left, const void *right);

/* True if an id is among n ascending ones. */
static inline bool ifp_has_series(const uint32 *ids, uint32 n, uint32 id)
{
	uint32 low = 0;

	while (n > 1) {
		uint32 half = n / 2;

		low = ids[low + half] <= id ? low + half : low;
		n -= half;
	}
	return n == 1 && ids[low] == id;
}

#endif
