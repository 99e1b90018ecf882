/* The background worker that merges: it is started, ends where somebody waits for its table, index or database, waits for
 * nobody itself, and may be ended at any moment, as by a shutdown, with the server going on and a whole index.
 *
 *   IFOREST_ROUNDS=500 tests/pg/cluster.sh run build/tests/pg/test_worker
 */
#include "tests/pg/client.h"

static struct workers workers;

/* Few entries fill a page, and such a chain becomes a run of more than 128 pages: eight of these are more than a session merges
 * while it inserts. Chains of usual length would have to be merged twice until there is as much. */
#define PENDING_PAGES "200"

static void make_table(PGconn *pg, const char *name)
{
	client_run(pg, "CREATE TABLE %s(id bigint, a float8, b float8, c float8, d float8, e float8, f float8)"
		       " WITH (autovacuum_enabled = off);"
		       "CREATE INDEX %s_if ON %s USING iforest (id) INCLUDE (a, b, c, d, e, f) WITH (pending_pages = " PENDING_PAGES ")",
		   name, name, name);
}

/* By a session of its own: one asks for a worker now and then only. */
static void insert_rows(const char *name, int n)
{
	PGconn *pg = client_connect(NULL);

	client_run(pg, "INSERT INTO %s SELECT i * 7919 %% 1000003, r, r, r, r, r, r FROM"
		       " (SELECT i, random() AS r FROM generate_series(1, %d) i) rows", name, n);
	PQfinish(pg);
}

static void table_is_whole(PGconn *pg, const char *name)
{
	struct text text;

	text_set(&text, "%s_if", name);
	client_check(pg, text.at);
	text_set(&text, "SELECT count(*), sum(id), max(a), min(f) FROM %s WHERE id >= 0", name);
	client_same_answers(pg, text.at);
}

/* While nobody inserts, nobody but a worker changes which runs there are. */
static bool are_runs_merged(PGconn *pg, int n_looks)
{
	static const char *const runs = "SELECT hashtextextended(string_agg(run_id::text, ' ' ORDER BY run_id), 0)"
					" FROM iforest_runs('w_if')";
	long long before = client_number(pg, "%s", runs);

	for (int n = 0; n < n_looks; n++) {
		pause_microseconds(50000);
		if (client_number(pg, "%s", runs) != before)
			return true;
	}
	return false;
}

static void runs_are_merged_in_the_background(void **state)
{
	PGconn *pg = *state;
	int n = 0;

	make_table(pg, "w");
	do {
		if (n++ == 100)
			client_fail("no worker has merged anything");
		insert_rows("w", 30000);
		/* ever longer, for on a busy machine a worker begins late */
	} while (!are_runs_merged(pg, 10 + n));
	table_is_whole(pg, "w");
}

/* Does the server's log say that of the table's index? */
static bool has_given_way(const char *name, const char *to)
{
	char path[1000], line[1000];
	struct text message;
	bool found = false;
	FILE *log;

	text_set(&message, "index \"%s_if\" is not merged now: others wait for %s", name, to);
	snprintf(path, sizeof path, "%s/server.log", getenv("PGHOST"));
	log = fopen(path, "r");
	if (!log)
		client_fail("cannot read %s", path);
	while (!found && fgets(line, sizeof line, log))
		found = strstr(line, message.at) != NULL;
	fclose(log);
	return found;
}

