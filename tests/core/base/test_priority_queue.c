#include "core/base/priority_queue.h"

#include "tests/support/alloc_fault.h"
#include "tests/support/harness.h"
#include "tests/support/random.h"

enum { MOST = 200 };

static bool is_less(const void *context, uint32_t a, uint32_t b)
{
	const int64_t *keys = context;

	return keys[a] < keys[b];
}

/* Pushes, pops and moves the first back; what is popped is always the least that is in. */
static void one_round(struct random *dice)
{
	int64_t keys[MOST];
	bool is_in[MOST] = { false };
	struct alloc_fault fault;
	struct iforest_priority_queue heap = { .comes_before = is_less, .context = keys };

	alloc_fault_init(&fault);
	for (unsigned step = 0; step < 1000; step++) {
		uint32_t item = (uint32_t)random_below(dice, MOST), n = 0;

		if (!is_in[item]) {
			keys[item] = random_between(dice, 0, 50);
			is_in[item] = true;
			assert_ok(iforest_priority_queue_push(&heap, &fault.alloc, item));
		} else if (random_chance(dice, 50)) {
			keys[heap.items[0]] += random_between(dice, 0, 30);
			iforest_priority_queue_settle(&heap);
		} else {
			is_in[iforest_priority_queue_pop(&heap)] = false;
		}
		for (uint32_t i = 0; i < MOST; i++) {
			n += is_in[i];
			assert_true(!is_in[i] || keys[heap.items[0]] <= keys[i]);
		}
		assert_int_equal(n, heap.n);
	}
	iforest_priority_queue_release(&heap, &fault.alloc);
	assert_int_equal(fault.n_live, 0);
}

static void the_first_is_the_least(void **state)
{
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned r = 0; r < random_rounds(50); r++)
		one_round(&dice);
}

static void without_memory_it_stays_as_it_was(void **state)
{
	static const int64_t keys[MOST];
	struct alloc_fault fault;
	struct iforest_priority_queue heap = { .comes_before = is_less, .context = keys };
	uint32_t n_refused = 0;

	(void)state;
	alloc_fault_init(&fault);
	for (uint32_t i = 0; i < MOST; i++) {
		enum iforest_status status;

		fault.fail_at = fault.n_calls + 1;
		status = iforest_priority_queue_push(&heap, &fault.alloc, i);
		fault.fail_at = 0;
		if (status) {
			assert_status(status, IFOREST_NO_MEMORY);
			assert_int_equal(heap.n, i);
			n_refused++;
			assert_ok(iforest_priority_queue_push(&heap, &fault.alloc, i));
		}
	}
	assert_int_equal(n_refused, 5); /* at 0, 16, 32, 64, 128 */
	iforest_priority_queue_release(&heap, &fault.alloc);
	assert_int_equal(fault.n_live, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_is_the_least),
		cmocka_unit_test(without_memory_it_stays_as_it_was),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
