/* tail.h -- what is pending, in memory: rows that changed since the last seal, as the table has them now.
 *
 * A row is pending if its rowid is above the last one sealed, or, with sync=log, if the log names it (watch.h). The runs hold
 * none of the pending rows, but for old keys that the log tells. So an answer is made of
 *
 *   the runs, without the old keys: `filter` takes them out of their leaves, and sends a fold below every node that holds one
 *   the pending rows as the table has them, in runs of their own in memory (`store`, `manifest`), sorted as they came and
 *   merged by doubling, so that a few of them hold all and nodes stand over each
 *
 * Series that the index does not have yet are given the next ids, in the snapshot's dictionary alone.
 *
 * What is new since the tail was read is new in the log, or has a rowid above `followed`. With sync=log these are the rows of
 * the front (watch.h), a few, that may have been replaced and that may have got others between them: so they are kept beside
 * it as they were, and compared.
 */
#ifndef IFOREST_SQLITE_TAIL_H
#define IFOREST_SQLITE_TAIL_H

#include "core/page/leaf_fold.h"
#include "core/run/manifest.h"
#include "core/run/pager_memory.h"
#include "core/query/filtered_nodes.h"
#include "sqlite_ext/storage/dictionary.h"
#include "sqlite_ext/follow/delta.h"

struct iforest_index;

struct iforest_entry_list {
	struct iforest_entry *entries;
	size_t n, n_reserved;
};

struct iforest_tail {
	struct iforest_pager_memory memory;
	struct iforest_store store;
	struct iforest_manifest manifest;
	struct ifs_pending_rows pending;
	struct iforest_key *removed;      /* keys that the runs still have, ascending */
	size_t n_removed, n_reserved;
	size_t n_odd;                     /* rows of which the log tells a key that the runs cannot have */
	struct iforest_filter filter;     /* to be used where n_removed is not 0 */
	struct iforest_remainders remainders; /* of the runs without those keys */
	sqlite3_int64 sealed;             /* no rowid above it is in the runs */
	sqlite3_int64 last_seq;           /* of the log, as last read */
	sqlite3_int64 followed;           /* the log tells what is done to rows up to this one; sync=append: the last read */
	sqlite3_int64 last_rowid;         /* of the table, as last read; INT64_MIN if it had none */
	struct iforest_entry_list front;     /* the rows above `followed`, by rowid, as last read */
	uint32_t n_batches;
};

/* An empty tail over runs with these fields, in which `sealed` is the greatest rowid there may be. It must stay in place. Ends
 * with release, also on error. */
enum iforest_status iforest_tail_init(struct iforest_tail *tail, const struct iforest_fields *fields, sqlite3_int64 sealed);
void iforest_tail_release(struct iforest_tail *tail);

/* Is the delta up to date (*is_current)? If not, can it be extended (*is_part), or must it be read again from the start?
 * Cost  constant, and reading the rows of the front. */
int iforest_tail_look(struct iforest_index *index, struct iforest_tail *tail, struct iforest_dictionary *dictionary,
		      bool *is_current, bool *is_part, struct iforest_error *error);

/* Registers iforest_pending(), by which statements of an index hand over rows. */
int iforest_tail_register(sqlite3 *db);

/* Extends the delta by the pending rows that it lacks, and the dictionary by their series. Requires that nobody else reads either. On
 * error both are useless.
 * Cost  log n comparisons for each row, besides reading it. */
int iforest_tail_read(struct iforest_index *index, struct iforest_tail *tail, struct iforest_dictionary *dictionary,
		      struct iforest_error *error);

/* An error where the log tells of rows that the index cannot have: it is damaged, unless a trigger of the user is at work that
 * has changed a row before ours told that it was not there. */
int iforest_tail_check(const struct iforest_index *index, const struct iforest_tail *tail, struct iforest_error *error);

/* Makes one run in memory of all, or none: no entry of it is removed, and its id is as good as any in the file. */
enum iforest_status iforest_tail_unite(struct iforest_tail *tail);

#endif
