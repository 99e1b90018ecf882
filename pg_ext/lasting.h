/* lasting.h -- heap pages that a session has seen to be clean (visibility.h), remembered from question to question.
 *
 * Rows that were just appended stand on pages that the visibility map does not vouch for until VACUUM comes, and a dashboard of
 * the latest rows looks at all of these with each of its questions. What a look finds holds for later ones if each root was
 * inserted by a transaction that is over, and none is deleted, updated or locked: then it holds for any snapshot to which
 * these transactions are over, until the page is written. And what is written on a page shows in its LSN, but for hints, where
 * the table is logged. (It is not in a transaction that has made or emptied the table where wal_level is minimal, nor of an
 * unlogged table: nothing is remembered then.)
 */
#ifndef IFOREST_PG_LASTING_H
#define IFOREST_PG_LASTING_H

#include "pg_ext/host.h"

#include "access/xlogdefs.h"
#include "storage/block.h"
#include "utils/snapshot.h"

/* Was the page clean when it had this LSN, and is it so for the snapshot? */
bool iforest_lasting_is_clean(Relation heap, BlockNumber block, XLogRecPtr lsn, Snapshot snapshot);

/* Remembers a page of which each root was inserted by `newest` or a transaction before it. Where work_mem is used up, all
 * others are forgotten. */
void iforest_lasting_note(Relation heap, BlockNumber block, XLogRecPtr lsn, TransactionId newest);

/* How many pages of the table are remembered; some may have been written since. */
BlockNumber iforest_lasting_pages(Relation heap);

#endif
