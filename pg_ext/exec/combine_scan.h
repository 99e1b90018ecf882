/* exec/combine_scan.h -- Custom scan that hands on the rows of a subquery as the expressions of the query above.
 *
 * The subquery computes the same values by other expressions, or reads them elsewhere (planner/query_below.h). Nodes above look
 * for the query's own, which the custom scan declares as its scan tuple.
 */
#ifndef IFP_EXEC_COMBINE_SCAN_H
#define IFP_EXEC_COMBINE_SCAN_H

/* Registers the node as "IForestCombine". Requires  called once, when the library is loaded. */
void ifp_combine_scan_register(void);

#endif
