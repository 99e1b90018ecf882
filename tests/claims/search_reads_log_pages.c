/* A million spans of 8 tracks in 4000-byte pages: the k longest of a window, the next or the previous one that is longer than a
 * bound, and those open at a moment are found in a page a level for each entry that is given, and for each end of what is
 * asked. */

#include "core/query/top_k.h"
#include "core/run/writer.h"
#include "core/query/iterator.h"
#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

enum { N_TRACKS = 8, N_SPANS = 1000000, NS_A_SPAN = 1000 };

static struct sample_index spans;
static unsigned n_levels_and_leaf;

/* Span i starts about every microsecond on some track; its duration has up to 30 bits, short ones as likely as long ones. */
static struct iforest_entry span(uint64_t i)
{
	struct random dice = random_from(i);
	uint64_t track = random_below(&dice, N_TRACKS);
	struct iforest_entry entry = { .key = { .series = track,
						.time = (int64_t)(i * NS_A_SPAN + random_below(&dice, NS_A_SPAN)),
						.ref = (int64_t)i },
				       .present = 1 };

	entry.values[0].integer = (int64_t)(random_next(&dice) >> 34 >> random_below(&dice, 30));
	return entry;
}

static void add_entries(struct iforest_run_writer *writer, const void *context)
{
	(void)context;
	for (unsigned track = 0; track < N_TRACKS; track++)
		for (uint64_t i = 0; i < N_SPANS; i++) {
			struct iforest_entry entry = span(i);

			if (entry.key.series == track)
				assert_ok(iforest_run_writer_add(writer, &entry));
		}
}

static int build(void **state)
{
	(void)state;
	sample_start(&spans, &(struct sample_shape){ .page_bytes = 4000, .max_batch_pages = 16, .kinds = "i", .duration = 0 });
	sample_write_run(&spans, add_entries, NULL);
	n_levels_and_leaf = spans.manifest.runs[0].n_levels + 1;
	return 0;
}

static int drop(void **state)
{
	(void)state;
	sample_stop(&spans);
	return 0;
}

static int64_t some_time(struct random *dice)
{
	return random_between(dice, 0, (int64_t)N_SPANS * NS_A_SPAN);
}

/* The k longest of a window of one track or of all; each in the place where it belongs. */
static void top_k_costs_k_paths(void **state)
{
	struct random dice = random_from(random_seed());
	struct iforest_top_k best;
	double n_pages_a_row = 0;

	(void)state;
	assert_ok(iforest_top_k_init(&best, &spans.store, &spans.manifest));
	for (unsigned q = 0; q < 300; q++) {
		uint32_t track = (uint32_t)random_below(&dice, N_TRACKS), n_tracks = q % 2 ? 1 : N_TRACKS;
		uint64_t k = 1 + random_below(&dice, 50), n_gets = spans.memory.n_gets;
		int64_t t0 = some_time(&dice), t1 = t0 + (some_time(&dice) >> random_below(&dice, 20)), last = INT64_MAX;
		struct iforest_entry entry;
		bool found;

		assert_ok(iforest_top_k_start(&best, &(struct iforest_top_k_question){ .order = IFOREST_LARGEST_FIRST,
										     .series = n_tracks == 1 ? &track : NULL,
										     .n_series = 1,
										     .from = iforest_key_at(0, t0),
										     .to = iforest_key_at(0, t1),
										     .values = 1 }));
		for (uint64_t i = 0; i < k; i++) {
			assert_ok(iforest_top_k_next(&best, &entry, &found));
			if (!found)
				break;
			assert_true(entry.values[0].integer <= last);
			last = entry.values[0].integer;
		}
		assert_in_range(spans.memory.n_gets - n_gets, 0, (k + 2 * n_tracks) * n_levels_and_leaf);
		n_pages_a_row += (double)(spans.memory.n_gets - n_gets) / (double)k / 300;
	}
	print_message("%u levels with the leaves; %.1f pages a row\n", n_levels_and_leaf, n_pages_a_row);
	iforest_top_k_release(&best);
}

/* The first span from some moment on that is longer than a bound, and the last one before. */
static void next_and_previous_cost_a_path(void **state)
{
	struct random dice = random_from(random_seed());
	struct iforest_iterator walk;
	uint64_t n_found = 0;

	(void)state;
	assert_ok(iforest_iterator_init(&walk, &spans.store, &spans.manifest));
	for (unsigned q = 0; q < 2000; q++) {
		uint64_t track = random_below(&dice, N_TRACKS), n_gets = spans.memory.n_gets;
		int64_t t = some_time(&dice), bound = random_between(&dice, 0, INT64_C(1) << random_below(&dice, 45));
		struct iforest_iterator_question question = { .descends = q % 2,
							  .values = 1,
							  .from = iforest_key_at(track, q % 2 ? INT64_MIN : t),
							  .to = q % 2 ? iforest_key_at(track, t) : iforest_key_nulls(track) };
		struct iforest_entry entry;
		bool found;

		iforest_value_predicate_at_least(&question.match, 0, (union iforest_number){ .integer = bound }, IFOREST_INT64);
		iforest_iterator_start(&walk, &question);
		assert_ok(iforest_iterator_next(&walk, &entry, &found));
		assert_true(!found || (entry.key.series == track && entry.values[0].integer >= bound));
		n_found += found;
		/* down to where it begins, up from there, down to what is found; and to the other end of the track, if nothing
		 * is */
		assert_in_range(spans.memory.n_gets - n_gets, 0, 4 * n_levels_and_leaf);
	}
	assert_in_range(n_found, 1000, 1999);
	iforest_iterator_release(&walk);
}

/* The spans of a track that began before a moment and end after it. */
static void open_spans_cost_a_path_each(void **state)
{
	struct random dice = random_from(random_seed());
	struct iforest_iterator walk;
	uint64_t n_open = 0;

	(void)state;
	assert_ok(iforest_iterator_init(&walk, &spans.store, &spans.manifest));
	for (unsigned q = 0; q < 300; q++) {
		uint64_t track = random_below(&dice, N_TRACKS), n_gets = spans.memory.n_gets, k = 0;
		int64_t t = some_time(&dice);
		struct iforest_entry entry;
		bool found = true;

		iforest_iterator_start(&walk, &(struct iforest_iterator_question){ .from = iforest_key_at(track, INT64_MIN),
			.to = iforest_key_at(track, t), .match = { .has_reach = true, .reach = t }, .values = 1 });
		for (; found; k += found)
			assert_ok(iforest_iterator_next(&walk, &entry, &found));
		n_open += k;
		assert_in_range(spans.memory.n_gets - n_gets, 0, (k + 2) * n_levels_and_leaf);
	}
	assert_true(n_open > 300);
	iforest_iterator_release(&walk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(top_k_costs_k_paths),
		cmocka_unit_test(next_and_previous_cost_a_path),
		cmocka_unit_test(open_spans_cost_a_path_each),
	};

	return random_report(cmocka_run_group_tests(tests, build, drop));
}
