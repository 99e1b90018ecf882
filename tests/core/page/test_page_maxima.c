/* tests/core/page/test_page_maxima.c -- Maxima of random pages against their entries; which pages have none. */
#include "core/page/page_maxima.h"

#include "core/base/bits.h"
#include "core/run/cursor.h"
#include "tests/support/harness.h"
#include "tests/support/pager_maxima.h"
#include "tests/support/sample_index.h"

/* The greatest value of a block, the earliest of several; not set where it has none. */
static struct iforest_extreme best_of(const struct iforest_block *block, unsigned v)
{
	struct iforest_extreme best = { .is_set = false };

	for (unsigned i = 0; i < block->n; i++) {
		struct iforest_extreme row = { .value.integer = block->values[v][i], .time = block->times[i], .ref = block->refs[i],
					   .is_set = block->present[v] >> i & 1 };

		iforest_extreme_max(&best, &row, IFOREST_INT64);
	}
	return best;
}

static int64_t latest_end(const struct iforest_block *block, unsigned v)
{
	iforest_int128 latest = INT64_MIN;

	for (unsigned i = 0; i < block->n; i++) {
		bool has_length = block->present[v] >> i & 1 && block->values[v][i] > 0;
		iforest_int128 end = block->times[i] + (iforest_int128)(has_length ? block->values[v][i] : 0);

		latest = end > latest ? end : latest;
	}
	return latest < INT64_MAX ? (int64_t)latest : INT64_MAX;
}

/* Compares the page of which the cursor's block is one, block by block. Counts pages with maxima and without. */
static void compare_page(struct iforest_cursor *cursor, unsigned *n_with, unsigned *n_without)
{
	struct iforest_page_maxima *room = cursor->path[0].page.maxima;
	unsigned v = iforest_page_maxima_value(cursor->leaf.fields), n = cursor->leaf.header.n_items;
	bool may = v != IFOREST_NO_VALUE && n <= IFOREST_MAX_BLOCK_MAXIMA && cursor->leaf.header.n_dead == 0;
	bool has = iforest_leaf_has_maxima(&cursor->leaf, room);

	assert_int_equal(has, iforest_leaf_has_maxima(&cursor->leaf, room));
	for (unsigned b = 0; b < n; b++) {
		struct iforest_block_reader reader;
		struct iforest_extreme best;
		bool is_first_series;

		iforest_block_start(&reader, &cursor->leaf, b);
		assert_ok(iforest_block_need(&reader, IFOREST_TIMES));
		assert_ok(iforest_block_need(&reader, IFOREST_REFS));
		if (v == IFOREST_NO_VALUE)
			continue;
		assert_ok(iforest_block_need(&reader, IFOREST_VALUES + v));
		best = best_of(&reader.block, v);
		is_first_series = reader.block.series == iforest_leaf_block(&cursor->leaf, 0).first.series;
		may = may && !reader.block.time_is_null && is_first_series && reader.has_summary[v];
		if (!has)
			continue;
		assert_true(best.is_set && reader.block.series == room->series);
		assert_true(room->blocks[b].first_time == reader.block.times[0] &&
			    room->blocks[b].value == best.value.integer &&
			    room->blocks[b].time == best.time && room->blocks[b].ref == best.ref);
		assert_true(b + 1 < n || room->last_time == reader.block.times[reader.block.n - 1]);
		assert_true(cursor->leaf.fields->duration_value != v ||
			    room->blocks[b].latest_end == latest_end(&reader.block, v));
	}
	assert_int_equal(has, may);
	assert_true(!has || room->n == n);
	*n_with += has;
	*n_without += !has;
}

