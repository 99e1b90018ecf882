/* types/values.h -- Conversion between datums of an index's columns and the numbers and keys of its entries. */
#ifndef IFP_TYPES_VALUES_H
#define IFP_TYPES_VALUES_H

#include "pg_ext/types/definition.h"

#include "catalog/pg_type.h"
#include "storage/itemptr.h"

#include "core/model/aggregate.h"
#include "core/model/series_key.h"

int64 ifp_time_from_datum(const struct ifp_definition *definition, Datum datum);
Datum ifp_time_to_datum(const struct ifp_definition *definition, int64 time);

/* Reals as integers in the same order, -0 as 0 and NaN last; and back. */
int64 ifp_key_from_double(double real);
double ifp_double_from_key(int64 key);

/* The keys that a time of this type can have: from lowest_finite to highest_finite, and one before and after where the type
 * has infinities. Those in between are no times, and operators must not be asked about them. */
struct ifp_time_keys {
	int64 lowest, lowest_finite, highest_finite, highest;
};

struct ifp_time_keys ifp_time_keys(const struct ifp_definition *definition);

union iforest_number ifp_value_from_datum(Relation index, const struct ifp_definition *definition, unsigned value, Datum datum);

/* A value of an entry as the column's type has it, in the current memory context. */
Datum ifp_value_to_datum(const struct ifp_definition *definition, unsigned value, union iforest_number number);

static inline bool ifp_value_is_real(const struct ifp_definition *definition, unsigned value)
{
	return definition->value_types[value] == FLOAT4OID || definition->value_types[value] == FLOAT8OID;
}

/* An integer of 128 bits as a numeric, in units of 10^-scale. */
Datum ifp_numeric_from_int128(iforest_int128 integer, int scale);

/* Appends a by value in canonical form. `attribute` counts from 0. */
void ifp_by_append(Relation index, const struct ifp_definition *definition, unsigned attribute, Datum datum, bool is_null,
		   struct iforest_series_key *key);

/* By values from a key's bytes: n_by datums, in the current memory context. */
void ifp_by_read(Relation index, const struct ifp_definition *definition, const uint8 *key, uint32 n_bytes, Datum *values,
		 bool *are_null);

/* A TID as a ref, and back. */
static inline int64 ifp_ref_from_tid(ItemPointer tid)
{
	return (int64)ItemPointerGetBlockNumberNoCheck(tid) << 16 | ItemPointerGetOffsetNumberNoCheck(tid);
}

static inline void ifp_ref_to_tid(int64 ref, ItemPointer tid)
{
	ItemPointerSet(tid, (BlockNumber)(ref >> 16), (OffsetNumber)(ref & 0xffff));
}

/* A number of any type that a value column can have as a double, rounded; infinite where it is too large for one. */
double ifp_number_from_datum(Datum datum, Oid type);

#endif
