/* am/plan_facts.h -- Facts about an index that planning needs for every query, cached by a backend.
 *
 * Facts are invalidated when the index is altered or rebuilt, estimates when a table's statistics change. A caller that needs
 * an unknown fact determines it and stores it here.
 */
#ifndef IFP_AM_PLAN_FACTS_H
#define IFP_AM_PLAN_FACTS_H

#include "pg_ext/base/engine.h"

#include "pg_ext/storage/meta.h"

enum ifp_known { IFP_NOT_KNOWN, IFP_KNOWN_TRUE, IFP_KNOWN_FALSE };

struct ifp_plan_estimates {
	bool are_known;
	double of_tuples;   /* of the table, as the planner estimated them */
	double n_series;    /* product of the numbers of distinct values of by columns */
	double correlation; /* of the time with the order of the table */
};

struct ifp_plan_facts {
	Oid index;
	uint32 hash;   /* of the index's row in pg_class */
	uint64 number; /* changes whenever facts are invalidated */
	enum ifp_known holds_columns, keeps_histograms;
	struct ifp_plan_estimates estimates;
	/* whether statistics of its time need a change, found when the index had these sizes */
	enum ifp_known needs_change;
	struct ifp_meta_sizes of_sizes;
};

/* Returns the facts of an index, cached by its OID.
 * Requires  a lock on the index.
 * Ownership the backend owns the facts; valid until an invalidation arrives or another index is asked for. After looking up
 *           statistics, a caller gets the facts again before it stores, and stores only if the number is the same.
 * Cost      some ten instructions. */
struct ifp_plan_facts *ifp_plan_facts(Oid index);

#endif
