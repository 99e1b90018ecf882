/* A million spans of 4 tracks in 4000-byte pages, none of them in memory: of the pages that many buckets read nine of ten were asked
 * for before, few others were, and never more than a bounded number at once. Once all are in memory, none is asked for. */
#include <stdlib.h>
#include <string.h>

#include "core/query/read_ahead.h"
#include "core/query/scan.h"
#include "core/run/layout.h"
#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

enum { N_TRACKS = 4, N_SPANS = 1000000, NS_A_SPAN = 1000 };

/* A pager whose pages come from somewhere slow. */
struct slow_pager {
	struct iforest_pager pager;
	const struct iforest_pager *inner;
	bool *is_there, *is_asked, *is_read; /* of each page of the run */
	uint64_t n_pages, n_waits, n_late, n_most_asked;
};

static struct sample_index spans;
static struct slow_pager slow;

static struct iforest_entry span(uint64_t i, unsigned track)
{
	struct random dice = random_from(i);
	uint64_t x = random_next(&dice);
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
		for (uint64_t i = track; i < N_SPANS; i += N_TRACKS) {
			struct iforest_entry entry = span(i, track);

			assert_ok(iforest_run_writer_add(writer, &entry));
		}
}

static enum iforest_status get(void *context, const struct iforest_place *place, uint64_t index, struct iforest_page *page)
{
	struct slow_pager *pager = context;

	assert_true(index < pager->n_pages);
	pager->is_read[index] = true;
	if (!pager->is_there[index]) {
		pager->n_waits++;
		pager->n_late += !pager->is_asked[index];
		pager->is_there[index] = true;
	}
	return pager->inner->get(pager->inner->context, place, index, page);
}

static void release(void *context, struct iforest_page *page)
{
	struct slow_pager *pager = context;

	pager->inner->release(pager->inner->context, page);
}

static uint64_t n_waits(void *context)
{
	return ((struct slow_pager *)context)->n_waits;
}

static void read_ahead(void *context, const struct iforest_place *place, const uint64_t *indexes, unsigned n)
{
	struct slow_pager *pager = context;

	(void)place;
	pager->n_most_asked = n > pager->n_most_asked ? n : pager->n_most_asked;
	for (unsigned i = 0; i < n; i++) {
		assert_true(indexes[i] < pager->n_pages);
		assert_true(i == 0 || indexes[i] > indexes[i - 1]);
		pager->is_asked[indexes[i]] = true;
	}
}

static int build(void **state)
{
	const struct iforest_run *run;

	(void)state;
	sample_start(&spans, &(struct sample_shape){ .page_bytes = 4000, .max_batch_pages = 16, .kinds = "i", .duration = 0 });
	sample_write_run(&spans, add_entries, NULL);
	run = &spans.manifest.runs[0];
	slow = (struct slow_pager){ .pager = *spans.store.pager, .inner = spans.store.pager };
	slow.n_pages = iforest_pages_total(run->n_leaves, spans.manifest.fanout);
	slow.is_there = calloc(slow.n_pages, 1);
	slow.is_asked = calloc(slow.n_pages, 1);
	slow.is_read = calloc(slow.n_pages, 1);
	assert_true(slow.is_there && slow.is_asked && slow.is_read);
	slow.pager.context = &slow;
	slow.pager.get = get;
	slow.pager.release = release;
	slow.pager.pin_briefly = NULL;
	slow.pager.unpin_brief = NULL;
	slow.pager.n_waits = n_waits;
	slow.pager.read_ahead = read_ahead;
	return 0;
}

static int drop(void **state)
{
	(void)state;
	free(slow.is_there);
	free(slow.is_asked);
	free(slow.is_read);
	sample_stop(&spans);
	return 0;
}

static void forget_all(void)
{
	memset(slow.is_there, 0, slow.n_pages);
	memset(slow.is_asked, 0, slow.n_pages);
	memset(slow.is_read, 0, slow.n_pages);
	slow.n_late = slow.n_most_asked = 0;
}

