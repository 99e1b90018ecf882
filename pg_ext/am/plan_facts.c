#include "pg_ext/am/plan_facts.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

struct ifp_plan_facts ifp_all_plan_facts[IFP_MOST_PLAN_FACTS];

static void forget(struct ifp_plan_facts *facts)
{
	if (facts->time_statistics)
		heap_freetuple(facts->time_statistics);
	*facts = (struct ifp_plan_facts){ .index = InvalidOid };
}

static void forget_index(Datum argument, int cache, uint32 hash)
{
	(void)argument;
	(void)cache;
	for (unsigned i = 0; i < IFP_MOST_PLAN_FACTS; i++)
		if (hash == 0 || ifp_all_plan_facts[i].hash == hash)
			forget(&ifp_all_plan_facts[i]);
}

static void forget_estimates(Datum argument, int cache, uint32 hash)
{
	(void)hash;
	forget_index(argument, cache, 0);
}

struct ifp_plan_facts *ifp_plan_facts_new(Oid index)
{
	static bool is_registered;
	static uint64 number;
	struct ifp_plan_facts *facts = &ifp_all_plan_facts[index % IFP_MOST_PLAN_FACTS];

	if (!is_registered) {
		CacheRegisterSyscacheCallback(RELOID, forget_index, (Datum)0);
		CacheRegisterSyscacheCallback(STATRELATTINH, forget_estimates, (Datum)0);
		is_registered = true;
	}
	forget(facts);
	*facts = (struct ifp_plan_facts){ .index = index,
					  .hash = GetSysCacheHashValue1(RELOID, ObjectIdGetDatum(index)),
					  .number = ++number };
	return facts;
}

pg_noinline static const struct ifp_meta_sizes *read_sizes(const IndexOptInfo *index)
{
	Relation relation = index_open(index->indexoid, NoLock);
	struct ifp_plan_facts *facts;
	struct ifp_meta_sizes sizes;

	ifp_meta_read_sizes(relation, &sizes);
	index_close(relation, NoLock);
	facts = ifp_plan_facts(index->indexoid);
	facts->are_sizes_known = true;
	facts->sizes_read = GetCurrentStatementStartTimestamp();
	facts->sizes_n_blocks = index->pages;
	facts->sizes_n_changes = ifp_meta_n_changes;
	facts->sizes = sizes;
	return &facts->sizes;
}

pg_attribute_hot const struct ifp_meta_sizes *ifp_plan_facts_sizes(const IndexOptInfo *index)
{
	const struct ifp_plan_facts *facts = ifp_plan_facts(index->indexoid);

	if (facts->are_sizes_known && facts->sizes_n_blocks == index->pages && facts->sizes_n_changes == ifp_meta_n_changes &&
	    (uint64)(GetCurrentStatementStartTimestamp() - facts->sizes_read) < USECS_PER_SEC)
		return &facts->sizes;
	return read_sizes(index);
}

void ifp_plan_facts_store(struct ifp_plan_facts *facts, const struct ifp_meta_sizes *sizes, HeapTuple time_statistics)
{
	MemoryContext before = MemoryContextSwitchTo(CacheMemoryContext);
	HeapTuple copy = time_statistics ? heap_copytuple(time_statistics) : NULL;

	MemoryContextSwitchTo(before);
	if (facts->time_statistics)
		heap_freetuple(facts->time_statistics);
	facts->is_time_assessed = true;
	facts->assessed = *sizes;
	facts->time_statistics = copy;
}
