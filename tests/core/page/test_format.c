/* tests/core/page/test_format.c -- FORMAT.md against the bytes that core writes: each row of its tables, but those of
 * PostgreSQL's blocks, which are for tests/pg/test_format.c. */
#include "core/page/leaf.h"

#include <stdio.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/base/xxh64.h"
#include "core/forest/image.h"
#include "core/model/real_time.h"
#include "core/model/series_key.h"
#include "core/model/digest.h"
#include "core/model/text_time.h"
#include "core/query/counter_scan.h"
#include "core/run/manifest.h"
#include "tests/support/block_sample.h"
#include "tests/support/format_tables.h"
#include "tests/support/harness.h"
#include "tests/support/memory_sidecar.h"
#include "tests/support/sample_index.h"

static struct format page;

static uint64_t bits_of(double real)
{
	union iforest_number number = { .real = real };

	return (uint64_t)number.integer;
}

static void page_header(void **state)
{
	static const struct format_place places[] = {
		{ "magic", 0, 4 },
		{ "checksum", IFOREST_PAGE_CHECKSUM_OFFSET, 4 },
		{ "run id", IFOREST_PAGE_RUN_ID_OFFSET, 8 },
		{ "number", IFOREST_PAGE_NUMBER_OFFSET, 4 },
		{ "length", IFOREST_PAGE_LENGTH_OFFSET, 2 },
		{ "level", IFOREST_PAGE_LEVEL_OFFSET, 1 },
		{ "version", IFOREST_PAGE_VERSION_OFFSET, 1 },
		{ "items", IFOREST_PAGE_ITEMS_OFFSET, 2 },
		{ "entries", IFOREST_PAGE_ENTRIES_OFFSET, 2 },
		{ "removed entries", IFOREST_PAGE_DEAD_OFFSET, 2 },
		{ "flags", IFOREST_PAGE_FLAGS_OFFSET, 2 },
	};
	struct iforest_page_header header = { .run_id = 0x1122334455667788,
					      .number = 0x9abcdef0,
					      .length = 0x1020,
					      .level = 0xab,
					      .n_items = 0x3141,
					      .n_entries = 0x5926,
					      .n_dead = 0x5358,
					      .flags = 0x9793 };
	uint8_t bytes[0x1020];
	struct format_table *table = format_table(&page, "Page header", "byte");

	(void)state;
	memset(bytes, 0x77, sizeof bytes);
	iforest_page_finish(bytes, &header);
	format_check_places(table, places, COUNT_OF(places));
	assert_int_equal(format_check_record(table, 0, bytes,
					     (struct format_expected[]){
						     { "magic", { IFOREST_PAGE_MAGIC } },
						     { "checksum", { (uint32_t)iforest_xxh64(bytes + 8, sizeof bytes - 8) } },
						     { "run id", { header.run_id } },
						     { "number", { header.number } },
						     { "length", { header.length } },
						     { "level", { header.level } },
						     { "version", { IFOREST_PAGE_VERSION } },
						     { "items", { header.n_items } },
						     { "entries", { header.n_entries } },
						     { "removed entries", { header.n_dead } },
						     { "flags", { header.flags } } },
					     COUNT_OF(places)),
			 IFOREST_PAGE_HEADER);
	assert_int_equal(format_number_of(format_row(table, 2, "flags")->cells[3], "the refs"), IFOREST_PAGE_REFS_ASCEND);
}

/* ---- Leaf pages ---- */

static uint64_t read_bits(const uint8_t *bytes, unsigned at, unsigned width)
{
	uint64_t number = 0;

	for (unsigned i = 0; i < width; i++)
		number |= (uint64_t)(bytes[(at + i) / 8] >> ((at + i) % 8) & 1) << i;
	return number;
}

/* The parts of a column, by the name of the row. */
struct column_parts {
	uint64_t width, flags, base, difference, factor, present;
	const uint8_t *packed;
	bool is_delta, has_factor, has_nulls;
};

static const uint8_t *read_part(const struct format_row *row, const uint8_t *at, const uint8_t *end, unsigned n,
				const struct column_parts *parts, uint64_t *number)
{
	const char *size = row->cells[0];

	*number = 0;
	if (strcmp(size, "1") == 0) {
		*number = *at++;
	} else if (strcmp(size, "varint") == 0) {
		at = iforest_varint_read(at, end, number);
	} else if (strcmp(size, "ceil(n/8)") == 0) {
		*number = read_bits(at, 0, n);
		at += (n + 7) / 8;
	} else if (strcmp(size, "ceil(wm/8)") == 0) {
		at += (parts->width * (n - parts->is_delta) + 7) / 8;
	} else {
		fail_msg("line %u: \"%s\" is no size", row->line, size);
	}
	return at;
}

/* Reads a column as FORMAT.md says, and the numbers in it. Returns where it ends. */
static const uint8_t *read_column(const uint8_t *at, const uint8_t *end, unsigned n, int64_t reference, int64_t *numbers,
				  struct column_parts *parts)
{
	struct format_table *table = format_table(&page, "Column", "bytes");
	const char *flags = format_row(table, 1, "flags")->cells[2];

	*parts = (struct column_parts){ .factor = 1, .present = iforest_low_bits(n) };
	for (unsigned r = 0; r < table->n_rows; r++) {
		const struct format_row *row = &table->rows[r];
		const struct {
			const char *name;
			uint64_t *number;
			bool is_there;
		} known[] = { { "width", &parts->width, true },
			      { "flags", &parts->flags, true },
			      { "base", &parts->base, true },
			      { "difference", &parts->difference, parts->is_delta },
			      { "factor", &parts->factor, parts->has_factor },
			      { "present", &parts->present, parts->has_nulls },
			      { "packed", &(uint64_t){ 0 }, true } };

		assert_true(r < COUNT_OF(known));
		(void)format_row(table, 1, known[r].name);
		assert_string_equal(row->cells[1], known[r].name);
		if (r + 1 == table->n_rows)
			parts->packed = at;
		if (known[r].is_there)
			at = read_part(row, at, end, n, parts, known[r].number);
		parts->is_delta = parts->flags & format_number_of(flags, "DELTA");
		parts->has_factor = parts->flags & format_number_of(flags, "FACTOR");
		parts->has_nulls = parts->flags & format_number_of(flags, "NULLS");
	}
	assert_int_equal(table->n_rows, 7);
	for (unsigned i = 0; i < n; i++) {
		unsigned k = i - (i > 0 && parts->is_delta);
		uint64_t rest =
			parts->is_delta && i == 0
				? 0
				: read_bits(parts->packed, k * (unsigned)parts->width, (unsigned)parts->width) * parts->factor;
		uint64_t base = (uint64_t)iforest_unzigzag(parts->base) + (uint64_t)reference;

		if (parts->is_delta && i > 0)
			base = (uint64_t)numbers[i - 1] + (uint64_t)iforest_unzigzag(parts->difference);
		numbers[i] = (int64_t)(base + rest);
	}
	return at;
}

