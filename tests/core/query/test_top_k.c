#include "core/query/top_k.h"

#include <math.h>
#include <stdlib.h>

#include "tests/support/harness.h"
#include "tests/support/sample_list.h"

/* ---- the orders, by their definition ---- */

static bool is_real[ORACLE_VALUES]; /* of the indexes at hand */

static int compare_values(unsigned v, const struct oracle_entry *a, const struct oracle_entry *b)
{
	union oracle_number x = a->value[v], y = b->value[v];

	if (!is_real[v])
		return (x.integer > y.integer) - (x.integer < y.integer);
	if (isnan(x.real) || isnan(y.real))
		return (isnan(x.real) != 0) - (isnan(y.real) != 0);
	return (x.real > y.real) - (x.real < y.real);
}

static int by_time(const struct sample_list_question *question, const struct oracle_entry *a, const struct oracle_entry *b)
{
	(void)question;
	if (a->time_is_null != b->time_is_null)
		return a->time_is_null ? 1 : -1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->ref < b->ref ? -1 : a->ref > b->ref;
}

static int latest_first(const struct sample_list_question *question, const struct oracle_entry *a, const struct oracle_entry *b)
{
	return by_time(question, b, a);
}

static int smallest_first(const struct sample_list_question *question, const struct oracle_entry *a,
			  const struct oracle_entry *b)
{
	int order = compare_values(question->value, a, b);

	return order ? order : by_time(question, a, b);
}

static int largest_first(const struct sample_list_question *question, const struct oracle_entry *a,
			 const struct oracle_entry *b)
{
	int order = compare_values(question->value, b, a);

	return order ? order : by_time(question, a, b);
}

/* ---- questions ---- */

/* A window, all times, no times, or both. */
static void random_range(struct sample_list_question *asked, const struct sample_index *index, struct random *dice)
{
	const struct oracle *oracle = &index->oracle;
	int64_t times[2];

	for (unsigned k = 0; k < 2; k++)
		times[k] = oracle->n_entries && random_chance(dice, 80) ?
				   oracle->entries[random_below(dice, oracle->n_entries)].time :
				   random_between(dice, -100, 3000);
	asked->from = iforest_key_at(0, random_chance(dice, 50) ? INT64_MIN : times[0] < times[1] ? times[0] : times[1]);
	asked->to =
		random_chance(dice, 50) ? iforest_key_nulls(0) : iforest_key_at(0, times[0] < times[1] ? times[1] : times[0]);
	if (random_chance(dice, 20))
		asked->from = iforest_key_nulls(0);
	if (random_chance(dice, 40))
		asked->to = iforest_key_at(1, INT64_MIN);
}

static void random_series(struct sample_list_question *asked, struct random *dice, uint32_t *series)
{
	static const uint32_t all[] = { 0, 1, 2, 3, 4, 17, UINT32_MAX };

	asked->is_of_each_series = true;
	if (random_chance(dice, 40))
		return;
	asked->series = series;
	for (unsigned s = 0; s < COUNT_OF(all); s++)
		if (random_chance(dice, 40))
			series[asked->n_series++] = all[s];
}

