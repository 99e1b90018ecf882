/* Positions and folds of one run against its sorted entries. */
#include "core/run/check.h"
#include "core/run/cursor.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/run/layout.h"
#include "core/query/fold.h"
#include "core/query/prefetch.h"
#include "tests/support/harness.h"
#include "tests/support/pager_maxima.h"
#include "tests/support/sample_index.h"

static const struct sample_shape shape = { .page_bytes = 1024, .max_batch_pages = 4, .kinds = "i", .duration = ORACLE_NONE };

struct fixture {
	struct sample_index index;
	struct random dice;
	struct iforest_key *keys;   /* of all entries, sorted */
	size_t *entries;            /* and the oracle's number of each */
	size_t n;
	struct pager_maxima maxima;   /* which lets pages be looked at ahead, by chance in between */
	struct iforest_fold fold;
};

/* A run of n_fewest entries or up to 3000 more. */
static void start_with(struct fixture *f, uint64_t seed, enum sample_times style, size_t n_fewest)
{
	f->dice = random_from(seed);
	sample_start(&f->index, &shape);
	f->index.seed = seed;
	if (random_chance(&f->dice, 50))
		pager_fault_lend(&f->index.pager);
	sample_entries(&f->index, &f->dice, n_fewest + random_below(&f->dice, 3000), 5, style);
	assert_ok(sample_build(&f->index, 0));
	f->n = sample_pick(&f->index, &f->dice, 0, 100, &f->keys, &f->entries);
	sample_remove(&f->index, &f->dice, 0, 20);
	pager_maxima_start(&f->maxima, f->index.store.pager);
	if (random_chance(&f->dice, 30)) {
		f->index.store.pager = &f->maxima.pager;
		if (random_chance(&f->dice, 70)) /* only pages that were checked can be looked at ahead */
			assert_ok(iforest_check(&f->index.store, &f->index.manifest, &(struct iforest_check_result){ 0 }));
	}
	iforest_fold_init(&f->fold, &f->index.store, &f->index.manifest, &f->index.manifest.runs[0]);
}

static void start(struct fixture *f, uint64_t seed, enum sample_times style)
{
	start_with(f, seed, style, 1);
}

static void stop(struct fixture *f)
{
	iforest_fold_release(&f->fold);
	free(f->keys);
	free(f->entries);
	f->index.store.pager = f->maxima.inner;
	pager_maxima_stop(&f->maxima);
	sample_stop(&f->index);
}

/* Number of the first entry at or after a key. */
static size_t lower_bound(const struct fixture *f, const struct iforest_key *key)
{
	size_t i = 0;

	while (i < f->n && iforest_key_compare(&f->keys[i], key) < 0)
		i++;
	return i;
}

/* A key, often that of an entry or next to it. */
static struct iforest_key random_key(struct fixture *f)
{
	struct iforest_key key = f->keys[random_below(&f->dice, f->n)];

	switch (random_below(&f->dice, 6)) {
	case 0: key.ref = INT64_MIN; break;
	case 1: key.ref = INT64_MAX; break;
	case 2: return iforest_key_nulls(key.series);
	case 3: return iforest_key_at(key.series + 1, INT64_MIN);
	case 4: key.time += !key.time_is_null && key.time < INT64_MAX; break;
	default: break;
	}
	return key;
}

/* As a rule not far behind entry i. */
static struct iforest_key next_key(struct fixture *f, size_t i)
{
	static const size_t steps[] = { 3, 40, 400 };
	struct iforest_key key = random_key(f);

	if (random_chance(&f->dice, 20) || i >= f->n)
		return key;
	i += random_below(&f->dice, steps[random_below(&f->dice, COUNT_OF(steps))]);
	key = f->keys[i < f->n ? i : f->n - 1];
	if (random_chance(&f->dice, 80))
		key.ref = INT64_MIN;
	return key;
}

static void assert_stands_at(struct fixture *f, size_t i)
{
	struct iforest_key key;
	bool at_end;

	assert_ok(iforest_fold_key(&f->fold, &key, &at_end));
	assert_int_equal(at_end, i == f->n);
	if (!at_end)
		assert_true(key.series == f->keys[i].series && key.time_is_null == f->keys[i].time_is_null &&
			    key.time == f->keys[i].time && key.ref == INT64_MIN);
}

