#include "pg_ext/am/scan_keys.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "lib/qunique.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "core/model/key.h"
#include "pg_ext/base/engine.h"
#include "pg_ext/storage/series_dict.h"

/* Reads the elements of a key's array that are not NULL. Returns their number. */
static int scan_key_elements(ScanKey key, Datum **elements)
{
	ArrayType *array = DatumGetArrayTypeP(key->sk_argument);
	int16 length;
	bool by_value, *are_null;
	char alignment;
	int n, n_kept = 0;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &alignment);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, alignment, elements, &are_null, &n);
	for (int i = 0; i < n; i++)
		if (!are_null[i])
			(*elements)[n_kept++] = (*elements)[i];
	return n_kept;
}

/* ---- ranges of time ---- */

/* A condition that is true up to a time and not after, or from a time on. */
struct edge {
	const struct ifp_definition *definition;
	FmgrInfo *function;
	Oid collation;
	Datum comparand;
	Oid type, own_type; /* of the comparand, and of the column */
};

static bool holds(const struct edge *edge, int64 time)
{
	return DatumGetBool(
		FunctionCall2Coll(edge->function, edge->collation, ifp_time_to_datum(edge->definition, time), edge->comparand));
}

/* True if the condition becomes `wanted` at this time, which is not the first one. */
static bool begins_at(const struct edge *edge, bool wanted, int64 time)
{
	return holds(edge, time) == wanted && holds(edge, time - 1) != wanted;
}

/* Guesses the time that equals the comparand. Returns false for types that it cannot compare. */
static bool guess(const struct edge *edge, int64 *time)
{
	bool is_integer = edge->definition->time_type <= IFP_TIME_INT8;

	if (edge->type == edge->own_type)
		*time = ifp_time_from_datum(edge->definition, edge->comparand);
	else if (is_integer && edge->type == INT2OID)
		*time = DatumGetInt16(edge->comparand);
	else if (is_integer && edge->type == INT4OID)
		*time = DatumGetInt32(edge->comparand);
	else if (is_integer && edge->type == INT8OID)
		*time = DatumGetInt64(edge->comparand);
	else
		return false;
	return true;
}

/* Looks for the first time at which the condition is `wanted` at the comparand and just after it. */
static bool find_beside(const struct edge *edge, bool wanted, const struct ifp_time_keys *keys, int64 *time)
{
	if (!guess(edge, time) || *time <= keys->lowest_finite || *time >= keys->highest_finite)
		return false;
	if (begins_at(edge, wanted, *time))
		return true;
	++*time;
	return begins_at(edge, wanted, *time);
}

/* Finds the first time at which the condition is `wanted` by calling its operator, so it needs no rules for comparand types.
 * Returns false if there is none. */
