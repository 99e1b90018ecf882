#include "pg_ext/exec/distinct_values.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "pg_ext/base/compat.h"

struct ifp_distinct_values {
	ExprContext *econtext;
	MemoryContext context;
	TupleDesc descriptor;
	TupleTableSlot *probe;
	AttrNumber column;
	Oid *equal, collation;
	FmgrInfo *hash;
	int16 type_length;
	bool type_by_value;
	TupleHashTable table; /* of numbers */
	Datum *datums;
	int n, capacity;
};

enum { FEWEST_EXPECTED = 64 };

struct ifp_distinct_values *ifp_distinct_values_begin(const Aggref *aggregate, ExprContext *econtext)
{
	struct ifp_distinct_values *values = palloc0(sizeof *values);
	Node *argument = (Node *)linitial_node(TargetEntry, aggregate->args)->expr;
	Oid operator= linitial_node(SortGroupClause, aggregate->aggdistinct)->eqop;

	values->econtext = econtext;
	values->column = 1;
	values->collation = exprCollation(argument);
	values->descriptor = CreateTemplateTupleDesc(1);
	TupleDescInitEntry(values->descriptor, 1, NULL, exprType(argument), exprTypmod(argument), 0);
	get_typlenbyval(exprType(argument), &values->type_length, &values->type_by_value);
	execTuplesHashPrepare(1, &operator, & values->equal, &values->hash);
	values->probe = MakeSingleTupleTableSlot(values->descriptor, &TTSOpsVirtual);
	return values;
}

void ifp_distinct_values_reset(struct ifp_distinct_values *values, MemoryContext context)
{
	ExecClearTuple(values->probe);
	values->context = context;
	values->table =
		ifp_make_group_table(NULL, values->descriptor, &values->column, values->equal, values->hash, &values->collation,
				     FEWEST_EXPECTED, sizeof(int), context, values->econtext->ecxt_per_tuple_memory);
	values->datums = MemoryContextAlloc(context, FEWEST_EXPECTED * sizeof *values->datums);
	values->capacity = FEWEST_EXPECTED;
	values->n = 0;
}

static int add(struct ifp_distinct_values *values, Datum value)
{
	MemoryContext before = MemoryContextSwitchTo(values->context);

	if (values->n == values->capacity) {
		values->capacity *= 2;
		values->datums = repalloc_huge(values->datums, (Size)values->capacity * sizeof *values->datums);
	}
	values->datums[values->n] = datumCopy(value, values->type_by_value, values->type_length);
	MemoryContextSwitchTo(before);
	return values->n++;
}

/* Returns the number of a value; a new value gets the next one, from 0. */
static int number_of(struct ifp_distinct_values *values, Datum value)
{
	TupleHashEntry entry;
	bool is_new;
	int *number;

	ExecClearTuple(values->probe);
	values->probe->tts_values[0] = value;
	values->probe->tts_isnull[0] = false;
	ExecStoreVirtualTuple(values->probe);
	entry = LookupTupleHashEntry(values->table, values->probe, &is_new, NULL);
	number = ifp_group_bytes(values->table, entry, is_new, sizeof *number);
	if (is_new)
		*number = add(values, value);
	return *number;
}

Datum ifp_distinct_values_add(struct ifp_distinct_values *values, Datum set, Datum value)
{
	int number = number_of(values, value);
	MemoryContext before = MemoryContextSwitchTo(values->context);
	Bitmapset *result = bms_add_member(ifp_distinct_values_set(set), number);

	MemoryContextSwitchTo(before);
	return PointerGetDatum(result);
}

Datum ifp_distinct_values_datum(const struct ifp_distinct_values *values, int number)
{
	return values->datums[number];
}
