/* A counter of a million samples, in one run and in three: whatever the window, its mean and its increase cost the leaf pages
 * that its ends cut, two node pages a level and two kept tables a level; and n buckets cost no more than n times that, nor than
 * their entries. */
#include <stdio.h>

#include "core/query/counter_scan.h"
#include "core/run/layout.h"
#include "core/run/writer.h"
#include "tests/support/harness.h"
#include "tests/support/memory_sidecar.h"
#include "tests/support/sample_index.h"

enum { N = 1000000, NS = 1000, MOST_A_LEAF = 1300 };

static struct sample_index samples;
static struct memory_sidecar sidecar;
static struct iforest_manifest nothing;

struct numbers {
	int64_t from, to;
};

static void add_entries(struct iforest_run_writer *writer, const void *context)
{
	const struct numbers *numbers = context;
	struct random dice = random_from((uint64_t)numbers->from);

	for (int64_t i = numbers->from; i < numbers->to; i++) {
		struct iforest_entry entry = {
			.key = { .series = 1, .time = i * NS + random_between(&dice, 0, NS - 1), .ref = i }, .present = 1
		};

		entry.values[0].integer = i % 5000 * 100 + random_between(&dice, 0, 99);
		assert_ok(iforest_run_writer_add(writer, &entry));
	}
}

static void add_samples(int64_t from, int64_t to)
{
	struct iforest_run run = sample_write_run(&samples, add_entries, &(struct numbers){ from, to });

	assert_ok(iforest_run_keep_counters(&samples.store, &samples.manifest, &run, 0, &sidecar.base));
}

static void start(void)
{
	sample_start(&samples, &(struct sample_shape){ .page_bytes = 4000, .max_batch_pages = 16, .kinds = "i", .duration = ORACLE_NONE });
	memory_sidecar_start(&sidecar, &samples.core_alloc.alloc);
	assert_ok(iforest_manifest_init(&nothing, &samples.core_alloc.alloc, &samples.manifest.fields, 4000));
}

static void stop(void)
{
	iforest_manifest_release(&nothing);
	memory_sidecar_clear(&sidecar);
	sample_stop(&samples);
}

struct cost {
	uint64_t n_pages, n_leaf_pages, n_tables, n_entries, n_nodes;
};

/* What the buckets of a window cost, with the sums of all of them. */
static struct cost ask(int64_t t0, int64_t t1, int64_t n, bool with_sidecar, struct iforest_counter *sum)
{
	static struct iforest_counter_scan counting;
	struct cost cost = { .n_tables = sidecar.n_got };

	memset(&counting, 0, sizeof counting);
	*sum = (struct iforest_counter){ .n = 0 };
	assert_ok(iforest_counter_scan_start(&counting, 1, NULL, &samples.store, &samples.manifest, &samples.store, &nothing));
	if (with_sidecar)
		assert_ok(iforest_counter_scan_use(&counting, &sidecar.base, 1));
	assert_ok(iforest_counter_scan_turn(&counting, 1, t0, t1));
	for (int64_t b = 0; b < n; b++) {
		struct iforest_aggregate aggregate;
		bool found;

		assert_ok(iforest_counter_scan_bucket(&counting, t0 + (t1 - t0) / n * b,
						  b == n - 1 ? t1 : t0 + (t1 - t0) / n * (b + 1), &aggregate, &found));
		sum->n += counting.values[0].n;
		sum->n_resets += counting.values[0].n_resets;
		sum->integral += counting.values[0].integral;
		sum->increase += counting.values[0].increase;
	}
	cost.n_tables = sidecar.n_got - cost.n_tables;
	cost.n_pages = iforest_iterator_pages(&counting.iterator);
	for (uint32_t h = 0; h < counting.iterator.n_heads; h++)
		cost.n_leaf_pages += counting.iterator.heads[h].run.cursor.n_leaf_pages_opened;
	cost.n_entries = counting.n_entries;
	cost.n_nodes = counting.n_nodes;
	iforest_counter_scan_release(&counting);
	return cost;
}

static unsigned n_levels(void)
{
	unsigned n = 0;

	for (uint32_t r = 0; r < samples.manifest.n_runs; r++)
		n += samples.manifest.runs[r].n_levels;
	return n;
}

