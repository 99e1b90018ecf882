/* planner/value_steps.h -- Steps of a value column between the bounds of its histogram, and expressions that are constant on
 * each.
 *
 * A histogram with n bounds cuts the integers into n + 1 steps: step 0 is up to the first bound, step i above bound i - 1 and
 * up to bound i, step n above all bounds. Step n + 1 is NULL. A set of steps is a bit mask. The histogram's counts tell how
 * many values are in it.
 *
 * Proof. An expression that is monotone in the column and has no other column (planner/monotone.h) is constant on a step if it
 * has the same value at both ends. Anything computed from such expressions and other columns depends on the value column only
 * through the step. So a condition or group key becomes a few pieces: sets of steps, each with an expression without the value
 * column:
 *
 *   host = 'a' AND took > 500     ->     took up to 500, NULL: host = 'a' AND false;  took above 500: host = 'a' AND true
 *
 * Expressions are evaluated while the query is planned, so parameters in them have to be known.
 */
#ifndef IFP_PLANNER_VALUE_STEPS_H
#define IFP_PLANNER_VALUE_STEPS_H

#include "pg_ext/planner/index_query.h"

#include "core/model/aggregate.h"

#define IFP_ALL_STEPS PG_UINT64_MAX

/* True for the kinds of nodes from which bounds may be drawn, except divisions, whatever columns they have. */
bool ifp_value_steps_may_draw(Node *node);

/* Draws bounds that no histogram has from conditions (and other slowly changing expressions) on integer, numeric and real value
 * columns, and from divisions in arguments: sets query->drawn and adds histograms to query->accumulators. Returns false if
 * there are no such conditions, or too many bounds.
 * Requires  expressions over the index's columns; their elements may be NULL.
 * Cost      O(64) evaluations of each condition. */
bool ifp_value_steps_draw(struct ifp_index_query *query, List *conditions, List *arguments);

/* Returns the expressions with CASE x WHEN y rewritten by conditions, lists expanded, and coalesce() of a column as a CASE. */
Node *ifp_value_steps_normalize(Node *expressions);

/* Adds the bounds of a comparison of a value column with known values, or of a similar condition, to `bounds`, in ascending
 * order. Returns false if it is not one, or if there is no room; unneeded bounds may then have been added.
 * Requires  the expression has no other column; bounds has IFOREST_MAX_BOUNDS elements. */
bool ifp_value_steps_draw_leaf(const struct ifp_index_query *query, int value, Node *expression, int64 *bounds, int *n_bounds);

/* Gives the range of values on adjacent steps, as integers of the same order (reals by ifp_key_from_double()). Returns false if
 * the step is NULL. */
bool ifp_value_steps_range(const struct ifp_index_query *query, int histogram, uint64 steps, int64 *low, int64 *high);

/* Adds for each value column without a histogram, of any type, one without bounds. No index keeps it: its steps are non-NULL
 * and NULL, whose counts every node has, and only IS [NOT] NULL is constant on them. Adds none if there is no room for all of
 * them beside `n_others` accumulators. */
void ifp_value_steps_add_boundless(struct iforest_accumulators *accumulators, unsigned n_others, unsigned n_values);

/* True if an index keeps the accumulator. */
static inline bool ifp_value_steps_is_kept(const struct iforest_accumulators *accumulators, unsigned a)
{
	return accumulators->list[a].n_words > 0;
}

/* A set of steps, and the expressions on it, without the value column. */
struct ifp_piece {
	uint64 steps;
	List *expressions;
};

enum ifp_steps_result {
	IFP_STEPS_FOUND,
	IFP_STEPS_NO_HISTOGRAM, /* they mention no or several value columns, or test more than NULL of one without a histogram;
				 * or none or several of the drawn histograms can split them */
	IFP_STEPS_NO_BOUNDS,	/* a condition is not constant between the histogram's bounds */
	IFP_STEPS_NO_CONSTANT	/* another expression is not */
};

/* Splits expressions over the index's columns into *pieces (list of struct ifp_piece), which together cover all steps of a
 * histogram. *histogram is its index in query->accumulators, or -1. Elements of `expressions` may be NULL. The pieces of a
 * drawn histogram may still have value columns outside conditions.
 * Cost      O(n) evaluations for n bounds; O(log n) for a comparison. */
enum ifp_steps_result ifp_value_steps_split(const struct ifp_index_query *query, List *expressions, int *histogram,
					    List **pieces);

/* Returns a condition over the index's columns that is true for the values on adjacent steps, or for NULL. Used for
 * estimates. */
Node *ifp_value_steps_condition(const struct ifp_index_query *query, int histogram, uint64 steps);

/* Returns the number of rows of a fold on the steps, according to histogram `a` of `accumulators`. */
uint64 ifp_value_steps_count(const struct iforest_accumulators *accumulators, unsigned a, uint64 steps,
			     const struct iforest_aggregate *fold);

/* True if ifp_value_steps_count() needs the fold's number of non-NULL values. */
bool ifp_value_steps_need_values(const struct iforest_accumulators *accumulators, unsigned a, uint64 steps);

/* Returns a value on one of the steps, at which expressions of a piece can be evaluated; sets *is_null if it is NULL.
 * Requires  steps are those of one piece of these expressions. */
Datum ifp_value_steps_datum(const struct ifp_index_query *query, int histogram, uint64 steps, bool *is_null);

#endif
