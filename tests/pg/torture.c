#define _DEFAULT_SOURCE
#include "tests/pg/torture.h"

#include <sys/mman.h>

static struct workers workers;

/* in memory that all workers share */
static struct counts {
	_Atomic unsigned long long changes, answers, rows, plans, restarts, given_up, maintenance;
} *counts;

static uint64_t seconds(uint64_t usual)
{
	const char *text = getenv("IFOREST_SECONDS");

	return text && *text ? strtoull(text, NULL, 10) : usual;
}

/* Runs SQL that may fail in these ways where sessions meet. */
static bool work(struct worker *worker, const char *sql)
{
	const char *state = client_try(worker->pg, "%s", sql);

	if (strcmp(state, "") == 0)
		return true;
	if (strcmp(state, "40P01") != 0 && strcmp(state, "40001") != 0)
		client_fail("%s in: %s", PQerrorMessage(worker->pg), sql);
	client_run(worker->pg, "ROLLBACK");
	counts->given_up++;
	return false;
}

int torture_below(struct worker *worker, unsigned n)
{
	return (int)random_below(&worker->dice, n);
}

/* ---- questions ---- */

/* From now on in this session, queries are answered from the index, or by the table. Memory for as many groups as statistics
 * may have it: otherwise the index declines. */
static void ask_the(struct worker *worker, bool index)
{
	const struct torture *torture = worker->context;

	client_run(worker->pg, "SET iforest.enable = %d; SET enable_seqscan = %d; SET enable_indexscan = off;"
			       " SET enable_bitmapscan = off; SET enable_indexonlyscan = off; SET enable_sort = on;"
			       " SET work_mem = '256MB'",
		   index, !index);
	if (index && torture->by_index)
		client_run(worker->pg, "%s", torture->by_index);
}

/* The question must be answered from the index; what that took is counted. */
static void look_at_plan(struct worker *worker, const char *question)
{
	PGresult *plan = client_rows(worker->pg, "EXPLAIN (ANALYZE, COSTS off, TIMING off) %s", question);
	const struct torture *torture = worker->context;
	bool is_taken = false;

	for (int row = 0; row < PQntuples(plan); row++) {
		const char *line = PQgetvalue(plan, row, 0), *restarts = strstr(line, "Restarts: ");

		/* service = 'a' AND service = 'b' needs no scan */
		is_taken = is_taken || strstr(line, torture->node) || strstr(line, "One-Time Filter: false");
		if (restarts)
			counts->restarts += strtoull(restarts + strlen("Restarts: "), NULL, 10);
	}
	if (!is_taken && torture->is_always_taken)
		client_fail("the index does not answer: %s", question);
	counts->plans += is_taken;
	PQclear(plan);
}

/* In a transaction that has one snapshot. */
static void compare(struct worker *worker, const char *question)
{
	PGresult *expected, *actual;

	ask_the(worker, true);
	actual = client_rows(worker->pg, "%s", question);
	if (random_chance(&worker->dice, 20))
		look_at_plan(worker, question);
	ask_the(worker, false);
	expected = client_rows(worker->pg, "%s", question);
	client_same_rows(actual, expected, question);
	counts->answers++;
	counts->rows += (unsigned)PQntuples(expected);
	PQclear(actual);
	PQclear(expected);
}

/* ---- workers ---- */

static bool ask(struct worker *worker)
{
	struct text question;

	client_run(worker->pg, "BEGIN ISOLATION LEVEL REPEATABLE READ");
	for (int n = 1 + torture_below(worker, 4); n > 0; n--) {
		((const struct torture *)worker->context)->make_question(worker, &question);
		compare(worker, question.at);
		pause_microseconds(random_below(&worker->dice, 20000));
	}
	client_run(worker->pg, "COMMIT");
	return true;
}

/* A cursor that is opened now, and most of it read later. */
static bool ask_slowly(struct worker *worker)
{
	PGresult *expected, *actual;
	struct text question;

	((const struct torture *)worker->context)->make_question(worker, &question);
	client_run(worker->pg, "BEGIN ISOLATION LEVEL REPEATABLE READ");
	ask_the(worker, true);
	client_run(worker->pg, "DECLARE c CURSOR FOR %s", question.at);
	PQclear(client_rows(worker->pg, "FETCH 2 FROM c"));
	pause_microseconds(random_below(&worker->dice, 100000));
	actual = client_rows(worker->pg, "FETCH ALL FROM c");
	ask_the(worker, false);
	expected = client_rows(worker->pg, "%s OFFSET 2", question.at);
	client_same_rows(actual, expected, question.at);
	counts->answers++;
	PQclear(actual);
	PQclear(expected);
	client_run(worker->pg, "COMMIT");
	return true;
}

static void insert_some(struct worker *worker, struct text *sql)
{
	text_set(sql, "INSERT INTO t SELECT (random() * 1e6)::integer, CASE WHEN random() < 0.95 THEN 'service ' ||"
		      " (random() * 5)::integer + %d END, CASE WHEN random() < 0.97 THEN timestamp '2024-01-01' + %s END,"
		      " CASE WHEN random() < 0.95 THEN (random() * 1000)::integer END FROM generate_series(1, %d)",
		 random_chance(&worker->dice, 10) ? torture_below(worker, 60) : 0,
		 random_chance(&worker->dice, 50) ? "random() * interval '3 days'"
						  : "interval '2 days' + random() * interval '1 hour'",
		 1 + torture_below(worker, 400));
}

