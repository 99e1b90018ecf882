/* random_query_answer.h -- a random query's answer, with the index's help or without, and what differs between the two. */
#ifndef TESTS_PG_RANDOM_QUERY_ANSWER_H
#define TESTS_PG_RANDOM_QUERY_ANSWER_H

#include "tests/pg/random_query.h"

struct answer {
	PGresult *result;
	char state[6];     /* SQLSTATE, "" if there are rows */
	char **rows;       /* as text, sorted unless their order is part of the answer */
	bool is_taken;     /* answered from an index */
};

/* As it is; by a cursor that is rewound; into a table that is read; into t itself. */
enum manner_way { AS_ROWS, BY_CURSOR, INTO_TABLE, INTO_ITSELF };

/* How a query is asked. */
struct manner {
	bool is_forced;         /* no other plan may seem cheaper */
	bool is_of_rows;        /* of rows, which an index scan fetches: that may seem cheaper */
	bool is_reader;         /* by a role that may not see all rows, or not all columns */
	enum manner_way way;
	bool is_in_transaction; /* one that is to go on */
	const char *plans;      /* of prepared statements */
	const char *cost_of_row; /* NULL: as a server has it */
};

/* Makes the settings, and begins a transaction or savepoint where there is to be one. */
void answer_set_up(PGconn *pg, const struct manner *manner, bool with_index);

/* Whether a plan, as EXPLAIN shows it, takes aggregates from an index, or skips over its series. */
bool answer_plan_is_taken(const PGresult *plan);

/* Runs a query under the settings that are in force, compares its rows with those of the plain plan, and returns whether its plan
 * takes an index, as above. */
bool answer_is_indexed(PGconn *pg, const char *sql, PGresult *plain);

/* Does all of this; what was begun is undone. */
struct answer answer_ask(PGconn *pg, const struct query *query, const struct manner *manner, bool with_index);
void answer_forget(struct answer *answer);

/* Did one of both alone raise an error in some row's data? The plain plan may, for the index need not look at each row; and any
 * plan that is not the index's own, since plans differ in the rows that they look at. */
bool answer_is_spared(const struct answer *plain, const struct answer *indexed);

/* Writes what differs, "" if nothing does, or the index's answer was spared an error. */
void answer_compare(const struct answer *plain, const struct answer *indexed, struct text *difference);

/* Asks in both ways. */
bool answers_differ(PGconn *pg, const struct query *query, const struct manner *manner, struct text *difference);

#endif