static const uint8_t *read_summary(const uint8_t *at, enum iforest_value_type type, uint64_t expected[3])
{
	struct format_table *table = format_table(&page, "Summary", "bytes");
	static const char *const names[] = { "smallest", "greatest", "sum" };
	static const char *const sizes[] = { "1", "1", "varint, or 8" };

	assert_int_equal(table->n_rows, COUNT_OF(names));
	for (unsigned r = 0; r < COUNT_OF(names); r++) {
		const struct format_row *row = format_row(table, 1, names[r]);
		uint64_t number = 0;

		assert_ptr_equal(row, &table->rows[r]);
		assert_string_equal(row->cells[0], sizes[r]);
		if (r < 2) {
			number = *at++;
		} else if (type == IFOREST_INT64) {
			at = iforest_varint_read(at, at + 10, &number);
		} else {
			number = iforest_load64(at);
			at += 8;
		}
		assert_true(number == expected[r]);
	}
	return at;
}

static void columns(void **state)
{
	static const int64_t samples[][5] = {
		{ 17, 17, 17, 17, 17 },		  { -1, 3, 900, 5, INT64_MIN },	     { 1000, 1010, 1020, 1030, 1041 },
		{ 4000, 1000, 9000, 7000, 2000 }, { 1000, 3000, 4000, 9000, 19000 }, { INT64_MAX, -7, 0, 12, 13 },
	};
	unsigned seen = 0;

	(void)state;
	for (unsigned s = 0; s < COUNT_OF(samples); s++)
		for (uint64_t present = 1; present < 32; present++) {
			uint8_t bytes[IFOREST_MAX_COLUMN_BYTES + IFOREST_COLUMN_SLACK];
			struct column_parts parts;
			int64_t numbers[5];
			unsigned n_bytes = iforest_column_pack(bytes, samples[s], present, 5, 500);

			assert_ptr_equal(read_column(bytes, bytes + n_bytes, 5, 500, numbers, &parts), bytes + n_bytes);
			assert_true(parts.present == present);
			for (unsigned i = 0; i < 5; i++)
				assert_true(!(present >> i & 1) || numbers[i] == samples[s][i]);
			seen |= (unsigned)parts.is_delta | (unsigned)parts.has_factor << 1 | (unsigned)parts.has_nulls << 2;
		}
	assert_int_equal(seen, 7);
}

static void finish_schema(struct iforest_node_schema *fields)
{
	assert_ok(iforest_node_schema_finish(fields));
}

static void leaf_page(void **state)
{
	static struct iforest_leaf_writer writer;
	struct iforest_node_schema fields = { .n_values = 2,
					      .value_types = { IFOREST_INT64, IFOREST_FLOAT64 },
					      .duration_value = IFOREST_NO_VALUE };
	struct iforest_block blocks[2] = {
		{ .series = 0x01020304,
		  .n = 3,
		  .times = { 500, 600, 900 },
		  .refs = { 70, 80, 95 },
		  .present = { 7, 7 },
		  .values[0] = { 40, -4, 8 } },
		{ .series = 0x01020305,
		  .n = 1,
		  .time_is_null = true,
		  .refs = { 12 },
		  .present = { 1, 0 },
		  .values[0] = { -9 } },
	};
	uint8_t bytes[1024];
	struct iforest_page_header header;
	const char *what;
	struct format_table *table = format_table(&page, "Directory entry", "byte");
	const uint8_t *at;
	struct column_parts parts;
	int64_t numbers[3];
	unsigned length;

	(void)state;
	finish_schema(&fields);
	for (unsigned i = 0; i < 3; i++)
		blocks[0].values[1][i] = (int64_t)bits_of(1.5 + i);
	iforest_leaf_writer_start(&writer, &fields, sizeof bytes);
	assert_true(iforest_leaf_writer_add(&writer, &blocks[0], 0, 3) && iforest_leaf_writer_add(&writer, &blocks[1], 0, 1));
	length = iforest_leaf_writer_finish(&writer, bytes, 1, 0);
	assert_ok(iforest_page_check(bytes, sizeof bytes, 1, 0, 0, false, &header, &what));
	iforest_leaf_remove(bytes, &header, 0, 1);
	assert_int_equal(format_check_record(table, 0, bytes + IFOREST_PAGE_HEADER,
					     (struct format_expected[]){ { "series", { 0x01020304 } },
									 { "offset", { IFOREST_PAGE_HEADER + 2 * 32 } },
									 { "entries", { 3 } },
									 { "time is NULL", { 0 } },
									 { "time", { 500 } },
									 { "ref", { 70 } },
									 { "dead map", { 2 } } },
					     7),
			 32);

	/* the columns: of each value a summary and the column, then times, then refs */
	at = bytes + IFOREST_PAGE_HEADER + 2 * 32;
	at = read_summary(at, IFOREST_INT64, (uint64_t[]){ 1, 0, iforest_zigzag(44) });
	at = read_column(at, bytes + length, 3, 0, numbers, &parts);
	assert_memory_equal(numbers, blocks[0].values[0], sizeof numbers);
	at = read_summary(at, IFOREST_FLOAT64, (uint64_t[]){ 0, 2, bits_of(7.5) });
	at = read_column(at, bytes + length, 3, 0, numbers, &parts);
	assert_memory_equal(numbers, blocks[0].values[1], sizeof numbers);
	at = read_column(at, bytes + length, 3, 500, numbers, &parts);
	assert_memory_equal(numbers, blocks[0].times, sizeof numbers);
	at = read_column(at, bytes + length, 3, 70, numbers, &parts);
	assert_memory_equal(numbers, blocks[0].refs, sizeof numbers);

	/* and of the second block: no times, and a column without a number has no summary */
	assert_int_equal(format_check_record(table, 0, bytes + IFOREST_PAGE_HEADER + 32,
					     (struct format_expected[]){ { "series", { 0x01020305 } },
									 { "offset", { (uint64_t)(at - bytes) } },
									 { "entries", { 1 } },
									 { "time is NULL", { 1 } },
									 { "time", { 0 } },
									 { "ref", { 12 } },
									 { "dead map", { 0 } } },
					     7),
			 32);
	at = read_summary(at, IFOREST_INT64, (uint64_t[]){ 0, 0, iforest_zigzag(-9) });
	at = read_column(at, bytes + length, 1, 0, numbers, &parts);
	assert_int_equal(*at++, 255);
	at = read_column(at, bytes + length, 1, 0, numbers, &parts);
	assert_true(parts.has_nulls && parts.present == 0);
	at = read_column(at, bytes + length, 1, 12, numbers, &parts);
	assert_int_equal(numbers[0], 12);
	assert_int_equal(bytes + length - at, 8);
	assert_int_equal(iforest_load64(at), 0);
}

