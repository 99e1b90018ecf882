/* Both parts of a page, at every place, against folds of its entries block by block. */
#include "core/page/leaf_fold.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/harness.h"
#include "tests/support/random.h"
#include "tests/support/sample_index.h"

enum { PAGE_BYTES = 8152, MOST_BLOCKS = 6 };

static const struct sample_shape shape = { .kinds = "if", .duration = ORACLE_NONE, .has_blocks = true };

struct split {
	struct iforest_node_schema fields;
	struct iforest_leaf leaf;
	uint8_t page[PAGE_BYTES], node[IFOREST_MAX_NODE_BYTES];
};

enum kind_of_page { SIMPLE, TWO_SERIES, NULL_TIMES, KINDS_OF_PAGE };

/* Few values, so that extremes are met more than once. */
static void fill_block(struct random *dice, struct iforest_block *block, enum kind_of_page kind, int64_t *time, int64_t *ref)
{
	memset(block, 0, sizeof *block);
	block->n = 1 + (unsigned)random_below(dice, IFOREST_BLOCK_ENTRIES);
	block->series = kind == TWO_SERIES && *ref > 100;
	block->time_is_null = kind == NULL_TIMES && *ref > 100;
	for (unsigned i = 0; i < block->n; i++) {
		*time += (int64_t)random_below(dice, 3);
		block->times[i] = block->time_is_null ? 0 : *time;
		block->refs[i] = ++*ref;
		block->values[0][i] = random_between(dice, -30, 30);
		block->present[0] |= (uint64_t)random_chance(dice, 80) << i;
	}
}

static void make(struct random *dice, struct split *split, enum kind_of_page kind)
{
	struct iforest_leaf_writer *writer = malloc(sizeof *writer);
	struct iforest_block *block = malloc(sizeof *block);
	unsigned n_blocks = 1 + (unsigned)random_below(dice, MOST_BLOCKS);
	int64_t time = random_between(dice, -1000, 1000), ref = 0;
	struct iforest_node node;
	const char *what;
	uint32_t n_bytes;

	assert_non_null(writer);
	assert_non_null(block);
	split->fields = sample_fields(&shape);
	iforest_leaf_writer_start(writer, &split->fields, PAGE_BYTES);
	for (unsigned b = 0; b < n_blocks; b++) {
		fill_block(dice, block, kind, &time, &ref);
		assert_true(iforest_leaf_writer_add(writer, block, 0, block->n));
	}
	n_bytes = iforest_leaf_writer_finish(writer, split->page, 1, 0);
	assert_ok(iforest_leaf_open(&split->leaf, &split->fields, split->page, n_bytes, 1, 0, false, &what));
	for (unsigned b = 0; b < n_blocks; b++)
		for (unsigned i = 0; i < iforest_leaf_block(&split->leaf, b).n; i++)
			if (random_chance(dice, 5))
				iforest_leaf_remove(split->page, &split->leaf.header, b, i);
	iforest_page_finish(split->page, &split->leaf.header);
	assert_ok(iforest_leaf_node(&split->leaf, &node));
	iforest_node_write(&node, &split->fields, split->node);
	free(writer);
	free(block);
}

/* The entries [from, to) of block b. */
static void fold(const struct split *split, unsigned b, unsigned from, unsigned to, const struct iforest_request *request,
		 struct iforest_aggregate *aggregate)
{
	struct iforest_block_reader reader;
	uint64_t counted;

	iforest_block_start(&reader, &split->leaf, b);
	assert_ok(iforest_block_fold(&reader, from, to < reader.block.n ? to : reader.block.n, request, aggregate, &counted));
}

static void assert_same_row(const struct iforest_extreme *a, const struct iforest_extreme *b, bool value_alone)
{
	assert_true(a->value.integer == b->value.integer && (value_alone || (a->time == b->time && a->ref == b->ref)));
}

static void assert_same(const struct iforest_aggregate *a, const struct iforest_aggregate *b,
			const struct iforest_request *request)
{
	const struct iforest_value_aggregate *x = &a->values[0], *y = &b->values[0];

	assert_true(a->n_rows == b->n_rows && a->n_dead == b->n_dead && x->n == y->n && x->sum == y->sum);
	if (x->n == 0 || !(request->values & 1))
		return;
	if (!(request->no_mins & 1))
		assert_same_row(&x->min, &y->min, request->no_rows & 1);
	if (!(request->no_maxs & 1))
		assert_same_row(&x->max, &y->max, request->no_rows & 1);
}

