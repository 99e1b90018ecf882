/* types/values.h -- Conversion between datums of an index's columns and the numbers and keys of its entries. */
#ifndef IFP_TYPES_VALUES_H
#define IFP_TYPES_VALUES_H

#include "pg_ext/types/definition.h"

#include "catalog/pg_type.h"
#include "storage/itemptr.h"

#include "core/model/aggregate.h"
#include "core/model/series_key.h"

/* ---- times ---- */

/* Converts a time to and from the key of its entries. */
int64 ifp_time_from_datum(const struct ifp_definition *definition, Datum datum);
Datum ifp_time_to_datum(const struct ifp_definition *definition, int64 time);

/* Convert a real to an integer of the same sort order, -0 just before 0 and NaN last; and back. 0 and -0 are equal to the server's
 * operators, so bounds of a range of keys are found by these (am/scan_keys.c). */
int64 ifp_key_from_double(double real);
double ifp_double_from_key(int64 key);

/* The keys that times of a type can have: from lowest_finite to highest_finite; lowest and highest are its infinities, if any.
 * Keys between an infinity and the finite ones are not times; operators must not be called with them. */
struct ifp_time_keys {
	int64 lowest, lowest_finite, highest_finite, highest;
};

struct ifp_time_keys ifp_time_keys(const struct ifp_definition *definition);

/* ---- values ---- */

/* Returns a value as stored in entries. Raises an error if it cannot be stored (NaN in a numeric column, a widened type). */
union iforest_number ifp_value_from_datum(Relation index, const struct ifp_definition *definition, unsigned value, Datum datum);

/* Returns the key of a value in distinct sketches (core/model/distinct.h). Numerics are converted to double precision. Raises
 * an error for types that cannot be counted. Requires  a base type. */
int64 ifp_distinct_key(Oid type, Datum datum);

/* Returns a value of an entry as a datum of the column's type, in the current memory context. Requires  the column is not one
 * of keys. */
Datum ifp_value_to_datum(const struct ifp_definition *definition, unsigned value, union iforest_number number);

static inline bool ifp_value_is_real(const struct ifp_definition *definition, unsigned value)
{
	return definition->value_types[value] == FLOAT4OID || definition->value_types[value] == FLOAT8OID;
}

/* Returns integer * 10^-scale as a numeric. */
Datum ifp_numeric_from_int128(iforest_int128 integer, int scale);

/* Converts a number of any type that a value column can have to a double, rounded; infinite if it is too large. */
double ifp_number_from_datum(Datum datum, Oid type);

/* Returns a sum of squares of integers in units of 10^-scale, in three words, as a numeric. */
Datum ifp_numeric_from_squares(const uint64 *squares, int scale);

/* Returns the sample or population variance of n numbers, or its square root, as a numeric with as many digits as the server's
 * aggregates give.
 * Requires  n > 0, of a sample n > 1. */
Datum ifp_numeric_variance(uint64 n, Datum sum, Datum squares, bool is_sample, bool is_deviation);

/* ---- by values ---- */

/* Appends a by value to a series key, in canonical form. `attribute` counts from 0. */
void ifp_by_append(Relation index, const struct ifp_definition *definition, unsigned attribute, Datum datum, bool is_null,
		   struct iforest_series_key *key);

/* Reads the n_by by values of a series key, in the current memory context. */
void ifp_by_read(Relation index, const struct ifp_definition *definition, const uint8 *key, uint32 n_bytes, Datum *values,
		 bool *are_null);

/* ---- refs ---- */

/* Converts a TID to and from a ref. */
static inline int64 ifp_ref_from_tid(ItemPointer tid)
{
	return (int64)ItemPointerGetBlockNumberNoCheck(tid) << 16 | ItemPointerGetOffsetNumberNoCheck(tid);
}

static inline void ifp_ref_to_tid(int64 ref, ItemPointer tid)
{
	ItemPointerSet(tid, (BlockNumber)(ref >> 16), (OffsetNumber)(ref & 0xffff));
}

#endif
