#include "pg_ext/planner/would_be_index.h"

#include <math.h>

#include "catalog/partition.h"
#include "nodes/pathnodes.h"
#include "optimizer/plancat.h"
#include "utils/lsyscache.h"

#include "pg_ext/planner/verdict.h"

/* Bytes of an entry, of each of its values, and of the blocks that every index has. */
enum { ENTRY_BYTES = 5, VALUE_BYTES = 4, REAL_BYTES = 8, FIXED_BYTES = 5 * BLCKSZ };

static List *would_be;

double ifp_would_be_bytes(double n_rows, int n_values, int n_reals)
{
	int entry_bytes = ENTRY_BYTES + VALUE_BYTES * (n_values - n_reals) + REAL_BYTES * n_reals;

	return ceil((FIXED_BYTES + n_rows * entry_bytes) / BLCKSZ) * BLCKSZ;
}

void ifp_would_be_indexes_set(List *indexes)
{
	would_be = indexes;
}

bool ifp_would_be_index_is_of(const struct ifp_would_be_index *index, Oid table)
{
	char kind = get_rel_relkind(table);

	if (table == index->copied)
		return kind == RELKIND_RELATION || kind == RELKIND_MATVIEW;
	if (kind != RELKIND_RELATION)
		return false;
	if (!get_rel_relispartition(table) || !list_member_oid(get_partition_ancestors(table), index->table))
		return false;
	for (AttrNumber number = 1;; number++) {
		const char *name = get_attname(index->copied, number, true), *own = get_attname(table, number, true);

		if (!name || !own)
			return name == own;
		if (strcmp(name, own) != 0)
			return false;
	}
}

static void add_index(PlannerInfo *root, RelOptInfo *rel, const struct ifp_would_be_index *index)
{
	RelOptInfo *copy = makeNode(RelOptInfo);
	ListCell *cell;

	copy->reloptkind = RELOPT_BASEREL;
	copy->rtekind = RTE_RELATION;
	copy->relid = rel->relid;
	get_relation_info(root, index->copy, false, copy);
	foreach (cell, copy->indexlist) {
		IndexOptInfo *added = lfirst_node(IndexOptInfo, cell);

		if (!ifp_is_iforest(added))
			continue;
		added->rel = rel;
		added->tuples = rel->tuples;
		added->pages = (BlockNumber)Min(ifp_would_be_bytes(rel->tuples, index->n_values, index->n_reals) / BLCKSZ,
						MaxBlockNumber);
		rel->indexlist = lappend(rel->indexlist, added);
	}
}

void ifp_would_be_indexes_add(PlannerInfo *root, Oid table, bool is_parent, RelOptInfo *rel)
{
	List *indexes = would_be;
	ListCell *cell;

	if (is_parent || indexes == NIL)
		return;
	would_be = NIL; /* copies have no others */
	foreach (cell, indexes)
		if (ifp_would_be_index_is_of(lfirst(cell), table))
			add_index(root, rel, lfirst(cell));
	would_be = indexes;
}
