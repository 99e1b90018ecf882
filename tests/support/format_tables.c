#include "tests/support/format_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "tests/support/harness.h"

/* Copies without the blanks at both ends. */
static void copy_trimmed(char *to, size_t n_most, const char *from, size_t n)
{
	while (n > 0 && *from == ' ')
		from++, n--;
	while (n > 0 && from[n - 1] == ' ')
		n--;
	assert_true(n < n_most);
	memcpy(to, from, n);
	to[n] = 0;
}

/* Splits "| a | b \| c |". */
static void read_row(struct format_row *row, char *line, unsigned number)
{
	char *at = line + 1, *end;
	unsigned n = 0;

	*row = (struct format_row){ .line = number };
	for (; *at; at = end + 1) {
		for (end = at; *end && *end != '|'; end++)
			if (*end == '\\' && end[1] == '|')
				end++;
		if (!*end)
			break;
		if (n == FORMAT_CELLS)
			fail_msg("line %u: a table of more than %d columns", number, FORMAT_CELLS);
		copy_trimmed(row->cells[n++], FORMAT_CELL_BYTES, at, (size_t)(end - at));
	}
}

/* Takes a line. Returns whether the next one may belong to the same table. */
static bool read_line(struct format *format, struct format_table *heading, char *line, unsigned number, bool in_table)
{
	size_t n_marks = strspn(line, "#");
	struct format_table *table = in_table ? &format->tables[format->n_tables - 1] : NULL;

	if (n_marks >= 1)
		copy_trimmed(heading->section, sizeof heading->section, line + n_marks, strlen(line + n_marks));
	if (n_marks == 2)
		memcpy(heading->chapter, heading->section, sizeof heading->chapter);
	if (*line != '|')
		return false;
	if (!table) {
		assert_true(format->n_tables < FORMAT_TABLES);
		table = &format->tables[format->n_tables++];
		*table = *heading;
		read_row(&table->head, line, number);
	} else if (strncmp(line, "|---", 4) != 0) {
		assert_true(table->n_rows < FORMAT_ROWS);
		read_row(&table->rows[table->n_rows++], line, number);
	}
	return true;
}

void format_read(struct format *format)
{
	const char *path = getenv("IFOREST_FORMAT");
	FILE *file = fopen(path ? path : "FORMAT.md", "r");
	struct format_table heading = { .n_rows = 0 };
	char line[4096];
	bool in_table = false;

	if (!file)
		fail_msg("%s cannot be read", path ? path : "FORMAT.md");
	*format = (struct format){ .n_tables = 0 };
	for (unsigned number = 1; fgets(line, sizeof line, file); number++) {
		size_t n = strcspn(line, "\n");

		assert_true(line[n] == '\n');
		line[n] = 0;
		in_table = read_line(format, &heading, line, number, in_table);
	}
	(void)fclose(file);
}

static bool has_cell(const struct format_row *row, const char *text)
{
	for (unsigned c = 0; c < FORMAT_CELLS; c++)
		if (strcmp(row->cells[c], text) == 0)
			return true;
	return false;
}

struct format_table *format_table(struct format *format, const char *section, const char *head)
{
	struct format_table *found = NULL;
	unsigned n_found = 0;

	for (unsigned t = 0; t < format->n_tables; t++)
		if (strcmp(format->tables[t].section, section) == 0 && has_cell(&format->tables[t].head, head)) {
			found = &format->tables[t];
			n_found++;
		}
	if (n_found != 1)
		fail_msg("section \"%s\" has %u tables with a column \"%s\"", section, n_found, head);
	return found;
}

const struct format_row *format_row(struct format_table *table, unsigned column, const char *text)
{
	struct format_row *found = NULL;

	for (unsigned r = 0; r < table->n_rows; r++)
		if (strcmp(table->rows[r].cells[column], text) == 0) {
			if (found)
				fail_msg("line %u: \"%s\" twice", table->rows[r].line, text);
			found = &table->rows[r];
		}
	if (!found)
		fail_msg("the table in line %u has no \"%s\"", table->head.line, text);
	found->is_claimed = true;
	return found;
}

/* Returns the bytes of a type; 0 if it is none. */
static unsigned type_bytes(const char *type)
{
	static const struct {
		const char *name;
		unsigned n_bytes;
	} types[] = { { "u8", 1 },  { "u16", 2 },   { "u32", 4 },   { "u64", 8 },   { "i64", 8 },
		      { "f64", 8 }, { "i128", 16 }, { "u192", 24 }, { "i192", 24 }, { "chain", 16 } };
	char name[FORMAT_CELL_BYTES];
	unsigned n_repeated = 1;

	if (sscanf(type, "%319s x %u", name, &n_repeated) < 1)
		return 0;
	for (unsigned i = 0; i < COUNT_OF(types); i++)
		if (strcmp(types[i].name, name) == 0)
			return types[i].n_bytes * n_repeated;
	return 0;
}

