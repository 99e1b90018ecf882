#include "pg_ext/planner/zones.h"

#include "datatype/timestamp.h"
#include "parser/scansup.h"
#include "utils/datetime.h"

static const pg_time_t epoch_s = (pg_time_t)(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;

pg_tz *iforest_zone_find(const char *name)
{
	char *word = downcase_truncate_identifier(name, (int)strlen(name), false);
	pg_tz *zone = NULL;
	int type = iforest_decode_zone_abbreviation(word, &zone);

	if (type == TZ || type == DTZ)
		return NULL;
	return type == DYNTZ ? zone : pg_tzset(name);
}

/* The next transition, INT64 where there is none. */
static bool next_transition(pg_tz *zone, pg_time_t after, pg_time_t *at, long *offset_before, long *offset_after)
{
	int before_is_dst, after_is_dst;

	return pg_next_dst_boundary(&after, offset_before, &before_is_dst, at, offset_after, &after_is_dst, zone) == 1;
}

/* A local time lies between the ends that transitions have in local time: at + offset before, at + offset after. */
static int64 local_piece(pg_tz *zone, pg_time_t local)
{
	static const pg_time_t most_offset_s = 2 * SECS_PER_DAY;
	pg_time_t at = local - most_offset_s;
	int64 piece = PG_INT64_MAX;
	long before, after;

	while (next_transition(zone, at, &at, &before, &after)) {
		if (at + before > local)
			piece = Min(piece, at + before);
		if (at + after > local)
			piece = Min(piece, at + after);
		if (at - most_offset_s > local)
			break;
	}
	return piece;
}

int64 iforest_zone_piece(pg_tz *zone, int64 timestamp_us, bool is_local)
{
	pg_time_t at, time = timestamp_us / USECS_PER_SEC - (timestamp_us % USECS_PER_SEC < 0) + epoch_s;
	long before, after;

	if (timestamp_us == DT_NOBEGIN || timestamp_us == DT_NOEND)
		return timestamp_us;
	if (is_local)
		return local_piece(zone, time);
	return next_transition(zone, time, &at, &before, &after) ? at : PG_INT64_MAX;
}

int64 iforest_month_piece(int64 timestamp_us)
{
	static const int always = 28, most = 31;
	int64 date = timestamp_us / USECS_PER_DAY - (timestamp_us % USECS_PER_DAY < 0);
	int year, month, day;

	if (timestamp_us == DT_NOBEGIN || timestamp_us == DT_NOEND)
		return timestamp_us;
	j2date((int)(date + POSTGRES_EPOCH_JDATE), &year, &month, &day);
	return ((int64)year * MONTHS_PER_YEAR + month) * (most - always + 1) + Max(day - always, 0);
}
