/* Work that is cut off -- by a timeout, a cancel request, a full disk, a limit on temporary files -- leaves a whole index,
 * and what it had written is used again.
 *
 *   IFOREST_ROUNDS=5000 tests/pg/cluster.sh run build/tests/pg/test_faults
 */
#include "tests/pg/client.h"
#include "tests/pg/server.h"

static struct workers workers;
static struct server server;

static void make_table(PGconn *connection, const char *name, int n_rows)
{
	client_run(connection, "CREATE TABLE %s(id bigint, service text, ts integer, dur integer)"
			       " WITH (autovacuum_enabled = off);"
			       "CREATE INDEX %s_if ON %s USING iforest (service, ts) INCLUDE (dur)"
			       " WITH (duration = 'dur', histogram = 'dur(100, 5000)', products = 'dur*ts', pending_pages = 1);"
			       "INSERT INTO %s SELECT i, 'service ' || i %% 5, i, i FROM generate_series(1, %d) i",
		   name, name, name, name, n_rows);
}

static void table_is_whole(PGconn *connection, const char *name)
{
	struct text question;
	char index[40];

	snprintf(index, sizeof index, "%s_if", name);
	client_check(connection, index);
	text_set(&question, "SELECT service, count(*), sum(id), sum(dur) FROM %s WHERE ts >= 0 GROUP BY service"
			    " ORDER BY service", name);
	client_same_answers(connection, question.at);
}

/* Fails unless the statement succeeded or was ended for one of the reasons. */
static bool was_cut_off(PGconn *connection, const char *code, const char *const *reasons, const char *sql)
{
	bool is_expected = *code == 0;

	for (; *reasons && !is_expected; reasons++)
		is_expected = strcmp(code, *reasons) == 0;
	if (!is_expected)
		client_fail("%s in: %s", PQerrorMessage(connection), sql);
	return *code != 0;
}

/* ---- timeouts and cancel requests at any moment, with others at work ---- */

static bool work_in_haste(struct worker *worker)
{
	static const char *const statements[] = {
		"SELECT iforest_merge('t_if', true)", "SELECT iforest_merge('t_if')", "VACUUM (INDEX_CLEANUP on) t",
		"INSERT INTO t SELECT i, 'service ' || i % 5, i, i FROM generate_series(1, 2000) i",
		"INSERT INTO t SELECT i, 'new ' || (random() * 1e6)::integer, i, i FROM generate_series(1, 200) i",
		"DELETE FROM t WHERE random() < 0.3", "UPDATE t SET ts = ts + 1 WHERE random() < 0.1",
		"CREATE INDEX built_if ON t USING iforest (ts); DROP INDEX built_if", "REINDEX INDEX t_if",
		"SELECT iforest_check('t_if', true)",
	};
	static const char *const reasons[] = { "57014", "55P03", "40P01", NULL };
	const char *sql = statements[random_below(&worker->dice, COUNT_OF(statements))];

	client_hurry(worker->pg, 1 + (unsigned)random_below(&worker->dice, 60),
		     1 + (unsigned)random_below(&worker->dice, 30));
	was_cut_off(worker->pg, client_try(worker->pg, "%s", sql), reasons, sql);
	client_calm(worker->pg);
	return true;
}

static void cut_off_at_any_moment(void **state)
{
	PGconn *pg = *state;
	unsigned n_rounds = random_rounds(40);
	struct random dice = random_from(random_seed());

	client_note("IFOREST_SEED=%llu", (unsigned long long)random_seed());
	make_table(pg, "t", 5000);
	workers_begin(&workers);
	for (unsigned i = 0; i < 3; i++)
		workers_add(&workers, NULL, work_in_haste, random_next(&dice), NULL);
	for (unsigned round = 0; round < n_rounds; round++) {
		for (int n = 0; n < 10; n++) {
			pause_microseconds(random_below(&dice, 20000));
			client_run(pg, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity"
				       " WHERE pid <> pg_backend_pid() AND state = 'active' AND query !~ '^SET'"
				       " ORDER BY random() LIMIT 1");
		}
		table_is_whole(pg, "t");
		if (client_number(pg, "SELECT count(*) FROM t") > 30000)
			client_run(pg, "DELETE FROM t WHERE random() < 0.9");
	}
	workers_stop(&workers);
	table_is_whole(pg, "t");
	client_entries_are_rows(pg, "t");
	table_is_whole(pg, "t");
}

/* ---- what was written in vain is used again ---- */

static void merges_cut_off_do_not_fill_the_disk(void **state)
{
	static const char *const reasons[] = { "57014", NULL };
	static const char *const merge = "SELECT iforest_merge('s_if', true)", *const insert =
		"INSERT INTO s SELECT i, 'service 1', i, i FROM generate_series(1, 20) i";
	PGconn *pg = *state;
	struct random dice = random_from(random_seed());
	unsigned n_cut_off = 0, n_wanted = random_rounds(100);
	long long n_pages;
	uint64_t milliseconds;

	make_table(pg, "s", 100000);
	client_run(pg, "REINDEX INDEX s_if");
	n_pages = client_number(pg, "SELECT total_pages FROM iforest_stats('s_if')");
	client_run(pg, "%s", insert);
	milliseconds = now_microseconds() / 1000;
	client_run(pg, "%s", merge);
	milliseconds = now_microseconds() / 1000 - milliseconds;
	while (n_cut_off < n_wanted) {
		client_run(pg, "%s", insert);
		client_hurry(pg, 1 + (unsigned)random_below(&dice, milliseconds + 1), 0);
		n_cut_off += was_cut_off(pg, client_try(pg, "%s", merge), reasons, merge);
		client_calm(pg);
	}
	/* twice the index while it is merged, and what a reader may still look at; and a run of two pages, leaf and node, of each
	 * attempt that sealed and got no further */
	assert_true(client_number(pg, "SELECT total_pages FROM iforest_stats('s_if')") <= 10 * n_pages + 2 * (long long)n_cut_off);
	client_entries_are_rows(pg, "s");
	table_is_whole(pg, "s");
}

