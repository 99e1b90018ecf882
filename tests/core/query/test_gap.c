#include "core/query/gap.h"

#include <stdlib.h>

#include "tests/support/harness.h"
#include "tests/support/sample_list.h"

static int64_t end_of(const struct oracle *oracle, const struct oracle_entry *entry)
{
	oracle_int128 end = entry->time;

	if (oracle->duration != ORACLE_NONE && entry->has[oracle->duration] && entry->value[oracle->duration].integer > 0)
		end += entry->value[oracle->duration].integer;
	return end > INT64_MAX ? INT64_MAX : (int64_t)end;
}

/* Looks at every entry of the series, in order of time. */
static void one_question(struct sample_index *two, struct random *dice, struct iforest_gap_reader *reader,
			 struct sample_hidden *hidden, uint64_t *n_given)
{
	struct iforest_gap_question question = { .series = random_below(dice, 4),
						 .longer_than = random_below(dice, UINT64_C(1) << random_below(dice, 62)) };
	struct sample_list_question asked = { .from = iforest_key_at(question.series, INT64_MIN),
					      .to = iforest_key_nulls(question.series),
					      .order = sample_ascending,
					      .hidden = random_chance(dice, 50) ? hidden : NULL };
	const struct oracle_entry **entries;
	struct iforest_gap gap;
	int64_t latest = 0;
	bool found;
	size_t n;

	if (random_chance(dice, 50))
		question.longer_than = random_below(dice, 20);
	entries = sample_list(two, 2, &asked, &n);
	question.filter = asked.hidden ? &hidden->filter : NULL;
	question.window.has_t0 = n > 0 && random_chance(dice, 50);
	question.window.has_t1 = n > 0 && random_chance(dice, 50);
	if (n > 0) {
		question.window.t0 = entries[random_below(dice, n)]->time;
		question.window.t1 = entries[random_below(dice, n)]->time;
		if (random_chance(dice, 30) && question.window.t0 < INT64_MAX)
			question.window.t0++;
	}
	assert_ok(iforest_gap_start(reader, &question));
	for (size_t i = 0; i < n; i++) {
		bool is_gap = i > 0 && entries[i]->time > latest &&
			      (uint64_t)entries[i]->time - (uint64_t)latest > question.longer_than &&
			      !iforest_window_is_empty(&question.window) &&
			      (!question.window.has_t0 || entries[i]->time > question.window.t0) &&
			      (!question.window.has_t1 || latest < question.window.t1);

		if (is_gap) {
			assert_ok(iforest_gap_next(reader, &gap, &found));
			assert_true(found);
			assert_true(gap.start == latest && gap.end == entries[i]->time);
			++*n_given;
		}
		if (i == 0 || end_of(&two[0].oracle, entries[i]) > latest)
			latest = end_of(&two[0].oracle, entries[i]);
	}
	assert_ok(iforest_gap_next(reader, &gap, &found));
	assert_false(found);
	free(entries);
}

static void one_round(uint64_t seed, uint64_t *n_given)
{
	struct random dice = random_from(seed);
	struct sample_shape shape = { .page_bytes = 1024, .max_batch_pages = 4, .kinds = "i", .duration = random_chance(&dice, 60) ? 0 : ORACLE_NONE };
	struct sample_index two[2];
	struct sample_hidden hidden;
	struct iforest_gap_reader reader;

	sample_start_two(two, &dice, &shape, 1 + (unsigned)random_below(&dice, 5),
			 (enum sample_times)random_below(&dice, SAMPLE_STYLES));
	sample_hide(&hidden, &two[0], &dice);
	assert_ok(iforest_gap_init(&reader, &two[0].store, &two[0].manifest));
	assert_ok(iforest_gap_join(&reader, &two[1].store, &two[1].manifest));
	for (unsigned q = 0; q < 30; q++)
		one_question(two, &dice, &reader, &hidden, n_given);
	iforest_gap_release(&reader);
	sample_stop(&two[0]);
	sample_stop(&two[1]);
}

static void gaps_are_those_between_running_ends_and_starts(void **state)
{
	unsigned n_rounds = random_rounds(60);
	uint64_t n_given = 0;

	(void)state;
	for (unsigned r = 0; r < n_rounds; r++)
		one_round(random_seed() + r, &n_given);
	assert_true(n_given > 100 * n_rounds);
}

/* 100 000 spans one after the other, and three gaps: what is between them is not opened. */
static void nodes_without_a_long_gap_are_not_opened(void **state)
{
	struct sample_index index;
	struct iforest_gap_reader reader;
	struct iforest_gap gap;
	bool found;
	unsigned n = 0;

	(void)state;
	sample_start(&index, &(struct sample_shape){ .page_bytes = 4000, .max_batch_pages = 4, .kinds = "i", .duration = 0 });
	for (int64_t i = 0; i < 100000; i++) {
		struct oracle_entry *entry = sample_append(&index, 0, 0, i * 10 + i / 30000 * 1000000, i);

		entry->has[0] = true;
		entry->value[0].integer = (i * 2654435761 >> 7) % 9;
	}
	assert_ok(sample_build(&index, 0));
	assert_ok(iforest_gap_init(&reader, &index.store, &index.manifest));
	assert_ok(iforest_gap_start(&reader, &(struct iforest_gap_question){ .series = 0, .longer_than = 500000 }));
	for (found = true; found; n += found)
		assert_ok(iforest_gap_next(&reader, &gap, &found));
	assert_int_equal(n, 3);
	assert_true(index.manifest.runs[0].n_leaves > 30);
	assert_in_range(iforest_iterator_pages(&reader.iterator), 1, 5 * (1 + index.manifest.runs[0].n_levels));
	iforest_gap_release(&reader);
	sample_stop(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gaps_are_those_between_running_ends_and_starts),
		cmocka_unit_test(nodes_without_a_long_gap_are_not_opened),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
