#include "core/run/memtable.h"

#include <stdlib.h>

#include "core/query/scan.h"
#include "core/query/sketch_scan.h"
#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

static const struct sample_shape shapes[] = {
	{ .page_bytes = 1024, .max_batch_pages = 4, .kinds = "sf", .duration = 0 },
	{ .page_bytes = 4096, .max_batch_pages = 16, .kinds = "i", .duration = ORACLE_NONE },
	{ .page_bytes = 2048, .max_batch_pages = 2, .fixed_pages = true, .kinds = "fhp", .duration = 1, .has_blocks = true },
};

/* An index of some runs, and a memtable beside it. */
struct pending {
	struct sample_index index;
	struct iforest_memtable memtable;
};

static void start(struct pending *pending, const struct sample_shape *shape)
{
	sample_start(&pending->index, shape);
	assert_ok(iforest_memtable_init(&pending->memtable, &pending->index.store, &pending->index.manifest.fields));
	pending->index.memtable = &pending->memtable;
}

static void stop(struct pending *pending)
{
	iforest_memtable_release(&pending->memtable);
	sample_stop(&pending->index);
}

/* Adds the entries of a group, in any order. */
static enum iforest_status add_group(struct pending *pending, struct random *dice, unsigned group)
{
	const struct oracle *oracle = &pending->index.oracle;
	size_t n = 0, *order = malloc((oracle->n_entries + 1) * sizeof *order);
	enum iforest_status status = IFOREST_OK;

	assert_non_null(order);
	for (size_t i = 0; i < oracle->n_entries; i++)
		if (oracle->entries[i].run == group)
			order[n++] = i;
	for (size_t i = 0; i < n && !status; i++) {
		size_t j = i + (size_t)random_below(dice, random_chance(dice, 50) ? n - i : 1), taken = order[j];
		struct iforest_entry entry = sample_entry(&oracle->entries[taken]);

		order[j] = order[i];
		status = iforest_batch_add(&pending->memtable.batch, &entry);
	}
	free(order);
	return status;
}

/* A new group of n entries at most, of which the index makes a run, or which are pending. */
static unsigned make_group(struct pending *pending, struct random *dice, size_t n, bool is_pending)
{
	unsigned group = sample_entries(&pending->index, dice, 1 + (size_t)random_below(dice, n),
					1 + (unsigned)random_below(dice, 5),
					(enum sample_times)random_below(dice, SAMPLE_STYLES));

	if (is_pending)
		assert_ok(add_group(pending, dice, group));
	else
		assert_ok(sample_build(&pending->index, group));
	return group;
}

/* Each run in memory is larger than all that come after it. */
static void assert_doubling(const struct iforest_memtable *memtable)
{
	const struct iforest_manifest *manifest = &memtable->manifest;

	for (uint32_t r = 1; r < manifest->n_runs; r++)
		assert_true(iforest_node_rows(manifest->runs[r - 1].root) > 2 * iforest_node_rows(manifest->runs[r].root));
}

static uint64_t rows_of(const struct iforest_memtable *memtable)
{
	uint64_t n = memtable->batch.n;

	for (uint32_t r = 0; r < memtable->manifest.n_runs; r++)
		n += iforest_node_rows(memtable->manifest.runs[r].root);
	return n;
}

/* Publishes everything pending as a run, after which the memtable is empty. */
static enum iforest_status flush(struct pending *pending)
{
	struct sample_index *index = &pending->index;
	struct iforest_run run;
	uint64_t n_bytes = iforest_pager_memory_total(&index->memory);
	enum iforest_status status =
		iforest_memtable_flush(&pending->memtable, &index->store, &index->manifest, &run);

	if (!status)
		return sample_add_run(index, &run);
	/* nothing is left of the run */
	assert_int_equal(iforest_pager_memory_total(&index->memory), n_bytes);
	return status;
}

/* A batch, runs in memory and both answer as the oracle does, and so does the run that they become. */
static void pending_entries_are_answered_for(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(60); round++) {
		struct random dice = random_from(random_seed() + round);
		struct pending pending;
		size_t n = random_chance(&dice, 30) ? 5 : 700;
		uint64_t n_pending = 0;

		start(&pending, &shapes[random_below(&dice, COUNT_OF(shapes))]);
		pending.index.seed = dice.seed;
		for (unsigned step = 0; step < 4; step++) {
			bool is_pending = random_chance(&dice, 75);
			size_t n_before = pending.index.oracle.n_entries;

			make_group(&pending, &dice, n, is_pending);
			n_pending += is_pending ? pending.index.oracle.n_entries - n_before : 0;
			if (random_chance(&dice, 50))
				assert_ok(iforest_memtable_build(&pending.memtable));
			assert_doubling(&pending.memtable);
			assert_int_equal(rows_of(&pending.memtable), n_pending);
			sample_compare_many(&pending.index, &dice, 10);
		}
		assert_ok(flush(&pending));
		pending.index.memtable = NULL;
		sample_check(&pending.index);
		sample_compare_many(&pending.index, &dice, 10);
		stop(&pending);
	}
}

