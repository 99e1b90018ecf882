/* known_rows.h -- how many rows a question's window of time has, as the index knows it. Without statistics the planner takes any window
 * for half a percent of the table, and the costs of plain plans go by that. */
#ifndef IFOREST_PG_KNOWN_ROWS_H
#define IFOREST_PG_KNOWN_ROWS_H

#include "pg_ext/question.h"

#include "nodes/pathnodes.h"

/* Estimates the entries of an index whose times lie between the question's bounds: runs are taken to be even, and what is pending to
 * lie behind them all. False where bounds are not known while planning, or there are none, or a run has several series.
 * Requires  the index is on the question's table and time.
 * Cost      metapage and manifest are read, and bounds evaluated. */
bool iforest_known_rows(PlannerInfo *root, Oid oid, const struct iforest_question *question, double *n_rows);

#endif
