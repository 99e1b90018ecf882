/* planner/monotone.h -- Monotone expressions of one column: proof, breaks, and the run keys at whose changes alone a value
 * can change.
 *
 * Expressions are proven, not recognised: an expression is monotone in a column if the column itself is all it has, or if it is
 * a function from the list in planner/monotone.c, or this extension's own (iforest_bucket_of), of one monotone argument, its other
 * arguments having no column. Where f is monotone and f(a) = f(b), it is the same everywhere between: so the ends of a bucket
 * are found by evaluating the very expression, by galloping (planner/bucket_finder.h).
 *
 * Conversions between local time and UTC are monotone only between the transitions of the time zone: they add breaks, and an
 * expression is monotone between its breaks. So are times to which months are added, between the last days of months, and a
 * time less a multiple of days that hangs on the day of the week, while that stays the same. Any other function keeps its value
 * where its arguments keep theirs: so the run keys of an expression are the largest monotone expressions in it, whatever is
 * done to them.
 */
#ifndef IFP_PLANNER_MONOTONE_H
#define IFP_PLANNER_MONOTONE_H

#include "pg_ext/base/engine.h"

#include "nodes/pg_list.h"
#include "nodes/primnodes.h"

/* What is the same for two times if nothing breaks the order between them. */
enum ifp_break_type {
	IFP_BREAK_UTC,	  /* the piece of a time zone that a timestamp of UTC lies in (planner/bucket_finder.c) */
	IFP_BREAK_LOCAL,  /* the same for local time of that zone */
	IFP_BREAK_MONTHS, /* the days of a month up to the 28th, or one of the others, in which a timestamp lies */
	IFP_BREAK_VALUE	  /* the value of an expression of any type */
};

/* A break node is a list of three: the expression, the zone (text, without columns; NULL: that of the session), and the kind, a
 * Const of int4. */
struct ifp_run_keys {
	List *expressions; /* Expr, each monotone in the column between the breaks */
	List *breaks;	   /* List of three Node */
};

enum ifp_break_type ifp_break_type(const List *one);

/* Is the expression monotone in column `attribute` of varno 1, between the breaks that are added to *breaks, and NULL where the
 * column is? Requires  no volatile function in it. Where it is not, *breaks stays as it was. */
bool ifp_is_monotone(Node *expression, AttrNumber attribute, List **breaks);

/* The same, whatever it is where the column is NULL. */
bool ifp_is_monotone_beside_null(Node *expression, AttrNumber attribute, List **breaks);

/* Is a constant of it infinite or NaN, or a parameter that may be? */
bool ifp_may_be_infinite(Node *expression);

/* The same, or is one 0, or is a remainder taken: may it make NaN of an infinity? That comes after all others, so what is made
 * of the infinities at both ends of a column may be equal, and nothing between them. */
bool ifp_may_make_nan(Node *expression);

/* Does a RelabelType leave values in their order? Not so where an int4 becomes an oid, say. */
bool ifp_keeps_order(const RelabelType *relabel);

/* x = c, x being monotone, as x >= c and x <= c; NIL if the condition is none such, or has breaks where it may not. */
List *ifp_run_key_bounds(Node *condition, AttrNumber attribute, bool may_break);

/* Adds what decides where the expression changes with column `attribute`. Other columns are taken as constants. */
void ifp_add_run_keys(Node *expression, AttrNumber attribute, struct ifp_run_keys *keys);

/* Are equal values of this expression also written alike? Numbers of type numeric are not where their scale varies; nor
 * are values of types without that promise, or text under a nondeterministic collation. */
bool ifp_equal_is_identical(Node *expression);

/* Are equal values of two such expressions of one type written alike? Known of numbers whose scale their type or value
 * tells. */
bool ifp_are_written_alike(Node *a, Node *b);

/* Does it mention column `attribute` of varno 1; any column? */
bool ifp_mentions(Node *expression, AttrNumber attribute);
bool ifp_has_columns(Node *expression);

#endif
