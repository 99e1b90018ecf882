/* options.h -- the storage parameters of an index: WITH (...).
 *
 *   duration        name of the INCLUDEd column that is the span's duration
 *   end             or of the one that is its end, of the time column's type
 *   duration_unit   ns, us, ms or s, where the time column is a timestamp; otherwise the duration is in the unit of the
 *                   time column
 *   variance        names of INCLUDEd columns, separated by commas, whose sums of squares are kept, for variance and stddev;
 *                   names as in SQL, folded unless they are quoted
 *   sketch          names of INCLUDEd columns of which sketches are kept, as with variance
 *   pending_pages   1 to 4096, default 64: a chain of pending pages is made into a run at this length
 *   background_merge  on or off, default on: a background worker merges when runs pile up
 *
 * Names of columns are checked by definition.h, when an index is built and by ALTER INDEX (altered.h).
 *
 * duration, end, duration_unit and variance are read when the index is built; a change takes effect with REINDEX. One of sketch
 * does with the next VACUUM or merge. */
#ifndef IFOREST_PG_OPTIONS_H
#define IFOREST_PG_OPTIONS_H

#include "pg_ext/base/engine.h"

enum iforest_duration_unit { IFOREST_UNIT_OF_TIME, IFOREST_UNIT_NS, IFOREST_UNIT_US, IFOREST_UNIT_MS, IFOREST_UNIT_S };

struct iforest_options {
	int32 vl_len_;           /* varlena header, not for direct use */
	int duration;            /* offsets of strings, 0: not given */
	int end;
	int variance;
	int sketch;
	int duration_unit;       /* enum iforest_duration_unit */
	int pending_pages;
	bool background_merge;
};

/* Registers the parameters; once, when the library is loaded. */
void iforest_options_register(void);

/* amoptions */
bytea *iforest_options_parse(Datum options, bool validate);

/* The name given for a string option, or NULL. */
#define iforest_option_string(options, member) \
	((options) && (options)->member ? (const char *)(options) + (options)->member : NULL)

#endif
