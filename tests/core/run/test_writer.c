#include "core/run/writer.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/run/cursor.h"
#include "core/run/layout.h"
#include "tests/support/harness.h"
#include "tests/support/sample_index.h"

static const struct sample_shape shape = { .page_bytes = 1024, .max_batch_pages = 4, .kinds = "if", .duration = 0 };

static struct iforest_run_writer *started(struct sample_index *index)
{
	struct iforest_run_writer *builder = malloc(sizeof *builder);

	assert_non_null(builder);
	assert_ok(iforest_run_writer_start(builder, &index->store, &index->manifest));
	return builder;
}

static struct iforest_entry entry_at(uint32_t series, int64_t time, int64_t ref)
{
	return (struct iforest_entry){ .key = { .series = series, .time = time, .ref = ref },
				       .present = 1,
				       .values[0].integer = time };
}

/* Builds n simple entries; gives the run. */
static struct iforest_run build(struct sample_index *index, int64_t n)
{
	struct iforest_run_writer *builder = started(index);
	struct iforest_run run;

	for (int64_t i = 0; i < n; i++) {
		struct iforest_entry entry = entry_at((uint32_t)(i / 1000), i * i, i * 31 % 1009);

		assert_ok(iforest_run_writer_add(builder, &entry));
	}
	assert_ok(iforest_run_writer_finish(builder, &run));
	free(builder);
	return run;
}

/* Each page stands at the index that arithmetic gives it, says who it is, and is at most a page long. */
static void pages_stand_where_layout_says(void **state)
{
	static const int64_t sizes[] = { 1, 64, 65, 500, 1500, 7000, 20000 };

	(void)state;
	for (unsigned s = 0; s < COUNT_OF(sizes); s++) {
		struct sample_index index;
		struct iforest_run run;
		unsigned n_levels;

		sample_start(&index, &shape);
		run = build(&index, sizes[s]);
		n_levels = iforest_node_levels(run.n_leaves, index.manifest.fanout);
		assert_int_equal(run.n_levels, n_levels);
		assert_false(run.removal_in_progress);
		for (unsigned level = 0; level <= n_levels; level++)
			for (uint64_t i = 0; i < iforest_pages_at(run.n_leaves, level, index.manifest.fanout); i++) {
				uint64_t at = iforest_run_page_index(&index.manifest, &run, level, i);
				uint32_t *n_bytes;
				const uint8_t *page =
					iforest_pager_memory_bytes(&index.memory, run.place.location, at, &n_bytes);

				assert_non_null(page);
				assert_true(page[22] == level && iforest_load32(page + 16) == i &&
					    iforest_load64(page + 8) == run.place.run_id);
				assert_in_range(*n_bytes, IFOREST_PAGE_HEADER + 1, 1024);
			}
		assert_null(iforest_pager_memory_bytes(&index.memory, run.place.location,
						       iforest_run_pages(&index.manifest, &run), NULL));
		assert_int_equal(index.memory.n_writes, iforest_run_pages(&index.manifest, &run)); /* each page once */
		assert_ok(sample_add_run(&index, &run));
		assert_int_equal(iforest_node_rows(run.root), sizes[s]);
		sample_stop(&index);
	}
}

static void entries_come_back_in_order(void **state)
{
	struct sample_index index;
	struct iforest_run run;
	struct iforest_cursor *cursor = malloc(sizeof *cursor);
	const struct iforest_block *block;
	int64_t n = 0;

	(void)state;
	assert_non_null(cursor);
	sample_start(&index, &shape);
	run = build(&index, 5000);
	iforest_cursor_init(cursor, &index.store, &index.manifest, &run);
	for (;;) {
		assert_ok(iforest_cursor_block(cursor, UINT32_MAX >> (32 - IFOREST_VALUES - 2), &block));
		if (!block)
			break;
		for (unsigned i = 0; i < block->n; i++, n++) {
			assert_true(block->series == (uint64_t)n / 1000 && block->times[i] == n * n &&
				    block->refs[i] == n * 31 % 1009);
			assert_true(block->values[0][i] == n * n && block->present[0] >> i & 1 &&
				    !(block->present[1] >> i & 1));
		}
		assert_ok(iforest_cursor_next(cursor));
	}
	assert_int_equal(n, 5000);
	iforest_cursor_release(cursor);
	free(cursor);
	sample_stop(&index);
}

