/* follow/delta.h -- Delta: the rows pending since the last flush, read from the base table and kept in a memtable.
 *
 * A row is pending if its rowid is above the last one flushed or, with sync=log, if the log names it (triggers.h). The
 * stored runs hold pending rows only under old keys, which the log contains. So an answer combines
 *
 *   the stored runs without the old keys: `filter` excludes them from leaf pages, and makes a fold descend into each
 *   node that contains one
 *   the pending rows as the table has them now: runs in memory (core/run/memtable.h), written as rows are read
 *
 * New series get the next ids; they are stored only in the dictionary in memory.
 *
 * The delta may be out of date if the log has new entries, or the table has rows above `last_covered`. With sync=log the
 * latter are the few rows of the front (triggers.h). Changes in the front are not logged, so the delta keeps a copy of its
 * rows and compares them.
 */
#ifndef IFS_FOLLOW_DELTA_H
#define IFS_FOLLOW_DELTA_H

#include "core/query/filtered_nodes.h"
#include "core/run/memtable.h"
#include "sqlite_ext/storage/dictionary.h"
#include "sqlite_ext/storage/engine.h"

/* A pending row as last read: 32 bytes. */
struct ifs_pending_row {
	sqlite3_int64 id;
	int64_t time;
	uint32_t series;
	uint32_t batch;	 /* number of the read that saw it last */
	bool is_used;	 /* the slot holds a row */
	bool is_present; /* the table has the row, and a run in memory holds it under this key */
	bool time_is_null;
	bool has_impossible_key; /* its old key in the log is one that the runs cannot contain */
};

/* The set of pending rows. Initialize with zeros; ifs_delta_release() frees it. */
struct ifs_pending_rows {
	struct ifs_pending_row *ordered; /* ids ascend */
	size_t n_ordered, n_reserved;
	/* hash table of ids below the last one of `ordered`; n_slots is a power of two, or 0 */
	struct ifs_pending_row *others;
	size_t n_others, n_slots;
};

bool ifs_pending_rows_contain(const struct ifs_pending_rows *pending, sqlite3_int64 id);

static inline size_t ifs_pending_rows_count(const struct ifs_pending_rows *pending)
{
	return pending->n_ordered + pending->n_others;
}

/* Iterates over the rows in no particular order; NULL at the end. Set *at to 0 before the first call. */
const struct ifs_pending_row *ifs_pending_rows_next(const struct ifs_pending_rows *pending, size_t *at);

/* ---- Delta ---- */

struct ifs_index;

struct ifs_entry_list {
	struct iforest_entry *entries;
	size_t n, n_reserved;
};

struct ifs_delta {
	struct iforest_memtable memtable; /* pending rows as the table has them; its batch is empty between reads */
	struct ifs_pending_rows pending;
	struct iforest_key *removed; /* old keys that the stored runs still contain, ascending */
	size_t n_removed, n_reserved;
	size_t n_impossible_keys;		      /* rows with has_impossible_key */
	struct iforest_filter filter;		      /* see ifs_delta_filter() */
	struct iforest_filtered_nodes filtered_nodes; /* nodes of the stored runs, computed without those keys */
	sqlite3_int64 last_flushed;		      /* the stored runs contain no greater rowid */
	sqlite3_int64 last_seq;			      /* of the log, as last read */
	sqlite3_int64 last_covered;  /* the log covers changes of rowids up to this one; sync=append: the last one read */
	sqlite3_int64 last_rowid;    /* of the table, as last read; INT64_MIN if it was empty */
	struct ifs_entry_list front; /* the rows above `last_covered`, by rowid, as last read */
	uint32_t n_batches;
};

/* Initializes an empty delta over the runs of a store, which contain no rowid above `last_flushed`. The struct must not move.
 * Release it also after an error. */
enum iforest_status ifs_delta_init(struct ifs_delta *delta, const struct iforest_store *store,
				   const struct iforest_node_schema *fields, sqlite3_int64 last_flushed);
void ifs_delta_release(struct ifs_delta *delta);

/* Sets *is_current to whether the delta is up to date. If it is not, *is_part tells whether ifs_delta_read() can extend it; if
 * not, start again with an empty delta.
 * Cost  O(1), plus reading the rows of the front */
int ifs_delta_is_current(struct ifs_index *index, struct ifs_delta *delta, struct ifs_dictionary *dictionary, bool *is_current,
			 bool *is_part, struct ifs_error *error);

/* Returns the filter that excludes old keys from the stored runs; NULL if there are none. */
static inline const struct iforest_filter *ifs_delta_filter(const struct ifs_delta *delta)
{
	return delta->n_removed > 0 ? &delta->filter : NULL;
}

/* Registers iforest_pending(), the SQL function that passes the rows of an index's statements to the delta. */
int ifs_delta_register(sqlite3 *db);

/* Adds the pending rows that the delta lacks, and their series to the dictionary.
 * Requires  nobody else reads delta or dictionary
 * Cost      reading the rows, and log n comparisons per row
 * Errors    leave delta and dictionary unusable */
int ifs_delta_read(struct ifs_index *index, struct ifs_delta *delta, struct ifs_dictionary *dictionary,
		   struct ifs_error *error);

/* Returns an error if the log contains old keys that the index cannot contain. Then the log is damaged, unless a user's trigger
 * is running that changed a row before ours logged its insertion. */
int ifs_delta_check_log(const struct ifs_index *index, const struct ifs_delta *delta, struct ifs_error *error);

#endif
