#include "core/page/value_predicate.h"

#include <math.h>
#include <stdlib.h>

#include "core/run/cursor.h"
#include "tests/support/harness.h"
#include "tests/support/sample_list.h"

static union iforest_number integer(int64_t x)
{
	return (union iforest_number){ .integer = x };
}

static union iforest_number real(double x)
{
	return (union iforest_number){ .real = x };
}

static void intervals_narrow(void **state)
{
	struct iforest_value_predicate match = { .values = 0 };

	(void)state;
	iforest_value_predicate_at_least(&match, 0, integer(5), IFOREST_INT64);
	assert_int_equal(match.values, 1);
	assert_true(match.low[0].integer == 5 && match.high[0].integer == INT64_MAX);
	iforest_value_predicate_at_least(&match, 0, integer(3), IFOREST_INT64);
	iforest_value_predicate_at_most(&match, 0, integer(9), IFOREST_INT64);
	iforest_value_predicate_at_most(&match, 0, integer(20), IFOREST_INT64);
	assert_true(match.low[0].integer == 5 && match.high[0].integer == 9);
	iforest_value_predicate_at_most(&match, 1, real(2), IFOREST_FLOAT64);
	assert_true(isinf(match.low[1].real) && match.low[1].real < 0 && match.high[1].real == 2);
	iforest_value_predicate_at_least(&match, 2, real(NAN), IFOREST_FLOAT64);
	assert_true(isnan(match.low[2].real) && isnan(match.high[2].real));
	assert_int_equal(match.values, 7);
}

/* Of every page: no node says none where an entry under it matches, or all where one does not, and each entry is told rightly, on
 * its page and in memory. */
static void check_leaves(struct sample_index *index, const struct iforest_value_predicate *match, uint64_t n_classified[4])
{
	const struct iforest_run *run = &index->manifest.runs[0];
	struct sample_list_question asked = { .match = *match, .from = iforest_key_at(0, INT64_MIN),
		.to = iforest_key_at((uint64_t)UINT32_MAX + 1, INT64_MIN), .order = sample_ascending };
	size_t n, n_met = 0;
	const struct oracle_entry **expected = sample_list(index, 1, &asked, &n);
	struct iforest_cursor cursor;

	iforest_cursor_init(&cursor, &index->store, &index->manifest, run);
	for (uint64_t leaf = 0; leaf < run->n_leaves; leaf++) {
		const uint8_t *node;
		enum iforest_filter_class class;
		size_t n_before = n_met, n_live = 0;

		assert_ok(iforest_cursor_node(&cursor, 1, leaf, &node));
		class = iforest_value_predicate_node(match, &index->manifest.fields, node);
		assert_ok(iforest_cursor_pin(&cursor, 0, leaf));
		for (unsigned b = 0; b < cursor.leaf.header.n_items; b++) {
			uint64_t all, live;

			iforest_cursor_read_block(&cursor, b);
			live = all = iforest_low_bits(cursor.reader.block.n) & ~cursor.reader.block.dead;
			assert_ok(iforest_value_predicate_entries(match, &cursor.reader, &live));
			for (unsigned column = 0; column < (unsigned)IFOREST_VALUES + index->manifest.fields.n_values; column++)
				assert_ok(iforest_block_need(&cursor.reader, column));
			for (; all; all &= all - 1, n_live++) {
				unsigned i = iforest_trailing_zeros(all);
				struct iforest_entry entry;

				iforest_block_entry(&cursor.reader.block, i, UINT32_MAX >> (32 - index->manifest.fields.n_values), &entry);
				assert_int_equal(iforest_value_predicate_entry(match, &index->manifest.fields, &entry), live >> i & 1);
				if (!(live >> i & 1))
					continue;
				assert_true(n_met < n);
				sample_compare_entry(index, expected[n_met++], &entry, UINT32_MAX);
			}
		}
		assert_true(class != IFOREST_COUNTS_NONE || n_met == n_before);
		assert_true(class != IFOREST_COUNTS_ALL || n_met == n_before + n_live);
		n_classified[class]++;
	}
	assert_int_equal(n_met, n);
	iforest_cursor_release(&cursor);
	free(expected);
}

static void nodes_and_entries_agree(void **state)
{
	uint64_t n_classified[4] = { 0 };

	(void)state;
	for (unsigned r = 0; r < random_rounds(60); r++) {
		struct random dice = random_from(random_seed() + r);
		struct sample_index index;

		sample_start(&index, &(struct sample_shape){ .page_bytes = 1024, .max_batch_pages = 4, .kinds = r % 2 ? "if" : "fi",
			.duration = r % 2 ? 0 : 1 });
		index.seed = dice.seed;
		sample_entries(&index, &dice, 1 + random_below(&dice, 3000), 3,
			       (enum sample_times)random_below(&dice, SAMPLE_STYLES));
		assert_ok(sample_build(&index, 0));
		sample_remove(&index, &dice, 0, (unsigned)random_below(&dice, 60));
		for (unsigned q = 0; q < 20; q++) {
			struct iforest_value_predicate match = sample_match(&index, &dice);

			check_leaves(&index, &match, n_classified);
		}
		sample_stop(&index);
	}
	assert_true(n_classified[IFOREST_COUNTS_ALL] > 1000 && n_classified[IFOREST_COUNTS_SOME] > 1000 &&
		    n_classified[IFOREST_COUNTS_NONE] > 1000 && n_classified[IFOREST_COUNTS_MOST] == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_narrow),
		cmocka_unit_test(nodes_and_entries_agree),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
