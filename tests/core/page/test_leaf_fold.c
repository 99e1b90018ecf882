/* Folds of every range of a block against a loop over its entries, and nodes without some entries. What is wanted decides what
 * is folded and unpacked. */
#include "core/page/leaf_fold.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/harness.h"
#include "tests/support/oracle.h"
#include "tests/support/random.h"
#include "tests/support/sample_index.h"

enum { PAGE_BYTES = 8152, N = IFOREST_BLOCK_ENTRIES };

static const struct sample_shape shape = { .kinds = "sf", .duration = 0, .has_blocks = true };

/* A page of one block, and its entries as the oracle knows them. */
struct folded {
	struct iforest_node_schema fields;
	struct iforest_leaf leaf;
	uint8_t page[PAGE_BYTES];
	struct oracle_entry entries[N];
	unsigned n;
};

static void fill(struct random *dice, struct folded *folded, struct iforest_block *block)
{
	bool time_is_null = random_chance(dice, 20), are_small = random_chance(dice, 50);

	memset(block, 0, sizeof *block);
	block->n = folded->n = 1 + (unsigned)random_below(dice, N);
	block->time_is_null = time_is_null;
	for (unsigned i = 0; i < block->n; i++) {
		struct oracle_entry *entry = &folded->entries[i];

		*entry = (struct oracle_entry){ .time_is_null = time_is_null,
						.time = time_is_null ? 0 : (int64_t)i / 3,
						.ref = (int64_t)i << 14 };
		entry->has[0] = random_chance(dice, 80);
		entry->has[1] = random_chance(dice, 80);
		entry->value[0].integer = !are_small && random_chance(dice, 10) ? INT64_MAX : random_between(dice, -3, 3);
		entry->value[1].real = random_chance(dice, 10) ? NAN : (double)random_between(dice, -3, 3);
		block->times[i] = entry->time;
		block->refs[i] = entry->ref;
		for (unsigned v = 0; v < 2; v++) {
			block->values[v][i] = entry->value[v].integer;
			block->present[v] |= (uint64_t)entry->has[v] << i;
		}
	}
}

static void make(struct random *dice, struct folded *folded)
{
	struct iforest_leaf_writer *writer = malloc(sizeof *writer);
	struct iforest_block *block = malloc(sizeof *block);
	const char *what;
	uint32_t n_bytes;

	assert_non_null(writer);
	assert_non_null(block);
	folded->fields = sample_fields(&shape);
	fill(dice, folded, block);
	iforest_leaf_writer_start(writer, &folded->fields, PAGE_BYTES);
	assert_true(iforest_leaf_writer_add(writer, block, 0, block->n));
	n_bytes = iforest_leaf_writer_finish(writer, folded->page, 1, 0);
	for (unsigned i = 0; i < folded->n; i++) {
		assert_ok(iforest_leaf_open(&folded->leaf, &folded->fields, folded->page, n_bytes, 1, 0, false, &what));
		folded->entries[i].is_dead = random_chance(dice, 20);
		if (folded->entries[i].is_dead)
			iforest_leaf_remove(folded->page, &folded->leaf.header, 0, i);
		iforest_page_finish(folded->page, &folded->leaf.header);
	}
	assert_ok(iforest_leaf_open(&folded->leaf, &folded->fields, folded->page, n_bytes, 1, 0, false, &what));
	free(writer);
	free(block);
}

static void assert_row(const struct iforest_extreme *row, const struct folded *folded, unsigned from, long expected)
{
	assert_int_equal(row->is_set, expected != ORACLE_NONE);
	if (row->is_set)
		assert_true(row->ref == folded->entries[from + (unsigned long)expected].ref);
}

/* The value of an extreme, whose row may not have been requested. */
static void assert_value(const struct iforest_extreme *extreme, unsigned v, const struct folded *folded, unsigned from,
			 long expected)
{
	const union oracle_number *value;

	assert_int_equal(extreme->is_set, expected != ORACLE_NONE);
	if (!extreme->is_set)
		return;
	value = &folded->entries[from + (unsigned long)expected].value[v];
	if (v == 0)
		assert_int_equal(extreme->value.integer, value->integer);
	else
		assert_true(extreme->value.real == value->real || (isnan(extreme->value.real) && isnan(value->real)));
}

