#include "pg_ext/base/engine.h"

#include "access/amapi.h"

#include "storage/predicate.h"

#include "pg_ext/types/definition_slice.h"
#include "pg_ext/am/insert.h"
#include "pg_ext/storage/compact.h"
#include "pg_ext/base/test_points.h"
#include "pg_ext/storage/pending.h"
#include "pg_ext/storage/series_dict.h"

/* What one backend keeps of an index from insert to insert, in rd_amcache: it goes when the relation changes. */
struct insert_state {
	struct iforest_definition definition;
	uint64 index_id;
	struct iforest_pending_place place;
};

static struct insert_state *state_of(Relation index)
{
	struct insert_state *state = index->rd_amcache;

	if (!state) {
		struct iforest_meta *meta = palloc(sizeof *meta);

		iforest_meta_read(index, meta);
		state = MemoryContextAllocZero(index->rd_indexcxt, sizeof *state);
		iforest_definition_read(index, &state->definition);
		state->index_id = meta->index_id;
		index->rd_amcache = state;
		pfree(meta);
	}
	return state;
}

bool iforest_insert(Relation index, Datum *values, bool *are_null, ItemPointer tid, Relation heap, IndexUniqueCheck unique,
		    bool index_unchanged, IndexInfo *info)
{
	/* a copy: whatever looks into a catalog may throw the original away */
	struct insert_state state = *state_of(index);
	struct iforest_entry entry;
	uint32 n_pages;

	(void)heap;
	(void)unique;
	(void)index_unchanged;
	(void)info;
	iforest_entry_form(index, &state.definition, values, are_null, tid, &entry);
	entry.key.series = iforest_entry_series(index, &state.definition, state.index_id, values, are_null);
	iforest_pause("entry formed");
	n_pages = iforest_pending_append(index, state.definition.n_values, &state.place, &entry);
	/* once more, as before the call: who has read the index in between has not seen the entry, but holds its lock */
	CheckForSerializableConflictIn(index, NULL, InvalidBlockNumber);
	if (index->rd_amcache)
		((struct insert_state *)index->rd_amcache)->place = state.place;
	if (n_pages > state.definition.pending_pages)
		iforest_after_append(index, state.definition.background_merge);
	return false;
}
