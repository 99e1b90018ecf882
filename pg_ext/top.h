/* top.h -- ORDER BY value LIMIT k from an index: a custom scan that lets the index scan below it go by a value instead of by time.
 *
 *   Custom Scan (IForestTopK)          the promise of an order, and its price (top_plan.c); what tells the scan below (top_node.c)
 *     ->  Index Scan using spans_if    PostgreSQL's own: conditions, rows, their visibility, rechecks
 *           iforest_get_tuple()        the entries, best first (top_scan.c, core/best.h)
 *
 * So all that holds of an index scan holds of this one: what a snapshot sees, row locks, row security, rescans with other
 * parameters. It is offered wherever the first thing that the query is ordered by is a column INCLUDEd in the index; LIMIT, and
 * what else it is ordered by, are the planner's to add.
 */
#ifndef IFOREST_PG_TOP_H
#define IFOREST_PG_TOP_H

#include "pg_ext/host.h"

#include "nodes/extensible.h"

/* A limit of the value, inside: what lies beyond need not be looked at. A datum of the column's type. */
struct iforest_top_bound {
	bool is_low;
	Datum datum;
};

struct iforest_top_order {
	bool is_set;
	uint8 value;             /* by which value of the index */
	bool descends, nulls_first;
	bool has_nulls, has_values; /* are entries wanted whose value is NULL, and others? */
	struct iforest_top_bound *bounds;
	int n_bounds;
};

/* Makes the planner offer such scans. Once, when the library is loaded. */
void iforest_top_register(void);

extern const CustomScanMethods iforest_top_scan_methods;

#endif
