#include "core/query/iterator.h"

#include <stdlib.h>

#include "tests/support/harness.h"
#include "tests/support/sample_list.h"

static uint64_t n_at_once; /* calls that gave several keys */

/* Some key, a little off an entry's or at an end of its series. */
static struct iforest_key some_key(const struct sample_index *index, struct random *dice)
{
	const struct oracle *oracle = &index->oracle;
	struct iforest_key key = { .series = random_below(dice, 5), .time = random_between(dice, -100, 2000) };

	if (oracle->n_entries > 0 && random_chance(dice, 70))
		key = sample_key(&oracle->entries[random_below(dice, oracle->n_entries)]);
	if (random_chance(dice, 50))
		key.ref = INT64_MIN;
	return key;
}

static void random_range(struct sample_list_question *asked, const struct sample_index *index, struct random *dice)
{
	asked->from = some_key(index, dice);
	asked->to = some_key(index, dice);
	if (random_chance(dice, 60)) { /* a window of a series */
		asked->to.series = asked->from.series;
		if (random_chance(dice, 30))
			asked->to = iforest_key_nulls(asked->from.series);
		if (random_chance(dice, 30))
			asked->from = iforest_key_at(asked->from.series, INT64_MIN);
	}
	if (random_chance(dice, 10)) { /* all there is */
		asked->from = iforest_key_at(0, INT64_MIN);
		asked->to = iforest_key_at((uint64_t)UINT32_MAX + 1, INT64_MIN);
	}
	if (iforest_key_compare(&asked->from, &asked->to) > 0 && random_chance(dice, 90)) {
		struct iforest_key key = asked->from;

		asked->from = asked->to;
		asked->to = key;
	}
}

/* Keys, a block's at once, are those expected next. */
static size_t check_keys(struct iforest_iterator *walk, const struct oracle_entry **expected, size_t n)
{
	struct iforest_key keys[IFOREST_BLOCK_ENTRIES];
	unsigned n_keys;

	assert_ok(iforest_iterator_next_keys(walk, keys, &n_keys));
	assert_true(n_keys <= n && (n == 0 || n_keys > 0));
	for (unsigned i = 0; i < n_keys; i++) {
		struct iforest_key key = sample_key(expected[i]);

		assert_int_equal(iforest_key_compare(&keys[i], &key), 0);
	}
	n_at_once += n_keys > 1;
	return n_keys;
}

/* One question, asked in one go, or anew after every few entries. */
static void one_question(struct sample_index *two, struct random *dice, struct iforest_iterator *walk, struct sample_hidden *hidden,
			 uint64_t *n_given)
{
	struct sample_list_question asked = { .match = sample_match(&two[0], dice),
					      .hidden = random_chance(dice, 50) ? hidden : NULL };
	struct iforest_iterator_question question = { .descends = random_chance(dice, 50), .match = asked.match,
		.filter = asked.hidden ? &hidden->filter : NULL, .values = (uint32_t)random_below(dice, 4) };
	bool is_resumed = random_chance(dice, 30), found;
	const struct oracle_entry **expected;
	struct iforest_entry entry;
	size_t n;

	random_range(&asked, &two[0], dice);
	asked.order = question.descends ? sample_descending : sample_ascending;
	question.from = asked.from;
	question.to = asked.to;
	expected = sample_list(two, 2, &asked, &n);
	iforest_iterator_start(walk, &question);
	for (size_t i = 0; i < n; i++) {
		assert_ok(iforest_iterator_next(walk, &entry, &found));
		assert_true(found);
		sample_compare_entry(&two[0], expected[i], &entry, question.values);
		if (!is_resumed && random_chance(dice, 5))
			i += check_keys(walk, &expected[i + 1], n - i - 1);
		if (is_resumed && entry.key.ref < INT64_MAX && random_chance(dice, 5)) {
			*(question.descends ? &question.to : &question.from) = entry.key;
			question.from.ref += !question.descends;
			iforest_iterator_start(walk, &question);
		}
	}
	assert_ok(iforest_iterator_next(walk, &entry, &found));
	assert_false(found);
	*n_given += n;
	free(expected);
}

static void ask(struct sample_index two[2], struct random *dice, struct sample_hidden *hidden, uint64_t *n_given)
{
	struct iforest_iterator walk;

	assert_ok(iforest_iterator_init(&walk, &two[0].store, &two[0].manifest));
	assert_ok(iforest_iterator_join(&walk, &two[1].store, &two[1].manifest));
	for (unsigned q = 0; q < 40; q++)
		one_question(two, dice, &walk, hidden, n_given);
	iforest_iterator_release(&walk);
}

static void any_walk_gives_what_brute_force_lists(void **state)
{
	(void)state;
	n_at_once = 0;
	sample_rounds(ask);
	assert_true(n_at_once > 1000);
}

/* Runs one after the other in time: a walk opens the one it begins in and no other. */
static void runs_that_come_later_are_not_opened(void **state)
{
	struct sample_index index;
	struct iforest_iterator walk;
	struct iforest_entry entry;
	bool found;

	(void)state;
	sample_start(&index, &(struct sample_shape){ .page_bytes = 1024, .max_batch_pages = 4, .kinds = "i", .duration = 0 });
	for (unsigned r = 0; r < 5; r++) {
		for (int64_t i = 0; i < 1000; i++)
			sample_append(&index, r, 0, r * 1000 + i, r * 1000 + i);
		assert_ok(sample_build(&index, r));
	}
	assert_ok(iforest_iterator_init(&walk, &index.store, &index.manifest));
	for (unsigned descends = 0; descends < 2; descends++) {
		uint64_t n_pages = iforest_iterator_pages(&walk);

		iforest_iterator_start(&walk, &(struct iforest_iterator_question){ .from = iforest_key_at(0, 0),
									   .to = iforest_key_nulls(0),
									   .descends = descends });
		assert_int_equal(iforest_iterator_pages(&walk), n_pages);
		assert_ok(iforest_iterator_next(&walk, &entry, &found));
		assert_true(found && entry.key.time == (descends ? 4999 : 0));
		assert_in_range(iforest_iterator_pages(&walk) - n_pages, 1, 1 + index.manifest.runs[0].n_levels);
	}
	iforest_iterator_release(&walk);
	sample_stop(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_walk_gives_what_brute_force_lists),
		cmocka_unit_test(runs_that_come_later_are_not_opened),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
