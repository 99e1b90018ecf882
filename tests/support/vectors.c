#include "tests/support/vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/examples.h"

const char *const vector_argument_names[VECTOR_ARGUMENTS] = { "t0", "t1", "n", "step", "origin", "fill" };
static const char *const engine_names[VECTOR_ENGINES] = { "sqlite", "postgres", "core" };

/* ---- text ---- */

struct vector_list vector_split(const char *row, const char *separator)
{
	struct vector_list list = { .text = strdup(row) };
	size_t n = strlen(separator);

	assert_non_null(list.text);
	for (char *at = list.text, *end; at; at = end) {
		end = strstr(at, separator);
		if (end) {
			*end = '\0';
			end += n;
		}
		assert_true(list.n < VECTOR_COLUMNS);
		list.at[list.n++] = at;
	}
	return list;
}

/* Cuts off the next word, and returns it; NULL at the end. */
static char *cut_word(char **text)
{
	char *word = *text, *space = strchr(word, ' ');

	if (!*word)
		return NULL;
	*text = space ? space + 1 : word + strlen(word);
	if (space)
		*space = '\0';
	return word;
}

/* Returns what follows the word if the line begins with it; otherwise NULL. */
static char *after(char *line, const char *word)
{
	size_t n = strlen(word);

	return strncmp(line, word, n) == 0 ? line + n : NULL;
}

/* ---- reading ---- */

struct reader {
	struct vectors *vectors;
	struct vector_answer *answer; /* of which rows are being read */
	unsigned line;
};

static void add_row(struct vectors *vectors, char *row)
{
	assert_true(vectors->n_rows < vectors->most_rows);
	vectors->rows[vectors->n_rows++] = row;
}

static enum vector_engine read_engine(struct reader *reader, char **text)
{
	const char *word = cut_word(text);

	for (enum vector_engine engine = 0; word && engine < VECTOR_ENGINES; engine++)
		if (strcmp(word, engine_names[engine]) == 0)
			return engine;
	fail_msg("vectors.txt:%u: no such engine", reader->line);
	return VECTOR_ENGINES;
}

static void add_column(struct vector_table *table, const char *name, const char *type)
{
	table->columns[table->n_columns] = name;
	table->types[table->n_columns++] = type;
}

static void read_table(struct reader *reader, char *text)
{
	struct vectors *vectors = reader->vectors;
	struct vector_table *table = &vectors->tables[vectors->n_tables++];
	char *column;

	assert_true(vectors->n_tables <= VECTOR_TABLES);
	table->name = cut_word(&text);
	table->rows = vectors->rows + vectors->n_rows;
	add_column(table, "id", "bigint");
	for (; (column = cut_word(&text)) != NULL; table->n_by++) {
		char *type = strchr(column, ':');

		assert_non_null(type);
		*type = '\0';
		add_column(table, column, type + 1);
	}
	add_column(table, "ts", "bigint");
	add_column(table, "dur", "bigint");
	add_column(table, "size", "bigint");
}

/* Reads a line about the index of the last table. */
static void read_index(struct reader *reader, char *text)
{
	struct vector_table *table = &reader->vectors->tables[reader->vectors->n_tables - 1];
	const char *word = cut_word(&text);

	if (strcmp(word, "where") == 0)
		table->where = text;
	else if (strcmp(word, "end") == 0)
		table->columns[table->n_columns - 2] = table->end = text;
	else
		fail_msg("vectors.txt:%u: index %s", reader->line, word);
}

static void read_state(struct reader *reader, enum vector_state state, char *text)
{
	struct vector_feature *feature = &reader->vectors->features[reader->vectors->n_features - 1];
	enum vector_engine engine = read_engine(reader, &text);

	feature->states[engine] = state;
	feature->reasons[engine] = text;
}

static void read_argument(struct reader *reader, struct vector_question *question, char *text)
{
	char *value = strchr(text, '=');

	assert_non_null(value);
	*value = '\0';
	for (unsigned i = 0; i < VECTOR_ARGUMENTS; i++)
		if (strcmp(text, vector_argument_names[i]) == 0) {
			question->arguments[i] = value + 1;
			return;
		}
	fail_msg("vectors.txt:%u: no argument %s", reader->line, text);
}

static void expect(struct reader *reader, struct vector_answer *answer)
{
	answer->rows = reader->vectors->rows + reader->vectors->n_rows;
	reader->answer = answer;
}

