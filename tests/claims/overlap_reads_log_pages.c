/* A million spans of 8 tracks in 4000-byte pages, 45 % of them without length, some unfinished, and on each track one that
 * covers everything: the spans that overlap a window are counted, measured and the longest of them found in a few pages a level
 * and for each span that is open at an end of it; 1920 buckets read the pages that their aggregates do, and no more. Where
 * every tenth span is unfinished, the longest alone are found in as few. */

#include "core/query/overlap.h"
#include "core/run/writer.h"
#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

enum { N_TRACKS = 8, N_SPANS = 1000000, NS_A_SPAN = 1000, N_PIXELS = 1920 };

static const int64_t end = (int64_t)N_SPANS * NS_A_SPAN;
static struct sample_index spans;
static unsigned n_levels, percent_unfinished;

/* Span i starts about every microsecond on some track; seldom more than three of a track are open at once. */
static struct iforest_entry span(uint64_t i)
{
	struct random dice = random_from(i);
	uint64_t track = i < N_TRACKS ? i : random_below(&dice, N_TRACKS);
	struct iforest_entry entry = { .key = { .series = track,
						.time = (int64_t)(i * NS_A_SPAN + random_below(&dice, NS_A_SPAN)),
						.ref = (int64_t)i },
				       .present = 1 };

	if (i < N_TRACKS)
		entry.values[0].integer = 2 * end;
	else if (i % 100 >= 45)
		entry.values[0].integer = (int64_t)random_below(&dice, UINT64_C(1) << random_below(&dice, 17));
	if (i >= N_SPANS - 20 || (i >= N_TRACKS && i * 37 % 100 < percent_unfinished))
		entry.values[0].integer = -1;
	return entry;
}

static void add_entries(struct iforest_run_writer *writer, const void *context)
{
	(void)context;
	for (unsigned track = 0; track < N_TRACKS; track++)
		for (uint64_t i = 0; i < N_SPANS; i++) {
			struct iforest_entry entry = span(i);

			if (entry.key.series == track)
				assert_ok(iforest_run_writer_add(writer, &entry));
		}
}

static int build(void **state)
{
	(void)state;
	sample_start(&spans, &(struct sample_shape){ .page_bytes = 4000, .max_batch_pages = 16, .kinds = "i", .duration = 0 });
	sample_write_run(&spans, add_entries, NULL);
	n_levels = spans.manifest.runs[0].n_levels;
	return 0;
}

static int drop(void **state)
{
	(void)state;
	sample_stop(&spans);
	return 0;
}

struct cost {
	uint64_t n_pages, n_overlaps; /* of the last bucket */
	unsigned n_buckets;
	uint64_t check;               /* of the longest spans */
};

enum what { AGGREGATES, LONGEST, LONGEST_ALONE, INSIDE };

static struct cost cost_of(struct iforest_bucketing bucketing, uint32_t track, enum what what)
{
	struct iforest_scan scan;
	struct iforest_overlap overlap;
	struct iforest_aggregate aggregate;
	uint64_t n_gets = spans.memory.n_gets;
	struct cost cost = { .n_buckets = 0 };
	int64_t bucket;
	bool found = true;

	assert_ok(iforest_scan_init(&scan, &spans.store, &spans.manifest));
	assert_ok(iforest_overlap_init(&overlap, &scan));
	scan.bucketing = overlap.bucketing = bucketing;
	scan.request = (struct iforest_request){ .values = 1 };
	overlap.wants_inside = what == INSIDE;
	overlap.wants_longest = true;
	overlap.longest_alone = what == LONGEST_ALONE;
	assert_ok(what ? iforest_overlap_start(&overlap, track) : iforest_scan_start(&scan, track));
	for (; found; cost.n_buckets += found) {
		assert_ok(what ? iforest_overlap_next(&overlap, &bucket, &aggregate, &found) :
				 iforest_scan_next(&scan, &bucket, &aggregate, &found));
		cost.n_overlaps = found ? aggregate.n_rows : cost.n_overlaps;
		if (found)
			cost.check = (cost.check ^ (uint64_t)aggregate.values[0].max.ref) * UINT64_C(0x9E3779B97F4A7C15);
	}
	iforest_overlap_release(&overlap);
	iforest_scan_release(&scan);
	cost.n_pages = spans.memory.n_gets - n_gets;
	return cost;
}

static struct iforest_bucketing window_of(int64_t t0, int64_t t1, int64_t n)
{
	return (struct iforest_bucketing){ .mode = n > 1 ? IFOREST_COUNT : IFOREST_WHOLE,
					   .n = n,
					   .window = { true, true, t0, t1 } };
}

