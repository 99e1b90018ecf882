#include "pg_ext/am/scan_keys.h"
#include "pg_ext/am/am_scan_keys_own.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "core/model/key.h"

/* A condition that holds up to a time and not after, or from one on. */
struct edge {
	const struct iforest_definition *definition;
	FmgrInfo *function;
	Oid collation;
	Datum comparand;
};

static bool holds(const struct edge *edge, int64 time)
{
	return DatumGetBool(FunctionCall2Coll(edge->function, edge->collation, iforest_time_to_datum(edge->definition, time),
					      edge->comparand));
}

/* The first time at which the condition is `wanted`, by asking the operator itself: so types of comparands need no rules here.
 * False if there is none. */
static bool find_first(const struct edge *edge, bool wanted, int64 *time)
{
	struct iforest_time_keys keys = iforest_time_keys(edge->definition);
	int64 low = keys.lowest_finite, high = keys.highest_finite;

	*time = keys.lowest;
	if (keys.lowest < low && holds(edge, keys.lowest) == wanted)
		return true;
	*time = keys.highest;
	if (holds(edge, high) != wanted)
		return keys.highest > high && holds(edge, keys.highest) == wanted;
	while (low < high) {
		int64 middle = low + (int64)(((uint64)high - (uint64)low) / 2);

		if (holds(edge, middle) == wanted)
			high = middle;
		else
			low = middle + 1;
	}
	*time = low;
	return true;
}

/* Where the condition holds, which is true for all times from some on. */
static struct iforest_time_range range_from(const struct edge *edge)
{
	struct iforest_time_range range = { .low = 1, .high = 0 };

	if (find_first(edge, true, &range.low))
		range.high = iforest_time_keys(edge->definition).highest;
	return range;
}

/* The same for one that is true up to some time. */
static struct iforest_time_range range_until(const struct edge *edge)
{
	struct iforest_time_keys keys = iforest_time_keys(edge->definition);
	int64 end;

	if (!find_first(edge, false, &end))
		return (struct iforest_time_range){ .low = keys.lowest, .high = keys.highest };
	if (end == keys.lowest)
		return (struct iforest_time_range){ .low = 1, .high = 0 };
	return (struct iforest_time_range){ .low = keys.lowest, .high = end - 1 };
}

/* time = comparand is time >= comparand and time <= comparand. */
static struct iforest_time_range range_of_equals(Relation index, ScanKey key, struct edge *edge)
{
	int column = key->sk_attno - 1;
	Oid family = index->rd_opfamily[column], type = index->rd_opcintype[column];
	Oid other = OidIsValid(key->sk_subtype) ? key->sk_subtype : type;
	struct iforest_time_range from, until;
	FmgrInfo function;

	edge->function = &function;
	fmgr_info(get_opcode(get_opfamily_member(family, type, other, BTGreaterEqualStrategyNumber)), &function);
	from = range_from(edge);
	fmgr_info(get_opcode(get_opfamily_member(family, type, other, BTLessEqualStrategyNumber)), &function);
	until = range_until(edge);
	return (struct iforest_time_range){ .low = Max(from.low, until.low), .high = Min(from.high, until.high) };
}

static struct iforest_time_range range_of(Relation index, const struct iforest_definition *definition, ScanKey key,
					  Datum comparand)
{
	struct edge edge = {
		.definition = definition, .function = &key->sk_func, .collation = key->sk_collation, .comparand = comparand
	};

	switch (key->sk_strategy) {
	case BTLessStrategyNumber:
	case BTLessEqualStrategyNumber:
		return range_until(&edge);
	case BTEqualStrategyNumber:
		return range_of_equals(index, key, &edge);
	default:
		return range_from(&edge);
	}
}

/* Local times are compared with a timestamptz by the session's time zone, and those that its clock leaves out when it is put
 * forward come out of order. So the range is taken wider by more than any clock was ever moved, and rows are checked. */
static bool is_out_of_order(Relation index, ScanKey key)
{
	return index->rd_opcintype[key->sk_attno - 1] == TIMESTAMPOID && key->sk_subtype == TIMESTAMPTZOID;
}

static struct iforest_time_range widened(struct iforest_time_range range)
{
	static const int64 margin_us = 3 * USECS_PER_DAY;

