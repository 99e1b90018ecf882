#include "pg_ext/planner/bucket_finder.h"

#include <float.h>

#include "common/int.h"
#include "datatype/timestamp.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/scansup.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "pg_ext/base/engine.h"
#include "pg_ext/base/safe_eval.h"
#include "pg_ext/planner/expression.h"
#include "pg_ext/planner/monotone.h"

/* ---- pieces of zones and months ----
 *
 * Conversions between local time and UTC are monotone only between the transitions of a time zone, and adding months to a
 * timestamp only between ends of months. A piece is a number that two times share if nothing lies between them that breaks the
 * order. */

static const pg_time_t epoch_s = (pg_time_t)(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;

/* Finds the zone that a name stands for, as AT TIME ZONE reads it: an abbreviation or a zone. Returns NULL if it has a fixed
 * offset or does not exist; AT TIME ZONE raises the error then. */
static pg_tz *zone_find(const char *name)
{
	char *word = downcase_truncate_identifier(name, (int)strlen(name), false);
	pg_tz *zone = NULL;
	int type = ifp_decode_zone_abbreviation(word, &zone);

	if (type == TZ || type == DTZ)
		return NULL;
	return type == DYNTZ ? zone : pg_tzset(name);
}

/* Finds the next transition. Returns false if there is none. */
static bool next_transition(pg_tz *zone, pg_time_t after, pg_time_t *at, long *offset_before, long *offset_after)
{
	int before_is_dst, after_is_dst;

	return pg_next_dst_boundary(&after, offset_before, &before_is_dst, at, offset_after, &after_is_dst, zone) == 1;
}

/* A transition has two ends in local time, at + offset before and at + offset after. Local times between them are skipped or
 * occur twice. The piece is the next such end. */
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

/* The next transition of the zone after a timestamp of UTC, or of local time of the zone. */
static int64 zone_piece(pg_tz *zone, int64 timestamp_us, bool is_local)
{
	pg_time_t at, time = timestamp_us / USECS_PER_SEC - (timestamp_us % USECS_PER_SEC < 0) + epoch_s;
	long before, after;

	if (timestamp_us == DT_NOBEGIN || timestamp_us == DT_NOEND)
		return timestamp_us;
	if (is_local)
		return local_piece(zone, time);
	return next_transition(zone, time, &at, &before, &after) ? at : PG_INT64_MAX;
}

/* Adding months preserves the order of days up to the 28th, and of each later day separately: several days may map to the last
 * day of a month. */
static int64 month_piece(int64 timestamp_us)
{
	static const int always = 28, most = 31;
	int64 date = timestamp_us / USECS_PER_DAY - (timestamp_us % USECS_PER_DAY < 0);
	int year, month, day;

	if (timestamp_us == DT_NOBEGIN || timestamp_us == DT_NOEND)
		return timestamp_us;
	j2date((int)(date + POSTGRES_EPOCH_JDATE), &year, &month, &day);
	return ((int64)year * MONTHS_PER_YEAR + month) * (most - always + 1) + Max(day - always, 0);
}

/* ---- the finder ---- */

enum { MOST_KNOWN = 1 << 20, MOST_MOVED = 1024, FIRST_STEP = 1024 };

/* An expression that is constant in a bucket, and its value there. */
struct key {
	struct ifp_safe_expression expression;
	int16 length;
	bool by_value;
	Datum value;
	bool is_null;
};

/* A source of breaks: the transitions of a time zone, or ends of months. A bucket lies in one piece of it. */
struct piece_break {
	struct ifp_safe_expression argument;
	ExprState *name; /* of a zone; NULL for the session's */
	enum ifp_break_type type;
	pg_tz *zone; /* NULL: the offset is fixed */
	int64 piece;
};

struct bucket {
	int64 from, to; /* it may begin before `from` */
	void *note;	/* of the caller */
};

struct ifp_bucket_finder {
	const struct ifp_definition *definition;
	struct ifp_time_keys times;
	AttrNumber time;
	ExprContext *econtext;
	MemoryContext context; /* values at the base */
	struct key *keys;
	int n_keys;
	struct piece_break *breaks;
	int n_breaks;
	bool is_ready;	       /* zones have been looked up */
	bool varies_by_series; /* the keys have other columns, so buckets of one series are not those of another */
	int64 base;	       /* the time at which the keys have been evaluated */
	bool has_base;
	int64 last;	      /* time of the series */
	struct bucket *known; /* ascending, apart */
	uint32 n_known, n_reserved, next;
	bool has_previous;	   /* a bucket was found in this series */
	int64 previous_end, width; /* width 0: not known */
	struct ifp_bucket_finder_counts counts;
};

static void add_key(struct ifp_bucket_finder *finder, Expr *expression)
{
	struct key *key = &finder->keys[finder->n_keys++];

	key->expression = ifp_safe_eval_prepare(expression);
	get_typlenbyval(exprType((Node *)expression), &key->length, &key->by_value);
}

static void add_break(struct ifp_bucket_finder *finder, List *parts)
{
	struct piece_break *one;

	if (ifp_break_type(parts) == IFP_BREAK_VALUE) {
		add_key(finder, linitial(parts));
		return;
	}
	one = &finder->breaks[finder->n_breaks++];
	one->argument = ifp_safe_eval_prepare(linitial(parts));
	one->name = lsecond(parts) ? ExecInitExpr(lsecond(parts), NULL) : NULL;
	one->type = ifp_break_type(parts);
}

struct ifp_bucket_finder *ifp_bucket_finder_begin(const struct ifp_run_keys *keys, const struct ifp_definition *definition,
						  AttrNumber time, ExprContext *econtext)
{
	struct ifp_bucket_finder *finder = palloc0(sizeof *finder);
	ListCell *cell;

	*finder = (struct ifp_bucket_finder){
		.definition = definition, .times = ifp_time_keys(definition), .time = time, .econtext = econtext
	};
	/* expressions of real infinities and NaN may not preserve their order */
	if (definition->time_type == IFP_TIME_FLOAT8) {
		finder->times.lowest_finite = ifp_key_from_double(-DBL_MAX);
		finder->times.highest_finite = ifp_key_from_double(DBL_MAX);
	}
	if (keys->expressions == NIL && keys->breaks == NIL)
		return finder;
	finder->context = AllocSetContextCreate(CurrentMemoryContext, "iforest bucket", ALLOCSET_SMALL_SIZES);
	finder->keys = palloc0((list_length(keys->expressions) + list_length(keys->breaks) + 1) * sizeof *finder->keys);
	finder->breaks = palloc0((list_length(keys->breaks) + 1) * sizeof *finder->breaks);
	foreach (cell, keys->expressions)
		add_key(finder, lfirst(cell));
	foreach (cell, keys->breaks)
		add_break(finder, lfirst(cell));
	finder->varies_by_series =
		ifp_mentions_others((Node *)keys->expressions, time) || ifp_mentions_others((Node *)keys->breaks, time);
	finder->n_reserved = 64;
	finder->known = palloc(finder->n_reserved * sizeof *finder->known);
	return finder;
}

void ifp_bucket_finder_rescan(struct ifp_bucket_finder *finder)
{
	finder->is_ready = finder->has_base = false;
	finder->n_known = 0;
	finder->width = 0;
}

void ifp_bucket_finder_start(struct ifp_bucket_finder *finder, int64 last)
{
	finder->last = Min(last, finder->times.highest_finite);
	finder->next = 0;
	finder->has_previous = false;
	if (finder->varies_by_series) {
		finder->n_known = 0;
		finder->has_base = false;
	}
}

void **ifp_bucket_finder_note(struct ifp_bucket_finder *finder, int64 time)
{
	struct bucket *bucket = finder->next < finder->n_known ? &finder->known[finder->next] : NULL;

	return bucket && bucket->from <= time && time <= bucket->to ? &bucket->note : NULL;
}

void ifp_bucket_finder_forget_notes(struct ifp_bucket_finder *finder)
{
	for (uint32 i = 0; i < finder->n_known; i++)
		finder->known[i].note = NULL;
}

bool ifp_bucket_finder_has_one(const struct ifp_bucket_finder *finder)
{
	return finder->n_keys == 0;
}

struct ifp_bucket_finder_counts ifp_bucket_finder_counts(const struct ifp_bucket_finder *finder)
{
	return finder->counts;
}

/* ---- evaluating ---- */

static void find_zones(struct ifp_bucket_finder *finder)
{
	for (int i = 0; i < finder->n_breaks; i++) {
		struct piece_break *one = &finder->breaks[i];
		bool is_null = false;
		Datum name;

		one->zone = session_timezone;
		if (!one->name)
			continue;
		name = ExecEvalExprSwitchContext(one->name, finder->econtext, &is_null);
		one->zone = is_null ? NULL : zone_find(TextDatumGetCString(name));
	}
	finder->is_ready = true;
}

static void set_time(struct ifp_bucket_finder *finder, int64 time)
{
	TupleTableSlot *row = finder->econtext->ecxt_scantuple;

	row->tts_values[finder->time - 1] = ifp_time_to_datum(finder->definition, time);
	row->tts_isnull[finder->time - 1] = false;
	finder->counts.n_evaluations++;
}

static bool find_piece(const struct ifp_bucket_finder *finder, const struct piece_break *one, int64 *piece)
{
	bool is_null;
	Datum datum;

	*piece = 0;
	if (!one->zone && one->type != IFP_BREAK_MONTHS)
		return true;
	if (!ifp_safe_eval(&one->argument, finder->econtext, &datum, &is_null, NULL))
		return false;
	if (!is_null)
		*piece = one->type == IFP_BREAK_MONTHS
				 ? month_piece(DatumGetInt64(datum))
				 : zone_piece(one->zone, DatumGetInt64(datum), one->type == IFP_BREAK_LOCAL);
	return true;
}

/* Evaluates the keys at a time, to compare others with. Returns false if that raises an error, which is left to whoever needs
 * the value. */
static bool set_base(struct ifp_bucket_finder *finder, int64 time)
{
	bool done = true;

	if (finder->has_base && finder->base == time)
		return true;
	MemoryContextReset(finder->context);
	finder->has_base = false;
	set_time(finder, time);
	for (int i = 0; i < finder->n_breaks && done; i++)
		done = find_piece(finder, &finder->breaks[i], &finder->breaks[i].piece);
	for (int i = 0; i < finder->n_keys && done; i++) {
		struct key *key = &finder->keys[i];
		MemoryContext before;
		Datum value = (Datum)0;

		done = ifp_safe_eval(&key->expression, finder->econtext, &value, &key->is_null, NULL);
		before = MemoryContextSwitchTo(finder->context);
		key->value = !done || key->is_null ? (Datum)0 : datumCopy(value, key->by_value, key->length);
		MemoryContextSwitchTo(before);
	}
	MemoryContextReset(finder->econtext->ecxt_per_tuple_memory);
	finder->base = time;
	finder->has_base = done;
	return done;
}

/* True if the keys at this time equal those at the base. An error counts as a difference: a bucket that ends too early is
 * harmless, because the next one finds the same group. */
static bool is_same(struct ifp_bucket_finder *finder, int64 time)
{
	bool same = true;

	if (time == finder->base)
		return true;
	set_time(finder, time);
	for (int i = 0; i < finder->n_breaks && same; i++) {
		int64 piece;

		same = find_piece(finder, &finder->breaks[i], &piece) && piece == finder->breaks[i].piece;
	}
	for (int i = 0; i < finder->n_keys && same; i++) {
		const struct key *key = &finder->keys[i];
		bool is_null;
		Datum value;

		same = ifp_safe_eval(&key->expression, finder->econtext, &value, &is_null, NULL) && is_null == key->is_null &&
		       (is_null || datum_image_eq(value, key->value, key->by_value, key->length));
	}
	MemoryContextReset(finder->econtext->ecxt_per_tuple_memory);
	return same;
}

/* ---- finding ---- */

static int64 halve(struct ifp_bucket_finder *finder, int64 same, int64 differs)
{
	while ((uint64)differs - (uint64)same > 1) {
		int64 middle = same + (int64)(((uint64)differs - (uint64)same) / 2);

		if (is_same(finder, middle))
			same = middle;
		else
			differs = middle;
	}
	return same;
}

/* Returns the last time up to `most` in the base's bucket, searched outward from a guess. */
static int64 gallop(struct ifp_bucket_finder *finder, int64 guess, int64 most)
{
	int64 base = finder->base;

	if (guess >= most)
		return is_same(finder, most) ? most : halve(finder, base, most);
	if (is_same(finder, guess)) {
		for (uint64 step = 1;; step *= 2) {
			int64 probe = step < (uint64)most - (uint64)guess ? guess + (int64)step : most;

			if (!is_same(finder, probe))
				return halve(finder, guess, probe);
			if (probe == most)
				return most;
			guess = probe;
		}
	}
	for (uint64 step = 1; step < (uint64)guess - (uint64)base; step *= 2) {
		int64 probe = guess - (int64)step;

		if (is_same(finder, probe))
			return halve(finder, probe, guess);
		guess = probe;
	}
	return halve(finder, base, guess);
}

/* Returns the end of the bucket if it is as wide as the previous one and on the same grid. */
static int64 guess_end(const struct ifp_bucket_finder *finder)
{
	int64 time = finder->base, width = finder->width, n, end;

	/* previous end + (floor((time - previous end - 1) / width) + 1) * width */
	if (width > 0 && !pg_sub_s64_overflow(time, finder->previous_end, &n) && n > PG_INT64_MIN &&
	    !pg_mul_s64_overflow((n - 1) / width + ((n - 1) % width >= 0), width, &end) &&
	    !pg_add_s64_overflow(end, finder->previous_end, &end))
		return end;
	return pg_add_s64_overflow(time, FIRST_STEP, &end) ? PG_INT64_MAX : end;
}

/* Records the width of the bucket that ends here, if it directly follows the previous one. */
static void learn_width(struct ifp_bucket_finder *finder, int64 end)
{
	int64 width;

	if (finder->has_previous && !pg_sub_s64_overflow(end, finder->previous_end, &width) &&
	    is_same(finder, finder->previous_end + 1))
		finder->width = width;
}

/* Inserts a bucket into the sorted list of known ones. */
static void remember(struct ifp_bucket_finder *finder, const struct bucket *bucket)
{
	if (finder->n_known == MOST_KNOWN || finder->n_known - finder->next > MOST_MOVED)
		return;
	if (finder->n_known == finder->n_reserved) {
		finder->n_reserved *= 2;
		finder->known = repalloc_huge(finder->known, finder->n_reserved * sizeof *finder->known);
	}
	memmove(&finder->known[finder->next + 1], &finder->known[finder->next],
		(finder->n_known - finder->next) * sizeof *finder->known);
	finder->known[finder->next] = *bucket;
	finder->n_known++;
}

/* Moves on to the first known bucket that ends at or after the time. */
static void advance(struct ifp_bucket_finder *finder, int64 time)
{
	uint32 low = finder->next, high = finder->n_known;

	if (low < high && finder->known[low].to >= time)
		return;
	if (low + 1 < high && finder->known[low + 1].to >= time)
		high = low + 1;
	while (low < high) {
		uint32 middle = low + (high - low) / 2;

		if (finder->known[middle].to < time)
			low = middle + 1;
		else
			high = middle;
	}
	finder->next = low;
}

static int64 found(struct ifp_bucket_finder *finder, int64 end)
{
	finder->previous_end = end;
	finder->has_previous = true;
	return end;
}

int64 ifp_bucket_finder_end(struct ifp_bucket_finder *finder, int64 time)
{
	struct bucket bucket = { .from = time }, *next;
	int64 most = finder->last, guess;

	if (finder->n_keys == 0)
		return PG_INT64_MAX;
	/* an infinite time is a bucket of its own */
	if (time < finder->times.lowest_finite || time > finder->times.highest_finite)
		return time;
	if (!finder->is_ready)
		find_zones(finder);
	advance(finder, time);
	next = finder->next < finder->n_known ? &finder->known[finder->next] : NULL;
	if (next && next->from <= time) {
		finder->counts.n_known++;
		return found(finder, next->to);
	}
	if (!set_base(finder, time))
		return found(finder, time);
	if (next && next->from <= most) {
		if (is_same(finder, next->from)) {
			next->from = time;
			finder->counts.n_known++;
			return found(finder, next->to);
		}
		most = next->from - 1;
	}
	guess = guess_end(finder);
	bucket.to = gallop(finder, guess, most);
	if (bucket.to == guess && finder->width > 0)
		finder->counts.n_by_width++;
	else
		finder->counts.n_galloped++;
	if (bucket.to != guess && bucket.to != most)
		learn_width(finder, bucket.to);
	remember(finder, &bucket);
	return found(finder, bucket.to);
}
