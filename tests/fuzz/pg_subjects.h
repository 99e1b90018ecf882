/* pg_subjects.h -- tables with an index each, which between them hold every kind of page; and what is asked of them. */
#ifndef TESTS_FUZZ_PG_SUBJECTS_H
#define TESTS_FUZZ_PG_SUBJECTS_H

#include <stddef.h>

/* A query that has one answer, whatever the plan. */
struct subject_question {
	const char *sql;
	const char *plan;      /* words in the plan that reads the index */
	const char *setting;   /* of a planner's setting to be off for that, NULL: none */
};

/* A statement whose answer is not looked at. */
struct subject_statement {
	const char *sql;
	const char *rows;      /* what COPY FROM stdin gets, else NULL */
};

struct subject {
	const char *index;
	unsigned n_values;
	const char *before, *vacuum;  /* make the table; then an earlier state of the index's file is kept */
	const char *after[2];         /* what comes then, by a session each, so that there are two chains of pending entries */
	const struct subject_question *questions;
	size_t n_questions;
	const struct subject_statement *statements;
	size_t n_statements;
};

extern const struct subject subjects[];
extern const size_t n_subjects;

#endif
