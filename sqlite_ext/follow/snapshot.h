/* follow/snapshot.h -- Snapshot of an index: manifest, series and delta as last read; validity across savepoints.
 *
 * A cached delta is correct until a row of the log that it was read from is rolled back. Committed rows cannot be, and the
 * uncommitted rows of other connections are not visible. That leaves the uncommitted rows of this connection: ROLLBACK,
 * ROLLBACK TO and failing statements undo them, and later changes reuse their log numbers. SQLite reports these events only to
 * virtual tables that take part in the transaction, that is, to those written to. So before such rows are cached, a DELETE
 * that matches no row of the index makes its table take part. If that is not allowed, as with PRAGMA query_only, the next
 * query reads the rows again.
 *
 * An event reported to one table applies to all handles of the connection. Depth is the nesting at which something was
 * read: 0 for committed data, else 1, plus 1 for each open savepoint, including those that SQLite makes for a statement.
 */
#ifndef IFS_FOLLOW_SNAPSHOT_H
#define IFS_FOLLOW_SNAPSHOT_H

#include "core/run/manifest.h"
#include "sqlite_ext/follow/delta.h"
#include "sqlite_ext/storage/shadow_tables.h"

/* State shared by the handles of a connection. */
struct ifs_connection {
	unsigned n_refs;	   /* modules and handles */
	uint64_t n_changes;	   /* commands and rollbacks so far, each of which may change an index */
	struct ifs_index *indexes; /* all handles */
	unsigned n_joined;	   /* tables that take part in the transaction */
	int n_savepoints;	   /* open savepoints, as reported to those tables */
};

/* A state of the index, shared by the cursors that read it. */
struct ifs_snapshot {
	unsigned n_refs;
	struct iforest_manifest manifest;
	struct ifs_times times;
	struct ifs_dictionary dictionary; /* series of the index, and those that only pending rows have */
	struct ifs_delta delta;
	int depth;	   /* of the last read */
	bool is_transient; /* a rollback of its rows might not be reported: read them again next time */
};

void ifs_connection_release(struct ifs_connection *connection);

/* Initializes a handle with its names, and adds it to the connection. The struct must not move. Release it also after an
 * error. */
int ifs_index_init(struct ifs_index *index, sqlite3 *db, struct ifs_connection *connection, const char *schema,
		   const char *name, struct ifs_error *error);

void ifs_index_release(struct ifs_index *index);

/* Sets the handle's definition, with all by columns. Call once, before the first snapshot. */
int ifs_index_describe(struct ifs_index *index, const struct ifs_definition *definition, struct ifs_error *error);

/* Finds the present base table. With sync=log its triggers must have the text that this version would write. */
int ifs_index_find_base_table(struct ifs_index *index, struct ifs_error *error);

/* Opens the current state, with all pending rows. Release it with ifs_snapshot_release(). */
int ifs_snapshot_open(struct ifs_index *index, struct ifs_snapshot **snapshot, struct ifs_error *error);

/* Opens only the stored state, without the base table and pending rows: for integrity-check. */
int ifs_snapshot_open_unguarded(struct ifs_index *index, struct ifs_snapshot **snapshot, struct ifs_error *error);

void ifs_snapshot_release(struct ifs_snapshot *snapshot);

/* True if a statement is writing (sync=append: in any write transaction): the base table may differ from the snapshot. */
bool ifs_index_is_changing(struct ifs_index *index);

/* Returns an error if the stored state is no longer that of the snapshot. */
int ifs_snapshot_check(struct ifs_index *index, const struct ifs_snapshot *snapshot, struct ifs_error *error);

/* Does ifs_snapshot_check() only if the connection's count of changes differs from *n_changes, which it updates. */
int ifs_snapshot_check_since(struct ifs_index *index, const struct ifs_snapshot *snapshot, uint64_t *n_changes,
			     struct ifs_error *error);

/* Sets the error for a status that core returned while reading the snapshot (NULL: no check). Corruption is reported as
 * such only if the snapshot is still the stored state. */
int ifs_snapshot_error(struct ifs_index *index, const struct ifs_snapshot *snapshot, enum iforest_status status,
		       struct ifs_error *error);

/* Drops cached state, pages and statements, so that the next reader reads everything again. */
void ifs_index_forget(struct ifs_index *index);

/* ---- Transactions and savepoints of the connection ---- */

/* Called for the transaction events that SQLite reports to an index. The outermost savepoint is 0; -1 is the one that
 * began the transaction. */
void ifs_transaction_begin(struct ifs_index *index);
void ifs_transaction_save(struct ifs_index *index, int savepoint);
void ifs_transaction_release(struct ifs_index *index, int savepoint);
void ifs_transaction_roll_back_to(struct ifs_index *index, int savepoint);
void ifs_transaction_commit(struct ifs_index *index);
void ifs_transaction_roll_back(struct ifs_index *index);

#endif
