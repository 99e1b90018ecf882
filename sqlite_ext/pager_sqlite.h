/* pager_sqlite.h -- core's pager (core/pager.h) over the page table of an index. */
#ifndef IFOREST_SQLITE_PAGER_SQLITE_H
#define IFOREST_SQLITE_PAGER_SQLITE_H

#include "core/pager_memory.h"
#include "sqlite_ext/index.h"

/* Fills in index->pager and index->store. */
void iforest_pager_sqlite_init(struct iforest_index *index);

/* Pages in memory instead, of the same size, which are lent to who reads them. */
void iforest_pager_sqlite_in_memory(struct iforest_pager_memory *memory);

/* Prepares a statement of the handle once; the format takes schema and name. Returns SQLite's code. */
int iforest_pager_sqlite_prepare(struct iforest_index *index, sqlite3_stmt **statement, const char *format);

/* Notes what SQLite returned, for iforest_index_error(). */
enum iforest_status iforest_pager_sqlite_failed(struct iforest_index *index, int rc);

/* Lets SQLite look whether it was interrupted, and call a progress handler: to be asked now and then where pages in memory keep
 * a question busy. IFOREST_IO where it is to end. */
enum iforest_status iforest_pager_sqlite_may_go_on(struct iforest_index *index);

/* How many pages SQLite may keep in memory by PRAGMA cache_size: of KiB a page in four. 0 where that cannot be asked. */
unsigned iforest_pager_sqlite_cache_size(const struct iforest_index *index);

/* A number for ids, from SQLite's own generator; the context is not looked at. */
uint64_t iforest_pager_sqlite_random(void *context);

#endif