static void compare(const struct folded *folded, unsigned from, unsigned to, const struct iforest_request *request,
		    const struct iforest_aggregate *got)
{
	struct oracle oracle = { .entries = (struct oracle_entry *)folded->entries + from,
				 .n_entries = to - from,
				 .n_values = 2,
				 .is_real = { false, true },
				 .duration = 0 };
	struct oracle_question question = { .mode = ORACLE_WHOLE };
	const struct iforest_accumulators *accumulators = &folded->fields.accumulators;
	bool out_of_range;
	size_t n_answers;
	struct oracle_answer *answers = oracle_scan(&oracle, &question, &n_answers, &out_of_range);
	unsigned n_dead = 0;

	for (unsigned i = from; i < to; i++)
		n_dead += folded->entries[i].is_dead;
	assert_int_equal(got->n_dead, n_dead);
	assert_int_equal(got->n_rows, to - from - n_dead);
	for (unsigned v = 0; v < 2 && n_answers; v++) {
		const struct oracle_value *expected = &answers[0].values[v];
		bool is_wanted = request->values >> v & 1;
		int a = iforest_accumulators_named(accumulators, IFOREST_KIND_SQUARES, v, IFOREST_NO_VALUE);

		assert_int_equal(got->values[v].n, is_wanted ? expected->n : 0);
		assert_true(got->values[v].sum == (is_wanted ? expected->sum : 0));
		if (a >= 0) /* small integers */
			assert_true(got->words[accumulators->list[a].word] ==
				    (request->accumulators >> a & 1 ? expected->squares[0] : 0));
		assert_true(got->values[v].real_sum == (is_wanted ? expected->real_sum : 0)); /* small integers: exact */
		assert_int_equal(got->values[v].n_nan, is_wanted ? expected->n_nan : 0);
		assert_value(&got->values[v].min, v, folded, from, is_wanted ? expected->min : ORACLE_NONE);
		assert_value(&got->values[v].max, v, folded, from, is_wanted ? expected->max : ORACLE_NONE);
		if (!(request->no_rows >> v & 1)) {
			assert_row(&got->values[v].min, folded, from, is_wanted ? expected->min : ORACLE_NONE);
			assert_row(&got->values[v].max, folded, from, is_wanted ? expected->max : ORACLE_NONE);
		}
		assert_row(&got->values[v].first, folded, from, request->firsts >> v & 1 ? expected->first : ORACLE_NONE);
		assert_row(&got->values[v].last, folded, from, request->lasts >> v & 1 ? expected->last : ORACLE_NONE);
	}
	if (n_answers) {
		assert_int_equal(got->has_times, request->times && answers[0].has_times);
		if (got->has_times)
			assert_true(got->first_time == answers[0].first_time && got->last_time == answers[0].last_time);
		assert_true(got->latest_end == (request->node_fields ? answers[0].latest_end : INT64_MIN));
		assert_true(got->highest_block == (request->node_fields ? answers[0].highest_block : 0));
		assert_true(got->lowest_block == (request->node_fields ? answers[0].lowest_block : UINT32_MAX));
	}
	free(answers);
}

static void every_range_of_a_block(void **state)
{
	struct random dice = random_from(random_seed());
	struct folded *folded = malloc(sizeof *folded);

	(void)state;
	assert_non_null(folded);
	for (unsigned round = 0; round < 12; round++) {
		make(&dice, folded);
		for (unsigned from = 0; from <= folded->n; from++)
			for (unsigned to = from; to <= folded->n; to++) {
				struct iforest_request request = { .values = (uint32_t)random_below(&dice, 4),
								 .no_rows = (uint32_t)random_below(&dice, 4),
								 .accumulators = (uint32_t)random_below(&dice, 4),
								 .firsts = (uint32_t)random_below(&dice, 4),
								 .lasts = (uint32_t)random_below(&dice, 4),
								 .times = random_chance(&dice, 50),
								 .node_fields = random_chance(&dice, 50) };
				struct iforest_block_reader reader;
				struct iforest_aggregate got;
				uint64_t counted;

				iforest_block_start(&reader, &folded->leaf, 0);
				iforest_aggregate_clear(&got, 2, &folded->fields.accumulators);
				assert_ok(iforest_block_fold(&reader, from, to, &request, &got, &counted));
				compare(folded, from, to, &request, &got);
			}
	}
	free(folded);
}

/* Counting alone decodes nothing, and a sum only its own column. */
/* Blocks folded by their summaries are what their entries are. A summary stands for all entries: there is none of use where a value
 * is missing or an entry removed. */
