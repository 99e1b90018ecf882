/* planner/expression.h -- Expressions of a query: their columns and functions, and the values they may have. */
#ifndef IFP_PLANNER_EXPRESSION_H
#define IFP_PLANNER_EXPRESSION_H

#include "pg_ext/base/engine.h"

#include "nodes/pg_list.h"
#include "nodes/primnodes.h"

/* ---- columns and calls ---- */

/* True if the expression mentions column `attribute` of varno 1; if it mentions another column; if it mentions any. */
bool ifp_mentions(Node *expression, AttrNumber attribute);
bool ifp_mentions_others(Node *expression, AttrNumber attribute);
bool ifp_has_columns(Node *expression);

/* Returns the function that a node calls, and its arguments; InvalidOid and NIL if it calls none, or one whose result stands for a
 * value of another type. */
Oid ifp_called_function(Node *node, List **arguments);

/* Rewrites CASE x WHEN y ... as CASE WHEN x = y ...; returns any other node unchanged. */
Node *ifp_case_conditions(Node *node);

/* ---- infinities and NaN ---- */

/* True if a constant of the expression is infinite or NaN, or a parameter of it may be. */
bool ifp_may_be_infinite(Node *expression);

/* True if the expression may turn an infinity into NaN: ifp_may_be_infinite() is true, a constant is 0, or it computes a
 * remainder. NaN sorts last, so -infinity and infinity may then give the same value although values between them differ. */
bool ifp_may_make_nan(Node *expression);

/* ---- equal and identical values ---- */

/* True if equal values of the expression have the same text form. That fails for numerics of varying scale, for types whose
 * B-tree does not guarantee it, and for text under a nondeterministic collation. */
bool ifp_equal_is_identical(Node *expression);

/* True for a numeric constant 10^k of at most 100 digits. */
bool ifp_is_power_of_ten(Node *node);

/* True for a numeric of at most 19 digits, perhaps times 1.0, divided by a constant 10^k. Although its scale varies, equal
 * values have the same text form. */
bool ifp_is_decimal_quotient(Node *expression);

/* True if equal values of two expressions of one type have the same text form. Numerics: if type or value tell the scale.
 * Requires  ifp_equal_is_identical() of both. */
bool ifp_are_written_alike(Node *a, Node *b);

#endif
