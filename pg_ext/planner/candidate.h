/* planner/candidate.h -- Indexes that may answer a query level: one on its table, or matching ones on the table's parts.
 *
 * The parts are partitions or the arms of a UNION ALL of tables, which the planner treats alike. Each part needs an index with
 * the same columns; all of these are read.
 */
#ifndef IFP_PLANNER_CANDIDATE_H
#define IFP_PLANNER_CANDIDATE_H

#include "pg_ext/planner/query_level.h"

/* An index of the table, or one index of each partition or arm of UNION ALL, all with the same columns. */
struct ifp_candidate {
	List *rels, *indexes; /* RelOptInfo and IndexOptInfo of each table */
	List *columns;	      /* columns of the indexes, as expressions over the query's table; then those of dimensions */
	Index named;	      /* the table whose column names EXPLAIN uses for the indexes */
	List *named_columns;  /* the columns of the indexes as columns of that table */
	List *restrictions;   /* RestrictInfos over the table that the answer must apply */
	int n_own;	      /* how many of these are the table's own; those of subqueries follow */
};

/* True if the index is of this access method, has all rows that the query may need, and stores their values exactly. */
bool ifp_is_usable(const IndexOptInfo *index);

/* True if a table may have candidates. */
bool ifp_may_have_candidates(const RelOptInfo *rel);

/* Returns the candidates of the query's table (list of struct ifp_candidate); for a single table, those with the fewest key
 * columns first. May set *reason if there is none. */
List *ifp_candidates(const struct ifp_query_level *level, const char **reason);

#endif
