/* A million spans of 4 tracks, of which one covers everything: the peak of a window, and the peaks of its 1920 pixels, open each
 * page of the window once, and a path to each span that is open when it begins. */

#include "core/query/overlap.h"
#include "core/query/peak.h"
#include "core/run/writer.h"
#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

enum { N_TRACKS = 4, N_SPANS = 1000000, NS_A_SPAN = 1000, N_PIXELS = 1920 };

static const int64_t end = (int64_t)N_SPANS * NS_A_SPAN;
static struct sample_index spans;

static void add_entries(struct iforest_run_writer *writer, const void *context)
{
	(void)context;
	for (unsigned track = 0; track < N_TRACKS; track++)
		for (int64_t i = track; i < N_SPANS; i += N_TRACKS) {
			struct iforest_entry entry = { .key = { .series = track, .time = i * NS_A_SPAN, .ref = i }, .present = 1 };
			struct random dice = random_from((uint64_t)i);

			entry.values[0].integer = i < N_TRACKS ? 2 * end : (int64_t)random_below(&dice, UINT64_C(1) << random_below(&dice, 17));
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

/* How many spans are open at a time: one that no span may start at. */
static uint64_t open_at(uint32_t track, int64_t time)
{
	struct iforest_scan scan;
	struct iforest_overlap overlap;
	struct iforest_aggregate aggregate;
	int64_t bucket;
	bool found;

	assert_ok(iforest_scan_init(&scan, &spans.store, &spans.manifest));
	assert_ok(iforest_overlap_init(&overlap, &scan));
	overlap.bucketing.window = (struct iforest_window){ true, true, time, time + 1 };
	assert_ok(iforest_overlap_start(&overlap, track));
	assert_ok(iforest_overlap_next(&overlap, &bucket, &aggregate, &found));
	iforest_overlap_release(&overlap);
	iforest_scan_release(&scan);
	return found ? aggregate.n_rows : 0;
}

/* The peaks of all buckets of a window; the greatest of them is the window's. */
static struct iforest_peak peak_of(uint32_t track, int64_t t0, int64_t t1, int64_t n, uint64_t *n_pages)
{
	struct iforest_peak_reader reader;
	struct iforest_peak greatest = { .n = 0 }, peak;

	assert_ok(iforest_peak_init(&reader, &spans.store, &spans.manifest));
	reader.bucketing = (struct iforest_bucketing){ .mode = IFOREST_COUNT, .n = n, .window = { true, true, t0, t1 } };
	assert_ok(iforest_peak_start(&reader, &track, 1));
	for (int64_t bucket = 0; bucket < n; bucket++) {
		assert_ok(iforest_peak_of_bucket(&reader, bucket, &peak));
		greatest = peak.n > greatest.n ? peak : greatest;
	}
	*n_pages = iforest_iterator_pages(&reader.iterator);
	iforest_peak_release(&reader);
	return greatest;
}

static void windows_open_their_pages_once(void **state)
{
	const struct iforest_run *run = &spans.manifest.runs[0];
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned q = 0; q < 100; q++) {
		int64_t width = random_between(&dice, N_PIXELS, end >> random_below(&dice, 18)),
			t0 = random_between(&dice, 0, end - width);
		uint32_t track = (uint32_t)random_below(&dice, N_TRACKS);
		uint64_t n_open = open_at(track, t0), n_pages, n_pixel_pages;
		uint64_t n_within = (uint64_t)((double)run->n_leaves / N_TRACKS * (double)width / (double)end) + 2;
		struct iforest_peak peak = peak_of(track, t0, t0 + width, 1, &n_pages),
				    of_pixels = peak_of(track, t0, t0 + width, N_PIXELS, &n_pixel_pages);

		assert_true(peak.n == of_pixels.n && peak.time == of_pixels.time && peak.n >= n_open);
		assert_int_equal(n_pages, n_pixel_pages);
		/* leaf pages and the node pages above them; the latter are at most a twentieth, and a path */
		assert_in_range(n_pages, 1, n_within + n_within / 10 + (n_open + 2) * (run->n_levels + 1));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(windows_open_their_pages_once) };

	return random_report(cmocka_run_group_tests(tests, build, drop));
}