/* Two folds, the one before the window and the one of it, each with its ends; and a path to each span that is open at
 * either. */
static void check_windows(enum what what)
{
	struct random dice = random_from(random_seed());
	uint64_t most = 0, total = 0;

	for (unsigned q = 0; q < 2000; q++) {
		int64_t width = random_between(&dice, 1, end >> random_below(&dice, 24)),
			t0 = random_between(&dice, -1000, end - 100 * NS_A_SPAN - width);
		uint32_t track = (uint32_t)random_below(&dice, N_TRACKS);
		struct cost cost = cost_of(window_of(t0, t0 + width, 1), track, what);
		uint64_t n_open = cost_of(window_of(t0, t0 + 1, 1), track, what).n_overlaps +
				  cost_of(window_of(t0 + width - 1, t0 + width, 1), track, what).n_overlaps;

		assert_in_range(cost.n_pages, 0, 2 * (2 + 2 * n_levels) + n_open * (n_levels + 1));
		most = cost.n_pages > most ? cost.n_pages : most;
		total += cost.n_pages;
	}
	print_message("%u levels; pages a window: at most %u, mean %.1f\n", n_levels, (unsigned)most, (double)total / 2000);
	assert_true(total < 2000 * 2 * (2 + 2 * n_levels));
}

static void any_window_reads_log_pages(void **state)
{
	(void)state;
	check_windows(INSIDE);
}

/* The greatest is none of theirs, so nothing need be opened for them. */
static void unfinished_spans_cost_the_longest_nothing(void **state)
{
	struct cost inside;

	drop(state);
	percent_unfinished = 10;
	build(state);
	check_windows(LONGEST);
	inside = cost_of(window_of(0, end, 1), 3, INSIDE);
	assert_true(inside.n_pages > 20 * cost_of(window_of(0, end, 1), 3, LONGEST).n_pages);
}

/* What starts in a pixel is folded as it is; the spans that outlive it stand on pages that are open anyway. */
static void pixels_read_the_pages_of_their_aggregates(void **state)
{
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned q = 0; q < 60; q++) {
		int64_t width = random_between(&dice, N_PIXELS, end >> random_below(&dice, 18)),
			t0 = random_between(&dice, 0, end - width);
		uint32_t track = (uint32_t)random_below(&dice, N_TRACKS);
		struct cost cost = cost_of(window_of(t0, t0 + width, N_PIXELS), track, INSIDE);
		struct cost aggregates = cost_of(window_of(t0, t0 + width, N_PIXELS), track, AGGREGATES);
		uint64_t n_open = cost_of(window_of(t0, t0 + 1, 1), track, INSIDE).n_overlaps;

		assert_int_equal(cost.n_buckets, N_PIXELS);
		assert_in_range(cost.n_pages, 0,
				aggregates.n_pages + aggregates.n_pages / 10 + (2 + n_open) * (2 + 2 * n_levels));
	}
}

/* One span covers all pixels, and nodes tell that none is longer. */
static void a_span_over_all_pixels_is_found_once(void **state)
{
	static const unsigned n_pixels[] = { 10, 30, 100, 300, 1000 };

	(void)state;
	for (unsigned i = 0; i < sizeof n_pixels / sizeof *n_pixels; i++) {
		struct iforest_bucketing pixels = window_of(0, end, n_pixels[i]);
		struct cost all = cost_of(pixels, 3, LONGEST), alone = cost_of(pixels, 3, LONGEST_ALONE);

		assert_int_equal(alone.n_buckets, n_pixels[i]);
		assert_true(alone.check == all.check);
		assert_in_range(alone.n_pages, 1, 4 * (n_levels + 1));
	}
}

/* Behind the last start there are pixels that one span covers, and nothing to be read for them. */
static void covered_pixels_read_nothing(void **state)
{
	struct cost few = cost_of(window_of(end, 2 * end, 2), 3, INSIDE),
		    many = cost_of(window_of(end, 2 * end, 100 * N_PIXELS), 3, INSIDE);

	(void)state;
	assert_int_equal(few.n_buckets, 2);
	assert_int_equal(many.n_buckets, 100 * N_PIXELS);
	assert_int_equal(many.n_overlaps, 1);
	assert_int_equal(many.n_pages, few.n_pages);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_window_reads_log_pages),
		cmocka_unit_test(pixels_read_the_pages_of_their_aggregates),
		cmocka_unit_test(a_span_over_all_pixels_is_found_once),
		cmocka_unit_test(covered_pixels_read_nothing),
		cmocka_unit_test(unfinished_spans_cost_the_longest_nothing),
	};

	return random_report(cmocka_run_group_tests(tests, build, drop));
}
