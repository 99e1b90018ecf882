#include "core/page/node.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/run/manifest.h"
#include "core/base/xxh64.h"
#include "tests/support/harness.h"
#include "tests/support/random.h"
#include "tests/support/sample_index.h"

static const struct sample_shape shape = { .kinds = "ifs", .duration = 2, .has_blocks = true };

static struct iforest_extreme random_row(struct random *dice, bool is_real)
{
	struct iforest_extreme row = { .ref = (int64_t)random_next(dice), .time_is_null = random_chance(dice, 30), .is_set = true };

	row.time = row.time_is_null ? 0 : (int64_t)random_next(dice);
	row.value.integer = (int64_t)random_next(dice);
	if (is_real)
		row.value.real = (double)random_between(dice, -100, 100);
	return row;
}

/* The words of all accumulators. */
static uint64_t *words_of(struct iforest_node *node, const struct iforest_node_schema *fields)
{
	return node->aggregate.words + fields->accumulators.list[0].word;
}

static void random_node(struct random *dice, const struct iforest_node_schema *fields, struct iforest_node *node)
{
	memset(node, 0, sizeof *node);
	iforest_aggregate_clear(&node->aggregate, fields->n_values, &fields->accumulators);
	node->first = (struct iforest_key){ .series = (uint32_t)random_next(dice), .time = (int64_t)random_next(dice),
					    .ref = (int64_t)random_next(dice) };
	node->last = (struct iforest_key){ .series = UINT32_MAX, .time_is_null = true, .ref = INT64_MAX };
	node->aggregate.n_rows = random_next(dice);
	node->aggregate.n_dead = random_next(dice);
	node->aggregate.latest_end = (int64_t)random_next(dice);
	node->aggregate.lowest_block = (uint32_t)random_below(dice, 1000);
	node->aggregate.highest_block = UINT32_MAX - 3;
	for (unsigned i = 0; i < fields->accumulators.n_words; i++)
		words_of(node, fields)[i] = random_next(dice);
	for (unsigned v = 0; v < fields->n_values; v++) {
		struct iforest_value_aggregate *value = &node->aggregate.values[v];

		if (random_chance(dice, 20))
			continue;
		value->n = 1 + random_below(dice, 1000);
		value->min = random_row(dice, fields->value_types[v] == IFOREST_FLOAT64);
		value->max = random_row(dice, fields->value_types[v] == IFOREST_FLOAT64);
		if (fields->value_types[v] == IFOREST_INT64) {
			value->sum = (iforest_int128)((iforest_uint128)random_next(dice) << 64 | random_next(dice));
			continue;
		}
		value->real_sum = (double)random_between(dice, -1000, 1000) / 3;
		value->n_nan = random_next(dice);
		value->n_plus_infinity = random_next(dice);
		value->n_minus_infinity = random_next(dice);
	}
}

static void nodes_are_read_as_written(void **state)
{
	struct random dice = random_from(random_seed());
	struct iforest_node_schema fields = sample_fields(&shape);
	uint8_t bytes[IFOREST_MAX_NODE_BYTES], again[IFOREST_MAX_NODE_BYTES];

	(void)state;
	for (unsigned round = 0; round < 2000; round++) {
		struct iforest_node node, read;

		random_node(&dice, &fields, &node);
		iforest_node_write(&node, &fields, bytes);
		memset(&read, 0, sizeof read);
		iforest_node_read(&read, &fields, bytes);
		assert_int_equal(iforest_key_compare(&read.first, &node.first), 0);
		assert_int_equal(iforest_key_compare(&read.last, &node.last), 0);
		assert_true(read.aggregate.n_rows == node.aggregate.n_rows && read.aggregate.n_dead == node.aggregate.n_dead &&
			    read.aggregate.latest_end == node.aggregate.latest_end &&
			    read.aggregate.lowest_block == node.aggregate.lowest_block &&
			    read.aggregate.highest_block == node.aggregate.highest_block && !read.aggregate.has_times);
		for (unsigned v = 0; v < fields.n_values; v++) {
			const struct iforest_value_aggregate *a = &read.aggregate.values[v], *b = &node.aggregate.values[v];

			assert_true(a->n == b->n && a->sum == b->sum && a->real_sum == b->real_sum && a->n_nan == b->n_nan &&
				    a->n_plus_infinity == b->n_plus_infinity && a->n_minus_infinity == b->n_minus_infinity);
			assert_true(a->min.ref == b->min.ref && a->min.time == b->min.time && a->min.is_set == b->min.is_set &&
				    a->min.time_is_null == b->min.time_is_null && a->min.value.integer == b->min.value.integer);
			assert_true(a->max.ref == b->max.ref && a->max.time == b->max.time && a->max.is_set == b->max.is_set &&
				    a->max.time_is_null == b->max.time_is_null && a->max.value.integer == b->max.value.integer);
			assert_true(iforest_node_value_rows(bytes, &fields, v) == b->n);
		}
		assert_memory_equal(words_of(&read, &fields), words_of(&node, &fields), 8 * fields.accumulators.n_words);
		iforest_node_write(&read, &fields, again);
		assert_memory_equal(bytes, again, fields.node_bytes);
		assert_true(iforest_node_rows(bytes) == node.aggregate.n_rows &&
			    iforest_node_dead(bytes) == node.aggregate.n_dead);
	}
}

