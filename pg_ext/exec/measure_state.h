/* exec/measure_state.h -- State of one measure of a group, which accumulates the folds of its buckets.
 *
 * Each field is used by some types of measures (planner/aggregate_arms.h). Each function that adds names the types it is for.
 */
#ifndef IFP_EXEC_MEASURE_STATE_H
#define IFP_EXEC_MEASURE_STATE_H

#include "pg_ext/planner/aggregate_arms.h"

#include "core/model/aggregate.h"
#include "pg_ext/exec/percentile.h"

/* All zeros if there are no rows. */
struct ifp_measure_state {
	uint64 n;		    /* rows with a non-NULL value */
	bool has_null;		    /* of VALUE and TIME: some rows are NULL */
	iforest_int128 sum;	    /* of integers */
	struct iforest_extreme row; /* of ..._ROW */
	double real_sum;	    /* of finite reals; the others are counted */
	uint64 n_nan, n_plus_infinity, n_minus_infinity;
	union iforest_number min, max; /* of VALUE; of TIME: first and last time; min of FIRST_ROW and LAST_ROW: of `n` values
					* without a time */
	Datum datum; /* CONSTANT: an extreme, a sum of numerics, or the set of distinct values; SKETCH, DISTINCT: the sketch;
		      * NUMBERS: struct ifp_numbers */
	bool has_datum;
};

/* VALUE: adds the fold of n_rows rows. is_real: the column's type. */
void ifp_measure_state_add_value(struct ifp_measure_state *state, const struct iforest_value_aggregate *fold, uint64 n_rows,
				 bool is_real);

/* TIME: adds n rows, whose times are between first and last. */
void ifp_measure_state_add_times(struct ifp_measure_state *state, uint64 n, int64 first, int64 last);

/* CONSTANT: adds n times a real to the sum. */
void ifp_measure_state_add_real(struct ifp_measure_state *state, double real, uint64 n);

/* CONSTANT: replaces the kept datum by a copy of `datum`, allocated in the context. */
void ifp_measure_state_keep_datum(struct ifp_measure_state *state, Datum datum, bool type_by_value, int16 type_length,
				  MemoryContext context);

/* CONSTANT: adds n times a number of a type to the sum, in the current memory context. A sum of numerics is kept in the context. */
void ifp_measure_state_add_to_sum(struct ifp_measure_state *state, Datum datum, Oid type, uint64 n, MemoryContext context);

/* FIRST_ROW, LAST_ROW: adds the fold of rows without a time to `n` and `min`. is_real: the column's type. */
void ifp_measure_state_add_timeless(struct ifp_measure_state *state, const struct iforest_value_aggregate *fold, bool is_real);

/* ..._ROW: replaces the kept row by the fold's row of that type if that is better. is_real: the column's type. */
void ifp_measure_state_add_row(struct ifp_measure_state *state, enum ifp_measure_type type,
			       const struct iforest_value_aggregate *fold, bool is_real);

/* Gives the value of the first row in the order of time, or of the last, from its FIRST_ROW or LAST_ROW and its TIME; NULL: rows
 * without a value do not count. nulls_first: rows without a time come before the others. Returns false if it is NULL. */
bool ifp_measure_state_element(const struct ifp_measure_state *row, const struct ifp_measure_state *times,
			       enum ifp_measure_type type, bool nulls_first, union iforest_number *value);

/* SKETCH, DISTINCT: adds a sketch of that kind; NULL: no values. The state's sketch is allocated in the context. */
void ifp_measure_state_add_sketch(struct ifp_measure_state *state, enum iforest_digest_kind kind, const bytea *sketch,
				  MemoryContext context);

/* NUMBERS: appends the numbers. The state's list is allocated in the context. */
void ifp_measure_state_add_numbers(struct ifp_measure_state *state, const struct ifp_numbers *numbers, MemoryContext context);

/* Returns the sum of reals, NaN and infinities included. Raises an overflow error if the sum of the finite ones overflows. */
double ifp_measure_state_real_sum(const struct ifp_measure_state *state);

#endif
