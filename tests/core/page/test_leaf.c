#include "core/page/leaf.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/base/xxh64.h"
#include "tests/support/harness.h"
#include "tests/support/random.h"
#include "tests/support/sample_index.h"

enum { PAGE_BYTES = 2048, RUN_ID = 99, NUMBER = 7 };

/* A leaf page and the blocks it was made of. */
struct leaf_page {
	struct iforest_node_schema fields;
	struct iforest_block blocks[IFOREST_MAX_BLOCKS];
	unsigned n_blocks;
	uint8_t bytes[PAGE_BYTES];
	uint32_t n_bytes;
};

/* Refs ascend, unless they are scattered: then now and then one is lower than the one before. */
static void random_block(struct random *dice, unsigned n_values, bool is_scattered, struct iforest_key *last,
			 struct iforest_block *block)
{
	memset(block, 0, sizeof *block);
	block->n = 1 + (unsigned)random_below(dice, random_chance(dice, 50) ? 64 : 5);
	if (random_chance(dice, 30)) {
		last->series++;
		last->time_is_null = false;
		last->time = random_between(dice, -1000, 0);
	} else if (random_chance(dice, 20)) {
		last->time_is_null = true;
		last->time = 0;
	}
	block->series = last->series;
	block->time_is_null = last->time_is_null;
	for (unsigned i = 0; i < block->n; i++) {
		if (!last->time_is_null)
			last->time += random_between(dice, 0, 3);
		if (is_scattered && i > 0 && last->time > block->times[i - 1] && random_chance(dice, 5))
			last->ref -= random_between(dice, 100, 200);
		block->times[i] = last->time;
		block->refs[i] = last->ref += random_between(dice, 1, 100);
		for (unsigned v = 0; v < n_values; v++) {
			block->values[v][i] = random_between(dice, -1000, 1000);
			block->present[v] |= (uint64_t)random_chance(dice, 90) << i;
		}
	}
}

/* Fills a page until it takes no more. */
static struct leaf_page *random_page(struct random *dice)
{
	struct leaf_page *page = calloc(1, sizeof *page);
	struct iforest_leaf_writer *writer = malloc(sizeof *writer);
	struct iforest_key last = { .time = random_between(dice, -1000, 1000), .ref = 1 };
	bool is_scattered = random_chance(dice, 50);

	assert_non_null(page);
	assert_non_null(writer);
	page->fields = sample_fields(&(struct sample_shape){ .kinds = random_chance(dice, 50) ? "if" : "", .duration = ORACLE_NONE });
	iforest_leaf_writer_start(writer, &page->fields, PAGE_BYTES);
	for (;;) {
		struct iforest_block *block = &page->blocks[page->n_blocks];

		random_block(dice, page->fields.n_values, is_scattered, &last, block);
		if (!iforest_leaf_writer_add(writer, block, 0, block->n))
			break;
		page->n_blocks++;
	}
	assert_int_equal(writer->n_blocks, page->n_blocks);
	page->n_bytes = iforest_leaf_writer_finish(writer, page->bytes, RUN_ID, NUMBER);
	assert_true(page->n_bytes <= PAGE_BYTES);
	free(writer);
	return page;
}

static void open_page(const struct leaf_page *page, struct iforest_leaf *leaf)
{
	const char *what;

	assert_ok(iforest_leaf_open(leaf, &page->fields, page->bytes, page->n_bytes, RUN_ID, NUMBER, false, &what));
}

static struct iforest_key key_of(const struct iforest_block *block, unsigned i)
{
	return (struct iforest_key){ .series = block->series, .time_is_null = block->time_is_null, .time = block->times[i],
				     .ref = block->refs[i] };
}

static void compare_block(const struct iforest_leaf *leaf, const struct iforest_block *expected, unsigned b,
			  struct random *dice)
{
	struct iforest_block_reader reader;
	struct iforest_block_info info = iforest_leaf_block(leaf, b);
	struct iforest_key first = key_of(expected, 0);

