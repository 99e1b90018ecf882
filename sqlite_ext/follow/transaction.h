/* transaction.h -- what a connection has read of its own transaction, which may yet be rolled back.
 *
 * A tail that is kept (tail.h) is right as long as no row of the log that it was read from is taken back. Committed rows are
 * not, but by a seal, which the manifest shows; and what others have not committed is not seen. Left is what the connection
 * itself has written and not committed: ROLLBACK, ROLLBACK TO and statements that fail take it back, and the numbers of its
 * rows are given to others. Of these SQLite tells the virtual tables that take part in the transaction, which are those written
 * to: so who wants to keep such rows has SQLite delete no row of the index. Where it may not, as under PRAGMA query_only, they
 * are read anew.
 *
 * What one table is told holds for all handles of the connection. Depth is where something was read: 0 where it is committed,
 * else 1, and 1 more for each savepoint that was open, those among them that SQLite makes for a statement.
 */
#ifndef IFOREST_SQLITE_TRANSACTION_H
#define IFOREST_SQLITE_TRANSACTION_H

#include "sqlite_ext/follow/snapshot.h"

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
