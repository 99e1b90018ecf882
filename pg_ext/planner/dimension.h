/* planner/dimension.h -- Dimensions of a query level: relations that are joined with the table on by columns.
 *
 *   SELECT d.team, sum(took) FROM requests JOIN (VALUES ...) d(service, team) USING (service) GROUP BY 1
 *
 * All rows of a series have the same by columns, so they have the same partners in such a join. The executor reads the dimension
 * once into memory and finds each series' partners there; the series is read once for each of them (exec/dimension_rows.h). So
 * the columns of a dimension are like further by columns: constant while a series is read. That holds whether the join key is
 * unique or not.
 *
 * A dimension may also be joined on columns of those before it. Left joins, semijoins (IN, EXISTS) and antijoins are answered as
 * well, with the table on the side that keeps its rows.
 */
#ifndef IFP_PLANNER_DIMENSION_H
#define IFP_PLANNER_DIMENSION_H

#include "pg_ext/planner/index_query.h"
#include "pg_ext/planner/query_level.h"

/* A dimension of a query level, over the relations of the query. */
struct ifp_joined {
	RelOptInfo *rel;
	JoinType kind;	  /* JOIN_INNER, JOIN_LEFT, JOIN_SEMI or JOIN_ANTI */
	List *columns;	  /* Vars, as its path gives them */
	List *equalities; /* OpExprs, their first argument over what comes before it, their second over its columns */
	List *conditions; /* on what it is joined besides */
};

/* A dimension of an index query, over the query's row. */
struct ifp_dimension {
	JoinType kind;
	char *name;	    /* for EXPLAIN, as the columns' */
	List *column_names; /* Strings */
	AttrNumber first;   /* its first column in the row; the others follow */
	List *equalities, *conditions;
};

/* Takes the join level->rel apart: `fact` becomes level->rel, the others level->dimensions (struct ifp_joined), each after those
 * on which it is joined, and level->join_conditions what remains to be met. Returns NULL, or why that is not possible. */
const char *ifp_dimensions_enter(struct ifp_query_level *level, RelOptInfo *fact);

/* Returns the columns of all dimensions (Vars), in their order. */
List *ifp_dimensions_columns(const struct ifp_query_level *level);

/* Returns Vars for the same columns in the query's row, for EXPLAIN: those of dimension d, from 0, are of varno d + 2. */
List *ifp_dimensions_row_columns(const struct ifp_query_level *level);

/* True if no row of the table is joined with several rows of a dimension, as unique indexes show. */
bool ifp_dimensions_are_unique(const struct ifp_query_level *level);

/* Adds columns of dimensions that stand in level->outputs and depend on group keys, to the group keys. */
void ifp_dimensions_add_dependent_groups(struct ifp_query_level *level);

/* Returns the paths of the dimensions. */
List *ifp_dimensions_paths(const struct ifp_query_level *level);

/* Adds to query->dimensions what `over_row` makes of the level's. Returns NULL, or why they cannot be joined. */
typedef Node *(*ifp_rewrite)(Node *expression, void *context, const char **reason);
const char *ifp_dimensions_add(const struct ifp_query_level *level, struct ifp_index_query *query, ifp_rewrite over_row,
			       void *context);

/* Reads an element of query->dimensions. */
void ifp_dimension_read(List *list, struct ifp_dimension *dimension);

#endif