/* ---- Nodes ---- */

static struct iforest_extreme extreme(uint64_t value, int64_t time, int64_t ref)
{
	return (struct iforest_extreme){ .value.integer = (int64_t)value, .time = time, .ref = ref, .is_set = true };
}

static void fill_node(struct iforest_node *node, const struct iforest_node_schema *fields)
{
	struct iforest_value_aggregate *values = node->aggregate.values;

	*node = (struct iforest_node){ .first = { .series = 11, .time = 12, .ref = 13 },
				       .last = { .series = 14, .time = 15, .ref = INT64_MAX } };
	iforest_aggregate_clear(&node->aggregate, 2, &fields->accumulators);
	node->aggregate.n_rows = 16;
	node->aggregate.n_dead = 17;
	node->aggregate.latest_end = 18;
	node->aggregate.lowest_block = 19;
	node->aggregate.highest_block = 20;
	values[0].n = 21;
	values[0].sum = (iforest_int128)((iforest_uint128)0x2223 << 64 | 0x2425);
	values[0].min = extreme(26, 27, 28);
	values[0].max = extreme(29, 30, 31);
	values[0].max.time_is_null = true;
	values[0].max.time = 0;
	for (unsigned i = 0; i < fields->accumulators.n_words; i++)
		node->aggregate.words[fields->accumulators.list[0].word + i] = 32 + i;
	values[1].n = 35;
	values[1].real_sum = 36.5;
	values[1].n_nan = 37;
	values[1].n_plus_infinity = 38;
	values[1].n_minus_infinity = 39;
	values[1].min = extreme(bits_of(-40.5), 41, 42);
	values[1].max = extreme(bits_of(43.5), 44, 45);
}

/* Compares the node's field of a code with the row of FORMAT.md. Returns its bytes. */
static unsigned check_node_field(struct format_table *table, const char *code, const char *name, const uint8_t *bytes,
				 const struct format_expected *expected, unsigned n_expected)
{
	const struct format_row *row = format_row(table, 0, code);
	struct format_field fields[FORMAT_FIELDS];
	unsigned n = format_list(row->cells[3], fields), n_bytes = 0;
	char size[16];

	assert_string_equal(row->cells[1], name);
	assert_int_equal(n, n_expected);
	for (unsigned f = 0; f < n; f++) {
		assert_string_equal(fields[f].name, expected[f].name);
		format_check_field(&fields[f], bytes, &expected[f]);
		n_bytes += fields[f].n_bytes;
	}
	(void)snprintf(size, sizeof size, "%u", n_bytes);
	assert_string_equal(row->cells[2], size);
	return n_bytes;
}

#define CHECK(code, name, at, ...)                                                                         \
	check_node_field(table, code, name, bytes + (at), (const struct format_expected[]){ __VA_ARGS__ }, \
			 sizeof(const struct format_expected[]){ __VA_ARGS__ } / sizeof(struct format_expected))

static void nodes(void **state)
{
	struct iforest_node_schema fields = {
		.n_values = 2, .value_types = { IFOREST_INT64, IFOREST_FLOAT64 }, .has_blocks = true
	};
	static const int64_t bounds[] = { 7, 1000 };
	static const uint8_t list[] = { 9, 1,	 255, 2, 255, 3, 0, 11, 0, 12, 0,  2, 7,   0, 0, 0, 0, 0, 0,
					0, 0xe8, 3,   0, 0,   0, 0, 0,	0, 13, 0, 254, 4, 1, 5, 0, 6, 255 };
	struct format_table *table = format_table(&page, "Node page", "holds");
	uint8_t bytes[IFOREST_MAX_NODE_BYTES], written[IFOREST_MAX_SCHEMA_BYTES];
	struct iforest_node node;
	unsigned at = 0;

	(void)state;
	assert_ok(iforest_accumulators_add(&fields.accumulators, IFOREST_KIND_SQUARES, 0, IFOREST_NO_VALUE, NULL, 0));
	assert_ok(iforest_accumulators_add(&fields.accumulators, IFOREST_KIND_HISTOGRAM, 0, IFOREST_NO_VALUE, bounds, 2));
	assert_ok(iforest_accumulators_add(&fields.accumulators, IFOREST_KIND_PRODUCTS, 0, IFOREST_TIME_COLUMN, NULL, 0));
	finish_schema(&fields);
	fill_node(&node, &fields);
	iforest_node_write(&node, &fields, bytes);
	assert_int_equal(iforest_node_schema_write(&fields, written), sizeof list);
	assert_memory_equal(written, list, sizeof list);

	at += CHECK("1", "RANGE", at, { "first series", { 11 } }, { "last series", { 14 } }, { "first time", { 12 } },
		    { "first ref", { 13 } }, { "last time", { 15 } }, { "NULL bits", { 1 << 3 } });
	at += CHECK("2", "COUNT", at, { "entries", { 16 } }, { "removed entries", { 17 } });
	assert_int_equal(at, IFOREST_NODE_FIXED_BYTES);
	assert_int_equal(at, fields.value_offset[0]);
	at += CHECK("3", "INT64", at, { "values", { 21 } }, { "sum", { 0x2425, 0x2223 } }, { "min", { 26 } },
		    { "time of min", { 27 } }, { "ref of min", { 28 } }, { "max", { 29 } }, { "time of max", { 0 } },
		    { "ref of max", { 31 } });
	assert_int_equal(at, fields.accumulator_offset[0]);
	at += CHECK("11", "SQUARES", at, { "squares", { 32, 33, 34 } });
	assert_int_equal(at, fields.accumulator_offset[1]);
	at += CHECK("12", "HISTOGRAM", at, { "values", { 35 } }); /* of each of two bounds */
	at += CHECK("12", "HISTOGRAM", at, { "values", { 36 } });
	assert_int_equal(at, fields.accumulator_offset[2]);
	at += CHECK("13", "PRODUCTS", at, { "pairs", { 37, 38, 39 } }, { "sum", { 40, 41, 42 } },
		    { "other sum", { 43, 44, 45 } }, { "squares", { 46, 47, 48 } }, { "other squares", { 49, 50, 51 } },
		    { "products", { 52, 53, 54 } });
	assert_int_equal(at, fields.value_offset[1]);
	at += CHECK("4", "FLOAT64", at, { "values", { 35 } }, { "sum", { bits_of(36.5) } }, { "NaN", { 37 } },
		    { "+inf", { 38 } }, { "-inf", { 39 } }, { "min", { bits_of(-40.5) } }, { "time of min", { 41 } },
		    { "ref of min", { 42 } }, { "max", { bits_of(43.5) } }, { "time of max", { 44 } },
		    { "ref of max", { 45 } });
	assert_int_equal(at, fields.latest_end_offset);
	at += CHECK("5, 7 to 10", "LATEST_END", at, { "latest end", { 18 } });
	assert_int_equal(at, fields.blocks_offset);
	at += CHECK("6", "BLOCKS", at, { "lowest block", { 19 } }, { "highest block", { 20 } });
	assert_int_equal(at, fields.node_bytes);
}

