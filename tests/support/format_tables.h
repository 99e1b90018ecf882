/* tests/support/format_tables.h -- Reader of the tables of FORMAT.md, with which tests compare the code's bytes.
 *
 * Every row must be claimed: a test has to look it up by its field. Fails through cmocka.
 *
 *   | byte | type | field | ...   a record: fields at fixed offsets. Types are u8 to u192, i64, i128, f64, and "u32 x 8"; a
 *                                 field of any other type extends to the end
 */
#ifndef TESTS_FORMAT_TABLES_H
#define TESTS_FORMAT_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FORMAT_TABLES = 48, FORMAT_ROWS = 24, FORMAT_CELLS = 4, FORMAT_CELL_BYTES = 320, FORMAT_FIELDS = 12 };

struct format_row {
	unsigned line;
	bool is_claimed;
	char cells[FORMAT_CELLS][FORMAT_CELL_BYTES];
};

struct format_table {
	char chapter[64], section[64]; /* the last headings before it: with two #, and with any number */
	struct format_row head, rows[FORMAT_ROWS];
	unsigned n_rows;
};

struct format {
	struct format_table tables[FORMAT_TABLES];
	unsigned n_tables;
};

/* Reads the page that IFOREST_FORMAT names, by default FORMAT.md. */
void format_read(struct format *format);

/* Returns the table of a section that has such a cell in its head. Fails if there is none. */
struct format_table *format_table(struct format *format, const char *section, const char *head);

/* Claims the row that has the text in a column. Fails if there is none. */
const struct format_row *format_row(struct format_table *table, unsigned column, const char *text);

struct format_field {
	char name[FORMAT_CELL_BYTES];
	unsigned offset, n_bytes; /* n_bytes 0: it extends to the end */
};

/* Claims a row of a record. */
struct format_field format_field(struct format_table *table, const char *name);

/* Reads a cell such as "first series u32, last series u32", whose fields follow one another. Returns how many there are. */
unsigned format_list(const char *cell, struct format_field *fields);

/* The number that a field must hold; the lowest 64 bits of a wide one first. */
struct format_expected {
	const char *name;
	uint64_t words[3];
};

/* Compares the bytes of a field of any width. */
void format_check_field(const struct format_field *field, const uint8_t *bytes, const struct format_expected *expected);

/* Compares bytes with all rows of a record, the first at byte `base`: the fields must follow each other without a gap, and hold
 * what is expected. A number at the start of the last column, up to a comma, a colon or the end, is what the field must hold.
 * Returns where the record ends. */
unsigned format_check_record(struct format_table *table, unsigned base, const uint8_t *bytes,
			     const struct format_expected *expected, unsigned n_expected);

/* A field as the code has it. */
struct format_place {
	const char *name;
	unsigned offset, n_bytes; /* n_bytes 0: not compared */
};

void format_check_places(struct format_table *table, const struct format_place *places, unsigned n_places);

/* Returns the number before a word, such as 2 before FACTOR in "1 DELTA, 2 FACTOR". */
unsigned format_number_of(const char *cell, const char *word);

/* Fails if rows of a chapter, or of all others, were not claimed, and prints their lines. */
void format_check_claims(const struct format *format, const char *chapter, bool others);

#endif
