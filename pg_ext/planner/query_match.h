/* planner/query_match.h -- Match of a query level with an index that can answer it, or the reason why none can.
 *
 * Three steps: find the indexes of the table, or sets of alike indexes of its partitions (candidates); rewrite the level's
 * expressions over the index's columns; sort conditions and aggregates into an index query (planner/index_query.h). Each step
 * that fails returns a reason, which iforest.explain_decline shows.
 */
#ifndef IFP_PLANNER_QUERY_MATCH_H
#define IFP_PLANNER_QUERY_MATCH_H

#include "pg_ext/planner/index_query.h"
#include "pg_ext/planner/query_level.h"

/* An index of the table, or one index of each partition, all alike. */
struct ifp_candidate {
	List *rels, *indexes; /* RelOptInfo and IndexOptInfo of each table */
	List *columns;	      /* of the indexes, as expressions over the query's table */
	List *restrictions;   /* RestrictInfos that are to be answered, over the table: */
	int n_own;	      /* its own, and then those of subqueries' rows */
};

/* True if the index is of this access method, holds all rows that the query may need, and holds their values exactly. */
bool ifp_is_usable(const IndexOptInfo *index);

/* True if a table may have candidates. */
bool ifp_may_have_candidates(const RelOptInfo *rel);

/* Returns the candidates of the query's table (list of struct ifp_candidate). May set *reason if there is none. */
List *ifp_candidates(const struct ifp_query_level *level, const char **reason);

/* Fills in the index query. Returns NULL, or why the index cannot answer. *computed are the Aggrefs as they stand in
 * level->outputs, in the order of query->aggregates, and then GROUPING() in that of query->groupings. */
const char *ifp_query_match(const struct ifp_query_level *level, const struct ifp_candidate *candidate,
			    struct ifp_index_query *query, List **computed);

#endif