static void places_in_a_node(void **state)
{
	static const struct format_place places[] = {
		{ "first series", 0, 0 },
		{ "last series", IFOREST_NODE_LAST_SERIES, 0 },
		{ "first time", IFOREST_NODE_FIRST_TIME, 0 },
		{ "first ref", IFOREST_NODE_FIRST_REF, 0 },
		{ "last time", IFOREST_NODE_LAST_TIME, 0 },
		{ "NULL bits", IFOREST_NODE_NULL_BITS, 0 },
		{ "entries", IFOREST_NODE_N_ROWS, 0 },
		{ "removed entries", IFOREST_NODE_N_DEAD, 0 },
	};
	struct format_table *table = format_table(&page, "Node page", "holds");
	struct format_field fields[2 * FORMAT_FIELDS];
	unsigned n_range = format_list(format_row(table, 1, "RANGE")->cells[3], fields);
	unsigned n = n_range + format_list(format_row(table, 1, "COUNT")->cells[3], fields + n_range);

	(void)state;
	assert_int_equal(n, COUNT_OF(places));
	for (unsigned p = 0; p < n; p++) {
		unsigned before = p < n_range ? 0 : fields[n_range - 1].offset + fields[n_range - 1].n_bytes;

		assert_string_equal(fields[p].name, places[p].name);
		assert_int_equal(before + fields[p].offset, places[p].offset);
	}
}

/* Each rule's code in the field list, and the end by its formula, for v = 2500 at time 7. */
static void ends_of_spans(void **state)
{
	static const struct {
		const char *name, *formula;
		enum iforest_end_rule rule;
		int64_t end;
	} rules[] = {
		{ "duration", "time + v", IFOREST_END_DURATION, 2507 },
		{ "column", "v", IFOREST_END_COLUMN, 2500 },
		{ "per 1000", "time + ceil(v / 1000)", IFOREST_END_PER_1000, 10 },
		{ "times 1000", "time + 1000 v", IFOREST_END_TIMES_1000, 2500007 },
		{ "times 1000000", "time + 1000000 v", IFOREST_END_TIMES_1000000, 2500000007 },
	};
	struct format_table *table = format_table(&page, "Node page", "rule");

	(void)state;
	assert_int_equal(COUNT_OF(rules), IFOREST_END_RULES);
	for (unsigned r = 0; r < COUNT_OF(rules); r++) {
		struct iforest_node_schema fields = { .n_values = 1,
						      .value_types = { IFOREST_INT64 },
						      .end_rule = (uint8_t)rules[r].rule };
		const struct format_row *row = format_row(table, 1, rules[r].name);
		uint8_t list[IFOREST_MAX_SCHEMA_BYTES];
		char code[8];

		finish_schema(&fields);
		assert_int_equal(iforest_node_schema_write(&fields, list), 9);
		(void)snprintf(code, sizeof code, "%u", list[7]);
		assert_string_equal(row->cells[0], code);
		assert_string_equal(row->cells[2], rules[r].formula);
		assert_int_equal(iforest_span_end(7, 2500, true, rules[r].rule), rules[r].end);
	}
}

/* ---- Manifest ---- */

