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
struct iforest_connection {
	unsigned n_refs;                    /* modules and handles */
	uint64_t n_changes;                 /* commands and rollbacks so far: indexes may be others than before */
	struct iforest_index *indexes;      /* all handles (transaction.h) */
	unsigned n_joined;                  /* tables that take part in the transaction */
	int n_savepoints;                   /* open in it, where there are such tables */
};

/* One state of the index, shared by the cursors that read it. */
struct iforest_snapshot {
	unsigned n_refs;
	struct iforest_manifest manifest;
	struct iforest_dictionary dictionary; /* series of the index, and those of pending rows alone */
	struct iforest_tail tail;
	int depth;                            /* of what was read last in the connection's transaction (transaction.h) */
	bool is_passing;                      /* read of what does not stay: to be read anew */
};

void iforest_connection_release(struct iforest_connection *connection);

/* A handle that holds nothing but names yet. index must stay in place. */
int iforest_index_init(struct iforest_index *index, sqlite3 *db, struct iforest_connection *connection, const char *schema,
		       const char *name, struct iforest_error *error);

void iforest_index_release(struct iforest_index *index);

/* Takes down what the index is made of, with all its by columns. Once, before its state is read. */
int iforest_index_describe(struct iforest_index *index, const struct iforest_definition *definition,
			   struct iforest_error *error);

/* Finds the table as it is today. With sync=log its triggers must be those that we would write. */
int iforest_index_find_source(struct iforest_index *index, struct iforest_error *error);

/* Gives the state to read now, with all that is pending. Release it with iforest_snapshot_release(). */
int iforest_index_open(struct iforest_index *index, struct iforest_snapshot **snapshot, struct iforest_error *error);

/* The same without regard to the table, and without what is pending: for integrity-check. */
int iforest_index_open_unguarded(struct iforest_index *index, struct iforest_snapshot **snapshot, struct iforest_error *error);

void iforest_snapshot_release(struct iforest_snapshot *snapshot);

/* May the table be ahead of what the state to read has of it, for a row is being written? */
bool iforest_index_is_passing(struct iforest_index *index);

/* Is the snapshot still the state that is stored? */
int iforest_index_check_snapshot(struct iforest_index *index, const struct iforest_snapshot *snapshot,
				 struct iforest_error *error);

/* Turns what core returned while reading the snapshot into an error. */
int iforest_index_error(struct iforest_index *index, const struct iforest_snapshot *snapshot, enum iforest_status status,
			struct iforest_error *error);

/* Forgets state and pages in memory: the next reader reads all anew. */
void iforest_index_forget(struct iforest_index *index);

/* ---- Transactions and savepoints of the connection ---- */

/* A handle is told of from now on; and no more. */
void iforest_transaction_add(struct iforest_index *index);
void iforest_transaction_remove(struct iforest_index *index);

/* Sees to it that the connection is told. *depth is where it reads now, 0 where it is not told. An error where SQLite has
 * rolled back instead.
 * Requires  a transaction that has begun to write, and no statement at work that writes
 * Effects   changes() is 0 afterwards, where the connection was not told yet */
int iforest_transaction_join(struct iforest_index *index, int *depth, struct iforest_error *error);

/* What SQLite tells the table of an index; the outermost savepoint is 0, and -1 is the one that began the transaction. */
void iforest_transaction_begin(struct iforest_index *index);
void iforest_transaction_save(struct iforest_index *index, int savepoint);
void iforest_transaction_release(struct iforest_index *index, int savepoint);
void iforest_transaction_roll_back_to(struct iforest_index *index, int savepoint);
void iforest_transaction_commit(struct iforest_index *index);
void iforest_transaction_roll_back(struct iforest_index *index);

#endif
