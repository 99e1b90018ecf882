/* Folds by what is left of pages, while ever more keys do not count, against the oracle; and what is read for them. */
#include "core/query/filtered_nodes.h"

#include <stdlib.h>

#include "core/base/bits.h"
#include "core/query/scan.h"
#include "core/query/fold.h"
#include "core/query/extremes.h"
#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

/* Keys that do not count, ascending. */
struct gone {
	struct iforest_key *keys;
	size_t n;
	uint64_t n_blocks;         /* of which entries were asked about */
	struct iforest_filtered_nodes filtered_nodes;
	struct iforest_filter filter;
	struct alloc_fault alloc;
};

static uint64_t n_gone(void *context, const uint8_t *node)
{
	const struct gone *gone = context;
	struct iforest_key first = iforest_node_first(node), last = iforest_node_last(node);
	uint64_t n = 0;

	for (size_t i = 0; i < gone->n; i++)
		n += iforest_key_compare(&gone->keys[i], &first) >= 0 && iforest_key_compare(&gone->keys[i], &last) <= 0;
	return n;
}

static enum iforest_filter_class of_node(void *context, const uint8_t *node)
{
	return n_gone(context, node) > 0 ? IFOREST_COUNTS_SOME : IFOREST_COUNTS_ALL;
}

static enum iforest_status of_entries(void *context, struct iforest_block_reader *reader, uint64_t *live)
{
	struct gone *gone = context;
	const struct iforest_block *block = &reader->block;
	enum iforest_status status = iforest_block_need(reader, IFOREST_TIMES);

	gone->n_blocks++;
	if (!status)
		status = iforest_block_need(reader, IFOREST_REFS);
	for (unsigned i = 0; i < block->n && !status; i++) {
		struct iforest_key key = { .series = block->series, .time_is_null = block->time_is_null,
					   .time = block->time_is_null ? 0 : block->times[i], .ref = block->refs[i] };
		uint64_t at = iforest_key_search(gone->keys, gone->n, &key);

		if (at < gone->n && iforest_key_compare(&gone->keys[at], &key) == 0)
			*live &= ~(UINT64_C(1) << i);
	}
	return status;
}

static void gone_start(struct gone *gone)
{
	*gone = (struct gone){ .n = 0 };
	alloc_fault_init(&gone->alloc);
	iforest_filtered_nodes_init(&gone->filtered_nodes, &gone->alloc.alloc);
	gone->filter = (struct iforest_filter){ .context = gone, .of_node = of_node, .of_entries = of_entries,
						.filtered_nodes = &gone->filtered_nodes, .n_excluded = n_gone };
}

static void gone_stop(struct gone *gone)
{
	iforest_filtered_nodes_release(&gone->filtered_nodes);
	assert_int_equal(gone->alloc.n_live, 0);
	free(gone->keys);
}

static int compare_keys(const void *left, const void *right)
{
	return iforest_key_compare(left, right);
}

/* Some more do not count: to the oracle they are dead. Some of them are no entry's. */
static void take_out(struct gone *gone, struct sample_index *index, struct random *dice, unsigned percent)
{
	size_t n = index->oracle.n_entries;

	gone->keys = realloc(gone->keys, (gone->n + n) * sizeof *gone->keys + 1);
	assert_non_null(gone->keys);
	for (size_t i = 0; i < n; i++) {
		struct oracle_entry *entry = &index->oracle.entries[i];
		bool is_odd = random_chance(dice, 3);

		if (entry->is_dead || !random_chance(dice, percent))
			continue;
		gone->keys[gone->n] = sample_key(entry);
		gone->keys[gone->n++].ref ^= is_odd ? INT64_C(1) << 40 : 0;
		entry->is_dead = !is_odd;
	}
	qsort(gone->keys, gone->n, sizeof *gone->keys, compare_keys);
	iforest_filtered_nodes_outdate(&gone->filtered_nodes);
}

static void take_out_one(struct gone *gone, struct sample_index *index, size_t i)
{
	gone->keys[gone->n++] = sample_key(&index->oracle.entries[i]);
	index->oracle.entries[i].is_dead = true;
	qsort(gone->keys, gone->n, sizeof *gone->keys, compare_keys);
	iforest_filtered_nodes_outdate(&gone->filtered_nodes);
}

