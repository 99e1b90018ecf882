/* tests/pg/test_format.c -- PostgreSQL's blocks in FORMAT.md, against the structs of pg_ext/storage and the file of an index.
 *
 * The structs say where a field is and how wide; of the file it is read what an index of known rows must have there.
 */
#include "tests/pg/client.h"
#include "tests/pg/storage_layout.h"
#include "tests/support/format_tables.h"

enum { BLOCK_BYTES = 8192, CONTENT = 24, N_ROWS = 60000 };

static struct format page;

static struct {
	uint8_t *bytes;
	unsigned n_blocks;
} file;

static void check_layout(const char *section, const char *head, const struct format_place *places)
{
	struct format_table *table = format_table(&page, section, head);
	unsigned n = 0, end = places[0].offset;

	for (; places[n].name; n++) {
		assert_int_equal(places[n].offset, end);
		end += places[n].n_bytes;
	}
	assert_int_equal(n, table->n_rows);
	format_check_places(table, places, n);
}

static void fields_are_where_the_structs_have_them(void **state)
{
	struct format_table *special = format_table(&page, "Blocks in PostgreSQL", "field of the special space");
	struct format_table *kinds = format_table(&page, "Blocks in PostgreSQL", "kind");

	(void)state;
	check_layout("Blocks in PostgreSQL", "field of the special space", layout_of_special);
	check_layout("Sums of pages", "field of a sum", layout_of_sum);
	check_layout("Metapage", "field", layout_of_meta);
	check_layout("Metapage", "field of a chain", layout_of_chain);
	check_layout("Extents", "field of an extent", layout_of_extent);
	check_layout("Pending entries", "field of an entry", layout_of_fixed_entry);
	for (const struct format_place *flag = layout_flags; flag->name; flag++)
		assert_int_equal(format_number_of(format_row(special, 2, "flags")->cells[3], flag->name), flag->offset);
	for (const struct format_place *kind = layout_kinds; kind->name; kind++)
		assert_int_equal(atoi(format_row(kinds, 1, kind->name)->cells[0]), kind->offset);
}

/* ---- The file of an index ---- */

static uint64_t number(const char *section, const char *head, const char *name, const uint8_t *bytes)
{
	struct format_field field = format_field(format_table(&page, section, head), name);
	uint64_t read = 0;

	assert_true(field.n_bytes > 0 && field.n_bytes <= 8);
	memcpy(&read, bytes + field.offset, field.n_bytes);
	return read;
}

/* The number that the page states for a field must be there. */
static void check_stated(const char *section, const char *head, const char *name, const uint8_t *bytes)
{
	const struct format_row *row = format_row(format_table(&page, section, head), 2, name);

	if (number(section, head, name, bytes) != strtoull(row->cells[3], NULL, 0))
		fail_msg("line %u: \"%s\" is not what stands in the file", row->line, row->cells[3]);
}

static const uint8_t *block(uint64_t number_of_block)
{
	assert_true(number_of_block < file.n_blocks);
	return file.bytes + number_of_block * BLOCK_BYTES;
}

static uint64_t special(uint64_t number_of_block, const char *name)
{
	return number("Blocks in PostgreSQL", "field of the special space", name, block(number_of_block));
}

static void check_kind(uint64_t number_of_block, const char *kind)
{
	struct format_table *kinds = format_table(&page, "Blocks in PostgreSQL", "kind");

	assert_int_equal(special(number_of_block, "kind"), atoi(format_row(kinds, 1, kind)->cells[0]));
	check_stated("Blocks in PostgreSQL", "field of the special space", "page id", block(number_of_block));
}

