/* types/definition.h -- Columns and storage parameters of an index, and checks of both.
 *
 * Columns:
 *
 *   by columns     all key columns but the last; the canonical form (core/model/series_key.h) of their values identifies a
 *                  row's series
 *   time column    the last key column; int64 in the order of its type: integers, date and timestamps as they are, float8 by
 *                  its bits (-0 just before 0, NaN last)
 *   value columns  the INCLUDEd ones: integers as they are, numeric(p, s) in units of 10^-s, reals as double; text, bytea and
 *                  uuid as keys of core/model/distinct.h, from which no value can be read
 *
 * Storage parameters:
 *
 *   duration          name of the INCLUDEd column that is the span's duration
 *   end               or name of the INCLUDEd column that is the span's end, of the time column's type
 *   duration_unit     ns, us, ms or s, if the time column is a timestamp; otherwise the duration is in the unit of the time
 *                     column
 *   variance          names of INCLUDEd columns whose sums of squares are kept, for variance and stddev; separated by commas,
 *                     case-folded as in SQL unless quoted. Likewise any other option of a kind (core/model/kind.h)
 *   sketch            names of INCLUDEd columns of which sketches are kept
 *   distinct          names of INCLUDEd columns of which distinct sketches are kept; text, bytea and uuid are INCLUDEd for that
 *                     alone
 *   pending_pages     1 to 4096, default 24: a chain of pending pages is flushed to a run at this length
 *   background_merge  on or off, default on: a background worker merges when runs pile up
 *
 * Names of columns are checked when an index is built and by ALTER INDEX (am/handler.h). A change of duration, end,
 * duration_unit or an option of a kind takes effect with REINDEX, a change of sketch or distinct with the next VACUUM or merge.
 */
#ifndef IFP_TYPES_DEFINITION_H
#define IFP_TYPES_DEFINITION_H

#include "pg_ext/base/engine.h"

#include "core/model/digest.h"
#include "core/page/node.h"

/* ---- storage parameters ---- */

enum ifp_duration_unit { IFP_UNIT_OF_TIME, IFP_UNIT_NS, IFP_UNIT_US, IFP_UNIT_MS, IFP_UNIT_S };

struct ifp_options {
	int32 vl_len_; /* varlena header, do not touch directly */
	int duration;  /* this and the next members are offsets of strings; 0: not given */
	int end;
	int sketch;
	int distinct;
	int kinds[IFOREST_N_KINDS];
	int duration_unit; /* enum ifp_duration_unit */
	int pending_pages;
	bool background_merge;
};

/* Registers the parameters. Requires  called once, when the library is loaded. */
void ifp_options_register(void);

/* amoptions: parses parameters into a struct ifp_options. Raises an error for unknown ones if `validate` is set. */
bytea *ifp_options_parse(Datum options, bool validate);

/* Returns the value of a string parameter, or NULL. */
#define ifp_option_string(options, member) ((options) && (options)->member ? (const char *)(options) + (options)->member : NULL)

/* ---- columns ---- */

enum ifp_time_type { IFP_TIME_INT2, IFP_TIME_INT4, IFP_TIME_INT8, IFP_TIME_DATE, IFP_TIME_TIMESTAMP, IFP_TIME_FLOAT8 };

#define IFP_MOST_DIGITS 18 /* of a numeric value, so that it fits an int64 */

struct ifp_definition {
	uint16 n_by, n_values;
	uint32 by_text;			 /* bit i: by column i is text, compared bytewise */
	uint32 by_blanks;		 /* bit i: trailing blanks of by column i are insignificant and not stored */
	int32 by_length[INDEX_MAX_KEYS]; /* of char(n): n; else 0 */
	enum ifp_time_type time_type;
	Oid value_types[IFOREST_MAX_VALUES];
	int16 value_scales[IFOREST_MAX_VALUES]; /* of numeric: digits after the point; -1: of a type that cannot be stored */
	uint32 pending_pages;			/* a chain of this length is flushed */
	bool background_merge;
	uint32 sketches[IFOREST_N_DIGESTS]; /* bit v: sketches of the kind are kept of value column v */
};

/* Return p and s of numeric(p, s). Requires  typmod is not -1. */
static inline int ifp_numeric_precision(int32 typmod)
{
	return ((typmod - VARHDRSZ) >> 16) & 0xffff;
}

static inline int ifp_numeric_scale(int32 typmod)
{
	return (((typmod - VARHDRSZ) & 0x7ff) ^ 1024) - 1024;
}

/* True if values of the type can be stored. A column's type may be widened without rebuilding the index. */
bool ifp_is_value_type(Oid type, int32 typmod);

/* True if the index stores keys in place of such values; keys only tell the number of distinct values. */
bool ifp_is_key_type(Oid type);

/* True if values of a by column of the type can be restored from the series key. */
bool ifp_is_by_type(Oid type, int32 typmod);

/* Reads the definition of an index, which was checked when it was built. */
void ifp_definition_read(Relation index, struct ifp_definition *definition);

/* Returns the value column with this name in the table; -1 if there is none. */
int ifp_value_named(Relation index, const char *name);

/* True if the index's time column has this name in the table. */
bool ifp_is_time_named(Relation index, const char *name);

/* A name of a column in a parameter. It is that of the column so written; if there is none, of that named `otherwise`, in lower
 * case. Names in double quotes have no other: NULL. */
struct ifp_name {
	char *written, *otherwise;
};

/* Reads a name of a list at *at, and advances past it and following spaces. Returns false if there is none. */
bool ifp_read_name(const char **at, struct ifp_name *name);

/* Returns the name that a parameter is as a whole, with double quotes around it or without. */
struct ifp_name ifp_name_of(const char *text);

/* Returns the value column with the name; -1 if there is none. */
int ifp_value_of_name(Relation index, const struct ifp_name *name);

/* Returns definition->sketches[kind] for the index's current parameters. `definition` is that of this index or one with the
 * same columns. Ignores names that are not value columns. */
uint32 ifp_definition_sketches(Relation index, const struct ifp_definition *definition, enum iforest_digest_kind kind);

/* Returns column `number` of the index, from 1, as SQL: its quoted name in the table, or its expression. */
char *ifp_column_expression(Oid index, int number);

/* ---- checks ---- */

/* Raises an error with a hint if the index cannot be built. Fills in its node schema; for a partitioned index, that of its
 * partitions. */
void ifp_definition_check(Relation heap, Relation index, const struct ifp_definition *definition,
			  struct iforest_node_schema *fields);

/* As ifp_definition_check(), without the check of the table. */
void ifp_definition_check_columns(Relation index, const struct ifp_definition *definition, struct iforest_node_schema *fields);

#endif