static void manifest(void **state)
{
	static const struct format_place places[] = {
		{ "magic", 0, 4 },
		{ "checksum", IFOREST_MANIFEST_CHECKSUM_OFFSET, 4 },
		{ "version", IFOREST_MANIFEST_VERSION_OFFSET, 2 },
		{ "zero", IFOREST_MANIFEST_ZERO_OFFSET, 2 },
		{ "length", IFOREST_MANIFEST_LENGTH_OFFSET, 4 },
		{ "manifest id", IFOREST_MANIFEST_ID_OFFSET, 8 },
		{ "page bytes", IFOREST_MANIFEST_PAGE_BYTES_OFFSET, 4 },
		{ "runs", IFOREST_MANIFEST_N_RUNS_OFFSET, 4 },
	};
	static const struct format_place places_in_a_run[] = {
		{ "run id", 0, 8 },
		{ "generation", IFOREST_RUN_GENERATION_OFFSET, 8 },
		{ "location", IFOREST_RUN_LOCATION_OFFSET, 8 },
		{ "leaf pages", IFOREST_RUN_N_LEAVES_OFFSET, 4 },
		{ "flags", IFOREST_RUN_FLAGS_OFFSET, 4 },
		{ "root", IFOREST_RUN_ROOT_OFFSET, 0 },
	};
	struct format_table *header = format_table(&page, "Manifest", "field");
	struct format_table *of_a_run = format_table(&page, "Manifest", "field of a run");
	struct iforest_run run = {
		.place = { .run_id = 0x1112131415161718, .generation = 0x2122232425262728, .location = 0x3132333435363738 },
		.n_leaves = 0x41424344,
		.removal_in_progress = true
	};
	struct sample_index index;
	const uint8_t *bytes, *at;
	uint32_t n_bytes, n_list;

	(void)state;
	sample_start(&index,
		     &(struct sample_shape){ .page_bytes = 4000, .max_batch_pages = 4, .kinds = "i", .duration = ORACLE_NONE });
	memset(run.root, 0x5a, sizeof run.root);
	index.manifest.n_host_bytes = 3;
	index.manifest.host_bytes = iforest_allocate(&index.core_alloc.alloc, 3);
	memcpy(index.manifest.host_bytes, "abc", 3);
	assert_ok(sample_add_run(&index, &run));
	bytes = index.memory.manifest;
	n_bytes = index.memory.n_manifest_bytes;

	format_check_places(header, places, COUNT_OF(places));
	assert_int_equal(format_check_record(header, 0, bytes,
					     (struct format_expected[]){
						     { "magic", { 0x666d4649 } },
						     { "checksum", { (uint32_t)iforest_xxh64(bytes + 8, n_bytes - 8) } },
						     { "version", { 1 } },
						     { "zero", { 0 } },
						     { "length", { n_bytes } },
						     { "manifest id", { index.manifest.id } },
						     { "page bytes", { 4000 } },
						     { "runs", { 1 } } },
					     COUNT_OF(places)),
			 IFOREST_MANIFEST_HEADER);
	n_list = 1 + 2 * (uint32_t)bytes[IFOREST_MANIFEST_HEADER];
	at = bytes + IFOREST_MANIFEST_HEADER + n_list;
	assert_int_equal(iforest_load32(at), 3);
	assert_memory_equal(at + 4, "abc", 3);
	at += 7;
	format_check_places(of_a_run, places_in_a_run, COUNT_OF(places_in_a_run));
	assert_int_equal(format_check_record(of_a_run, 0, at,
					     (struct format_expected[]){ { "run id", { run.place.run_id } },
									 { "generation", { run.place.generation } },
									 { "location", { run.place.location } },
									 { "leaf pages", { run.n_leaves } },
									 { "flags", { 1 } },
									 { "root", { 0 } } },
					     COUNT_OF(places_in_a_run)),
			 IFOREST_RUN_ROOT_OFFSET);
	assert_memory_equal(at + IFOREST_RUN_ROOT_OFFSET, run.root, index.manifest.fields.node_bytes);
	assert_ptr_equal(at + IFOREST_RUN_ROOT_OFFSET + index.manifest.fields.node_bytes, bytes + n_bytes);
	sample_stop(&index);
}

/* ---- Series, sketches, counters, images ---- */

