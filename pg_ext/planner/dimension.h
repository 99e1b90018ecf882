/* planner/dimension.h -- Dimensions of a query level: relations joined to the table on its by columns.
 *
 *   SELECT d.team, sum(took) FROM requests JOIN (VALUES ...) d(service, team) USING (service) GROUP BY 1
 *
 * All rows of a series have the same by columns, so they join the same rows. The executor reads the dimension into memory once
 * and looks up the rows that each series joins; it reads the series once for each of these (exec/dimension_rows.h). So columns
 * of a dimension act as additional by columns: they are constant while a series is read. The join key need not be unique.
 *
 * Without an equality a series looks at all rows of the dimension: CROSS JOIN generate_series(0, 1) reads each series twice.
 *
 * A dimension may also be joined on columns of earlier dimensions. Left joins, semijoins (IN, EXISTS) and antijoins are
 * supported with the table on the side that keeps its rows.
 */
#ifndef IFP_PLANNER_DIMENSION_H
#define IFP_PLANNER_DIMENSION_H

#include "pg_ext/planner/index_query.h"
#include "pg_ext/planner/query_level.h"

/* A dimension of a query level, over the relations of the query. */
struct ifp_joined {
	RelOptInfo *rel;
	JoinType kind;	  /* JOIN_INNER, JOIN_LEFT, JOIN_SEMI or JOIN_ANTI */
	List *columns;	  /* Vars, in the order of its path's target */
	List *equalities; /* OpExprs: first argument over the table and earlier dimensions, second over its columns; or NIL */
	List *conditions; /* further join conditions */
};

/* A dimension of an index query, over the query's row. */
struct ifp_dimension {
	JoinType kind;
	char *name;	    /* for EXPLAIN, as are column_names */
	List *column_names; /* Strings */
	AttrNumber first;   /* position of its first column in the row; the others follow */
	List *equalities, *conditions;
};

/* Takes the join level->rel apart: sets level->rel to `fact`, level->dimensions (struct ifp_joined) to the other relations,
 * each after those it is joined on, and level->join_conditions to the remaining conditions. Returns NULL, or why that is not
 * possible. */
const char *ifp_dimensions_enter(struct ifp_query_level *level, RelOptInfo *fact);

/* Returns the columns of all dimensions (Vars), in order. */
List *ifp_dimensions_columns(const struct ifp_query_level *level);

/* Returns Vars for the same columns in the query's row, for EXPLAIN. Dimension d, counted from 0, has varno d + 2. */
List *ifp_dimensions_row_columns(const struct ifp_query_level *level);

/* True if unique indexes prove that no row of the table joins more than one row of a dimension. */
bool ifp_dimensions_are_unique(const struct ifp_query_level *level);

/* Adds to the group keys the columns of dimensions in level->outputs that functionally depend on them. */
void ifp_dimensions_add_dependent_groups(struct ifp_query_level *level);

/* Returns the paths of the dimensions. */
List *ifp_dimensions_paths(const struct ifp_query_level *level);

/* Adds the level's dimensions to query->dimensions, rewritten by `over_row`. Returns NULL, or why they cannot be joined. */
typedef Node *(*ifp_rewrite)(Node *expression, void *context, const char **reason);
const char *ifp_dimensions_add(const struct ifp_query_level *level, struct ifp_index_query *query, ifp_rewrite over_row,
			       void *context);

/* Reads an element of query->dimensions. */
void ifp_dimension_read(List *list, struct ifp_dimension *dimension);

#endif
