/* known_rows.h -- what is known while planning of a question's window of time: its bounds; and how many rows it has, as the
 * index knows it. Without statistics the planner takes any window for half a percent of the table, and the costs of plain plans
 * go by that. */
#ifndef IFOREST_PG_KNOWN_ROWS_H
#define IFOREST_PG_KNOWN_ROWS_H

#include "pg_ext/planner/index_query.h"
#include "pg_ext/am/scan_keys.h"

#include "nodes/pathnodes.h"

/* The ranges of time that are asked for. False where they are not known, or not narrowed. */
bool iforest_known_times(PlannerInfo *root, Relation relation, const struct iforest_question *question,
			 struct iforest_scan_keys *times);

/* Estimates the entries of an index whose times lie between the question's bounds: runs are taken to be even, and what is
 * pending to lie behind them all. False where bounds are not known while planning, or there are none, or a run has several
 * series.
 * Requires  the index is on the question's table and time.
 * Cost      metapage and manifest are read, and bounds evaluated. */
bool iforest_known_rows(PlannerInfo *root, Oid oid, const struct iforest_question *question, double *n_rows);

#endif