static bool find_first(const struct edge *edge, bool wanted, int64 *time)
{
	struct ifp_time_keys keys = ifp_time_keys(edge->definition);
	int64 low = keys.lowest_finite, high = keys.highest_finite;

	if (find_beside(edge, wanted, &keys, time))
		return true;
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

/* Returns the range of a condition that is true from a time on. */
static struct ifp_time_range range_from(const struct edge *edge)
{
	struct ifp_time_range range = { .low = 1, .high = 0 };

	if (find_first(edge, true, &range.low))
		range.high = ifp_time_keys(edge->definition).highest;
	return range;
}

/* Returns the range of a condition that is true up to a time. */
static struct ifp_time_range range_until(const struct edge *edge)
{
	struct ifp_time_keys keys = ifp_time_keys(edge->definition);
	int64 end;

	if (!find_first(edge, false, &end))
		return (struct ifp_time_range){ .low = keys.lowest, .high = keys.highest };
	if (end == keys.lowest)
		return (struct ifp_time_range){ .low = 1, .high = 0 };
	return (struct ifp_time_range){ .low = keys.lowest, .high = end - 1 };
}

/* time = comparand is time >= comparand and time <= comparand. */
static struct ifp_time_range range_of_equals(Relation index, ScanKey key, struct edge *edge)
{
	int column = key->sk_attno - 1;
	Oid family = index->rd_opfamily[column], type = index->rd_opcintype[column];
	Oid other = OidIsValid(key->sk_subtype) ? key->sk_subtype : type;
	struct ifp_time_range from, until;
	FmgrInfo function;

	edge->function = &function;
	fmgr_info(get_opcode(get_opfamily_member(family, type, other, BTGreaterEqualStrategyNumber)), &function);
	from = range_from(edge);
	fmgr_info(get_opcode(get_opfamily_member(family, type, other, BTLessEqualStrategyNumber)), &function);
	until = range_until(edge);
	return (struct ifp_time_range){ .low = Max(from.low, until.low), .high = Min(from.high, until.high) };
}

static struct ifp_time_range range_of(Relation index, const struct ifp_definition *definition, ScanKey key, Datum comparand)
{
	Oid type = index->rd_opcintype[key->sk_attno - 1];
	struct edge edge = {
		.definition = definition,
		.function = &key->sk_func,
		.collation = key->sk_collation,
		.comparand = comparand,
		.type = OidIsValid(key->sk_subtype) ? key->sk_subtype : type,
		.own_type = type,
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

/* True if local times are compared with a timestamptz, which depends on the session's time zone: local times skipped when the
 * clock is set forward are out of order. The range is then widened by more than any clock was ever moved, and rows are
 * rechecked. */
static bool is_out_of_order(Relation index, ScanKey key)
{
	return index->rd_opcintype[key->sk_attno - 1] == TIMESTAMPOID && key->sk_subtype == TIMESTAMPTZOID;
}

static struct ifp_time_range widened(struct ifp_time_range range)
{
	static const int64 margin_us = 3 * USECS_PER_DAY;

	range.low = range.low < PG_INT64_MIN + margin_us ? PG_INT64_MIN : range.low - margin_us;
	range.high = range.high > PG_INT64_MAX - margin_us ? PG_INT64_MAX : range.high + margin_us;
	return range;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct ifp_time_range *a = left, *b = right;

	return (a->low > b->low) - (a->low < b->low);
}

/* Sorts ranges, drops empty ones, and joins those that overlap. Returns their number. */
static uint32 tidy(struct ifp_time_range *ranges, uint32 n)
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

static void intersect(struct ifp_scan_keys *result, const struct ifp_time_range *ranges, uint32 n_ranges)
{
	struct ifp_time_range *both = palloc((result->n_ranges + n_ranges + 1) * sizeof *both);
	uint32 n = 0;

	for (uint32 a = 0, b = 0; a < result->n_ranges && b < n_ranges;) {
		int64 low = Max(result->ranges[a].low, ranges[b].low), high = Min(result->ranges[a].high, ranges[b].high);

		if (low <= high)
			both[n++] = (struct ifp_time_range){ .low = low, .high = high };
		if (result->ranges[a].high < ranges[b].high)
			a++;
		else
			b++;
	}
	result->ranges = both;
	result->n_ranges = n;
}

static void read_time_key(Relation index, const struct ifp_definition *definition, ScanKey key, struct ifp_scan_keys *result)
{
	struct ifp_time_range one, *ranges = &one;
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

		n = (uint32)scan_key_elements(key, &elements);
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

bool ifp_scan_keys_hold(const struct ifp_scan_keys *keys, const struct iforest_key *key)
{
	uint32 low = 0, high = keys->n_ranges;

	if (key->time_is_null)
		return keys->has_nulls;
	if (high == 1)
		return keys->ranges[0].low <= key->time && key->time <= keys->ranges[0].high;
	while (low < high) {
		uint32 middle = low + (high - low) / 2;

		if (keys->ranges[middle].high < key->time)
			low = middle + 1;
		else
			high = middle;
	}
	return low < keys->n_ranges && keys->ranges[low].low <= key->time;
}

uint32 ifp_scan_keys_choose(const struct ifp_scan_keys *keys, const uint32 *series, const struct iforest_key *of, uint32 n_keys,
			    uint16 *chosen)
{
	/* of one range, as most have, a comparison: times are moved so that its ends are those of unsigned numbers */
	bool is_one = keys->n_ranges == 1 && keys->ranges[0].low <= keys->ranges[0].high;
	uint64 low = is_one ? (uint64)keys->ranges[0].low : 0, width = is_one ? (uint64)keys->ranges[0].high - low : 0;
	uint32 n = 0;

	for (uint32 i = 0; i < n_keys; i++) {
		bool holds =
			is_one && !of[i].time_is_null ? (uint64)of[i].time - low <= width : ifp_scan_keys_hold(keys, &of[i]);

		chosen[n] = (uint16)i;
		n += holds && ifp_has_series(series, keys->n_series, (uint32)of[i].series);
	}
	return n;
}

void ifp_scan_times_read(Relation index, const struct ifp_definition *definition, ScanKey keys, int n_keys,
			 struct ifp_scan_keys *result)
{
	*result = (struct ifp_scan_keys){ .n_ranges = 1, .has_nulls = true };
	result->ranges = palloc(sizeof *result->ranges);
	result->ranges[0] = (struct ifp_time_range){ .low = PG_INT64_MIN, .high = PG_INT64_MAX };
	for (int k = 0; k < n_keys; k++)
		if (keys[k].sk_attno == definition->n_by + 1)
			read_time_key(index, definition, &keys[k], result);
}

/* Up to this many combinations of by values are looked up, even if there are fewer series. */
enum { FEW_COMBINATIONS = 4096 };

int ifp_compare_series(const void *left, const void *right)
{
	uint32 a = *(const uint32 *)left, b = *(const uint32 *)right;

	return (a > b) - (a < b);
}

struct matched_series {
	uint32 id;
	Datum *values;
	bool *are_null;
};

/* ---- series ---- */

/* A scan key on a by column, with its comparands. */
struct by_key {
	ScanKey key;
	int column;
	Datum *elements;
	int n_elements;
	bool is_listed; /* series are looked up by these values and need not be compared with them */
};

static int read_by_keys(const struct ifp_definition *definition, ScanKey keys, int n_keys, struct by_key *by_keys)
{
	int n = 0;

	for (int k = 0; k < n_keys; k++) {
		struct by_key *by_key = &by_keys[n];

		if (keys[k].sk_attno > definition->n_by)
			continue;
		*by_key = (struct by_key){ .key = &keys[k], .column = keys[k].sk_attno - 1, .elements = &keys[k].sk_argument };
		if (!(keys[k].sk_flags & (SK_SEARCHNULL | SK_SEARCHNOTNULL | SK_ISNULL)))
			by_key->n_elements =
				keys[k].sk_flags & SK_SEARCHARRAY ? scan_key_elements(&keys[k], &by_key->elements) : 1;
		n++;
	}
	return n;
}

static bool key_accepts(const struct by_key *by_key, Datum value, bool is_null)
{
	bool accepted = false;

	if (by_key->key->sk_flags & SK_SEARCHNULL)
		return is_null;
	if (by_key->key->sk_flags & SK_SEARCHNOTNULL)
		return !is_null;
	for (int i = 0; i < by_key->n_elements && !is_null && !accepted; i++)
		accepted = DatumGetBool(
			FunctionCall2Coll(&by_key->key->sk_func, by_key->key->sk_collation, value, by_key->elements[i]));
	return accepted;
}

static bool accepts(const struct by_key *by_keys, int n_by_keys, const struct matched_series *series)
{
	bool accepted = true;

	for (int k = 0; k < n_by_keys && accepted; k++)
		accepted = by_keys[k].is_listed ||
			   key_accepts(&by_keys[k], series->values[by_keys[k].column], series->are_null[by_keys[k].column]);
	return accepted;
}

struct ordering {
	unsigned n_by;
	FmgrInfo *compare;
	Oid *collations;
};

static int compare_series(const void *left, const void *right, void *context)
{
	const struct matched_series *a = left, *b = right;
	struct ordering *ordering = context;
	int order = 0;

	for (unsigned i = 0; i < ordering->n_by && order == 0; i++) {
		if (a->are_null[i] || b->are_null[i])
			order = a->are_null[i] - b->are_null[i];
		else
			order = DatumGetInt32(
				FunctionCall2Coll(&ordering->compare[i], ordering->collations[i], a->values[i], b->values[i]));
	}
	return order;
}

static void sort_series(Relation index, const struct ifp_definition *definition, struct matched_series *series, uint32 n)
{
	struct ordering ordering = { .n_by = definition->n_by,
				     .compare = palloc(definition->n_by * sizeof(FmgrInfo)),
				     .collations = index->rd_indcollation };

	for (unsigned i = 0; i < definition->n_by; i++)
		ordering.compare[i] = *index_getprocinfo(index, (AttrNumber)(i + 1), 1);
	qsort_arg(series, n, sizeof *series, compare_series, &ordering);
}

/* Returns the keys that equate each by column with values of its own type, by column. Returns NULL if a column has no such key,
 * or if there are more combinations than series or values. */
static struct by_key **listed_keys(Relation index, const struct ifp_definition *definition, struct by_key *by_keys,
				   int n_by_keys, struct ifp_series_dict *dict, uint32 *n_ways)
{
	struct by_key **listed = palloc0((definition->n_by + 1) * sizeof *listed);
	double n_combinations = 1, n_values = 0;

	for (int k = 0; k < n_by_keys; k++) {
		ScanKey key = by_keys[k].key;

		if (key->sk_strategy == BTEqualStrategyNumber && !(key->sk_flags & ~SK_SEARCHARRAY) &&
		    (!OidIsValid(key->sk_subtype) || key->sk_subtype == index->rd_opcintype[by_keys[k].column]))
			listed[by_keys[k].column] = &by_keys[k];
	}
	for (unsigned i = 0; i < definition->n_by; i++) {
		if (!listed[i])
			return NULL;
		n_combinations *= listed[i]->n_elements;
		n_values += listed[i]->n_elements;
	}
	if (n_combinations > Max(FEW_COMBINATIONS, n_values) && n_combinations > ifp_series_dict_refresh(index, dict))
		return NULL;
	*n_ways = (uint32)n_combinations;
	for (unsigned i = 0; i < definition->n_by; i++)
		listed[i]->is_listed = true;
	return listed;
}

/* Looks up each combination of listed values. Writes the ids found, ascending and distinct; returns their number. */
static uint32 find_listed(Relation index, const struct ifp_definition *definition, struct by_key **listed,
			  struct ifp_series_dict *dict, uint32 *ids)
{
	struct iforest_series_key key = { .alloc = &ifp_palloc_allocator };
	int at[INDEX_MAX_KEYS] = { 0 };
	uint32 n = 0;
	int column = 0;

	for (unsigned i = 0; i < definition->n_by; i++)
		if (listed[i]->n_elements == 0)
			return 0;
	while (column >= 0) {
		key.n_bytes = 0;
		for (unsigned i = 0; i < definition->n_by; i++)
			ifp_by_append(index, definition, i, listed[i]->elements[at[i]], false, &key);
		n += ifp_series_dict_find(index, dict, key.bytes, key.n_bytes, &ids[n]);
		for (column = definition->n_by - 1; column >= 0 && ++at[column] == listed[column]->n_elements; column--)
			at[column] = 0;
	}
	iforest_series_key_release(&key);
	qsort(ids, n, sizeof *ids, ifp_compare_series);
	return (uint32)qunique(ids, n, sizeof *ids, ifp_compare_series);
}

static bool all_are_listed(const struct by_key *by_keys, int n)
{
	bool are_listed = true;

	for (int k = 0; k < n && are_listed; k++)
		are_listed = by_keys[k].is_listed;
	return are_listed;
}

static void read_series(Relation index, const struct ifp_definition *definition, uint64 index_id, ScanKey keys, int n_keys,
			bool in_order, struct ifp_scan_keys *result)
{
	struct ifp_series_dict *dict = ifp_series_dict_get(index, index_id);
	uint32 n = 0, n_listed, n_ways = 0;
	struct by_key *by_keys = palloc((n_keys + 1) * sizeof *by_keys);
	int n_by_keys = read_by_keys(definition, keys, n_keys, by_keys);
	struct by_key **listed = listed_keys(index, definition, by_keys, n_by_keys, dict, &n_ways);
	struct matched_series *matched;

	n_listed = listed ? n_ways : ifp_series_dict_refresh(index, dict);
	result->series = MemoryContextAllocHuge(CurrentMemoryContext, ((Size)n_listed + 1) * sizeof *result->series);
	if (listed)
		n_listed = find_listed(index, definition, listed, dict, result->series);
	if (!in_order && (n_by_keys == 0 || (listed && all_are_listed(by_keys, n_by_keys)))) {
		for (uint32 i = 0; i < n_listed && !listed; i++)
			result->series[i] = i;
		result->n_series = n_listed;
		return;
	}
	matched = MemoryContextAllocHuge(CurrentMemoryContext, (n_listed + 1) * sizeof *matched);
	for (uint32 i = 0; i < n_listed; i++) {
		uint32 id = listed ? result->series[i] : i, n_bytes;
		const uint8 *key = ifp_series_dict_key_of(index, dict, id, &n_bytes);

		matched[n] = (struct matched_series){ .id = id,
						      .values = palloc(definition->n_by * sizeof(Datum)),
						      .are_null = palloc(definition->n_by * sizeof(bool)) };
		ifp_by_read(index, definition, key, n_bytes, matched[n].values, matched[n].are_null);
		n += accepts(by_keys, n_by_keys, &matched[n]);
		CHECK_FOR_INTERRUPTS();
	}
	if (in_order)
		sort_series(index, definition, matched, n);
	for (uint32 i = 0; i < n; i++)
		result->series[i] = matched[i].id;
	result->n_series = n;
}

void ifp_scan_keys_read(Relation index, const struct ifp_definition *definition, uint64 index_id, ScanKey keys, int n_keys,
			bool in_order, struct ifp_scan_keys *result)
{
	ifp_scan_times_read(index, definition, keys, n_keys, result);
	if (definition->n_by > 0) {
		read_series(index, definition, index_id, keys, n_keys, in_order, result);
	} else {
		result->series = palloc0(sizeof *result->series);
		result->n_series = 1;
	}
}
