/* base/safe_eval.h -- Evaluation of expressions where a plain plan would not; errors in data are caught and returned.
 *
 * What they raise there must not end the query.
 *
 * Only errors in data are caught (SQLSTATE class 22, "feature not supported", and collations that are not known), and only
 * those of functions of PostgreSQL and of this extension, which hold nothing but memory when they raise them. So a subquery
 * that gives a parameter is run before: what it raises is not caught.
 */
#ifndef IFP_BASE_SAFE_EVAL_H
#define IFP_BASE_SAFE_EVAL_H

#include "pg_ext/base/engine.h"

#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"

struct ifp_safe_expression {
	ExprState *state;
	Bitmapset *parameters; /* that subqueries may give */
	bool may_catch;
};

/* May an expression call a function of which is_meant(function, NULL) is true? Of nodes not known here, as the conditions of a
 * domain, nothing is assumed: they may. */
bool ifp_may_call(Node *node, check_function_callback is_meant);

/* May it call others than functions of PostgreSQL and of this extension? */
bool ifp_calls_foreign_functions(Node *node);

/* Prepares, in the current memory context. */
struct ifp_safe_expression ifp_safe_eval_prepare(Expr *expression);

/* Evaluates in the econtext's short-lived memory. False if an error was caught: it is *error, in the current memory context,
 * for ReThrowError(). error may be NULL. */
bool ifp_safe_eval(const struct ifp_safe_expression *expression, ExprContext *econtext, Datum *value, bool *is_null,
		   ErrorData **error);

/* Functions of this extension, told by their OID wherever the extension has its schema. */

/* The name of a function or aggregate that belongs to this extension; NULL of all others. In the current memory context. */
const char *ifp_extension_function(Oid function);

/* Is it the one of that name? */
bool ifp_is_extension_function(Oid function, const char *name);

#endif
