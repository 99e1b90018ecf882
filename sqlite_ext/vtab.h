/* vtab.h -- the virtual table modules. */
#ifndef IFOREST_SQLITE_VTAB_H
#define IFOREST_SQLITE_VTAB_H

#include "sqlite_ext/host.h"

/* iforest: an index, which can be made, renamed, dropped and given commands. */
const sqlite3_module *iforest_index_module(void);

/* iforest_fold: another view of an index, with fewer by columns; stores nothing. */
const sqlite3_module *iforest_fold_module(void);

/* iforest_rows: the entries of an index, a row each; stores nothing. */
const sqlite3_module *iforest_rows_module(void);
/* iforest_overlap: the spans that overlap a window or its buckets, by an index that has durations; stores nothing. */
const sqlite3_module *iforest_overlap_module(void);
/* iforest_cover: the nodes and parts of leaf pages that an answer is folded from; stores nothing. */
const sqlite3_module *iforest_cover_module(void);

/* iforest_stats('index'): what an index is made of, one row. */
const sqlite3_module *iforest_stats_module(void);

/* iforest_gaps: stretches of the series of an index in which no span is open; stores nothing. */
const sqlite3_module *iforest_gaps_module(void);

/* iforest_counter: the value columns of an index as counters; stores nothing. */
const sqlite3_module *iforest_counter_module(void);

#endif
