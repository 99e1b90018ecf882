#include "pg_ext/am/insert.h"

#include "pg_ext/storage/series_dict.h"

void iforest_entry_form(Relation index, const struct iforest_definition *definition, const Datum *values,
			const bool *are_null, ItemPointer tid, struct iforest_entry *entry)
{
	unsigned time = definition->n_by;

	entry->key = (struct iforest_key){ .time_is_null = are_null[time], .ref = iforest_ref_from_tid(tid) };
	if (!are_null[time])
		entry->key.time = iforest_time_from_datum(definition, values[time]);
	entry->present = 0;
	for (unsigned v = 0; v < definition->n_values; v++) {
		entry->values[v].integer = 0;
		if (are_null[time + 1 + v])
			continue;
		entry->values[v] = iforest_value_from_datum(index, definition, v, values[time + 1 + v]);
		entry->present |= 1u << v;
	}
}

uint32 iforest_entry_series(Relation index, const struct iforest_definition *definition, uint64 index_id,
			    const Datum *values, const bool *are_null)
{
	struct iforest_series_key key = { .alloc = &iforest_pg_alloc };
	uint32 series;

	if (definition->n_by == 0)
		return 0;
	for (unsigned i = 0; i < definition->n_by; i++)
		iforest_by_append(index, definition, i, values[i], are_null[i], &key);
	if (key.n_bytes > IFOREST_MAX_SERIES_BYTES)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			errmsg("the by columns of index \"%s\" hold more than %d bytes", RelationGetRelationName(index),
			       IFOREST_MAX_SERIES_BYTES),
			errhint("Index a hash or a prefix of the column instead, or a column that names the series more "
				"briefly."));
	series = iforest_series_obtain(index, iforest_series_cache_get(index, index_id), key.bytes, key.n_bytes);
	iforest_series_release(&key);
	return series;
}
