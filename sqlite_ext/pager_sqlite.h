/* pager_sqlite.h -- core's pager (core/pager.h) over the page table of an index. */
#ifndef IFOREST_SQLITE_PAGER_SQLITE_H
#define IFOREST_SQLITE_PAGER_SQLITE_H

#include "sqlite_ext/index.h"

/* Fills in index->pager and index->store. */
void iforest_pager_sqlite_init(struct iforest_index *index);

#endif
