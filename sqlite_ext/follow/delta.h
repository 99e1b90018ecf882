/* pending.h -- the rows that are pending, by rowid. Most come in ascending order, as they were inserted: those are kept in an
 * array, and the others by hash. */
#ifndef IFOREST_SQLITE_PENDING_H
#define IFOREST_SQLITE_PENDING_H

#include "sqlite_ext/storage/engine.h"

/* What was read of a pending row: 32 bytes. */
struct iforest_pending_row {
	sqlite3_int64 id;
	int64_t time;
	uint32_t series;
	uint32_t batch;              /* in which it was read last */
	bool is_used;                /* a slot that holds a row */
	bool is_present;             /* the table has the row: under this key it is in a run in memory */
	bool time_is_null;
	bool is_odd;                 /* the log tells of an old key that the runs cannot have */
};

/* Starts as zeros, ends with release. */
struct ifs_pending_rows {
	struct iforest_pending_row *ordered; /* ids ascend */
	size_t n_ordered, n_reserved;
	/* by the hash of id, all below the last of `ordered`; n_slots is a power of two, or 0 */
	struct iforest_pending_row *others;
	size_t n_others, n_slots;
};

/* The row of that id, found or made, with all but id as zeros; NULL without memory. It moves with the next one made.
 * Cost  constant where it is above all others, else log n comparisons. */
struct iforest_pending_row *iforest_pending_take(struct ifs_pending_rows *pending, sqlite3_int64 id, bool *is_new);

bool iforest_pending_holds(const struct ifs_pending_rows *pending, sqlite3_int64 id);

static inline size_t iforest_pending_count(const struct ifs_pending_rows *pending)
{
	return pending->n_ordered + pending->n_others;
}

/* The rows one by one, in no order: *at is 0 for the first. NULL at the end. */
const struct iforest_pending_row *iforest_pending_next(const struct ifs_pending_rows *pending, size_t *at);

void iforest_pending_release(struct ifs_pending_rows *pending);

#endif
