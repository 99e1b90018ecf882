#include "core/base/platform.h"

#include <string.h>

#include "core/page/page_maxima.h"
#include "core/query/scan.h"
#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

enum { MOST_ITEMS = 5000 };

struct tally {
	uint8_t n_calls[MOST_ITEMS];
	uint64_t sums[IFOREST_MAX_THREADS]; /* what each thread did; it alone writes there */
	unsigned n_threads;
};

static void take(void *context, unsigned thread, uint32_t item)
{
	struct tally *tally = context;

	assert_true(thread < tally->n_threads);
	tally->n_calls[item]++;
	tally->sums[thread] += item;
}

static void each_item_is_taken_once(void **state)
{
	static const unsigned threads[] = { 1, 2, 3, 8, IFOREST_MAX_THREADS };
	static const uint32_t items[] = { 0, 1, 2, 7, 300, MOST_ITEMS };

	(void)state;
	for (unsigned t = 0; t < COUNT_OF(threads); t++)
		for (unsigned i = 0; i < COUNT_OF(items); i++) {
			static struct tally tally;
			uint64_t sum = 0;

			memset(&tally, 0, sizeof tally);
			tally.n_threads = threads[t];
			iforest_parallel_for(threads[t], items[i], take, &tally);
			for (unsigned k = 0; k < IFOREST_MAX_THREADS; k++)
				sum += tally.sums[k];
			assert_int_equal(sum, items[i] ? (uint64_t)items[i] * (items[i] - 1) / 2 : 0);
			for (unsigned k = 0; k < MOST_ITEMS; k++)
				assert_int_equal(tally.n_calls[k], k < items[i]);
		}
}

/* ---- a read of one index ---- */

enum { MOST_PAGES = 400, MOST_READERS = 4, N_QUESTIONS = 60, N_BUCKETS = 50 };

/* Pages in memory, and the maxima of each, which all share. */
static struct {
	struct sample_index index;
	struct iforest_page_maxima maxima[MOST_PAGES];
} shared;

/* What a thread has for itself. */
struct reader {
	struct iforest_pager pager;
	struct iforest_store store;
	struct iforest_scan scan;
	bool is_checked;
};

struct reading {
	struct reader readers[MOST_READERS];
	struct iforest_extreme longest[N_QUESTIONS][N_BUCKETS];
};

static enum iforest_status shared_get(void *context, const struct iforest_place *place, uint64_t index,
				      struct iforest_page *page)
{
	struct reader *reader = context;
	uint32_t *n_bytes;
	const uint8_t *bytes = iforest_pager_memory_bytes(&shared.index.memory, place->location, index, &n_bytes);

	reader->is_checked = true;
	*page = (struct iforest_page){
		.bytes = bytes, .n_bytes = *n_bytes, .is_checked = &reader->is_checked, .maxima = &shared.maxima[index]
	};
	return IFOREST_OK;
}

static void shared_release(void *context, struct iforest_page *page)
{
	(void)context;
	(void)page;
}

static void ask(void *context, unsigned thread, uint32_t item)
{
	struct reading *reading = context;
	struct iforest_scan *scan = &reading->readers[thread].scan;
	struct iforest_aggregate aggregate;
	int64_t bucket;
	bool found = true;

	scan->bucketing = (struct iforest_bucketing){ .mode = IFOREST_COUNT,
						      .n = N_BUCKETS,
						      .window = { true, true, item * 1000, item * 300000 + 500 } };
	scan->request = (struct iforest_request){ .values = 1, .no_mins = 1, .extremes_alone = true };
	assert_ok(iforest_scan_start(scan, item % 3));
	while (found) {
		assert_ok(iforest_scan_next(scan, &bucket, &aggregate, &found));
		if (found)
			reading->longest[item][bucket] = aggregate.values[0].max;
	}
}

static void read_by(struct reading *reading, unsigned n_threads)
{
	memset(reading, 0, sizeof *reading);
	memset(shared.maxima, 0, sizeof shared.maxima);
	for (unsigned t = 0; t < n_threads; t++) {
		struct reader *reader = &reading->readers[t];

		reader->pager = (struct iforest_pager){ .context = reader, .page_bytes = shared.index.memory.pager.page_bytes,
							.max_batch_pages = 1, .get = shared_get, .release = shared_release };
		reader->store = (struct iforest_store){ .pager = &reader->pager, .alloc = &shared.index.core_alloc.alloc };
		assert_ok(iforest_scan_init(&reader->scan, &reader->store, &shared.index.manifest));
	}
	iforest_parallel_for(n_threads, N_QUESTIONS, ask, reading);
	for (unsigned t = 0; t < n_threads; t++)
		iforest_scan_release(&reading->readers[t].scan);
}

/* Each asks other questions than one thread would; maxima are made by whoever comes first, and asked for by others meanwhile. */
static void threads_read_one_index(void **state)
{
	static struct reading alone, together;
	struct random dice = random_from(random_seed());
	unsigned n_found = 0;

	(void)state;
	sample_start(&shared.index, &(struct sample_shape){ .page_bytes = 4000, .max_batch_pages = 8, .kinds = "i", .duration = 0 });
	sample_entries(&shared.index, &dice, 20000, 3, SAMPLE_STEADY);
	assert_ok(sample_build(&shared.index, 0));
	assert_true(iforest_run_pages(&shared.index.manifest, &shared.index.manifest.runs[0]) <= MOST_PAGES);
	read_by(&alone, 1);
	for (unsigned round = 0; round < 5; round++) {
		read_by(&together, 2 + round % 3);
		assert_memory_equal(together.longest, alone.longest, sizeof alone.longest);
	}
	for (unsigned q = 0; q < N_QUESTIONS; q++)
		for (unsigned b = 0; b < N_BUCKETS; b++)
			n_found += alone.longest[q][b].is_set;
	assert_true(n_found > N_QUESTIONS * N_BUCKETS / 2);
	sample_stop(&shared.index);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(each_item_is_taken_once),
					    cmocka_unit_test(threads_read_one_index) };

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
