/* A server that is killed amid building, inserting, sealing, merging, vacuuming comes up with a whole index, and work goes
 * on: a process killed, all processes killed, stopped at once, or a loss of power, after which the log is there but not what
 * was written to the index.
 *
 *   IFOREST_ROUNDS=1000 tests/pg/cluster.sh run build/tests/pg/test_crash
 */
#include <inttypes.h>
#include <signal.h>

#include "tests/pg/client.h"
#include "tests/pg/server.h"

static const char *const same_settings = "shared_buffers = 1MB\nbgwriter_delay = 10ms\nwal_keep_size = 1GB";

static struct server server;
static struct workers workers;

/* ---- workers; they end when the server is gone ---- */

/* Runs SQL that may be cut off; false if it was. */
static bool work(struct worker *worker, const char *sql)
{
	const char *state = client_try(worker->pg, "%s", sql);

	/* concurrent builds may wait for each other */
	if (strcmp(state, "lost") != 0 && strcmp(state, "") != 0 && strcmp(state, "40P01") != 0)
		client_fail("%s in: %s", PQerrorMessage(worker->pg), sql);
	return strcmp(state, "lost") != 0;
}

static bool insert_rows(struct worker *worker)
{
	struct text sql;

	text_set(&sql, "BEGIN; INSERT INTO t SELECT i, 'service ' || (random() * %d)::integer, 1000 * random(),"
		       " 1000 * random() FROM generate_series(1, %d) i; %s",
		 random_chance(&worker->dice, 20) ? 10000 : 5, 1 + (int)random_below(&worker->dice, 600),
		 random_chance(&worker->dice, 80) ? "COMMIT" : "ROLLBACK");
	return work(worker, sql.at);
}

static bool merge(struct worker *worker)
{
	bool is_complete = random_chance(&worker->dice, 50);

	return insert_rows(worker) &&
	       work(worker, is_complete ? "SELECT iforest_merge('t_if', true)" : "SELECT iforest_merge('t_if')");
}

static bool vacuum(struct worker *worker)
{
	return work(worker, "DELETE FROM t WHERE random() < 0.2") && work(worker, "VACUUM (INDEX_CLEANUP on) t") &&
	       insert_rows(worker);
}

static bool build(struct worker *worker)
{
	return work(worker, "CREATE INDEX built_if ON t USING iforest (ts) INCLUDE (dur) WITH (pending_pages = 1)") &&
	       insert_rows(worker) && work(worker, "DROP INDEX built_if");
}

static bool build_concurrently(struct worker *worker)
{
	if (random_chance(&worker->dice, 50))
		return work(worker, "REINDEX INDEX CONCURRENTLY t_if");
	return work(worker, "CREATE INDEX CONCURRENTLY made_if ON t USING iforest (service, ts) WITH (pending_pages = 1)") &&
	       work(worker, "DROP INDEX IF EXISTS made_if");
}

static bool checkpoint(struct worker *worker)
{
	pause_microseconds(random_below(&worker->dice, 50000));
	return work(worker, "CHECKPOINT");
}

/* What goes on while the server is killed: two kinds of work each. */
static const struct {
	const char *name;
	client_work first, second;
} scenes[] = {
	{ "inserts", insert_rows, insert_rows },
	{ "merges", merge, insert_rows },
	{ "vacuums", vacuum, insert_rows },
	{ "builds and merges", build, merge },
	{ "concurrent builds", build_concurrently, insert_rows },
	{ "vacuums and merges", vacuum, merge },
	{ "checkpoints and vacuums", checkpoint, vacuum },
	{ "concurrent builds and vacuums", build_concurrently, vacuum },
};

/* ---- a crash ---- */

static void kill_one(PGconn *pg)
{
	kill((pid_t)client_number(pg, "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
				      " ORDER BY random() LIMIT 1"), SIGKILL);
	while (strcmp(client_try(pg, "SELECT 1"), "lost") != 0)
		pause_microseconds(1000);
	workers_stop(&workers);
	server_wait(&server);
}

static void crash(struct random *dice, PGconn *pg, const char *index_path, bool may_lose_power)
{
	unsigned kind = (unsigned)random_below(dice, may_lose_power ? 4 : 3);

	pause_microseconds(random_below(dice, random_chance(dice, 50) ? 30000 : 300000));
	if (kind == 0) {
		kill_one(pg);
		return;
	}
	if (kind == 3)
		server_lose_power(&server, dice, index_path);
	else
		server_end(&server, kind == 1 ? KILL_ALL : STOP_AT_ONCE);
	workers_stop(&workers);
	server_start(&server);
}

