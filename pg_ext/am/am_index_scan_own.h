/* am_index_scan_own.h -- Not for others. */
#ifndef IFOREST_PG_AM_INDEX_SCAN_OWN_H
#define IFOREST_PG_AM_INDEX_SCAN_OWN_H

#include "pg_ext/base/engine.h"
#include "pg_ext/am/index_scan.h"

/* Reads the scan keys, and the index before them if that was not done yet. */
void iforest_scan_begin(IndexScanDesc scan_desc, bool in_order);

/* Where a run was merged away under the scan, reads the index again: its entries are in another run by now, or were of dead
 * rows. False: it was not, the page is wrong. */
bool iforest_scan_begin_again(struct iforest_index_scan *scan);

/* The same without what is pending, which the caller reads. */
void iforest_scan_begin_keys(IndexScanDesc scan_desc, bool in_order);

/* Reads the index, and with it the list of runs, again. */
void iforest_scan_read_index(struct iforest_index_scan *scan);

/* The next one; false after the last. */
bool iforest_top_next(IndexScanDesc scan_desc, struct iforest_key *key);

/* Back to the beginning, with other keys. */
void iforest_top_rescan(struct iforest_index_scan *scan);

/* Opens the range at the place, less what has been given of it. Errors: those of core. */
enum iforest_status iforest_scan_open_range(struct iforest_index_scan *scan);

/* The next entry of the open range, whose key becomes that of the place. */
enum iforest_status iforest_scan_next_in_range(struct iforest_index_scan *scan, bool *found);

/* For the heap: the next source in the scan's direction comes first. */
int iforest_scan_compare_sources(Datum left, Datum right, void *scan);

#endif
