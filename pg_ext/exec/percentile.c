#include "pg_ext/exec/percentile.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/* ---- numbers ---- */

static void reserve(struct ifp_numbers *numbers, Size n, MemoryContext context)
{
	if (n <= numbers->n_reserved)
		return;
	n = Max(Max(n, 2 * numbers->n_reserved), 32);
	if (numbers->list)
		numbers->list = repalloc_huge(numbers->list, n * sizeof *numbers->list);
	else
		numbers->list = MemoryContextAllocHuge(context, n * sizeof *numbers->list);
	numbers->n_reserved = n;
}

void ifp_numbers_add(struct ifp_numbers *numbers, union iforest_number number, MemoryContext context)
{
	reserve(numbers, numbers->n + 1, context);
	numbers->list[numbers->n++] = number;
	numbers->is_sorted = false;
}

void ifp_numbers_append(struct ifp_numbers *numbers, const struct ifp_numbers *others, MemoryContext context)
{
	if (others->n == 0)
		return;
	reserve(numbers, numbers->n + others->n, context);
	memcpy(numbers->list + numbers->n, others->list, others->n * sizeof *others->list);
	numbers->n += others->n;
	numbers->is_sorted = false;
}

#define ST_SORT sort_integers
#define ST_ELEMENT_TYPE union iforest_number
#define ST_COMPARE(a, b) (((a)->integer > (b)->integer) - ((a)->integer < (b)->integer))
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

#define ST_SORT sort_reals
#define ST_ELEMENT_TYPE union iforest_number
#define ST_COMPARE(a, b) iforest_number_compare(*(a), *(b), IFOREST_FLOAT64)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

void ifp_numbers_sort(struct ifp_numbers *numbers, enum iforest_value_type type)
{
	if (numbers->is_sorted)
		return;
	if (type == IFOREST_INT64)
		sort_integers(numbers->list, numbers->n);
	else
		sort_reals(numbers->list, numbers->n);
	numbers->is_sorted = true;
}

/* ---- percentiles ---- */

struct ifp_percentile {
	bool is_continuous, is_array; /* of fractions */
	ExprState *fraction;
	FmgrInfo before;
	Oid collation, type; /* of the argument */
	int16 type_length;
	bool type_by_value;
	char type_alignment;
};

struct ifp_percentile *ifp_percentile_begin(Aggref *aggregate)
{
	struct ifp_percentile *percentile = palloc0(sizeof *percentile);
	Expr *fraction = linitial(aggregate->aggdirectargs);

	percentile->type = exprType((Node *)linitial_node(TargetEntry, aggregate->args)->expr);
	percentile->is_array = exprType((Node *)fraction) != FLOAT8OID;
	/* both functions have the same types for double precision: only the name tells them apart */
	percentile->is_continuous = strcmp(get_func_name(aggregate->aggfnoid), "percentile_cont") == 0;
	percentile->fraction = ExecInitExpr(fraction, NULL);
	percentile->collation = aggregate->inputcollid;
	fmgr_info(get_opcode(linitial_node(SortGroupClause, aggregate->aggorder)->sortop), &percentile->before);
	get_typlenbyvalalign(percentile->type, &percentile->type_length, &percentile->type_by_value,
			     &percentile->type_alignment);
	return percentile;
}

bool ifp_percentile_is_before(struct ifp_percentile *percentile, Datum a, Datum b)
{
	return DatumGetBool(FunctionCall2Coll(&percentile->before, percentile->collation, a, b));
}

static void check_fraction(double fraction)
{
	if (fraction < 0 || fraction > 1 || isnan(fraction))
		ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			errmsg("percentile value %g is not between 0 and 1", fraction));
}

static Datum at_fraction(const struct ifp_percentile *percentile, double fraction, uint64 n, ifp_argument_at *argument_at,
			 void *context)
{
	double place = fraction * (double)(n - 1), lower, upper;

	if (!percentile->is_continuous) {
		uint64 row = (uint64)ceil(fraction * (double)n);

		return argument_at(context, Max(row, 1));
	}
	lower = DatumGetFloat8(argument_at(context, 1 + (uint64)floor(place)));
	if (ceil(place) == floor(place))
		return Float8GetDatum(lower);
	upper = DatumGetFloat8(argument_at(context, 1 + (uint64)ceil(place)));
	return Float8GetDatum(lower + (place - floor(place)) * (upper - lower));
}

static Datum at_fractions(const struct ifp_percentile *percentile, ArrayType *fractions, uint64 n, ifp_argument_at *argument_at,
			  void *context)
{
	Datum *elements, *results;
	bool *are_null;
	int n_fractions;

	deconstruct_array(fractions, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &elements, &are_null,
			  &n_fractions);
	if (n_fractions == 0)
		return PointerGetDatum(construct_empty_array(percentile->type));
	for (int i = 0; i < n_fractions; i++)
		if (!are_null[i])
			check_fraction(DatumGetFloat8(elements[i]));
	results = palloc0((Size)n_fractions * sizeof *results);
	for (int i = 0; i < n_fractions; i++)
		if (!are_null[i])
			results[i] = at_fraction(percentile, DatumGetFloat8(elements[i]), n, argument_at, context);
	return PointerGetDatum(construct_md_array(results, are_null, ARR_NDIM(fractions), ARR_DIMS(fractions),
						  ARR_LBOUND(fractions), percentile->type, percentile->type_length,
						  percentile->type_by_value, percentile->type_alignment));
}

Datum ifp_percentile_result(struct ifp_percentile *percentile, ExprContext *econtext, uint64 n, ifp_argument_at *argument_at,
			    void *context, bool *is_null)
{
	Datum fraction = ExecEvalExpr(percentile->fraction, econtext, is_null);

	if (*is_null)
		return (Datum)0;
	/* a single fraction is checked even if there are no rows */
	if (!percentile->is_array)
		check_fraction(DatumGetFloat8(fraction));
	*is_null = n == 0;
	if (n == 0)
		return (Datum)0;
	if (percentile->is_array)
		return at_fractions(percentile, DatumGetArrayTypeP(fraction), n, argument_at, context);
	return at_fraction(percentile, DatumGetFloat8(fraction), n, argument_at, context);
}