/* ---- a full disk ---- */

/* An index that may not grow while its table has room. It is longer than a segment of the log, which has to be written
 * all the same. */
static void index_cannot_grow(void **state)
{
	static const char *const statements[] = {
		"SELECT iforest_merge('t_if', true)", "SELECT iforest_merge('t_if')",
		"VACUUM (INDEX_CLEANUP on, TRUNCATE off) t",
		"INSERT INTO t SELECT i, 'service ' || i % 5, i, i FROM generate_series(1, 1500) i",
		"INSERT INTO t SELECT i, 'new ' || (random() * 1e6)::integer, i, i FROM generate_series(1, 600) i",
		"DELETE FROM t WHERE random() < 0.1",
	};
	static const char *const reasons[] = { "53100", "58030", "XX000", NULL };
	struct random dice = random_from(random_seed());
	unsigned n_rounds = random_rounds(40), n_cut_off = 0;
	PGconn *connection;

	(void)state;
	server_make(&server, "full", "--wal-segsize=1", "shared_buffers = 128MB\nbgwriter_lru_maxpages = 0");
	server_start(&server);
	connection = client_connect(server.folder);
	client_run(connection, "CREATE EXTENSION iforest");
	client_run(connection, "CREATE TABLE t(id bigint, service text, ts integer, dur integer)"
			       " WITH (autovacuum_enabled = off)");
	for (int i = 1; i < 8; i++)
		client_run(connection, "ALTER TABLE t ADD v%d bigint DEFAULT (random() * 9e18)::bigint", i);
	client_run(connection, "INSERT INTO t SELECT i, 'service ' || i %% 5, i, i FROM generate_series(1, 30000) i;"
			       "CREATE INDEX t_if ON t USING iforest (service, ts) INCLUDE (dur, v1, v2, v3, v4, v5, v6, v7)"
			       " WITH (duration = 'dur', histogram = 'v1(0)', products = 'dur*ts', pending_pages = 1); DELETE FROM t WHERE id %% 3 = 0");
	client_run(connection, "VACUUM (INDEX_CLEANUP on, TRUNCATE off) t");
	for (unsigned round = 0; round < n_rounds; round++) {
		const char *sql = statements[random_below(&dice, COUNT_OF(statements))];
		long long n_bytes = client_number(connection, "SELECT pg_relation_size('t_if')");

		assert_true(n_bytes > 1 << 20);
		server_limit_files(&server, connection, n_bytes + 4096 * (long long)random_below(&dice, 12));
		n_cut_off += was_cut_off(connection, client_try(connection, "%s", sql), reasons, sql);
		server_limit_files(&server, connection, 0);
		table_is_whole(connection, "t");
	}
	assert_true(n_cut_off > 0);
	client_entries_are_rows(connection, "t");
	table_is_whole(connection, "t");
	PQfinish(connection);
	server_end(&server, SHUT_DOWN);
}

/* ---- too little room for temporary files ---- */

static void builds_run_out_of_temporary_files(void **state)
{
	static const char *const statements[] = {
		"CREATE INDEX v_other ON v USING iforest (service, ts)", "REINDEX INDEX v_if",
		"CREATE INDEX CONCURRENTLY v_other ON v USING iforest (service, ts)",
	};
	PGconn *pg = *state;

	make_table(pg, "v", 10);
	client_run(pg, "INSERT INTO v SELECT i, 'service ' || i %% 5, i, i FROM generate_series(1, 200000) i");
	for (unsigned i = 0; i < 2 * COUNT_OF(statements); i++) {
		const char *statement = statements[i / 2];

		client_run(pg, "ALTER TABLE v SET (parallel_workers = %u)", i % 2 * 2);
		client_run(pg, "SET maintenance_work_mem = '1MB'; SET temp_file_limit = '100kB'");
		assert_string_equal(client_try(pg, "%s", statement), "53400");
		client_run(pg, "RESET temp_file_limit");
		client_run(pg, "DROP INDEX IF EXISTS v_other");
		table_is_whole(pg, "v");
		client_run(pg, "%s", statement);
		client_run(pg, "DROP INDEX IF EXISTS v_other");
		table_is_whole(pg, "v");
	}
}

static int end_all(void **state)
{
	(void)state;
	workers_abandon(&workers);
	server_abandon(&server);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(cut_off_at_any_moment, end_all),
		cmocka_unit_test(merges_cut_off_do_not_fill_the_disk),
		cmocka_unit_test_teardown(index_cannot_grow, end_all),
		cmocka_unit_test(builds_run_out_of_temporary_files),
	};

	return random_report(cmocka_run_group_tests(tests, client_set_up, client_tear_down));
}
