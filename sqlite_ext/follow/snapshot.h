/* follow/snapshot.h -- Snapshot of an index: manifest, series and delta as last read; validity across savepoints.
 *
 * A kept delta is correct as long as no row of the log that it was read from is rolled back. Committed rows are not, and
 * the uncommitted rows of other connections are not seen. That leaves what this connection has written and not committed:
 * ROLLBACK, ROLLBACK TO and failing statements undo it, and log numbers are then given to other rows. SQLite reports these
 * events only to virtual tables that take part in the transaction, that is, to those written to. So before such rows are
 * kept, SQLite is made to delete no row of the index, which makes its table take part. Where that is not allowed, as under
 * PRAGMA query_only, the next query reads the rows again.
 *
 * An event reported to one table holds for all handles of the connection. Depth is the nesting at which something was
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
	int n_savepoints;	   /* open in it, where there are such tables */
};

/* A state of the index, shared by the cursors that read it. */
struct ifs_snapshot {
	unsigned n_refs;
	struct iforest_manifest manifest;
	struct ifs_times times;
	struct ifs_dictionary dictionary; /* series of the index, and those that only pending rows have */
	struct ifs_delta delta;
	int depth;	   /* of the last read */
	bool is_transient; /* what was read may be undone unnoticed: read again next time */
};

void ifs_connection_release(struct ifs_connection *connection);

/* Initializes a handle with names alone, and adds it to the connection. index must stay in place. Release it also after an
 * error. */
int ifs_index_init(struct ifs_index *index, sqlite3 *db, struct ifs_connection *connection, const char *schema,
		   const char *name, struct ifs_error *error);

void ifs_index_release(struct ifs_index *index);

/* Sets the handle's definition, with all by columns. Once, before the first snapshot. */
int ifs_index_describe(struct ifs_index *index, const struct ifs_definition *definition, struct ifs_error *error);

/* Finds the base table as it is now. With sync=log its triggers must have the text that would be written now. */
int ifs_index_find_base_table(struct ifs_index *index, struct ifs_error *error);

/* Opens the state to read now, with all pending rows. Release it with ifs_snapshot_release(). */
int ifs_snapshot_open(struct ifs_index *index, struct ifs_snapshot **snapshot, struct ifs_error *error);

/* Opens the stored state alone, without the base table and pending rows: for integrity-check. */
int ifs_snapshot_open_unguarded(struct ifs_index *index, struct ifs_snapshot **snapshot, struct ifs_error *error);

void ifs_snapshot_release(struct ifs_snapshot *snapshot);

/* True if a row is being written, so that the base table may already differ from what the snapshot can show of it. */
bool ifs_index_is_changing(struct ifs_index *index);

/* Returns an error if the stored state is no longer that of the snapshot. */
int ifs_snapshot_check(struct ifs_index *index, const struct ifs_snapshot *snapshot, struct ifs_error *error);

/* The same, if the connection has made changes since *n_changes was its count, when the stored state was last known. */
int ifs_snapshot_check_since(struct ifs_index *index, const struct ifs_snapshot *snapshot, uint64_t *n_changes,
			     struct ifs_error *error);

/* Sets the error to a status that core returned while it read the snapshot (NULL: no check). Corruption is reported as
 * such only if the snapshot is still the stored state. */
int ifs_snapshot_error(struct ifs_index *index, const struct ifs_snapshot *snapshot, enum iforest_status status,
		       struct ifs_error *error);

/* Drops cached state, pages and statements: the next reader reads all anew. */
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