	assert_true(info.n == expected->n && info.dead == 0 && iforest_key_compare(&info.first, &first) == 0);
	iforest_block_start(&reader, leaf, b);
	assert_true(reader.block.n == expected->n && reader.block.series == expected->series &&
		    reader.block.time_is_null == expected->time_is_null && reader.block.dead == 0);
	for (unsigned k = 0; k < 10; k++) /* columns may be asked for in any order, and again */
		assert_ok(iforest_block_need(&reader, (unsigned)random_below(dice, 2 + leaf->fields->n_values)));
	for (unsigned c = 0; c < 2u + leaf->fields->n_values; c++)
		assert_ok(iforest_block_need(&reader, c));
	assert_memory_equal(reader.block.times, expected->times, expected->n * sizeof *expected->times);
	assert_memory_equal(reader.block.refs, expected->refs, expected->n * sizeof *expected->refs);
	for (unsigned v = 0; v < leaf->fields->n_values; v++) {
		assert_true(reader.block.present[v] == expected->present[v]);
		for (unsigned i = 0; i < expected->n; i++)
			if (expected->present[v] >> i & 1)
				assert_true(reader.block.values[v][i] == expected->values[v][i]);
	}
}

static void pages_are_read_as_written(void **state)
{
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned round = 0; round < 100; round++) {
		struct leaf_page *page = random_page(&dice);
		struct iforest_leaf leaf;
		unsigned n_entries = 0;

		open_page(page, &leaf);
		assert_int_equal(leaf.header.n_items, page->n_blocks);
		for (unsigned b = 0; b < page->n_blocks; b++) {
			compare_block(&leaf, &page->blocks[b], b, &dice);
			n_entries += page->blocks[b].n;
		}
		assert_int_equal(leaf.header.n_entries, n_entries);
		assert_int_equal(leaf.header.n_dead, 0);
		free(page);
	}
}

/* Some blocks are copied, and the page overwritten then. */
static void blocks_are_copied(void **state)
{
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		struct leaf_page *page = random_page(&dice);
		unsigned from = (unsigned)random_below(&dice, page->n_blocks);
		unsigned to = from + 1 + (unsigned)random_below(&dice, page->n_blocks - from);
		struct iforest_leaf leaf, copy;
		uint8_t *bytes = malloc(PAGE_BYTES);

		assert_non_null(bytes);
		open_page(page, &leaf);
		assert_true(iforest_leaf_copy_blocks(&leaf, from, to, &copy, bytes, PAGE_BYTES));
		assert_int_equal(copy.header.n_items, to - from);
		assert_false(iforest_leaf_copy_blocks(&leaf, from, to, &copy, bytes, copy.header.length - 1u));
		bytes = realloc(bytes, copy.header.length); /* so that reading more is found */
		assert_non_null(bytes);
		assert_true(iforest_leaf_copy_blocks(&leaf, from, to, &copy, bytes, copy.header.length));
		memset(page->bytes, 0xA5, sizeof page->bytes);
		for (unsigned b = from; b < to; b++)
			compare_block(&copy, &page->blocks[b], b - from, &dice);
		free(bytes);
		free(page);
	}
}

/* A directory whose blocks are in another order than their columns. */
static void blocks_of_a_forged_directory_are_not_copied(void **state)
{
	struct random dice = random_from(random_seed());
	struct leaf_page *page = random_page(&dice);
	struct iforest_leaf leaf, copy;
	uint8_t bytes[PAGE_BYTES], *offsets[3];

	(void)state;
	while (page->n_blocks < 4) {
		free(page);
		page = random_page(&dice);
	}
	for (unsigned b = 0; b < 3; b++)
		offsets[b] = page->bytes + IFOREST_PAGE_HEADER + 32 * (b + 1) + 4;
	for (unsigned b = 0; b < 2; b++) { /* the first block's come last, then a later one's first */
		uint16_t kept = iforest_load16(offsets[b]);

		iforest_store16(offsets[b], b == 0 ? iforest_load16(offsets[2]) + 1u : iforest_load16(offsets[0]) - 1u);
		iforest_store32(page->bytes + 4, (uint32_t)iforest_xxh64(page->bytes + 8, page->n_bytes - 8));
		open_page(page, &leaf);
		assert_false(iforest_leaf_copy_blocks(&leaf, 1, 3, &copy, bytes, sizeof bytes));
		iforest_store16(offsets[b], kept);
	}
	free(page);
}

