#include "pg_ext/exec/agg_state.h"

#include <math.h>

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/datum.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/syscache.h"

#include "core/model/aggregate.h"
#include "pg_ext/exec/distinct_values.h"
#include "pg_ext/planner/affine.h"
#include "pg_ext/planner/aggregate_arms.h"
#include "pg_ext/planner/value_steps.h"
#include "pg_ext/storage/heap_visibility.h"
#include "pg_ext/types/sketch_datum.h"
#include "pg_ext/types/values.h"

struct measure {
	const struct ifp_arm *arm; /* the first that needs it, and its aggregate */
	const Aggref *aggregate;
	enum ifp_measure_type type;
	List *conditions;      /* ExprStates */
	int value;	       /* of VALUE, ..._ROW, SKETCH, DISTINCT and NUMBERS */
	int accumulator;       /* index in query->accumulators of the one that VALUE or PAIR needs; -1: none */
	int word;	       /* index of its first word in a group's state */
	bool has_min, has_max; /* of VALUE: its least, greatest value is needed */
	bool has_timeless;     /* of FIRST_ROW and LAST_ROW: a value of rows without a time is needed, too */
	/* of CONSTANT */
	ExprState *expression;
	enum ifp_agg_function function; /* the aggregate function that combines the constants */
	Oid datum_type, collation;
	int16 type_length;
	bool type_by_value;
	FmgrInfo better;		      /* of extremes: better(new, old) is true if new replaces old */
	struct ifp_distinct_values *distinct; /* of the aggregate, if each value counts once; else NULL */
};

/* An arm of an aggregate: its measure, and the expression over it. */
struct arm {
	int measure;
	Node *expression;
	ExprState *state;		 /* of VALUE and TIME, unless is_plain: the expression over the column */
	bool is_plain;			 /* the column itself */
	enum iforest_pair_function pair; /* of PAIR, and whether x is its accumulator's first column */
	bool is_swapped;
	AttrNumber attribute;
	struct ifp_affine affine; /* of sums over a value column, unless is_plain */
	bool has_affine;	  /* false: a constant is NULL, hence each value */
	bool is_read;		  /* affine has been read since the last rescan */
};

struct result {
	enum ifp_agg_function function;
	Oid type, argument_type;
	struct arm *arms;
	int n_arms;
	bool nulls_first;		   /* of ELEMENT: rows without a time are */
	struct ifp_percentile *percentile; /* NULL: not a percentile */
	FmgrInfo better;
	Oid collation;
	struct ifp_distinct_values *distinct; /* NULL: all rows count */
};

struct ifp_agg_states {
	MemoryContext parameters; /* of arm.affine */
	const struct ifp_index_query *query;
	const struct ifp_definition *definition;
	ExprContext *econtext;
	struct measure *measures;
	int n_measures, n_words;
	struct result *results;
	int n_results;
	Relation heap; /* NULL: there are several */
	Snapshot snapshot;
	const struct ifp_value_pass *pass; /* NULL: all rows are read at once */
	bool has_index;
	/* if has_index and the query needs any: those of the index being read, and where each of query->accumulators is there */
	struct iforest_accumulators accumulators;
	unsigned in_index[IFOREST_MAX_ACCUMULATORS];
};

/* ---- measures ---- */

/* Finds the operator of an extreme: better(a, b) means that a replaces b. */
static void find_better(Aggref *aggregate, FmgrInfo *better)
{
	HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate->aggfnoid));
	Oid operator;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggregate->aggfnoid);
	operator=((Form_pg_aggregate)GETSTRUCT(tuple))->aggsortop;
	ReleaseSysCache(tuple);
	fmgr_info(get_opcode(operator), better);
}

/* True if an arm can share a measure. How constants are combined depends on the aggregate. */
static bool is_measure_of(const struct measure *measure, const Aggref *aggregate, const struct ifp_arm *arm)
{
	const struct ifp_arm *other = measure->arm;

	return other->type == arm->type && other->value == arm->value && other->accumulator == arm->accumulator &&
	       other->histogram == arm->histogram && other->steps == arm->steps && equal(other->conditions, arm->conditions) &&
	       equal(other->wanted, arm->wanted) &&
	       (arm->type != IFP_MEASURE_CONSTANT ||
		(equal(measure->aggregate, aggregate) && equal(other->expression, arm->expression)));
}

static int add_measure(struct ifp_agg_states *aggs, Aggref *aggregate, enum ifp_agg_function function,
		       const struct ifp_arm *arm)
{
	struct measure *measure = &aggs->measures[aggs->n_measures];

	for (int i = 0; i < aggs->n_measures; i++)
		if (is_measure_of(&aggs->measures[i], aggregate, arm))
			return i;
	*measure = (struct measure){ .arm = arm,
				     .aggregate = aggregate,
				     .type = arm->type,
				     .conditions = ExecInitExprList(arm->conditions, NULL),
				     .value = arm->value,
				     .accumulator = arm->accumulator,
				     .function = function };
	if (arm->type == IFP_MEASURE_PAIR) {
		measure->word = aggs->n_words;
		aggs->n_words += aggs->query->accumulators.list[arm->accumulator].n_words;
	}
	if (arm->type == IFP_MEASURE_CONSTANT) {
		measure->expression = ExecInitExpr((Expr *)arm->expression, NULL);
		measure->datum_type = exprType(arm->expression);
		measure->collation = aggregate->inputcollid;
		get_typlenbyval(measure->datum_type, &measure->type_length, &measure->type_by_value);
		if (function == IFP_AGG_MIN || function == IFP_AGG_MAX)
			find_better(aggregate, &measure->better);
	}
	return aggs->n_measures++;
}

