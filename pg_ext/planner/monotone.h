/* planner/monotone.h -- Proof that an expression is monotone in a column; breaks and run keys of other expressions.
 *
 * Proof. A column is monotone in itself. A function listed in planner/monotone.c, or iforest_bucket_of(), is monotone if one
 * argument is monotone and the others have no columns. If f is monotone and f(a) = f(b), then f has the same value everywhere
 * between a and b. So the ends of a bucket are found by evaluating the query's own expression, without knowing what it computes
 * (planner/bucket_finder.h).
 *
 * Breaks. Some expressions are monotone only piecewise, between breaks. Conversions between local time and UTC break at the
 * transitions of the time zone; the addition of months breaks at the last days of months; subtracting a number of days that
 * depends on the weekday breaks where the weekday changes.
 *
 * Run keys. A function does not change while its arguments do not. So an expression can change only where one of its run keys
 * changes. These are the largest monotone expressions in it.
 */
#ifndef IFP_PLANNER_MONOTONE_H
#define IFP_PLANNER_MONOTONE_H

#include "pg_ext/planner/expression.h"

/* True if a RelabelType preserves the order of values; from int4 to oid, for example, it does not. */
bool ifp_keeps_order(const RelabelType *relabel);

/* ---- monotone expressions ---- */

/* The property of a time that is constant between breaks. */
enum ifp_break_type {
	IFP_BREAK_UTC,	  /* the piece of a time zone that contains a UTC timestamp (planner/bucket_finder.c) */
	IFP_BREAK_LOCAL,  /* the piece that contains a local time of that zone */
	IFP_BREAK_MONTHS, /* the month of a timestamp: days 1 to 28 together, each later day separately */
	IFP_BREAK_VALUE	  /* the value of an expression of any type */
};

/* Returns the type of a break. A break is a list of three nodes: the expression, the zone (text without columns; NULL: the
 * session's), and the type (Const of int4). */
enum ifp_break_type ifp_break_type(const List *one);

/* True if the expression is monotone in column `attribute` of varno 1 between breaks, which are added to *breaks, and is NULL
 * where the column is NULL. If false, *breaks is unchanged.
 * Requires  the expression calls no volatile function. */
bool ifp_is_monotone(Node *expression, AttrNumber attribute, List **breaks);

/* As ifp_is_monotone(), but the expression may have any value where the column is NULL. */
bool ifp_is_monotone_beside_null(Node *expression, AttrNumber attribute, List **breaks);

/* ---- run keys ---- */

struct ifp_run_keys {
	List *expressions; /* Expr, each monotone in the column between the breaks */
	List *breaks;	   /* lists of three Node, see ifp_break_type() */
};

/* Adds the run keys of the expression for column `attribute`. Other columns are taken as constants. */
void ifp_add_run_keys(Node *expression, AttrNumber attribute, struct ifp_run_keys *keys);

/* Rewrites a condition x = c, with x monotone, as the conditions x >= c and x <= c. Returns NIL if the condition has another
 * form, or has breaks and may_break is false. */
List *ifp_run_key_bounds(Node *condition, AttrNumber attribute, bool may_break);

/* Returns x = c for x <> c, and any other node unchanged. */
Node *ifp_as_equality(Node *node);

#endif
