#include "pg_ext/exec/dimension_rows.h"

#include "common/hashfn.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

struct dimension_row {
	struct dimension_row *next; /* next in its bucket */
	uint32 hash;
	Datum *values;
	bool *are_null;
};

/* A join equality of the dimension. */
struct equality {
	ExprState *outer, *inner;
	FmgrInfo hash_outer, hash_inner, equals;
	Oid collation;
};

struct ifp_dimension_rows {
	JoinType kind;
	ExprContext *econtext;
	int first, n_columns; /* first column in the row, from 0 */
	int16 *lengths;
	bool *by_value;
	struct equality *equalities;
	int n_equalities;
	List *conditions; /* ExprStates */
	MemoryContext context;
	struct dimension_row **buckets;
	uint32 n_buckets, n_rows; /* buckets: a power of two */
	uint32 hash;		  /* hash of the row being looked up */
	struct dimension_row *next;
	bool is_found, is_done;
};

/* ---- beginning ---- */

static void begin_equality(OpExpr *call, struct equality *equality)
{
	RegProcedure outer, inner;

	if (!get_op_hash_functions(call->opno, &outer, &inner))
		elog(ERROR, "operator %u cannot be hashed", call->opno);
	*equality = (struct equality){ .outer = ExecInitExpr(linitial(call->args), NULL),
				       .inner = ExecInitExpr(lsecond(call->args), NULL),
				       .collation = call->inputcollid };
	fmgr_info(outer, &equality->hash_outer);
	fmgr_info(inner, &equality->hash_inner);
	fmgr_info(get_opcode(call->opno), &equality->equals);
}

struct ifp_dimension_rows *ifp_dimension_rows_begin(const struct ifp_dimension *dimension, ExprContext *econtext)
{
	struct ifp_dimension_rows *rows = palloc0(sizeof *rows);
	TupleDesc descriptor = econtext->ecxt_scantuple->tts_tupleDescriptor;
	ListCell *cell;

	*rows = (struct ifp_dimension_rows){ .kind = dimension->kind,
					     .econtext = econtext,
					     .first = dimension->first - 1,
					     .n_columns = list_length(dimension->column_names),
					     .conditions = ExecInitExprList(dimension->conditions, NULL) };
	rows->lengths = palloc((Size)(rows->n_columns + 1) * sizeof *rows->lengths);
	rows->by_value = palloc((Size)(rows->n_columns + 1) * sizeof *rows->by_value);
	for (int i = 0; i < rows->n_columns; i++) {
		rows->lengths[i] = TupleDescAttr(descriptor, rows->first + i)->attlen;
		rows->by_value[i] = TupleDescAttr(descriptor, rows->first + i)->attbyval;
	}
	rows->equalities = palloc((Size)list_length(dimension->equalities) * sizeof *rows->equalities);
	foreach (cell, dimension->equalities)
		begin_equality(lfirst(cell), &rows->equalities[rows->n_equalities++]);
	return rows;
}

/* ---- the row ---- */

/* Writes a row of the dimension into the row; NULLs for NULL. */
static void write_row(const struct ifp_dimension_rows *rows, const struct dimension_row *from)
{
	TupleTableSlot *row = rows->econtext->ecxt_scantuple;

	for (int i = 0; i < rows->n_columns; i++) {
		row->tts_values[rows->first + i] = from ? from->values[i] : (Datum)0;
		row->tts_isnull[rows->first + i] = !from || from->are_null[i];
	}
}

/* Evaluates one side of the equalities over the row. Returns false if one is NULL. */
static bool hash_row(const struct ifp_dimension_rows *rows, bool is_outer, uint32 *hash)
{
	*hash = 0;
	for (int i = 0; i < rows->n_equalities; i++) {
		struct equality *equality = &rows->equalities[i];
		bool is_null;
		Datum value = ExecEvalExprSwitchContext(is_outer ? equality->outer : equality->inner, rows->econtext, &is_null);
		FmgrInfo *function = is_outer ? &equality->hash_outer : &equality->hash_inner;

		if (is_null)
			return false;
		*hash = hash_combine(*hash, DatumGetUInt32(FunctionCall1Coll(function, equality->collation, value)));
	}
	return true;
}

/* ---- reading ---- */

static void put_into_bucket(struct ifp_dimension_rows *rows, struct dimension_row *row)
{
	struct dimension_row **bucket = &rows->buckets[row->hash & (rows->n_buckets - 1)];

	row->next = *bucket;
	*bucket = row;
}

