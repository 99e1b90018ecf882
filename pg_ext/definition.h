/* definition.h -- what the columns of an index are, and how their values become entries.
 *
 *   by columns     all key columns but the last. A row's series is the canonical form (core/series.h) of their values
 *   time column    the last key column; int64 in the order of its type: integers, date and timestamps as they are, float8
 *                  by its bits (-0 as 0, NaN last)
 *   value columns  the INCLUDEd ones: integers as they are, numeric(p, s) in units of 10^-s, reals as double
 */
#ifndef IFOREST_PG_DEFINITION_H
#define IFOREST_PG_DEFINITION_H

#include "pg_ext/host.h"

#include "nodes/execnodes.h"
#include "storage/itemptr.h"

#include "core/fields.h"
#include "core/leaf.h"
#include "core/series.h"

enum iforest_time_type {
	IFOREST_TIME_INT2,
	IFOREST_TIME_INT4,
	IFOREST_TIME_INT8,
	IFOREST_TIME_DATE,
	IFOREST_TIME_TIMESTAMP,
	IFOREST_TIME_FLOAT8
};

struct iforest_definition {
	uint16 n_by, n_values;
	uint32 by_text;                          /* bit i: by column i is text, by its bytes */
	int32 by_length[INDEX_MAX_KEYS];         /* of char(n): n, as its blanks at the end are not kept; else 0 */
	enum iforest_time_type time_type;
	Oid value_types[IFOREST_MAX_VALUES];
	int16 value_scales[IFOREST_MAX_VALUES];  /* of numeric: digits after the point */
	uint16 entry_bytes;                      /* of a pending entry (pending.h) */
	uint32 pending_pages;                    /* a chain of this length is sealed */
	bool background_merge;
};

/* The definition of an index that has been built; it was checked then. */
void iforest_definition_read(Relation index, struct iforest_definition *definition);

/* Raises an error that says what is wrong and what to do if the index cannot be built. Fills in the fields of its nodes. */
void iforest_definition_check(Relation heap, Relation index, const struct iforest_definition *definition,
			      struct iforest_fields *fields);

/* ---- values ---- */

int64 iforest_time_from_datum(const struct iforest_definition *definition, Datum datum);
Datum iforest_time_to_datum(const struct iforest_definition *definition, int64 time);

/* The keys that a time of this type can have: from lowest_finite to highest_finite, and one before and after where the type has infinities.
 * Those in between are no times, and operators must not be asked about them. */
struct iforest_time_keys {
	int64 lowest, lowest_finite, highest_finite, highest;
};

struct iforest_time_keys iforest_time_keys(const struct iforest_definition *definition);

union iforest_number iforest_value_from_datum(Relation index, const struct iforest_definition *definition, unsigned value,
					      Datum datum);

/* Appends a by value in canonical form. `attribute` counts from 0. */
void iforest_by_append(Relation index, const struct iforest_definition *definition, unsigned attribute, Datum datum,
		       bool is_null, struct iforest_series_key *key);

/* By values from a key's bytes: n_by datums, in the current memory context. */
void iforest_by_read(Relation index, const struct iforest_definition *definition, const uint8 *key, uint32 n_bytes,
		     Datum *values, bool *are_null);

/* A TID as a ref, and back. */
static inline int64 iforest_ref_from_tid(ItemPointer tid)
{
	return (int64)ItemPointerGetBlockNumberNoCheck(tid) << 16 | ItemPointerGetOffsetNumberNoCheck(tid);
}

static inline void iforest_ref_to_tid(int64 ref, ItemPointer tid)
{
	ItemPointerSet(tid, (BlockNumber)(ref >> 16), (OffsetNumber)(ref & 0xffff));
}

#endif