static void fill(struct sample_index *index, struct random *dice)
{
	static const struct sample_shape shapes[] = {
		{ .page_bytes = 1024, .max_batch_pages = 4, .kinds = "i", .duration = 0 },
		{ .page_bytes = 1024, .max_batch_pages = 4, .kinds = "", .duration = ORACLE_NONE, .has_blocks = true },
		{ .page_bytes = 2048, .max_batch_pages = 4, .kinds = "fis", .duration = 1 },
		{ .page_bytes = 1024, .max_batch_pages = 4, .kinds = "hs", .duration = 0 },
		{ .page_bytes = 1024, .max_batch_pages = 4, .kinds = "p", .duration = 0 },
	};
	unsigned n_series = 1 + (unsigned)random_below(dice, 3);

	sample_start(index, &shapes[random_below(dice, COUNT_OF(shapes))]);
	if (random_chance(dice, 50))
		pager_fault_lend(&index->pager);
	for (unsigned r = 0; r < 2; r++) {
		unsigned group = sample_entries(index, dice, random_below(dice, 6000), n_series,
						(enum sample_times)random_below(dice, SAMPLE_STYLES));

		assert_ok(sample_build(index, group));
		if (sample_run(index, group) < index->manifest.n_runs && random_chance(dice, 50))
			sample_remove(index, dice, group, (unsigned)random_below(dice, 30));
	}
}

static void ask(struct sample_index *index, struct random *dice, const struct gone *gone)
{
	struct oracle_question question = sample_question(index, dice);
	struct iforest_request request = sample_wanted(dice, index);

	if (random_chance(dice, 30))
		request = (struct iforest_request){ .values = iforest_low_bits(index->oracle.n_values), .extremes_alone = true };
	else if (random_chance(dice, 50) || gone->alloc.fail_at > 0) /* rows need memory: the others do without */
		request.firsts = request.lasts = 0, request.times = false;
	if (random_chance(dice, 20)) /* sums of integers alone */
		request = (struct iforest_request){ .values = index->oracle.n_values > 0, .no_mins = 1, .no_maxs = 1 };
	request.filter = gone->n > 0 ? &gone->filter : NULL;
	if (question.mode == ORACLE_COUNT && random_chance(dice, 80))
		question.n = 1 + (int64_t)random_below(dice, 40);
	sample_compare(index, &question, &request);
}

/* A fold that stands still while others ask, and perhaps forget. */
struct halves {
	struct iforest_fold fold;
	struct iforest_aggregate aggregate;
};

static void fold_to(struct halves *halves, const struct gone *gone, uint64_t series)
{
	struct iforest_request request = { .values = 0, .filter = gone->n > 0 ? &gone->filter : NULL };
	struct iforest_key to = iforest_key_at(series, 700);

	assert_ok(iforest_fold_until(&halves->fold, &to, &request, &halves->aggregate));
}

static void begin_halves(struct halves *halves, struct sample_index *index, const struct gone *gone)
{
	iforest_fold_init(&halves->fold, &index->store, &index->manifest, &index->manifest.runs[0]);
	iforest_aggregate_clear(&halves->aggregate, index->manifest.fields.n_values, &index->manifest.fields.accumulators);
	fold_to(halves, gone, 0);
}

static void end_halves(struct halves *halves, const struct sample_index *index, const struct gone *gone)
{
	uint64_t n_rows = 0;

	fold_to(halves, gone, (uint64_t)UINT32_MAX + 1);
	for (size_t i = 0; i < index->oracle.n_entries; i++)
		n_rows += !index->oracle.entries[i].is_dead &&
			  sample_run(index, index->oracle.entries[i].run) == 0;
	assert_int_equal(halves->aggregate.n_rows, n_rows);
	iforest_fold_release(&halves->fold);
}

static void one_round(uint64_t seed, uint64_t *n_blocks)
{
	static const size_t most[] = { 0, 3000, 30000, IFOREST_FILTERED_NODES_BYTES };
	struct random dice = random_from(seed);
	struct sample_index index;
	struct gone gone;
	struct halves halves;

	fill(&index, &dice);
	index.seed = seed;
	gone_start(&gone);
	gone.filtered_nodes.most_bytes = most[random_below(&dice, COUNT_OF(most))];
	for (unsigned step = 0; step < 6 && index.manifest.n_runs > 0; step++) {
		if (random_chance(&dice, 70))
			take_out(&gone, &index, &dice, (unsigned)random_below(&dice, 3) * 5);
		gone.alloc.fail_at = random_chance(&dice, 20) ? gone.alloc.n_calls + random_below(&dice, 20) : 0;
		begin_halves(&halves, &index, &gone);
		for (unsigned q = 0; q < 12; q++) {
			gone.filtered_nodes.is_fixed = random_chance(&dice, 15);
			ask(&index, &dice, &gone);
		}
		gone.filtered_nodes.is_fixed = false;
		end_halves(&halves, &index, &gone);
	}
	*n_blocks += gone.n_blocks;
	gone_stop(&gone);
	sample_stop(&index);
}