static void seeking_finds_the_first_entry_at_or_after(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		struct fixture *f = malloc(sizeof *f);

		assert_non_null(f);
		start(f, random_seed() + round, (enum sample_times)(round % SAMPLE_STYLES));
		assert_stands_at(f, 0);
		for (unsigned i = 0; i < 200; i++) {
			struct iforest_key key = random_key(f);
			uint64_t n_opened = f->fold.cursor.n_pages_opened;

			assert_ok(iforest_fold_seek(&f->fold, &key));
			assert_in_range(f->fold.cursor.n_pages_opened - n_opened, 0, f->index.manifest.runs[0].n_levels + 1);
			assert_stands_at(f, lower_bound(f, &key));
		}
		stop(f);
		free(f);
	}
}

/* Sums of live entries [from, to), or their count alone. */
static void assert_folded(const struct fixture *f, size_t from, size_t to, bool of_value, const struct iforest_aggregate *got)
{
	uint64_t n_rows = 0, n_dead = 0, n = 0;
	oracle_int128 sum = 0;

	for (size_t i = from; i < to; i++) {
		const struct oracle_entry *entry = &f->index.oracle.entries[f->entries[i]];

		n_dead += entry->is_dead;
		n_rows += !entry->is_dead;
		n += of_value && !entry->is_dead && entry->has[0];
		sum += of_value && !entry->is_dead && entry->has[0] ? entry->value[0].integer : 0;
	}
	assert_true(got->n_rows == n_rows && got->n_dead == n_dead && got->values[0].n == n && got->values[0].sum == sum);
}

/* Folds go on from where the last one ended, across series where no times are asked for, whatever that one was asked for. */
static void folds_until_a_row_of_keys(void **state)
{
	static const struct iforest_request request[] = {
		{ .values = 1 }, { .values = 1, .no_mins = 1, .no_maxs = 1 }, { .values = 0 },
	};

	(void)state;
	for (unsigned round = 0; round < 40; round++) {
		struct fixture *f = malloc(sizeof *f);
		size_t at = 0;
		unsigned w = 0;

		assert_non_null(f);
		start(f, random_seed() + round, (enum sample_times)(round % SAMPLE_STYLES));
		for (unsigned i = 0; i < 200; i++) {
			struct iforest_key key = next_key(f, at);
			struct iforest_aggregate got;
			size_t to = lower_bound(f, &key);

			if (random_chance(&f->dice, 20))
				w = (unsigned)random_below(&f->dice, COUNT_OF(request));

			if (random_chance(&f->dice, at < f->n ? 5 : 50)) {
				struct iforest_key from = random_key(f);

				assert_ok(iforest_fold_seek(&f->fold, &from));
				at = lower_bound(f, &from);
			}
			iforest_aggregate_clear(&got, 1, &f->index.manifest.fields.accumulators);
			if (random_chance(&f->dice, 30))
				(random_chance(&f->dice, 30) ? iforest_fold_prefetch : iforest_fold_prefetch_cut)(&f->fold,
														  &key);
			assert_ok(iforest_fold_until(&f->fold, &key, &request[w], &got));
			/* a key that lies behind: nothing, and it stays */
			assert_folded(f, at, to > at ? to : at, request[w].values, &got);
			at = to > at ? to : at;
			assert_stands_at(f, at);
		}
		stop(f);
		free(f);
	}
}

/* A time of a series, or its end, not far behind entry i. */
static struct iforest_key time_after(struct fixture *f, size_t i)
{
	size_t later = i + random_below(&f->dice, random_chance(&f->dice, 80) ? 30 : 300);
	const struct iforest_key *key = &f->keys[later < f->n ? later : f->n - 1];

	if (key->series != f->keys[i].series || key->time_is_null)
		return iforest_key_nulls(f->keys[i].series);
	return iforest_key_at(key->series, key->time + (key->time < INT64_MAX && random_chance(&f->dice, 50)));
}

