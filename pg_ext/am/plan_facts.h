/* am/plan_facts.h -- Facts about an index that planning needs for every query, cached by a backend.
 *
 * Facts are invalidated when the index is altered or rebuilt, estimates when a table's statistics change. A caller that needs
 * an unknown fact determines it and stores it here.
 */
#ifndef IFP_AM_PLAN_FACTS_H
#define IFP_AM_PLAN_FACTS_H

#include "pg_ext/base/engine.h"

#include "access/htup.h"
#include "nodes/pathnodes.h"

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
	/* as of this second, this length of the index and these changes by this backend */
	bool are_sizes_known;
	TimestampTz sizes_read;
	BlockNumber sizes_n_blocks;
	uint64 sizes_n_changes;
	struct ifp_meta_sizes sizes;
	/* the statistics of its time column with the index's newer rows, while it has these sizes; NULL: none are newer */
	bool is_time_assessed;
	struct ifp_meta_sizes assessed;
	HeapTuple time_statistics;
};

/* A direct-mapped cache: indexes with the same slot evict each other. */
enum { IFP_MOST_PLAN_FACTS = 64 };
extern struct ifp_plan_facts ifp_all_plan_facts[IFP_MOST_PLAN_FACTS];

/* Empties the slot of an index for it. */
struct ifp_plan_facts *ifp_plan_facts_new(Oid index);

/* Returns the facts of an index, cached by its OID.
 * Requires  a lock on the index.
 * Ownership the backend owns the facts; valid until an invalidation arrives or another index is asked for. After looking up
 *           statistics, a caller gets the facts again before it stores, and stores only if the number is the same.
 * Cost      some ten instructions. */
static inline struct ifp_plan_facts *ifp_plan_facts(Oid index)
{
	struct ifp_plan_facts *facts = &ifp_all_plan_facts[index % IFP_MOST_PLAN_FACTS];

	return facts->index == index ? facts : ifp_plan_facts_new(index);
}

/* Returns sizes of an index for estimates, read anew if the index has another length, if this backend has changed an index, or
 * after a second. Those of a busy table are thus not read by every query.
 * Requires  a lock on the index. */
const struct ifp_meta_sizes *ifp_plan_facts_sizes(const IndexOptInfo *index);

/* Stores a copy of improved statistics of the time column, or that there are none (NULL), for these sizes. */
void ifp_plan_facts_store(struct ifp_plan_facts *facts, const struct ifp_meta_sizes *sizes, HeapTuple time_statistics);

#endif
