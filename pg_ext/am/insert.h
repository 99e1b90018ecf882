/* am/insert.h -- INSERT: a row of the table as an entry of the index, appended to a pending chain. */
#ifndef IFP_AM_INSERT_H
#define IFP_AM_INSERT_H

#include "core/page/leaf.h"
#include "pg_ext/types/values.h"

#include "access/amapi.h"

/* Fills in an entry except for its series. values and are_null are those of the index's columns, in order. Raises an error if a
 * value cannot be stored. */
void ifp_entry_form(Relation index, const struct ifp_definition *definition, const Datum *values, const bool *are_null,
		    ItemPointer tid, struct iforest_entry *entry);

/* Returns the id of a row's series, and adds the series to the dictionary if it is new. Raises an error if the key is too
 * long. */
uint32 ifp_entry_series(Relation index, const struct ifp_definition *definition, uint64 index_id, const Datum *values,
			const bool *are_null);

/* aminsert: appends a row's entry, and flushes and merges if the chain has grown long enough (storage/compact.h). Returns
 * false.
 * Cost      one WAL record of a few dozen bytes; no heavyweight lock unless the chain is flushed. */
bool ifp_insert(Relation index, Datum *values, bool *are_null, ItemPointer tid, Relation heap, IndexUniqueCheck unique,
		bool index_unchanged, IndexInfo *info);

#endif
