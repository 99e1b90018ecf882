/* The pieces of a window add up to its answer, each is what it says it is, and they are few. */
#include "core/query/scan.h"

#include <stdlib.h>

#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

static const struct sample_shape shapes[] = {
	{ .page_bytes = 1024, .max_batch_pages = 8, .kinds = "s", .duration = 0 },
	{ .page_bytes = 1024, .max_batch_pages = 8, .kinds = "ii", .duration = 1 },
	{ .page_bytes = 4000, .max_batch_pages = 16, .kinds = "", .duration = ORACLE_NONE },
};

static void start_scan(struct sample_index *index, struct iforest_scan *scan, const struct oracle_question *question)
{
	assert_ok(iforest_scan_init(scan, &index->store, &index->manifest));
	scan->bucketing = (struct iforest_bucketing){ .mode = IFOREST_WHOLE,
		.window = { .has_t0 = question->has_t0, .has_t1 = question->has_t1, .t0 = question->t0, .t1 = question->t1 } };
	scan->request = (struct iforest_request){ .values = (1u << index->manifest.fields.n_values) - 1, .times = true };
	assert_ok(iforest_scan_start(scan, question->series));
}

static void check_piece(const struct sample_index *index, const struct iforest_scan_cover_part *piece)
{
	uint64_t n_of_level = piece->run->n_leaves;

	assert_in_range(piece->level, 0, piece->run->n_levels + 1);
	for (unsigned k = 1; k < piece->level; k++)
		n_of_level = (n_of_level + index->manifest.fanout - 1) / index->manifest.fanout;
	assert_in_range(piece->number, 0, n_of_level - 1);
	assert_true(piece->aggregate.n_rows > 0);
	assert_true(piece->time_is_null != piece->aggregate.has_times);
	assert_false(piece->is_joined);
}

static void compare(struct sample_index *index, const struct oracle_question *question)
{
	struct iforest_node_schema *fields = &index->manifest.fields;
	struct iforest_scan scan;
	struct iforest_scan_cover pieces;
	struct iforest_scan_cover_part piece;
	struct iforest_aggregate sum, answer;
	size_t n_answers;
	bool found, out_of_range;
	uint64_t n_of_run = 0;
	const struct iforest_run *run = NULL;
	struct oracle_answer *truth = oracle_scan(&index->oracle, question, &n_answers, &out_of_range);
	int64_t bucket;

	iforest_aggregate_clear(&sum, fields->n_values, &fields->accumulators);
	iforest_aggregate_clear(&answer, fields->n_values, &fields->accumulators);
	start_scan(index, &scan, question);
	iforest_scan_cover_start(&pieces, &scan);
	assert_ok(iforest_scan_cover_next(&pieces, &piece, &found));
	while (found) {
		check_piece(index, &piece);
		iforest_aggregate_combine(&sum, &piece.aggregate, fields->value_types, fields->n_values,
					  &fields->accumulators);
		n_of_run = piece.run == run ? n_of_run + 1 : 1;
		run = piece.run;
		assert_in_range(n_of_run, 1, 2 * (2 + 2 * (index->manifest.fanout - 1) * (uint64_t)run->n_levels));
		assert_ok(iforest_scan_cover_next(&pieces, &piece, &found));
	}
	assert_ok(iforest_scan_start(&scan, question->series));
	assert_ok(iforest_scan_next(&scan, &bucket, &answer, &found));
	iforest_scan_release(&scan);
	/* removed entries that stand where nothing is live are in no piece; latest end and blocks were not wanted */
	sum.n_dead = answer.n_dead = 0;
	assert_int_equal(found, n_answers > 0);
	assert_int_equal(sum.n_rows, found ? truth[0].n_rows : 0);
	assert_memory_equal(&sum, &answer, iforest_aggregate_bytes(fields->n_values, &fields->accumulators));
	for (unsigned v = 0; v < fields->n_values && found; v++)
		assert_true(sum.values[v].sum == truth[0].values[v].sum && sum.values[v].n == truth[0].values[v].n);
	free(truth);
}

static void one_round(uint64_t seed)
{
	struct random dice = random_from(seed);
	struct sample_index index;
	unsigned n_series = 1 + (unsigned)random_below(&dice, 4);

	sample_start(&index, &shapes[random_below(&dice, COUNT_OF(shapes))]);
	index.seed = seed;
	for (unsigned r = 1 + (unsigned)random_below(&dice, 3); r > 0; r--)
		assert_ok(sample_build(&index,
				       sample_entries(&index, &dice,
						      1 + random_below(&dice, UINT64_C(1) << (3 + random_below(&dice, 11))),
						      n_series, (enum sample_times)random_below(&dice, SAMPLE_STYLES))));
	for (unsigned removing = 0; removing < 2; removing++) {
		for (unsigned i = 0; i < 40; i++) {
			struct oracle_question question = sample_question(&index, &dice);

			question.mode = ORACLE_WHOLE;
			compare(&index, &question);
		}
		for (unsigned g = 0; g < index.n_groups && !removing; g++)
			sample_remove(&index, &dice, g, (unsigned)random_below(&dice, 101));
	}
	sample_stop(&index);
}

static void pieces_add_up_to_the_answer(void **state)
{
	unsigned n_rounds = random_rounds(60);

	(void)state;
	for (unsigned r = 0; r < n_rounds; r++)
		one_round(random_seed() + r);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(pieces_add_up_to_the_answer) };

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
