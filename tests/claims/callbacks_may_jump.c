/* Every callback of the pager and the allocator, and the one that removal asks, longjmps out of every operation, each call
 * in its turn: before it has done its work, or after. All memory is dropped wholesale then, as are pages held and the lock
 * on the manifest. What is stored answers as before the operation or as after it, or says by itself that it needs repair and
 * is right once repaired. Nothing else of core's is left behind: the same process goes on with a manifest that it reads
 * again. */
#include <string.h>

#include "tests/support/attempt.h"
#include "tests/support/harness.h"
#include "tests/support/jumper.h"
#include "tests/support/sanitizer.h"

static const struct sample_shape shape = { .page_bytes = 1024, .max_batch_pages = 3, .kinds = "if", .duration = 0, .has_blocks = true };

/* Static, so that the jump leaves them as they are. */
static struct sample_index sample;
static struct attempt attempt;
static struct jumper jumper;
static struct random dice;

static void start(enum attempt_kind kind)
{
	dice = random_from(random_seed());
	attempt_start(&attempt, kind, &sample, &shape, 600, 2, SAMPLE_STEADY, &dice);
	jumper_init(&jumper, &sample.core_alloc.alloc, &sample.pager.pager);
	attempt.on_ask = jumper_call;
	attempt.on_ask_context = &jumper;
	iforest_manifest_release(&sample.manifest);
	sample.store = (struct iforest_store){ .pager = &jumper.pager, .alloc = &jumper.alloc };
	assert_ok(sample_reread(&sample));
}

/* The operation is over, one way or the other: from now on nothing jumps. */
static void calm_down(void)
{
	jumper.jump_at = 0;
	sample.store = (struct iforest_store){ .pager = &sample.pager.pager, .alloc = &sample.core_alloc.alloc };
}

/* Returns false once the operation has fewer calls than that. */
static bool jump_once(enum attempt_kind kind, bool after, uint64_t nth)
{
	volatile bool jumped = false;

	start(kind);
	jumper.jumps_after = after;
	jumper.n_calls = 0;
	if (setjmp(jumper.target) == 0) {
		jumper.jump_at = nth;
		assert_ok(attempt_run(&attempt));
		calm_down();
		iforest_manifest_release(&sample.manifest);
		assert_true(jumper_is_clean(&jumper));
	} else {
		jumped = true;
		calm_down();
		jumper_drop(&jumper);
		memset(&sample.manifest, 0, sizeof sample.manifest);
	}
	assert_int_equal(sample.core_alloc.n_live, 0);
	assert_int_equal(sample.memory.n_pages_pinned, 0);
	assert_ok(sample_reread(&sample));
	assert_ok(attempt_recover(&attempt));
	sample_compare_many(&sample, &dice, 2);
	attempt_stop(&attempt);
	return jumped;
}

static void jump_everywhere(enum attempt_kind kind, uint64_t n_fewest)
{
	for (unsigned after = 0; after < 2; after++) {
		uint64_t nth = 1;

		while (jump_once(kind, after, nth))
			nth += sanitizer_shortens() ? 1 + nth / 24 : 1;
		print_message("fewer than %llu calls, which jumped %s their work\n", (unsigned long long)nth, after ? "after" : "before");
		assert_true(nth > n_fewest); /* else the operation is too small to say anything */
	}
}

static void out_of_build(void **state) { (void)state; jump_everywhere(ATTEMPT_BUILD, 60); }
static void out_of_removal(void **state) { (void)state; jump_everywhere(ATTEMPT_REMOVE, 60); }
static void out_of_removal_by_asking(void **state) { (void)state; jump_everywhere(ATTEMPT_REMOVE_WHERE, 600); }
static void out_of_removal_from_any_run(void **state) { (void)state; jump_everywhere(ATTEMPT_REMOVE_ANYWHERE, 60); }
static void out_of_merge(void **state) { (void)state; jump_everywhere(ATTEMPT_MERGE, 60); }
static void out_of_repair(void **state) { (void)state; jump_everywhere(ATTEMPT_REPAIR, 60); }
static void out_of_scan(void **state) { (void)state; jump_everywhere(ATTEMPT_SCAN, 20); }
static void out_of_extremes(void **state) { (void)state; jump_everywhere(ATTEMPT_EXTREMES, 10); }
static void out_of_pieces(void **state) { (void)state; jump_everywhere(ATTEMPT_PIECES, 10); }
static void out_of_overlap(void **state) { (void)state; jump_everywhere(ATTEMPT_OVERLAP, 10); }
static void out_of_longest(void **state) { (void)state; jump_everywhere(ATTEMPT_LONGEST, 10); }
static void out_of_walk(void **state) { (void)state; jump_everywhere(ATTEMPT_WALK, 10); }
static void out_of_gaps(void **state) { (void)state; jump_everywhere(ATTEMPT_GAPS, 10); }
static void out_of_peaks(void **state) { (void)state; jump_everywhere(ATTEMPT_PEAKS, 10); }
static void out_of_counting(void **state) { (void)state; jump_everywhere(ATTEMPT_COUNT, 10); }
static void out_of_sketch(void **state) { (void)state; jump_everywhere(ATTEMPT_SKETCH, 10); }
static void out_of_distinct_sketch(void **state) { (void)state; jump_everywhere(ATTEMPT_DISTINCT, 10); }
static void out_of_best_first(void **state) { (void)state; jump_everywhere(ATTEMPT_BEST, 10); }
static void out_of_check(void **state) { (void)state; jump_everywhere(ATTEMPT_CHECK, 30); }
static void out_of_reading_the_manifest(void **state) { (void)state; jump_everywhere(ATTEMPT_REREAD, 3); }

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(out_of_build),
		cmocka_unit_test(out_of_removal),
		cmocka_unit_test(out_of_removal_by_asking),
		cmocka_unit_test(out_of_removal_from_any_run),
		cmocka_unit_test(out_of_merge),
		cmocka_unit_test(out_of_repair),
		cmocka_unit_test(out_of_scan),
		cmocka_unit_test(out_of_extremes),
		cmocka_unit_test(out_of_pieces),
		cmocka_unit_test(out_of_overlap),
		cmocka_unit_test(out_of_longest),
		cmocka_unit_test(out_of_walk),
		cmocka_unit_test(out_of_gaps),
		cmocka_unit_test(out_of_peaks),
		cmocka_unit_test(out_of_counting),
		cmocka_unit_test(out_of_sketch),
		cmocka_unit_test(out_of_distinct_sketch),
		cmocka_unit_test(out_of_best_first),
		cmocka_unit_test(out_of_check),
		cmocka_unit_test(out_of_reading_the_manifest),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