static void one_question(struct sample_index *two, struct random *dice, struct iforest_top_k *best, struct sample_hidden *hidden,
			 uint64_t *n_given)
{
	static int (*const orders[])(const struct sample_list_question *, const struct oracle_entry *,
				     const struct oracle_entry *) = { [IFOREST_SMALLEST_FIRST] = smallest_first,
								      [IFOREST_LARGEST_FIRST] = largest_first,
								      [IFOREST_EARLIEST_FIRST] = by_time,
								      [IFOREST_LATEST_FIRST] = latest_first };
	uint32_t series[8];
	struct sample_list_question asked = { .match = sample_match(&two[0], dice),
					      .hidden = random_chance(dice, 50) ? hidden : NULL };
	struct iforest_top_k_question question = { .order = (enum iforest_top_k_order)random_below(dice, 4),
						  .match = asked.match,
						  .filter = asked.hidden ? &hidden->filter : NULL,
						  .values = (uint32_t)random_below(dice, 4),
						  .value = (unsigned)random_below(dice, 2) };
	bool is_resumed = random_chance(dice, 30), found;
	const struct oracle_entry **expected;
	struct iforest_entry entry;
	size_t n;

	random_range(&asked, &two[0], dice);
	random_series(&asked, dice, series);
	asked.order = orders[question.order];
	asked.value = question.value;
	asked.needs_value = question.order == IFOREST_SMALLEST_FIRST || question.order == IFOREST_LARGEST_FIRST;
	question.from = asked.from;
	question.to = asked.to;
	question.series = asked.series;
	question.n_series = asked.n_series;
	expected = sample_list(two, 2, &asked, &n);
	assert_ok(iforest_top_k_start(best, &question));
	for (size_t i = 0; i < n; i++) {
		assert_ok(iforest_top_k_next(best, &entry, &found));
		assert_true(found);
		sample_compare_entry(&two[0], expected[i], &entry, question.values);
		if (is_resumed && random_chance(dice, 5)) {
			question.after = (struct iforest_extreme){ .value.integer = expected[i]->value[question.value].integer,
							       .time = entry.key.time,
							       .ref = entry.key.ref,
							       .time_is_null = entry.key.time_is_null,
							       .is_set = true };
			assert_ok(iforest_top_k_start(best, &question));
		}
	}
	assert_ok(iforest_top_k_next(best, &entry, &found));
	assert_false(found);
	*n_given += n;
	free(expected);
}

static void ask(struct sample_index two[2], struct random *dice, struct sample_hidden *hidden, uint64_t *n_given)
{
	struct iforest_top_k best;

	for (unsigned v = 0; v < 2; v++)
		is_real[v] = two[0].oracle.is_real[v];
	assert_ok(iforest_top_k_init(&best, &two[0].store, &two[0].manifest));
	assert_ok(iforest_top_k_join(&best, &two[1].store, &two[1].manifest));
	for (unsigned q = 0; q < 40; q++)
		one_question(two, dice, &best, hidden, n_given);
	iforest_top_k_release(&best);
}

static void any_order_is_that_of_brute_force(void **state)
{
	(void)state;
	sample_rounds(ask);
}

/* A page a level for each, of an index of which they are a few. */
static void the_first_few_open_few_pages(void **state)
{
	enum { N_FIRST = 10 };
	struct sample_index index;
	struct random dice = random_from(random_seed());
	struct iforest_top_k best;
	struct iforest_entry entry;
	bool found;

	(void)state;
	sample_start(&index, &(struct sample_shape){ .page_bytes = 1024, .max_batch_pages = 4, .kinds = "i", .duration = 0 });
	sample_entries(&index, &dice, 30000, 3, SAMPLE_STEADY);
	assert_ok(sample_build(&index, 0));
	assert_ok(iforest_top_k_init(&best, &index.store, &index.manifest));
	for (int order = IFOREST_SMALLEST_FIRST; order <= IFOREST_LARGEST_FIRST; order++) {
		uint64_t n_before = iforest_top_k_pages(&best);

		assert_ok(iforest_top_k_start(&best, &(struct iforest_top_k_question){ .order = (enum iforest_top_k_order)order,
			.from = iforest_key_at(0, INT64_MIN), .to = iforest_key_at(1, INT64_MIN), .values = 1 }));
		assert_int_equal(iforest_top_k_pages(&best), n_before);
		for (unsigned k = 0; k < N_FIRST; k++) {
			assert_ok(iforest_top_k_next(&best, &entry, &found));
			assert_true(found);
		}
		/* the page of an entry may have to be opened again to give it */
		assert_in_range(iforest_top_k_pages(&best) - n_before, 1, N_FIRST * (2 + index.manifest.runs[0].n_levels));
	}
	assert_true(iforest_run_pages(&index.manifest, &index.manifest.runs[0]) >
		    5 * N_FIRST * (2 + index.manifest.runs[0].n_levels));
	iforest_top_k_release(&best);
	sample_stop(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_order_is_that_of_brute_force),
		cmocka_unit_test(the_first_few_open_few_pages),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
