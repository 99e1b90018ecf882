#include "pg_ext/exec/value_filter.h"

#include "executor/executor.h"

#include "core/base/bits.h"
#include "pg_ext/base/safe_eval.h"
#include "pg_ext/types/values.h"

/* A condition on one column: an expression that is monotone in it, or IS [NOT] NULL. */
struct condition {
	unsigned value;
	struct ifp_safe_expression expression;
	bool is_null_test, wants_null;
};

/* Values from low to high (reals as ifp_key_from_double()), and NULL. */
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
	struct range ranges[IFOREST_MAX_VALUES];
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
	return filter->n_conditions > 0;
}

/* ---- ranges ---- */

static int64 key_of(const struct ifp_value_filter *filter, unsigned value, union iforest_number number)
{
	return ifp_value_is_real(filter->definition, value) ? ifp_key_from_double(number.real) : number.integer;
}

/* Evaluates the condition at a value. Returns false if it raises an error. */
static bool evaluate_at(struct ifp_value_filter *filter, const struct condition *condition, int64 key, bool *holds)
{
	TupleTableSlot *row = filter->econtext->ecxt_scantuple;
	int column = filter->first + (int)condition->value - 1;
	union iforest_number number = { .integer = key };
	MemoryContext before = MemoryContextSwitchTo(filter->econtext->ecxt_per_tuple_memory);
	bool is_null = true, done;
	Datum datum = (Datum)0;

	if (ifp_value_is_real(filter->definition, condition->value))
		number.real = ifp_double_from_key(key);
	row->tts_values[column] = ifp_value_to_datum(filter->definition, condition->value, number);
	row->tts_isnull[column] = false;
	MemoryContextSwitchTo(before);
	done = ifp_safe_eval(&condition->expression, filter->econtext, &datum, &is_null, filter->error ? NULL : &filter->error);
	*holds = done && !is_null && DatumGetBool(datum);
	ResetExprContext(filter->econtext);
	return done;
}

/* Narrows a nonempty range to where the condition holds; not at all if the condition raises errors. */
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
	/* it holds at one end: binary search for the change */
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

/* Finds the least and greatest value of a column. Returns false if it has none. */
static bool find_extremes(const struct ifp_value_filter *filter, unsigned value, const struct iforest_manifest *manifest,
			  const struct iforest_batch *pending, struct range *range)
{
	bool found = false;

	for (uint32 r = 0; r < manifest->n_runs; r++) {
		struct iforest_node node;
		const struct iforest_value_aggregate *values = &node.aggregate.values[value];

		iforest_node_read(&node, &manifest->fields, manifest->runs[r].root);
		if (values->n == 0)
			continue;
		range->low = found ? Min(range->low, key_of(filter, value, values->min.value))
				   : key_of(filter, value, values->min.value);
		range->high = found ? Max(range->high, key_of(filter, value, values->max.value))
				    : key_of(filter, value, values->max.value);
		found = true;
	}
	for (uint32 i = 0; i < pending->n; i++) {
		uint32 present;
		int64 key = key_of(filter, value, iforest_batch_values(pending, i, &present)[value]);

		if (!(present >> value & 1))
			continue;
		range->low = found ? Min(range->low, key) : key;
		range->high = found ? Max(range->high, key) : key;
		found = true;
	}
	return found;
}

void ifp_value_filter_find(struct ifp_value_filter *filter, const struct iforest_manifest *manifest,
			   const struct iforest_batch *pending)
{
	memset(filter->ranges, 0, sizeof filter->ranges);
	filter->error = NULL;
	for (int i = 0; i < filter->n_conditions; i++) {
		const struct condition *condition = &filter->conditions[i];
		struct range *range = &filter->ranges[condition->value];

		if (!range->is_asked) {
			*range = (struct range){ .is_asked = true, .wants_null = true };
			range->wants_value = find_extremes(filter, condition->value, manifest, pending, range);
		}
		if (condition->is_null_test && condition->wants_null)
			range->wants_value = false;
		else if (condition->is_null_test || !range->wants_value)
			range->wants_null = false;
		else
			narrow(filter, condition, range);
	}
}

ErrorData *ifp_value_filter_error(const struct ifp_value_filter *filter)
{
	return filter->error;
}

/* ---- classification ---- */

static bool holds(const struct range *range, bool is_null, int64 key)
{
	return is_null ? range->wants_null : range->wants_value && key >= range->low && key <= range->high;
}

enum iforest_filter_class ifp_value_filter_of_node(const struct ifp_value_filter *filter, const uint8_t *bytes,
						   const struct iforest_node_schema *fields)
{
	struct iforest_node node;
	bool all = true;

	iforest_node_read(&node, fields, bytes);
	for (unsigned v = 0; v < fields->n_values; v++) {
		const struct range *range = &filter->ranges[v];
		const struct iforest_value_aggregate *values = &node.aggregate.values[v];
		bool some_null = values->n < node.aggregate.n_rows, none = !some_null || !range->wants_null;
		int64 low, high;

		if (!range->is_asked)
			continue;
		all = all && (!some_null || range->wants_null);
		if (values->n > 0) {
			low = key_of(filter, v, values->min.value);
			high = key_of(filter, v, values->max.value);
			none = none && (!range->wants_value || high < range->low || low > range->high);
			all = all && range->wants_value && low >= range->low && high <= range->high;
		}
		if (none)
			return IFOREST_COUNTS_NONE;
	}
	return all ? IFOREST_COUNTS_ALL : IFOREST_COUNTS_SOME;
}

enum iforest_status ifp_value_filter_of_entries(const struct ifp_value_filter *filter, struct iforest_block_reader *reader,
						uint64_t *live)
{
	for (unsigned v = 0; v < reader->leaf->fields->n_values && *live; v++) {
		const struct range *range = &filter->ranges[v];
		enum iforest_status status;

		if (!range->is_asked)
			continue;
		status = iforest_block_need(reader, IFOREST_VALUES + v);
		if (status)
			return status;
		for (uint64_t left = *live; left; left &= left - 1) {
			unsigned i = iforest_trailing_zeros(left);
			bool is_null = !(reader->block.present[v] >> i & 1);
			union iforest_number number = { .integer = reader->block.values[v][i] };

			if (!holds(range, is_null, is_null ? 0 : key_of(filter, v, number)))
				*live &= ~(UINT64_C(1) << i);
		}
	}
	return IFOREST_OK;
}

bool ifp_value_filter_of_entry(const struct ifp_value_filter *filter, const struct iforest_entry *entry)
{
	bool all = true;

	for (unsigned v = 0; v < filter->definition->n_values && all; v++) {
		bool is_null = !(entry->present >> v & 1);

		if (filter->ranges[v].is_asked)
			all = holds(&filter->ranges[v], is_null, is_null ? 0 : key_of(filter, v, entry->values[v]));
	}
	return all;
}
