#include "core/run/batch.h"

#include <stdlib.h>

#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

enum { MOST = 600, N_VALUES = 2 };

/* A batch, and the same entries in an array. */
struct twins {
	struct alloc_fault alloc;
	struct iforest_batch batch;
	struct iforest_entry entries[MOST];
	uint32_t n, next_ref; /* no ref comes twice: qsort() need not be stable */
};

static struct iforest_entry any_entry(struct random *dice, int64_t ref)
{
	struct iforest_entry entry = { .key = { .series = random_below(dice, 3),
						.time_is_null = random_chance(dice, 10),
						.time = (int64_t)random_below(dice, 50),
						.ref = ref } };

	if (entry.key.time_is_null)
		entry.key.time = 0;
	for (unsigned v = 0; v < N_VALUES; v++) {
		entry.present |= (uint32_t)random_chance(dice, 80) << v;
		entry.values[v].integer = (int64_t)random_below(dice, 1000);
	}
	return entry;
}

static void start(struct twins *twins)
{
	alloc_fault_init(&twins->alloc);
	iforest_batch_init(&twins->batch, &twins->alloc.alloc, N_VALUES);
	twins->n = twins->next_ref = 0;
}

static void add_some(struct twins *twins, struct random *dice, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++, twins->n++) {
		twins->entries[twins->n] = any_entry(dice, twins->next_ref++);
		assert_ok(iforest_batch_add(&twins->batch, &twins->entries[twins->n]));
	}
}

static void stop(struct twins *twins)
{
	iforest_batch_release(&twins->batch);
	assert_int_equal(twins->alloc.n_live, 0);
}

static void assert_same(const struct twins *twins)
{
	assert_int_equal(twins->batch.n, twins->n);
	for (uint32_t i = 0; i < twins->n; i++) {
		const struct iforest_entry *expected = &twins->entries[i];
		struct iforest_entry entry;

		iforest_batch_entry(&twins->batch, i, &entry);
		assert_int_equal(iforest_key_compare(&entry.key, &expected->key), 0);
		assert_int_equal(entry.present, expected->present);
		for (unsigned v = 0; v < N_VALUES; v++)
			assert_true(entry.values[v].integer == expected->values[v].integer);
	}
}

static int by_key(const void *a, const void *b)
{
	return iforest_key_compare(&((const struct iforest_entry *)a)->key, &((const struct iforest_entry *)b)->key);
}

static bool has_even_ref(void *context, const struct iforest_entry *entry)
{
	++*(uint32_t *)context;
	return entry->key.ref % 2 == 0;
}

static void keep_even(struct twins *twins)
{
	uint32_t n_asked = 0, n = 0;

	iforest_batch_keep(&twins->batch, has_even_ref, &n_asked);
	assert_int_equal(n_asked, twins->n);
	for (uint32_t i = 0; i < twins->n; i++)
		if (twins->entries[i].key.ref % 2 == 0)
			twins->entries[n++] = twins->entries[i];
	twins->n = n;
}

static void entries_are_added_dropped_and_sorted(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(200); round++) {
		struct random dice = random_from(random_seed() + round);
		struct twins twins;

		start(&twins);
		for (unsigned step = 0; step < 4; step++) {
			add_some(&twins, &dice, (uint32_t)random_below(&dice, MOST / 4));
			if (random_chance(&dice, 30))
				keep_even(&twins);
			assert_same(&twins);
			if (random_chance(&dice, 50)) {
				assert_ok(iforest_batch_sort(&twins.batch, NULL));
				qsort(twins.entries, twins.n, sizeof twins.entries[0], by_key);
				assert_same(&twins);
			}
			if (random_chance(&dice, 10)) {
				iforest_batch_clear(&twins.batch);
				twins.n = 0;
			}
		}
		stop(&twins);
	}
}

/* Any key, from any entry on: as a linear search does. */
static void positions_are_found(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(100); round++) {
		struct random dice = random_from(random_seed() + round);
		struct twins twins;

		start(&twins);
		add_some(&twins, &dice, (uint32_t)random_below(&dice, random_chance(&dice, 30) ? 4 : MOST));
		assert_ok(iforest_batch_sort(&twins.batch, NULL));
		for (unsigned i = 0; i < 100; i++) {
			struct iforest_key key = any_entry(&dice, (int64_t)random_below(&dice, MOST)).key;
			uint32_t from = (uint32_t)random_below(&dice, (uint64_t)twins.n + 1), at = from;

			while (at < twins.n && iforest_key_compare(iforest_batch_key(&twins.batch, at), &key) < 0)
				at++;
			assert_int_equal(iforest_batch_find(&twins.batch, from, &key), at);
		}
		stop(&twins);
	}
}

static void any_allocation_may_fail(void **state)
{
	unsigned n_failed = 0;

	(void)state;
	for (unsigned long fail_at = 1; n_failed == fail_at - 1; fail_at++) {
		struct random dice = random_from(random_seed());
		struct twins twins;

		start(&twins);
		twins.alloc.fail_at = fail_at;
		for (uint32_t i = 0; i < MOST; i++) {
			struct iforest_entry entry = any_entry(&dice, i);
			enum iforest_status status = iforest_batch_add(&twins.batch, &entry);

			assert_true(status == IFOREST_OK || status == IFOREST_NO_MEMORY);
			if (status) {
				n_failed++;
				assert_same(&twins);
				assert_ok(iforest_batch_add(&twins.batch, &entry));
			}
			twins.entries[twins.n++] = entry;
		}
		stop(&twins);
	}
	assert_true(n_failed > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_are_added_dropped_and_sorted),
		cmocka_unit_test(positions_are_found),
		cmocka_unit_test(any_allocation_may_fail),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