/* Windows, in one or more folds; of many only a few blocks are copied. */
static void folds_within_a_window(void **state)
{
	static const struct iforest_request request[] = { { .values = 1 }, { .values = 1, .no_mins = 1, .no_maxs = 1 } };
	unsigned n_excerpts = 0, n_pages = 0;

	(void)state;
	for (unsigned round = 0; round < 40; round++) {
		struct fixture *f = malloc(sizeof *f);

		assert_non_null(f);
		start(f, random_seed() + round, (enum sample_times)(round % SAMPLE_STYLES));
		for (unsigned i = 0; i < 200; i++) {
			size_t first = random_below(&f->dice, f->n), at;
			struct iforest_key to = time_after(f, first), from = f->keys[first], key;

			from = from.time_is_null || random_chance(&f->dice, 10) ? iforest_key_at(from.series, INT64_MIN)
									       : iforest_key_at(from.series, from.time);
			at = lower_bound(f, &from);
			assert_ok(iforest_fold_seek_before(&f->fold, &from, &to));
			n_excerpts += f->fold.cursor.excerpt.is_there;
			n_pages += !f->fold.cursor.excerpt.is_there;
			assert_stands_at(f, at);
			do {
				const struct iforest_request *asked = &request[random_below(&f->dice, COUNT_OF(request))];
				struct iforest_aggregate got;
				size_t end;

				key = at < f->n && f->keys[at].series == to.series ? time_after(f, at) : to;
				key = iforest_key_compare(&key, &to) < 0 ? key : to;
				end = lower_bound(f, &key);
				iforest_aggregate_clear(&got, 1, &f->index.manifest.fields.accumulators);
				assert_ok(iforest_fold_until(&f->fold, &key, asked, &got));
				assert_folded(f, at, end > at ? end : at, asked->values, &got);
				at = end > at ? end : at;
				assert_stands_at(f, at);
			} while (iforest_key_compare(&key, &to) < 0);
		}
		stop(f);
		free(f);
	}
	assert_true(n_excerpts > 500 && n_pages > 500);
}

/* Removed on the page and not yet in its node, as while others remove. */
static void a_page_with_fewer_entries_than_its_node_is_folded(void **state)
{
	static const struct iforest_request request = { .values = 1, .no_mins = 1, .no_maxs = 1 };
	struct sample_index index;
	const struct iforest_run *run;
	struct iforest_fold fold;
	struct iforest_aggregate got;
	struct iforest_page_write write = { .index = 0 };
	struct iforest_key from = iforest_key_at(0, 5), to = iforest_key_at(0, 20);
	uint8_t copy[1024];

	(void)state;
	sample_start(&index, &shape);
	for (int64_t i = 0; i < 5000; i++) {
		struct oracle_entry *entry = sample_append(&index, 0, 0, i, i);

		entry->has[0] = true;
		entry->value[0].integer = i;
	}
	assert_ok(sample_build(&index, 0));
	run = index.manifest.runs;
	iforest_fold_init(&fold, &index.store, &index.manifest, run);
	assert_ok(iforest_fold_seek(&fold, &from));
	memcpy(copy, fold.cursor.path[0].page.bytes, fold.cursor.leaf.header.length);
	iforest_leaf_remove(copy, &fold.cursor.leaf.header, 0, 7);
	iforest_page_finish(copy, &fold.cursor.leaf.header);
	write.n_bytes = fold.cursor.leaf.header.length;
	write.bytes = copy;
	iforest_fold_release(&fold);
	assert_ok(index.store.pager->write(index.store.pager->context, &run->place, &write, 1));
	for (unsigned is_placed = 0; is_placed < 2; is_placed++) {
		from.time = is_placed ? 5 : 0;
		assert_ok(iforest_fold_seek(&fold, &from));
		iforest_aggregate_clear(&got, 1, &index.manifest.fields.accumulators);
		assert_ok(iforest_fold_until(&fold, &to, &request, &got));
		assert_true(got.n_rows == (uint64_t)(20 - from.time - 1) && got.n_dead == 1 && got.values[0].n == got.n_rows &&
			    got.values[0].sum == (from.time + 19) * (20 - from.time) / 2 - 7);
	}
	iforest_fold_release(&fold);
	sample_stop(&index);
}

