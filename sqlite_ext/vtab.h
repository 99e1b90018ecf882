/* vtab.h -- the virtual table modules. */
#ifndef IFOREST_SQLITE_VTAB_H
#define IFOREST_SQLITE_VTAB_H

#include "sqlite_ext/borrow.h"

struct iforest_module {
	const char *name;
	const sqlite3_module *methods;
	iforest_open_borrowed *open;      /* of those whose tables stand over an index; else NULL */
};

/* iforest: an index, which can be made, renamed, dropped and given commands. */
extern const struct iforest_module iforest_index_module;

/* iforest_fold: another view of an index, with fewer by columns; stores nothing, as all below. */
extern const struct iforest_module iforest_fold_module;

/* iforest_rows: the entries of an index, a row each. */
extern const struct iforest_module iforest_rows_module;

/* iforest_overlap: the spans that overlap a window or its buckets, by an index that has durations. */
extern const struct iforest_module iforest_overlap_module;

/* iforest_cover: the nodes and parts of leaf pages that an answer is folded from. */
extern const struct iforest_module iforest_cover_module;

/* iforest_stats('index'): what an index is made of, one row. */
extern const struct iforest_module iforest_stats_module;

/* iforest_gaps: stretches of the series of an index in which no span is open. */
extern const struct iforest_module iforest_gaps_module;

/* iforest_counter: the value columns of an index as counters. */
extern const struct iforest_module iforest_counter_module;

#endif
