/* tests/sqlite/test_stress.c -- Test of several processes that write, commit, roll back, flush, merge and query at once, with a
 * rollback journal and with WAL: every answer is that of plain SQL in the same transaction.
 *
 * IFOREST_SECONDS (default 2) is the time for each journal mode. A process that finds an error prints its seed, but the timing
 * of the other processes cannot be repeated. */
#define _XOPEN_SOURCE 700 /* fork, waitpid */

#include "harness.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N_PROCESSES = 4, MOST_SAVEPOINTS = 3, IDS = 3000, TIMES = 100000 };

#define TABLE                                                                                                         \
	"CREATE TABLE spans(id INTEGER PRIMARY KEY, track, ts, dur INTEGER, r REAL, code INTEGER UNIQUE);"            \
	"WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 2000)"                              \
	" INSERT INTO spans SELECT i, i % 5, i * 7919 % 100000, i % 97, i / 8.0, i FROM c;"
#define INDEX                                                                                                         \
	"CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, value=(dur, r), by=track);" \
	"CREATE VIRTUAL TABLE spans_all USING iforest_fold(spans_if);"                                                \
	"CREATE VIRTUAL TABLE by_time USING iforest(content=spans, time=ts, value=(code, dur));"

/* Counts of what a process has done, which are added up at the end. */
struct deeds {
	int64_t n_answers, n_writes, n_commits, n_rollbacks, n_commands, n_refused;
};

struct worker {
	sqlite3 *db;
	struct random random;
	uint64_t seed;
	struct deeds deeds;
	int n_savepoints;
	bool is_writing, is_plain;  /* is_plain: without the extension */
};

/* ---- what they do ---- */

static const char *const writes[] = {
	"INSERT OR REPLACE INTO spans VALUES(?1, ?2, ?3, ?4, ?4 / 4.0, ?5)",
	"INSERT OR IGNORE INTO spans VALUES(?1, ?2, ?3, ?4, NULL, ?5)",
	"INSERT INTO spans(id, track, ts, dur) VALUES(?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET dur = excluded.dur, ts = ts + 1",
	"UPDATE OR REPLACE spans SET track = ?2, ts = ?3, code = ?5 WHERE id = ?1",
	"UPDATE OR IGNORE spans SET id = ?5, dur = ?4 WHERE id = ?1",
	"UPDATE spans SET dur = dur + 1, ts = iif(id % 9 = 0, NULL, ?3 + id) WHERE id BETWEEN ?1 AND ?1 + 20",
	"DELETE FROM spans WHERE id BETWEEN ?1 AND ?1 + 5",
	"INSERT INTO spans(track, ts, dur, r) SELECT track, ts + ?4, dur, r FROM spans WHERE id BETWEEN ?1 AND ?1 + 30",
};

static const char *const commands[] = { "flush", "flush", "flush", "flush", "merge", "optimize", "integrity-check", "rebuild" };

enum { N_WRITES = sizeof writes / sizeof *writes, N_COMMANDS = sizeof commands / sizeof *commands };

static void refuse(struct worker *worker, const char *sql)
{
	fail_msg("%s\n  fails: %s (IFOREST_SEED=%" PRIu64 ")", sql, sqlite3_errmsg(worker->db), worker->seed);
}

/* Runs a statement, which may fail only because another process has a lock. */
static bool execute(struct worker *worker, const char *sql)
{
	int rc = sqlite3_exec(worker->db, sql, NULL, NULL, NULL);

	if (rc && (rc & 0xff) != SQLITE_BUSY)
		refuse(worker, sql);
	return !rc;
}

static void roll_back(struct worker *worker)
{
	if (!sqlite3_get_autocommit(worker->db))
		execute(worker, "ROLLBACK");
	worker->n_savepoints = 0;
	worker->is_writing = false;
}

static void write_once(struct worker *worker)
{
	struct random *random = &worker->random;
	sqlite3_stmt *statement;
	const char *sql = writes[random_below(random, N_WRITES)];
	int rc = sqlite3_prepare_v2(worker->db, sql, -1, &statement, NULL);

	if (!rc) {
		sqlite3_bind_int64(statement, 1, random_below(random, IDS));
		sqlite3_bind_int64(statement, 2, random_below(random, 8));
		sqlite3_bind_int64(statement, 3, random_below(random, TIMES));
		sqlite3_bind_int64(statement, 4, random_below(random, 200) - 1);
		sqlite3_bind_int64(statement, 5, random_below(random, IDS));
		sqlite3_step(statement);
		rc = sqlite3_finalize(statement);
	}
	if (rc && (rc & 0xff) != SQLITE_CONSTRAINT)
		refuse(worker, sql);
	worker->deeds.n_writes++;
}