static void disorder_is_refused_and_adds_nothing(void **state)
{
	struct sample_index index;
	struct iforest_run_writer *builder;
	struct iforest_run run;
	struct iforest_entry bad[] = { entry_at(1, 5, 5), entry_at(1, 5, 4), entry_at(1, 4, 9), entry_at(0, 9, 9) };
	struct iforest_entry good = entry_at(1, 5, 5), null = { .key = { .series = 1, .time_is_null = true, .ref = 1 } };

	(void)state;
	sample_start(&index, &shape);
	builder = started(&index);
	assert_ok(iforest_run_writer_add(builder, &good));
	for (unsigned i = 0; i < COUNT_OF(bad); i++)
		assert_status(iforest_run_writer_add(builder, &bad[i]), IFOREST_UNORDERED);
	assert_ok(iforest_run_writer_add(builder, &null));
	assert_status(iforest_run_writer_add(builder, &good), IFOREST_UNORDERED); /* a time after NULL */
	assert_ok(iforest_run_writer_finish(builder, &run));
	assert_int_equal(iforest_node_rows(run.root), 2);
	free(builder);
	sample_stop(&index);
}

static void without_entries_there_is_no_run(void **state)
{
	struct sample_index index;
	struct iforest_run_writer *builder;
	struct iforest_run run;

	(void)state;
	sample_start(&index, &shape);
	builder = started(&index);
	assert_ok(iforest_run_writer_finish(builder, &run));
	assert_int_equal(run.n_leaves, 0);
	assert_true(index.memory.n_writes == 0 && iforest_pager_memory_total(&index.memory) == 0);
	free(builder);
	sample_stop(&index);
}

static void abandoning_gives_everything_back(void **state)
{
	struct sample_index index;
	struct iforest_run_writer *builder;

	(void)state;
	sample_start(&index, &shape);
	builder = started(&index);
	for (int64_t i = 0; i < 3000; i++) {
		struct iforest_entry entry = entry_at(0, i * i * 77, i);

		assert_ok(iforest_run_writer_add(builder, &entry));
	}
	assert_true(iforest_pager_memory_total(&index.memory) > 0);
	iforest_run_writer_abandon(builder);
	assert_true(iforest_pager_memory_total(&index.memory) == 0 && index.core_alloc.n_live == 0);
	free(builder);
	sample_stop(&index);
}

/* Runs have ids of their own, below 2^63. */
static void run_ids_differ(void **state)
{
	struct sample_index index;
	struct iforest_run a, b;

	(void)state;
	sample_start(&index, &shape);
	a = build(&index, 10);
	b = build(&index, 10);
	assert_true(a.place.run_id != b.place.run_id && a.place.location != b.place.location);
	assert_true(a.place.run_id <= INT64_MAX && a.place.generation <= INT64_MAX);
	sample_stop(&index);
}

/* Pages are filled: entries that pack badly do not leave half of a page empty. */
static void pages_are_well_filled(void **state)
{
	struct sample_index index;
	struct iforest_run_writer *builder;
	struct random dice = random_from(random_seed());
	struct iforest_run run;

	(void)state;
	sample_start(&index, &shape);
	builder = started(&index);
	for (int64_t i = 0; i < 20000; i++) {
		struct iforest_entry entry = entry_at(0, i * 1000 + random_between(&dice, 0, 999), i);

		entry.values[0].integer = random_between(&dice, 0, INT64_MAX);
		assert_ok(iforest_run_writer_add(builder, &entry));
	}
	assert_ok(iforest_run_writer_finish(builder, &run));
	assert_true(iforest_pager_memory_total(&index.memory) > (uint64_t)run.n_leaves * 1024 * 80 / 100);
	free(builder);
	sample_stop(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_stand_where_layout_says),
		cmocka_unit_test(entries_come_back_in_order),
		cmocka_unit_test(disorder_is_refused_and_adds_nothing),
		cmocka_unit_test(without_entries_there_is_no_run),
		cmocka_unit_test(abandoning_gives_everything_back),
		cmocka_unit_test(run_ids_differ),
		cmocka_unit_test(pages_are_well_filled),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
