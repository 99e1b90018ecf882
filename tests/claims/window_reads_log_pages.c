/* Five million spans of 32 tracks in 4000-byte pages: whatever the window, one series costs at most two leaf pages and two node
 * pages a level; and the index is small: at most 9 bytes a row, of which nodes are at most 4 %. */
#include <stdio.h>

#include "core/run/layout.h"
#include "core/run/writer.h"
#include "core/query/scan.h"
#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

enum { N_TRACKS = 32, N_SPANS = 5000000, NS_A_SPAN = 1000 };

static struct sample_index spans;

static uint64_t scatter(uint64_t x)
{
	struct random dice = random_from(x);

	return random_next(&dice);
}

/* Span i starts about every microsecond on some track; its duration has up to 23 bits, short ones as likely as long ones. */
static bool is_on_track(uint64_t i, unsigned track)
{
	return scatter(i) % N_TRACKS == track;
}

static struct iforest_entry span(uint64_t i, unsigned track)
{
	uint64_t x = scatter(i ^ UINT64_MAX);
	struct iforest_entry entry = {
		.key = { .series = track, .time = (int64_t)(i * NS_A_SPAN + x % NS_A_SPAN), .ref = (int64_t)i }, .present = 1
	};

	entry.values[0].integer = (int64_t)((x >> 16) % (UINT64_C(1) << (x >> 40) % 24));
	return entry;
}

static void add_entries(struct iforest_run_writer *writer, const void *context)
{
	(void)context;
	for (unsigned track = 0; track < N_TRACKS; track++)
		for (uint64_t i = 0; i < N_SPANS; i++)
			if (is_on_track(i, track)) {
				struct iforest_entry entry = span(i, track);

				assert_ok(iforest_run_writer_add(writer, &entry));
			}
}

static int build(void **state)
{
	(void)state;
	sample_start(&spans, &(struct sample_shape){ .page_bytes = 4000, .max_batch_pages = 16, .kinds = "i", .duration = 0 });
	sample_write_run(&spans, add_entries, NULL);
	return 0;
}

static int drop(void **state)
{
	(void)state;
	sample_stop(&spans);
	return 0;
}

/* Pages read to answer a window over one series. */
static uint64_t pages_of_window(int64_t t0, int64_t t1, uint32_t series, struct iforest_request request)
{
	struct iforest_scan scan;
	struct iforest_aggregate answer;
	uint64_t n_gets = spans.memory.n_gets;
	int64_t bucket;
	bool found;

	assert_ok(iforest_scan_init(&scan, &spans.store, &spans.manifest));
	scan.bucketing = (struct iforest_bucketing){ .mode = IFOREST_WHOLE,
		.window = { .has_t0 = true, .has_t1 = true, .t0 = t0, .t1 = t1 } };
	scan.request = request;
	assert_ok(iforest_scan_start(&scan, series));
	assert_ok(iforest_scan_next(&scan, &bucket, &answer, &found));
	assert_int_equal(iforest_scan_pages(&scan), spans.memory.n_gets - n_gets);
	iforest_scan_release(&scan);
	return spans.memory.n_gets - n_gets;
}

/* The most and the mean of many windows of all widths. */
static uint64_t most_pages(struct iforest_request request, double *mean)
{
	struct random dice = random_from(random_seed());
	uint64_t most = 0, total = 0, n_windows = 4000;

	for (uint64_t i = 0; i < n_windows; i++) {
		int64_t end = (int64_t)N_SPANS * NS_A_SPAN;
		int64_t width = random_between(&dice, 0, end >> random_below(&dice, 24));
		int64_t t0 = random_between(&dice, -1000, end - width);
		uint64_t n = pages_of_window(t0, t0 + width, (uint32_t)random_below(&dice, N_TRACKS), request);

		most = n > most ? n : most;
		total += n;
	}
	*mean = (double)total / (double)n_windows;
	return most;
}

static void any_window_reads_log_pages(void **state)
{
	unsigned n_levels = spans.manifest.runs[0].n_levels;
	struct iforest_request sums = { .values = 1 }, rows = { .values = 1, .firsts = 1, .lasts = 1, .times = true };
	double mean, mean_of_sums;
	uint64_t most = most_pages(sums, &mean_of_sums);

	(void)state;
	print_message("%u levels; pages a window: at most %u, mean %.1f\n", n_levels, (unsigned)most,
		      mean_of_sums);
	assert_in_range(most, 1, 2 + 2 * n_levels);
	/* a first and a last row that lie inside nodes are looked up below them, another page a level each; but that is rare,
	 * for most windows begin and end within leaf pages, which are open anyway */
	most = most_pages(rows, &mean);
	print_message("with first, last and times: at most %u, mean %.1f\n", (unsigned)most, mean);
	assert_in_range(most, 1, 2 + 2 * n_levels + 2 * n_levels);
	assert_true(mean < mean_of_sums + 0.1);
	assert_in_range(pages_of_window(INT64_MIN, INT64_MAX, 7, sums), 1, 2 + 2 * n_levels);
}

static void the_index_is_small(void **state)
{
	const struct iforest_run *run = &spans.manifest.runs[0];
	double n_bytes = (double)iforest_pager_memory_total(&spans.memory), n_node_bytes = 0;

	(void)state;
	for (unsigned level = 1; level <= run->n_levels; level++)
		for (uint64_t i = 0; i < iforest_pages_at(run->n_leaves, level, spans.manifest.fanout); i++) {
			uint64_t index = iforest_run_page_index(&spans.manifest, run, level, i);
			uint32_t *n;

			assert_non_null(iforest_pager_memory_bytes(&spans.memory, run->place.location, index, &n));
			n_node_bytes += *n;
		}
	print_message("%.2f bytes a row, nodes %.2f %%\n", n_bytes / N_SPANS, 100 * n_node_bytes / n_bytes);
	assert_true(n_bytes <= 9.0 * N_SPANS);
	assert_true(n_node_bytes <= 0.04 * n_bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_window_reads_log_pages),
		cmocka_unit_test(the_index_is_small),
	};

	return random_report(cmocka_run_group_tests(tests, build, drop));
}
