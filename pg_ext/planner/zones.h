/* zones.h -- where the offset of a time zone changes, and where months end: conversions between local time and UTC, and what
 * adds months to a time, are monotone only between. */
#ifndef IFOREST_PG_ZONES_H
#define IFOREST_PG_ZONES_H

#include "pg_ext/base/engine.h"

#include "pgtime.h"

/* The zone that a name stands for, as AT TIME ZONE reads it: an abbreviation or a zone. NULL where it has a fixed offset, or is
 * none: then AT TIME ZONE says so. */
pg_tz *iforest_zone_find(const char *name);

/* A number that is the same for two times if no transition of the zone lies between them: the next transition after a timestamp
 * of UTC, or of local time of that zone (whose transitions have two ends, between which local times are skipped or come
 * twice). */
int64 iforest_zone_piece(pg_tz *zone, int64 timestamp_us, bool is_local);

/* The same for months: what adds months to timestamps keeps those up to the 28th in order, and those of each later day, of
 * which several may be put on the last day of a month. */
int64 iforest_month_piece(int64 timestamp_us);

#endif