/* Makes the measure use an accumulator of its value column, which all indexes keep. */
static void need_accumulator(struct ifp_agg_states *aggs, struct measure *measure, enum iforest_kind_code code)
{
	const struct iforest_accumulators *kept = &aggs->query->accumulators;

	if (measure->accumulator >= 0)
		return;
	measure->accumulator = iforest_accumulators_named(kept, code, (unsigned)measure->value, IFOREST_NO_VALUE);
	measure->word = aggs->n_words;
	aggs->n_words += kept->list[measure->accumulator].n_words;
}

/* Returns the words of a measure's accumulator in a group's state. */
static uint64 *words_of(const struct ifp_agg_states *aggs, const struct ifp_measure_state *states,
			const struct measure *measure)
{
	return (uint64 *)(states + Max(aggs->n_measures, 1)) + measure->word;
}

/* Notes what a measure needs. Expressions need both extremes of their column, to raise their errors; so do percentiles. */
static void need(struct ifp_agg_states *aggs, struct measure *measure, enum ifp_agg_function function, bool is_plain)
{
	if (ifp_agg_function_needs_squares(function) && measure->type == IFP_MEASURE_VALUE)
		need_accumulator(aggs, measure, IFOREST_KIND_SQUARES);
	measure->has_timeless = measure->has_timeless || (function == IFP_AGG_ELEMENT && measure->type != IFP_MEASURE_TIME);
	is_plain = is_plain && !ifp_agg_function_is_percentile(function);
	measure->has_min = measure->has_min || !is_plain || function == IFP_AGG_MIN || measure->type == IFP_MEASURE_MIN_ROW;
	measure->has_max = measure->has_max || !is_plain || function == IFP_AGG_MAX || measure->type == IFP_MEASURE_MAX_ROW;
}

/* Prepares a result whose function and arms have been read. */
static void begin_result(struct ifp_agg_states *aggs, Aggref *aggregate, List *arms, struct result *result)
{
	const struct ifp_index_query *query = aggs->query;
	ListCell *cell;

	result->type = aggregate->aggtype;
	result->argument_type =
		aggregate->args == NIL ? InvalidOid : exprType((Node *)linitial_node(TargetEntry, aggregate->args)->expr);
	result->collation = aggregate->inputcollid;
	result->nulls_first = aggregate->aggorder != NIL && linitial_node(SortGroupClause, aggregate->aggorder)->nulls_first;
	result->arms = palloc0((list_length(arms) + 1) * sizeof *result->arms);
	if (ifp_agg_function_is_percentile(result->function))
		result->percentile = ifp_percentile_begin(aggregate);
	if (ifp_aggregate_is_distinct(aggregate, query))
		result->distinct = ifp_distinct_values_begin(aggregate, aggs->econtext);
	foreach (cell, arms) {
		const struct ifp_arm *from = lfirst(cell);
		struct arm *arm = &result->arms[result->n_arms++];

		*arm = (struct arm){ .measure = add_measure(aggs, aggregate, result->function, from),
				     .expression = from->expression,
				     .pair = from->pair,
				     .is_swapped = from->is_swapped,
				     .attribute = ifp_time_attribute(query) };
		arm->is_plain = from->expression && IsA(from->expression, Var);
		need(aggs, &aggs->measures[arm->measure], result->function, arm->is_plain);
		aggs->measures[arm->measure].distinct = result->distinct;
		if (from->type == IFP_MEASURE_VALUE)
			arm->attribute = (AttrNumber)(query->n_by + 2 + from->value);
		if ((from->type == IFP_MEASURE_VALUE || from->type == IFP_MEASURE_TIME) && !arm->is_plain)
			arm->state = ExecInitExpr((Expr *)from->expression, NULL);
	}
	/* of a plain column there is one candidate */
	if ((result->function == IFP_AGG_MIN || result->function == IFP_AGG_MAX) &&
	    (result->n_arms != 1 || !result->arms[0].is_plain))
		find_better(aggregate, &result->better);
}

struct ifp_agg_states *ifp_agg_states_begin(const struct ifp_index_query *query, const struct ifp_definition *definition,
					    ExprContext *econtext)
{
	struct ifp_agg_states *aggs = palloc(sizeof *aggs);
	List *arms_of_all = NIL;
	int most = 0;
	ListCell *cell, *arms_cell;

	memset(aggs, 0, offsetof(struct ifp_agg_states, accumulators));
	aggs->query = query;
	aggs->definition = definition;
	aggs->econtext = econtext;
	aggs->results = palloc0((list_length(query->aggregates) + 1) * sizeof *aggs->results);
	foreach (cell, query->aggregates) {
		List *arms;

		(void)ifp_aggregate_arms(lfirst(cell), query, &aggs->results[foreach_current_index(cell)].function, &arms);
		arms_of_all = lappend(arms_of_all, arms);
		most += list_length(arms);
	}
	aggs->measures = palloc0((most + 1) * sizeof *aggs->measures);
	forboth(cell, query->aggregates, arms_cell, arms_of_all)
		begin_result(aggs, lfirst(cell), lfirst(arms_cell), &aggs->results[aggs->n_results++]);
	return aggs;
}