static bool refs_ascend(const struct leaf_page *page)
{
	bool ascend = true;

	for (unsigned b = 0; b < page->n_blocks; b++)
		for (unsigned i = 0; i < page->blocks[b].n; i++) {
			int64_t before = i > 0 ? page->blocks[b].refs[i - 1]
				       : b > 0 ? page->blocks[b - 1].refs[page->blocks[b - 1].n - 1] : INT64_MIN;

			ascend = ascend && page->blocks[b].refs[i] > before;
		}
	return ascend;
}

/* The directory bounds refs where they ascend, and says nothing where they do not. */
static void refs_are_bounded_where_they_ascend(void **state)
{
	struct random dice = random_from(random_seed());
	unsigned n_bounded = 0, n_unknown = 0;

	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		struct leaf_page *page = random_page(&dice);
		struct iforest_leaf leaf;
		int64_t low, high;

		open_page(page, &leaf);
		for (unsigned b = 0; b < page->n_blocks; b++) {
			const struct iforest_block *block = &page->blocks[b];

			assert_int_equal(iforest_leaf_refs(&leaf, b, &low, &high), refs_ascend(page) && b + 1 < page->n_blocks);
			if (!iforest_leaf_refs(&leaf, b, &low, &high)) {
				n_unknown += b + 1 < page->n_blocks;
				continue;
			}
			n_bounded++;
			assert_true(low == block->refs[0] && high >= block->refs[block->n - 1]);
			assert_true(high < page->blocks[b + 1].refs[0]);
		}
		free(page);
	}
	assert_true(n_bounded > 100 && n_unknown > 100);
}

/* A directory that is forged bounds nothing. */
static void forged_refs_bound_nothing(void **state)
{
	static const int64_t lies[] = { INT64_MIN, INT64_MIN + 1, 0 };
	struct random dice = random_from(random_seed());
	struct leaf_page *page = random_page(&dice);

	(void)state;
	while (!refs_ascend(page) || page->n_blocks < 2) {
		free(page);
		page = random_page(&dice);
	}
	for (unsigned i = 0; i < COUNT_OF(lies); i++) {
		struct iforest_leaf leaf;
		int64_t low = 17, high = 18;

		iforest_store64(page->bytes + IFOREST_PAGE_HEADER + 32 + 16, (uint64_t)lies[i]);
		iforest_store32(page->bytes + 4, (uint32_t)iforest_xxh64(page->bytes + 8, page->n_bytes - 8));
		open_page(page, &leaf);
		assert_false(iforest_leaf_refs(&leaf, 0, &low, &high));
		assert_true(low == 17 && high == 18);
	}
	free(page);
}

/* Refs that ascend are found, others between them, before and after them are not. */
static void refs_are_found(void **state)
{
	struct random dice = random_from(random_seed());
	unsigned n_found = 0;

	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		struct leaf_page *page = random_page(&dice);
		struct iforest_leaf leaf;

		open_page(page, &leaf);
		for (unsigned b = 0; b < page->n_blocks && refs_ascend(page); b++)
			for (unsigned i = 0; i < page->blocks[b].n; i++)
				for (int64_t off = -1; off <= 1; off++) {
					const struct iforest_block *block = &page->blocks[b];
					int64_t ref = block->refs[i] + off;
					struct iforest_block_reader reader;
					unsigned entry;
					bool found;

					assert_ok(iforest_leaf_find_ref(&leaf, ref, &reader, &entry, &found));
					if (off == 0)
						assert_true(found && reader.number == b && entry == i);
					else if (found)
						assert_true(page->blocks[reader.number].refs[entry] == ref);
					else
						assert_true(entry < page->blocks[reader.number].n);
					n_found += found;
				}
		free(page);
	}
	assert_true(n_found > 1000);
}