static unsigned hex(char digit)
{
	return (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

static void read_file(PGconn *pg)
{
	PGresult *result;
	const char *text;

	client_run(pg, "CHECKPOINT");
	result = client_rows(pg, "SELECT pg_read_binary_file(pg_relation_filepath('t_if'))");
	text = PQgetvalue(result, 0, 0) + 2;
	file.n_blocks = (unsigned)(strlen(text) / 2 / BLOCK_BYTES);
	file.bytes = malloc((size_t)file.n_blocks * BLOCK_BYTES);
	assert_non_null(file.bytes);
	for (size_t i = 0; i < (size_t)file.n_blocks * BLOCK_BYTES; i++)
		file.bytes[i] = (uint8_t)(hex(text[2 * i]) << 4 | hex(text[2 * i + 1]));
	PQclear(result);
}

/* A run with sketches; then two pending rows. */
static int set_up(void **state)
{
	int status = client_set_up(state);

	if (status)
		return status;
	client_run(*state,
		   "DROP TABLE IF EXISTS t; CREATE TABLE t(s text, ts bigint, dur bigint) WITH (autovacuum_enabled = off)");
	client_run(*state, "INSERT INTO t SELECT 'a', i, i %% 100 FROM generate_series(1, %d) i", N_ROWS);
	client_run(*state,
		   "CREATE INDEX t_if ON t USING iforest (s, ts) INCLUDE (dur) WITH (sketch = 'dur', distinct = 'dur', background_merge = off)");
	client_run(*state, "INSERT INTO t VALUES ('a', 1234567890123, 77)");
	client_run(*state, "INSERT INTO t VALUES ('b', NULL, NULL)");
	read_file(*state);
	return 0;
}

static int tear_down(void **state)
{
	free(file.bytes);
	return client_tear_down(state);
}

static void blocks(void **state)
{
	struct format_table *table = format_table(&page, "Blocks in PostgreSQL", "block");

	(void)state;
	assert_string_equal(format_row(table, 0, "0")->cells[1], "metapage");
	check_kind(0, "meta");
	assert_string_equal(format_row(table, 0, "1, 2")->cells[1], "first blocks of the manifest's two slots");
	check_kind(1, "manifest");
	check_kind(2, "manifest");
	assert_string_equal(format_row(table, 0, "3")->cells[1], "first block of the list of extents");
	check_kind(3, "extents");
	assert_string_equal(format_row(table, 0, "4 and up")->cells[1], "as the list of extents says");
	assert_true(number("Extents", "field of an extent", "start", block(3) + CONTENT) >= 4);
}

static void metapage(void **state)
{
	const uint8_t *meta = block(0) + CONTENT;
	uint64_t slot = number("Metapage", "field", "slot", meta), first_block = 0;
	unsigned slots = format_field(format_table(&page, "Metapage", "field"), "slots").offset;
	const uint8_t *manifest;

	(void)state;
	check_stated("Metapage", "field", "magic", meta);
	check_stated("Metapage", "field", "version", meta);
	assert_true(slot < 2);
	memcpy(&first_block, meta + slots + 32 * 4 * slot, 4);
	assert_int_equal(first_block, 1 + slot);
	manifest = block(first_block) + CONTENT;
	assert_true(number("Manifest", "field", "manifest id", manifest) == number("Metapage", "field", "manifest id", meta));
	assert_int_equal(number("Manifest", "field", "length", manifest), number("Metapage", "field", "manifest bytes", meta));
	check_kind(number("Metapage", "field", "series head", meta), "series");
	check_kind(number("Metapage", "field", "series tail", meta), "series");
}

/* The first page of the open chain that the metapage names. */
static uint64_t pending_page(void)
{
	const uint8_t *meta = block(0) + CONTENT;
	unsigned chains = format_field(format_table(&page, "Metapage", "field"), "open chains").offset;

	for (unsigned c = 0; c < 8; c++) {
		const uint8_t *chain = meta + chains + 16 * c;
		uint64_t head = number("Metapage", "field of a chain", "head", chain);

		if (number("Metapage", "field of a chain", "clock", chain) == 0)
			continue;
		check_kind(head, "pending");
		assert_int_equal(special(head, "owner"), number("Metapage", "field of a chain", "clock", chain));
		assert_int_equal(special(head, "flags"), 4);
		return head;
	}
	fail_msg("no open chain");
	return 0;
}

/* What is said of a packed entry's field stands in a row of its own. */
static void claim(const char *type, const char *name)
{
	assert_string_equal(format_row(format_table(&page, "Pending entries", "field of a packed entry"), 1, name)->cells[0], type);
}

static uint64_t varint(const uint8_t **at)
{
	uint64_t value = 0;
	unsigned shift = 0;

	for (; **at & 0x80; ++*at, shift += 7)
		value |= (uint64_t)(**at & 0x7f) << shift;
	return value | (uint64_t)*(*at)++ << shift;
}

static int64_t unzigzag(uint64_t x)
{
	return x & 1 ? -(int64_t)(x >> 1) - 1 : (int64_t)(x >> 1);
}

static uint64_t little(const uint8_t **at, unsigned n_bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < n_bytes; i++)
		value |= (uint64_t)*(*at)++ << 8 * i;
	return value;
}

static uint64_t mix(uint64_t sum, uint64_t word)
{
	sum = (sum ^ word) * UINT64_C(0x9E3779B185EBCA87);
	return sum ^ sum >> 32;
}

static uint16_t check_after(uint16_t before, const uint8_t *bytes, const uint8_t *end)
{
	uint64_t sum = before;

	while (bytes < end)
		sum = mix(sum, little(&bytes, end - bytes < 8 ? (unsigned)(end - bytes) : 8));
	return (uint16_t)((uint32_t)sum ^ (uint32_t)sum >> 16);
}

static void pending_entries(void **state)
{
	uint64_t head = pending_page();
	const uint8_t *at = block(head) + CONTENT, *entry;
	uint16_t check = (uint16_t)mix(mix(0, special(head, "owner") | special(head, "last") << 32), head);
	unsigned heap_block, offset, lengths;
	int64_t first_block = 0;
	PGresult *result = client_rows(*state, "SELECT ctid FROM t WHERE ts IS NULL OR ts > %d ORDER BY ts", N_ROWS);

	claim("varint", "offset");
	claim("varint", "series");
	claim("varint", "block");
	claim("n / 2 + 1", "lengths");
	claim("length", "time");
	claim("lengths", "values");
	claim("u16", "check");
	for (unsigned n = 0; n < 2; n++) {
		assert_int_equal(sscanf(PQgetvalue(result, (int)n, 0), "(%u,%u)", &heap_block, &offset), 2);
		entry = at;
		assert_int_equal(varint(&at), offset);
		assert_int_equal(varint(&at), n);
		assert_int_equal(unzigzag(varint(&at)), heap_block - first_block);
		first_block = heap_block;
		lengths = (unsigned)little(&at, 1);
		assert_int_equal(lengths, n == 0 ? 1 << 4 | 6 : 15 << 4 | 15);
		if (n == 0) {
			assert_true(unzigzag(little(&at, lengths & 15)) == 1234567890123);
			assert_int_equal(unzigzag(little(&at, lengths >> 4)), 77);
		}
		check = check_after(check, entry, at);
		assert_int_equal(little(&at, 2), check);
	}
	while (at < block(head) + CONTENT + 8152)
		assert_int_equal(*at++, 0);
	PQclear(result);
}

/* The first page of sketches, found by its kind: all of the run's first column. */
static void sketches(void **state)
{
	static const char section[] = "Sketches in PostgreSQL";
	struct format_table *of_the_stream = format_table(&page, section, "field of the stream");
	uint64_t run_id = 0,
		 sketch_kind =
			 (uint64_t)atoi(format_row(format_table(&page, "Blocks in PostgreSQL", "kind"), 1, "sketch")->cells[0]);
	unsigned b = 4;
	const uint8_t *content, *stream, *entry;
	uint64_t n;

	(void)state;
	while (special(b, "kind") != sketch_kind)
		b++;
	for (unsigned other = 4; other < file.n_blocks; other++)
		if (special(other, "kind") != sketch_kind && special(other, "owner") == special(b, "owner"))
			run_id = number("Page header", "field", "run id", block(other) + CONTENT);
	content = block(b) + CONTENT;
	assert_true(run_id != 0 && number(section, "field of a page", "run id", content) == run_id);
	assert_true(number(section, "field of a page", "stamp", content) != 0);
	check_stated(section, "field of a page", "zero", content);
	stream = content + format_field(format_table(&page, section, "field of a page"), "part").offset;
	check_stated(section, "field of the stream", "magic", stream);
	check_stated(section, "field of the stream", "zero", stream);
	assert_true(number(section, "field of the stream", "checksum", stream) != 0);
	n = number(section, "field of the stream", "sketches", stream);
	assert_true(n >= 1 && n < 100);

	/* the first sketch stands behind the list, and all of them fill the stream */
	entry = stream + format_field(of_the_stream, "entries").offset;
	assert_int_equal(format_field(of_the_stream, "entries").offset, 16);
	assert_int_equal(number(section, "field of a sketch", "offset", entry), 16 + 24 * n);
	check_stated("Sketches", "byte", "magic", stream + 16 + 24 * n);
	(void)format_check_record(
		format_table(&page, section, "field of a sketch"), 0, entry,
		(struct format_expected[]){ { "removed entries", { 0 } },
					    { "number", { 0 } },
					    { "offset", { 16 + 24 * n } },
					    { "length", { number(section, "field of a sketch", "length", entry) } },
					    { "value", { 0 } },
					    { "level", { 2 } },
					    { "kind", { 0 } },
					    { "zero", { 0 } } },
		8);
	entry += 24 * (n - 1);
	assert_int_equal(number(section, "field of a sketch", "kind", entry), 1);
	assert_int_equal(number(section, "field of a sketch", "offset", entry) +
				 number(section, "field of a sketch", "length", entry),
			 number(section, "field of a page", "length", content));
}

static void each_row_was_looked_at(void **state)
{
	(void)state;
	format_check_claims(&page, "Blocks in PostgreSQL", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_where_the_structs_have_them),
		cmocka_unit_test(blocks),
		cmocka_unit_test(metapage),
		cmocka_unit_test(pending_entries),
		cmocka_unit_test(sketches),
		cmocka_unit_test(each_row_was_looked_at), /* the last one */
	};

	format_read(&page);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