static void series(void **state)
{
	static const struct {
		const char *name;
		struct iforest_by_value value;
		const char *then;
		uint8_t bytes[9];
		unsigned n_bytes;
	} values[] = {
		{ "NULL", { .tag = IFOREST_BY_NULL }, "nothing", { 0 }, 0 },
		{ "integer",
		  { .tag = IFOREST_BY_INTEGER, .integer = 0x0102030405060708 },
		  "8 bytes big-endian, the sign bit flipped. Integral reals within int64 are integers",
		  { 0x81, 2, 3, 4, 5, 6, 7, 8 },
		  8 },
		{ "another real",
		  { .tag = IFOREST_BY_REAL, .real = -1.5 },
		  "the 8 bytes of the double, big-endian; all bits flipped if negative, else the sign bit",
		  { 0x40, 0x07, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
		  8 },
		{ "text",
		  { .tag = IFOREST_BY_TEXT, .data = (const uint8_t *)"pq", .n_bytes = 2 },
		  "length u32, bytes",
		  { 2, 0, 0, 0, 'p', 'q' },
		  6 },
		{ "blob",
		  { .tag = IFOREST_BY_BLOB, .data = (const uint8_t *)"r", .n_bytes = 1 },
		  "length u32, bytes",
		  { 1, 0, 0, 0, 'r' },
		  5 },
	};
	struct format_table *table = format_table(&page, "Series", "tag u8");
	struct alloc_fault fault;

	(void)state;
	alloc_fault_init(&fault);
	for (unsigned v = 0; v < COUNT_OF(values); v++) {
		const struct format_row *row = format_row(table, 1, values[v].name);
		struct iforest_series_key key = { .alloc = &fault.alloc };
		char tag[8];

		assert_ok(iforest_series_key_append(&key, &values[v].value));
		(void)snprintf(tag, sizeof tag, "%u", key.bytes[0]);
		assert_string_equal(row->cells[0], tag);
		assert_string_equal(row->cells[2], values[v].then);
		assert_int_equal(key.n_bytes, 1 + values[v].n_bytes);
		assert_memory_equal(key.bytes + 1, values[v].bytes, values[v].n_bytes);
		iforest_series_key_release(&key);
	}
	assert_int_equal(fault.n_live, 0);
}

/* The bits of a double as an i64 if it is not negative, else less the bits of its absolute value. */
static void reals_as_times(void)
{
	static const double reals[] = { 0.0, 1.5, 0x1p-1074, IFOREST_GREATEST_REAL };

	for (unsigned r = 0; r < COUNT_OF(reals); r++) {
		int64_t bits;

		memcpy(&bits, &reals[r], sizeof bits);
		assert_int_equal(iforest_time_of_real(reals[r]), bits);
		assert_int_equal(iforest_time_of_real(-reals[r]), -bits);
	}
}

/* Each part of a form stands in its bits, and does what the page says of it. */
static void forms_of_texts(void)
{
	static const struct {
		const char *meaning, *bits;
		struct iforest_text_form form;
		uint32_t code;
		const char *written; /* 2026-01-31 00:00:00 */
	} forms[] = {
		{ "T, not a space, between date and time", "0", { .has_t = true }, 1, "2026-01-31T00:00:00" },
		{ "no fraction if it is 0", "1", { .drops_zero = true, .digits = 3 }, 1 << 1 | 3 << 8, "2026-01-31 00:00:00" },
		{ "1: no seconds if they are 0; 2: no time of day if it is 0", "2, 3", { .shortest = IFOREST_TEXT_MINUTES }, 1 << 2, "2026-01-31 00:00" },
		{ "1: no seconds if they are 0; 2: no time of day if it is 0", "2, 3", { .shortest = IFOREST_TEXT_DATES }, 2 << 2, "2026-01-31" },
		{ "at the end 1: `Z`; 2: `+00:00`", "4, 5", { .zone = IFOREST_TEXT_Z }, 1 << 4, "2026-01-31 00:00:00Z" },
		{ "at the end 1: `Z`; 2: `+00:00`", "4, 5", { .zone = IFOREST_TEXT_OFFSET }, 2 << 4, "2026-01-31 00:00:00+00:00" },
		{ "digits of the fraction, 0 to 9; a time that needs more has more", "8 to 15", { .digits = 9 }, 9 << 8, "2026-01-31 00:00:00.000000000" },
	};
	struct format_table *table = format_table(&page, "Times in SQLite", "bits");

	for (unsigned f = 0; f < COUNT_OF(forms); f++) {
		char text[IFOREST_TEXT_TIME_BYTES];

		assert_string_equal(format_row(table, 1, forms[f].meaning)->cells[0], forms[f].bits);
		assert_int_equal(iforest_text_form_code(&forms[f].form), forms[f].code);
		iforest_text_time_write(&(struct iforest_text_time){ .seconds = 1769817600 }, &forms[f].form, text);
		assert_string_equal(text, forms[f].written);
	}
}

/* The numbers are those of enum ifs_time_kind, which core does not know. */
static void times(void **state)
{
	static const char first[] = "1970-01-01 00:00:00", second[] = "2000-03-01T00:00:00.000000001Z";
	struct format_table *table = format_table(&page, "Times in SQLite", "kind");
	struct iforest_text_time time;

	(void)state;
	assert_string_equal(format_row(table, 1, "integers")->cells[0], "0");
	assert_string_equal(format_row(table, 1, "reals")->cells[0], "1");
	assert_string_equal(format_row(table, 1, "texts")->cells[0], "2");
	reals_as_times();
	forms_of_texts();
	assert_int_equal(iforest_text_time_read(first, sizeof first - 1, &time), IFOREST_TEXT_READ);
	assert_true(time.seconds == 0 && time.nanoseconds == 0);
	assert_int_equal(iforest_text_time_read(second, sizeof second - 1, &time), IFOREST_TEXT_READ);
	assert_true(time.seconds == INT64_C(951868800) && time.nanoseconds == 1);
}

/* The next bucket's numbers, and how many empty ones are before it. */
static const uint8_t *read_bucket(const uint8_t *at, const uint8_t *end, uint64_t *n, uint64_t *gap)
{
	struct format_table *table = format_table(&page, "Sketches", "bytes");
	uint64_t number = 0;

	assert_int_equal(table->n_rows, 2);
	assert_ptr_equal(format_row(table, 1, "numbers"), &table->rows[0]);
	assert_ptr_equal(format_row(table, 1, "gap"), &table->rows[1]);
	assert_string_equal(table->rows[0].cells[0], "varint");
	assert_string_equal(table->rows[1].cells[0], "varint");
	at = iforest_varint_read(at, end, &number);
	*n = number / 2 + 1;
	*gap = 0;
	return number % 2 ? iforest_varint_read(at, end, gap) : at;
}

static void sketches(void **state)
{
	static const struct {
		uint64_t bucket, n;
	} expected[] = { { 134272 - 64 * (1 + 1074) - 32, 1 }, { 134273, 2 }, { 134274 + 64 * 1074, 1 }, { 268547, 1 } };
	struct format_table *table = format_table(&page, "Sketches", "byte");
	struct iforest_sketch sketch;
	struct alloc_fault fault;
	const uint8_t *at;
	uint8_t *bytes;
	size_t n_bytes;
	uint64_t next = 0;

	(void)state;
	alloc_fault_init(&fault);
	iforest_sketch_init(&sketch, &fault.alloc);
	for (unsigned i = 0; i < 2; i++)
		assert_ok(iforest_sketch_add(&sketch, (union iforest_number){ .integer = 0 }, IFOREST_INT64));
	assert_ok(iforest_sketch_add(&sketch, (union iforest_number){ .integer = 1 }, IFOREST_INT64));
	assert_ok(iforest_sketch_add(&sketch, (union iforest_number){ .real = -3 }, IFOREST_FLOAT64));
	assert_ok(iforest_sketch_add(&sketch, (union iforest_number){ .real = 0.0 / 0.0 }, IFOREST_FLOAT64));
	assert_ok(iforest_sketch_write(&sketch, &bytes, &n_bytes));
	assert_int_equal(format_check_record(table, 0, bytes,
					     (struct format_expected[]){
						     { "magic", { 0x6b734649 } },
						     { "checksum", { (uint32_t)iforest_xxh64(bytes + 8, n_bytes - 8) } },
						     { "version", { 1 } },
						     { "bits", { IFOREST_SKETCH_BITS } },
						     { "reals", { 0 } } },
					     5),
			 10);
	assert_string_equal(format_row(table, 2, "reals")->cells[1], "varint");
	assert_int_equal(bytes[format_field(table, "reals").offset], 2);
	at = bytes + 11;
	for (unsigned b = 0; b < COUNT_OF(expected); b++) {
		uint64_t n, gap;

		at = read_bucket(at, bytes + n_bytes, &n, &gap);
		assert_int_equal(next + gap, expected[b].bucket);
		assert_int_equal(n, expected[b].n);
		next += gap + 1;
	}
	assert_ptr_equal(at, bytes + n_bytes);
	iforest_release(&fault.alloc, bytes);
	iforest_sketch_release(&sketch);
	assert_int_equal(fault.n_live, 0);
}

/* The hash of a key that FORMAT.md gives, as 64 characters. */
static void show_hash(int64_t key, char *bits)
{
	uint8_t bytes[8];
	uint64_t hash;

	iforest_store64(bytes, (uint64_t)key);
	hash = iforest_xxh64(bytes, 8);
	for (unsigned i = 0; i < 64; i++)
		bits[i] = hash >> (63 - i) & 1 ? '1' : '0';
	bits[64] = 0;
}

static uint32_t number_of_bits(const char *bits, unsigned n)
{
	uint32_t number = 0;

	for (unsigned i = 0; i < n; i++)
		number = 2 * number + (bits[i] == '1');
	return number;
}

static uint32_t place_of_first(const char *bits)
{
	return 1 + (uint32_t)strcspn(bits, "1");
}

static void check_distinct_header(const uint8_t *bytes, size_t n_bytes, unsigned form)
{
	struct format_table *table = format_table(&page, "Distinct sketches", "byte");

	assert_int_equal(format_check_record(table, 0, bytes,
					     (struct format_expected[]){
						     { "magic", { 0x6c684649 } },
						     { "checksum", { (uint32_t)iforest_xxh64(bytes + 8, n_bytes - 8) } },
						     { "version", { 1 } },
						     { "bits", { IFOREST_DISTINCT_BITS } },
						     { "form", { form } },
						     { "zero", { 0 } },
						     { "hashes", { 0 } } },
					     7),
			 12);
	assert_string_equal(format_row(table, 2, "hashes")->cells[1], "list");
}

/* A value of each kind alone as a list, by its key; and so many that one register of those it raises is known. */
static void distinct_sketches(void **state)
{
	const union iforest_number half = { .real = 0.5 }, five = { .real = 5 };
	const int64_t keys[] = { 5, -(INT64_C(1) << 62) + (int64_t)(iforest_xxh64((const uint8_t *)"a", 1) & 0xffffffffff),
				 -(INT64_C(1) << 62) + (INT64_C(1) << 40) + (int64_t)(iforest_xxh64((const uint8_t *)"a", 1) & 0xffffffffff),
				 -(INT64_C(1) << 62) + (INT64_C(2) << 40) +
					 (int64_t)(iforest_xxh64((const uint8_t *)"\0\0\0\0\0\0\xe0\x3f", 8) & 0xffffffffff) };
	const int64_t given[] = { iforest_distinct_key_of_number(five, IFOREST_FLOAT64), iforest_distinct_key_of_text("a", 1),
				  iforest_distinct_key_of_blob("a", 1), iforest_distinct_key_of_number(half, IFOREST_FLOAT64) };
	struct iforest_distinct distinct;
	struct alloc_fault fault;
	uint8_t *bytes;
	size_t n_bytes;
	char bits[65];

	(void)state;
	alloc_fault_init(&fault);
	for (unsigned k = 0; k < COUNT_OF(keys); k++) {
		assert_int_equal(given[k], keys[k]);
		iforest_distinct_init(&distinct, &fault.alloc);
		assert_ok(iforest_distinct_add(&distinct, (union iforest_number){ .integer = keys[k] }, IFOREST_INT64));
		assert_ok(iforest_distinct_write(&distinct, &bytes, &n_bytes));
		check_distinct_header(bytes, n_bytes, 0);
		show_hash(keys[k], bits);
		assert_int_equal(n_bytes, 16);
		assert_int_equal(iforest_load32(bytes + 12), 64 * number_of_bits(bits, 26) + place_of_first(bits + 26));
		iforest_release(&fault.alloc, bytes);
		iforest_distinct_release(&distinct);
	}
	iforest_distinct_init(&distinct, &fault.alloc);
	for (int64_t key = 0; key < 1000; key++)
		assert_ok(iforest_distinct_add(&distinct, (union iforest_number){ .integer = key }, IFOREST_INT64));
	assert_ok(iforest_distinct_write(&distinct, &bytes, &n_bytes));
	check_distinct_header(bytes, n_bytes, 1);
	assert_int_equal(n_bytes, 12 + 4096 * 6 / 8);
	for (unsigned r = 0; r < 4096; r++) {
		uint32_t highest = 0, found = 0;

		for (int64_t key = 0; key < 1000; key++) {
			show_hash(key, bits);
			if (number_of_bits(bits, 12) == r && place_of_first(bits + 12) > highest)
				highest = place_of_first(bits + 12);
		}
		for (unsigned b = 0; b < 6; b++)
			found |= (uint32_t)(bytes[12 + (6 * r + b) / 8] >> (6 * r + b) % 8 & 1) << b;
		assert_int_equal(found, highest);
	}
	iforest_release(&fault.alloc, bytes);
	iforest_distinct_release(&distinct);
	assert_int_equal(fault.n_live, 0);
}

/* Samples at 10, 20, ... of 100, 101, ... but the fourth, which is 50, each of which holds for 7. */
static void counter_pieces(void **state)
{
	static struct sample_index index;
	static struct memory_sidecar sidecar;
	struct format_table *header = format_table(&page, "Counter pieces", "field");
	struct format_table *of_a_child = format_table(&page, "Counter pieces", "field of a child");
	const uint8_t *bytes = NULL;
	size_t n_bytes = 0;
	uint64_t n, integral = 0;

	(void)state;
	sample_start(&index, &(struct sample_shape){ .page_bytes = 1024, .max_batch_pages = 4, .kinds = "ii", .duration = 1 });
	for (unsigned i = 0; i < 2000; i++) {
		struct oracle_entry *entry = sample_append(&index, 0, 0, 10 + 10 * (int64_t)i, i);

		entry->has[0] = entry->has[1] = true;
		entry->value[0].integer = i == 3 ? 50 : 100 + (int64_t)i;
		entry->value[1].integer = 7;
	}
	index.n_groups = 1;
	assert_ok(sample_build(&index, 0));
	memory_sidecar_start(&sidecar, &index.core_alloc.alloc);
	assert_ok(iforest_run_keep_counters(&index.store, &index.manifest, &index.manifest.runs[0], 0, &sidecar.base));
	for (unsigned k = 0; k < sidecar.n; k++)
		if (sidecar.kept[k].name.number == 0 && sidecar.kept[k].name.level == 2) {
			bytes = sidecar.kept[k].bytes;
			n_bytes = sidecar.kept[k].n_bytes;
			break;
		}
	assert_non_null(bytes);
	assert_int_equal(
		format_check_record(header, 0, bytes,
				    (struct format_expected[]){
					    { "magic", { 0x62634649 } },
					    { "checksum", { (uint32_t)iforest_xxh64(bytes + 8, n_bytes - 8) } },
					    { "version", { 1 } },
					    { "children", { (n_bytes - IFOREST_COUNTER_HEADER) / IFOREST_COUNTER_ROW } } },
				    4),
		IFOREST_COUNTER_HEADER);
	bytes += IFOREST_COUNTER_HEADER;
	n = iforest_load64(bytes + format_field(of_a_child, "samples").offset);
	assert_true(n > 10 && n < 2000);
	for (uint64_t i = 0; i + 1 < n; i++)
		integral += 7 * (i == 3 ? 50 : 100 + i);
	assert_int_equal(format_check_record(of_a_child, 0, bytes,
					     (struct format_expected[]){ { "first time", { 10 } },
									 { "last time", { 10 * n } },
									 { "samples", { n } },
									 { "time of the first sample", { 10 } },
									 { "first sample", { 100 } },
									 { "time of the last sample", { 10 * n } },
									 { "last sample", { 99 + n } },
									 { "end of the last sample", { 10 * n + 7 } },
									 { "resets", { 1 } },
									 { "known", { 7 * (n - 1) } },
									 { "integral", { integral } },
									 { "increase", { 2 + 50 + 54 + (n - 5) } } },
					     12),
			 IFOREST_COUNTER_ROW);
	memory_sidecar_clear(&sidecar);
	sample_stop(&index);
}

struct image {
	uint8_t bytes[1 << 14];
	size_t n_bytes;
};

static enum iforest_status take(void *context, const void *bytes, size_t n_bytes)
{
	struct image *image = context;

	assert_true(image->n_bytes + n_bytes <= sizeof image->bytes);
	memcpy(image->bytes + image->n_bytes, bytes, n_bytes);
	image->n_bytes += n_bytes;
	return IFOREST_OK;
}

/* An image has the machine's own byte order; the table is read in the other one's. */
static void skip_where_images_differ(void)
{
	if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
		skip();
}

static void image_of_a_forest(void **state)
{
	const struct iforest_monoid *kind = &iforest_monoid_sum_int64;
	struct format_table *table = format_table(&page, "Image of a forest in memory", "byte");
	struct random dice = random_from(1);
	static struct image image;
	struct block_sample sample;
	struct iforest_block_forest blocks;
	struct alloc_fault fault;
	uint64_t n_slot_bytes;

	(void)state;
	skip_where_images_differ();
	alloc_fault_init(&fault);
	block_sample_start(&sample, kind, 100, false, true);
	block_sample_add(&sample, 100, &dice);
	assert_ok(iforest_block_forest_init(&blocks, kind, &fault.alloc, IFOREST_GROW_BY_MOVING, &sample.of, 8));
	assert_ok(iforest_block_forest_extend(&blocks, 100, 1));
	assert_ok(iforest_block_forest_save(&blocks, take, &image));
	n_slot_bytes = (2 * 12 - 1) * kind->state_bytes;
	assert_int_equal(n_slot_bytes % 8, 0);
	assert_int_equal(image.n_bytes, IFOREST_IMAGE_SLOTS + n_slot_bytes + 12 * sizeof(int64_t));
	assert_int_equal(format_field(table, "slots").offset, IFOREST_IMAGE_SLOTS);
	(void)format_check_record(
		table, 0, image.bytes,
		(struct format_expected[]){
			{ "magic", { UINT64_C(0x747365726f664649) } },
			{ "version", { 1 } },
			{ "byte order", { 0x01020304 } },
			{ "state bytes", { kind->state_bytes } },
			{ "leaves", { 12 } },
			{ "entries", { 100 } },
			{ "block entries", { 8 } },
			{ "kind", { iforest_xxh64((const uint8_t *)kind->name, strlen(kind->name)) } },
			{ "slots checksum", { iforest_xxh64(image.bytes + IFOREST_IMAGE_SLOTS, n_slot_bytes) } },
			{ "times checksum",
			  { iforest_xxh64(image.bytes + IFOREST_IMAGE_SLOTS + n_slot_bytes, 12 * sizeof(int64_t)) } },
			{ "has times", { 1 } },
			{ "checksum", { iforest_xxh64(image.bytes, 80) } },
			{ "zeros", { 0 } },
			{ "slots", { 0 } } },
		14);
	iforest_block_forest_release(&blocks);
	assert_int_equal(fault.n_live, 0);
	block_sample_stop(&sample);
}

static void limits(void **state)
{
	struct format_table *table = format_table(&page, "Limits", "limit");
	struct {
		const char *name;
		char stated[64];
	} known[] = { { "page bytes", "" },	     { "value columns", "" }, { "entries of a block", "" },
		      { "leaf pages of a run", "" }, { "runs", "" },	      { "engine's bytes in the manifest", "" },
		      { "key of a series", "" } };

	(void)state;
	(void)snprintf(known[0].stated, sizeof known[0].stated, "%u to %u", IFOREST_MIN_PAGE_BYTES, IFOREST_MAX_PAGE_BYTES);
	(void)snprintf(known[1].stated, sizeof known[1].stated, "%d", IFOREST_MAX_VALUES);
	(void)snprintf(known[2].stated, sizeof known[2].stated, "%u", IFOREST_BLOCK_ENTRIES);
	(void)snprintf(known[3].stated, sizeof known[3].stated, "2^%zu - 1", 8 * sizeof((struct iforest_run *)NULL)->n_leaves);
	(void)snprintf(known[4].stated, sizeof known[4].stated, "%d", IFOREST_MAX_RUNS);
	(void)snprintf(known[5].stated, sizeof known[5].stated, "2^%u", iforest_highest_bit(IFOREST_MAX_HOST_BYTES));
	(void)snprintf(known[6].stated, sizeof known[6].stated, "%u GiB; in PostgreSQL 1000 bytes",
		       IFOREST_MAX_SERIES_KEY_BYTES >> 30);
	for (unsigned k = 0; k < COUNT_OF(known); k++)
		assert_string_equal(format_row(table, 0, known[k].name)->cells[1], known[k].stated);
}

static void each_row_was_looked_at(void **state)
{
	(void)state;
	skip_where_images_differ();
	format_check_claims(&page, "Blocks in PostgreSQL", true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page_header),
		cmocka_unit_test(columns),
		cmocka_unit_test(leaf_page),
		cmocka_unit_test(nodes),
		cmocka_unit_test(places_in_a_node),
		cmocka_unit_test(ends_of_spans),
		cmocka_unit_test(manifest),
		cmocka_unit_test(series),
		cmocka_unit_test(times),
		cmocka_unit_test(sketches),
		cmocka_unit_test(distinct_sketches),
		cmocka_unit_test(counter_pieces),
		cmocka_unit_test(image_of_a_forest),
		cmocka_unit_test(limits),
		cmocka_unit_test(each_row_was_looked_at), /* the last one */
	};

	format_read(&page);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