/* The first entry at or after a key, by trying all of them. */
static void assert_found(const struct leaf_page *page, const struct iforest_leaf *leaf, const struct iforest_key *key)
{
	unsigned b = iforest_leaf_find_block(leaf, key), entry, expected_block = 0, expected = 0;
	struct iforest_block_reader reader;

	for (unsigned k = 1; k < page->n_blocks; k++) {
		struct iforest_key first = key_of(&page->blocks[k], 0);

		if (iforest_key_compare(&first, key) <= 0)
			expected_block = k;
	}
	assert_int_equal(b, expected_block);
	for (unsigned from = 0; from < page->n_blocks; from++)
		assert_int_equal(iforest_leaf_find_block_from(leaf, from, key), from > b ? from : b);
	iforest_block_start(&reader, leaf, b);
	assert_ok(iforest_block_find(&reader, key, &entry));
	for (; expected < page->blocks[b].n; expected++) {
		struct iforest_key at = key_of(&page->blocks[b], expected);

		if (iforest_key_compare(&at, key) >= 0)
			break;
	}
	assert_int_equal(entry, expected);
}

static void keys_are_found_where_they_belong(void **state)
{
	struct random dice = random_from(random_seed());

	(void)state;
	for (unsigned round = 0; round < 40; round++) {
		struct leaf_page *page = random_page(&dice);
		struct iforest_leaf leaf;

		open_page(page, &leaf);
		for (unsigned b = 0; b < page->n_blocks; b++)
			for (unsigned i = 0; i < page->blocks[b].n; i++)
				for (int64_t off = -1; off <= 1; off++) {
					struct iforest_key key = key_of(&page->blocks[b], i);

					key.ref += off;
					assert_found(page, &leaf, &key);
					key.ref = off ? (off < 0 ? INT64_MIN : INT64_MAX) : key.ref;
					assert_found(page, &leaf, &key);
					key.time += key.time_is_null ? 0 : off;
					assert_found(page, &leaf, &key);
				}
		assert_found(page, &leaf, &(struct iforest_key){ .series = 0, .time = INT64_MIN, .ref = INT64_MIN });
		assert_found(page, &leaf, &(struct iforest_key){ .series = UINT32_MAX + UINT64_C(1) });
		free(page);
	}
}

static void removal_sets_a_bit_and_nothing_else(void **state)
{
	struct random dice = random_from(random_seed());
	struct leaf_page *page = random_page(&dice);
	struct iforest_leaf leaf;
	uint8_t before[PAGE_BYTES];
	unsigned block = page->n_blocks / 2, entry = page->blocks[block].n - 1;
	size_t dead_byte = IFOREST_PAGE_HEADER + 32 * block + 24 + entry / 8;

	(void)state;
	memcpy(before, page->bytes, page->n_bytes);
	open_page(page, &leaf);
	iforest_leaf_remove(page->bytes, &leaf.header, block, entry);
	iforest_page_finish(page->bytes, &leaf.header);
	for (uint32_t i = 0; i < page->n_bytes; i++)
		if (i != dead_byte && i != 28 && (i < 4 || i > 7)) /* but for the number of removed entries and the checksum */
			assert_int_equal(page->bytes[i], before[i]);
	open_page(page, &leaf);
	assert_int_equal(leaf.header.n_dead, 1);
	assert_true(iforest_leaf_block(&leaf, block).dead == UINT64_C(1) << entry);
	free(page);
}

