/* planner/wish.h -- Wish for an index: the columns it would need to answer a query level, and the uses of each.
 *
 * Wishes are collected while a query is planned, for levels that an index could answer: those that group one table (inside
 * subqueries, joined with dimensions, or in each arm of a UNION ALL), or take the first rows by a column or of groups.
 */
#ifndef IFP_PLANNER_WISH_H
#define IFP_PLANNER_WISH_H

#include "pg_ext/base/engine.h"

#include "nodes/pathnodes.h"

/* Uses of a column. */
enum ifp_column_use {
	IFP_USE_GROUP = 1,	     /* it is a group key */
	IFP_USE_GROUP_WITHIN = 2,    /* it is part of one */
	IFP_USE_RANGE = 4,	     /* it, or an expression of it, is compared by <, <=, >= or > */
	IFP_USE_CONDITION = 8,	     /* it is in another condition */
	IFP_USE_AGGREGATE = 16,	     /* it is in the argument of an aggregate */
	IFP_USE_VARIANCE = 32,	     /* of a variance */
	IFP_USE_SKETCH = 64,	     /* of a sketch */
	IFP_USE_ORDER = 128,	     /* it is the sort key of the first rows */
	IFP_USE_ORDER_OF_GROUP = 256 /* it is the sort key of the first rows of groups */
};

struct ifp_wished_column {
	AttrNumber number;
	unsigned uses;	   /* enum ifp_column_use */
	unsigned n_ranges; /* conditions on rows, not those in aggregates and group keys */
	List *bounds;	   /* values that aggregates and group keys compare it with: Const of int8, the last value of the lower
		       * part */
};

struct ifp_wish {
	Oid table; /* InvalidOid: no index is possible, for `reason` */
	const char *reason;
	List *columns;	      /* struct ifp_wished_column, by number */
	List *products;	      /* IntList of two columns each */
	double n_rows;	      /* of the table, as estimated */
	const void *together; /* identifies the UNION ALL of an arm, all arms of which need an index; NULL: not an arm */
};

/* Starts adding the wishes of all planned levels to the list (of struct ifp_wish); NULL: stops. The caller must stop it after
 * an error, too. */
void ifp_wishes_collect(List **wishes);

/* Adds the wish of a level, if wishes are collected. extra is only read at the stage UPPERREL_GROUP_AGG. */
void ifp_wishes_consider(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output,
			 GroupPathExtraData *extra);

#endif
