/* worker.h -- a background worker that merges one index and ends; sooner, with an error in the server's log, where somebody
 * waits for the table, the index or the database, and at once where the table is locked: another is asked for when there are
 * more rows. */
#ifndef IFOREST_PG_WORKER_H
#define IFOREST_PG_WORKER_H

#include "pg_ext/base/engine.h"

/* Asks for a worker; does nothing if there is none to be had, or this backend has asked within the last seconds. The index
 * must be committed. */
void iforest_worker_start(Relation index);

/* What the worker runs. */
extern PGDLLEXPORT void iforest_worker_main(Datum argument);

#endif