static void use_savepoint(struct worker *worker)
{
	char sql[40];
	int depth;

	if (worker->n_savepoints < MOST_SAVEPOINTS && one_in(&worker->random, 2)) {
		snprintf(sql, sizeof sql, "SAVEPOINT s%d", worker->n_savepoints++);
	} else if (worker->n_savepoints > 0) {
		depth = (int)random_below(&worker->random, worker->n_savepoints);
		if (one_in(&worker->random, 2)) {
			snprintf(sql, sizeof sql, "ROLLBACK TO s%d", depth);
			worker->n_savepoints = depth + 1;
		} else {
			snprintf(sql, sizeof sql, "RELEASE s%d", depth);
			worker->n_savepoints = depth;
		}
	} else {
		return;
	}
	if (sqlite3_exec(worker->db, sql, NULL, NULL, NULL))
		refuse(worker, sql);
}

static void command(struct worker *worker)
{
	const char *name = one_in(&worker->random, 3) ? "by_time" : "spans_if";
	char *sql = sqlite3_mprintf("INSERT INTO %s(%s) VALUES(%Q)", name, name, commands[random_below(&worker->random, N_COMMANDS)]);

	if (sqlite3_exec(worker->db, sql, NULL, NULL, NULL))
		refuse(worker, sql);
	sqlite3_free(sql);
	worker->deeds.n_commands++;
}

#define AGGREGATES "count, first_ts, last_ts, count_dur, sum_dur, min_dur, max_dur"
#define PLAIN "count(*), min(ts), max(ts), count(dur), sum(dur), min(dur), max(dur)"

/* Compares a random query of a random form with plain SQL. */
static void ask(struct worker *worker)
{
	int64_t low = random_below(&worker->random, TIMES), high = low + 1 + random_below(&worker->random, TIMES),
		track = random_below(&worker->random, 8);
	int64_t step = 1 + (high - low) / 20;
	char *questions[] = {
		sqlite3_mprintf("SELECT track, " AGGREGATES ", sum_r, max_r FROM spans_if(%lld, %lld) ORDER BY track", low, high),
		sqlite3_mprintf("SELECT track, " PLAIN ", sum(r), max(r) FROM spans WHERE ts >= %lld AND ts < %lld GROUP BY track ORDER BY track", low, high),
		sqlite3_mprintf("SELECT track, bucket, " AGGREGATES " FROM spans_if WHERE t0 = %lld AND t1 = %lld AND step = %lld AND track IN (%lld, 2) ORDER BY 1, 2",
				low, high, step, track),
		sqlite3_mprintf("SELECT track, ts / %lld, " PLAIN " FROM spans WHERE ts >= %lld AND ts < %lld AND track IN (%lld, 2) GROUP BY 1, 2 ORDER BY 1, 2",
				step, low, high, track),
		sqlite3_mprintf("SELECT " AGGREGATES ", sum_r, max_dur_id FROM spans_all WHERE fill = 'null'"),
		sqlite3_mprintf("SELECT " PLAIN ", sum(r), (SELECT id FROM spans WHERE dur IS NOT NULL ORDER BY dur DESC, ts IS NULL, ts, id LIMIT 1) FROM spans"),
		sqlite3_mprintf("SELECT bucket, " AGGREGATES ", sum_code, min_code FROM by_time WHERE step = %lld ORDER BY 1", step),
		sqlite3_mprintf("SELECT ts / %lld, " PLAIN ", sum(code), min(code) FROM spans WHERE ts IS NOT NULL GROUP BY 1 ORDER BY 1", step),
	};
	enum { N_QUESTIONS = sizeof questions / sizeof *questions };
	int chosen = 2 * (int)random_below(&worker->random, N_QUESTIONS / 2);

	same_rows(worker->db, questions[chosen], questions[chosen + 1]);
	worker->deeds.n_answers++;
	for (int i = 0; i < N_QUESTIONS; i++)
		sqlite3_free(questions[i]);
}

static void begin(struct worker *worker)
{
	worker->is_writing = one_in(&worker->random, 2) && execute(worker, "BEGIN IMMEDIATE");
	if (!worker->is_writing)
		execute(worker, "BEGIN");
}

/* Runs one transaction. Queries and plain SQL are in the same transaction, so that they see the same state while others
 * commit. */
