#include "core/query/iterator.h"

#include <stdlib.h>

#include "core/base/bits.h"
#include "core/run/layout.h"
#include "tests/support/harness.h"
#include "tests/support/sample_list.h"

static const struct sample_shape shape = { .page_bytes = 1024, .max_batch_pages = 4, .kinds = "i", .duration = 0 };

/* 4000 spans of two series, one every ten; every hundredth is long. */
static void build(struct sample_index *index)
{
	sample_start(index, &shape);
	for (unsigned i = 0; i < 4000; i++) {
		struct oracle_entry *entry = sample_append(index, 0, i / 2000, i % 2000 * 10, i);

		entry->has[0] = true;
		entry->value[0].integer = i % 100 == 50 ? 1000 + i : i % 7;
	}
	assert_ok(sample_build(index, 0));
}

static struct iforest_iterator_question whole_series(uint64_t series, bool descends)
{
	return (struct iforest_iterator_question){ .from = iforest_key_at(series, INT64_MIN), .to = iforest_key_nulls(series),
					       .descends = descends, .values = 1 };
}

/* All of a series: no page is opened twice. */
static void pages_are_opened_once(void **state)
{
	struct sample_index index;
	struct iforest_run_iterator walk;
	struct iforest_entry entry;
	bool found = true;

	(void)state;
	build(&index);
	iforest_run_iterator_init(&walk, &index.store, &index.manifest, &index.manifest.runs[0]);
	for (unsigned way = 0; way < 4; way++) {
		struct iforest_iterator_question question = whole_series(way / 2, way % 2);
		struct iforest_key bound;
		unsigned n = 0;

		walk.cursor.n_pages_opened = 0;
		iforest_run_iterator_start(&walk, &question);
		assert_true(iforest_run_iterator_may_begin(&walk, &bound));
		for (found = true; found; n += found) {
			assert_ok(iforest_run_iterator_next(&walk, &entry, &found));
			assert_true(!found || entry.key.time == (way % 2 ? 1999 - n : n) * 10);
		}
		assert_int_equal(n, 2000);
		/* the two series have about as many pages; and where it begins a path is opened beforehand */
		assert_in_range(walk.cursor.n_pages_opened, 1,
				iforest_run_pages(&index.manifest, walk.cursor.run) / 2 + 2 * walk.cursor.run->n_levels + 2);
		iforest_run_iterator_release(&walk);
	}
	sample_stop(&index);
}

static void what_cannot_match_is_not_begun(void **state)
{
	struct sample_index index;
	struct iforest_run_iterator walk;
	struct iforest_iterator_question question = whole_series(2, false);
	struct iforest_key bound;

	(void)state;
	build(&index);
	iforest_run_iterator_init(&walk, &index.store, &index.manifest, &index.manifest.runs[0]);
	iforest_run_iterator_start(&walk, &question);
	assert_false(iforest_run_iterator_may_begin(&walk, &bound));
	question = whole_series(0, false);
	iforest_value_predicate_at_least(&question.match, 0, (union iforest_number){ .integer = 6000 }, IFOREST_INT64);
	iforest_run_iterator_start(&walk, &question);
	assert_false(iforest_run_iterator_may_begin(&walk, &bound));
	iforest_run_iterator_release(&walk);
	sample_stop(&index);
}

/* Changes the first time of a page's last block, by which its other times are packed, and makes the checksum right again. */
static void forge(struct sample_index *index, uint64_t leaf)
{
	const struct iforest_run *run = &index->manifest.runs[0];
	uint32_t *n_bytes;
	uint8_t *page = iforest_pager_memory_bytes(&index->memory, run->place.location,
						   iforest_run_page_index(&index->manifest, run, 0, leaf), &n_bytes);
	struct iforest_page_header header;
	const char *what;
	uint8_t *block;

	assert_non_null(page);
	assert_ok(iforest_page_check(page, *n_bytes, run->place.run_id, 0, (uint32_t)leaf, false, &header, &what));
	assert_true(header.n_items > 1);
	block = page + IFOREST_PAGE_HEADER + 32 * (header.n_items - 1);
	iforest_store64(block + 8, iforest_load64(block + 8) - 1000);
	iforest_page_finish(page, &header);
}

static void entries_out_of_order_are_reported(void **state)
{
	struct sample_index index;
	struct iforest_run_iterator walk;
	struct iforest_entry entry;

	(void)state;
	build(&index);
	forge(&index, 2);
	iforest_run_iterator_init(&walk, &index.store, &index.manifest, &index.manifest.runs[0]);
	for (unsigned descends = 0; descends < 2; descends++) {
		struct iforest_iterator_question question = whole_series(0, descends);
		enum iforest_status status = IFOREST_OK;
		bool found = true;

		iforest_run_iterator_start(&walk, &question);
		while (!status && found)
			status = iforest_run_iterator_next(&walk, &entry, &found);
		assert_status(status, IFOREST_CORRUPT);
		assert_string_equal(index.store.fault.what, "entries are out of order");
		assert_int_equal(index.store.fault.number, 2);
	}
	iforest_run_iterator_release(&walk);
	sample_stop(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_are_opened_once),
		cmocka_unit_test(what_cannot_match_is_not_begun),
		cmocka_unit_test(entries_out_of_order_are_reported),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
