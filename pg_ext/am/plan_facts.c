#include "pg_ext/am/plan_facts.h"

#include "access/htup_details.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

/* A direct-mapped cache: indexes with the same slot evict each other. */
static struct ifp_plan_facts all_facts[64];

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
	for (unsigned i = 0; i < lengthof(all_facts); i++)
		if (hash == 0 || all_facts[i].hash == hash)
			forget(&all_facts[i]);
}

static void forget_estimates(Datum argument, int cache, uint32 hash)
{
	(void)hash;
	forget_index(argument, cache, 0);
}

pg_attribute_hot struct ifp_plan_facts *ifp_plan_facts(Oid index)
{
	static bool is_registered;
	static uint64 number;
	struct ifp_plan_facts *facts = &all_facts[index % lengthof(all_facts)];

	if (facts->index == index)
		return facts;
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