void ifp_agg_states_set_table(struct ifp_agg_states *aggs, Relation heap, Snapshot snapshot)
{
	aggs->heap = heap;
	aggs->snapshot = snapshot;
}

void ifp_agg_states_rescan(struct ifp_agg_states *aggs, MemoryContext parameters)
{
	aggs->parameters = parameters;
	for (int i = 0; i < aggs->n_results; i++)
		for (int a = 0; a < aggs->results[i].n_arms; a++)
			aggs->results[i].arms[a].is_read = false;
}

void ifp_agg_states_reset(struct ifp_agg_states *aggs, MemoryContext context)
{
	for (int i = 0; i < aggs->n_results; i++)
		if (aggs->results[i].distinct)
			ifp_distinct_values_reset(aggs->results[i].distinct, context);
}

void ifp_agg_states_set_index(struct ifp_agg_states *aggs, const struct iforest_accumulators *accumulators)
{
	const struct iforest_accumulators *needed = &aggs->query->accumulators;

	aggs->has_index = true;
	if (needed->n == 0)
		return;
	aggs->accumulators = *accumulators;
	for (unsigned a = 0; a < needed->n; a++) {
		bool is_kept = ifp_value_steps_is_kept(needed, a);
		int found = is_kept ? iforest_accumulators_find(accumulators, needed, a) : (int)aggs->accumulators.n;

		/* drawn histograms are read in passes, not counted */
		if (!is_kept && aggs->query->drawn)
			continue;
		if (!is_kept)
			aggs->accumulators.list[aggs->accumulators.n++] = needed->list[a];
		Assert(found >= 0);
		aggs->in_index[a] = (unsigned)found;
	}
}

void ifp_agg_states_set_pass(struct ifp_agg_states *aggs, const struct ifp_value_pass *pass)
{
	aggs->pass = pass;
}

/* True if rows of the current pass count for a measure. */
static bool is_of_pass(const struct ifp_agg_states *aggs, const struct measure *measure)
{
	const struct ifp_value_pass *pass = aggs->pass;

	if (!pass)
		return true;
	if (measure->arm->steps == IFP_ALL_STEPS)
		return pass->histogram < 0 || aggs->query->pieces;
	return pass->histogram == measure->arm->histogram && (pass->steps & measure->arm->steps);
}

/* Makes the request count the rows on the steps. */
static void want_steps(const struct ifp_agg_states *aggs, int histogram, uint64 steps, struct iforest_request *request)
{
	unsigned a = aggs->in_index[histogram];

	if (ifp_value_steps_is_kept(&aggs->accumulators, a))
		request->accumulators |= 1u << a;
	if (ifp_value_steps_need_values(&aggs->accumulators, a, steps))
		request->values |= 1u << aggs->accumulators.list[a].value;
}

static void want_value(const struct measure *measure, struct iforest_request *request)
{
	uint32 bit = 1u << measure->value;

	request->values |= bit;
	request->no_mins &= measure->has_min ? ~bit : UINT32_MAX;
	request->no_maxs &= measure->has_max ? ~bit : UINT32_MAX;
}

struct iforest_request ifp_agg_states_wanted(const struct ifp_agg_states *aggs)
{
	struct iforest_request request = { .no_mins = UINT32_MAX, .no_maxs = UINT32_MAX, .no_rows = UINT32_MAX };
	ListCell *cell;

	for (int i = 0; i < aggs->n_measures; i++) {
		const struct measure *measure = &aggs->measures[i];
		uint32 bit = measure->value < 0 ? 0 : 1u << measure->value;

		if (!is_of_pass(aggs, measure))
			continue;
		if (aggs->has_index && !aggs->pass && measure->arm->steps != IFP_ALL_STEPS)
			want_steps(aggs, measure->arm->histogram, measure->arm->steps, &request);
		if (aggs->has_index && measure->accumulator >= 0)
			request.accumulators |= 1u << aggs->in_index[measure->accumulator];
		switch (measure->type) {
		case IFP_MEASURE_ROWS:
		case IFP_MEASURE_CONSTANT:
		case IFP_MEASURE_SKETCH:
		case IFP_MEASURE_DISTINCT:
		case IFP_MEASURE_NUMBERS:
			break;
		case IFP_MEASURE_VALUE:
			want_value(measure, &request);
			break;
		case IFP_MEASURE_TIME:
			request.times = true;
			break;
		case IFP_MEASURE_MIN_ROW:
		case IFP_MEASURE_MAX_ROW:
			want_value(measure, &request);
			request.no_rows &= ~bit;
			break;
		case IFP_MEASURE_FIRST_ROW:
			request.firsts |= bit;
			break;
		case IFP_MEASURE_LAST_ROW:
			request.lasts |= bit;
			break;
		case IFP_MEASURE_PAIR:
			break;
		}
	}
	foreach (cell, aggs->has_index && !aggs->pass ? aggs->query->pieces : NIL)
		want_steps(aggs, aggs->query->histogram, ifp_piece_steps(lfirst(cell)), &request);
	return request;
}

