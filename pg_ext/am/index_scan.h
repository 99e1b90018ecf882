/* am/index_scan.h -- Index scans: entries of selected series and times in key order, or best value first.
 *
 * A scan in key order visits the selected series in the order of their by values, the ranges of time of each series, and the
 * entries of each range: those of all runs from core's iterator (core/query/iterator.h), merged by key with the pending ones.
 * It remembers the last key that it returned. To change direction, to go back to a mark, or to restart after runs were merged
 * away, it reopens the range at that key.
 *
 * A scan in the order of a value (exec/topk_scan.h) is core's best-first search (core/query/top_k.h) over the runs and the
 * pending entries, which become a run in memory; over all series at once, or one search for each of them. It restarts the same
 * way.
 *
 * Metapage, manifest and pending entries are read once, at the start. Later entries are invisible to the scan's snapshot.
 */
#ifndef IFP_AM_INDEX_SCAN_H
#define IFP_AM_INDEX_SCAN_H

#include "pg_ext/base/engine.h"

#include "access/genam.h"
#include "nodes/tidbitmap.h"

#include "core/model/aggregate.h"
#include "core/model/key.h"

/* ---- the access method's functions: ambeginscan and so on ---- */

IndexScanDesc ifp_begin_scan(Relation index, int n_keys, int n_order_bys);
void ifp_rescan(IndexScanDesc scan, ScanKey keys, int n_keys, ScanKey order_bys, int n_order_bys);
bool ifp_get_tuple(IndexScanDesc scan, ScanDirection direction);
int64 ifp_get_bitmap(IndexScanDesc scan, TIDBitmap *bitmap);
void ifp_end_scan(IndexScanDesc scan);
void ifp_mark_position(IndexScanDesc scan);
void ifp_restore_position(IndexScanDesc scan);

/* ---- the order of a value ---- */

/* A bound that prunes entries; all conditions are rechecked. `datum` has the column's type. */
enum ifp_scan_bound_type {
	IFP_BOUND_LOW,		  /* the value is at least this */
	IFP_BOUND_HIGH,		  /* the value is at most this */
	IFP_BOUND_REACHES_BEYOND, /* the span starts or ends after this time */
	IFP_BOUND_REACHES	  /* the span starts or ends at or after this time */
};

struct ifp_scan_bound {
	enum ifp_scan_bound_type type;
	Datum datum;
};

struct ifp_scan_order {
	bool is_set;
	bool by_value; /* else by time */
	uint8 value;   /* the value column of the order */
	bool descends, nulls_first;
	bool has_nulls, has_values; /* entries with NULL, without NULL are wanted; by time all entries are the latter */
	bool by_series;		    /* one series after the other, by value; else all at once */
	struct ifp_scan_bound *bounds;
	int n_bounds;
};

/* Sets the order and the bounds of a scan. Both must outlive it. Call it before the first entry or before ifp_rescan(). */
void ifp_index_scan_set_order(IndexScanDesc scan, const struct ifp_scan_order *order);

/* ---- the first entries of each series ---- */

/* Place of an entry in the order of its series: its time, or its value. */
struct ifp_scan_place {
	uint64 series;
	enum iforest_value_type type;
	bool is_null;
	union iforest_number number; /* 0 if it is NULL */
};

/* Returns the place of the last entry returned. Requires  a scan in key order, or one series after the other. */
struct ifp_scan_place ifp_index_scan_place(IndexScanDesc scan);

/* Skips to the next series. Requires  an entry was returned by a scan in key order, or one series after the other. */
void ifp_index_scan_leave_series(IndexScanDesc scan);

#endif
