#include "pg_ext/am/insert.h"

#include "access/amapi.h"
#include "storage/predicate.h"

#include "pg_ext/base/engine.h"
#include "pg_ext/base/test_points.h"
#include "pg_ext/storage/compact.h"
#include "pg_ext/storage/pending.h"
#include "pg_ext/storage/series_dict.h"
#include "pg_ext/types/definition.h"

void ifp_entry_form(Relation index, const struct ifp_definition *definition, const Datum *values, const bool *are_null,
		    ItemPointer tid, struct iforest_entry *entry)
{
	unsigned time = definition->n_by;

	entry->key = (struct iforest_key){ .time_is_null = are_null[time], .ref = ifp_ref_from_tid(tid) };
	if (!are_null[time])
		entry->key.time = ifp_time_from_datum(definition, values[time]);
	entry->present = 0;
	for (unsigned v = 0; v < definition->n_values; v++) {
		entry->values[v].integer = 0;
		if (are_null[time + 1 + v])
			continue;
		entry->values[v] = ifp_value_from_datum(index, definition, v, values[time + 1 + v]);
		entry->present |= 1u << v;
	}
}

uint32 ifp_entry_series(Relation index, const struct ifp_definition *definition, uint64 index_id, const Datum *values,
			const bool *are_null)
{
	struct iforest_series_key key = { .alloc = &ifp_palloc_allocator };
	uint32 series;

	if (definition->n_by == 0)
		return 0;
	for (unsigned i = 0; i < definition->n_by; i++)
		ifp_by_append(index, definition, i, values[i], are_null[i], &key);
	if (key.n_bytes > IFP_MAX_SERIES_BYTES)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			errmsg("the by columns of index \"%s\" hold more than %d bytes", RelationGetRelationName(index),
			       IFP_MAX_SERIES_BYTES),
			errdetail("They hold %u bytes.", (unsigned)key.n_bytes),
			errhint("Index a hash or a prefix of the column instead, or a column that names the series more "
				"briefly."));
	series = ifp_series_dict_obtain(index, ifp_series_dict_get(index, index_id), key.bytes, key.n_bytes);
	iforest_series_key_release(&key);
	return series;
}

/* The state of a backend's inserts into an index, kept in rd_amcache; dropped when the relation changes. */
struct insert_state {
	struct ifp_definition definition;
	uint64 index_id;
	struct ifp_append_hint place;
};

static struct insert_state *state_of(Relation index)
{
	struct insert_state *state = index->rd_amcache;

	if (!state) {
		struct ifp_meta *meta = palloc(sizeof *meta);

		ifp_meta_read(index, meta);
		state = MemoryContextAllocZero(index->rd_indexcxt, sizeof *state);
		ifp_definition_read(index, &state->definition);
		state->index_id = meta->index_id;
		index->rd_amcache = state;
		pfree(meta);
	}
	return state;
}

bool ifp_insert(Relation index, Datum *values, bool *are_null, ItemPointer tid, Relation heap, IndexUniqueCheck unique,
		bool index_unchanged, IndexInfo *info)
{
	/* a copy: any catalog lookup may drop the original */
	struct insert_state state = *state_of(index);
	struct iforest_entry entry;
	uint32 n_pages;

	(void)heap;
	(void)unique;
	(void)index_unchanged;
	(void)info;
	ifp_entry_form(index, &state.definition, values, are_null, tid, &entry);
	entry.key.series = ifp_entry_series(index, &state.definition, state.index_id, values, are_null);
	ifp_test_point("entry formed");
	n_pages = ifp_pending_append(index, state.definition.n_values, &state.place, &entry);
	/* PostgreSQL checks before the call; a reader since then has not seen the entry, but holds its predicate lock */
	CheckForSerializableConflictIn(index, NULL, InvalidBlockNumber);
	if (index->rd_amcache)
		((struct insert_state *)index->rd_amcache)->place = state.place;
	if (n_pages > state.definition.pending_pages)
		ifp_compact_after_append(index, state.definition.background_merge);
	return false;
}