static void bytes_stand_where_fields_say(void **state)
{
	struct iforest_node_schema fields = sample_fields(&shape);
	struct iforest_node node;
	uint8_t bytes[IFOREST_MAX_NODE_BYTES];

	(void)state;
	memset(&node, 0, sizeof node);
	iforest_aggregate_clear(&node.aggregate, fields.n_values, &fields.accumulators);
	node.first = (struct iforest_key){ .series = 1, .time = 2, .ref = 3 };
	node.last = (struct iforest_key){ .series = 4, .time_is_null = true, .ref = INT64_MAX };
	node.aggregate.n_rows = 5;
	node.aggregate.n_dead = 6;
	node.aggregate.values[0].n = 7;
	node.aggregate.values[0].sum = -8;
	node.aggregate.values[0].max =
		(struct iforest_extreme){ .value.integer = 9, .time = 0, .ref = 11, .time_is_null = true, .is_set = true };
	for (unsigned i = 0; i < 3; i++)
		words_of(&node, &fields)[i] = 14 + i;
	node.aggregate.latest_end = 12;
	node.aggregate.highest_block = 13;
	iforest_node_write(&node, &fields, bytes);
	assert_true(iforest_load32(bytes) == 1 && iforest_load32(bytes + 4) == 4 && iforest_load64(bytes + 8) == 2 &&
		    iforest_load64(bytes + 16) == 3 && iforest_load64(bytes + 24) == 0);
	assert_int_equal(iforest_load32(bytes + 32), 2 | 1 << 3); /* last time, time of the max of value 0 */
	assert_true(iforest_load64(bytes + 36) == 5 && iforest_load64(bytes + 44) == 6);
	assert_true(iforest_load64(bytes + 52) == 7 && iforest_load_int64(bytes + 60) == -8 &&
		    iforest_load_int64(bytes + 68) == -1);
	assert_true(iforest_load64(bytes + 52 + 48) == 9 && iforest_load64(bytes + 52 + 64) == 11);
	assert_true(iforest_load64(bytes + fields.accumulator_offset[0]) == 14 &&
		    iforest_load64(bytes + fields.accumulator_offset[0] + 16) == 16);
	assert_true(iforest_load64(bytes + fields.latest_end_offset) == 12 &&
		    iforest_load32(bytes + fields.blocks_offset + 4) == 13);
}

