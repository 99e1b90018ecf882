/* planner/candidate.h -- Indexes that may answer a query level: one of its table, or a set of alike ones of its parts.
 *
 * The parts are partitions, or the arms of a UNION ALL of tables, which the planner treats alike. Each part has an index with the
 * same columns; all of them are read.
 */
#ifndef IFP_PLANNER_CANDIDATE_H
#define IFP_PLANNER_CANDIDATE_H

#include "pg_ext/planner/query_level.h"

/* An index of the table, or one index of each partition or arm of UNION ALL, all alike. */
struct ifp_candidate {
	List *rels, *indexes; /* RelOptInfo and IndexOptInfo of each table */
	List *columns;	      /* of the indexes, as expressions over the query's table, and those of dimensions */
	Index named;	      /* the table by whose names EXPLAIN calls the columns of the indexes, */
	List *named_columns;  /* and they as its own */
	List *restrictions;   /* RestrictInfos that are to be answered, over the table: */
	int n_own;	      /* its own, and then those of subqueries' rows */
};

/* True if the index is of this access method, holds all rows that the query may need, and holds their values exactly. */
bool ifp_is_usable(const IndexOptInfo *index);

/* True if a table may have candidates. */
bool ifp_may_have_candidates(const RelOptInfo *rel);

/* Returns the candidates of the query's table (list of struct ifp_candidate), of one table those with the fewest key columns
 * first. May set *reason if there is none. */
List *ifp_candidates(const struct ifp_query_level *level, const char **reason);

#endif
