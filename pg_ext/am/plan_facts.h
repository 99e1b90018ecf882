/* am/plan_facts.h -- What planning learns of an index, kept by a backend: it is asked for again with every query.
 *
 * Facts are forgotten when the index is altered or built anew, and estimates when statistics of a table are. Whoever needs a
 * fact that is not known finds it out, and writes it down.
 */
#ifndef IFP_AM_PLAN_FACTS_H
#define IFP_AM_PLAN_FACTS_H

#include "pg_ext/base/engine.h"

#include "pg_ext/storage/meta.h"

enum ifp_known { IFP_NOT_KNOWN, IFP_KNOWN_TRUE, IFP_KNOWN_FALSE };

struct ifp_plan_estimates {
	bool are_known;
	double of_tuples;   /* of the table, as the planner had them */
	double n_series;    /* the product of the numbers of values of by columns */
	double correlation; /* of the time with the order of the table */
};

struct ifp_plan_facts {
	Oid index;
	uint32 hash;   /* of the index's row in pg_class */
	uint64 number; /* another one whenever facts begin anew */
	enum ifp_known holds_columns, keeps_histograms;
	struct ifp_plan_estimates estimates;
	/* the index as it was when statistics of its time were found to need no change */
	bool is_unchanged;
	struct ifp_meta_sizes unchanged;
};

/* Returns the facts of an index, which are kept by its OID.
 * Requires  a lock on the index.
 * Ownership the facts are the backend's; valid until the server tells of a change, or facts of another index are asked for.
 *           Whoever looks up statistics asks again before writing, and writes only if the number is the same.
 * Cost      some ten instructions. */
struct ifp_plan_facts *ifp_plan_facts(Oid index);

#endif