/* ---- stretch by stretch, and sketches ---- */

/* The same entries as a batch and as runs: two scans that must agree in everything. */
struct pair {
	struct pending batch, runs;
	struct iforest_scan scans[2];
	struct iforest_aggregate folds[2];
};

static void start_pair(struct pair *pair, struct random *dice)
{
	struct pending *both[] = { &pair->batch, &pair->runs };
	struct random same = *dice;

	for (int i = 0; i < 2; i++) {
		*dice = same;
		start(both[i], &shapes[0]);
		make_group(both[i], dice, 200, false);
		make_group(both[i], dice, 200, true);
		if (i == 1)
			assert_ok(iforest_memtable_build(&both[i]->memtable));
		assert_ok(iforest_scan_init(&pair->scans[i], &both[i]->index.store, &both[i]->index.manifest));
		assert_ok(iforest_scan_join_memtable(&pair->scans[i], &both[i]->memtable));
	}
}

static void stop_pair(struct pair *pair)
{
	iforest_scan_release(&pair->scans[0]);
	iforest_scan_release(&pair->scans[1]);
	stop(&pair->batch);
	stop(&pair->runs);
}

static void assert_same_folds(const struct pair *pair)
{
	const struct iforest_aggregate *a = &pair->folds[0], *b = &pair->folds[1];
	const struct iforest_accumulators *accumulators = &pair->batch.index.manifest.fields.accumulators;

	assert_int_equal(a->n_rows, b->n_rows);
	assert_int_equal(a->has_times, b->has_times);
	assert_true(!a->has_times || (a->first_time == b->first_time && a->last_time == b->last_time));
	assert_true(a->values[0].n == b->values[0].n && a->values[0].sum == b->values[0].sum);
	assert_true(a->values[0].min.ref == b->values[0].min.ref && a->values[0].max.ref == b->values[0].max.ref);
	assert_true(a->values[0].first.ref == b->values[0].first.ref && a->values[0].last.ref == b->values[0].last.ref);
	for (unsigned i = 0; i < accumulators->n; i++)
		assert_memory_equal(a->words + accumulators->list[i].word, b->words + accumulators->list[i].word,
				    8 * accumulators->list[i].n_words);
}

static void clear_folds(struct pair *pair)
{
	for (int i = 0; i < 2; i++)
		iforest_aggregate_clear(&pair->folds[i], 2, &pair->batch.index.manifest.fields.accumulators);
}

/* From one time to the next, as engines go that find the ends of buckets themselves. */
static void pass_series(struct pair *pair, struct random *dice, uint64_t series)
{
	static const struct iforest_request all = { .values = 3, .accumulators = UINT32_MAX, .firsts = 3, .lasts = 3, .times = true },
					    timeless = { .values = 3 };
	int64_t times[2], until = (int64_t)random_next(dice);
	bool found[2];

	for (int i = 0; i < 2; i++)
		assert_ok(iforest_scan_latest(&pair->scans[i], series, until, &times[i], &found[i]));
	assert_int_equal(found[0], found[1]);
	assert_true(!found[0] || times[0] == times[1]);
	for (int i = 0; i < 2; i++) {
		pair->scans[i].bucketing.window = (struct iforest_window){ .has_t0 = false };
		assert_ok(iforest_scan_start(&pair->scans[i], series));
	}
	for (;;) {
		for (int i = 0; i < 2; i++)
			assert_ok(iforest_scan_earliest(&pair->scans[i], &times[i], &found[i]));
		assert_int_equal(found[0], found[1]);
		if (!found[0])
			break;
		assert_true(times[0] == times[1]);
		clear_folds(pair);
		until = random_chance(dice, 50) ? times[0] : random_between(dice, times[0], INT64_MAX);
		for (int i = 0; i < 2; i++)
			assert_ok(iforest_scan_through(&pair->scans[i], until, &all, &pair->folds[i]));
		assert_same_folds(pair);
	}
	clear_folds(pair);
	for (int i = 0; i < 2; i++)
		assert_ok(iforest_scan_nulls(&pair->scans[i], &timeless, &pair->folds[i]));
	assert_same_folds(pair);
}

static void assert_same_sketches(struct pair *pair, struct random *dice)
{
	struct iforest_key from = iforest_key_at(random_below(dice, 3), (int64_t)random_next(dice)),
			   to = iforest_key_at(random_below(dice, 6), (int64_t)random_next(dice));
	struct iforest_digest sketches[2];
	struct pending *both[] = { &pair->batch, &pair->runs };

	for (int i = 0; i < 2; i++) {
		iforest_digest_init(&sketches[i], IFOREST_DIGEST_QUANTILES, &both[i]->index.core_alloc.alloc);
		assert_ok(iforest_scan_sketch(&pair->scans[i], &from, &to, 0, NULL, &sketches[i]));
	}
	assert_int_equal(sketches[0].as.quantiles.n, sketches[1].as.quantiles.n);
	iforest_digest_release(&sketches[0]);
	iforest_digest_release(&sketches[1]);
}

