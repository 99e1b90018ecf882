/* Long work in memory asks every so many entries whether it may go on, and ends when it may not, at whichever of these calls: sorts of
 * keys, of batches that become runs, and of items; the merges of a memtable; the peak of spans. Work over pages ends where the pager
 * says so (every_read_fails_cleanly, callbacks_may_jump). */
#include "core/base/heap_sort.h"
#include "core/query/peak.h"
#include "core/run/memtable.h"
#include "core/run/sorter.h"
#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

#include <stdlib.h>

enum { N = 6 * IFOREST_UNIT_OF_WORK };

/* Counts the calls, and says no at the given one and at all that follow. */
struct asked {
	uint64_t n, stop_at;
};

static enum iforest_status ask(void *context)
{
	struct asked *asked = context;

	return ++asked->n >= asked->stop_at ? IFOREST_IO : IFOREST_OK;
}

static struct iforest_entry random_entry(struct random *dice, uint32_t i)
{
	return (struct iforest_entry){ .key = { .series = random_below(dice, 300),
						.time = random_between(dice, -1000000, 1000000),
						.ref = i },
				       .present = 1,
				       .values = { { .integer = (int64_t)random_below(dice, 1000) } } };
}

/* ---- the work ---- */

static enum iforest_status sort_keys(struct random *dice, const struct iforest_interrupt *interrupt)
{
	struct iforest_arrival *arrivals = calloc(2 * (size_t)N, sizeof *arrivals);
	enum iforest_status status;

	for (uint32_t i = 0; i < N; i++)
		arrivals[i].key = random_entry(dice, i).key;
	status = iforest_key_sort(arrivals, arrivals + N, N, interrupt);
	for (uint32_t i = 1; i < N && !status; i++)
		assert_true(iforest_key_compare(&arrivals[i - 1].key, &arrivals[i].key) < 0);
	free(arrivals);
	return status;
}

/* One ascending stretch, and one entry that comes first. */
static enum iforest_status sort_nearly_sorted_keys(struct random *dice, const struct iforest_interrupt *interrupt)
{
	struct iforest_arrival *arrivals = calloc(2 * (size_t)N, sizeof *arrivals);
	enum iforest_status status;

	(void)dice;
	for (uint32_t i = 0; i < N; i++)
		arrivals[i].key.time = i + 1 < N ? (int64_t)i : -1;
	status = iforest_key_sort(arrivals, arrivals + N, N, interrupt);
	assert_true(status || arrivals[0].key.time == -1);
	free(arrivals);
	return status;
}

static bool comes_before(const void *a, const void *b)
{
	return *(const int64_t *)a < *(const int64_t *)b;
}

static enum iforest_status sort_items(struct random *dice, const struct iforest_interrupt *interrupt)
{
	int64_t *items = calloc(N, sizeof *items);
	enum iforest_status status;

	for (uint32_t i = 0; i < N; i++)
		items[i] = (int64_t)random_below(dice, 1000000);
	status = iforest_heap_sort(items, N, sizeof *items, comes_before, interrupt);
	for (uint32_t i = 1; i < N && !status; i++)
		assert_true(items[i - 1] <= items[i]);
	free(items);
	return status;
}

static enum iforest_status find_peak(struct random *dice, const struct iforest_interrupt *interrupt)
{
	struct alloc_fault alloc;
	struct iforest_peak_span *spans = calloc(N, sizeof *spans);
	struct iforest_peak peak;
	enum iforest_status status;

	alloc_fault_init(&alloc);
	for (uint32_t i = 0; i < N; i++) {
		spans[i].first_time = (int64_t)random_below(dice, 1000000);
		spans[i].last_time = spans[i].first_time + (int64_t)random_below(dice, 10);
	}
	status = iforest_peak_of_spans(&alloc.alloc, interrupt, spans, N, &peak);
	free(spans);
	return status;
}

/* Entries that an index waits with, and the run that they become. */
static enum iforest_status build_memtable(struct random *dice, const struct iforest_interrupt *interrupt)
{
	static const struct sample_shape shape = { .page_bytes = 8192, .max_batch_pages = 1, .kinds = "i", .duration = ORACLE_NONE };
	struct sample_index index;
	struct iforest_memtable memtable;
	enum iforest_status status = IFOREST_OK;

	sample_start(&index, &shape);
	index.pager.pager.interrupt = *interrupt;
	assert_ok(iforest_memtable_init(&memtable, &index.store, &index.manifest.fields));
	for (uint32_t i = 0; i < N && !status; i++) {
		struct iforest_entry entry = random_entry(dice, i);

		status = iforest_batch_add(&memtable.batch, &entry);
		if (!status && i % (N / 3) == N / 3 - 1)
			status = iforest_memtable_build(&memtable);
	}
	iforest_memtable_release(&memtable);
	sample_stop(&index);
	return status;
}

static const struct {
	enum iforest_status (*work)(struct random *dice, const struct iforest_interrupt *interrupt);
	uint64_t fewest; /* calls: each loop over entries makes N / IFOREST_UNIT_OF_WORK or more of these */
} works[] = {
	{ sort_keys, 250 }, { sort_nearly_sorted_keys, 34 }, { sort_items, 573 }, { find_peak, 579 }, { build_memtable, 1000 },
};

static void work_ends_where_it_is_told(void **state)
{
	(void)state;
	for (size_t w = 0; w < COUNT_OF(works); w++) {
		struct random dice = random_from(random_seed() + w);
		struct asked asked = { .stop_at = UINT64_MAX };
		struct iforest_interrupt interrupt = { .check = ask, .context = &asked };
		uint64_t n_calls;

		assert_ok(works[w].work(&dice, &interrupt));
		n_calls = asked.n;
		assert_true(n_calls >= works[w].fewest);
		for (unsigned round = 0; round < random_rounds(3); round++) {
			dice = random_from(random_seed() + w);
			asked = (struct asked){ .stop_at = round == 0 ? n_calls : 1 + random_below(&dice, n_calls) };
			dice = random_from(random_seed() + w);
			assert_status(works[w].work(&dice, &interrupt), IFOREST_IO);
			assert_int_equal(asked.n, asked.stop_at); /* it has not gone on */
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(work_ends_where_it_is_told) };

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
