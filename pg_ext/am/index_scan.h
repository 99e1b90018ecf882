/* am/index_scan.h -- Index scans: entries of chosen series and times in key order, or best value first.
 *
 * An index scan goes through the series it is asked for, in the order of their by values, through the ranges of time of
 * each, and through the entries of a range in all runs and what is pending, merged by key. It knows the last key it gave, so
 * that it can turn round, go back to a mark, or begin again where runs have been merged away under it, by opening the range
 * anew at that key.
 */
#ifndef IFP_AM_INDEX_SCAN_H
#define IFP_AM_INDEX_SCAN_H

#include "pg_ext/storage/index.h"

#include "access/relscan.h"
#include "access/tableam.h"
#include "lib/binaryheap.h"

#include "core/page/leaf_fold.h"
#include "core/query/top_k.h"
#include "core/run/cursor.h"
#include "pg_ext/storage/pending.h"
#include "pg_ext/am/scan_keys.h"

/* Beyond these nothing need be looked at; all conditions are checked again. The value at least or at most; or the start or end
 * of the span after this time, or from it on. A datum of the column's type. */
enum ifp_scan_bound_type { IFP_BOUND_LOW, IFP_BOUND_HIGH, IFP_BOUND_REACHES_BEYOND, IFP_BOUND_REACHES };

struct ifp_scan_bound {
	enum ifp_scan_bound_type type;
	Datum datum;
};

struct ifp_scan_order {
	bool is_set;
	bool by_value; /* else by time */
	uint8 value;   /* by which value of the index */
	bool descends, nulls_first;
	bool has_nulls, has_values; /* are entries wanted whose value is NULL, and others? By time all are others */
	struct ifp_scan_bound *bounds;
	int n_bounds;
};

#define IFP_MOST_RESTARTS 100

/* One run, or what is pending, within the range that is open. */
struct ifp_scan_source {
	struct iforest_cursor *cursor; /* NULL: pending */
	const struct iforest_block *block;
	int32 at; /* entry of the block, or of the pending ones */
	struct iforest_key key;
};

/* A place between entries: everything up to the last key given, in the direction of the scan, is done. */
struct ifp_scan_position {
	bool is_started;      /* false: before the first entry (after the last one, backward) */
	uint32 series, range; /* numbers in the lists of scan_keys; range n_ranges: the NULL times */
	bool has_key;
	struct iforest_key key; /* last one given */
};

/* Of a scan in the order of a value: two streams that are merged, the entries in runs and the pending ones. */
struct ifp_value_order_scan {
	bool is_open, best_is_open;
	struct iforest_top_k best;
	/* the part of the entries it stands in: those whose value is NULL, or the others */
	bool best_is_of_nulls, best_is_done;
	bool has_ahead;
	struct iforest_entry ahead;	    /* its next entry */
	struct ifp_pending_entries pending; /* in the order of the scan */
	uint32 at;			    /* the next of them */
	bool has_last;
	struct iforest_entry last; /* given last: what a scan that begins again goes on after */
};

struct ifp_index_scan {
	MemoryContext context, key_context, run_context; /* whole scan; until the next rescan; until the index is read again */
	struct ifp_definition definition;
	struct ifp_index *index; /* as of the beginning of the scan: what came later is invisible to its snapshot */
	struct ifp_scan_keys keys;
	struct iforest_key *matching; /* pending ones of the series and ranges asked for, sorted */
	uint32 n_matching, n_matching_reserved;
	bool has_keys; /* keys and matching are filled in */
	struct ifp_scan_position place, mark;
	bool is_open; /* a range is open, in this direction: */
	bool backward;
	struct iforest_key lower, upper; /* of it, upper excluded */
	struct ifp_scan_source *sources; /* one a run, the last one what is pending */
	IndexFetchTableData *fetch;	 /* of an index-only scan, and where it puts rows */
	TupleTableSlot *row;
	struct ifp_scan_order order;	 /* is_set: the entries come in the order of a value, */
	struct ifp_value_order_scan top; /* and not by the fields from `place` to `heap` */
	binaryheap *heap;		 /* of those that have an entry in the range, the next entry's first */
};

/* am/index_scan.c: what the index held when the scan began. */

/* am/index_scan.c: the entries in the order of a value. */

/* am/index_scan.c: the entries of one range of one series, merged by key. */

IndexScanDesc ifp_begin_scan(Relation index, int n_keys, int n_order_bys);

void ifp_rescan(IndexScanDesc scan, ScanKey keys, int n_keys, ScanKey order_bys, int n_order_bys);

bool ifp_get_tuple(IndexScanDesc scan, ScanDirection direction);

int64 ifp_get_bitmap(IndexScanDesc scan, TIDBitmap *bitmap);

void ifp_end_scan(IndexScanDesc scan);

void ifp_mark_position(IndexScanDesc scan);

void ifp_restore_position(IndexScanDesc scan);

#endif
