/* planner/wish.h -- What an index would have to have to answer a query level: the columns of its table, and what is asked of each.
 *
 * Collected by hooks while a query is planned, for a level that one could answer: it groups one table (through subqueries that
 * hand on its rows, or joined with dimensions, or each arm of a UNION ALL), orders it by a column and takes the first rows, or takes the first rows of groups.
 */
#ifndef IFP_PLANNER_WISH_H
#define IFP_PLANNER_WISH_H

#include "pg_ext/base/engine.h"

#include "nodes/pg_list.h"

/* What is asked of a column. */
enum ifp_column_use {
	IFP_USE_GROUP = 1,	     /* it is a group key */
	IFP_USE_GROUP_WITHIN = 2,    /* it is within one */
	IFP_USE_RANGE = 4,	     /* it, or an expression of it, is compared by <, <=, >= or > */
	IFP_USE_CONDITION = 8,	     /* it is in another condition */
	IFP_USE_AGGREGATE = 16,	     /* it is in the argument of an aggregate */
	IFP_USE_VARIANCE = 32,	     /* of a variance */
	IFP_USE_SKETCH = 64,	     /* of a sketch */
	IFP_USE_ORDER = 128,	     /* rows come in its order */
	IFP_USE_ORDER_OF_GROUP = 256 /* the first rows of groups do */
};

struct ifp_wished_column {
	AttrNumber number;
	unsigned uses;	   /* enum ifp_column_use */
	unsigned n_ranges; /* of rows, not within aggregates and group keys */
	List *bounds; /* of values with which aggregates and group keys compare it: Const of int8, the last of the lower part */
};

struct ifp_wish {
	Oid table; /* InvalidOid: none can be made, for this reason */
	const char *reason;
	List *columns;	      /* struct ifp_wished_column, by number */
	List *products;	      /* IntList of two columns each */
	double n_rows;	      /* of the table, as estimated */
	const void *together; /* tells arms of a UNION ALL, which all need an index, from those of another; NULL: no arm */
};

/* From now on the wishes of all levels that are planned are added to the list (of struct ifp_wish); NULL: no longer. The caller
 * says so also after an error. */
void ifp_wishes_collect(List **wishes);

/* Registers the hooks. Requires  called once, when the library is loaded. */
void ifp_wishes_register(void);

#endif
