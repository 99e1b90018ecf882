#include "pg_ext/planner/index_fields.h"

#include "access/genam.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "pg_ext/storage/index.h"

struct known {
	uint64 index_id; /* the cache key: new with every build */
	struct iforest_node_schema fields;
};

static HTAB *all_known;

/* At this size the cache is emptied. */
enum { MOST_KNOWN = 256 };

static void forget_all(void)
{
	HASHCTL control = { .keysize = sizeof(uint64), .entrysize = sizeof(struct known), .hcxt = CacheMemoryContext };

	if (all_known)
		hash_destroy(all_known);
	all_known = NULL;
	all_known = hash_create("iforest node schemas", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* Reads the manifest. An index may be rebuilt in the same transaction, so the cache key is the id read with it. */
static const struct iforest_node_schema *read_fields(Relation relation)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "iforest fields", ALLOCSET_SMALL_SIZES);
	MemoryContext before = MemoryContextSwitchTo(context);
	struct ifp_index *index = palloc(sizeof *index);
	struct known *known;

	ifp_index_open(index, relation);
	ifp_index_refresh(index);
	if (hash_get_num_entries(all_known) >= MOST_KNOWN)
		forget_all();
	known = hash_search(all_known, &index->meta.index_id, HASH_ENTER, NULL);
	known->fields = index->manifest.fields;
	MemoryContextSwitchTo(before);
	MemoryContextDelete(context);
	return &known->fields;
}

const struct iforest_node_schema *ifp_index_fields(Oid index)
{
	Relation relation = index_open(index, NoLock);
	const struct iforest_node_schema *fields;
	struct ifp_meta_sizes sizes;
	struct known *known;

	if (!all_known)
		forget_all();
	ifp_meta_read_sizes(relation, &sizes);
	known = hash_search(all_known, &sizes.index_id, HASH_FIND, NULL);
	fields = known ? &known->fields : read_fields(relation);
	index_close(relation, NoLock);
	return fields;
}
