/* lasting.h -- what a session has seen on heap pages, remembered from question to question.
 *
 * Rows that were just written stand on pages that the visibility map does not vouch for until VACUUM comes, and a dashboard of
 * the latest rows looks at all of these with each of its questions. What a look finds holds for later ones if each root was
 * inserted by a transaction that is over, and is either as it was or gone, by deed of a transaction that is over: then it holds
 * for any snapshot to which these transactions are over, until the page is written. And what is written on a page shows in its
 * LSN, but for hints, where the table is logged. (It is not in a transaction that has made or emptied the table where wal_level
 * is minimal, nor of an unlogged table: nothing is remembered then.)
 */
#ifndef IFOREST_PG_LASTING_H
#define IFOREST_PG_LASTING_H

#include "pg_ext/storage/roots.h"

#include "access/xlogdefs.h"

/* Fills in what was seen on the page when it had this LSN, if it is so for the snapshot, too. */
bool iforest_lasting_recall(Relation heap, BlockNumber block, XLogRecPtr lsn, Snapshot snapshot, struct iforest_roots *roots);

/* Remembers what was seen on a page, where all was done by `newest` or transactions before it. Where work_mem is used up, what
 * is known of other pages stays instead, as long as it is of use; then all of it is forgotten. */
void iforest_lasting_note(Relation heap, BlockNumber block, XLogRecPtr lsn, TransactionId newest,
			  const struct iforest_roots *roots);

#endif