enum { ALL_COLUMNS = 1u << IFOREST_TIMES | 1u << IFOREST_REFS | 1u << IFOREST_VALUES };

/* The block the cursor stands in has entries [i - cursor.entry, ...) of the run, with what the oracle says of them. */
static unsigned assert_block_at(struct fixture *f, size_t i)
{
	const struct iforest_block *block;

	assert_ok(iforest_cursor_block(&f->fold.cursor, ALL_COLUMNS, &block));
	if (i == f->n) {
		assert_null(block);
		return 0;
	}
	assert_non_null(block);
	assert_true(f->fold.cursor.entry < block->n && i >= f->fold.cursor.entry && i - f->fold.cursor.entry + block->n <= f->n);
	for (unsigned k = 0; k < block->n; k++) {
		size_t at = i - f->fold.cursor.entry + k;
		const struct iforest_key *key = &f->keys[at];
		const struct oracle_entry *entry = &f->index.oracle.entries[f->entries[at]];

		assert_true(block->series == key->series && block->time_is_null == key->time_is_null &&
			    block->times[k] == key->time && block->refs[k] == key->ref &&
			    (block->dead >> k & 1) == entry->is_dead);
		assert_int_equal(block->present[0] >> k & 1, entry->has[0]);
		if (entry->has[0])
			assert_true(block->values[0][k] == entry->value[0].integer);
	}
	return block->n;
}

static void blocks_come_one_after_the_other(void **state)
{
	struct fixture *f = malloc(sizeof *f);
	size_t n = 0;

	(void)state;
	assert_non_null(f);
	start(f, random_seed(), SAMPLE_STEADY);
	while (n < f->n) {
		n += assert_block_at(f, n);
		assert_ok(iforest_cursor_next(&f->fold.cursor));
	}
	for (unsigned again = 0; again < 2; again++) { /* the end is the end */
		assert_block_at(f, n);
		assert_ok(iforest_cursor_next(&f->fold.cursor));
	}
	stop(f);
	free(f);
}

static void blocks_come_backward_from_the_end(void **state)
{
	struct fixture *f = malloc(sizeof *f);
	struct iforest_key after = iforest_key_at((uint64_t)UINT32_MAX + 1, INT64_MIN);
	size_t at;
	bool at_start;

	(void)state;
	assert_non_null(f);
	start_with(f, random_seed() + 1, SAMPLE_STEADY, 2000);
	assert_in_range(f->index.manifest.runs[0].n_leaves, 10, UINT32_MAX);
	assert_ok(iforest_fold_seek(&f->fold, &after));
	for (at = f->n;;) {
		const struct iforest_block *block;

		assert_ok(iforest_cursor_previous(&f->fold.cursor, &at_start));
		if (at_start)
			break;
		assert_int_equal(f->fold.cursor.entry, 0);
		assert_ok(iforest_cursor_block(&f->fold.cursor, 0, &block));
		at -= block->n;
		assert_block_at(f, at);
	}
	assert_int_equal(at, 0);
	assert_block_at(f, 0); /* it stays */
	stop(f);
	free(f);
}

/* Seeks to any key, then a walk of steps to and fro. */
static void walks_in_both_directions(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		struct fixture *f = malloc(sizeof *f);

		assert_non_null(f);
		start(f, random_seed() + round, (enum sample_times)(round % SAMPLE_STYLES));
		for (unsigned i = 0; i < 60; i++) {
			struct iforest_key key = random_key(f);
			size_t at = lower_bound(f, &key);

			assert_ok(iforest_fold_seek(&f->fold, &key));
			for (unsigned step = 0; step < 12; step++) {
				unsigned n = assert_block_at(f, at), entry = f->fold.cursor.entry;
				bool is_first = f->fold.cursor.block == 0 && f->fold.cursor.leaf_number == 0, at_start;

				if (random_chance(&f->dice, 50)) {
					assert_ok(iforest_cursor_next(&f->fold.cursor));
					at += n - (n ? entry : 0);
				} else {
					assert_ok(iforest_cursor_previous(&f->fold.cursor, &at_start));
					assert_int_equal(at_start, is_first);
					if (at_start)
						continue;
					at -= n ? entry : 0;
					assert_ok(iforest_cursor_block(&f->fold.cursor, 0, &(const struct iforest_block *){ NULL }));
					at -= f->fold.cursor.reader.block.n;
				}
				assert_int_equal(f->fold.cursor.entry, 0);
			}
		}
		stop(f);
		free(f);
	}
}

