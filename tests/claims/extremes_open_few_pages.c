/* The longest span of each of 1920 pixels, with its row, opens a boundary page only where its node could change the answer. A
 * pixel that spans s leaf pages has two ends; the best of the page at an end lies outside the pixel and is better than all
 * inside in about one of 2 s cases. Sums open a page for every end. */

#include "core/run/writer.h"
#include "core/query/overlap.h"
#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

enum { N_SPANS = 8000000, N_PIXELS = 1920 };

static struct sample_index spans;

/* Durations of up to 23 bits, short ones as likely as long ones. */
static void add_entries(struct iforest_run_writer *writer, const void *context)
{
	struct random dice = random_from(random_seed());

	(void)context;
	for (int64_t i = 0; i < N_SPANS; i++) {
		uint64_t x = random_next(&dice);
		struct iforest_entry entry = { .key = { .time = i * 1000 + (int64_t)(x % 1000), .ref = i }, .present = 1 };

		entry.values[0].integer = (int64_t)((x >> 16) % (UINT64_C(1) << (x >> 40) % 24));
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

struct cost {
	uint64_t n_leaf_pages, n_pages;
	uint64_t check;      /* of the answers */
};

static struct cost cost_of_frame(struct iforest_request request, int64_t t0, int64_t t1)
{
	struct iforest_scan scan;
	struct iforest_aggregate answer;
	struct cost cost = { .check = 0 };
	bool found = true;

	assert_ok(iforest_scan_init(&scan, &spans.store, &spans.manifest));
	scan.bucketing = (struct iforest_bucketing){ .mode = IFOREST_COUNT, .n = N_PIXELS,
		.window = { .has_t0 = true, .has_t1 = true, .t0 = t0, .t1 = t1 } };
	scan.request = request;
	assert_ok(iforest_scan_start(&scan, 0));
	while (found) {
		int64_t bucket;
		const struct iforest_extreme *max = &answer.values[0].max;

		assert_ok(iforest_scan_next(&scan, &bucket, &answer, &found));
		if (found)
			cost.check = (cost.check ^ (uint64_t)(max->value.integer + max->ref + max->time)) *
				     UINT64_C(0x9E3779B97F4A7C15);
	}
	cost.n_leaf_pages = iforest_scan_leaf_pages(&scan);
	cost.n_pages = iforest_scan_pages(&scan);
	iforest_scan_release(&scan);
	return cost;
}

/* The longest span that overlaps each pixel, alone or with how many do. */
static struct cost cost_of_overlaps(bool alone, int64_t t0, int64_t t1)
{
	struct iforest_scan scan;
	struct iforest_overlap overlap;
	struct iforest_aggregate answer;
	struct cost cost = { .n_pages = spans.memory.n_gets };
	bool found = true;

	assert_ok(iforest_scan_init(&scan, &spans.store, &spans.manifest));
	assert_ok(iforest_overlap_init(&overlap, &scan));
	overlap.bucketing = (struct iforest_bucketing){ .mode = IFOREST_COUNT, .n = N_PIXELS,
		.window = { .has_t0 = true, .has_t1 = true, .t0 = t0, .t1 = t1 } };
	overlap.wants_longest = true;
	overlap.longest_alone = alone;
	assert_ok(iforest_overlap_start(&overlap, 0));
	while (found) {
		int64_t bucket;

		assert_ok(iforest_overlap_next(&overlap, &bucket, &answer, &found));
		if (found)
			cost.check = (cost.check ^ (uint64_t)answer.values[0].max.ref) * UINT64_C(0x9E3779B97F4A7C15);
	}
	iforest_overlap_release(&overlap);
	iforest_scan_release(&scan);
	cost.n_pages = spans.memory.n_gets - cost.n_pages;
	return cost;
}

/* About thirty spans are open at any time: where a pixel ends, all that are open stand on pages before it. The longest is known
 * without. */
static void a_frame_of_the_longest_overlaps_opens_fewer_pages(void **state)
{
	int64_t end = (int64_t)N_SPANS * 1000;

	(void)state;
	for (unsigned zoom = 1; zoom <= 256; zoom *= 4) {
		int64_t t0 = (end - end / zoom) / 3, t1 = t0 + end / zoom;
		struct cost all = cost_of_overlaps(false, t0, t1), alone = cost_of_overlaps(true, t0, t1);

		print_message("1/%u: %u pages opened of %u\n", zoom, (unsigned)alone.n_pages, (unsigned)all.n_pages);
		assert_true(all.check == alone.check);
		assert_true(4 * alone.n_pages < all.n_pages);
	}
}

static void a_frame_of_extremes_opens_few_leaf_pages(void **state)
{
	int64_t end = (int64_t)N_SPANS * 1000;
	uint64_t n_leaves = spans.manifest.runs[0].n_leaves;

	(void)state;
	for (unsigned zoom = 1; zoom <= 16; zoom *= 2) {
		int64_t t0 = (end - end / zoom) / 3, t1 = t0 + end / zoom;
		double pages_a_pixel = (double)n_leaves / zoom / N_PIXELS;
		struct iforest_request all = { .values = 1, .no_mins = 1 },
				      extremes = { .values = 1, .no_mins = 1, .extremes_alone = true };
		struct cost sums = cost_of_frame(all, t0, t1), longest = cost_of_frame(extremes, t0, t1);

		print_message("%.1f leaf pages a pixel: %u opened of %u, without sums %u of %u\n", pages_a_pixel, (unsigned)sums.n_leaf_pages,
			      (unsigned)sums.n_pages, (unsigned)longest.n_leaf_pages, (unsigned)longest.n_pages);
		assert_true(sums.check == longest.check);
		assert_true(longest.n_leaf_pages <= sums.n_leaf_pages && longest.n_pages <= sums.n_pages);
		if (pages_a_pixel >= 1)
			assert_true((double)longest.n_leaf_pages <= 1.25 * N_PIXELS / pages_a_pixel + 16);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_of_extremes_opens_few_leaf_pages),
		cmocka_unit_test(a_frame_of_the_longest_overlaps_opens_fewer_pages),
	};

	return random_report(cmocka_run_group_tests(tests, build, drop));
}
