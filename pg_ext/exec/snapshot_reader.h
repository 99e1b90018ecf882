/* exec/snapshot_reader.h -- Consistent read of an index under a snapshot, with restarts when a removal interferes.
 *
 *   ifp_snapshot_retry(attempt, context)             calls attempt() until it returns true:
 *     ifp_snapshot_reader_open(&reader, index)       copies metapage and manifest
 *     reader.keys = ...                              the caller selects series and times
 *     ifp_snapshot_reader_read(&reader, ...)         copies pending entries; only then determines visibility
 *     ... joins reader.pending to reader.scan, and folds it with reader.filter ...
 *     ifp_snapshot_reader_finish(&reader, status)    true if the removal epoch is unchanged and no page was reused
 *
 * A whole node is used only if all its heap blocks are clean (storage/heap_visibility.h).
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
	struct ifp_value_filter *values; /* set by the caller after opening; NULL: no condition on values */
	struct ifp_heap_visibility visibility;
	uint64 n_far_rows;		 /* that were asked for in wide ranges of heap blocks */
	bool has_pending;		 /* the index has pending entries; otherwise `pending` is not set */
	struct iforest_memtable pending; /* visible pending entries of the selected series, times and values: a batch */
	uint64 n_pending;		 /* pending entries read */
	struct iforest_scan scan;
	struct iforest_filter filter; /* passes visible entries that meet the conditions on values */
	const uint32 *sorted_series;  /* ids of keys.series, ascending */
	uint8 *series_keys;	      /* their keys, concatenated in the order of keys.series */
	Size *series_ends;	      /* the end offset of each key */
};

/* Calls attempt() until it returns true; *n_restarts is the number of calls minus one. From the third call on, except on a
 * standby, `locked` is true: the attempt must then hold the maintenance lock of each index it reads, so that nothing is removed
 * meanwhile. Raises an error after 1000 calls. */
void ifp_snapshot_retry(bool (*attempt)(void *context, bool locked), void *context, uint64 *n_restarts);

/* Copies metapage and manifest. Each call on a reader allocates in the current memory context. The index, the scan and its pages
 * may be in memory that the session keeps; it is taken back when the current context of this call is reset or deleted. */
void ifp_snapshot_reader_open(struct ifp_snapshot_reader *reader, Relation index);

/* Copies the pending entries, then prepares visibility, filter and scan. Returns false if the index changed meanwhile and the
 * attempt must restart. */
bool ifp_snapshot_reader_read(struct ifp_snapshot_reader *reader, Relation heap, Snapshot snapshot);

/* Reads the by values of series number i of keys.series, in the current memory context. */
void ifp_snapshot_reader_by(const struct ifp_snapshot_reader *reader, uint32 i, Datum *values, bool *are_null);

/* Returns the number of series of the whole index, as of now.
 * Cost  a look at the last page of the dictionary; reading what was appended since this backend last did. */
uint32 ifp_snapshot_reader_n_series(const struct ifp_snapshot_reader *reader);

/* Returns true if everything read is consistent, false if the attempt must restart. Raises the error of `status`, unless pages
 * were reused meanwhile. */
bool ifp_snapshot_reader_finish(struct ifp_snapshot_reader *reader, enum iforest_status status);

#endif