void ifp_agg_states_want_timeless(const struct ifp_agg_states *aggs, struct iforest_request *request)
{
	request->times = false;
	for (int i = 0; i < aggs->n_measures; i++) {
		uint32 bit = aggs->measures[i].has_timeless ? 1u << aggs->measures[i].value : 0;

		request->values |= bit;
		request->no_mins &= ~bit;
	}
}

uint32 ifp_agg_states_need(const struct ifp_agg_states *aggs, enum ifp_measure_type type)
{
	uint32 values = 0;

	for (int i = 0; i < aggs->n_measures; i++)
		if (aggs->measures[i].type == type && is_of_pass(aggs, &aggs->measures[i]))
			values |= 1u << aggs->measures[i].value;
	return values;
}

Size ifp_agg_states_bytes(const struct ifp_agg_states *aggs)
{
	return (Size)Max(aggs->n_measures, 1) * sizeof(struct ifp_measure_state) + (Size)aggs->n_words * sizeof(uint64);
}

static bool holds(ExprState *condition, ExprContext *econtext)
{
	bool is_null;
	Datum datum = ExecEvalExprSwitchContext(condition, econtext, &is_null);

	return !is_null && DatumGetBool(datum);
}

static bool is_asked(const struct measure *measure, ExprContext *econtext)
{
	ListCell *condition, *wanted;

	forboth(condition, measure->conditions, wanted, measure->arm->wanted)
	{
		if (holds(lfirst(condition), econtext) != lfirst_int(wanted))
			return false;
	}
	return true;
}

static void add_constant(const struct measure *measure, uint64 n, ExprContext *econtext, struct ifp_measure_state *state,
			 MemoryContext context)
{
	bool is_null;
	Datum datum = ExecEvalExprSwitchContext(measure->expression, econtext, &is_null);
	MemoryContext before;

	if (is_null)
		return;
	if (measure->distinct) {
		state->datum = ifp_distinct_values_add(measure->distinct, state->datum, datum);
		return;
	}
	state->n += n;
	before = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	switch (measure->function) {
	case IFP_AGG_SUM:
	case IFP_AGG_AVG:
		ifp_measure_state_add_to_sum(state, datum, measure->datum_type, n, context);
		break;
	case IFP_AGG_MIN:
	case IFP_AGG_MAX:
		if (!state->has_datum ||
		    DatumGetBool(FunctionCall2Coll((FmgrInfo *)&measure->better, measure->collation, datum, state->datum)))
			ifp_measure_state_keep_datum(state, datum, measure->type_by_value, measure->type_length, context);
		break;
	case IFP_AGG_AND:
	case IFP_AGG_OR:
		if (!state->has_datum || DatumGetBool(datum) == (measure->function == IFP_AGG_OR))
			ifp_measure_state_keep_datum(state, datum, measure->type_by_value, measure->type_length, context);
		break;
	default: /* constants are counted, or refused by ifp_aggregate_read() */
		break;
	}
	MemoryContextSwitchTo(before);
}

/* Adds the words of a measure's accumulator. */
static void add_words(const struct ifp_agg_states *aggs, const struct measure *measure, const struct iforest_aggregate *fold,
		      struct ifp_measure_state *states)
{
	const struct iforest_accumulator *accumulator = &aggs->accumulators.list[aggs->in_index[measure->accumulator]];

	iforest_accumulator_combine(accumulator, words_of(aggs, states, measure), fold->words + accumulator->word);
}

static uint64 count_rows(const struct ifp_agg_states *aggs, int histogram, uint64 steps, const struct iforest_aggregate *fold)
{
	if (aggs->pass)
		return steps & aggs->pass->steps ? fold->n_rows : 0;
	return steps == IFP_ALL_STEPS ? fold->n_rows
				      : ifp_value_steps_count(&aggs->accumulators, aggs->in_index[histogram], steps, fold);
}

uint64 ifp_agg_states_rows(const struct ifp_agg_states *aggs, uint64 steps, const struct iforest_aggregate *fold)
{
	return count_rows(aggs, aggs->query->histogram, steps, fold);
}