/* What buckets over all tracks are asked for, by number or by their width; a sum over the answers. */
static uint64_t ask(struct iforest_store *store, struct iforest_bucketing bucketing)
{
	struct iforest_scan scan;
	uint64_t check = 0;

	assert_ok(iforest_scan_init(&scan, store, &spans.manifest));
	scan.bucketing = bucketing;
	scan.request = (struct iforest_request){ .values = 1 };
	for (unsigned track = 0; track < N_TRACKS; track++) {
		struct iforest_aggregate answer;
		int64_t bucket;
		bool found = true;

		assert_ok(iforest_scan_start(&scan, track));
		while (found) {
			assert_ok(iforest_scan_next(&scan, &bucket, &answer, &found));
			if (found)
				check = check * 31 + (uint64_t)bucket + (uint64_t)answer.values[0].max.value.integer +
					answer.n_rows;
		}
	}
	iforest_scan_release(&scan);
	return check;
}

static uint64_t count(const bool *flags, const bool *but)
{
	uint64_t n = 0;

	for (uint64_t p = 0; p < slow.n_pages; p++)
		n += flags[p] && !(but && but[p]);
	return n;
}

static struct iforest_bucketing window_of(int64_t t0, int64_t t1)
{
	return (struct iforest_bucketing){ .window = { .has_t0 = true, .has_t1 = true, .t0 = t0, .t1 = t1 } };
}

static void check_buckets(struct iforest_bucketing bucketing)
{
	struct iforest_store store = { .pager = &slow.pager, .alloc = spans.store.alloc };
	uint64_t expected = ask(&spans.store, bucketing), n_read, n_in_vain;

	forget_all();
	assert_true(ask(&store, bucketing) == expected);
	n_read = count(slow.is_read, NULL);
	n_in_vain = count(slow.is_asked, slow.is_read);
	print_message("%u pages read, %u of them not asked for; %u asked for in vain\n", (unsigned)n_read, (unsigned)slow.n_late,
		      (unsigned)n_in_vain);
	assert_in_range(slow.n_late, 1, n_read / 10);
	assert_in_range(n_in_vain, 0, n_read / 10);
	assert_in_range(slow.n_most_asked, 1, IFOREST_MOST_CUTS_AHEAD);
	memset(slow.is_asked, 0, slow.n_pages);
	assert_true(ask(&store, bucketing) == expected);
	assert_int_equal(count(slow.is_asked, NULL), 0);
}

static void a_picture_is_asked_for_in_time(void **state)
{
	struct iforest_bucketing bucketing = window_of(0, (int64_t)N_SPANS * NS_A_SPAN);

	(void)state;
	bucketing.mode = IFOREST_COUNT;
	bucketing.n = 200;
	check_buckets(bucketing);
}

static void steps_that_a_window_cuts_are_asked_for_in_time(void **state)
{
	struct iforest_bucketing bucketing = window_of(12345, (int64_t)N_SPANS * NS_A_SPAN - 54321);

	(void)state;
	bucketing.mode = IFOREST_STEP;
	bucketing.step = 3000017;
	check_buckets(bucketing);
}

/* A window has no ends ahead. */
static void a_window_asks_for_nothing(void **state)
{
	struct iforest_store store = { .pager = &slow.pager, .alloc = spans.store.alloc };
	struct iforest_bucketing bucketing = window_of(1000, (int64_t)N_SPANS * NS_A_SPAN / 2);

	(void)state;
	forget_all();
	bucketing.mode = IFOREST_WHOLE;
	ask(&store, bucketing);
	assert_int_equal(count(slow.is_asked, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_picture_is_asked_for_in_time),
		cmocka_unit_test(steps_that_a_window_cuts_are_asked_for_in_time),
		cmocka_unit_test(a_window_asks_for_nothing),
	};

	return cmocka_run_group_tests(tests, build, drop);
}