/* Doubles the buckets. */
static void grow(struct ifp_dimension_rows *rows)
{
	struct dimension_row **before = rows->buckets;
	uint32 n_before = rows->n_buckets;

	rows->n_buckets *= 2;
	rows->buckets = MemoryContextAllocExtended(rows->context, (Size)rows->n_buckets * sizeof *rows->buckets,
						   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (uint32 i = 0; i < n_before; i++)
		for (struct dimension_row *row = before[i], *next; row; row = next) {
			next = row->next;
			put_into_bucket(rows, row);
		}
	pfree(before);
}

/* Copies a tuple of the dimension. */
static struct dimension_row *copy_row(const struct ifp_dimension_rows *rows, TupleTableSlot *slot)
{
	Size n = (Size)rows->n_columns;
	struct dimension_row *row = palloc0(sizeof *row + n * (sizeof(Datum) + sizeof(bool)));

	row->values = (Datum *)(row + 1);
	row->are_null = (bool *)(row->values + n);
	for (int i = 0; i < rows->n_columns; i++) {
		Datum value = slot_getattr(slot, i + 1, &row->are_null[i]);

		if (!row->are_null[i])
			row->values[i] = datumCopy(value, rows->by_value[i], rows->lengths[i]);
	}
	return row;
}

static void add_row(struct ifp_dimension_rows *rows, TupleTableSlot *slot)
{
	MemoryContext before = MemoryContextSwitchTo(rows->context);
	struct dimension_row *row = copy_row(rows, slot);

	MemoryContextSwitchTo(before);
	write_row(rows, row);
	if (hash_row(rows, false, &row->hash)) {
		if (rows->n_rows++ >= rows->n_buckets)
			grow(rows);
		put_into_bucket(rows, row);
	}
	ResetExprContext(rows->econtext);
}

enum { FIRST_BUCKETS = 64 };

void ifp_dimension_rows_read(struct ifp_dimension_rows *rows, PlanState *node, MemoryContext context)
{
	/* what a node allocates while it runs must outlive this function */
	MemoryContext before = MemoryContextSwitchTo(node->state->es_query_cxt);
	TupleTableSlot *slot;

	rows->context = context;
	rows->n_rows = 0;
	rows->n_buckets = FIRST_BUCKETS;
	rows->buckets = MemoryContextAllocZero(context, rows->n_buckets * sizeof *rows->buckets);
	for (slot = ExecProcNode(node); !TupIsNull(slot); slot = ExecProcNode(node)) {
		CHECK_FOR_INTERRUPTS();
		add_row(rows, slot);
	}
	MemoryContextSwitchTo(before);
}

/* ---- finding ---- */

static bool is_partner(const struct ifp_dimension_rows *rows, const struct dimension_row *row)
{
	ListCell *cell;
	bool is_null;

	if (row->hash != rows->hash)
		return false;
	write_row(rows, row);
	for (int i = 0; i < rows->n_equalities; i++) {
		struct equality *equality = &rows->equalities[i];
		Datum outer = ExecEvalExprSwitchContext(equality->outer, rows->econtext, &is_null);
		Datum inner = ExecEvalExprSwitchContext(equality->inner, rows->econtext, &is_null);

		if (!DatumGetBool(FunctionCall2Coll(&equality->equals, equality->collation, outer, inner)))
			return false;
	}
	foreach (cell, rows->conditions) {
		Datum holds = ExecEvalExprSwitchContext(lfirst(cell), rows->econtext, &is_null);

		if (is_null || !DatumGetBool(holds))
			return false;
	}
	return true;
}

/* Advances to the next match, and writes it to the row. */
static bool find_next(struct ifp_dimension_rows *rows)
{
	while (rows->next) {
		const struct dimension_row *row = rows->next;

		rows->next = row->next;
		CHECK_FOR_INTERRUPTS();
		ResetExprContext(rows->econtext);
		if (is_partner(rows, row))
			return true;
	}
	return false;
}

void ifp_dimension_rows_start(struct ifp_dimension_rows *rows)
{
	bool has_keys = hash_row(rows, true, &rows->hash);

	rows->next = has_keys ? rows->buckets[rows->hash & (rows->n_buckets - 1)] : NULL;
	rows->is_found = rows->is_done = false;
}

bool ifp_dimension_rows_next(struct ifp_dimension_rows *rows)
{
	bool is_first = !rows->is_found;

	if (rows->is_done)
		return false;
	rows->is_found = find_next(rows);
	switch (rows->kind) {
	case JOIN_INNER:
		return rows->is_found;
	case JOIN_SEMI:
		rows->is_done = true;
		return rows->is_found;
	default: /* left join or antijoin: a row without a match */
		rows->is_done = !rows->is_found || rows->kind == JOIN_ANTI;
		if (rows->is_found)
			return rows->kind == JOIN_LEFT;
		write_row(rows, NULL);
		return is_first;
	}
}