/* A step reads a page only where it leaves one. */
static void a_walk_reads_each_page_once(void **state)
{
	struct fixture *f = malloc(sizeof *f);
	bool at_start = false;
	size_t n = 0;

	(void)state;
	assert_non_null(f);
	start_with(f, random_seed() + 1, SAMPLE_STEADY, 2000);
	while (n < f->n) {
		n += assert_block_at(f, n);
		assert_ok(iforest_cursor_next(&f->fold.cursor));
	}
	assert_int_equal(f->fold.cursor.n_pages_opened, f->index.manifest.runs[0].n_leaves);
	while (!at_start)
		assert_ok(iforest_cursor_previous(&f->fold.cursor, &at_start));
	assert_int_equal(f->fold.cursor.n_pages_opened, 2 * f->index.manifest.runs[0].n_leaves - 1); /* the last was still held */
	stop(f);
	free(f);
}

static void at_most_a_page_a_level_is_held(void **state)
{
	struct fixture *f = malloc(sizeof *f);

	(void)state;
	assert_non_null(f);
	start(f, random_seed() + 3, SAMPLE_WIDE);
	for (unsigned i = 0; i < 100; i++) {
		struct iforest_key key = random_key(f);

		assert_ok(iforest_fold_seek(&f->fold, &key));
		assert_in_range(f->index.memory.n_pages_pinned, 1, f->index.manifest.runs[0].n_levels + 1);
	}
	iforest_fold_release(&f->fold);
	assert_int_equal(f->index.memory.n_pages_pinned, 0);
	assert_stands_at(f, 0); /* and it can be used again */
	stop(f);
	free(f);
}

/* Errors of the pager come through, hold nothing extra, and the same call succeeds later. */
static void a_get_that_fails_is_reported(void **state)
{
	struct fixture *f = malloc(sizeof *f);

	(void)state;
	assert_non_null(f);
	start(f, random_seed() + 4, SAMPLE_WIDE);
	for (unsigned nth = 1; nth <= f->index.manifest.runs[0].n_levels + 1; nth++) {
		struct iforest_key key = f->keys[f->n / 2], low = iforest_key_at(key.series, INT64_MIN);

		iforest_fold_release(&f->fold);
		f->index.pager.fail_get_at = f->index.pager.n_gets + nth;
		assert_status(iforest_fold_seek(&f->fold, &key), IFOREST_IO);
		iforest_fold_release(&f->fold);
		f->index.pager.fail_get_at = f->index.pager.n_gets + nth;
		assert_status(iforest_fold_seek_before(&f->fold, &low, &low), IFOREST_IO);
		f->index.pager.fail_get_at = 0;
		assert_ok(iforest_fold_seek(&f->fold, &key));
		assert_stands_at(f, lower_bound(f, &key));
	}
	stop(f);
	free(f);
}

/* Says of a node that its entries come later than any other, and makes the page's checksum right again. */
static void forge_bounds(struct fixture *f, uint64_t leaf)
{
	const struct iforest_manifest *manifest = &f->index.manifest;
	const struct iforest_run *run = &manifest->runs[0];
	uint64_t number = leaf / manifest->fanout;
	struct iforest_page_header header;
	const char *what;
	uint32_t *n_bytes;
	uint8_t *page = iforest_pager_memory_bytes(&f->index.memory, run->place.location,
						   iforest_run_page_index(manifest, run, 1, number), &n_bytes);
	uint8_t *node;

	assert_non_null(page);
	assert_ok(iforest_page_check(page, *n_bytes, run->place.run_id, 1, (uint32_t)number, false, &header, &what));
	node = page + IFOREST_PAGE_HEADER + leaf % manifest->fanout * manifest->fields.node_bytes;
	iforest_store32(node, UINT32_MAX);
	iforest_store32(node + IFOREST_NODE_LAST_SERIES, UINT32_MAX);
	iforest_page_finish(page, &header);
}

