/* planner/query_match.h -- Match of a query level with an index that can answer it, or the reason why none can. */
#ifndef IFP_PLANNER_QUERY_MATCH_H
#define IFP_PLANNER_QUERY_MATCH_H

#include "pg_ext/planner/index_query.h"

#include "nodes/pathnodes.h"

/* A grouped query level over one table, in the planner's terms. */
struct ifp_query_level {
	PlannerInfo *root;
	RelOptInfo *rel;
	List *groups, *operators; /* expressions; OidList of equality operators, InvalidOid where it cannot be hashed */
	List *outputs;		  /* expressions over groups and Aggrefs: the target, and HAVING */
};

/* An index of the table, or one for each of its partitions, alike. */
struct ifp_candidate {
	List *rels, *indexes; /* RelOptInfo and IndexOptInfo of each table */
	List *columns;	      /* of the indexes, as expressions over the query's table */
	List *restrictions;   /* RestrictInfos that are to be answered */
};

/* Is it one of ours, does it hold all rows that the query may want, and their values as they are? */
bool ifp_is_usable(const IndexOptInfo *index);

/* Candidates of the query's table (list of struct ifp_candidate). Where there is none for a reason that can be told, that
 * is *reason. */
List *ifp_candidates(const struct ifp_query_level *level, const char **reason);

/* Makes the query. Returns NULL, or why the index cannot answer. *aggregates are the Aggrefs of outputs as they stand there,
 * in the order of query->aggregates. */
const char *ifp_query_match(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
			    struct ifp_index_query *query, List **aggregates);

/* GUCs, registered by the planner's hook */
extern bool ifp_enable, ifp_float_aggregates, ifp_explain_decline;

#endif
