/* planner/affine.h -- Expressions of the form a * v + b over one column, over which sums distribute. */
#ifndef IFP_PLANNER_AFFINE_H
#define IFP_PLANNER_AFFINE_H

#include "pg_ext/base/engine.h"
#include "nodes/execnodes.h"

/* Is the expression column `attribute`, or a cast of it that changes no value? */
bool ifp_is_column(Node *expression, AttrNumber attribute);

/* Is the expression that, exactly, of column `attribute`? Of a real type: within rounding, and without b. */
bool ifp_is_affine(Node *expression, AttrNumber attribute);

/* a and b: numerics; or where the expression is of a real type, real_a * 2^real_exponent: what several factors make of one
 * another may be beyond what a double can hold, and yet not what they make of a value. */
struct ifp_affine {
	bool is_real;
	Datum a, b;
	double real_a;
	int real_exponent;
};

/* Evaluates the parts without columns, in the current memory context. False where one is NULL. */
bool ifp_affine_read(Node *expression, AttrNumber attribute, ExprContext *econtext, struct ifp_affine *result);

/* Is it, besides, ascending by plain steps (casts, and finite constants added or multiplied by), so that NaN and the infinities
 * of a real column stay where they are in the order? */
bool ifp_is_ascending(Node *expression, AttrNumber attribute);

#endif
