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
	struct ifp_time_range *ranges; /* ascending, apart from one another */
	uint32 n_ranges;
	bool must_recheck; /* the ranges hold more than is asked for */
	bool has_nulls;	   /* entries whose time is NULL are asked for, too */
	uint32 *series;	   /* in the order of their by values, NULLs last, or of their ids */
	uint32 n_series;
};

/* Evaluates the scan keys. With `in_order` series are sorted by their values, as an ordered scan needs it; by id they are
 * found faster. Everything is in the current memory context. */
void ifp_scan_keys_read(Relation index, const struct ifp_definition *definition, uint64 index_id, ScanKey keys, int n_keys,
			bool in_order, struct ifp_scan_keys *result);

/* The ranges of time alone; series are left out. */
void ifp_scan_times_read(Relation index, const struct ifp_definition *definition, ScanKey keys, int n_keys,
			 struct ifp_scan_keys *result);

/* Does an entry's time lie in the ranges? */
struct iforest_key;
bool ifp_scan_keys_hold(const struct ifp_scan_keys *keys, const struct iforest_key *key);

/* Ids of series, for qsort. */
int ifp_compare_series(const void *left, const void *right);

#endif