static struct format_field field_of(const struct format_row *row)
{
	struct format_field field = { .n_bytes = type_bytes(row->cells[1]) };
	char *end;

	memcpy(field.name, row->cells[2], sizeof field.name);
	field.offset = (unsigned)strtoul(row->cells[0], &end, 10);
	if (*end || end == row->cells[0])
		fail_msg("line %u: \"%s\" is no offset", row->line, row->cells[0]);
	return field;
}

struct format_field format_field(struct format_table *table, const char *name)
{
	return field_of(format_row(table, 2, name));
}

unsigned format_list(const char *cell, struct format_field *fields)
{
	unsigned n = 0, offset = 0;

	for (const char *at = cell; *at; n++) {
		size_t n_item = strcspn(at, ",");
		char item[FORMAT_CELL_BYTES], *type;

		assert_true(n < FORMAT_FIELDS);
		copy_trimmed(item, sizeof item, at, n_item);
		type = strrchr(item, ' ');
		if (!type || type_bytes(type + 1) == 0)
			fail_msg("\"%s\" in a list of fields has no type", item);
		*type = 0;
		fields[n] = (struct format_field){ .offset = offset, .n_bytes = type_bytes(type + 1) };
		memcpy(fields[n].name, item, strlen(item) + 1);
		offset += fields[n].n_bytes;
		at += n_item + (at[n_item] == ',');
	}
	return n;
}

void format_check_field(const struct format_field *field, const uint8_t *bytes, const struct format_expected *expected)
{
	for (unsigned i = 0; i < field->n_bytes; i++) {
		unsigned want = i / 8 < 3 ? (unsigned)(expected->words[i / 8] >> (8 * (i % 8)) & 0xff) : 0;

		if (bytes[field->offset + i] != want)
			fail_msg("\"%s\", %u bytes at %u: byte %u is %02x, expected %02x", field->name, field->n_bytes,
				 field->offset, i, bytes[field->offset + i], want);
	}
}

/* Compares the field with the number at the start of its last column, if there is one. */
static void check_stated_number(const struct format_row *row, const struct format_field *field, const uint8_t *bytes)
{
	char *end;
	struct format_expected stated = { .name = field->name };

	stated.words[0] = strtoull(row->cells[3], &end, 0);
	if (end != row->cells[3] && (*end == 0 || *end == ',' || *end == ':'))
		format_check_field(field, bytes, &stated);
}

unsigned format_check_record(struct format_table *table, unsigned base, const uint8_t *bytes,
			     const struct format_expected *expected, unsigned n_expected)
{
	unsigned end = base;

	if (n_expected != table->n_rows)
		fail_msg("the table in line %u has %u fields, expected %u", table->head.line, table->n_rows, n_expected);
	for (unsigned r = 0; r < table->n_rows; r++) {
		const struct format_row *row = format_row(table, 2, expected[r].name);
		struct format_field field = field_of(row);

		if (row != &table->rows[r] || field.offset != end)
			fail_msg("line %u: \"%s\" does not begin where the field before it ends, at %u", row->line, field.name,
				 end);
		if (field.n_bytes == 0 && r + 1 < table->n_rows)
			fail_msg("line %u: \"%s\" is no type of a field", row->line, row->cells[1]);
		format_check_field(&field, bytes, &expected[r]);
		check_stated_number(row, &field, bytes);
		end += field.n_bytes;
	}
	return end;
}

void format_check_places(struct format_table *table, const struct format_place *places, unsigned n_places)
{
	for (unsigned p = 0; p < n_places; p++) {
		struct format_field field = format_field(table, places[p].name);

		if (field.offset != places[p].offset || (places[p].n_bytes && field.n_bytes != places[p].n_bytes))
			fail_msg("\"%s\": %u bytes at %u, in the code %u at %u", field.name, field.n_bytes, field.offset,
				 places[p].n_bytes, places[p].offset);
	}
}

unsigned format_number_of(const char *cell, const char *word)
{
	for (const char *at = cell; *at; at++) {
		char *end;
		unsigned long number = strtoul(at, &end, 10);

		if (*at >= '0' && *at <= '9' && *end == ' ' && strncmp(end + 1, word, strlen(word)) == 0)
			return (unsigned)number;
	}
	fail_msg("\"%s\" does not say the number of \"%s\"", cell, word);
	return 0;
}

void format_check_claims(const struct format *format, const char *chapter, bool others)
{
	unsigned n_unclaimed = 0;

	for (unsigned t = 0; t < format->n_tables; t++) {
		const struct format_table *table = &format->tables[t];

		if ((strcmp(table->chapter, chapter) != 0) != others)
			continue;
		for (unsigned r = 0; r < table->n_rows; r++)
			if (!table->rows[r].is_claimed) {
				print_error("line %u: no test looks at \"%s\"\n", table->rows[r].line,
					    table->rows[r].cells[table->rows[r].cells[2][0] ? 2 : 0]);
				n_unclaimed++;
			}
	}
	assert_int_equal(n_unclaimed, 0);
}
