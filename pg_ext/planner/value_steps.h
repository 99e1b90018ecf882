/* planner/value_steps.h -- Steps of an integer value column between the bounds of its histogram, and expressions that are
 * constant on each of them.
 *
 * A histogram with n bounds cuts the integers into n + 1 steps: step 0 is up to the first bound, step i above bound i - 1 and up
 * to bound i, step n above all bounds. Step n + 1 is NULL. A set of steps is a bit each. How many values lie in it follows from
 * the histogram's counts.
 *
 * Proof. An expression that is monotone in the column and has no other (planner/monotone.h) is constant on a step if it has the
 * same value at both its ends. What is computed from such expressions, and from other columns, hangs on the step alone. So a
 * condition or group key becomes one expression for each of a few sets of steps, its pieces, without the value column:
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

/* True for a node of the kinds from which bounds may be drawn, whatever columns it has; but for divisions. */
bool ifp_value_steps_may_draw(Node *node);

/* Draws bounds from conditions (and other expressions that change seldom) on value columns, and from divisions in arguments, where no histogram has them: sets
 * query->drawn and adds histograms to query->accumulators. Of integers, numerics and reals. Returns false if there are no such
 * conditions, or too many bounds.
 * Requires  expressions over the index's columns; their elements may be NULL.
 * Cost      O(64) evaluations of each condition. */
bool ifp_value_steps_draw(struct ifp_index_query *query, List *conditions, List *arguments);

/* Returns expressions in which every CASE has conditions, lists are taken apart, and coalesce() of a column is a CASE. */
Node *ifp_value_steps_normalize(Node *expressions);

/* Adds the bounds of a comparison of a value column with what is known, or the like, to those that are there, in ascending order.
 * Returns false if it is none, or if there is no room; then there may be bounds that are not needed.
 * Requires  the expression has no other column; bounds has IFOREST_MAX_BOUNDS elements. */
bool ifp_value_steps_draw_leaf(const struct ifp_index_query *query, int value, Node *expression, int64 *bounds, int *n_bounds);

/* Gives the values on steps that follow one another, as integers that sort alike (reals by ifp_key_from_double()). Returns false if
 * the step is NULL. */
bool ifp_value_steps_range(const struct ifp_index_query *query, int histogram, uint64 steps, int64 *low, int64 *high);

/* Adds, for each value column without a histogram, one without bounds, which no index keeps: its steps are values and NULL, and
 * every node has their counts. Of any type of column, for only IS [NOT] NULL is constant on them. None is added if there is no
 * room for all of them beside `n_others` accumulators. */
void ifp_value_steps_add_boundless(struct iforest_accumulators *accumulators, unsigned n_others, unsigned n_values);

/* True if an index keeps the accumulator. */
static inline bool ifp_value_steps_is_kept(const struct iforest_accumulators *accumulators, unsigned a)
{
	return accumulators->list[a].n_words > 0;
}

/* The expressions, without the value column, as they are on a set of steps. */
struct ifp_piece {
	uint64 steps;
	List *expressions;
};

enum ifp_steps_result {
	IFP_STEPS_FOUND,
	IFP_STEPS_NO_HISTOGRAM, /* they mention none or several value columns, or more than NULLs of one without a histogram; or
				 * none or several of the drawn histograms can split them */
	IFP_STEPS_NO_BOUNDS,	/* a condition is not constant between its bounds */
	IFP_STEPS_NO_CONSTANT	/* something else is not */
};

/* Splits expressions over the index's columns into *pieces (list of struct ifp_piece), which together have all steps of a
 * histogram. *histogram is its number in query->accumulators; -1 if there is none. Elements of `expressions` may be NULL. Of a
 * drawn histogram the pieces may still have value columns, outside of conditions.
 * Cost      O(n) evaluations for n bounds; O(log n) for a comparison. */
enum ifp_steps_result ifp_value_steps_split(const struct ifp_index_query *query, List *expressions, int *histogram,
					    List **pieces);

/* Returns a condition over the index's columns that is true of the values on steps that follow one another, or of NULL: for
 * estimates. */
Node *ifp_value_steps_condition(const struct ifp_index_query *query, int histogram, uint64 steps);

/* Returns how many rows of a fold are on the steps, by the histogram `a` of `accumulators`. */
uint64 ifp_value_steps_count(const struct iforest_accumulators *accumulators, unsigned a, uint64 steps,
			     const struct iforest_aggregate *fold);

/* True if that needs the number of values that are not NULL. */
bool ifp_value_steps_need_values(const struct iforest_accumulators *accumulators, unsigned a, uint64 steps);

/* Writes a value on one of the steps; *is_null if that is NULL.
 * Requires  steps of one piece, of expressions that are to be evaluated at that value. */
Datum ifp_value_steps_datum(const struct ifp_index_query *query, int histogram, uint64 steps, bool *is_null);

#endif
