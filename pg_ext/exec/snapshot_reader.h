/* exec/snapshot_reader.h -- Consistent read of an index under a snapshot, with restarts when a removal interferes.
 *
 *   ifp_snapshot_retry(attempt, context)          calls, until it is true:
 *     ifp_snapshot_reader_open(&reader, index)        copies metapage and manifest
 *     reader.keys = ...                          which series
 *     ifp_snapshot_reader_read(&reader, ...)          pending entries; then, and not before, what is visible; the scan
 *     ... folds reader.scan with reader.filter, and reader.pending ...
 *     ifp_snapshot_reader_finish(&reader, status)     the removal epoch is what it was, and no page was given to somebody else?
 *
 * Nodes are used whole only where their heap blocks are clean (storage/heap_visibility.h).
 */
#ifndef IFP_EXEC_SNAPSHOT_READER_H
#define IFP_EXEC_SNAPSHOT_READER_H

#include "pg_ext/storage/index.h"
#include "pg_ext/storage/pending.h"
#include "pg_ext/am/scan_keys.h"
#include "pg_ext/exec/value_filter.h"
#include "pg_ext/storage/heap_visibility.h"

#include "core/query/scan.h"

struct ifp_snapshot_reader {
	struct ifp_index index;
	struct ifp_definition definition;
	struct ifp_scan_keys keys;	 /* set by the caller after opening */
	struct ifp_value_filter *values; /* the same; NULL: no condition on values */
	struct ifp_heap_visibility visibility;
	struct ifp_pending_entries pending; /* visible ones of those series and values */
	struct iforest_scan scan;
	struct iforest_filter filter; /* of the entries that are visible, and within the values */
	const uint32 *sorted_series;  /* ids of keys.series, ascending */
	uint8 *series_keys;	      /* their keys, in the order of keys.series, one after the other */
	Size *series_ends;	      /* where each ends */
};

/* Calls it until it returns true; *n_restarts is the number of calls less one. From the third on `locked` is true: then it is
 * to hold the maintenance lock of the indexes that it reads, so that nothing is removed meanwhile; but a standby cannot. Raises
 * an error after 1000. */
void ifp_snapshot_retry(bool (*attempt)(void *context, bool locked), void *context, uint64 *n_restarts);

/* All of a reader lives in the memory context that is current. */
void ifp_snapshot_reader_open(struct ifp_snapshot_reader *reader, Relation index);

/* False: it changed meanwhile, and all has to begin again; as with ifp_snapshot_reader_finish(). */
bool ifp_snapshot_reader_read(struct ifp_snapshot_reader *reader, Relation heap, Snapshot snapshot);

/* The by values of series number i of keys.series, in the current memory context. */
void ifp_snapshot_reader_by(const struct ifp_snapshot_reader *reader, uint32 i, Datum *values, bool *are_null);

/* Raises the error of a status, unless that is because pages were given to somebody else. */
bool ifp_snapshot_reader_finish(struct ifp_snapshot_reader *reader, enum iforest_status status);

#endif
