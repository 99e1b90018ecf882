/* tests/core/query/test_split_scan.c -- Classes of the entries of ranges, by values and by steps of values, are those of the oracle's
 * entries. */
#include "core/query/split_scan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

static const struct sample_shape shape = { .page_bytes = 1024, .max_batch_pages = 4, .kinds = "sif", .duration = 0 };

/* ---- an index, and pending entries ---- */

struct sample {
	struct sample_index index;
	struct iforest_memtable memtable;
	unsigned pending; /* the group of its entries */
};

/* Gives column 1 few values, alike over stretches of a group. */
static void make_alike(struct sample_index *index, struct random *dice, unsigned group)
{
	int64_t value = 0;

	for (size_t i = 0; i < index->oracle.n_entries; i++) {
		struct oracle_entry *entry = &index->oracle.entries[i];

		if (entry->run != group)
			continue;
		if (random_chance(dice, group == 0 ? 1 : 50))
			value = (int64_t)random_below(dice, 7) - 3;
		entry->has[1] = value != 3;
		entry->value[1].integer = value;
	}
}

static void start(struct sample *sample, struct random *dice)
{
	struct sample_index *index = &sample->index;

	sample_start(index, &shape);
	index->seed = dice->seed;
	for (unsigned group = 0; group < 3; group++) {
		sample->pending = sample_entries(index, dice, group == 0 ? 12000 : 1500, 3, group == 0 ? SAMPLE_STEADY : SAMPLE_CROWDED);
		make_alike(index, dice, group);
		if (group < 2)
			assert_ok(sample_build(index, group));
	}
	sample_remove(index, dice, 1, 10);
	assert_ok(iforest_memtable_init(&sample->memtable, &index->store, &index->manifest.fields));
	for (size_t i = 0; i < index->oracle.n_entries; i++)
		if (index->oracle.entries[i].run == sample->pending) {
			struct iforest_entry entry = sample_entry(&index->oracle.entries[i]);

			assert_ok(iforest_batch_add(&sample->memtable.batch, &entry));
		}
}

static void stop(struct sample *sample)
{
	iforest_memtable_release(&sample->memtable);
	sample_stop(&sample->index);
}

/* ---- comparing ---- */

struct question {
	struct iforest_key from, to;
	struct iforest_request request;
	const struct iforest_split_column *columns;
	unsigned n_columns;
};

/* The step of a number by its definition: how many bounds it is above. */
static int64_t step_of(const struct sample *sample, const struct iforest_split_column *column, union oracle_number number)
{
	int64_t step = 0;

	for (unsigned b = 0; b < column->n_bounds; b++)
		step += sample->index.oracle.is_real[column->value]
				? isnan(number.real) || number.real > column->bounds[b].real
				: number.integer > column->bounds[b].integer;
	return step;
}

static bool is_of_class(const struct sample *sample, const struct question *question, const struct oracle_entry *entry,
			const struct iforest_split_class *class)
{
	for (unsigned c = 0; c < question->n_columns; c++) {
		const struct iforest_split_column *column = &question->columns[c];
		union oracle_number number = entry->value[column->value];
		bool is_null = class->nulls >> c & 1;

		if (is_null == entry->has[column->value])
			return false;
		if (!is_null && class->numbers[c].integer != (column->bounds ? step_of(sample, column, number) : number.integer))
			return false;
	}
	return true;
}

static bool is_asked(const struct sample *sample, const struct question *question, const struct oracle_entry *entry)
{
	struct iforest_key key = sample_key(entry);

	if (entry->is_dead || iforest_key_compare(&key, &question->from) < 0 || iforest_key_compare(&key, &question->to) >= 0)
		return false;
	return !question->request.filter || entry->run == sample->pending || entry->series == 0 || entry->ref % 2 != 0;
}

static uint64_t compare_class(const struct sample *sample, const struct question *question, const struct iforest_split_class *class)
{
	uint64_t n_rows = 0, n = 0;
	iforest_int128 sum = 0;
	int64_t least = INT64_MAX, first = INT64_MAX;

	for (size_t i = 0; i < sample->index.oracle.n_entries; i++) {
		const struct oracle_entry *entry = &sample->index.oracle.entries[i];

		if (!is_asked(sample, question, entry) || !is_of_class(sample, question, entry, class))
			continue;
		n_rows++;
		first = entry->time < first ? entry->time : first;
		if (!entry->has[0])
			continue;
		n++;
		sum += entry->value[0].integer;
		least = entry->value[0].integer < least ? entry->value[0].integer : least;
	}
	assert_true(n_rows > 0);
	assert_int_equal(class->aggregate->n_rows, n_rows);
	assert_int_equal(class->aggregate->values[0].n, n);
	assert_true(class->aggregate->values[0].sum == sum);
	assert_true(n == 0 || class->aggregate->values[0].min.value.integer == least);
	if (question->request.times)
		assert_int_equal(class->aggregate->first_time, first);
	return n_rows;
}