/* Two searches carry values in, one begins; from there on a page is opened once for each bound that it holds. */
static void windows_and_buckets(void)
{
	struct random dice = random_from(random_seed());
	unsigned n_runs = samples.manifest.n_runs, levels = n_levels();
	struct cost most = { .n_pages = 0 };

	for (unsigned i = 0; i < 40; i++) {
		int64_t t0 = random_between(&dice, 0, (int64_t)N * NS / 2), t1 = random_between(&dice, t0 + 1, (int64_t)N * NS);
		struct iforest_counter with, without;
		struct cost cost = ask(t0, t1, 1, true, &with), plain = ask(t0, t1, 1, false, &without);

		assert_true(with.n == without.n && with.n_resets == without.n_resets && with.integral == without.integral &&
			    with.increase == without.increase);
		assert_true(cost.n_entries <= plain.n_entries);
		most.n_pages = cost.n_pages > most.n_pages ? cost.n_pages : most.n_pages;
		most.n_leaf_pages = cost.n_leaf_pages > most.n_leaf_pages ? cost.n_leaf_pages : most.n_leaf_pages;
		most.n_tables = cost.n_tables > most.n_tables ? cost.n_tables : most.n_tables;
		most.n_entries = cost.n_entries > most.n_entries ? cost.n_entries : most.n_entries;
		most.n_nodes = cost.n_nodes > most.n_nodes ? cost.n_nodes : most.n_nodes;
	}
	print_message("%u runs, %u levels, fan-out %u: at most %u pages (%u leaf pages), %u tables, %u entries, %u nodes a window\n", n_runs, levels,
		      samples.manifest.fanout, (unsigned)most.n_pages, (unsigned)most.n_leaf_pages, (unsigned)most.n_tables,
		      (unsigned)most.n_entries, (unsigned)most.n_nodes);
	assert_in_range(most.n_leaf_pages, 1, 2 * n_runs + 4);
	assert_in_range(most.n_pages, 1, 2 * n_runs + 4 + 4 * levels);
	assert_in_range(most.n_tables, 1, 2 * levels);
	assert_in_range(most.n_entries, 1, (n_runs + 1) * MOST_A_LEAF);
	assert_in_range(most.n_nodes, 1, 2 * levels * samples.manifest.fanout);
	for (int64_t n = 10; n <= 1000000; n *= 10) {
		struct iforest_counter with, without;
		struct cost cost = ask(17, (int64_t)N * NS - 17, n, true, &with),
			    plain = ask(17, (int64_t)N * NS - 17, n, false, &without);

		assert_true(with.n == without.n && with.n_resets == without.n_resets && with.integral == without.integral &&
			    with.increase == without.increase);
		print_message("%u buckets: %u pages, %u tables, %u entries, %u nodes; by entries %u pages\n", (unsigned)n,
			      (unsigned)cost.n_pages, (unsigned)cost.n_tables, (unsigned)cost.n_entries, (unsigned)cost.n_nodes,
			      (unsigned)plain.n_pages);
		assert_true(cost.n_pages <= (uint64_t)n * most.n_pages && cost.n_pages <= plain.n_pages);
		assert_true(cost.n_entries <= (uint64_t)n * most.n_entries && cost.n_entries <= plain.n_entries);
		assert_true(cost.n_tables <= sidecar.n);
	}
}

static void a_window_of_a_counter_reads_log_pages(void **state)
{
	(void)state;
	start();
	add_samples(0, N);
	print_message("%.3f bytes a sample are kept\n", (double)memory_sidecar_bytes(&sidecar) / N);
	assert_true(memory_sidecar_bytes(&sidecar) * 4 < N);
	windows_and_buckets();
	stop();
}

/* As sealed one after the other: a window goes on from run to run. */
static void so_does_one_over_several_runs(void **state)
{
	(void)state;
	start();
	add_samples(0, N / 2);
	add_samples(N / 2, N - 30000);
	add_samples(N - 30000, N);
	windows_and_buckets();
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_of_a_counter_reads_log_pages),
		cmocka_unit_test(so_does_one_over_several_runs),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
