#include "pg_ext/exec/top_heap.h"

#include "executor/executor.h"
#include "utils/memutils.h"

#include "core/base/priority_queue.h"
#include "pg_ext/base/engine.h"

/* With more than so many groups to return, few are left out, and the heap takes longer than what it saves. */
enum { MOST_RETURNED = 10000 };

/* The value of a group by which it is sorted. */
struct rank {
	iforest_int128 number;
	bool is_null;
};

struct ifp_top_heap {
	struct ifp_top_groups top;
	ExprState *limit, *offset; /* offset NULL: none */
	struct rank *ranks;
	uint32 n_returned;		     /* LIMIT + OFFSET, the most ranks kept; 0: all groups are returned */
	struct iforest_priority_queue queue; /* of ranks, the worst first */
};

/* True if rank a is sorted behind b. */
static bool is_worse(const void *context, uint32_t a, uint32_t b)
{
	const struct ifp_top_heap *heap = context;
	const struct rank *x = &heap->ranks[a], *y = &heap->ranks[b];

	if (x->is_null || y->is_null)
		return x->is_null != y->is_null && x->is_null != heap->top.nulls_first;
	return heap->top.is_descending ? x->number < y->number : x->number > y->number;
}

struct ifp_top_heap *ifp_top_heap_begin(const struct ifp_index_query *query)
{
	struct ifp_top_heap *heap;

	if (query->top == NIL)
		return NULL;
	heap = palloc0(sizeof *heap);
	ifp_top_groups_read(query, &heap->top);
	heap->limit = ExecInitExpr((Expr *)heap->top.limit, NULL);
	heap->offset = ExecInitExpr((Expr *)heap->top.offset, NULL);
	return heap;
}

/* Returns the number that LIMIT or OFFSET gives; 0 if it has none or gives NULL. */
static int64 number_of(ExprState *bound, ExprContext *econtext)
{
	bool is_null = true;
	Datum number = bound ? ExecEvalExprSwitchContext(bound, econtext, &is_null) : (Datum)0;

	return is_null ? 0 : DatumGetInt64(number);
}

/* Returns LIMIT + OFFSET; 0 if there is no limit, or one that is wrong or too great. */
static uint32 count_returned(const struct ifp_top_heap *heap, ExprContext *econtext)
{
	int64 limit = number_of(heap->limit, econtext), offset = number_of(heap->offset, econtext);

	if (limit <= 0 || limit > MOST_RETURNED || offset < 0 || offset > MOST_RETURNED - limit)
		return 0;
	return (uint32)(limit + offset);
}

void ifp_top_heap_reset(struct ifp_top_heap *heap, ExprContext *econtext, MemoryContext context)
{
	MemoryContext before = MemoryContextSwitchTo(context);

	heap->n_returned = count_returned(heap, econtext);
	/* one more, for the group that is compared */
	heap->ranks = palloc(((Size)heap->n_returned + 1) * sizeof *heap->ranks);
	heap->queue = (struct iforest_priority_queue){ .items = palloc(((Size)heap->n_returned + 1) * sizeof(uint32_t)),
						       .n_reserved = heap->n_returned,
						       .comes_before = is_worse,
						       .context = heap };
	MemoryContextSwitchTo(before);
}

static struct rank rank_of(const struct ifp_top_groups *top, const struct iforest_aggregate *group)
{
	const struct iforest_value_aggregate *value = &group->values[Max(top->value, 0)];

	switch (top->quantity) {
	case IFP_TOP_ROWS:
		return (struct rank){ .number = group->n_rows };
	case IFP_TOP_COUNT:
		return (struct rank){ .number = value->n };
	case IFP_TOP_SUM:
		return (struct rank){ .number = value->sum, .is_null = value->n == 0 };
	case IFP_TOP_MIN:
		return (struct rank){ .number = value->min.value.integer, .is_null = value->n == 0 };
	case IFP_TOP_MAX:
		return (struct rank){ .number = value->max.value.integer, .is_null = value->n == 0 };
	}
	return (struct rank){ .is_null = true };
}

bool ifp_top_heap_add(struct ifp_top_heap *heap, const struct iforest_aggregate *group)
{
	uint32 n = heap->queue.n;

	if (heap->n_returned == 0)
		return true;
	heap->ranks[n] = rank_of(&heap->top, group);
	if (n < heap->n_returned) {
		(void)iforest_priority_queue_push(&heap->queue, &ifp_palloc_allocator, n); /* there is room for all */
		return true;
	}
	if (is_worse(heap, n, heap->queue.items[0]))
		return false;
	heap->ranks[heap->queue.items[0]] = heap->ranks[n];
	iforest_priority_queue_settle(&heap->queue);
	return true;
}
