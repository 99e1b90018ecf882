#include "pg_ext/planner/index_order.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "optimizer/plancat.h"
#include "utils/inval.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "pg_ext/planner/verdict.h"

/* ---- cache ---- */

/* The B-tree operator family that orders a type as an iforest operator family does. All are forgotten when an operator family is
 * created or dropped, since that of the B-tree may be dropped while indexes of the other exist. */
struct order {
	Oid family, type, btree_family;
};

static struct order all_orders[64];
static unsigned n_orders;

static void forget_orders(Datum argument, int cache, uint32 hash)
{
	(void)argument;
	(void)cache;
	(void)hash;
	n_orders = 0;
}

/* Returns InvalidOid if it is not cached. */
pg_attribute_hot static Oid find_order(Oid family, Oid type)
{
	for (unsigned i = 0; i < n_orders; i++)
		if (all_orders[i].family == family && all_orders[i].type == type)
			return all_orders[i].btree_family;
	return InvalidOid;
}

/* Returns false if the cache is full. */
static bool add_order(Oid family, Oid type, Oid btree_family)
{
	static bool is_registered;

	if (!is_registered)
		CacheRegisterSyscacheCallback(OPFAMILYOID, forget_orders, (Datum)0);
	is_registered = true;
	if (OidIsValid(find_order(family, type)))
		return true;
	if (n_orders == lengthof(all_orders))
		return false;
	all_orders[n_orders++] = (struct order){ family, type, btree_family };
	return true;
}

/* ---- what the server knows of an index ---- */

/* Tells the server whether to search when it next collects this index, and returns whether it would have. Its cached copy of the
 * index's access method routine is asked for this only then; everybody else calls the handler. */
pg_noinline static bool let_search(const IndexOptInfo *index, bool does)
{
	Relation relation = index_open(index->indexoid, NoLock);
	bool did = relation->rd_indam->amcanorder;

	relation->rd_indam->amcanorder = does;
	index_close(relation, NoLock);
	return did;
}

/* Caches what the server found out about an index. */
pg_noinline static void learn(const IndexOptInfo *index)
{
	for (int i = 0; i < index->nkeycolumns; i++)
		if (!add_order(index->opfamily[i], index->opcintype[i], index->sortopfamily[i]))
			return;
	(void)let_search(index, false);
}

/* Fills in what the server would have found out. Key columns are ascending with NULLs last: types/definition refuses others.
 * Returns false if it is not cached. */
pg_attribute_hot static bool fill_in(IndexOptInfo *index)
{
	static bool all_false[INDEX_MAX_KEYS];
	Oid *families = palloc((Size)index->nkeycolumns * sizeof *families);

	for (int i = 0; i < index->nkeycolumns; i++) {
		families[i] = find_order(index->opfamily[i], index->opcintype[i]);
		if (!OidIsValid(families[i]))
			return false;
	}
	index->sortopfamily = families;
	index->reverse_sort = index->nulls_first = all_false;
	return true;
}

/* Has the server collect the table's indexes anew, and search. It calls the hook, which caches what it found. */
pg_noinline static void collect_again(PlannerInfo *root, Oid table, const RelOptInfo *rel)
{
	RelOptInfo *copy = makeNode(RelOptInfo);

	copy->reloptkind = rel->reloptkind;
	copy->rtekind = rel->rtekind;
	copy->relid = rel->relid;
	get_relation_info(root, table, false, copy);
}

/* ---- entry ---- */

pg_attribute_hot void ifp_index_order_complete(PlannerInfo *root, Oid table, RelOptInfo *rel)
{
	bool are_forgotten = false;
	ListCell *cell;

	foreach (cell, rel->indexlist) {
		IndexOptInfo *index = lfirst(cell);

		if (!ifp_is_iforest(index))
			continue;
		if (index->sortopfamily)
			learn(index);
		else if (!fill_in(index))
			are_forgotten = !let_search(index, true) || are_forgotten;
	}
	if (!are_forgotten)
		return;
	collect_again(root, table, rel);
	foreach (cell, rel->indexlist)
		if (ifp_is_iforest(lfirst(cell)) && !lfirst_node(IndexOptInfo, cell)->sortopfamily)
			(void)fill_in(lfirst(cell));
}