/* Only what is asked for is added. */
static void folding_takes_what_is_wanted(void **state)
{
	struct random dice = random_from(random_seed());
	struct iforest_node_schema fields = sample_fields(&shape);
	struct iforest_node node;
	uint8_t bytes[IFOREST_MAX_NODE_BYTES];

	(void)state;
	do
		random_node(&dice, &fields, &node);
	while (node.aggregate.values[0].n == 0 || node.aggregate.values[1].n == 0 || node.aggregate.values[2].n == 0);
	iforest_node_write(&node, &fields, bytes);
	for (uint32_t values = 0; values < 8; values++)
		for (unsigned node_fields = 0; node_fields < 2; node_fields++) {
			struct iforest_node_parts parts = { .values = values, .no_mins = 3, .no_maxs = 5,
							    .accumulators = (7 ^ values) >> 2,
							    .node_fields = node_fields };
			struct iforest_aggregate sum;

			iforest_aggregate_clear(&sum, fields.n_values, &fields.accumulators);
			iforest_node_fold(bytes, &fields, &parts, &sum);
			assert_true(sum.n_rows == node.aggregate.n_rows && sum.n_dead == node.aggregate.n_dead);
			assert_true(sum.latest_end == (node_fields ? node.aggregate.latest_end : INT64_MIN));
			assert_true(sum.highest_block == (node_fields ? node.aggregate.highest_block : 0));
			for (unsigned v = 0; v < fields.n_values; v++) {
				assert_true(sum.values[v].n == (values >> v & 1 ? node.aggregate.values[v].n : 0));
				assert_true(sum.values[v].min.is_set == (v == 2 && values >> v & 1));
				assert_true(sum.values[v].max.is_set == (v == 1 && values >> v & 1));
			}
			for (unsigned i = 0; i < fields.accumulators.n_words; i++)
				assert_true(sum.words[fields.accumulators.list[0].word + i] ==
					    (values >> 2 & 1 ? 0 : words_of(&node, &fields)[i]));
		}
}

static void a_parent_spans_its_children(void **state)
{
	struct random dice = random_from(random_seed());
	struct iforest_node_schema fields = sample_fields(&shape);
	struct iforest_node left, right, parent;

	(void)state;
	random_node(&dice, &fields, &left);
	random_node(&dice, &fields, &right);
	left.aggregate.n_rows = right.aggregate.n_rows = 4;
	right.last.series = 17;
	parent = left;
	iforest_node_combine(&parent, &right, &fields);
	assert_int_equal(iforest_key_compare(&parent.first, &left.first), 0);
	assert_int_equal(iforest_key_compare(&parent.last, &right.last), 0);
	assert_int_equal(parent.aggregate.n_rows, 8);
}

static void node_pages(void **state)
{
	enum { PAGE_BYTES = 4000, RUN_ID = 5, NUMBER = 6, N_NODES = 3 };
	struct random dice = random_from(random_seed());
	struct iforest_node_schema fields = sample_fields(&shape);
	struct iforest_node nodes[N_NODES];
	struct iforest_page_header header;
	uint8_t page[PAGE_BYTES], bytes[IFOREST_MAX_NODE_BYTES];
	const char *what;
	uint32_t length;

	(void)state;
	for (unsigned i = 0; i < N_NODES; i++) {
		random_node(&dice, &fields, &nodes[i]);
		iforest_node_write(&nodes[i], &fields, page + IFOREST_PAGE_HEADER + i * fields.node_bytes);
	}
	length = iforest_node_page_finish(page, &fields, RUN_ID, 2, NUMBER, N_NODES);
	assert_int_equal(length, IFOREST_PAGE_HEADER + N_NODES * fields.node_bytes);
	assert_ok(iforest_node_page_check(page, length, &fields, RUN_ID, 2, NUMBER, false, &header, &what));
	assert_true(header.n_items == N_NODES && header.level == 2);
	iforest_node_write(&nodes[1], &fields, bytes);
	assert_memory_equal(iforest_node_at(page, &fields, 1), bytes, fields.node_bytes);
	for (unsigned n = 0; n < 6; n++) { /* a sealed lie about their number */
		iforest_store16(page + 24, (uint16_t)n);
		iforest_store32(page + 4, (uint32_t)iforest_xxh64(page + 8, length - 8));
		assert_status(iforest_node_page_check(page, length, &fields, RUN_ID, 2, NUMBER, false, &header, &what),
			      n == N_NODES ? IFOREST_OK : IFOREST_CORRUPT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_are_read_as_written),
		cmocka_unit_test(bytes_stand_where_fields_say),
		cmocka_unit_test(folding_takes_what_is_wanted),
		cmocka_unit_test(a_parent_spans_its_children),
		cmocka_unit_test(node_pages),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
