/* follow/delta.h -- Delta: the rows pending since the last flush, read from the base table and kept in memory as runs.
 *
 * A row is pending if its rowid is above the last one flushed or, with sync=log, if the log names it (triggers.h). The
 * stored runs hold none of the pending rows except under old keys, which the log gives. So an answer is made of
 *
 *   the stored runs without the old keys: `filter` excludes them from leaf pages, and makes a fold descend below each node that
 *   holds one
 *   the pending rows as the table has them now, in runs of their own in memory (`store`, `manifest`), sorted as they came
 *   and merged
 *   by doubling, so that few runs hold all rows, with nodes over each
 *
 * Series that the index does not have yet get the next ids, in the dictionary alone.
 *
 * Rows are new since the delta was read if they are new in the log or have a rowid above `followed`. With sync=log the
 * latter are the few rows of the front (triggers.h), which may have been replaced or joined by others: so a copy of them is
 * kept and compared.
 */
#ifndef IFS_FOLLOW_DELTA_H
#define IFS_FOLLOW_DELTA_H

#include "core/page/leaf_fold.h"
#include "core/query/filtered_nodes.h"
#include "core/run/manifest.h"
#include "core/run/pager_memory.h"
#include "sqlite_ext/storage/dictionary.h"
#include "sqlite_ext/storage/engine.h"

/* What was read of a pending row: 32 bytes. */
struct ifs_pending_row {
	sqlite3_int64 id;
	int64_t time;
	uint32_t series;
	uint32_t batch;	 /* in which it was read last */
	bool is_used;	 /* a slot that holds a row */
	bool is_present; /* the table has the row: under this key it is in a run in memory */
	bool time_is_null;
	bool has_impossible_key; /* the log tells of an old key that the runs cannot have */
};

/* Starts as zeros, ends with release. */
struct ifs_pending_rows {
	struct ifs_pending_row *ordered; /* ids ascend */
	size_t n_ordered, n_reserved;
	/* by the hash of id, all below the last of `ordered`; n_slots is a power of two, or 0 */
	struct ifs_pending_row *others;
	size_t n_others, n_slots;
};

bool ifs_pending_rows_contain(const struct ifs_pending_rows *pending, sqlite3_int64 id);

static inline size_t ifs_pending_rows_count(const struct ifs_pending_rows *pending)
{
	return pending->n_ordered + pending->n_others;
}

/* The rows one by one, in no order: *at is 0 for the first. NULL at the end. */
const struct ifs_pending_row *ifs_pending_rows_next(const struct ifs_pending_rows *pending, size_t *at);

/* ---- The delta, and the reading of new pending rows ---- */

struct ifs_index;

struct ifs_entry_list {
	struct iforest_entry *entries;
	size_t n, n_reserved;
};

struct ifs_delta {
	struct iforest_pager_memory memory;
	struct iforest_store store;
	struct iforest_manifest manifest;
	struct ifs_pending_rows pending;
	struct iforest_key *removed; /* keys that the runs still have, ascending */
	size_t n_removed, n_reserved;
	size_t n_impossible_keys;		      /* rows of which the log tells a key that the runs cannot have */
	struct iforest_filter filter;		      /* to be used where n_removed is not 0 */
	struct iforest_filtered_nodes filtered_nodes; /* of the runs without those keys */
	sqlite3_int64 last_flushed;		      /* no rowid above it is in the runs */
	sqlite3_int64 last_seq;			      /* of the log, as last read */
	sqlite3_int64 last_covered;  /* the log tells what is done to rows up to this one; sync=append: the last read */
	sqlite3_int64 last_rowid;    /* of the table, as last read; INT64_MIN if it had none */
	struct ifs_entry_list front; /* the rows above `followed`, by rowid, as last read */
	uint32_t n_batches;
};

/* An empty delta over runs with these fields, in which `sealed` is the greatest rowid there may be. It must stay in place. Ends
 * with release, also on error. */
enum iforest_status ifs_delta_init(struct ifs_delta *delta, const struct iforest_node_schema *fields,
				   sqlite3_int64 last_flushed);
void ifs_delta_release(struct ifs_delta *delta);

/* Is the delta up to date (*is_current)? If not, can it be extended (*is_part), or must it be read again from the start?
 * Cost  constant, and reading the rows of the front. */
int ifs_delta_is_current(struct ifs_index *index, struct ifs_delta *delta, struct ifs_dictionary *dictionary, bool *is_current,
			 bool *is_part, struct ifs_error *error);

/* Registers iforest_pending(), by which statements of an index hand over rows. */
int ifs_delta_register(sqlite3 *db);

/* Extends the delta by the pending rows that it lacks, and the dictionary by their series. Requires that nobody else reads
 * either. On
 * error both are useless.
 * Cost  log n comparisons for each row, besides reading it. */
int ifs_delta_read(struct ifs_index *index, struct ifs_delta *delta, struct ifs_dictionary *dictionary,
		   struct ifs_error *error);

/* An error where the log tells of rows that the index cannot have: it is damaged, unless a trigger of the user is at work that
 * has changed a row before ours told that it was not there. */
int ifs_delta_check_log(const struct ifs_index *index, const struct ifs_delta *delta, struct ifs_error *error);

/* Makes one run in memory of all, or none: no entry of it is removed, and its id is as good as any in the file. */
enum iforest_status ifs_delta_merge(struct ifs_delta *delta);

#endif