static long long n_workers(PGconn *pg)
{
	return client_number(pg, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'iforest merge'");
}

/* While a worker is at work, runs the command, which waits for it. */
static bool interfere(struct worker *worker)
{
	pause_microseconds(random_below(&worker->dice, 5000));
	if (n_workers(worker->pg) > 0)
		client_run(worker->pg, "%s", (const char *)worker->context);
	return true;
}

static void gives_way(PGconn *pg, const char *name, const char *command)
{
	int n = 0;

	make_table(pg, name);
	client_run(pg, "CREATE INDEX %s_plain ON %s(id)", name, name);
	workers_begin(&workers);
	workers_add(&workers, NULL, interfere, random_seed(), command);
	do {
		if (n++ == 200)
			client_fail("no worker has given way");
		insert_rows(name, 10000);
	} while (!has_given_way(name, "it or for its table"));
	workers_stop(&workers);
	table_is_whole(pg, name);
	client_entries_are_rows(pg, name);
	table_is_whole(pg, name);
}

static void a_worker_gives_way(void **state)
{
	gives_way(*state, "u", "BEGIN; LOCK TABLE u IN ACCESS EXCLUSIVE MODE; COMMIT");
}

/* That takes no lock on the table. */
static void a_worker_gives_way_to_who_waits_for_the_index(void **state)
{
	gives_way(*state, "x", "ALTER INDEX x_if SET TABLESPACE pg_default");
}

/* That waits for the transactions of all who might write to the table. */
static void a_worker_gives_way_to_who_works_concurrently(void **state)
{
	gives_way(*state, "z", "REINDEX INDEX CONCURRENTLY z_plain");
}

/* Who merges reads no table: rows that are dead for all others may be removed meanwhile. */
static void a_worker_holds_no_rows_back(void **state)
{
	PGconn *pg = *state, *other = client_connect(NULL);
	int n_seen = 0, n_holding = 0;

	make_table(pg, "h");
	for (int n = 0; n_seen < 20; n++) {
		if (n == 100)
			client_fail("no worker was seen at work");
		insert_rows("h", 30000);
		while (n_workers(other) > 0) {
			PGresult *at_work = client_rows(other, "SELECT backend_xmin FROM pg_stat_activity WHERE backend_type ="
							       " 'iforest merge' AND query LIKE 'merging%%'");

			for (int i = 0; i < PQntuples(at_work); i++, n_seen++)
				n_holding += !PQgetisnull(at_work, i, 0);
			PQclear(at_work);
		}
	}
	PQfinish(other);
	assert_true(n_holding <= n_seen / 2);
}

/* That waits for all who are in the database, for some seconds; who inserts may take longer. */
static bool want_database(struct worker *worker)
{
	pause_microseconds(random_below(&worker->dice, 5000));
	if (n_workers(worker->pg) > 0) {
		(void)client_try(worker->pg, "BEGIN; ALTER DATABASE merged RENAME TO renamed");
		client_run(worker->pg, "ROLLBACK");
	}
	return true;
}

static void a_worker_gives_way_to_who_wants_the_database(void **state)
{
	char *database = strdup(getenv("PGDATABASE"));
	PGconn *pg;
	int n = 0;

	client_run(*state, "CREATE DATABASE merged");
	workers_begin(&workers);
	workers_add(&workers, NULL, want_database, random_seed(), NULL);
	setenv("PGDATABASE", "merged", 1);
	pg = client_connect(NULL);
	client_run(pg, "CREATE EXTENSION iforest");
	make_table(pg, "t");
	PQfinish(pg);
	do {
		if (n++ == 200)
			client_fail("no worker has given way");
		insert_rows("t", 10000);
	} while (!has_given_way("t", "its database"));
	workers_stop(&workers);
	pg = client_connect(NULL);
	table_is_whole(pg, "t");
	client_entries_are_rows(pg, "t");
	PQfinish(pg);
	setenv("PGDATABASE", database, 1);
	free(database);
}

/* Many rows are inserted by who keeps everybody else from the table: those who merge would wait for that transaction's end,
 * and nobody else would find a free slot. */
static void workers_wait_for_nobody(void **state)
{
	PGconn *pg = *state, *other = client_connect(NULL);
	int n = 0;

	make_table(pg, "y");
	client_run(pg, "CREATE INDEX y_other_if ON y USING iforest (a) INCLUDE (b, c, d, e, f) WITH (pending_pages = " PENDING_PAGES ")");
	client_run(pg, "BEGIN; LOCK TABLE y IN ACCESS EXCLUSIVE MODE;"
		       "INSERT INTO y SELECT i * 7919 %% 1000003, r, r, r, r, r, r FROM"
		       " (SELECT i::bigint, random() AS r FROM generate_series(1, 300000) i) rows");
	/* so that workers were asked for */
	assert_int_equal(client_number(pg, "SELECT least(sum(leaf_pages), 1025) FROM iforest_runs('y_if')"), 1025);
	while (n_workers(other) > 0) {
		if (n++ == 100)
			client_fail("workers wait for a lock on their table");
		pause_microseconds(50000);
	}
	client_run(pg, "COMMIT");
	PQfinish(other);
	table_is_whole(pg, "y");
}

static bool end_merges(struct worker *worker)
{
	pause_microseconds(random_below(&worker->dice, 20000));
	client_run(worker->pg, "INSERT INTO ended SELECT pid FROM pg_stat_activity WHERE CASE"
			       " WHEN backend_type = 'iforest merge' THEN pg_terminate_backend(pid) ELSE false END");
	return true;
}

static void a_worker_may_be_ended_at_any_moment(void **state)
{
	PGconn *pg = *state;
	long long n_wanted = random_rounds(12), n_ended = 0;

	client_note("IFOREST_SEED=%llu", (unsigned long long)random_seed());
	make_table(pg, "v");
	client_run(pg, "CREATE TABLE ended(pid integer)");
	workers_begin(&workers);
	workers_add(&workers, NULL, end_merges, random_seed(), NULL);
	for (int n = 0; n_ended < n_wanted; n++) {
		if (n == 40 * n_wanted)
			client_fail("there are no workers to be ended");
		insert_rows("v", n_ended == 0 ? 30000 : 3000);
		n_ended = client_number(pg, "SELECT count(*) FROM ended");
	}
	workers_stop(&workers);
	table_is_whole(pg, "v");
	client_entries_are_rows(pg, "v");
	table_is_whole(pg, "v");
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
		cmocka_unit_test(runs_are_merged_in_the_background),
		cmocka_unit_test_teardown(a_worker_gives_way, end_workers),
		cmocka_unit_test_teardown(a_worker_gives_way_to_who_waits_for_the_index, end_workers),
		cmocka_unit_test_teardown(a_worker_gives_way_to_who_works_concurrently, end_workers),
		cmocka_unit_test(a_worker_holds_no_rows_back),
		cmocka_unit_test_teardown(a_worker_gives_way_to_who_wants_the_database, end_workers),
		cmocka_unit_test(workers_wait_for_nobody),
		cmocka_unit_test_teardown(a_worker_may_be_ended_at_any_moment, end_workers),
	};

	return random_report(cmocka_run_group_tests(tests, client_set_up, client_tear_down));
}