static void a_summary_is_the_block(void **state)
{
	static const struct iforest_request sums = { .values = 1, .no_mins = 1, .no_maxs = 1 };
	struct random dice = random_from(random_seed());
	struct folded *folded = malloc(sizeof *folded);
	unsigned n_said = 0;

	(void)state;
	assert_non_null(folded);
	for (unsigned round = 0; round < 3000; round++) {
		struct iforest_block_reader reader;
		struct iforest_aggregate said, expected;
		uint64_t counted, all = 0;
		unsigned n;
		int64_t sum;

		make(&dice, folded);
		assert_true(iforest_wants_sums(&sums, &folded->fields));
		iforest_aggregate_clear(&said, 2, &folded->fields.accumulators);
		iforest_aggregate_clear(&expected, 2, &folded->fields.accumulators);
		iforest_block_start(&reader, &folded->leaf, 0);
		assert_ok(iforest_block_fold(&reader, 0, folded->n, &sums, &expected, &counted));
		assert_ok(iforest_leaf_fold_blocks(&folded->leaf, 0, 1, &sums, &said));
		assert_true(said.n_rows == expected.n_rows && said.n_dead == expected.n_dead);
		assert_true(said.values[0].n == expected.values[0].n && said.values[0].sum == expected.values[0].sum);
		for (unsigned i = 0; i < folded->n; i++)
			all += folded->entries[i].has[0] && !folded->entries[i].is_dead;
		if (iforest_leaf_block_sum(&folded->leaf, 0, &n, &sum)) {
			assert_int_equal(all, folded->n);
			n_said++;
		}
	}
	assert_true(n_said > 10);
	free(folded);
}

static void more_than_sums_is_no_summary(void **state)
{
	static const struct iforest_filter filter = { .of_node = NULL };
	static const struct iforest_request others[] = {
		{ .values = 1, .no_maxs = 1 },
		{ .values = 1, .no_mins = 1 },
		{ .values = 3, .no_mins = 3, .no_maxs = 3 },
		{ .values = 1, .no_mins = 1, .no_maxs = 1, .accumulators = 1 },
		{ .values = 1, .no_mins = 1, .no_maxs = 1, .firsts = 1 },
		{ .values = 1, .no_mins = 1, .no_maxs = 1, .lasts = 1 },
		{ .values = 1, .no_mins = 1, .no_maxs = 1, .times = true },
		{ .values = 1, .no_mins = 1, .no_maxs = 1, .node_fields = true },
		{ .values = 1, .no_mins = 1, .no_maxs = 1, .filter = &filter },
	};
	struct iforest_node_schema fields = sample_fields(&shape);

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(others); i++)
		assert_false(iforest_wants_sums(&others[i], &fields));
}

static void only_columns_that_are_needed_are_unpacked(void **state)
{
	static const struct iforest_request count = { .values = 0 }, sum = { .values = 2, .no_rows = 2 };
	struct random dice = random_from(random_seed());
	struct folded *folded = malloc(sizeof *folded);
	struct iforest_block_reader reader;
	struct iforest_aggregate got;
	uint64_t counted;

	(void)state;
	assert_non_null(folded);
	do
		make(&dice, folded);
	while (folded->entries[0].time_is_null || folded->n < 40);
	iforest_aggregate_clear(&got, 2, &folded->fields.accumulators);
	iforest_block_start(&reader, &folded->leaf, 0);
	assert_ok(iforest_block_fold(&reader, 0, folded->n, &count, &got, &counted));
	assert_int_equal(reader.unpacked, 0);
	assert_ok(iforest_block_fold(&reader, 0, folded->n, &sum, &got, &counted));
	assert_int_equal(reader.unpacked, 1u << (IFOREST_VALUES + 1));
	free(folded);
}

static void the_node_of_a_page(void **state)
{
	static const struct iforest_request all = { .values = 3, .accumulators = 1, .node_fields = true };
	struct random dice = random_from(random_seed());
	struct folded *folded = malloc(sizeof *folded);

	(void)state;
	assert_non_null(folded);
	for (unsigned round = 0; round < 100; round++) {
		struct iforest_node node;
		const struct oracle_entry *last;

		make(&dice, folded);
		last = &folded->entries[folded->n - 1];
		assert_ok(iforest_leaf_node(&folded->leaf, &node));
		compare(folded, 0, folded->n, &all, &node.aggregate);
		assert_true(node.first.time == folded->entries[0].time && node.first.ref == folded->entries[0].ref);
		assert_true(node.first.time_is_null == last->time_is_null && node.last.time_is_null == last->time_is_null);
		assert_true(node.last.time == last->time && node.last.ref == INT64_MAX);
	}
	free(folded);
}