static void read_question(struct reader *reader, char *text)
{
	struct vectors *vectors = reader->vectors;
	struct vector_question *question = &vectors->questions[vectors->n_questions++];
	const char *name;
	char *argument;

	assert_true(vectors->n_questions <= VECTOR_QUESTIONS);
	question->feature = &vectors->features[vectors->n_features - 1];
	question->kind = cut_word(&text);
	question->line = reader->line;
	name = cut_word(&text);
	for (unsigned i = 0; i < vectors->n_tables; i++)
		if (strcmp(vectors->tables[i].name, name) == 0)
			question->table = &vectors->tables[i];
	assert_non_null(question->table);
	while ((argument = cut_word(&text)) != NULL)
		read_argument(reader, question, argument);
	expect(reader, &question->answer);
}

static void read_name(struct reader *reader, bool is_reference, char *text)
{
	struct vector_name *name = &reader->vectors->names[reader->vectors->n_names++];

	assert_true(reader->vectors->n_names <= VECTOR_NAMES);
	name->engine = read_engine(reader, &text);
	name->is_reference = is_reference;
	name->ours = cut_word(&text);
	name->is_ending = name->ours[0] == '_';
	name->theirs = cut_word(&text);
	name->reason = text;
}

static void read_difference(struct reader *reader, char *text)
{
	struct vector_question *question = &reader->vectors->questions[reader->vectors->n_questions - 1];
	enum vector_engine engine = read_engine(reader, &text);

	question->differs_why[engine] = text;
	expect(reader, &question->differs[engine]);
}

static void read_feature(struct reader *reader, const char *title)
{
	assert_true(reader->vectors->n_features < VECTOR_FEATURES);
	reader->vectors->features[reader->vectors->n_features++].title = title;
}

static void read_table_row(struct reader *reader, char *row)
{
	add_row(reader->vectors, row);
	reader->vectors->tables[reader->vectors->n_tables - 1].n_rows++;
}

static void read_line(struct reader *reader, char *line)
{
	struct vectors *vectors = reader->vectors;
	struct vector_question *question = vectors->n_questions > 0 ? &vectors->questions[vectors->n_questions - 1] : NULL;
	char *rest;

	if (!*line || *line == '#')
		return;
	if ((rest = after(line, "= ")) != NULL && reader->answer) {
		add_row(vectors, rest);
		reader->answer->n_rows++;
	} else if ((rest = after(line, "row ")) != NULL) {
		read_table_row(reader, rest);
	} else if ((rest = after(line, "table ")) != NULL) {
		read_table(reader, rest);
	} else if ((rest = after(line, "index ")) != NULL) {
		read_index(reader, rest);
	} else if ((rest = after(line, "feature ")) != NULL) {
		read_feature(reader, rest);
	} else if ((rest = after(line, "absent ")) != NULL) {
		read_state(reader, VECTOR_ABSENT, rest);
	} else if ((rest = after(line, "instead ")) != NULL) {
		read_state(reader, VECTOR_INSTEAD, rest);
	} else if ((rest = after(line, "ask ")) != NULL) {
		read_question(reader, rest);
	} else if ((rest = after(line, "name ")) != NULL) {
		read_name(reader, false, rest);
	} else if ((rest = after(line, "reference ")) != NULL) {
		read_name(reader, true, rest);
	} else if (question && (rest = after(line, "columns ")) != NULL) {
		question->columns = vector_split(rest, ", ");
	} else if (question && (rest = after(line, "keep ")) != NULL) {
		question->keep = *rest ? vector_split(rest, ", ") : (struct vector_list){ .n = 0 };
	} else if (question && (rest = after(line, "where ")) != NULL) {
		question->where = rest;
	} else if (question && (rest = after(line, "order by ")) != NULL) {
		question->order_by = rest;
	} else if (question && (rest = after(line, "differs ")) != NULL) {
		read_difference(reader, rest);
	} else if (question && (rest = after(line, "error ")) != NULL) {
		reader->answer->error = rest;
	} else {
		fail_msg("vectors.txt:%u: %s", reader->line, line);
	}
}

void vectors_read(struct vectors *vectors)
{
	struct reader reader = { .vectors = vectors };
	char *rest, *line;

	memset(vectors, 0, sizeof *vectors);
	vectors->text = read_whole_file("tests/vectors/vectors.txt");
	assert_non_null(vectors->text);
	for (const char *at = vectors->text; (at = strchr(at, '\n')) != NULL; at++)
		vectors->most_rows++;
	vectors->rows = calloc(vectors->most_rows, sizeof *vectors->rows);
	assert_non_null(vectors->rows);
	for (rest = vectors->text; (line = cut_line(&rest)) != NULL;) {
		reader.line++;
		read_line(&reader, line);
	}
	assert_true(vectors->n_questions > 0);
}

void vectors_free(struct vectors *vectors)
{
	for (unsigned i = 0; i < vectors->n_questions; i++) {
		free(vectors->questions[i].columns.text);
		free(vectors->questions[i].keep.text);
	}
	free(vectors->rows);
	free(vectors->text);
}
