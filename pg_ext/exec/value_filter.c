#include "pg_ext/exec/value_filter.h"

#include "executor/executor.h"

#include "pg_ext/base/safe_eval.h"
#include "pg_ext/types/values.h"

/* A condition on one column: an expression that is monotone in it, or IS [NOT] NULL. */
struct condition {
	unsigned value;
	struct ifp_safe_expression expression;
	bool is_null_test, wants_null;
};

/* Values that the conditions on a column admit: from low to high (reals as ifp_key_from_double()), and NULL. */
struct range {
	bool is_asked, wants_null, wants_value;
	int64 low, high;
};

struct ifp_value_filter {
	const struct ifp_definition *definition;
	ExprContext *econtext;
	AttrNumber first; /* attribute of value column 0 */
	struct condition *conditions;
	int n_conditions;
	int pass_value; /* of the pass; -1: there is none */
	struct range pass;
	struct iforest_value_predicate predicate;
	ErrorData *error; /* of the first condition that cannot be evaluated; NULL: none */
};

struct ifp_value_filter *ifp_value_filter_begin(const struct ifp_index_query *query, const struct ifp_definition *definition,
						ExprContext *econtext)
{
	struct ifp_value_filter *filter = palloc0(sizeof *filter);
	ListCell *cell;

	filter->definition = definition;
	filter->econtext = econtext;
	filter->first = (AttrNumber)(query->n_by + 2);
	filter->pass_value = -1;
	filter->conditions = palloc0((list_length(query->values) + 1) * sizeof *filter->conditions);
	foreach (cell, query->values) {
		Node *expression = lfirst(cell);
		struct condition *condition = &filter->conditions[filter->n_conditions++];

		while (!ifp_mentions(expression, (AttrNumber)(filter->first + condition->value)))
			condition->value++;
		condition->is_null_test = IsA(expression, NullTest);
		if (condition->is_null_test)
			condition->wants_null = castNode(NullTest, expression)->nulltesttype == IS_NULL;
		else
			condition->expression = ifp_safe_eval_prepare((Expr *)expression);
	}
	return filter;
}

bool ifp_value_filter_has_conditions(const struct ifp_value_filter *filter)
{
	return filter->n_conditions > 0 || filter->pass_value >= 0;
}

void ifp_value_filter_set_pass(struct ifp_value_filter *filter, int value, bool is_null, int64 low, int64 high)
{
	filter->pass_value = value;
	filter->pass = (struct range){ .wants_null = is_null, .wants_value = !is_null, .low = low, .high = high };
}

/* ---- ranges ---- */

static int64 key_of(const struct ifp_value_filter *filter, unsigned value, union iforest_number number)
{
	return ifp_value_is_real(filter->definition, value) ? ifp_key_from_double(number.real) : number.integer;
}

static union iforest_number number_of(const struct ifp_value_filter *filter, unsigned value, int64 key)
{
	return ifp_value_is_real(filter->definition, value) ? (union iforest_number){ .real = ifp_double_from_key(key) }
							    : (union iforest_number){ .integer = key };
}

/* Evaluates the condition at a value. Returns false if it raises an error. */
static bool evaluate_at(struct ifp_value_filter *filter, const struct condition *condition, int64 key, bool *holds)
{
	TupleTableSlot *row = filter->econtext->ecxt_scantuple;
	int column = filter->first + (int)condition->value - 1;
	MemoryContext before = MemoryContextSwitchTo(filter->econtext->ecxt_per_tuple_memory);
	bool is_null = true, done;
	Datum datum = (Datum)0;

	row->tts_values[column] =
		ifp_value_to_datum(filter->definition, condition->value, number_of(filter, condition->value, key));
	row->tts_isnull[column] = false;
	MemoryContextSwitchTo(before);
	done = ifp_safe_eval(&condition->expression, filter->econtext, &datum, &is_null, filter->error ? NULL : &filter->error);
	*holds = done && !is_null && DatumGetBool(datum);
	ResetExprContext(filter->econtext);
	return done;
}