void ifp_agg_states_add(const struct ifp_agg_states *aggs, struct ifp_measure_state *states,
			const struct iforest_aggregate *fold, uint64 steps, uint64 n_rows,
			const struct ifp_bucket_values *values, bool has_time, MemoryContext context)
{
	for (int i = 0; i < aggs->n_measures; i++) {
		const struct measure *measure = &aggs->measures[i];
		struct ifp_measure_state *state = &states[i];
		bool is_real = measure->value >= 0 && ifp_value_is_real(aggs->definition, (unsigned)measure->value);
		uint64 n;

		if (!is_of_pass(aggs, measure) || !is_asked(measure, aggs->econtext))
			continue;
		n = measure->arm->steps == IFP_ALL_STEPS
			    ? n_rows
			    : count_rows(aggs, measure->arm->histogram, measure->arm->steps & steps, fold);
		switch (measure->type) {
		case IFP_MEASURE_ROWS:
			state->n += n;
			break;
		case IFP_MEASURE_VALUE:
			ifp_measure_state_add_value(state, &fold->values[measure->value], fold->n_rows, is_real);
			if (measure->accumulator >= 0)
				add_words(aggs, measure, fold, states);
			break;
		case IFP_MEASURE_TIME:
			if (has_time)
				ifp_measure_state_add_times(state, n, fold->first_time, fold->last_time);
			else
				state->has_null = true;
			break;
		case IFP_MEASURE_CONSTANT:
			if (n > 0)
				add_constant(measure, n, aggs->econtext, state, context);
			break;
		case IFP_MEASURE_MIN_ROW:
		case IFP_MEASURE_MAX_ROW:
		case IFP_MEASURE_FIRST_ROW:
		case IFP_MEASURE_LAST_ROW:
			if (!has_time && measure->has_timeless)
				ifp_measure_state_add_timeless(state, &fold->values[measure->value], is_real);
			ifp_measure_state_add_row(state, measure->type, &fold->values[measure->value], is_real);
			break;
		case IFP_MEASURE_SKETCH:
			ifp_measure_state_add_sketch(state, IFOREST_DIGEST_QUANTILES,
						     values->sketches[IFOREST_DIGEST_QUANTILES][measure->value], context);
			break;
		case IFP_MEASURE_DISTINCT:
			ifp_measure_state_add_sketch(state, IFOREST_DIGEST_DISTINCT,
						     values->sketches[IFOREST_DIGEST_DISTINCT][measure->value], context);
			break;
		case IFP_MEASURE_NUMBERS:
			ifp_measure_state_add_numbers(state, &values->numbers[measure->value], context);
			break;
		case IFP_MEASURE_PAIR:
			add_words(aggs, measure, fold, states);
			break;
		}
	}
}

/* ---- expressions at one value of their column ---- */

static Datum evaluate_at(const struct ifp_agg_states *aggs, const struct arm *arm, Datum at, bool *is_null)
{
	TupleTableSlot *row = aggs->econtext->ecxt_scantuple;

	*is_null = false;
	if (arm->is_plain)
		return at;
	row->tts_values[arm->attribute - 1] = at;
	row->tts_isnull[arm->attribute - 1] = false;
	return ExecEvalExpr(arm->state, aggs->econtext, is_null);
}

/* Reads the least and greatest value or time of the state, as datums. */
static void extremes(const struct ifp_agg_states *aggs, const struct arm *arm, const struct ifp_measure_state *state,
		     Datum *least, Datum *greatest)
{
	const struct measure *measure = &aggs->measures[arm->measure];
	const struct ifp_definition *definition = aggs->definition;

	if (measure->type == IFP_MEASURE_TIME) {
		*least = ifp_time_to_datum(definition, state->min.integer);
		*greatest = ifp_time_to_datum(definition, state->max.integer);
	} else {
		*least = ifp_value_to_datum(definition, (unsigned)measure->value, state->min);
		*greatest = ifp_value_to_datum(definition, (unsigned)measure->value, state->max);
	}
}

/* Evaluates an argument where its column is NULL, because its constant parts may fail. */
static void try_null(const struct ifp_agg_states *aggs, const struct arm *arm, const struct ifp_measure_state *state)
{
	bool is_null;

	if (!arm->state || !state->has_null)
		return;
	aggs->econtext->ecxt_scantuple->tts_isnull[arm->attribute - 1] = true;
	(void)ExecEvalExpr(arm->state, aggs->econtext, &is_null);
}

/* Evaluates an argument at NULL and at both extremes, so that it fails if it would fail for a row. Returns true if it is NULL
 * there, which a NULL parameter can cause. */
static bool try_argument(const struct ifp_agg_states *aggs, const struct arm *arm, const struct ifp_measure_state *state)
{
	Datum least, greatest;
	bool is_null = false;

	try_null(aggs, arm, state);
	if (arm->state && state->n > 0) {
		extremes(aggs, arm, state, &least, &greatest);
		(void)evaluate_at(aggs, arm, least, &is_null);
		(void)evaluate_at(aggs, arm, greatest, &is_null);
	}
	return is_null;
}

/* ---- sums ---- */

struct total {
	uint64 n;
	Datum number; /* numeric, where has_number */
	double real;
	bool has_number;
};

static void add_number(Datum number, struct total *total)
{
	total->number = total->has_number ? DirectFunctionCall2(numeric_add, total->number, number) : number;
	total->has_number = true;
}

static bool read_affine(const struct ifp_agg_states *aggs, struct arm *arm)
{
	MemoryContext before = MemoryContextSwitchTo(aggs->parameters);

	if (!arm->is_read)
		arm->has_affine = ifp_affine_read(arm->expression, arm->attribute, aggs->econtext, &arm->affine);
	arm->is_read = true;
	MemoryContextSwitchTo(before);
	return arm->has_affine;
}

/* Returns the number of digits after the point of a value column. */
static int16 value_scale(const struct ifp_agg_states *aggs, int value)
{
	const struct ifp_definition *definition = aggs->definition;

	return definition->value_types[value] == NUMERICOID ? definition->value_scales[value] : 0;
}