static void what_is_left_is_the_oracles(void **state)
{
	unsigned n_rounds = random_rounds(60);
	uint64_t n_blocks = 0;

	(void)state;
	for (unsigned r = 0; r < n_rounds; r++)
		one_round(random_seed() + r, &n_blocks);
	assert_true(n_blocks > 0);
}

/* One series, a time an entry, some of all pages gone. */
static void build(struct sample_index *index, struct gone *gone, int64_t n)
{
	struct random dice = random_from(random_seed());

	sample_start(index, &(struct sample_shape){
				    .page_bytes = 1024, .max_batch_pages = 4, .kinds = "i", .duration = ORACLE_NONE });
	for (int64_t i = 0; i < n; i++) {
		struct oracle_entry *entry = sample_append(index, 0, 0, i, i);

		entry->has[0] = true;
		entry->value[0].integer = (int64_t)random_below(&dice, 1000);
	}
	assert_ok(sample_build(index, 0));
	gone_start(gone);
	take_out(gone, index, &dice, 5);
}

/* Asks for [t0, t1), and gives how many blocks were asked about and leaf pages opened. */
static void read_for(struct sample_index *index, struct gone *gone, int64_t t0, int64_t t1, bool extremes, uint64_t *n_blocks,
		     uint64_t *n_leaf_pages)
{
	struct iforest_key from = iforest_key_at(0, t0), to = iforest_key_at(0, t1);
	struct iforest_request request = { .values = 1, .extremes_alone = extremes, .filter = &gone->filter };
	struct iforest_fold fold;
	struct iforest_aggregate aggregate;
	uint64_t before = gone->n_blocks, n_rows = 0;
	bool is_narrow;

	for (int64_t i = t0; i < t1; i++)
		n_rows += !index->oracle.entries[i].is_dead;
	iforest_fold_init(&fold, &index->store, &index->manifest, &index->manifest.runs[0]);
	iforest_aggregate_clear(&aggregate, 1, &index->manifest.fields.accumulators);
	if (extremes) {
		assert_ok(iforest_extremes_of_range(&fold, &from, &to, &request, &aggregate, &is_narrow));
	} else {
		assert_ok(iforest_fold_seek(&fold, &from));
		assert_ok(iforest_fold_until(&fold, &to, &request, &aggregate));
		assert_int_equal(aggregate.n_rows, n_rows);
	}
	*n_blocks = gone->n_blocks - before;
	*n_leaf_pages = fold.cursor.n_leaf_pages_opened;
	iforest_fold_release(&fold);
}

static void what_is_left_is_found_out_once(void **state)
{
	struct sample_index index;
	struct gone gone;
	int64_t n = 60000, one = n / 2;
	uint64_t n_blocks, n_leaf_pages;

	(void)state;
	build(&index, &gone, n);
	assert_true(index.manifest.runs[0].n_levels > 2);
	read_for(&index, &gone, 100, n - 100, false, &n_blocks, &n_leaf_pages);
	assert_true(n_leaf_pages > index.manifest.runs[0].n_leaves / 2);
	assert_true(n_blocks > 0);
	read_for(&index, &gone, 100, n - 100, false, &n_blocks, &n_leaf_pages);
	assert_int_equal(n_blocks, 0);
	assert_true(n_leaf_pages <= 2);
	read_for(&index, &gone, n / 3, n / 2, false, &n_blocks, &n_leaf_pages);
	assert_int_equal(n_blocks, 0);
	assert_true(n_leaf_pages <= 2);
	read_for(&index, &gone, n / 3, n / 2, true, &n_blocks, &n_leaf_pages);
	assert_int_equal(n_blocks, 0);
	assert_true(n_leaf_pages <= 2);
	/* one more that is gone: of its page alone is asked, and it is opened beside the two at the ends */
	while (index.oracle.entries[one].is_dead)
		one++;
	take_out_one(&gone, &index, (size_t)one);
	read_for(&index, &gone, 100, n - 100, false, &n_blocks, &n_leaf_pages);
	assert_in_range(n_blocks, 1, 64);
	assert_true(n_leaf_pages <= 3);
	gone_stop(&gone);
	sample_stop(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_left_is_the_oracles),
		cmocka_unit_test(what_is_left_is_found_out_once),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
