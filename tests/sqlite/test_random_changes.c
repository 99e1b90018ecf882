/* tests/sqlite/test_random_changes.c -- Tests of random changes, savepoints, rollbacks and commands: after each step, random
 * queries of every form are compared with a fold in C over the rows of the table. A failure prints its seed:
 * IFOREST_SEED=... IFOREST_ROUNDS=1 runs that round alone. */
#include "random_windows.h"

enum { N_ROUNDS = 25, STEPS = 20, WINDOWS = 4 };

/* Columns by which REPLACE finds rows, besides the rowid. */
#define UNIQUE_COLUMNS ", u INTEGER UNIQUE, x COLLATE NOCASE UNIQUE, k NOT NULL DEFAULT 3, y, UNIQUE(k, y)"

struct round {
	sqlite3 *db;
	struct random *random;
	struct table *table;
	struct row_style style;
	sqlite3_stmt *writes[8];
	int depth;               /* the number of open savepoints */
};

static const char *const writes[] = {
	"INSERT OR IGNORE INTO t(id, a, ts, v, b, w, u, x) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	"INSERT OR REPLACE INTO t(id, a, ts, v, b, w, u, x) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	"INSERT OR REPLACE INTO t(id, a, ts, v, b, w, u, k, y) VALUES(NULL, ?2, ?3, ?4, ?5, ?6, ?7, NULL, ?7 % 5)",
	"INSERT INTO t(id, a, ts, v, b, w, u) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO UPDATE SET v = excluded.v, ts = excluded.ts",
	"UPDATE OR REPLACE t SET a = ?2, ts = ?3, u = ?7, x = ?8, k = iif(?7 % 3, k, NULL) WHERE id = ?9",
	"UPDATE OR REPLACE t SET id = ?1, v = ?4, b = ?5 WHERE id = ?9",
	"UPDATE OR IGNORE t SET w = ?6, u = ?7 WHERE id BETWEEN ?9 AND ?9 + 9",
	"DELETE FROM t WHERE id = ?9 OR u = ?7",
};

enum { N_WRITES = sizeof writes / sizeof *writes };

static void write_once(struct round *round)
{
	sqlite3_stmt *write = round->writes[random_below(round->random, N_WRITES)];
	static const char *const names[] = { "p", "P", "q", "Q", "r", "s" };

	bind_random_row(write, &round->style, round->random);
	sqlite3_bind_int64(write, 7, random_below(round->random, 50));
	sqlite3_bind_text(write, 8, one_in(round->random, 3) ? names[random_below(round->random, 6)] : NULL, -1, SQLITE_STATIC);
	sqlite3_bind_int64(write, 9, integer_of(round->db, "SELECT id FROM t WHERE id >= %lld LIMIT 1",
						random_below(round->random, 4 * (round->style.n_rows + 1))));
	if (one_in(round->random, 12)) /* triggers see -1 as a rowid that SQLite has not chosen yet */
		sqlite3_bind_int64(write, one_in(round->random, 2) ? 1 : 9, -1);
	sqlite3_step(write);
	sqlite3_reset(write);
}

static void change_transaction(struct round *round)
{
	switch (random_below(round->random, 4)) {
	case 0:
	case 1:
		run(round->db, "SAVEPOINT s%d", round->depth++);
		break;
	case 2:
		if (round->depth > 0) {
			round->depth = 1 + (int)random_below(round->random, round->depth);
			run(round->db, "ROLLBACK TO s%d", round->depth - 1);
		}
		break;
	default:
		if (round->depth > 0)
			run(round->db, "RELEASE s%d", --round->depth);
	}
	if (round->depth > 6 || one_in(round->random, 4)) {
		run_any(round->db, one_in(round->random, 2) ? "COMMIT" : "ROLLBACK");
		round->depth = 0;
	}
}

static void command(struct round *round)
{
	static const char *const commands[] = { "flush", "flush", "flush", "merge", "optimize", "rebuild", "integrity-check" };

	run(round->db, "INSERT INTO t_if(t_if) VALUES(%Q)", commands[random_below(round->random, 7)]);
}

/* Reads which columns the index has as reals. That changes by a rebuild, or when a rebuild is rolled back. Sums of reals do not
 * overflow. */
static void read_kinds(struct round *round)
{
	for (int v = 0; v < round->table->n_values; v++) {
		char *sql = sqlite3_mprintf("SELECT typeof(sum_%c) FROM f_none(-9223372036854775807 - 1, -9223372036854775807) WHERE fill = 'zero'", "vw"[v]);
		char *type = rows_of(round->db, sql);

		round->table->was_real[v] = type && strcmp(type, "real\n") == 0;
		free(type);
		sqlite3_free(sql);
	}
}

/* A real in a column of integers is refused until the index is rebuilt. */
static void heal(struct round *round)
{
	if (run_any(round->db, "SELECT count FROM t_if") == SQLITE_OK)
		return;
	if (!strstr(last_message(), "and the index was made when it held integers only"))
		fail_msg("%s (IFOREST_SEED=%" PRIu64 ")", last_message(), test_seed());
	run(round->db, "INSERT INTO t_if(t_if) VALUES('rebuild')");
}

static void run_round(struct round *round)
{
	run(round->db, "PRAGMA recursive_triggers = %lld", random_below(round->random, 2));
	make_table(round->db, UNIQUE_COLUMNS, round->table, &round->style, round->random);
	run(round->db, "CREATE VIRTUAL TABLE f_none USING iforest_fold(t_if)");
	for (int w = 0; w < N_WRITES; w++)
		assert_int_equal(sqlite3_prepare_v2(round->db, writes[w], -1, &round->writes[w], NULL), SQLITE_OK);
	for (int step = 0; step < STEPS; step++) {
		int n = one_in(round->random, 4) ? 60 : 4;

		for (int i = (int)random_below(round->random, n); i > 0; i--)
			write_once(round);
		if (one_in(round->random, 2))
			change_transaction(round);
		heal(round);
		if (one_in(round->random, 3))
			command(round);
		read_kinds(round);
		check_table(round->db, round->table, round->random, WINDOWS);
	}
	run_any(round->db, "COMMIT");
	heal(round);
	run(round->db, "INSERT INTO t_if(t_if) VALUES('integrity-check'); INSERT INTO t_if(t_if) VALUES('optimize');"
		       "INSERT INTO t_if(t_if) VALUES('integrity-check')");
	read_kinds(round);
	check_table(round->db, round->table, round->random, WINDOWS);
	for (int w = 0; w < N_WRITES; w++)
		sqlite3_finalize(round->writes[w]);
}

static void an_index_follows_random_changes(void **state)
{
	static struct table table;
	int n_rounds = test_rounds(N_ROUNDS);

	(void)state;
	for (int i = 0; i < n_rounds; i++) {
		struct random random = { test_seed() + (uint64_t)i };
		struct round round = { .db = open_database(":memory:", 0), .random = &random, .table = &table };

		run_round(&round);
		close_database(round.db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(an_index_follows_random_changes) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