static void transact(struct worker *worker)
{
	int n_steps = 1 + (int)random_below(&worker->random, 12);

	begin(worker);
	for (int i = 0; i < n_steps; i++) {
		if (worker->is_writing && one_in(&worker->random, 2))
			write_once(worker);
		if (worker->is_writing && one_in(&worker->random, 4))
			use_savepoint(worker);
		if (!worker->is_plain && worker->is_writing && one_in(&worker->random, 15))
			command(worker);
		if (!worker->is_plain && one_in(&worker->random, worker->is_writing ? 3 : 2))
			ask(worker);
	}
	if (one_in(&worker->random, 4)) {
		worker->deeds.n_rollbacks++;
	} else if (execute(worker, "COMMIT")) {
		worker->deeds.n_commits += worker->is_writing;
	} else {
		worker->deeds.n_refused++;
	}
	roll_back(worker);
}

/* ---- processes ---- */

static void pause_ns(int64_t ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = (long)ns }, NULL);
}

/* SQLite's own busy handler waits ever longer, so that a process that never sleeps keeps the lock. This one gives up after at
 * least a minute. */
static int wait_for_lock(void *context, int n_waits)
{
	(void)context;
	pause_ns(500000);
	return n_waits < 120000;
}

static void work(const char *path, int number, int n_seconds, int result)
{
	struct worker worker = { .seed = test_seed() + (uint64_t)number, .is_plain = number == 0 };
	time_t end = time(NULL) + n_seconds;

	worker.random.state = worker.seed;
	worker.db = worker.is_plain ? open_plain(path, 0) : open_database(path, 0);
	sqlite3_busy_handler(worker.db, wait_for_lock, NULL);
	while (time(NULL) < end) {
		transact(&worker);
		pause_ns(random_below(&worker.random, 4000000));
	}
	close_database(worker.db);
	if (write(result, &worker.deeds, sizeof worker.deeds) != sizeof worker.deeds)
		fail_msg("cannot report");
}

static int usual_seconds(void)
{
	const char *seconds = getenv("IFOREST_SECONDS");

	return seconds ? atoi(seconds) : 2;
}

static void collect(pid_t *children, int result, struct deeds *all)
{
	struct deeds deeds;
	int status;

	for (int i = 0; i < N_PROCESSES; i++) {
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		assert_int_equal(read(result, &deeds, sizeof deeds), sizeof deeds);
		all->n_answers += deeds.n_answers;
		all->n_writes += deeds.n_writes;
		all->n_commits += deeds.n_commits;
		all->n_rollbacks += deeds.n_rollbacks;
		all->n_commands += deeds.n_commands;
		all->n_refused += deeds.n_refused;
	}
}

static void check_mode(const char *mode)
{
	const char *path = test_path("stress.db");
	struct worker last = { .seed = test_seed() };
	struct deeds all = { .n_answers = 0 };
	pid_t children[N_PROCESSES];
	int pipes[2];

	last.db = open_database(path, 0);
	run(last.db, "PRAGMA journal_mode = %s", mode);
	run(last.db, "%s", TABLE INDEX);
	close_database(last.db);
	assert_int_equal(pipe(pipes), 0);
	for (int i = 0; i < N_PROCESSES; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			work(path, i, usual_seconds(), pipes[1]);
			_exit(0);
		}
	}
	collect(children, pipes[0], &all);
	close(pipes[0]);
	close(pipes[1]);
	last.db = open_database(path, 0);
	run_gives(last.db, "ok\n", "PRAGMA integrity_check");
	run(last.db, "INSERT INTO spans_if(spans_if) VALUES('integrity-check'); INSERT INTO by_time(by_time) VALUES('integrity-check')");
	for (int i = 0; i < 40; i++)
		ask(&last);
	close_database(last.db);
	remove_database(path);
	printf("%s: %" PRId64 " answers, %" PRId64 " writes, %" PRId64 " commits (%" PRId64 " refused), %" PRId64 " rollbacks, %" PRId64 " commands\n", mode,
	       all.n_answers, all.n_writes, all.n_commits, all.n_refused, all.n_rollbacks, all.n_commands);
	assert_true(all.n_answers > 0 && all.n_commits > 0 && all.n_commands > 0);
}

static void processes_agree_with_a_rollback_journal(void **state)
{
	(void)state;
	check_mode("DELETE");
}

static void processes_agree_with_wal(void **state)
{
	(void)state;
	check_mode("WAL");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_agree_with_a_rollback_journal),
		cmocka_unit_test(processes_agree_with_wal),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
