/* A million spans of 4 tracks in small pages: whatever the window, the cover of one series has at most two parts of leaf pages
 * and 2 (B - 1) nodes a level, and costs as many pages as the answer does. */
#include <stdio.h>

#include "core/query/scan.h"
#include "core/run/writer.h"
#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

enum { N_TRACKS = 4, N_SPANS = 1000000, N_WINDOWS = 4000 };

static struct sample_index spans;

static void add_entries(struct iforest_run_writer *writer, const void *context)
{
	(void)context;
	for (int64_t i = 0; i < N_SPANS; i++) {
		struct iforest_entry entry = { .key = { .series = (uint32_t)(i / (N_SPANS / N_TRACKS)),
							.time = i % (N_SPANS / N_TRACKS) * 10,
							.ref = i },
					       .present = 1 };

		entry.values[0].integer = i % 1000;
		assert_ok(iforest_run_writer_add(writer, &entry));
	}
}

static int build(void **state)
{
	(void)state;
	sample_start(&spans, &(struct sample_shape){ .page_bytes = 1024, .max_batch_pages = 16, .kinds = "i", .duration = 0 });
	sample_write_run(&spans, add_entries, NULL);
	return 0;
}

static int drop(void **state)
{
	(void)state;
	sample_stop(&spans);
	return 0;
}

static void the_cover_of_any_window_is_logarithmic(void **state)
{
	struct random dice = random_from(random_seed());
	uint64_t most = 0, n_levels = spans.manifest.runs[0].n_levels, n_a_level = 2 * ((uint64_t)spans.manifest.fanout - 1);

	(void)state;
	for (unsigned i = 0; i < N_WINDOWS; i++) {
		int64_t end = N_SPANS / N_TRACKS * 10, width = random_between(&dice, 0, end >> random_below(&dice, 18));
		int64_t t0 = random_between(&dice, -1000, end - width);
		uint32_t series = (uint32_t)random_below(&dice, N_TRACKS);
		uint64_t n = 0, n_parts = 0, n_rows = 0, n_pages;
		struct iforest_scan scan;
		struct iforest_scan_cover pieces;
		struct iforest_scan_cover_part piece;
		struct iforest_aggregate answer;
		int64_t bucket;
		bool found;

		assert_ok(iforest_scan_init(&scan, &spans.store, &spans.manifest));
		scan.bucketing = (struct iforest_bucketing){ .mode = IFOREST_WHOLE,
			.window = { .has_t0 = true, .has_t1 = true, .t0 = t0, .t1 = t0 + width } };
		scan.request = (struct iforest_request){ .values = 1, .times = true };
		assert_ok(iforest_scan_start(&scan, series));
		iforest_scan_cover_start(&pieces, &scan);
		while (!iforest_scan_cover_next(&pieces, &piece, &found) && found) {
			n++;
			n_parts += piece.level == 0;
			n_rows += piece.aggregate.n_rows;
		}
		n_pages = iforest_scan_pages(&scan);
		assert_in_range(n, 0, 2 + n_a_level * n_levels);
		assert_in_range(n_parts, 0, 2);
		most = n > most ? n : most;
		iforest_scan_release(&scan);

		assert_ok(iforest_scan_init(&scan, &spans.store, &spans.manifest));
		scan.bucketing = (struct iforest_bucketing){ .mode = IFOREST_WHOLE,
			.window = { .has_t0 = true, .has_t1 = true, .t0 = t0, .t1 = t0 + width } };
		scan.request = pieces.request;
		assert_ok(iforest_scan_start(&scan, series));
		assert_ok(iforest_scan_next(&scan, &bucket, &answer, &found));
		assert_int_equal(n_rows, answer.n_rows);
		assert_int_equal(n_pages, iforest_scan_pages(&scan));
		iforest_scan_release(&scan);
	}
	print_message("%u levels of fan-out %u: at most %u pieces\n", (unsigned)n_levels, spans.manifest.fanout, (unsigned)most);
	assert_true(n_levels >= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_cover_of_any_window_is_logarithmic) };

	return random_report(cmocka_run_group_tests(tests, build, drop));
}
