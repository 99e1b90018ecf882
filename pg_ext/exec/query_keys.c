#include "pg_ext/exec/query_keys.h"

#include "access/stratnum.h"
#include "executor/executor.h"
#include "utils/lsyscache.h"

/* A condition, its comparand and its operator; no comparand for IS [NOT] NULL. */
struct key {
	struct ifp_key_condition condition;
	ExprState *comparand;
	FmgrInfo operator;
};

struct ifp_query_keys {
	int n;
	struct key list[FLEXIBLE_ARRAY_MEMBER];
};

struct ifp_query_keys *ifp_query_keys_begin(const struct ifp_index_query *query)
{
	struct ifp_query_keys *keys =
		palloc0(offsetof(struct ifp_query_keys, list) + (Size)list_length(query->keys) * sizeof keys->list[0]);
	ListCell *cell;

	foreach (cell, query->keys) {
		struct key *key = &keys->list[keys->n++];

		ifp_key_condition_read(lfirst(cell), &key->condition);
		if (key->condition.comparand) {
			key->comparand = ExecInitExpr(key->condition.comparand, NULL);
			fmgr_info(key->condition.function, &key->operator);
		}
	}
	return keys;
}

/* Returns the strategy of a condition's operator in the index. */
static StrategyNumber strategy_of(const struct ifp_key_condition *condition, Relation index)
{
	if (condition->is_null_test)
		return InvalidStrategy;
	return (StrategyNumber)get_op_opfamily_strategy(condition->opno, index->rd_opfamily[condition->column - 1]);
}

bool ifp_query_keys_read(struct ifp_query_keys *keys, ExprContext *econtext, Relation index,
			 const struct ifp_definition *definition, uint64 index_id, struct ifp_scan_keys *result)
{
	ScanKey scan_keys = palloc0((Size)(keys->n + 1) * sizeof *scan_keys);

	for (int i = 0; i < keys->n; i++) {
		struct key *key = &keys->list[i];
		const struct ifp_key_condition *condition = &key->condition;
		int flags = condition->is_array ? SK_SEARCHARRAY : 0;
		bool is_null = false;
		Datum comparand = (Datum)0;

		if (condition->is_null_test)
			flags = SK_ISNULL | (condition->wants_null ? SK_SEARCHNULL : SK_SEARCHNOTNULL);
		else
			comparand = ExecEvalExpr(key->comparand, econtext, &is_null);
		if (is_null)
			return false;
		ScanKeyEntryInitializeWithInfo(&scan_keys[i], flags, condition->column, strategy_of(condition, index),
					       condition->right_type, condition->collation, &key->operator, comparand);
	}
	ifp_scan_keys_read(index, definition, index_id, scan_keys, keys->n, false, result);
	return true;
}