	range.low = range.low < PG_INT64_MIN + margin_us ? PG_INT64_MIN : range.low - margin_us;
	range.high = range.high > PG_INT64_MAX - margin_us ? PG_INT64_MAX : range.high + margin_us;
	return range;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct iforest_time_range *a = left, *b = right;

	return (a->low > b->low) - (a->low < b->low);
}

/* Sorts, drops empty ones, joins those that meet. */
static uint32 tidy(struct iforest_time_range *ranges, uint32 n)
{
	uint32 n_kept = 0;

	qsort(ranges, n, sizeof *ranges, compare_ranges);
	for (uint32 i = 0; i < n; i++) {
		if (ranges[i].low > ranges[i].high)
			continue;
		if (n_kept > 0 && ranges[i].low <= ranges[n_kept - 1].high)
			ranges[n_kept - 1].high = Max(ranges[n_kept - 1].high, ranges[i].high);
		else
			ranges[n_kept++] = ranges[i];
	}
	return n_kept;
}

static void intersect(struct iforest_scan_keys *result, const struct iforest_time_range *ranges, uint32 n_ranges)
{
	struct iforest_time_range *both = palloc((result->n_ranges + n_ranges + 1) * sizeof *both);
	uint32 n = 0;

	for (uint32 a = 0, b = 0; a < result->n_ranges && b < n_ranges;) {
		int64 low = Max(result->ranges[a].low, ranges[b].low), high = Min(result->ranges[a].high, ranges[b].high);

		if (low <= high)
			both[n++] = (struct iforest_time_range){ .low = low, .high = high };
		if (result->ranges[a].high < ranges[b].high)
			a++;
		else
			b++;
	}
	result->ranges = both;
	result->n_ranges = n;
}

static void read_time_key(Relation index, const struct iforest_definition *definition, ScanKey key,
			  struct iforest_scan_keys *result)
{
	struct iforest_time_range one, *ranges = &one;
	uint32 n = 1;

	if (key->sk_flags & SK_SEARCHNULL) {
		result->n_ranges = 0;
		return;
	}
	result->has_nulls = false;
	if (key->sk_flags & SK_SEARCHNOTNULL)
		return;
	if (key->sk_flags & SK_ISNULL) {
		result->n_ranges = 0;
		return;
	}
	if (key->sk_flags & SK_SEARCHARRAY) {
		Datum *elements;

		n = (uint32)iforest_scan_key_elements(key, &elements);
		ranges = palloc((n + 1) * sizeof *ranges);
		for (uint32 i = 0; i < n; i++) {
			CHECK_FOR_INTERRUPTS();
			ranges[i] = range_of(index, definition, key, elements[i]);
		}
	} else {
		one = range_of(index, definition, key, key->sk_argument);
	}
	if (is_out_of_order(index, key)) {
		result->must_recheck = true;
		for (uint32 i = 0; i < n; i++)
			ranges[i] = widened(ranges[i]);
	}
	n = tidy(ranges, n);
	intersect(result, ranges, n);
}

bool iforest_scan_keys_hold(const struct iforest_scan_keys *keys, const struct iforest_key *key)
{
	uint32 low = 0, high = keys->n_ranges;

	if (key->time_is_null)
		return keys->has_nulls;
	while (low < high) {
		uint32 middle = low + (high - low) / 2;

		if (keys->ranges[middle].high < key->time)
			low = middle + 1;
		else
			high = middle;
	}
	return low < keys->n_ranges && keys->ranges[low].low <= key->time;
}

void iforest_scan_times_read(Relation index, const struct iforest_definition *definition, ScanKey keys, int n_keys,
			     struct iforest_scan_keys *result)
{
	*result = (struct iforest_scan_keys){ .n_ranges = 1, .has_nulls = true };
	result->ranges = palloc(sizeof *result->ranges);
	result->ranges[0] = (struct iforest_time_range){ .low = PG_INT64_MIN, .high = PG_INT64_MAX };
	for (int k = 0; k < n_keys; k++)
		if (keys[k].sk_attno == definition->n_by + 1)
			read_time_key(index, definition, &keys[k], result);
}
