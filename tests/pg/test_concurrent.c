/* Several sessions insert, update, delete, vacuum, merge and read at once. In one snapshot, what the index answers is what
 * the table holds; and whoever works can be stopped.
 *
 *   IFOREST_SECONDS=600 tests/pg/cluster.sh run build/tests/pg/test_concurrent
 */
#include "tests/pg/client.h"

static struct workers workers;

static uint64_t seconds(uint64_t usual)
{
	const char *text = getenv("IFOREST_SECONDS");

	return text && *text ? strtoull(text, NULL, 10) : usual;
}

/* ---- workers ---- */

/* Runs SQL that may fail in these ways where sessions meet: a deadlock; rows or pages that change too fast; an index that was
 * named, and replaced by REINDEX CONCURRENTLY before it was locked, is invalid or gone. */
static void work(struct worker *worker, const char *sql)
{
	static const char *const states[] = { "", "40P01", "40001", "55000", "42704" };
	const char *state = client_try(worker->pg, "%s", sql);

	for (unsigned i = 0; i < COUNT_OF(states); i++)
		if (strcmp(state, states[i]) == 0)
			return;
	client_fail("%s in: %s", PQerrorMessage(worker->pg), sql);
}

/* Rows of a few series that all insert into, and of new ones that several make at the same time. */
static bool insert_rows(struct worker *worker)
{
	struct text sql;

	text_set(&sql, "BEGIN; INSERT INTO t SELECT (random() * 1e9)::bigint, 'service ' || (random() * 5)::integer + %d,"
		       " 1000 * random(), 1000 * random() FROM generate_series(1, %d) i; %s",
		 random_chance(&worker->dice, 30) ? (int)(now_microseconds() / 100000 % 100000) * 10 : 0,
		 1 + (int)random_below(&worker->dice, 500), random_chance(&worker->dice, 85) ? "COMMIT" : "ROLLBACK");
	work(worker, sql.at);
	return true;
}

static bool change_rows(struct worker *worker)
{
	static const char *const statements[] = {
		"UPDATE t SET ts = ts + 1 WHERE id % 50 = (random() * 49)::integer",
		"UPDATE t SET id = id + 1 WHERE ts = (random() * 1000)::integer", /* HOT where there is room */
		"UPDATE t SET dur = 7, service = 'moved' WHERE ts BETWEEN 5 AND 20",
		"DELETE FROM t WHERE id % 10 = (random() * 9)::integer",
		"DELETE FROM t WHERE service = 'moved'",
		"DELETE FROM t WHERE ts < 1000 * random() AND (SELECT count(*) FROM t) > 20000",
	};

	work(worker, statements[random_below(&worker->dice, COUNT_OF(statements))]);
	return true;
}

static bool maintain(struct worker *worker)
{
	static const char *const statements[] = {
		"VACUUM (INDEX_CLEANUP on) t", "VACUUM t", "SELECT iforest_merge('t_if')",
		"SELECT iforest_merge('t_if', true)", "SELECT iforest_check('t_if', true)", "REINDEX INDEX CONCURRENTLY t_if",
		"ANALYZE t",
	};

	/* the last ones seldom */
	work(worker, statements[random_below(&worker->dice, random_chance(&worker->dice, 10) ? COUNT_OF(statements) : 5)]);
	return true;
}

static bool read_rows(struct worker *worker)
{
	int first = (int)random_below(&worker->dice, 1000), width = (int)random_below(&worker->dice, 500);
	struct text question;

	text_set(&question, "SELECT count(*), sum(id), sum(dur), min(ts), max(ts) FROM t WHERE ts BETWEEN %d AND %d", first,
		 first + width);
	if (random_chance(&worker->dice, 50))
		text_add(&question, " AND service = 'service %d'", (int)random_below(&worker->dice, 6));
	client_same_answers(worker->pg, question.at);
	return true;
}

