/* Sums of stretches of blocks, and of what comes from any entry of a page on, against its entries one by one. */
#include "core/page/leaf_fold.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/harness.h"
#include "tests/support/random.h"
#include "tests/support/sample_index.h"

enum { PAGE_BYTES = 8152, MOST_BLOCKS = 7 };

static const struct sample_shape shape = { .kinds = "if", .duration = ORACLE_NONE };

struct sample {
	struct iforest_node_schema fields;
	struct iforest_leaf leaf;
	uint8_t page[PAGE_BYTES], node[IFOREST_MAX_NODE_BYTES];
};

/* Values of any size: such as have a summary and can be added up where they are packed, and such as do not. */
static int64_t random_value(struct random *dice, unsigned make)
{
	static const int64_t bounds[] = { 0, 1, 100, INT64_C(1) << 40, INT64_MAX };
	int64_t bound = bounds[make];

	return random_between(dice, make == 1 ? 0 : -bound, bound);
}

static void fill_block(struct random *dice, struct iforest_block *block, int64_t *ref)
{
	unsigned make = (unsigned)random_below(dice, 5), percent = random_chance(dice, 60) ? 100 : 50;

	memset(block, 0, sizeof *block);
	block->n = 1 + (unsigned)random_below(dice, IFOREST_BLOCK_ENTRIES);
	for (unsigned i = 0; i < block->n; i++) {
		block->times[i] = block->refs[i] = ++*ref;
		block->values[0][i] = random_value(dice, make);
		block->present[0] |= (uint64_t)random_chance(dice, percent) << i;
	}
}

static void make(struct random *dice, struct sample *sample)
{
	struct iforest_leaf_writer *writer = malloc(sizeof *writer);
	struct iforest_block *block = malloc(sizeof *block);
	unsigned n_blocks = 1 + (unsigned)random_below(dice, MOST_BLOCKS), percent_dead = random_chance(dice, 50) ? 0 : 5;
	struct iforest_node node;
	const char *what;
	uint32_t n_bytes;
	int64_t ref = 0;

	assert_non_null(writer);
	assert_non_null(block);
	sample->fields = sample_fields(&shape);
	iforest_leaf_writer_start(writer, &sample->fields, PAGE_BYTES);
	for (unsigned b = 0; b < n_blocks; b++) {
		fill_block(dice, block, &ref);
		assert_true(iforest_leaf_writer_add(writer, block, 0, block->n));
	}
	n_bytes = iforest_leaf_writer_finish(writer, sample->page, 1, 0);
	assert_ok(iforest_leaf_open(&sample->leaf, &sample->fields, sample->page, n_bytes, 1, 0, false, &what));
	for (unsigned b = 0; b < n_blocks; b++)
		for (unsigned i = 0; i < iforest_leaf_block(&sample->leaf, b).n; i++)
			if (random_chance(dice, percent_dead))
				iforest_leaf_remove(sample->page, &sample->leaf.header, b, i);
	iforest_page_finish(sample->page, &sample->leaf.header);
	assert_ok(iforest_leaf_node(&sample->leaf, &node));
	iforest_node_write(&node, &sample->fields, sample->node);
	free(writer);
	free(block);
}

/* Entries [from, to) of block b. */
static void add_entries(const struct sample *sample, unsigned b, unsigned from, unsigned to, bool of_value,
			struct iforest_sums *sums)
{
	struct iforest_block_reader reader;

	iforest_block_start(&reader, &sample->leaf, b);
	assert_ok(iforest_block_need(&reader, IFOREST_VALUES));
	for (unsigned i = from; i < to && i < reader.block.n; i++) {
		bool is_dead = reader.block.dead >> i & 1;

		sums->n_rows += !is_dead;
		sums->n_dead += is_dead;
		if (!of_value || is_dead || !(reader.block.present[0] >> i & 1))
			continue;
		sums->n++;
		sums->sum += reader.block.values[0][i];
	}
}

static void assert_same(const struct iforest_sums *a, const struct iforest_sums *b)
{
	assert_true(a->n_rows == b->n_rows && a->n_dead == b->n_dead && a->n == b->n && a->sum == b->sum);
}

