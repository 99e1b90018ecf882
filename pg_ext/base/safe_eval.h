/* base/safe_eval.h -- Evaluation of expressions at points that a plain plan would not visit; data errors are caught.
 *
 * An error at such a point must not end the query. Only data errors are caught (SQLSTATE class 22, "feature not supported", and
 * indeterminate collations), and only those of PostgreSQL's and this extension's functions, which hold nothing but memory when
 * they raise an error. All others are foreign functions; an expression that calls one is evaluated without catching. Subqueries
 * that give parameters run earlier, and their errors are not caught.
 */
#ifndef IFP_BASE_SAFE_EVAL_H
#define IFP_BASE_SAFE_EVAL_H

#include "pg_ext/base/engine.h"

#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"

/* ---- functions that an expression calls ---- */

/* Returns the name of a function or aggregate of this extension, in the current memory context; NULL for any other. Functions
 * are identified by OID, whatever schema the extension is installed in. */
const char *ifp_extension_function(Oid function);

/* True if the function is this extension's function of that name. */
bool ifp_is_extension_function(Oid function, const char *name);

/* True if the expression may call a function for which is_meant(function, NULL) is true. Unknown nodes, such as domain
 * constraints, count as true. */
bool ifp_may_call(Node *node, check_function_callback is_meant);

/* True if the expression may call functions other than those of PostgreSQL and of this extension. */
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