/* Adds a * sum + b * n to the total. */
static void add_affine(const struct ifp_agg_states *aggs, struct arm *arm, const struct ifp_measure_state *state,
		       struct total *total)
{
	const struct measure *measure = &aggs->measures[arm->measure];
	bool is_real = ifp_value_is_real(aggs->definition, (unsigned)measure->value);
	Datum sum = (Datum)0;

	(void)try_argument(aggs, arm, state);
	if (state->n == 0 || (!arm->is_plain && !read_affine(aggs, arm)))
		return;
	total->n += state->n;
	if (!is_real)
		sum = ifp_numeric_from_int128(state->sum, value_scale(aggs, measure->value));
	if (arm->is_plain ? is_real : arm->affine.is_real) {
		double real =
			is_real ? ifp_measure_state_real_sum(state) : DatumGetFloat8(DirectFunctionCall1(numeric_float8, sum));

		if (!arm->is_plain) {
			double sum_of_values = real;

			real = ldexp(real * arm->affine.real_a, arm->affine.real_exponent);
			if (isinf(real) && !isinf(sum_of_values))
				float_overflow_error();
		}
		total->real += real;
		return;
	}
	if (!arm->is_plain)
		sum = DirectFunctionCall2(numeric_add, DirectFunctionCall2(numeric_mul, arm->affine.a, sum),
					  DirectFunctionCall2(numeric_mul, arm->affine.b,
							      NumericGetDatum(int64_to_numeric((int64)state->n))));
	add_number(sum, total);
}

static void add_constants(const struct measure *measure, const struct ifp_measure_state *state, struct total *total)
{
	Datum sum;

	if (state->n == 0)
		return;
	total->n += state->n;
	if (measure->datum_type == FLOAT4OID || measure->datum_type == FLOAT8OID) {
		total->real += ifp_measure_state_real_sum(state);
		return;
	}
	sum = measure->datum_type == NUMERICOID ? state->datum : ifp_numeric_from_int128(state->sum, 0);
	add_number(sum, total);
}

static Datum sum_result(const struct result *result, const struct total *total)
{
	bool is_average = result->function == IFP_AGG_AVG;

	switch (result->type) {
	case INT8OID:
		return DirectFunctionCall1(numeric_int8, total->number);
	case FLOAT4OID:
		if (isinf((float4)total->real) && !isinf(total->real))
			float_overflow_error();
		return Float4GetDatum((float4)total->real);
	case FLOAT8OID:
		return Float8GetDatum(is_average ? total->real / (double)total->n : total->real);
	default:
		return is_average ? DirectFunctionCall2(numeric_div, total->number,
							NumericGetDatum(int64_to_numeric((int64)total->n)))
				  : total->number;
	}
}

/* ---- distinct values ---- */

/* Returns the values of all arms. */
static Bitmapset *distinct_of(const struct result *result, const struct ifp_measure_state *states)
{
	Bitmapset *all = NULL;

	for (int a = 0; a < result->n_arms; a++)
		all = bms_add_members(all, ifp_distinct_values_set(states[result->arms[a].measure].datum));
	return all;
}

/* Adds each distinct value once. */
static void add_distinct_values(const struct ifp_agg_states *aggs, const struct result *result,
				const struct ifp_measure_state *states, struct total *total)
{
	Bitmapset *all = distinct_of(result, states);
	struct ifp_measure_state sum = { .n = (uint64)bms_num_members(all) };
	int number = -1;

	while ((number = bms_next_member(all, number)) >= 0)
		ifp_measure_state_add_to_sum(&sum, ifp_distinct_values_datum(result->distinct, number),
					     aggs->measures[result->arms[0].measure].datum_type, 1, CurrentMemoryContext);
	if (sum.n > 0)
		add_constants(&aggs->measures[result->arms[0].measure], &sum, total);
}

static Datum sum_or_average(const struct ifp_agg_states *aggs, const struct result *result,
			    const struct ifp_measure_state *states, bool *is_null)
{
	struct total total = { .n = 0 };

	if (result->distinct)
		add_distinct_values(aggs, result, states, &total);
	for (int a = 0; a < result->n_arms && !result->distinct; a++) {
		struct arm *arm = &result->arms[a];
		const struct measure *measure = &aggs->measures[arm->measure];

		if (measure->type == IFP_MEASURE_VALUE)
			add_affine(aggs, arm, &states[arm->measure], &total);
		else
			add_constants(measure, &states[arm->measure], &total);
	}
	*is_null = total.n == 0;
	return *is_null ? (Datum)0 : sum_result(result, &total);
}

static Datum variance(const struct ifp_agg_states *aggs, const struct result *result, const struct ifp_measure_state *states,
		      bool *is_null)
{
	Datum sum = NumericGetDatum(int64_to_numeric(0)), squares = sum;
	bool is_sample, is_deviation;
	uint64 n = 0;

	for (int a = 0; a < result->n_arms; a++) {
		const struct arm *arm = &result->arms[a];
		const struct ifp_measure_state *state = &states[arm->measure];
		const uint64 *words = words_of(aggs, states, &aggs->measures[arm->measure]);
		int16 scale = value_scale(aggs, aggs->measures[arm->measure].value);

		(void)try_argument(aggs, arm, state);
		if (state->n == 0)
			continue;
		n += state->n;
		sum = DirectFunctionCall2(numeric_add, sum, ifp_numeric_from_int128(state->sum, scale));
		squares = DirectFunctionCall2(numeric_add, squares, ifp_numeric_from_squares(words, scale));
	}
	is_sample = result->function == IFP_AGG_VAR_SAMP || result->function == IFP_AGG_STDDEV_SAMP;
	is_deviation = result->function == IFP_AGG_STDDEV_SAMP || result->function == IFP_AGG_STDDEV_POP;
	*is_null = result->function != IFP_AGG_SQUARES && (n == 0 || (is_sample && n == 1));
	if (result->function == IFP_AGG_SQUARES)
		return squares;
	return *is_null ? (Datum)0 : ifp_numeric_variance(n, sum, squares, is_sample, is_deviation);
}