static void compare(struct sample *sample, struct iforest_scan *scan, const struct question *question, struct iforest_split *split)
{
	uint64_t n_rows = 0;

	iforest_split_clear(split);
	scan->request = question->request;
	assert_ok(iforest_scan_split(scan, &question->from, &question->to, &question->request, split));
	for (size_t i = 0; i < split->n; i++)
		n_rows += compare_class(sample, question, split->classes[i]);
	for (size_t i = 0; i < sample->index.oracle.n_entries; i++)
		n_rows -= is_asked(sample, question, &sample->index.oracle.entries[i]);
	assert_int_equal(n_rows, 0);
}

static const union iforest_number of_integers[] = { { .integer = -500 }, { .integer = 0 }, { .integer = 1000000 } };
static const union iforest_number of_reals[] = { { .real = -1.5 }, { .real = 0 }, { .real = INFINITY } };
static const struct iforest_split_column splits[][3] = {
	{ { .value = 1 } },
	{ { .value = 0, .bounds = of_integers, .n_bounds = 3 } },
	{ { .value = 1 }, { .value = 2, .bounds = of_reals, .n_bounds = 3 } },
	{ { .value = 2, .bounds = of_reals, .n_bounds = 2 }, { .value = 0, .bounds = of_integers, .n_bounds = 2 }, { .value = 1 } },
};
static const unsigned n_columns[] = { 1, 1, 2, 3 };
enum { N_SPLITS = 4 };

static struct question random_question(const struct sample *sample, struct random *dice, unsigned split)
{
	const struct oracle *oracle = &sample->index.oracle;
	struct question question = { .columns = splits[split], .n_columns = n_columns[split] };
	uint32_t series = (uint32_t)random_below(dice, 3);

	question.request = (struct iforest_request){ .values = 1, .filter = random_chance(dice, 40) ? &sample_odd_refs : NULL };
	if (random_chance(dice, 50)) { /* within a series */
		question.from = iforest_key_at(series, oracle->entries[random_below(dice, oracle->n_entries)].time);
		question.to = random_chance(dice, 50) ? iforest_key_nulls(series)
						      : iforest_key_at(series, oracle->entries[random_below(dice, oracle->n_entries)].time);
		question.request.times = random_chance(dice, 50);
	} else {
		question.from = random_chance(dice, 50) ? iforest_key_at(0, INT64_MIN)
							: sample_key(&oracle->entries[random_below(dice, oracle->n_entries)]);
		question.to = random_chance(dice, 50) ? iforest_key_at((uint64_t)UINT32_MAX + 1, INT64_MIN)
						      : sample_key(&oracle->entries[random_below(dice, oracle->n_entries)]);
	}
	return question;
}

static void any_range_is_the_oracles(void **state)
{
	(void)state;
	for (unsigned round = 0; round < random_rounds(3); round++) {
		struct random dice = random_from(random_seed() + round);
		struct sample sample;
		struct iforest_scan scan;

		start(&sample, &dice);
		assert_ok(iforest_scan_init(&scan, &sample.index.store, &sample.index.manifest));
		assert_ok(iforest_scan_join_memtable(&scan, &sample.memtable));
		for (unsigned s = 0; s < N_SPLITS; s++) {
			struct iforest_split split;

			iforest_split_init(&split, &sample.index.core_alloc.alloc, &sample.index.manifest.fields, splits[s], n_columns[s]);
			for (unsigned i = 0; i < 25; i++) {
				struct question question = random_question(&sample, &dice, s);

				compare(&sample, &scan, &question, &split);
			}
			iforest_split_release(&split);
		}
		iforest_scan_release(&scan);
		stop(&sample);
	}
}