static void change_some(struct worker *worker, struct text *sql)
{
	switch (torture_below(worker, 6)) {
	case 0:
		text_set(sql, "UPDATE t SET ts = ts + interval '7 minutes' WHERE id %% 50 = %d", torture_below(worker, 50));
		break;
	case 1:
		/* HOT where there is room */
		text_set(sql, "UPDATE t SET id = id + 1 WHERE dur BETWEEN %d AND 500", 400 + torture_below(worker, 100));
		break;
	case 2:
		text_set(sql, "UPDATE t SET dur = 1000 - dur, service = 'service 1' WHERE id %% 40 = %d",
			 torture_below(worker, 40));
		break;
	case 3:
		text_set(sql, "DELETE FROM t WHERE id %% 10 = %d", torture_below(worker, 10));
		break;
	case 4:
		text_set(sql, "DELETE FROM t WHERE ts < timestamp '2024-01-01' + interval '%d minutes'",
			 torture_below(worker, 300));
		break;
	default:
		text_set(sql, "DELETE FROM t WHERE random() < 0.5 AND (SELECT count(*) FROM t) > 15000");
	}
}

static bool insert_rows(struct worker *worker)
{
	struct text sql;

	insert_some(worker, &sql);
	client_run(worker->pg, "BEGIN; %s; %s", sql.at, random_chance(&worker->dice, 80) ? "COMMIT" : "ROLLBACK");
	counts->changes++;
	pause_microseconds(random_below(&worker->dice, 20000));
	return true;
}

static bool change_rows(struct worker *worker)
{
	struct text sql;

	change_some(worker, &sql);
	if (work(worker, "BEGIN") && work(worker, sql.at))
		client_run(worker->pg, "%s", random_chance(&worker->dice, 85) ? "COMMIT" : "ROLLBACK");
	counts->changes++;
	pause_microseconds(random_below(&worker->dice, 20000));
	return true;
}

/* Changes, savepoints, some of it taken back; the transaction sees its own work. */
static bool change_and_ask(struct worker *worker)
{
	struct text sql, question;
	bool goes_on = work(worker, "BEGIN ISOLATION LEVEL REPEATABLE READ");

	for (int n = 1 + torture_below(worker, 3); n > 0 && goes_on; n--) {
		bool is_kept = random_chance(&worker->dice, 50);

		client_run(worker->pg, "SAVEPOINT s");
		if (random_chance(&worker->dice, 60))
			insert_some(worker, &sql);
		else
			change_some(worker, &sql);
		goes_on = work(worker, sql.at);
		if (!goes_on)
			break;
		((const struct torture *)worker->context)->make_question(worker, &question);
		compare(worker, question.at);
		client_run(worker->pg, is_kept ? "RELEASE s" : "ROLLBACK TO s");
		compare(worker, question.at);
	}
	if (goes_on)
		client_run(worker->pg, "%s", random_chance(&worker->dice, 70) ? "COMMIT" : "ROLLBACK");
	counts->changes++;
	return true;
}

static bool maintain(struct worker *worker)
{
	static const char *const statements[] = {
		"VACUUM (INDEX_CLEANUP on) t", "VACUUM t", "VACUUM (INDEX_CLEANUP on) t", "SELECT iforest_merge('t_if')",
		"SELECT iforest_merge('t_if', true)", "ANALYZE t", "REINDEX INDEX CONCURRENTLY t_if", "REINDEX INDEX t_if",
	};

	/* the last ones seldom */
	work(worker, statements[random_below(&worker->dice, random_chance(&worker->dice, 5) ? COUNT_OF(statements) : 6)]);
	counts->maintenance++;
	pause_microseconds(random_below(&worker->dice, 10000));
	return true;
}

void torture_run(PGconn *pg, const struct torture *torture)
{
	static const client_work works[] = { insert_rows, insert_rows, change_rows, change_and_ask, change_and_ask,
					     maintain, maintain, ask, ask, ask, ask_slowly };
	uint64_t end = now_microseconds() + seconds(torture->seconds) * 1000000;

	client_note("IFOREST_SEED=%llu", (unsigned long long)random_seed());
	counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(counts != MAP_FAILED);
	client_run(pg, "%s", torture->tables);
	workers_begin(&workers);
	for (unsigned i = 0; i < COUNT_OF(works); i++)
		workers_add(&workers, NULL, works[i], random_seed() + i, torture);
	while (now_microseconds() < end) {
		client_check(pg, "t_if");
		pause_microseconds(500000);
	}
	workers_stop(&workers);
	client_entries_are_rows(pg, "t");
	client_check(pg, "t_if");
	print_message("%llu answers of %llu rows; a fifth of the plans looked at, %llu of the index, %llu restarts in them;"
		      " %llu changes, %llu given up, %llu times maintained\n",
		      counts->answers, counts->rows, counts->plans, counts->restarts, counts->changes, counts->given_up,
		      counts->maintenance);
	assert_true(counts->answers > 0 && counts->plans > 0);
}

int torture_end(void **state)
{
	(void)state;
	workers_abandon(&workers);
	return 0;
}