/* ---- afterwards ---- */

static void index_is_whole(PGconn *pg)
{
	client_check(pg, "t_if");
	client_same_answers(pg, "SELECT count(*), sum(id), sum(dur) FROM t WHERE ts >= 0");
	client_same_answers(pg, "SELECT count(*), sum(id), sum(dur) FROM t"
				" WHERE service = 'service 1' AND ts BETWEEN 100 AND 900");
}

/* Indexes of builds that were cut off can be dropped; those that were finished are whole. */
static void drop_others(PGconn *pg)
{
	PGresult *names = client_rows(pg, "SELECT indexrelid::regclass, indisvalid FROM pg_index"
					  " WHERE indrelid = 't'::regclass AND indexrelid <> 't_if'::regclass");

	for (int row = 0; row < PQntuples(names); row++) {
		if (*PQgetvalue(names, row, 1) == 't')
			client_check(pg, PQgetvalue(names, row, 0));
		client_run(pg, "DROP INDEX %s", PQgetvalue(names, row, 0));
	}
	PQclear(names);
}

static void work_goes_on(PGconn *pg)
{
	client_run(pg, "INSERT INTO t SELECT i, 'service ' || i %% 7, i, i FROM generate_series(1, 1500) i");
	index_is_whole(pg);
	client_run(pg, "DELETE FROM t WHERE id %% 3 = 0");
	client_entries_are_rows(pg, "t");
	index_is_whole(pg);
	client_run(pg, "SELECT iforest_merge('t_if', true)");
	index_is_whole(pg);
}

static void crash_often(const char *name, const char *option, const char *settings)
{
	unsigned n_rounds = random_rounds(14);
	struct text all_settings;
	PGconn *pg;

	text_set(&all_settings, "%s\n%s", same_settings, settings);
	server_make(&server, name, option, all_settings.at);
	server_start(&server);
	pg = client_connect(server.folder);
	client_run(pg, "CREATE EXTENSION iforest; CREATE TABLE t(id bigint, service text, ts integer, dur integer) WITH (parallel_workers = 2);"
		       "CREATE INDEX t_if ON t USING iforest (service, ts) INCLUDE (dur)"
		       " WITH (duration = 'dur', pending_pages = 1)");
	for (unsigned round = 0; round < n_rounds; round++) {
		struct random dice = random_from(random_seed() + round);
		unsigned scene = (unsigned)random_below(&dice, COUNT_OF(scenes));
		bool may_lose_power = round % 2 == 1;
		char index_path[100];
		PGresult *path;

		client_note("%s, amid %s, IFOREST_SEED=%" PRIu64 " IFOREST_ROUNDS=1", name, scenes[scene].name, dice.seed);
		path = client_rows(pg, "SELECT pg_relation_filepath('t_if')");
		snprintf(index_path, sizeof index_path, "%s", PQgetvalue(path, 0, 0));
		PQclear(path);
		if (may_lose_power) {
			PQfinish(pg);
			server_save(&server);
			pg = client_connect(server.folder);
		}
		workers_begin(&workers);
		workers_add(&workers, server.folder, scenes[scene].first, random_next(&dice), NULL);
		workers_add(&workers, server.folder, scenes[scene].second, random_next(&dice), NULL);
		crash(&dice, pg, index_path, may_lose_power);
		PQfinish(pg);
		pg = client_connect(server.folder);
		drop_others(pg);
		index_is_whole(pg);
		work_goes_on(pg);
		if (client_number(pg, "SELECT count(*) FROM t") > 10000)
			client_run(pg, "DELETE FROM t WHERE random() < 0.9");
	}
	PQfinish(pg);
	server_end(&server, SHUT_DOWN);
}

static void crashes_leave_a_whole_index(void **state)
{
	(void)state;
	crash_often("crashing", NULL, "");
}

/* Replay makes of every page what had been logged. */
static void crashes_with_every_page_checked(void **state)
{
	(void)state;
	crash_often("checked", "--data-checksums", "wal_consistency_checking = 'generic'");
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
		cmocka_unit_test_teardown(crashes_leave_a_whole_index, end_all),
		cmocka_unit_test_teardown(crashes_with_every_page_checked, end_all),
	};

	return random_report(cmocka_run_group_tests(tests, NULL, NULL));
}