static void one_entry_fits_every_empty_page(void **state)
{
	struct iforest_node_schema fields = sample_fields(&(struct sample_shape){ .kinds = "iiiiiiii", .duration = ORACLE_NONE });
	struct iforest_leaf_writer *writer = malloc(sizeof *writer);
	struct iforest_block *block = calloc(1, sizeof *block);
	uint8_t page[IFOREST_MIN_PAGE_BYTES];

	(void)state;
	assert_non_null(writer);
	assert_non_null(block);
	block->n = 1;
	block->times[0] = INT64_MAX;
	block->refs[0] = INT64_MIN;
	for (unsigned v = 0; v < 8; v++) {
		block->values[v][0] = v % 2 ? INT64_MIN : INT64_MAX;
		block->present[v] = v % 3 > 0;
	}
	iforest_leaf_writer_start(writer, &fields, IFOREST_MIN_PAGE_BYTES);
	assert_true(iforest_leaf_writer_add(writer, block, 0, 1));
	assert_in_range(iforest_leaf_writer_finish(writer, page, 1, 0), 1, IFOREST_MIN_PAGE_BYTES);
	free(writer);
	free(block);
}

/* Sealed lies of the directory. */
static void forged_directories_are_refused(void **state)
{
	static const struct { unsigned at; uint8_t value; } lies[] = {
		{ 32 + 4, 0 },          /* columns inside the directory */
		{ 32 + 5, 0xff },       /* columns behind the page */
		{ 32 + 6, 0 },          /* no entries */
		{ 32 + 6, 65 },         /* too many */
		{ 32 + 7, 2 },          /* neither NULL nor not */
		{ 24, 0 },              /* no blocks */
		{ 25, 0xff },           /* more blocks than room */
		{ 26, 0xfe },           /* not the sum of the blocks' entries */
	};
	struct random dice = random_from(random_seed());
	struct leaf_page *page = random_page(&dice);

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(lies); i++) {
		uint8_t kept = page->bytes[lies[i].at];
		struct iforest_leaf leaf;
		const char *what;

		if (kept == lies[i].value) /* which is then no lie */
			continue;
		page->bytes[lies[i].at] = lies[i].value;
		iforest_store32(page->bytes + 4, (uint32_t)iforest_xxh64(page->bytes + 8, page->n_bytes - 8));
		assert_status(iforest_leaf_open(&leaf, &page->fields, page->bytes, page->n_bytes, RUN_ID, NUMBER, false, &what),
			      IFOREST_CORRUPT);
		assert_string_equal(what, "the page's block directory is wrong");
		page->bytes[lies[i].at] = kept;
	}
	free(page);
}

/* Blocks that say that they hold more entries than a block can, on a page whose total agrees. */
static void blocks_of_more_than_64_are_refused(void **state)
{
	struct random dice = random_from(random_seed());
	struct leaf_page *page = random_page(&dice);
	uint8_t *n_entries = page->bytes + IFOREST_PAGE_HEADER + 6;
	uint16_t n_others = (uint16_t)(iforest_load16(page->bytes + 26) - *n_entries);

	(void)state;
	for (unsigned n = 0; n < 256; n++) {
		struct iforest_leaf leaf;
		const char *what;

		*n_entries = (uint8_t)n;
		iforest_store16(page->bytes + 26, (uint16_t)(n_others + n));
		iforest_store32(page->bytes + 4, (uint32_t)iforest_xxh64(page->bytes + 8, page->n_bytes - 8));
		assert_status(iforest_leaf_open(&leaf, &page->fields, page->bytes, page->n_bytes, RUN_ID, NUMBER, false, &what),
			      n >= 1 && n <= IFOREST_BLOCK_ENTRIES ? IFOREST_OK : IFOREST_CORRUPT);
	}
	free(page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_are_read_as_written),
		cmocka_unit_test(blocks_are_copied),
		cmocka_unit_test(blocks_of_a_forged_directory_are_not_copied),
		cmocka_unit_test(refs_are_bounded_where_they_ascend),
		cmocka_unit_test(forged_refs_bound_nothing),
		cmocka_unit_test(refs_are_found),
		cmocka_unit_test(keys_are_found_where_they_belong),
		cmocka_unit_test(removal_sets_a_bit_and_nothing_else),
		cmocka_unit_test(one_entry_fits_every_empty_page),
		cmocka_unit_test(forged_directories_are_refused),
		cmocka_unit_test(blocks_of_more_than_64_are_refused),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
