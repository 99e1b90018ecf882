/* base/safe_eval.h -- Evaluation of expressions at points that a plain plan would not visit; data errors are caught.
 *
 * An error at such a point must not end the query. Only data errors are caught (SQLSTATE class 22, "feature not supported", and
 * indeterminate collations), and only those of functions that hold nothing but memory when they raise an error
 * (base/known_functions.h), as there is no subtransaction that would release anything else. All others are foreign functions,
 * also those that get a value of a type with code of its own; an expression that calls one is evaluated without catching.
 * Subqueries that give parameters run earlier, and their errors are not caught.
 */
#ifndef IFP_BASE_SAFE_EVAL_H
#define IFP_BASE_SAFE_EVAL_H

#include "pg_ext/base/engine.h"

#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"

/* ---- functions that an expression calls ---- */

/* True if the expression may call a function for which is_meant(function, NULL) is true. Unknown nodes, such as domain
 * constraints, count as true. */
bool ifp_may_call(Node *node, check_function_callback is_meant);

/* True if the expression may run other code than that of PostgreSQL and of this extension, or code that holds more than memory. */
bool ifp_calls_foreign_functions(Node *node);

/* ---- evaluation ---- */

struct ifp_safe_expression {
	ExprState *state;
	Bitmapset *parameters; /* that subqueries may give */
	bool may_catch;
};

/* Prepares an expression, in the current memory context. */
struct ifp_safe_expression ifp_safe_eval_prepare(Expr *expression);

/* Evaluates in the econtext's per-tuple memory. Returns false if an error was caught, and stores it in *error (unless `error`
 * is NULL), in the current memory context, for ReThrowError(). */
bool ifp_safe_eval(const struct ifp_safe_expression *expression, ExprContext *econtext, Datum *value, bool *is_null,
		   ErrorData **error);

#endif
