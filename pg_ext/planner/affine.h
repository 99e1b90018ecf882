/* planner/affine.h -- Expressions of the form a * v + b over one column, over which sums distribute.
 *
 * The sum of a * v + b over n rows is a * sum(v) + b * n, so an index that keeps sum(v) answers it.
 */
#ifndef IFP_PLANNER_AFFINE_H
#define IFP_PLANNER_AFFINE_H

#include "pg_ext/base/engine.h"
#include "nodes/execnodes.h"

/* True if the expression is column `attribute`, or a cast of it that changes no value. */
bool ifp_is_column(Node *expression, AttrNumber attribute);

/* True if the expression is column `attribute`, or a cast of it that changes no value, times finite constants by numeric products:
 * its magnitude rises with that of the column, and the number of digits after the point is that of all its factors. */
bool ifp_is_multiple(Node *expression, AttrNumber attribute);

/* True if the expression is a * v + b of column `attribute`: exact, or for a real type up to rounding and with b = 0. */
bool ifp_is_affine(Node *expression, AttrNumber attribute);

/* True if the expression is affine and consists only of order-preserving steps: casts, adding finite constants, multiplying by
 * finite positive factors. NaN and the infinities of a real column then keep their places in the order. */
bool ifp_is_ascending(Node *expression, AttrNumber attribute);

/* True if the expression is nondecreasing in column `attribute`, and NULL exactly where the column is: it consists of the steps
 * of ifp_is_ascending(), division by positive constants, and rounding. */
bool ifp_is_rising(Node *expression, AttrNumber attribute);

/* The constants of an affine expression. a and b are numerics. For a real type the factor is real_a * 2^real_exponent: the
 * product of several factors may overflow a double even if its product with a value does not. */
struct ifp_affine {
	bool is_real;
	Datum a, b;
	double real_a;
	int real_exponent;
};

/* Evaluates the parts without columns, in the current memory context. Returns false if one of them is NULL. Errors of the
 * evaluation are raised.
 * Requires  ifp_is_affine(expression, attribute). */
bool ifp_affine_read(Node *expression, AttrNumber attribute, ExprContext *econtext, struct ifp_affine *result);

#endif
