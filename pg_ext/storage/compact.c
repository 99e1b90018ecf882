#include "pg_ext/storage/compact.h"

#include "core/run/writer.h"
#include "pg_ext/storage/locks.h"
#include "pg_ext/storage/pending.h"
#include "pg_ext/storage/compact_private.h"

struct entries {
	struct iforest_entry *items;
	uint32 n, n_reserved;
};

static void read_chain(struct iforest_index *index, const struct iforest_chain *chain, struct entries *entries)
{
	struct iforest_chain_reader *reader = palloc(sizeof *reader);

	iforest_chain_open(reader, index, chain);
	while (iforest_chain_next(reader)) {
		if (entries->n + reader->n_entries > entries->n_reserved) {
			entries->n_reserved = Max(2 * entries->n_reserved, entries->n + reader->n_entries);
			entries->items = entries->items
				? repalloc_huge(entries->items, entries->n_reserved * sizeof *entries->items)
				: MemoryContextAllocHuge(CurrentMemoryContext, entries->n_reserved * sizeof *entries->items);
		}
		for (uint32 i = 0; i < reader->n_entries; i++)
			iforest_chain_entry(reader, i, &entries->items[entries->n++]);
	}
	if (index->met_foreign_page)
		iforest_require(
			IFOREST_CORRUPT, index->relation,
			&(struct iforest_fault){ .what = "a chain of pending pages is broken", .run_id = chain->clock });
	pfree(reader);
}

static void write_run(struct iforest_index *index, const struct entries *entries, struct iforest_run *run)
{
	struct iforest_run_builder *builder = palloc(sizeof *builder);
	struct iforest_arrival *arrivals = iforest_arrivals_sorted(&entries->items->key, sizeof *entries->items, entries->n);

	iforest_index_require(index, iforest_run_builder_start(builder, &index->store, &index->manifest));
	for (uint32 i = 0; i < entries->n; i++)
		iforest_index_require(index, iforest_run_builder_add(builder, &entries->items[arrivals[i].entry]));
	iforest_index_require(index, iforest_run_builder_finish(builder, run));
	pfree(arrivals);
	pfree(builder);
}

/* Is the chain still waiting? */
static bool is_closed(struct iforest_index *index, uint32 clock, struct iforest_chain *chain)
{
	for (uint32 i = 0; i < index->meta.n_closed; i++)
		if (index->meta.closed[i].clock == clock) {
			*chain = index->meta.closed[i];
			return true;
		}
	return false;
}

/* Requires the chain's lock. */
static bool seal_chain(struct iforest_index *index, uint32 clock)
{
	struct entries entries = { 0 };
	struct iforest_chain chain;
	struct iforest_edit edit = { 0 };
	struct iforest_run run;

	iforest_index_refresh(index);
	if (!is_closed(index, clock, &chain))
		return false;
	read_chain(index, &chain, &entries);
	if (entries.n > 0) {
		write_run(index, &entries, &run);
		edit.added = &run;
		pfree(entries.items);
	}
	index->sealed[index->n_sealed++] = clock;
	iforest_index_require(index, iforest_manifest_commit(&index->manifest, &index->store, &edit));
	return true;
}

uint32 iforest_flush_chains(struct iforest_index *index, bool wait)
{
	uint32 clocks[IFOREST_MAX_CLOSED], n_clocks, n_sealed = 0;

	iforest_meta_read(index->relation, &index->meta);
	n_clocks = index->meta.n_closed;
	for (uint32 i = 0; i < n_clocks; i++)
		clocks[i] = index->meta.closed[i].clock;
	for (uint32 i = 0; i < n_clocks; i++) {
		if (wait)
			iforest_lock(index->relation, clocks[i], ExclusiveLock);
		else if (!iforest_try_lock(index->relation, clocks[i], ExclusiveLock))
			continue;
		iforest_lock(index->relation, IFOREST_LOCK_WRITING, ShareLock);
		n_sealed += seal_chain(index, clocks[i]);
		iforest_unlock(index->relation, IFOREST_LOCK_WRITING, ShareLock);
		iforest_unlock(index->relation, clocks[i], ExclusiveLock);
	}
	return n_sealed;
}
