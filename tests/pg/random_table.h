/* random_table.h -- a table of random columns with an iforest index, random changes of it, and random questions to it.
 *
 *   CREATE TABLE t(id bigint, by1, by2 ..., ts, value1 ..., note text);
 *   CREATE INDEX t_if ON t USING iforest (by1, by2 ..., ts) INCLUDE (value1 ...)
 *
 * What a row holds depends on the seed and its number alone, so that a round can be repeated.
 */
#ifndef TESTS_PG_RANDOM_TABLE_H
#define TESTS_PG_RANDOM_TABLE_H

#include "tests/pg/client.h"

enum { MOST_BY = 3, MOST_VALUES = 2 };

struct column_kind;

struct random_column {
	char name[12];
	const struct column_kind *kind;
	unsigned n_literals;     /* of the kind's, how many the column uses */
	unsigned percent_null;
};

struct random_table {
	struct random *dice;
	bool is_temporary;       /* nobody else can see it */
	unsigned n_by, n_values;
	struct random_column by[MOST_BY], time, values[MOST_VALUES];
	long long n_given;       /* ids given so far */
};

/* Types and functions that the tables need; once in a database. */
void random_table_prepare(PGconn *pg);

/* Makes the table and its index, which is there from the beginning or made of what is in the table already. */
void random_table_make(struct random_table *table, struct random *dice, PGconn *pg);

/* Statements that may stand in a transaction: insert, update, delete. */
void random_change(struct random_table *table, struct text *sql);

/* Statements that may not always: vacuum, merge, rebuild ... */
void random_maintenance(struct random_table *table, struct text *sql);

/* Statements that change no row and may be sent while others read. */
void random_upkeep(struct random_table *table, struct text *sql);

/* Conditions on the index's columns, "true" if there are none. Returns how many of them an index scan can be led by. */
unsigned random_conditions(struct random_table *table, const char *alias, struct text *sql);

/* The key columns, so that what is equal looks equal; `descending` NULL for a list without directions. */
void random_table_keys(const struct random_table *table, const char *descending, struct text *sql);

#endif