/* A cursor read in small steps by the index, and all at once by the table. */
static bool read_slowly(struct worker *worker)
{
	static const char *const question = "SELECT service, ts FROM t WHERE ts > 300 ORDER BY service, ts";
	PGresult *expected, *step;
	int n = 0, n_steps;

	client_run(worker->pg, "BEGIN ISOLATION LEVEL REPEATABLE READ");
	client_read(worker->pg, BY_INDEX);
	client_run(worker->pg, "SET LOCAL enable_sort = off; DECLARE c CURSOR FOR %s", question);
	client_read(worker->pg, BY_TABLE);
	client_run(worker->pg, "SET LOCAL enable_sort = on");
	expected = client_rows(worker->pg, "%s", question);
	do {
		step = client_rows(worker->pg, "FETCH %d FROM c", 1 + PQntuples(expected) / 20);
		n_steps = PQntuples(step);
		for (int i = 0; i < n_steps; i++, n++)
			for (int column = 0; column < 2; column++)
				if (n >= PQntuples(expected) ||
				    strcmp(PQgetvalue(step, i, column), PQgetvalue(expected, n, column)) != 0)
					client_fail("row %d of a slow cursor is another one", n);
		PQclear(step);
		pause_microseconds(random_below(&worker->dice, 20000));
	} while (n_steps > 0);
	if (n != PQntuples(expected))
		client_fail("a slow cursor gave %d rows of %d", n, PQntuples(expected));
	PQclear(expected);
	client_run(worker->pg, "COMMIT");
	return true;
}

static void sessions_agree(void **state)
{
	static const client_work works[] = { insert_rows, insert_rows, insert_rows, change_rows,
					     maintain, maintain, read_rows, read_slowly };
	static const char *const question = "SELECT service, count(*), sum(id), sum(dur) FROM t WHERE ts >= 0"
					    " GROUP BY service ORDER BY service";
	PGconn *pg = *state;
	uint64_t end = now_microseconds() + seconds(10) * 1000000;

	client_note("IFOREST_SEED=%llu", (unsigned long long)random_seed());
	client_run(pg, "CREATE TABLE t(id bigint, service text, ts integer, dur integer)"
		       " WITH (fillfactor = 80, autovacuum_enabled = off);"
		       "CREATE INDEX t_if ON t USING iforest (service, ts) INCLUDE (dur)"
		       " WITH (duration = 'dur', pending_pages = 1)");
	workers_begin(&workers);
	for (unsigned i = 0; i < COUNT_OF(works); i++)
		workers_add(&workers, NULL, works[i], random_seed() + i, NULL);
	while (now_microseconds() < end) {
		client_check(pg, "t_if");
		client_same_answers(pg, question);
		pause_microseconds(300000);
	}
	workers_stop(&workers);
	client_entries_are_rows(pg, "t");
	client_check(pg, "t_if");
	client_same_answers(pg, question);
}

/* A millisecond is enough for none of these; whoever does not look up now and then would finish all the same. */
static void work_heeds_a_timeout(void **state)
{
	static const char *const statements[] = {
		"CREATE INDEX u_other ON u USING iforest (ts)", "SELECT iforest_merge('u_if', true)",
		"CREATE INDEX CONCURRENTLY u_other ON u USING iforest (service, ts)", "VACUUM (INDEX_CLEANUP on) u",
		"SELECT iforest_check('u_if', true)", "REINDEX INDEX u_if",
		"SELECT count(*) FROM u WHERE service >= '' AND ts >= 0",
	};
	PGconn *pg = *state;

	client_run(pg, "CREATE TABLE u(id bigint, service text, ts integer);"
		       "CREATE INDEX u_if ON u USING iforest (service, ts)");
	for (int i = 0; i < 4; i++)
		client_run(pg, "INSERT INTO u SELECT i, 'service ' || i %% 3, i FROM generate_series(1, 50000) i;"
			       "SELECT iforest_merge('u_if')");
	client_run(pg, "DELETE FROM u WHERE id %% 2 = 0");
	client_read(pg, BY_INDEX);
	for (unsigned i = 0; i < COUNT_OF(statements); i++) {
		const char *code;

		client_hurry(pg, 1, 0);
		code = client_try(pg, "%s", statements[i]);
		if (strcmp(code, "57014") != 0)
			client_fail("'%s' instead of a timeout from %s", code, statements[i]);
		client_calm(pg);
		client_run(pg, "DROP INDEX IF EXISTS u_other");
		client_check(pg, "u_if");
	}
	client_entries_are_rows(pg, "u");
	client_same_answers(pg, "SELECT count(*), sum(id) FROM u WHERE ts >= 0");
}

static int end_workers(void **state)
{
	(void)state;
	workers_abandon(&workers);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(sessions_agree, end_workers),
		cmocka_unit_test(work_heeds_a_timeout),
	};

	return random_report(cmocka_run_group_tests(tests, client_set_up, client_tear_down));
}