static enum iforest_filter_class some_of_node(void *context, const uint8_t *node)
{
	(void)context;
	(void)node;
	return IFOREST_COUNTS_SOME;
}

static enum iforest_status all_of_entries(void *context, struct iforest_block_reader *reader, uint64_t *live)
{
	(void)context;
	(void)reader;
	(void)live;
	return IFOREST_OK;
}

/* Nodes that claim to lie after those that follow, among those that a fold passes in a row. */
static void nodes_out_of_order_are_reported(void **state)
{
	static const struct iforest_filter filter = { .of_node = some_of_node, .of_entries = all_of_entries };
	static const struct iforest_request request = { .values = 1, .filter = &filter };
	struct fixture *f = malloc(sizeof *f);
	unsigned n_reported = 0;

	(void)state;
	assert_non_null(f);
	start_with(f, random_seed() + 5, SAMPLE_WIDE, 3000);
	for (unsigned leaf = 1; leaf + 1 < f->index.manifest.fanout && leaf + 1 < f->index.manifest.runs[0].n_leaves; leaf++) {
		struct iforest_key key = f->keys[f->n / 2];
		struct iforest_aggregate got;
		enum iforest_status status;

		iforest_fold_release(&f->fold);
		forge_bounds(f, leaf);
		iforest_aggregate_clear(&got, 1, &f->index.manifest.fields.accumulators);
		status = iforest_fold_until(&f->fold, &key, &request, &got);
		if (status) {
			assert_status(status, IFOREST_CORRUPT);
			assert_string_equal(f->index.store.fault.what, "entries are out of order");
			n_reported++;
		}
	}
	assert_in_range(n_reported, 1, UINT64_MAX);
	stop(f);
	free(f);
}

/* A node page that ends before the next one goes on, where a fold opens every leaf page. */
static void too_few_nodes_are_reported(void **state)
{
	static const struct iforest_filter filter = { .of_node = some_of_node, .of_entries = all_of_entries };
	static const struct iforest_request request = { .values = 1, .filter = &filter };
	struct fixture *f = malloc(sizeof *f);
	struct iforest_key end = iforest_key_at((uint64_t)UINT32_MAX + 1, INT64_MIN);
	const struct iforest_manifest *manifest;
	const struct iforest_run *run;
	struct iforest_aggregate got;
	uint32_t *n_bytes;
	uint8_t *page;

	(void)state;
	assert_non_null(f);
	start_with(f, random_seed() + 6, SAMPLE_WIDE, 9000);
	manifest = &f->index.manifest;
	run = &manifest->runs[0];
	assert_true(run->n_leaves > 2 * manifest->fanout);
	page = iforest_pager_memory_bytes(&f->index.memory, run->place.location, iforest_run_page_index(manifest, run, 1, 1),
					  &n_bytes);
	assert_non_null(page);
	*n_bytes = iforest_node_page_finish(page, &manifest->fields, run->place.run_id, 1, 1, manifest->fanout - 1);
	iforest_fold_release(&f->fold);
	iforest_aggregate_clear(&got, 1, &manifest->fields.accumulators);
	assert_status(iforest_fold_until(&f->fold, &end, &request, &got), IFOREST_CORRUPT);
	assert_string_equal(f->index.store.fault.what, "the page has too few nodes");
	assert_true(f->index.store.fault.level == 1 && f->index.store.fault.number == 1);
	stop(f);
	free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seeking_finds_the_first_entry_at_or_after),
		cmocka_unit_test(folds_until_a_row_of_keys),
		cmocka_unit_test(folds_within_a_window),
		cmocka_unit_test(a_page_with_fewer_entries_than_its_node_is_folded),
		cmocka_unit_test(blocks_come_one_after_the_other),
		cmocka_unit_test(blocks_come_backward_from_the_end),
		cmocka_unit_test(walks_in_both_directions),
		cmocka_unit_test(a_walk_reads_each_page_once),
		cmocka_unit_test(at_most_a_page_a_level_is_held),
		cmocka_unit_test(a_get_that_fails_is_reported),
		cmocka_unit_test(nodes_out_of_order_are_reported),
		cmocka_unit_test(too_few_nodes_are_reported),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