static void a_batch_is_scanned_as_runs_are(void **state)
{
	static const struct iforest_request all = { .values = 3 };

	(void)state;
	for (unsigned round = 0; round < random_rounds(60); round++) {
		struct random dice = random_from(random_seed() + round);
		struct pair *pair = malloc(sizeof *pair);

		assert_non_null(pair);
		start_pair(pair, &dice);
		for (uint64_t series = 0; series < 5; series++)
			pass_series(pair, &dice, series);
		clear_folds(pair);
		for (int i = 0; i < 2; i++)
			assert_ok(iforest_scan_everything(&pair->scans[i], &all, &pair->folds[i]));
		assert_same_folds(pair);
		for (int i = 0; i < 5; i++)
			assert_same_sketches(pair, &dice);
		stop_pair(pair);
		free(pair);
	}
}

/* ---- removal ---- */

static void runs_in_memory_lose_entries(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(40); round++) {
		struct random dice = random_from(random_seed() + round);
		struct pending pending;
		struct iforest_key *keys, absent = { .series = 77 };
		size_t *picked, n_picked, n_left = 0;
		unsigned group;

		start(&pending, &shapes[0]);
		pending.index.seed = dice.seed;
		make_group(&pending, &dice, 300, false);
		group = make_group(&pending, &dice, 300, true);
		assert_ok(iforest_memtable_build(&pending.memtable));
		n_picked = sample_pick(&pending.index, &dice, group, (unsigned)random_below(&dice, 101), &keys, &picked);
		if (n_picked > 0)
			assert_ok(iforest_memtable_remove(&pending.memtable, keys, n_picked));
		assert_status(iforest_memtable_remove(&pending.memtable, &absent, 1), IFOREST_NOT_FOUND);
		for (size_t i = 0; i < n_picked; i++)
			pending.index.oracle.entries[picked[i]].is_dead = true;
		sample_compare_many(&pending.index, &dice, 5);
		/* the flush leaves them out */
		for (size_t i = 0; i < pending.index.oracle.n_entries; i++)
			if (!pending.index.oracle.entries[i].is_dead)
				pending.index.oracle.entries[n_left++] = pending.index.oracle.entries[i];
		pending.index.oracle.n_entries = n_left;
		assert_ok(flush(&pending));
		pending.index.memtable = NULL;
		sample_check(&pending.index);
		sample_compare_many(&pending.index, &dice, 5);
		free(keys);
		free(picked);
		stop(&pending);
	}
}

static void equal_keys_are_refused(void **state)
{
	struct pending pending;
	struct iforest_entry entry = { .key = { .series = 1, .time = 5, .ref = 6 } };

	(void)state;
	start(&pending, &shapes[0]);
	for (int i = 0; i < 2; i++)
		assert_ok(iforest_batch_add(&pending.memtable.batch, &entry));
	assert_status(iforest_memtable_build(&pending.memtable), IFOREST_UNORDERED);
	stop(&pending);
}

/* ---- faults ---- */

/* Builds, joins and flushes with the n-th call of one kind broken. Returns whether it came to it. */
static bool breaks(unsigned kind, unsigned long n)
{
	struct random dice = random_from(random_seed());
	struct pending pending;
	struct iforest_scan scan;
	bool came;
	enum iforest_status status = IFOREST_OK;

	start(&pending, &shapes[0]);
	make_group(&pending, &dice, 100, false);
	make_group(&pending, &dice, 100, true);
	pending.index.core_alloc.fail_at = kind == 0 ? pending.index.core_alloc.n_calls + n : 0;
	pending.index.pager.fail_write_at = kind == 1 ? pending.index.pager.n_writes + n : 0;
	for (unsigned step = 0; step < 3 && !status; step++) {
		if (step > 0)
			status = add_group(&pending, &dice, sample_entries(&pending.index, &dice, 40, 3, SAMPLE_STEADY));
		if (!status && step < 2)
			status = iforest_memtable_build(&pending.memtable);
	}
	if (!status && !(status = iforest_scan_init(&scan, &pending.index.store, &pending.index.manifest))) {
		status = iforest_scan_join_memtable(&scan, &pending.memtable);
		iforest_scan_release(&scan);
	}
	if (!status)
		status = flush(&pending);
	came = kind == 0 ? pending.index.core_alloc.n_calls >= pending.index.core_alloc.fail_at
			 : pending.index.pager.n_writes >= pending.index.pager.fail_write_at;
	assert_int_equal(status != IFOREST_OK, came);
	assert_int_equal(pending.index.manifest.n_runs, came ? 1 : 2);
	stop(&pending);
	return came;
}

static void any_call_may_fail(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < 2; kind++) {
		unsigned long n = 1;

		while (breaks(kind, n))
			n++;
		assert_true(n > 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pending_entries_are_answered_for),
		cmocka_unit_test(a_batch_is_scanned_as_runs_are),
		cmocka_unit_test(runs_in_memory_lose_entries),
		cmocka_unit_test(equal_keys_are_refused),
		cmocka_unit_test(any_call_may_fail),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