/* ---- extremes ---- */

static void offer(const struct result *result, Datum datum, Datum *best, bool *is_null)
{
	bool better;

	if (*is_null)
		better = true;
	else if (result->function == IFP_AGG_AND || result->function == IFP_AGG_OR)
		better = DatumGetBool(datum) == (result->function == IFP_AGG_OR);
	else
		better = DatumGetBool(FunctionCall2Coll((FmgrInfo *)&result->better, result->collation, datum, *best));
	if (better)
		*best = datum;
	*is_null = false;
}

/* A monotone expression, ascending or descending, has its extremes at those of its column. */
static Datum extreme(const struct ifp_agg_states *aggs, const struct result *result, const struct ifp_measure_state *states,
		     bool *is_null)
{
	Datum best = (Datum)0;

	*is_null = true;
	for (int a = 0; a < result->n_arms; a++) {
		const struct arm *arm = &result->arms[a];
		const struct ifp_measure_state *state = &states[arm->measure];
		Datum ends[2];
		/* for a plain column only the needed extreme was folded */
		int first = arm->is_plain && result->function == IFP_AGG_MAX;
		int last = arm->is_plain ? first : 1;
		bool none;

		if (aggs->measures[arm->measure].type == IFP_MEASURE_CONSTANT) {
			if (state->has_datum)
				offer(result, state->datum, &best, is_null);
			continue;
		}
		try_null(aggs, arm, state);
		if (state->n == 0)
			continue;
		extremes(aggs, arm, state, &ends[0], &ends[1]);
		for (int end = first; end <= last; end++) {
			Datum datum = evaluate_at(aggs, arm, ends[end], &none);

			if (!none)
				offer(result, datum, &best, is_null);
		}
	}
	return best;
}

static Datum count(const struct ifp_agg_states *aggs, const struct result *result, const struct ifp_measure_state *states)
{
	uint64 n = result->distinct ? (uint64)bms_num_members(distinct_of(result, states)) : 0;

	for (int a = 0; a < result->n_arms && !result->distinct; a++) {
		const struct arm *arm = &result->arms[a];
		const struct ifp_measure_state *state = &states[arm->measure];

		n += try_argument(aggs, arm, state) ? 0 : state->n;
	}
	return Int64GetDatum((int64)n);
}

/* ---- rows ---- */

static Datum row_result(const struct ifp_agg_states *aggs, const struct result *result, const struct ifp_measure_state *states,
			bool *is_null)
{
	const struct measure *measure = &aggs->measures[result->arms[0].measure];
	const struct iforest_extreme *row = &states[result->arms[0].measure].row;
	ItemPointer tid;

	*is_null = !row->is_set;
	if (!row->is_set)
		return (Datum)0;
	switch (result->function) {
	case IFP_AGG_MIN_ROW:
	case IFP_AGG_MAX_ROW:
	case IFP_AGG_FIRST_ROW:
	case IFP_AGG_LAST_ROW:
		tid = palloc(sizeof *tid);
		ifp_ref_to_tid(row->ref, tid);
		ifp_heap_visible_ctid(aggs->heap, aggs->snapshot, tid);
		return PointerGetDatum(tid);
	case IFP_AGG_MIN_TIME:
	case IFP_AGG_MAX_TIME:
	case IFP_AGG_FIRST_TIME:
	case IFP_AGG_LAST_TIME:
		*is_null = row->time_is_null;
		return row->time_is_null ? (Datum)0 : ifp_time_to_datum(aggs->definition, row->time);
	default:
		return ifp_value_to_datum(aggs->definition, (unsigned)measure->value, row->value);
	}
}

/* The arms are a FIRST_ROW or LAST_ROW, and a TIME unless rows with a value alone count. */
static Datum element(const struct ifp_agg_states *aggs, const struct result *result, const struct ifp_measure_state *states,
		     bool *is_null)
{
	const struct measure *measure = &aggs->measures[result->arms[0].measure];
	const struct ifp_measure_state *times = result->n_arms > 1 ? &states[result->arms[1].measure] : NULL;
	union iforest_number value;

	*is_null =
		!ifp_measure_state_element(&states[result->arms[0].measure], times, measure->type, result->nulls_first, &value);
	return *is_null ? (Datum)0 : ifp_value_to_datum(aggs->definition, (unsigned)measure->value, value);
}

