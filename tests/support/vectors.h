/* tests/support/vectors.h -- Reader of tests/vectors/vectors.txt: tables, and questions with the answers of all engines, or
 * with the reason why one of them differs.
 *
 * A test makes the tables, and translates each question for its engine; vectors_hold() compares the answers. Fails through
 * cmocka, so it is for tests only. tests/vectors/README.md explains the file.
 */
#ifndef TESTS_VECTORS_H
#define TESTS_VECTORS_H

#include <stdbool.h>
#include <stddef.h>

enum vector_engine { VECTORS_SQLITE, VECTORS_POSTGRES, VECTORS_CORE, VECTOR_ENGINES };
enum vector_argument { VECTOR_T0, VECTOR_T1, VECTOR_N, VECTOR_STEP, VECTOR_ORIGIN, VECTOR_FILL, VECTOR_ARGUMENTS };
enum { VECTOR_TABLES = 8, VECTOR_QUESTIONS = 500, VECTOR_FEATURES = 40, VECTOR_COLUMNS = 40, VECTOR_NAMES = 8 };

extern const char *const vector_argument_names[VECTOR_ARGUMENTS];

/* The parts of "a, b, c", which point into a text. */
struct vector_list {
	const char *at[VECTOR_COLUMNS];
	unsigned n;
	char *text;
};

struct vector_table {
	const char *name;
	unsigned n_by, n_columns;          /* id, the by columns, ts, dur, size */
	const char *columns[VECTOR_COLUMNS], *types[VECTOR_COLUMNS];
	const char *where;                 /* the condition on rows of its index; NULL: all rows */
	const char *end;                   /* its column of ends, instead of dur; NULL: it has durations */
	char **rows;                       /* "1|main|0|40|7", NULL for NULL */
	unsigned n_rows;
};

/* The rows of an answer, in order if the question has one. */
struct vector_answer {
	char **rows;
	unsigned n_rows;
	const char *error;                 /* a part of the message; NULL: there are rows */
};

/* How an engine supports a feature. */
enum vector_state { VECTOR_SAME, VECTOR_INSTEAD, VECTOR_ABSENT };

struct vector_feature {
	const char *title;
	enum vector_state states[VECTOR_ENGINES];
	const char *reasons[VECTOR_ENGINES]; /* why the feature is not the same */
};

struct vector_question {
	const struct vector_feature *feature;
	const struct vector_table *table;
	/* window, fold, overlap, peak, rows, top, gaps, counter, sketch, heatmap, values; columns_of_window, ... */
	const char *kind;
	const char *arguments[VECTOR_ARGUMENTS]; /* as SQL; NULL: not given */
	const char *where, *order_by;      /* NULL: none. order_by ends with its limit */
	struct vector_list columns, keep;  /* keep: of a fold */
	unsigned line;
	struct vector_answer answer, differs[VECTOR_ENGINES];
	const char *differs_why[VECTOR_ENGINES]; /* NULL: it does not differ */
};

/* An engine's name of a column. */
struct vector_name {
	enum vector_engine engine;
	bool is_reference; /* the engine's column refers to a row, whose id is the answer */
	bool is_ending;    /* the names are endings, for all columns whose names end so */
	const char *ours, *theirs, *reason;
};

struct vectors {
	struct vector_table tables[VECTOR_TABLES];
	struct vector_feature features[VECTOR_FEATURES];
	struct vector_question questions[VECTOR_QUESTIONS];
	struct vector_name names[VECTOR_NAMES];
	char **rows;                       /* of all tables and answers */
	unsigned n_tables, n_features, n_questions, n_names, n_rows, most_rows;
	char *text;
};

/* Reads the file. A line that cannot be understood fails the test. */
void vectors_read(struct vectors *vectors);
void vectors_free(struct vectors *vectors);

/* Splits a row or a list at a separator. The parts point into a copy, .text, which the caller frees. */
struct vector_list vector_split(const char *row, const char *separator);

/* Returns the engine's name of a column: the same, or one of vectors->names. If `renamed` is given, *renamed is that entry, or
 * NULL. The text has static storage. */
const char *vector_column(const struct vectors *vectors, enum vector_engine engine, const char *column,
			  const struct vector_name **renamed);

/* Returns the kind whose column names the question asks for, one per row; NULL if it asks for something else. */
const char *vector_asks_columns(const struct vector_question *question);

/* An engine's answer; rows are copied. */
struct vector_given {
	char **rows;
	unsigned n_rows, most_rows;
	char error[1000];                  /* "": none */
	bool is_skipped;                   /* the engine has no such question */
};

void vector_give(struct vector_given *given, const char *row);

/* Asks the question, and gives the rows, with columns in the question's order, and "NULL" for NULL. `sql` is set to what was
 * asked, to be printed if the answer is wrong. */
typedef void (*vector_ask)(void *context, const struct vector_question *question, struct vector_given *given, char *sql,
			   size_t n_sql);

/* Asks all questions, and prints and fails on differences: an answer that is not the expected one, or an exception that does
 * not occur. `place` says how the tables were made. Returns how many questions were not skipped. */
unsigned vectors_hold(const struct vectors *vectors, enum vector_engine engine, const char *place, vector_ask ask,
		      void *context);

/* Returns the page that says what holds in which engine. The caller frees it. */
char *vectors_page(const struct vectors *vectors);

#endif