/* Compares page `number` of nodes of a level, node by node. */
static void compare_node_page(const struct sample_index *index, unsigned level, uint64_t number, unsigned *n_with,
			      unsigned *n_without)
{
	const struct iforest_pager *pager = index->store.pager;
	const struct iforest_node_schema *fields = &index->manifest.fields;
	const struct iforest_run *run = &index->manifest.runs[0];
	unsigned v = iforest_page_maxima_value(fields), n;
	struct iforest_page_header header;
	struct iforest_page page;
	struct iforest_node node;
	const char *what;
	uint64_t series = 0;
	bool has, may;

	assert_ok(pager->get(pager->context, &run->place, iforest_run_page_index(&index->manifest, run, level, number), &page));
	assert_ok(iforest_node_page_check(page.bytes, page.n_bytes, fields, run->place.run_id, level, (uint32_t)number, false,
					  &header, &what));
	n = header.n_items;
	has = iforest_node_page_has_maxima(page.bytes, &header, fields, page.maxima);
	may = v != IFOREST_NO_VALUE && n <= IFOREST_MAX_NODE_MAXIMA;
	assert_int_equal(has, iforest_node_page_has_maxima(page.bytes, &header, fields, page.maxima));
	for (unsigned k = 0; k < n && v != IFOREST_NO_VALUE; k++) {
		iforest_node_read(&node, fields, iforest_node_at(page.bytes, fields, k));
		series = k == 0 ? node.first.series : series;
		may = may && node.first.series == series && node.last.series == series && !node.first.time_is_null &&
		      !node.last.time_is_null && node.aggregate.values[v].max.is_set;
		assert_true(!has || (page.maxima->nodes.first_times[k] == node.first.time &&
				     page.maxima->nodes.values[k] == node.aggregate.values[v].max.value.integer));
	}
	assert_int_equal(has, may);
	assert_true(!has || (page.maxima->n == n && page.maxima->series == series && page.maxima->last_time == node.last.time));
	*n_with += has;
	*n_without += !has;
	pager->release(pager->context, &page);
}

static void compare_node_pages(const struct sample_index *index, unsigned *n_with, unsigned *n_without)
{
	const struct iforest_run *run = &index->manifest.runs[0];
	uint64_t n_pages = run->n_leaves;

	for (unsigned level = 1; level <= run->n_levels; level++) {
		n_pages = (n_pages + index->manifest.fanout - 1) / index->manifest.fanout;
		for (uint64_t number = 0; number < n_pages; number++)
			compare_node_page(index, level, number, n_with, n_without);
	}
}

struct counts {
	unsigned n_with, n_without;
};

static void one_round(uint64_t seed, struct counts *leaves, struct counts *nodes)
{
	static const struct sample_shape shapes[] = {
		{ .page_bytes = 1024, .max_batch_pages = 8, .kinds = "i", .duration = 0 },
		{ .page_bytes = 4000, .max_batch_pages = 8, .kinds = "fi", .duration = 1 },
		{ .page_bytes = 4000, .max_batch_pages = 8, .kinds = "f", .duration = ORACLE_NONE },
		{ .page_bytes = 8152, .max_batch_pages = 4, .kinds = "ii", .duration = ORACLE_NONE },
	};
	struct random dice = random_from(seed);
	struct sample_index index;
	struct pager_maxima maxima;
	struct iforest_cursor cursor;
	const struct iforest_block *block;
	uint64_t last = UINT64_MAX;

	sample_start(&index, &shapes[random_below(&dice, COUNT_OF(shapes))]);
	index.seed = seed;
	assert_ok(sample_build(&index, sample_entries(&index, &dice, 1 + random_below(&dice, 5000),
						      1 + (unsigned)random_below(&dice, 3),
						      (enum sample_times)random_below(&dice, SAMPLE_STYLES))));
	if (random_chance(&dice, 30))
		sample_remove(&index, &dice, 0, (unsigned)random_below(&dice, 5));
	pager_maxima_start(&maxima, index.store.pager);
	index.store.pager = &maxima.pager;
	if (index.manifest.n_runs > 0) {
		iforest_cursor_init(&cursor, &index.store, &index.manifest, &index.manifest.runs[0]);
		while (!iforest_cursor_block(&cursor, 0, &block) && block) {
			if (cursor.leaf_number != last)
				compare_page(&cursor, &leaves->n_with, &leaves->n_without);
			last = cursor.leaf_number;
			assert_ok(iforest_cursor_next(&cursor));
		}
		iforest_cursor_release(&cursor);
		compare_node_pages(&index, &nodes->n_with, &nodes->n_without);
	}
	index.store.pager = maxima.inner;
	pager_maxima_stop(&maxima);
	sample_stop(&index);
}

static void maxima_are_those_of_the_entries_and_the_nodes(void **state)
{
	unsigned n_rounds = random_rounds(100);
	struct counts leaves = { 0, 0 }, nodes = { 0, 0 };

	(void)state;
	for (unsigned r = 0; r < n_rounds; r++)
		one_round(random_seed() + r, &leaves, &nodes);
	assert_true(leaves.n_with > n_rounds && leaves.n_without > n_rounds && nodes.n_with > n_rounds && nodes.n_without > n_rounds);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(maxima_are_those_of_the_entries_and_the_nodes) };

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