/* Narrows a nonempty range to where the condition is true; does nothing if the condition raises errors. */
static void narrow(struct ifp_value_filter *filter, const struct condition *condition, struct range *range)
{
	bool at_low, at_high, in_middle;
	int64 low = range->low, high = range->high;

	if (!evaluate_at(filter, condition, low, &at_low) || !evaluate_at(filter, condition, high, &at_high))
		return;
	range->wants_null = false;
	if (at_low == at_high) {
		range->wants_value = at_low;
		return;
	}
	/* it is true at one end: binary search for the change */
	while ((uint64)high - (uint64)low > 1) {
		int64 middle = low + (int64)(((uint64)high - (uint64)low) / 2);

		if (evaluate_at(filter, condition, middle, &in_middle) && in_middle == at_low)
			low = middle;
		else
			high = middle;
	}
	if (at_low)
		range->high = low;
	else
		range->low = high;
}

static void widen(struct range *range, int64 low, int64 high)
{
	range->low = range->wants_value ? Min(range->low, low) : low;
	range->high = range->wants_value ? Max(range->high, high) : high;
	range->wants_value = true;
}

/* Returns the range from the least to the greatest value of a column, and NULL. */
static struct range whole_range(const struct ifp_value_filter *filter, unsigned value, const struct iforest_manifest *manifest,
				const struct iforest_batch *pending)
{
	struct range range = { .is_asked = true, .wants_null = true };

	for (uint32 r = 0; r < manifest->n_runs; r++) {
		struct iforest_extreme low = iforest_node_extreme(manifest->runs[r].root, &manifest->fields, value, -1),
				       high = iforest_node_extreme(manifest->runs[r].root, &manifest->fields, value, 1);

		if (low.is_set)
			widen(&range, key_of(filter, value, low.value), key_of(filter, value, high.value));
	}
	for (uint32 i = 0; pending && i < pending->n; i++) {
		uint32 present;
		int64 key = key_of(filter, value, iforest_batch_values(pending, i, &present)[value]);

		if (present >> value & 1)
			widen(&range, key, key);
	}
	return range;
}

/* Narrows a range to that of the pass. */
static void narrow_to_pass(const struct ifp_value_filter *filter, struct range *range)
{
	if (!range->is_asked)
		*range = (struct range){ .is_asked = true,
					 .wants_null = true,
					 .wants_value = true,
					 .low = filter->pass.low,
					 .high = filter->pass.high };
	range->low = Max(range->low, filter->pass.low);
	range->high = Min(range->high, filter->pass.high);
	range->wants_null = range->wants_null && filter->pass.wants_null;
	range->wants_value = range->wants_value && filter->pass.wants_value && range->low <= range->high;
}

static void make_predicate(struct ifp_value_filter *filter, const struct range *ranges)
{
	struct iforest_value_predicate *predicate = &filter->predicate;

	*predicate = (struct iforest_value_predicate){ .values = 0 };
	for (unsigned v = 0; v < filter->definition->n_values; v++) {
		const struct range *range = &ranges[v];

		if (!range->is_asked || (range->wants_null && range->wants_value))
			continue;
		/* with both bits set, neither values nor NULL pass */
		predicate->values |= (uint32)!range->wants_null << v;
		predicate->nulls |= (uint32)!range->wants_value << v;
		predicate->low[v] = number_of(filter, v, range->low);
		predicate->high[v] = number_of(filter, v, range->high);
	}
}

void ifp_value_filter_find(struct ifp_value_filter *filter, const struct iforest_manifest *manifest,
			   const struct iforest_batch *pending)
{
	struct range ranges[IFOREST_MAX_VALUES] = { { .is_asked = false } };

	filter->error = NULL;
	for (int i = 0; i < filter->n_conditions; i++) {
		const struct condition *condition = &filter->conditions[i];
		struct range *range = &ranges[condition->value];

		if (!range->is_asked)
			*range = whole_range(filter, condition->value, manifest, pending);
		if (condition->is_null_test && condition->wants_null)
			range->wants_value = false;
		else if (condition->is_null_test || !range->wants_value)
			range->wants_null = false;
		else
			narrow(filter, condition, range);
	}
	if (filter->pass_value >= 0)
		narrow_to_pass(filter, &ranges[filter->pass_value]);
	make_predicate(filter, ranges);
}

const struct iforest_value_predicate *ifp_value_filter_predicate(const struct ifp_value_filter *filter)
{
	return &filter->predicate;
}

ErrorData *ifp_value_filter_error(const struct ifp_value_filter *filter)
{
	return filter->error;
}
