/* tests/support/vectors.h -- Tables, questions and answers of tests/vectors/vectors.txt that hold in both engines, and where
 * one of them differs and why.
 *
 * A test makes the tables, and asks each question in its engine's words; vectors_hold() compares. Fails through cmocka, so it
 * is for tests only. tests/vectors/README.md explains the file.
 */
#ifndef TESTS_VECTORS_H
#define TESTS_VECTORS_H

#include <stdbool.h>
#include <stddef.h>

enum vector_engine { VECTORS_SQLITE, VECTORS_POSTGRES, VECTORS_CORE, VECTOR_ENGINES };
enum vector_argument { VECTOR_T0, VECTOR_T1, VECTOR_N, VECTOR_STEP, VECTOR_ORIGIN, VECTOR_FILL, VECTOR_ARGUMENTS };
enum { VECTOR_TABLES = 8, VECTOR_QUESTIONS = 500, VECTOR_FEATURES = 40, VECTOR_COLUMNS = 40, VECTOR_NAMES = 8 };

extern const char *const vector_argument_names[VECTOR_ARGUMENTS];

/* "a, b, c" in pieces; they belong to whom the text belongs. */
struct vector_list {
	const char *at[VECTOR_COLUMNS];
	unsigned n;
	char *text;
};

struct vector_table {
	const char *name;
	unsigned n_by, n_columns;          /* id, the by columns, ts, dur, size */
	const char *columns[VECTOR_COLUMNS], *types[VECTOR_COLUMNS];
	const char *where;                 /* which rows its index has; NULL: all */
	const char *end;                   /* its column of ends, in the place of dur; NULL: it has durations */
	char **rows;                       /* "1|main|0|40|7", NULL for NULL */
	unsigned n_rows;
};

/* Rows in the order in which they come where the question has one. */
struct vector_answer {
	char **rows;
	unsigned n_rows;
	const char *error;                 /* NULL: rows; else the message contains it */
};

/* How an engine takes a feature. */
enum vector_state { VECTOR_SAME, VECTOR_INSTEAD, VECTOR_ABSENT };

struct vector_feature {
	const char *title;
	enum vector_state states[VECTOR_ENGINES];
	const char *reasons[VECTOR_ENGINES]; /* of what is not the same */
};

struct vector_question {
	const struct vector_feature *feature;
	const struct vector_table *table;
	const char *kind;                  /* window, fold, overlap, peak, rows, top, gaps, counter, sketch, heatmap, values; columns_of_window, ... */
	const char *arguments[VECTOR_ARGUMENTS]; /* as SQL; NULL: not given */
	const char *where, *order_by;      /* NULL: none. order_by ends with its limit */
	struct vector_list columns, keep;  /* keep: of a fold */
	unsigned line;
	struct vector_answer answer, differs[VECTOR_ENGINES];
	const char *differs_why[VECTOR_ENGINES]; /* NULL: it does not */
};

/* What an engine calls a column. */
struct vector_name {
	enum vector_engine engine;
	bool is_reference; /* it leads to a row, whose id is the answer */
	bool is_ending;    /* all columns whose names end so */
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

/* Reads the file; what cannot be understood fails the test. */
void vectors_read(struct vectors *vectors);
void vectors_free(struct vectors *vectors);

/* Cuts a row or a list at a separator; the copy that the pieces point into is to be freed (.text). */
struct vector_list vector_split(const char *row, const char *separator);

/* The engine's name of a column: itself, or by vectors->names. *renamed, if not NULL, is that entry or NULL. Static storage. */
const char *vector_column(const struct vectors *vectors, enum vector_engine engine, const char *column,
			  const struct vector_name **renamed);

/* NULL, or the kind whose columns are asked for: their names, one a row. */
const char *vector_asks_columns(const struct vector_question *question);

/* An answer that an engine gives; rows are copied. */
struct vector_given {
	char **rows;
	unsigned n_rows, most_rows;
	char error[1000];                  /* "": there is none */
	bool is_skipped;                   /* it has no such question */
};

void vector_give(struct vector_given *given, const char *row);

/* Asks the question and gives rows, with NULL for NULL, in the order of the columns. `sql` is told where the answer is
 * wrong. */
typedef void (*vector_ask)(void *context, const struct vector_question *question, struct vector_given *given, char *sql,
			   size_t n_sql);

/* Asks all questions, tells what differs, and fails if something does: an answer that is not the expected one, and an exception
 * that is none. `place` says how the tables were made. Returns how many were not skipped. */
unsigned vectors_hold(const struct vectors *vectors, enum vector_engine engine, const char *place, vector_ask ask,
		      void *context);

/* The page that says what holds in which engine. To be freed. */
char *vectors_page(const struct vectors *vectors);

#endif