/* Arms have no rows in common, so their sketches are added. */
static bytea *sketch_of(const struct result *result, enum iforest_digest_kind kind, const struct ifp_measure_state *states)
{
	bytea *sum = NULL;

	for (int a = 0; a < result->n_arms; a++) {
		const struct ifp_measure_state *state = &states[result->arms[a].measure];
		bytea *sketch = state->has_datum ? (bytea *)DatumGetPointer(state->datum) : NULL;

		sum = sum && sketch ? ifp_sketch_sum(kind, sum, sketch) : sketch ? sketch : sum;
	}
	return sum;
}

static Datum sketch_result(const struct result *result, const struct ifp_measure_state *states, bool *is_null)
{
	enum iforest_digest_kind kind = result->function == IFP_AGG_SKETCH ? IFOREST_DIGEST_QUANTILES : IFOREST_DIGEST_DISTINCT;
	bytea *sketch = sketch_of(result, kind, states);

	*is_null = !sketch && result->function != IFP_AGG_DISTINCT_COUNT;
	if (result->function == IFP_AGG_DISTINCT_COUNT)
		return Int64GetDatum(sketch ? ifp_sketch_distinct_count(sketch) : 0);
	return PointerGetDatum(sketch);
}

/* ---- percentiles ---- */

/* The arguments of a percentile in the order of their column, or the other way round. */
struct percentile_arguments {
	const struct ifp_agg_states *aggs;
	const struct arm *ends, *source;
	const struct ifp_measure_state *states;
	bool is_reversed;
};

static Datum argument_at(void *context, uint64 place)
{
	const struct percentile_arguments *arguments = context;
	const struct ifp_agg_states *aggs = arguments->aggs;
	const struct measure *measure = &aggs->measures[arguments->source->measure];
	const struct ifp_measure_state *ends = &arguments->states[arguments->ends->measure];
	void *source = DatumGetPointer(arguments->states[arguments->source->measure].datum);
	bool is_real = ifp_value_is_real(aggs->definition, (unsigned)measure->value), is_null;
	enum iforest_value_type type = is_real ? IFOREST_FLOAT64 : IFOREST_INT64;
	union iforest_number number;

	place = arguments->is_reversed ? ends->n + 1 - place : place;
	if (measure->type == IFP_MEASURE_SKETCH) {
		number = ifp_sketch_number_at(source, place, ends->min, ends->max, type);
	} else {
		ifp_numbers_sort(source, type);
		number = ((const struct ifp_numbers *)source)->list[place - 1];
	}
	return evaluate_at(aggs, arguments->ends, ifp_value_to_datum(aggs->definition, (unsigned)measure->value, number),
			   &is_null);
}

/* The arms are a VALUE, for the extremes, and a SKETCH or NUMBERS for values between them. */
static Datum percentile_result(const struct ifp_agg_states *aggs, const struct result *result,
			       const struct ifp_measure_state *states, bool *is_null)
{
	struct percentile_arguments arguments = { aggs, &result->arms[0], &result->arms[1], states, false };
	const struct ifp_measure_state *ends = &states[result->arms[0].measure];
	uint64 n = try_argument(aggs, arguments.ends, ends) ? 0 : ends->n;

	if (n > 0) {
		Datum first = argument_at(&arguments, 1), last = argument_at(&arguments, n);

		arguments.is_reversed = ifp_percentile_is_before(result->percentile, last, first);
	}
	return ifp_percentile_result(result->percentile, aggs->econtext, n, argument_at, &arguments, is_null);
}

/* The only arm is a PAIR. */
static Datum pair_result(const struct ifp_agg_states *aggs, const struct result *result, const struct ifp_measure_state *states,
			 bool *is_null)
{
	const struct arm *arm = &result->arms[0];
	double number;

	*is_null = !iforest_pair_result(words_of(aggs, states, &aggs->measures[arm->measure]), arm->is_swapped, arm->pair,
					&number);
	if (*is_null)
		return (Datum)0;
	return arm->pair == IFOREST_REGR_COUNT ? Int64GetDatum((int64)number) : Float8GetDatum(number);
}

Datum ifp_agg_states_result(const struct ifp_agg_states *aggs, int i, const struct ifp_measure_state *states, bool *is_null)
{
	const struct result *result = &aggs->results[i];

	if (ifp_agg_function_is_of_row(result->function))
		return row_result(aggs, result, states, is_null);
	switch (result->function) {
	case IFP_AGG_COUNT:
		*is_null = false;
		return count(aggs, result, states);
	case IFP_AGG_SUM:
	case IFP_AGG_AVG:
		return sum_or_average(aggs, result, states, is_null);
	case IFP_AGG_VAR_SAMP:
	case IFP_AGG_VAR_POP:
	case IFP_AGG_STDDEV_SAMP:
	case IFP_AGG_STDDEV_POP:
	case IFP_AGG_SQUARES:
		return variance(aggs, result, states, is_null);
	case IFP_AGG_PAIR:
		return pair_result(aggs, result, states, is_null);
	case IFP_AGG_SKETCH:
	case IFP_AGG_DISTINCT:
	case IFP_AGG_DISTINCT_COUNT:
		return sketch_result(result, states, is_null);
	case IFP_AGG_ELEMENT:
		return element(aggs, result, states, is_null);
	case IFP_AGG_PERCENTILE_DISC:
	case IFP_AGG_PERCENTILE_CONT:
		return percentile_result(aggs, result, states, is_null);
	default:
		return extreme(aggs, result, states, is_null);
	}
}