static enum iforest_status hide(void *context, struct iforest_block_reader *reader, uint64_t *live)
{
	(void)reader;
	*live &= ~*(const uint64_t *)context;
	return IFOREST_OK;
}

static void assert_same_value(const struct iforest_value_aggregate *a, const struct iforest_value_aggregate *b)
{
	assert_true(a->n == b->n && a->sum == b->sum);
	if (a->n == 0)
		return;
	assert_true(a->min.value.integer == b->min.value.integer && a->min.ref == b->min.ref);
	assert_true(a->max.value.integer == b->max.value.integer && a->max.ref == b->max.ref);
}

/* The same by refs, among them some that no entry has. */
static bool hide_refs(void *context, const uint8_t *node, int64_t refs[IFOREST_MAX_EXCLUDED_REFS], unsigned *n_refs)
{
	uint64_t hidden = *(const uint64_t *)context;

	(void)node;
	*n_refs = 0;
	for (unsigned i = 0; i < N; i++)
		if (hidden >> i & 1) {
			if (i % 4 == 0 && *n_refs + 1 < IFOREST_MAX_EXCLUDED_REFS)
				refs[(*n_refs)++] = ((int64_t)i << 14) - 1;
			if (*n_refs == IFOREST_MAX_EXCLUDED_REFS)
				return false;
			refs[(*n_refs)++] = (int64_t)i << 14;
		}
	return true;
}

/* A node without the entries that a filter hides is the fold of those that are left, or is declined. */
static void a_node_without_some_entries(void **state)
{
	struct random dice = random_from(random_seed());
	struct folded *folded = malloc(sizeof *folded);
	const struct iforest_accumulators *accumulators = &folded->fields.accumulators;
	unsigned n_done = 0;

	(void)state;
	assert_non_null(folded);
	for (unsigned round = 0; round < 400; round++) {
		uint64_t hidden = random_next(&dice) & random_next(&dice), counted;
		struct iforest_filter filter = { .context = &hidden,
						 .of_entries = hide,
						 .list_excluded = round % 2 ? hide_refs : NULL };
		struct iforest_request request = { .values = (uint32_t)random_below(&dice, 2),
						   .accumulators = (uint32_t)random_below(&dice, 2),
						   .filter = &filter };
		uint8_t bytes[IFOREST_MAX_NODE_BYTES];
		struct iforest_block_reader reader;
		struct iforest_aggregate got, expected;
		struct iforest_node node;
		bool done;

		make(&dice, folded);
		assert_ok(iforest_leaf_node(&folded->leaf, &node));
		iforest_node_write(&node, &folded->fields, bytes);
		iforest_aggregate_clear(&got, 2, &folded->fields.accumulators);
		iforest_aggregate_clear(&expected, 2, &folded->fields.accumulators);
		assert_ok(iforest_leaf_subtract(&folded->leaf, bytes, &reader, &request, &got, &done));
		n_done += done;
		if (done) {
			iforest_block_start(&reader, &folded->leaf, 0);
			assert_ok(iforest_block_fold(&reader, 0, folded->n, &request, &expected, &counted));
		}
		assert_true(got.n_rows == expected.n_rows && got.n_dead == expected.n_dead);
		assert_same_value(&got.values[0], &expected.values[0]);
		assert_memory_equal(got.words + accumulators->list[0].word, expected.words + accumulators->list[0].word,
				    8 * accumulators->n_words);

		/* the node is of before a removal, the page of after it */
		folded->leaf.header.n_dead++;
		assert_ok(iforest_leaf_subtract(&folded->leaf, bytes, &reader, &request, &got, &done));
		assert_false(done);
		request.values = 2;
		folded->leaf.header.n_dead--;
		assert_ok(iforest_leaf_subtract(&folded->leaf, bytes, &reader, &request, &got, &done));
		assert_false(done); /* sums of reals are not taken apart */
	}
	assert_in_range(n_done, 50, 350); /* of 400 */
	free(folded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_range_of_a_block),
		cmocka_unit_test(a_summary_is_the_block),
		cmocka_unit_test(more_than_sums_is_no_summary),
		cmocka_unit_test(only_columns_that_are_needed_are_unpacked),
		cmocka_unit_test(the_node_of_a_page),
		cmocka_unit_test(a_node_without_some_entries),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