/* Stretch by stretch, as an engine reads buckets: the scan passes a stretch, which is then split. */
static void stretches_are_the_oracles(void **state)
{
	struct random dice = random_from(random_seed());
	struct iforest_request nothing = { .values = 0 };
	struct iforest_aggregate *fold = calloc(1, sizeof *fold);
	struct iforest_split split;
	struct iforest_scan scan;
	struct sample sample;

	(void)state;
	start(&sample, &dice);
	assert_ok(iforest_scan_init(&scan, &sample.index.store, &sample.index.manifest));
	assert_ok(iforest_scan_join_memtable(&scan, &sample.memtable));
	iforest_split_init(&split, &sample.index.core_alloc.alloc, &sample.index.manifest.fields, splits[0], n_columns[0]);
	for (uint64_t series = 0; series < 3; series++) {
		int64_t time;
		bool found;

		scan.bucketing = (struct iforest_bucketing){ .mode = IFOREST_WHOLE };
		scan.request = nothing;
		assert_ok(iforest_scan_start(&scan, series));
		while (!iforest_scan_earliest(&scan, &time, &found) && found) {
			int64_t end = time + (int64_t)random_below(&dice, random_chance(&dice, 50) ? 5 : 500000);
			struct question question = { .from = iforest_key_at(series, time),
						     .to = iforest_key_at(series, end + 1),
						     .request = { .values = 1, .filter = &sample_odd_refs },
						     .columns = splits[0],
						     .n_columns = n_columns[0] };

			assert_ok(iforest_scan_through(&scan, end, &nothing, fold));
			compare(&sample, &scan, &question, &split);
			scan.request = nothing;
		}
	}
	iforest_split_release(&split);
	iforest_scan_release(&scan);
	stop(&sample);
	free(fold);
}

/* ---- what it costs ---- */

static void nodes_of_one_class_are_not_opened(void **state)
{
	static const union iforest_number beyond = { .integer = INT64_MAX };
	static const struct iforest_split_column one = { .value = 0, .bounds = &beyond, .n_bounds = 1 };
	struct random dice = random_from(random_seed());
	struct iforest_key from = iforest_key_at(0, INT64_MIN), to = iforest_key_at((uint64_t)UINT32_MAX + 1, INT64_MIN);
	struct iforest_request request = { .values = 1 };
	struct sample_index index;
	struct iforest_split split;
	struct iforest_scan scan;

	(void)state;
	sample_start(&index, &shape);
	sample_entries(&index, &dice, 8000, 2, SAMPLE_STEADY);
	for (size_t i = 0; i < index.oracle.n_entries; i++)
		index.oracle.entries[i].has[0] = true;
	assert_ok(sample_build(&index, 0));
	assert_ok(iforest_scan_init(&scan, &index.store, &index.manifest));
	iforest_split_init(&split, &index.core_alloc.alloc, &index.manifest.fields, &one, 1);
	assert_ok(iforest_scan_split(&scan, &from, &to, &request, &split));
	assert_int_equal(split.n, 1);
	assert_int_equal(split.classes[0]->aggregate->n_rows, 8000);
	assert_int_equal(iforest_scan_leaf_pages(&scan), 0);
	iforest_split_release(&split);
	iforest_scan_release(&scan);
	sample_stop(&index);
}

static void no_memory_leaks_nothing(void **state)
{
	struct random dice = random_from(random_seed());
	struct iforest_key from = iforest_key_at(0, INT64_MIN), to = iforest_key_at((uint64_t)UINT32_MAX + 1, INT64_MIN);
	struct iforest_request request = { .values = 1 };
	enum iforest_status status = IFOREST_NO_MEMORY;
	struct sample sample;

	(void)state;
	start(&sample, &dice);
	for (unsigned long fail_at = 1; status; fail_at++) {
		struct alloc_fault fault;
		struct iforest_split split;
		struct iforest_scan scan;

		alloc_fault_init(&fault);
		fault.fail_at = fail_at;
		assert_ok(iforest_scan_init(&scan, &sample.index.store, &sample.index.manifest));
		iforest_split_init(&split, &fault.alloc, &sample.index.manifest.fields, splits[2], n_columns[2]);
		status = iforest_scan_split(&scan, &from, &to, &request, &split);
		assert_true(status == IFOREST_NO_MEMORY || (!status && fail_at > 20 && split.n > 10));
		iforest_split_release(&split);
		iforest_scan_release(&scan);
		assert_int_equal(fault.n_live, 0);
	}
	stop(&sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_range_is_the_oracles),
		cmocka_unit_test(stretches_are_the_oracles),
		cmocka_unit_test(nodes_of_one_class_are_not_opened),
		cmocka_unit_test(no_memory_leaks_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