static void stretches_are_their_entries(void **state)
{
	struct random dice = random_from(random_seed());
	struct sample *sample = malloc(sizeof *sample);

	(void)state;
	assert_non_null(sample);
	for (unsigned round = 0; round < 100; round++) {
		make(&dice, sample);
		for (unsigned b = 0; b < sample->leaf.header.n_items; b++) {
			struct iforest_block_reader reader;

			iforest_block_start(&reader, &sample->leaf, b);
			for (unsigned i = 0; i < 30; i++) {
				unsigned from = (unsigned)random_below(&dice, reader.block.n);
				unsigned to = from + 1 + (unsigned)random_below(&dice, reader.block.n - from);
				bool of_value = random_chance(&dice, 80);
				struct iforest_sums expected = { .n_rows = 7, .sum = 8 }, sums = expected;

				from = random_chance(&dice, 30) ? 0 : from;
				to = random_chance(&dice, 30) ? reader.block.n : to;
				add_entries(sample, b, from, to, of_value, &expected);
				assert_ok(iforest_block_add_sums(&reader, from, to, of_value, &sums));
				assert_same(&sums, &expected);
			}
		}
	}
	free(sample);
}

static void what_comes_from_an_entry_on_is_its_entries(void **state)
{
	struct random dice = random_from(random_seed());
	struct sample *sample = malloc(sizeof *sample);

	(void)state;
	assert_non_null(sample);
	for (unsigned round = 0; round < 60; round++) {
		bool of_value = random_chance(&dice, 80);
		struct iforest_sums all = { .n_rows = 0 };

		make(&dice, sample);
		iforest_sums_add_node(&all, sample->node, &sample->fields, of_value);
		for (unsigned b = 0; b < sample->leaf.header.n_items; b++) {
			struct iforest_block_reader reader;

			iforest_block_start(&reader, &sample->leaf, b);
			for (unsigned entry = 0; entry <= reader.block.n; entry++) {
				struct iforest_sums rest, expected = { .n_rows = 0 };

				for (unsigned k = b; k < sample->leaf.header.n_items; k++)
					add_entries(sample, k, k == b ? entry : 0, IFOREST_BLOCK_ENTRIES, of_value, &expected);
				assert_ok(iforest_leaf_sums_from(&sample->leaf, &all, &reader, entry, of_value, &rest));
				assert_same(&rest, &expected);
			}
		}
	}
	free(sample);
}

static void only_sums_are_wanted(void **state)
{
	static const struct iforest_filter filter = { .context = NULL };
	static const struct iforest_request sums[] = { { .values = 0 }, { .values = 1, .no_mins = 1, .no_maxs = 3 } };
	static const struct iforest_request others[] = {
		{ .values = 1, .no_mins = 1 },
		{ .values = 1, .no_maxs = 1 },
		{ .values = 2, .no_mins = 2, .no_maxs = 2 },
		{ .values = 3, .no_mins = 3, .no_maxs = 3 },
		{ .times = true },
		{ .firsts = 1 },
		{ .lasts = 1 },
		{ .accumulators = 1 },
		{ .node_fields = true },
		{ .filter = &filter },
		{ .values = 1, .no_mins = 1, .no_maxs = 1, .filter = &filter },
	};
	struct iforest_node_schema fields = sample_fields(&shape);
	struct iforest_node_schema reals = sample_fields(&(struct sample_shape){ .kinds = "f", .duration = ORACLE_NONE });

	(void)state;
	for (unsigned w = 0; w < COUNT_OF(sums); w++)
		assert_true(iforest_wants_sums(&sums[w], &fields));
	for (unsigned w = 0; w < COUNT_OF(others); w++)
		assert_false(iforest_wants_sums(&others[w], &fields));
	assert_true(iforest_wants_sums(&sums[0], &reals));
	assert_false(iforest_wants_sums(&sums[1], &reals));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stretches_are_their_entries),
		cmocka_unit_test(what_comes_from_an_entry_on_is_its_entries),
		cmocka_unit_test(only_sums_are_wanted),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
