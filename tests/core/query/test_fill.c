#include "core/query/fill.h"

#include <math.h>
#include <stdlib.h>

#include "tests/support/harness.h"
#include "tests/support/sample_list.h"

enum { MOST_BUCKETS = 40, MOST_SERIES = 5 };

/* The entries that count, in the order of (time, ref), of which the neighbours of a gap are found by looking at each. */
struct neighbours {
	const struct oracle_entry *before, *after; /* of a time, with a value; NULL: none */
};

static bool is_earlier(const struct oracle_entry *a, const struct oracle_entry *b)
{
	return a->time < b->time || (a->time == b->time && a->ref < b->ref);
}

static struct neighbours find_neighbours(const struct oracle_entry **list, size_t n, unsigned v, int64_t start)
{
	struct neighbours found = { NULL, NULL };

	for (size_t i = 0; i < n; i++) {
		const struct oracle_entry *entry = list[i];

		if (entry->time_is_null || !entry->has[v])
			continue;
		if (entry->time < start && (!found.before || is_earlier(found.before, entry)))
			found.before = entry;
		if (entry->time >= start && (!found.after || is_earlier(entry, found.after)))
			found.after = entry;
	}
	return found;
}

/* Compares a line with its definition, in extended precision. */
static void check_line(const struct neighbours *at, unsigned v, bool is_real, int64_t time, double got)
{
	long double part = (long double)time - (long double)at->before->time;
	long double width = (long double)at->after->time - (long double)at->before->time;
	long double a = is_real ? (long double)at->before->value[v].real : (long double)at->before->value[v].integer;
	long double b = is_real ? (long double)at->after->value[v].real : (long double)at->after->value[v].integer;
	long double expected = a + (b - a) * (part / width);

	if (!isfinite((double)a) || !isfinite((double)b))
		return;
	assert_true(fabsl(expected - (long double)got) <= 1e-12L * (fabsl(a) + fabsl(b) + 1));
}

static void check_bucket(const struct sample_index *index, const struct iforest_fill *fill, const struct iforest_bucketing *bucketing,
			 int64_t bucket, const struct iforest_aggregate *aggregate, const struct oracle_entry **list, size_t n,
			 uint64_t *n_filled)
{
	int64_t start = iforest_bucket_start(bucketing, bucket);

	start = start < bucketing->window.t0 ? bucketing->window.t0 : start;
	for (unsigned v = 0; v < index->oracle.n_values; v++) {
		struct neighbours at = find_neighbours(list, n, v, start);
		bool is_linear = fill->mode == IFOREST_FILL_LINEAR;
		bool is_filled = aggregate->values[v].n == 0 && at.before && (!is_linear || at.after);

		assert_int_equal(fill->filled >> v & 1, is_filled);
		if (is_filled && !is_linear)
			assert_true(fill->before[v].value.integer == at.before->value[v].integer &&
				    fill->before[v].time == at.before->time && fill->before[v].ref == at.before->ref);
		if (is_filled && is_linear)
			check_line(&at, v, index->oracle.is_real[v], start, fill->lines[v]);
		*n_filled += is_filled;
	}
}

static struct iforest_bucketing random_bucketing(const struct sample_index *index, struct random *dice)
{
	const struct oracle *oracle = &index->oracle;
	int64_t t0 = random_between(dice, -100, 2000), width = random_between(dice, 1, 2000);

	if (oracle->n_entries > 0 && random_chance(dice, 70))
		t0 = oracle->entries[random_below(dice, oracle->n_entries)].time;
	t0 = t0 < INT64_MIN / 2 ? INT64_MIN / 2 : t0 > INT64_MAX / 2 ? INT64_MAX / 2 : t0;
	return (struct iforest_bucketing){ .mode = IFOREST_COUNT,
					   .window = { .has_t0 = true, .has_t1 = true, .t0 = t0, .t1 = t0 + width },
					   .n = random_between(dice, 1, width < MOST_BUCKETS ? width : MOST_BUCKETS) };
}

/* The buckets of all series of a group, added up. */
static void read_buckets(struct iforest_scan *scan, const uint32_t *series, uint32_t n_series,
			 struct iforest_aggregate aggregates[MOST_BUCKETS])
{
	const struct iforest_node_schema *fields = &scan->manifest->fields;
	struct iforest_aggregate aggregate;

	for (unsigned b = 0; b < MOST_BUCKETS; b++)
		iforest_aggregate_clear(&aggregates[b], fields->n_values, &fields->accumulators);
	for (uint32_t s = 0; s < n_series; s++) {
		int64_t bucket;
		bool found;

		assert_ok(iforest_scan_start(scan, series[s]));
		for (;;) {
			assert_ok(iforest_scan_next(scan, &bucket, &aggregate, &found));
			if (!found)
				break;
			iforest_aggregate_combine(&aggregates[bucket], &aggregate, fields->value_types, fields->n_values,
						  &fields->accumulators);
		}
	}
}

static void one_group(struct sample_index two[2], struct random *dice, struct iforest_fill *fill, struct iforest_scan *scan,
		      const struct sample_hidden *hidden, uint64_t *n_filled)
{
	static struct iforest_aggregate aggregates[MOST_BUCKETS];
	uint32_t series[MOST_SERIES];
	struct sample_list_question asked = { .hidden = hidden, .from = iforest_key_at(0, INT64_MIN), .to = iforest_key_nulls(0),
		.is_of_each_series = true, .series = series, .order = sample_ascending };
	const struct oracle_entry **list;
	size_t n;

	for (uint32_t s = 0; s < MOST_SERIES; s++)
		if (random_chance(dice, 50))
			series[asked.n_series++] = s;
	scan->bucketing = random_bucketing(&two[0], dice);
	assert_ok(iforest_bucketing_check(&scan->bucketing));
	read_buckets(scan, series, asked.n_series, aggregates);
	list = sample_list(two, 2, &asked, &n);
	iforest_fill_turn(fill);
	for (int64_t bucket = 0; bucket < scan->bucketing.n; bucket++) {
		assert_ok(iforest_fill_bucket(fill, series, asked.n_series, &scan->bucketing, bucket, &aggregates[bucket]));
		check_bucket(&two[0], fill, &scan->bucketing, bucket, &aggregates[bucket], list, n, n_filled);
	}
	free(list);
}

static void ask(struct sample_index two[2], struct random *dice, struct sample_hidden *hidden, uint64_t *n_filled)
{
	uint32_t values = UINT32_MAX >> (32 - two[0].oracle.n_values);
	struct iforest_scan scan;
	struct iforest_fill fill;

	assert_ok(iforest_scan_init(&scan, &two[0].store, &two[0].manifest));
	assert_ok(iforest_scan_join(&scan, &two[1].store, &two[1].manifest));
	scan.request = (struct iforest_request){ .values = values, .filter = &hidden->filter };
	for (int mode = IFOREST_FILL_LAST; mode <= IFOREST_FILL_LINEAR; mode++) {
		assert_ok(iforest_fill_init(&fill, (enum iforest_fill_mode)mode, values, &scan, &two[1].store, &two[1].manifest));
		for (unsigned g = 0; g < 40; g++)
			one_group(two, dice, &fill, &scan, hidden, n_filled);
		iforest_fill_release(&fill);
	}
	iforest_scan_release(&scan);
}

static void neighbours_are_those_of_brute_force(void **state)
{
	(void)state;
	sample_rounds(ask);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neighbours_are_those_of_brute_force),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
