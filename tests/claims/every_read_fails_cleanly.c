/* Every page that an operation reads cannot be read, in its turn, alone or with all that follow. The operation then says so,
 * holds no page and leaks nothing. What is published answers as before or says that it needs repair; read again, the operation
 * succeeds. Pages are handed out as copies, or lent under a lock. */
#include "tests/support/attempt.h"
#include "tests/support/harness.h"

static const struct sample_shape shapes[] = {
	{ .page_bytes = 1024, .max_batch_pages = 1, .kinds = "i", .duration = 0 },
	{ .page_bytes = 1024, .max_batch_pages = 3, .kinds = "if", .duration = 0, .has_blocks = true },
};

/* One page of one operation. Returns false once the operation reads fewer pages than that. */
static bool fail_once(enum attempt_kind kind, unsigned way, uint64_t nth)
{
	struct sample_index index;
	struct random dice = random_from(random_seed());
	struct attempt attempt;
	enum iforest_status status;

	attempt_start(&attempt, kind, &index, &shapes[way & 1], 250, 2, SAMPLE_STEADY, &dice);
	if (way & 2)
		pager_fault_lend(&index.pager);
	index.pager.stays_down = way & 4;
	index.pager.fail_get_at = index.pager.n_gets + nth;
	status = attempt_run(&attempt);
	assert_status(status, index.pager.n_gets < index.pager.fail_get_at ? IFOREST_OK : IFOREST_IO);
	assert_false(index.pager.is_lent);
	assert_int_equal(index.memory.n_pages_pinned, 0);
	index.pager.fail_get_at = 0;
	index.pager.is_down = false;
	assert_ok(sample_reread(&index));
	assert_ok(attempt_recover(&attempt));
	sample_compare_many(&index, &dice, 2);
	attempt_stop(&attempt);
	return status != IFOREST_OK;
}

static void every_page_fails(void **state)
{
	(void)state;
	for (int kind = 0; kind < ATTEMPT_KINDS; kind++)
		for (unsigned way = 0; way < 8; way++) {
			uint64_t nth = 1;

			while (fail_once((enum attempt_kind)kind, way, nth))
				nth++;
			assert_true(nth > 3 || kind == ATTEMPT_BUILD || kind == ATTEMPT_REREAD); /* which read none */
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_page_fails) };

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