/* Splits at the first entry of block b that is at or after the time; false where that cannot be done. */
static bool split_at(const struct split *split, unsigned b, int64_t time, const struct iforest_request *request)
{
	struct iforest_key key = iforest_key_at(iforest_leaf_block(&split->leaf, b).first.series, time);
	struct iforest_aggregate into, after, expected_into, expected_after;
	struct iforest_leaf_cut cut;
	struct iforest_block_reader reader;
	unsigned n_blocks = split->leaf.header.n_items;

	if (!iforest_leaf_can_split(split->node, &key, request))
		return false;
	iforest_aggregate_clear(&into, split->fields.n_values, &split->fields.accumulators);
	iforest_aggregate_clear(&expected_into, split->fields.n_values, &split->fields.accumulators);
	iforest_aggregate_clear(&expected_after, split->fields.n_values, &split->fields.accumulators);
	/* something is there already */
	fold(split, 0, 0, 3, request, &into);
	fold(split, 0, 0, 3, request, &expected_into);
	assert_ok(iforest_leaf_split(&split->leaf, split->node, &key, request, &into, &after, &cut));
	for (unsigned k = 0; k < n_blocks; k++) {
		unsigned at = k < cut.block ? IFOREST_BLOCK_ENTRIES : k == cut.block ? cut.entry : 0;

		fold(split, k, 0, at, request, &expected_into);
		fold(split, k, at, IFOREST_BLOCK_ENTRIES, request, &expected_after);
	}
	assert_same(&into, &expected_into, request);
	assert_same(&after, &expected_after, request);
	assert_true(cut.block < n_blocks);
	iforest_block_start(&reader, &split->leaf, cut.block);
	assert_ok(iforest_block_need(&reader, IFOREST_TIMES));
	assert_true(cut.first.series == key.series && !cut.first.time_is_null && cut.first.ref == INT64_MIN &&
		    cut.entry < reader.block.n && cut.first.time == reader.block.times[cut.entry] && cut.first.time >= time);
	if (cut.entry > 0)
		assert_true(reader.block.times[cut.entry - 1] < time);
	return true;
}

/* Splits at every time of the page; how many were done. */
static unsigned split_everywhere(const struct split *split, const struct iforest_request *request)
{
	unsigned n_done = 0;

	for (unsigned b = 0; b < split->leaf.header.n_items; b++) {
		struct iforest_block_reader reader;

		iforest_block_start(&reader, &split->leaf, b);
		assert_ok(iforest_block_need(&reader, IFOREST_TIMES));
		for (unsigned i = 0; i < reader.block.n; i++)
			n_done += split_at(split, b, reader.block.times[i], request);
	}
	return n_done;
}

static void both_parts_are_folds_of_their_entries(void **state)
{
	struct random dice = random_from(random_seed());
	struct split *split = malloc(sizeof *split);

	(void)state;
	assert_non_null(split);
	for (unsigned round = 0; round < 100; round++) {
		struct iforest_request request = { .values = (uint32_t)random_below(&dice, 4),
						 .no_mins = (uint32_t)random_below(&dice, 4),
						 .no_maxs = (uint32_t)random_below(&dice, 4),
						 .no_rows = (uint32_t)random_below(&dice, 4) };

		make(&dice, split, SIMPLE);
		/* the node is of before a removal, the page of after it */
		if (random_chance(&dice, 20))
			iforest_leaf_remove(split->page, &split->leaf.header, 0,
					    iforest_trailing_zeros(~iforest_leaf_block(&split->leaf, 0).dead));
		assert_int_equal(split_everywhere(split, &request), split->leaf.header.n_entries);
	}
	free(split);
}

static void what_cannot_be_split_is_declined(void **state)
{
	static const struct iforest_request request[] = {
		{ .values = 1, .firsts = 1 }, { .values = 1, .lasts = 1 }, { .values = 1, .times = true },
		{ .values = 1, .node_fields = true }, { .values = 1, .extremes_alone = true },
	};
	static const struct iforest_request sum = { .values = 1, .no_mins = 1, .no_maxs = 1 };
	struct random dice = random_from(random_seed());
	struct split *split = malloc(sizeof *split);

	(void)state;
	assert_non_null(split);
	make(&dice, split, SIMPLE);
	for (unsigned w = 0; w < sizeof request / sizeof *request; w++)
		assert_int_equal(split_everywhere(split, &request[w]), 0);
	for (enum kind_of_page kind = TWO_SERIES; kind < KINDS_OF_PAGE; kind++) {
		do
			make(&dice, split, kind);
		while (iforest_leaf_block(&split->leaf, split->leaf.header.n_items - 1u).first.ref <= 101);
		assert_int_equal(split_everywhere(split, &sum), 0);
	}
	free(split);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_parts_are_folds_of_their_entries),
		cmocka_unit_test(what_cannot_be_split_is_declined),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
