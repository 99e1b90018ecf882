/* am/insert.h -- A row of the table as an entry of the index, appended to a pending chain. */
#ifndef IFP_AM_INSERT_H
#define IFP_AM_INSERT_H

#include "core/page/leaf.h"
#include "pg_ext/types/values.h"

#include "access/amapi.h"

/* Fills in an entry but for its series. values and are_null are those of the index's columns, in their order. */
void ifp_entry_form(Relation index, const struct ifp_definition *definition, const Datum *values, const bool *are_null,
		    ItemPointer tid, struct iforest_entry *entry);

/* The series of a row, which is added to the dictionary if it is new. */
uint32 ifp_entry_series(Relation index, const struct ifp_definition *definition, uint64 index_id, const Datum *values,
			const bool *are_null);

bool ifp_insert(Relation index, Datum *values, bool *are_null, ItemPointer tid, Relation heap, IndexUniqueCheck unique,
		bool index_unchanged, IndexInfo *info);

#endif
