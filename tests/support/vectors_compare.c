#include "tests/support/vectors.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- names ---- */

const char *vector_column(const struct vectors *vectors, enum vector_engine engine, const char *column,
			  const struct vector_name **renamed)
{
	static char name[200];
	size_t n = strlen(column);

	if (renamed)
		*renamed = NULL;
	for (unsigned i = 0; i < vectors->n_names; i++) {
		const struct vector_name *entry = &vectors->names[i];
		size_t n_ours = strlen(entry->ours);

		if (entry->engine != engine || n < n_ours || (!entry->is_ending && n != n_ours) ||
		    strcmp(column + n - n_ours, entry->ours) != 0)
			continue;
		snprintf(name, sizeof name, "%.*s%s", (int)(n - n_ours), column, entry->theirs);
		if (renamed)
			*renamed = entry;
		return name;
	}
	return column;
}

/* ---- comparing ---- */

const char *vector_asks_columns(const struct vector_question *question)
{
	static const char prefix[] = "columns_of_";

	return strncmp(question->kind, prefix, strlen(prefix)) == 0 ? question->kind + strlen(prefix) : NULL;
}

void vector_give(struct vector_given *given, const char *row)
{
	if (given->n_rows == given->most_rows) {
		given->most_rows = given->most_rows * 2 + 16;
		given->rows = realloc(given->rows, given->most_rows * sizeof *given->rows);
		assert_non_null(given->rows);
	}
	given->rows[given->n_rows] = strdup(row);
	assert_non_null(given->rows[given->n_rows]);
	given->n_rows++;
}

static void forget(struct vector_given *given)
{
	for (unsigned i = 0; i < given->n_rows; i++)
		free(given->rows[i]);
	free(given->rows);
}

static bool same_cell(const char *actual, const char *expected)
{
	char *end, *expected_end;
	double a, b;

	if (strcmp(actual, expected) == 0)
		return true;
	if (!strpbrk(actual, ".e") && !strpbrk(expected, ".e"))
		return false;
	a = strtod(actual, &end);
	b = strtod(expected, &expected_end);
	return *actual && *expected && !*end && !*expected_end && fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b));
}

static bool same_row(const char *actual, const char *expected)
{
	struct vector_list a = vector_split(actual, "|"), b = vector_split(expected, "|");
	bool is_same = a.n == b.n;

	for (unsigned i = 0; is_same && i < a.n; i++)
		is_same = same_cell(a.at[i], b.at[i]);
	free(a.text);
	free(b.text);
	return is_same;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* True if the order of rows is part of the answer: the question has an order, or there is only one series. */
static bool has_order(const struct vector_question *question)
{
	return question->order_by || (strcmp(question->kind, "rows") != 0 && question->table->n_by == 0);
}

/* True if the engine's names of columns are those of the file. */
static bool are_names(const struct vectors *vectors, enum vector_engine engine, const struct vector_given *given,
		      const struct vector_answer *answer)
{
	bool is_same = given->n_rows == answer->n_rows;

	for (unsigned i = 0; is_same && i < given->n_rows; i++)
		is_same = strcmp(given->rows[i], vector_column(vectors, engine, answer->rows[i], NULL)) == 0;
	return is_same;
}

static bool is_answer(const struct vector_question *question, const struct vector_given *given,
		      const struct vector_answer *answer)
{
	char **expected;
	bool is_same;

	if (answer->error)
		return strstr(given->error, answer->error) != NULL;
	if (given->error[0] || given->n_rows != answer->n_rows)
		return false;
	expected = malloc((answer->n_rows + 1) * sizeof *expected);
	assert_non_null(expected);
	memcpy(expected, answer->rows, answer->n_rows * sizeof *expected);
	if (!has_order(question) && answer->n_rows > 0) {
		qsort(expected, answer->n_rows, sizeof *expected, compare_texts);
		qsort(given->rows, given->n_rows, sizeof *given->rows, compare_texts);
	}
	is_same = true;
	for (unsigned i = 0; is_same && i < given->n_rows; i++)
		is_same = same_row(given->rows[i], expected[i]);
	free(expected);
	return is_same;
}

static void tell(const struct vector_question *question, const char *place, const char *what, const struct vector_given *given,
		 const struct vector_answer *answer, const char *sql)
{
	print_error("vectors.txt:%u, %s: %s\n  %s\n", question->line, place, what, sql);
	print_error("  gives %s\n", given->error[0] ? given->error : given->n_rows == 0 ? "nothing" : "");
	for (unsigned i = 0; i < given->n_rows && i < 20; i++)
		print_error("    %s\n", given->rows[i]);
	print_error("  instead of %s\n", answer->error ? answer->error : answer->n_rows == 0 ? "nothing" : "");
	for (unsigned i = 0; i < answer->n_rows && i < 20; i++)
		print_error("    %s\n", answer->rows[i]);
}

/* Returns what is wrong with the answer, or NULL. */
static const char *wrong(const struct vectors *vectors, const struct vector_question *question, enum vector_engine engine,
			 const struct vector_given *given)
{
	if (given->is_skipped)
		return NULL;
	if (question->feature->states[engine] == VECTOR_ABSENT)
		return given->error[0] ? NULL : "it is there, and should not be";
	if (vector_asks_columns(question))
		return are_names(vectors, engine, given,
				 question->differs_why[engine] ? &question->differs[engine] : &question->answer)
			       ? NULL
			       : "other columns";
	if (!question->differs_why[engine])
		return is_answer(question, given, &question->answer) ? NULL : "another answer";
	if (is_answer(question, given, &question->answer))
		return "the exception is none";
	return is_answer(question, given, &question->differs[engine]) ? NULL : "another answer than the exception's";
}

unsigned vectors_hold(const struct vectors *vectors, enum vector_engine engine, const char *place, vector_ask ask,
		      void *context)
{
	static char sql[20000];
	unsigned n_wrong = 0, n_asked = 0;

	for (unsigned i = 0; i < vectors->n_questions; i++) {
		const struct vector_question *question = &vectors->questions[i];
		struct vector_given given = { .n_rows = 0 };
		const char *what;

		sql[0] = '\0';
		ask(context, question, &given, sql, sizeof sql);
		what = wrong(vectors, question, engine, &given);
		n_wrong += what != NULL;
		n_asked += !given.is_skipped;
		if (what)
			tell(question, place, what, &given,
			     question->differs_why[engine] ? &question->differs[engine] : &question->answer, sql);
		forget(&given);
	}
	if (n_wrong > 0)
		fail_msg("%u of %u questions, %s", n_wrong, n_asked, place);
	return n_asked;
}
