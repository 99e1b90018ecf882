#include "pg_ext/exec/value_classes.h"

#include "pg_ext/base/engine.h"
#include "pg_ext/planner/value_split.h"
#include "pg_ext/types/values.h"

/* How a value column is split. */
struct class_column {
	AttrNumber attribute; /* its second column */
	union iforest_number bounds[IFOREST_MAX_BOUNDS];
	union iforest_number of_steps[IFOREST_MAX_BOUNDS + 1]; /* a value of each step */
};

struct ifp_value_classes {
	const struct ifp_definition *definition;
	TupleTableSlot *row;
	struct class_column columns[IFOREST_MAX_VALUES];
	struct iforest_split_column by[IFOREST_MAX_VALUES];
	unsigned n;
	struct iforest_split split;
};

static union iforest_number number_of(const struct ifp_definition *definition, int value, int64 key)
{
	return ifp_value_is_real(definition, (unsigned)value) ? (union iforest_number){ .real = ifp_double_from_key(key) }
							      : (union iforest_number){ .integer = key };
}

static void add_column(struct ifp_value_classes *classes, const struct ifp_value_split *split, AttrNumber attribute)
{
	struct class_column *column = &classes->columns[classes->n];
	int n = split->n_bounds;

	column->attribute = attribute;
	for (int i = 0; i < n; i++) {
		column->bounds[i] = number_of(classes->definition, split->value, split->bounds[i]);
		column->of_steps[i] = column->bounds[i];
	}
	/* the next step is above it: the greatest value is never a bound */
	column->of_steps[n] = number_of(classes->definition, split->value, n > 0 ? split->bounds[n - 1] + 1 : 0);
	classes->by[classes->n++] = (struct iforest_split_column){ .value = (unsigned)split->value,
								   .bounds = split->is_exact ? NULL : column->bounds,
								   .n_bounds = (unsigned)n };
}

struct ifp_value_classes *ifp_value_classes_begin(const struct ifp_index_query *query, const struct ifp_definition *definition,
						  TupleTableSlot *row)
{
	struct ifp_value_classes *classes;

	if (query->splits == NIL)
		return NULL;
	classes = palloc0(sizeof *classes);
	classes->definition = definition;
	classes->row = row;
	for (int i = 0; i < list_length(query->splits); i++) {
		struct ifp_value_split split;

		if (ifp_value_split_read(query, i, &split))
			add_column(classes, &split, ifp_value_split_column(query, i));
	}
	return classes;
}

void ifp_value_classes_start(struct ifp_value_classes *classes, const struct iforest_node_schema *fields)
{
	iforest_split_init(&classes->split, &ifp_palloc_allocator, fields, classes->by, classes->n);
}

enum iforest_status ifp_value_classes_read(struct ifp_value_classes *classes, struct iforest_scan *scan,
					   const struct iforest_key *from, const struct iforest_key *to,
					   const struct iforest_request *request)
{
	iforest_split_clear(&classes->split);
	return iforest_scan_split(scan, from, to, request, &classes->split);
}

Size ifp_value_classes_n(const struct ifp_value_classes *classes)
{
	return classes->split.n;
}

struct iforest_aggregate *ifp_value_classes_get(const struct ifp_value_classes *classes, Size i, ExprContext *econtext)
{
	const struct iforest_split_class *class = classes->split.classes[i];
	MemoryContext before = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);

	for (unsigned c = 0; c < classes->n; c++) {
		const struct class_column *column = &classes->columns[c];
		bool is_null = class->nulls >> c & 1;
		union iforest_number number =
			classes->by[c].bounds && !is_null ? column->of_steps[class->numbers[c].integer] : class->numbers[c];

		classes->row->tts_isnull[column->attribute - 1] = is_null;
		classes->row->tts_values[column->attribute - 1] =
			is_null ? (Datum)0 : ifp_value_to_datum(classes->definition, classes->by[c].value, number);
	}
	MemoryContextSwitchTo(before);
	return class->aggregate;
}
