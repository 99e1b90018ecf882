#include "tests/security/stranger.h"

/* ---- the file ---- */

void make_forgeable(const char *path)
{
	sqlite3 *db = open_database(path, 0);

	run(db, "PRAGMA journal_mode = memory; PRAGMA synchronous = off");
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER, name TEXT, kind, js TEXT);"
		"CREATE TABLE secret(a); INSERT INTO secret VALUES (1), (2);"
		"INSERT INTO t VALUES (1, 0, 40, 'a', 1, '{\"a\": 1}'), (2, 5, 10, 'B', 2.5, '[1, 2]'), (3, 7, NULL, NULL, x'00ff', NULL);");
	run(db, "CREATE VIRTUAL TABLE l USING iforest(content=t, time=ts, duration=dur, where=" FORGED ");"
		"CREATE VIRTUAL TABLE a USING iforest(content=t, time=ts, duration=dur, by=name, sync=append, where=" FORGED ");"
		"CREATE VIRTUAL TABLE m USING iforest(content=t, time=ts, duration=dur, sync=manual, where=" FORGED ");"
		"CREATE VIRTUAL TABLE l_fold USING iforest_fold(l); CREATE VIRTUAL TABLE l_rows USING iforest_rows(l);"
		"CREATE VIRTUAL TABLE a_fold USING iforest_fold(a);"
		"CREATE VIEW v_l AS SELECT count FROM l; CREATE VIEW v_l_fold AS SELECT count FROM l_fold;"
		"CREATE VIEW v_a AS SELECT count FROM a; CREATE VIEW v_a_fold AS SELECT count FROM a_fold;"
		"INSERT INTO t VALUES (4, 9, 4, 'x', 'text', NULL), (5, 12, 4, 'edit', NULL, '{}'); UPDATE t SET dur = 8 WHERE id = 2");
	close_database(db);
}

/* ---- forging ---- */

void forger_open(struct forger *forger, const char *path)
{
	*forger = (struct forger){ .db = open_plain(path, 0), .n = 1000 };
	run(forger->db, "PRAGMA synchronous = off; PRAGMA journal_mode = memory; PRAGMA writable_schema = ON;"
			"CREATE TEMP TABLE texts AS SELECT rowid AS row, sql FROM sqlite_schema;"
			"CREATE TEMP TABLE configs AS SELECT 'l' AS x, * FROM l_config UNION ALL SELECT 'a', * FROM a_config UNION ALL SELECT 'm', * FROM m_config");
}

void forger_close(struct forger *forger)
{
	close_database(forger->db);
}

static void write_config(struct forger *forger, const char *index, const char *text)
{
	run(forger->db, "UPDATE \"%w_config\" SET value = (SELECT replace(c.value, %Q, %Q) FROM configs AS c WHERE c.x = %Q AND c.name = \"%w_config\".name) WHERE name GLOB 'argument *'",
	    index, FORGED, text, index, index);
}

void forge(struct forger *forger, const char *text, bool in_schema)
{
	run(forger->db, "BEGIN");
	run(forger->db, "UPDATE sqlite_schema AS m SET sql = (SELECT replace(x.sql, %Q, %Q) FROM texts AS x WHERE x.row = m.rowid)", FORGED, in_schema ? text : FORGED);
	write_config(forger, "l", text);
	write_config(forger, "a", text);
	write_config(forger, "m", text);
	run(forger->db, "PRAGMA schema_version = %d; COMMIT", forger->n++);
}

void forge_back(struct forger *forger)
{
	forge(forger, FORGED, true);
}

/* ---- a connection with traps ---- */

const char *const trap_names[] = { "edit", "writefile", "trap", "trap_direct", "trap_innocuous" };
const size_t n_trap_names = sizeof trap_names / sizeof *trap_names;

static void spring(sqlite3_context *context, int n, sqlite3_value **arguments)
{
	struct traps *traps = sqlite3_user_data(context);

	(void)n;
	(void)arguments;
	traps->n_calls++;
	sqlite3_result_int(context, 1);
}

/* load_extension() is SQLite's own, so it is its name that springs the trap. What triggers and views do is SQLite's matter. */
static int watch(void *context, int action, const char *first, const char *second, const char *schema, const char *trigger)
{
	struct traps *traps = context;

	(void)schema;
	if (trigger)
		return SQLITE_OK;
	if (action == SQLITE_READ && (strcmp(first, "secret") == 0 || strcmp(first, "json_each") == 0))
		traps->n_secrets++;
	if (action == SQLITE_FUNCTION && (sqlite3_stricmp(second, "load_extension") == 0 || sqlite3_stricmp(second, "sqlite_log") == 0))
		traps->n_calls++;
	if (action == SQLITE_ATTACH || action == SQLITE_RECURSIVE)
		traps->n_secrets++;
	return SQLITE_OK;
}

static int count_statement(unsigned type, void *context, void *statement, void *sql)
{
	struct traps *traps = context;

	(void)type;
	(void)statement;
	(void)sql;
	traps->n_statements++;
	return 0;
}

static int count_ticks(void *context)
{
	struct traps *traps = context;

	return ++traps->n_ticks > 1000;
}

sqlite3 *open_strangers(const char *path, bool is_trusted, struct traps *traps)
{
	static const int flags[] = { SQLITE_DIRECTONLY, SQLITE_DIRECTONLY, 0, SQLITE_DIRECTONLY, SQLITE_INNOCUOUS };
	sqlite3 *db = open_database(path, 0);

	*traps = (struct traps){ .n_calls = 0 };
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, is_trusted, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_exec(db, "PRAGMA synchronous = off", NULL, NULL, NULL);
	for (size_t i = 0; i < n_trap_names; i++)
		assert_int_equal(sqlite3_create_function(db, trap_names[i], -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | flags[i], traps, spring, NULL, NULL), SQLITE_OK);
	sqlite3_set_authorizer(db, watch, traps);
	sqlite3_trace_v2(db, SQLITE_TRACE_STMT, count_statement, traps);
	sqlite3_progress_handler(db, 1000, count_ticks, traps);
	return db;
}

void expect_no_trap(const struct traps *traps, const char *text)
{
	if (traps->n_calls || traps->n_secrets || traps->n_ticks > 1000)
		fail_msg("%u calls, %u tables read, %u ticks by where=%s", traps->n_calls, traps->n_secrets, traps->n_ticks, text);
}
