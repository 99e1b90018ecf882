/* follow/snapshot.h -- Snapshot of an index: manifest, series and delta as last read; validity across savepoints.
 *
 * A kept delta is correct as long as no row of the log that it was read from is rolled back. Committed rows are not, and
 * the uncommitted rows of other connections are not seen. That leaves what this connection has written and not committed:
 * ROLLBACK, ROLLBACK TO and failing statements undo it, and log numbers are then given to other rows. SQLite reports these
 * events only to virtual tables that take part in the transaction, that is, to those written to: so before such rows are
 * kept, SQLite is made to delete no row of the index. Where it may not, as under PRAGMA query_only, the rows are read again
 * by the next query.
 *
 * What one table is told holds for all handles of the connection. Depth is the nesting at which something was read: 0 for
 * committed data, else 1, plus 1 for each open savepoint, including those that SQLite makes for a statement.
 */
#ifndef IFS_FOLLOW_SNAPSHOT_H
#define IFS_FOLLOW_SNAPSHOT_H

#include "core/run/manifest.h"
#include "sqlite_ext/follow/delta.h"
#include "sqlite_ext/storage/shadow_tables.h"

/* What the handles of a connection share. */
struct ifs_connection {
	unsigned n_refs;	   /* modules and handles */
	uint64_t n_changes;	   /* commands and rollbacks so far: indexes may be others than before */
	struct ifs_index *indexes; /* all handles (snapshot.h) */
	unsigned n_joined;	   /* tables that take part in the transaction */
	int n_savepoints;	   /* open in it, where there are such tables */
};

/* One state of the index, shared by the cursors that read it. */
struct ifs_snapshot {
	unsigned n_refs;
	struct iforest_manifest manifest;
	struct ifs_dictionary dictionary; /* series of the index, and those of pending rows alone */
	struct ifs_delta delta;
	int depth;	   /* of what was read last in the connection's transaction (snapshot.h) */
	bool is_transient; /* read of what does not stay: to be read anew */
};

void ifs_connection_release(struct ifs_connection *connection);

/* A handle that holds nothing but names yet. index must stay in place. */
int ifs_index_init(struct ifs_index *index, sqlite3 *db, struct ifs_connection *connection, const char *schema,
		   const char *name, struct ifs_error *error);

void ifs_index_release(struct ifs_index *index);

/* Takes down what the index is made of, with all its by columns. Once, before its state is read. */
int ifs_index_describe(struct ifs_index *index, const struct ifs_definition *definition, struct ifs_error *error);

/* Finds the table as it is today. With sync=log its triggers must be those that we would write. */
int ifs_index_find_base_table(struct ifs_index *index, struct ifs_error *error);

/* Gives the state to read now, with all that is pending. Release it with ifs_snapshot_release(). */
int ifs_snapshot_open(struct ifs_index *index, struct ifs_snapshot **snapshot, struct ifs_error *error);

/* The same without regard to the table, and without what is pending: for integrity-check. */
int ifs_snapshot_open_unguarded(struct ifs_index *index, struct ifs_snapshot **snapshot, struct ifs_error *error);

void ifs_snapshot_release(struct ifs_snapshot *snapshot);

/* May the table be ahead of what the state to read has of it, for a row is being written? */
bool ifs_index_is_changing(struct ifs_index *index);

/* Is the snapshot still the state that is stored? */
int ifs_snapshot_check(struct ifs_index *index, const struct ifs_snapshot *snapshot, struct ifs_error *error);

/* Turns what core returned while reading the snapshot into an error. */
int ifs_snapshot_error(struct ifs_index *index, const struct ifs_snapshot *snapshot, enum iforest_status status,
		       struct ifs_error *error);

/* Forgets state and pages in memory: the next reader reads all anew. */
void ifs_index_forget(struct ifs_index *index);

/* ---- Transactions and savepoints of the connection ---- */

/* What SQLite tells the table of an index; the outermost savepoint is 0, and -1 is the one that began the transaction. */
void ifs_transaction_begin(struct ifs_index *index);
void ifs_transaction_save(struct ifs_index *index, int savepoint);
void ifs_transaction_release(struct ifs_index *index, int savepoint);
void ifs_transaction_roll_back_to(struct ifs_index *index, int savepoint);
void ifs_transaction_commit(struct ifs_index *index);
void ifs_transaction_roll_back(struct ifs_index *index);

#endif
