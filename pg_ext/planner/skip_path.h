/* planner/skip_path.h -- Paths for the first or last rows of each series: DISTINCT ON, and row_number() up to a number.
 *
 * SELECT DISTINCT ON (service) ... ORDER BY service, ts DESC chooses the last row of each service. A plain plan sorts the whole
 * table. The entries of an index are in the order of series and times, so Custom Scan (IForestSkip) (exec/skip_scan.h) reads the
 * last row of each series and skips to the next one. The same holds of row_number() OVER (PARTITION BY service ORDER BY ts DESC)
 * where a condition above asks for the first n.
 *
 * Proof. Let the keys of DISTINCT ON or PARTITION BY be expressions of by columns. All rows of a series then belong to one group.
 * Let the order within the group be by the time, after expressions of by columns at most. Then a row of which n others of its
 * series have better times is not among the first n of its group. Which rows are given beyond that does not matter: PostgreSQL's
 * own nodes choose among what is given.
 *
 * It is the planner's choice by cost. Conditions may be on any column: the index scan below checks them before a row counts.
 */
#ifndef IFP_PLANNER_SKIP_PATH_H
#define IFP_PLANNER_SKIP_PATH_H

/* Registers the planner's hook. Requires  called once, when the library is loaded. */
void ifp_skip_path_register(void);

#endif
