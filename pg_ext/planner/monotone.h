/* planner/monotone.h -- Proof that an expression is monotone in a column; breaks and run keys of expressions that are not.
 *
 * Proof. A column is monotone in itself. A function of the list in planner/monotone.c, or iforest_bucket_of(), is monotone if
 * one argument is monotone and the others have no column. If f is monotone and f(a) = f(b), then f has the same value
 * everywhere between a and b. So the ends of a bucket are found by evaluating the query's own expression, without knowing what
 * it computes (planner/bucket_finder.h).
 *
 * Breaks. Some expressions are monotone only piecewise. Conversions between local time and UTC are monotone between the
 * transitions of the time zone, the addition of months between the last days of months, and a time less a number of days that
 * depends on the weekday while the weekday stays the same. Such an expression is monotone between its breaks.
 *
 * Run keys. Any function keeps its value while its arguments keep theirs. So an expression can change only where one of its run
 * keys does: the largest monotone expressions in it.
 */
#ifndef IFP_PLANNER_MONOTONE_H
#define IFP_PLANNER_MONOTONE_H

#include "pg_ext/planner/expression.h"

/* True if a RelabelType keeps the order of values. From int4 to oid, for one, it does not. */
bool ifp_keeps_order(const RelabelType *relabel);

/* ---- monotone expressions ---- */

/* The property of a time that is constant between breaks. */
enum ifp_break_type {
	IFP_BREAK_UTC,	  /* the piece of a time zone in which a timestamp of UTC lies (planner/bucket_finder.c) */
	IFP_BREAK_LOCAL,  /* the piece in which a local time of that zone lies */
	IFP_BREAK_MONTHS, /* the month of a timestamp, its days up to the 28th together, each later day by itself */
	IFP_BREAK_VALUE	  /* the value of an expression of any type */
};

/* Returns the type of a break. A break is a list of three nodes: the expression, the zone (text, without columns; NULL: that of
 * the session), and the type, a Const of int4. */
enum ifp_break_type ifp_break_type(const List *one);

/* True if the expression is monotone in column `attribute` of varno 1 between breaks, which are added to *breaks, and is NULL
 * where the column is NULL. If false, *breaks is unchanged.
 * Requires  the expression calls no volatile function. */
bool ifp_is_monotone(Node *expression, AttrNumber attribute, List **breaks);

/* As ifp_is_monotone(), but with any value where the column is NULL. */
bool ifp_is_monotone_beside_null(Node *expression, AttrNumber attribute, List **breaks);

/* ---- run keys ---- */

struct ifp_run_keys {
	List *expressions; /* Expr, each monotone in the column between the breaks */
	List *breaks;	   /* lists of three Node, see ifp_break_type() */
};

/* Adds the run keys of the expression for column `attribute`. Other columns count as constants. */
void ifp_add_run_keys(Node *expression, AttrNumber attribute, struct ifp_run_keys *keys);

/* Returns a condition x = c with a monotone x as the conditions x >= c and x <= c. Returns NIL if the condition has another
 * form, or has breaks and may_break is false. */
List *ifp_run_key_bounds(Node *condition, AttrNumber attribute, bool may_break);

/* Returns x <> c as x = c, and any other node as it is. */
Node *ifp_as_equality(Node *node);

#endif
