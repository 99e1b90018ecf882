/* Rows of an index's own tables are damaged, beside questions, writes, commands and transactions, all in a connection that opens the
 * file as a stranger's (trusted_schema off, defensive on but while a row is damaged): nothing breaks, nothing leaks, no function
 * of the program is called by the file, errors name the index, and after 'rebuild' every answer is that of plain SQL.
 *
 * An input: byte 0 modulo 4 picks the database, or modulo 2 one of those of other times from 32 on below 64, and from 96 on below
 * 128; below 64 it ends with 'rebuild' (which takes most of the time); then steps
 * of four bytes: which (of `steps`), and what the SQL has as ?1 (u8), ?2 (u8), ?3 (u8). */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz_input.h"
#include "tests/support/specimen.h"

int sqlite3_iforest_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

enum { STEP_BYTES = 4, MOST_STEPS = 40, REBUILT = 64 };

/* ---- the databases ---- */

/* Numbers of many bits, whose sums are exact: few rows make several pages. */
#define ROWS(n)                                                                                                        \
	"CREATE TABLE d(id INTEGER PRIMARY KEY, track, ts, dur, r REAL, u UNIQUE);"                                    \
	"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < " #n ")"                             \
	" INSERT INTO d SELECT x, CASE x % 4 WHEN 0 THEN 'cpu' WHEN 1 THEN 7 WHEN 2 THEN x'00ff' ELSE 2.5 END,"       \
	" nullif(x * 7919 % 10007, 5), x * 2654435761 % 1099511627776 - 1, x * 2654435761 % 1073741824 / 4.0, x FROM n;"
#define FOLD "CREATE VIRTUAL TABLE d_fold USING iforest_fold(d_if);"
#define TABLES                                                                                                         \
	FOLD "CREATE VIRTUAL TABLE d_rows USING iforest_rows(d_if); CREATE VIRTUAL TABLE d_gaps USING iforest_gaps(d_if);"      \
	"CREATE VIRTUAL TABLE d_cover USING iforest_cover(d_if); CREATE VIRTUAL TABLE d_counter USING iforest_counter(d_if);"   \
	"CREATE VIRTUAL TABLE d_overlap USING iforest_overlap(d_if);"
#define FLUSH "INSERT INTO d_if(d_if) VALUES('flush');"
#define CHANGED "UPDATE d SET dur = dur + 1 WHERE id % 50 = 1;" FLUSH "UPDATE d SET ts = ts + 2 WHERE id % 70 = 1; DELETE FROM d WHERE id < 9"

static const char *const databases[] = {
	/* runs of which entries were removed, and pending rows of all kinds */
	ROWS(440) "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, value=(dur, r), by=track);" TABLES
	"UPDATE d SET dur = dur + 1 WHERE id % 50 = 1;" FLUSH "UPDATE d SET ts = ts + 2 WHERE id % 70 = 1; DELETE FROM d WHERE id < 9;" FLUSH
	"INSERT OR REPLACE INTO d(id, track, ts, dur, r, u) VALUES(20, 'new', 30, 4, 2.5, 90), (2000, 'gpu', 50, 1, NULL, NULL);"
	"UPDATE d SET track = 'gpu' WHERE id IN (40, 41); DELETE FROM d WHERE id = 50; UPDATE d SET id = 3000 WHERE id = 60",
	/* one series */
	ROWS(500) "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, value=(dur, r), sync=append);" TABLES
	"INSERT INTO d(track, ts, dur) SELECT track, ts + 11000, dur FROM d LIMIT 40;" FLUSH
	"INSERT INTO d(track, ts, dur) SELECT track, ts + 12000, dur FROM d LIMIT 30",
	/* two by columns, few rows, times in order */
	ROWS(60) "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=u, duration=dur, value=(dur, r), by=(track, dur AS wait));" TABLES
	"INSERT INTO d(track, ts, dur, u) SELECT track, ts, dur, u + 900 FROM d LIMIT 10",
	/* as many rows as it takes to keep sketches and what is added to counters; small numbers */
	"CREATE TABLE d(id INTEGER PRIMARY KEY, track, ts, dur, r REAL, u UNIQUE);"
	"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 4200) INSERT INTO d SELECT x, 7, x, x % 31, x / 4.0, NULL FROM n;"
	"CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, value=(dur, r), variance=dur, histogram=(dur(5, 30)),"
	" products=(dur*ts), sketch=(dur, r), counter=(dur, r), distinct=(dur, u, track AS who));" TABLES
	"DELETE FROM d WHERE id = 3000;" FLUSH "UPDATE d SET dur = 40 WHERE id = 2000",
	/* times that are reals; and texts */
	ROWS(200) "ALTER TABLE d ADD COLUMN at REAL AS (ts / 8.0);"
	"CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=at, duration=dur, value=(dur, r), by=track);" TABLES CHANGED,
	ROWS(200) "ALTER TABLE d ADD COLUMN at TEXT AS (strftime('%Y-%m-%d %H:%M:%S', ts, 'unixepoch'));"
	"CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=at, duration=dur, value=(dur, r), by=track, unit=s);" TABLES CHANGED,
};

enum { N_DATABASES = sizeof databases / sizeof *databases, N_OF_INTEGERS = 4 };

static struct image {
	unsigned char *bytes;
	sqlite3_int64 n_bytes;
} images[N_DATABASES];

/* ---- what may happen ---- */

#define PAGE "(SELECT id FROM d_if_page ORDER BY id LIMIT 1 OFFSET ?1 % (SELECT count(*) FROM d_if_page))"
#define SERIES "(SELECT id FROM d_if_series ORDER BY id LIMIT 1 OFFSET ?1 % (SELECT count(*) FROM d_if_series))"
#define CONFIG "(SELECT name FROM d_if_config ORDER BY name LIMIT 1 OFFSET ?1 % (SELECT count(*) FROM d_if_config))"
#define OF_NODES(table) "(run, value, level, number) = (SELECT run, value, level, number FROM " table                       \
	" ORDER BY 1, 2, 3, 4 LIMIT 1 OFFSET ?1 % (SELECT count(*) FROM " table "))"
#define DAMAGES(table)                                                                                                 \
	"UPDATE " table " SET bytes = sealed(0, poke(bytes, ?2, ?3)) WHERE " OF_NODES(table),                                  \
	"UPDATE " table " SET bytes = sealed(0, substr(bytes, 1, length(bytes) * ?2 / 255)) WHERE " OF_NODES(table),           \
	"UPDATE " table " SET bytes = odd(?2), dead = ?3 WHERE " OF_NODES(table),                                              \
	"UPDATE OR REPLACE " table " SET level = level + ?2 % 3 - 1, number = number + ?3 % 5 - 2 WHERE " OF_NODES(table),     \
	"UPDATE OR REPLACE " table " SET value = odd(?2), dead = odd(?3) WHERE " OF_NODES(table),                              \
	"DELETE FROM " table " WHERE " OF_NODES(table)
#define LOG "(SELECT seq FROM d_if_log ORDER BY seq LIMIT 1 OFFSET ?1 % (SELECT count(*) FROM d_if_log))"

/* poke(bytes, at, value), sealed(id, bytes) and odd(number) are functions below. "?" is the next row of a question that stays
 * open meanwhile. */
static const char *const steps[] = {
	/* pages and the manifest, which is the first of them */
	"UPDATE d_if_page SET bytes = sealed(id, poke(bytes, ?2, ?3)) WHERE id = " PAGE,
	"UPDATE d_if_page SET bytes = sealed(id, poke(bytes, ?2 + 256, ?3)) WHERE id = " PAGE,
	"UPDATE d_if_page SET bytes = sealed(id, poke(bytes, ?1, ?3)) WHERE id = 0",
	"UPDATE d_if_page SET bytes = sealed(id, poke(bytes, ?1 + 256, ?3)) WHERE id = 0",
	"UPDATE d_if_page SET bytes = sealed(id, poke(bytes, ?2 * 15 + 37, ?3)) WHERE id = " PAGE,
	"UPDATE d_if_page SET bytes = poke(bytes, ?2 * ?3, ?3) WHERE id = " PAGE,
	"UPDATE d_if_page SET bytes = sealed(id, substr(bytes, 1, length(bytes) * ?2 / 255)) WHERE id = " PAGE,
	"UPDATE d_if_page SET bytes = (SELECT bytes FROM d_if_page WHERE id <> 0 LIMIT 1 OFFSET ?2) WHERE id = " PAGE,
	"UPDATE d_if_page SET bytes = odd(?2) WHERE id = " PAGE,
	"UPDATE OR REPLACE d_if_page SET id = id + ?2 - ?3 WHERE id = " PAGE,
	"DELETE FROM d_if_page WHERE id = " PAGE,
	/* series */
	"UPDATE d_if_series SET key = CAST(poke(key, ?2, ?3) AS BLOB) WHERE id = " SERIES,
	"UPDATE d_if_series SET key = odd(?2) WHERE id = " SERIES,
	"UPDATE OR REPLACE d_if_series SET id = id + ?2 - ?3 WHERE id = " SERIES,
	"DELETE FROM d_if_series WHERE id = " SERIES,
	"INSERT INTO d_if_series SELECT max(id) + ?2, CAST(poke(key, 0, ?3) AS BLOB) FROM d_if_series",
	/* config */
	"UPDATE d_if_config SET value = odd(?2) WHERE name = " CONFIG,
	"UPDATE d_if_config SET value = CAST(poke(CAST(value AS BLOB), ?2, ?3) AS TEXT) WHERE name = " CONFIG,
	"UPDATE OR REPLACE d_if_config SET name = CAST(poke(CAST(name AS BLOB), ?2, ?3) AS TEXT) WHERE name = " CONFIG,
	"DELETE FROM d_if_config WHERE name = " CONFIG,
	/* the log, which one of the databases has not */
	"UPDATE d_if_log SET id = iif(?2 % 2, odd(?3), ?3 * 13) WHERE seq = " LOG,
	"UPDATE d_if_log SET was = odd(?3) WHERE seq = " LOG,
	"UPDATE d_if_log SET time = odd(?3) WHERE seq = " LOG,
	"UPDATE d_if_log SET time = ?2 WHERE seq = " LOG,
	"UPDATE d_if_log SET by_0 = odd(?3) WHERE seq = " LOG,
	"UPDATE d_if_log SET was = NULL, time = NULL WHERE seq = " LOG,
	"UPDATE OR REPLACE d_if_log SET seq = odd(?3) WHERE seq = " LOG,
	"DELETE FROM d_if_log WHERE seq = " LOG,
	"INSERT INTO d_if_log(id, was, time, by_0) SELECT id, ?3 % 2, ts, track FROM d WHERE id = ?1 * ?2",
	"INSERT INTO d_if_log(id, was, time, by_0) VALUES(?1 * 13, ?2 % 3, odd(?3), odd(?2))",
	"DROP TABLE d_if_log", "DROP TABLE d_if_series", "DROP TRIGGER d_if_update",
	/* the table */
	"INSERT OR REPLACE INTO d(id, track, ts, dur, r, u) VALUES(?1 * 7, iif(?2 % 2, 'cpu', ?2), ?3 * 99, ?2, ?3 / 4.0, ?1)",
	"UPDATE OR REPLACE d SET u = ?1, ts = ts + ?3, dur = ?2 - 2 WHERE id BETWEEN ?1 AND ?1 + ?3 % 8",
	"UPDATE OR IGNORE d SET id = ?1 * 31, track = ?3 % 3 WHERE id = ?2", "DELETE FROM d WHERE id % 256 = ?1",
	"INSERT INTO d(track, ts, dur, r) SELECT 'more', ts, dur, r FROM d LIMIT ?2",
	"BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT s", "ROLLBACK TO s", "RELEASE s",
	/* the index */
	"?", "?", "?",
	"INSERT INTO d_if(d_if) VALUES('flush')", "INSERT INTO d_if(d_if) VALUES('merge')", "INSERT INTO d_if(d_if) VALUES('optimize')",
	"INSERT INTO d_if(d_if) VALUES('integrity-check')", "INSERT INTO d_if(d_if) VALUES('rebuild')",
	"INSERT INTO d_if(d_if, n) VALUES('automerge', 2 + ?3 % 15)", "INSERT INTO d_if(d_if, n) VALUES('merge', ?3)",
	"SELECT * FROM d_if", "SELECT * FROM d_if(?1 * 37, 5000 + ?2 * 11)", "SELECT * FROM d_fold(?1 * 37, 5000 + ?2 * 11)", "SELECT * FROM d_fold",
	"SELECT * FROM d_if(0, 10000, 1 + ?1)", "SELECT * FROM d_if(?2, 12000) WHERE step = 40 * ?1 + 41 AND fill = 'zero'",
	"SELECT * FROM d_fold(-10, 13000, ?1)", "SELECT count, max_dur_id FROM d_if(0, 10007, 99) ORDER BY bucket DESC",
	"SELECT max_dur_id, first_dur, last_r FROM d_fold(100 * ?1)", "SELECT count(*) FROM d JOIN d_if ON t0 = d.ts AND t1 = d.ts + ?2 WHERE d.id < ?1 % 16",
	/* sketches and counters, which one of the databases has; and the other tables over the index */
	DAMAGES("d_if_sketch"), DAMAGES("d_if_piece"), DAMAGES("d_if_distinct"),
	"SELECT iforest_distinct_count(distinct_dur), iforest_distinct_count(distinct_who) FROM d_if(?1 * 17, 1000 + ?2 * 40)",
	"SELECT iforest_distinct_count(iforest_distinct_merge(bytes)) FROM d_if_distinct",
	"SELECT iforest_quantile(sketch_dur, ?3 / 255.0), iforest_sketch_count(sketch_r) FROM d_if(?1 * 17, 1000 + ?2 * 40)",
	"SELECT iforest_quantile(sketch_r, 0.5) FROM d_if", "SELECT twa_dur, increase_r FROM d_counter(?1 * 17, 1000 + ?2 * 40, 1 + ?3 % 8)",
	"SELECT * FROM d_counter(?1, 12000)", "SELECT * FROM d_rows WHERE ts >= ?1 * 37 AND dur > ?2 LIMIT 50",
	"SELECT * FROM d_rows WHERE r > ?1 ORDER BY dur DESC LIMIT ?3 % 20", "SELECT * FROM d_rows(?1 * 37, ?2 * 40) LIMIT 30",
	"SELECT * FROM d_overlap(?1 * 37, 5000 + ?2 * 11, 1 + ?3)", "SELECT * FROM d_gaps(?1 * 37, 5000 + ?2 * 11, ?3)",
	"SELECT * FROM d_cover(?1 * 37, 5000 + ?2 * 11)", "SELECT * FROM d_cover", "SELECT * FROM iforest_stats('d_if')",
	"INSERT INTO d_if(d_if, step) VALUES('export', 300 + ?1 * 9)",
	/* the front, and rows in it */
	"UPDATE d_if_front SET block = block + ?2 - ?3", "UPDATE d_if_front SET block = odd(?2)", "DELETE FROM d_if_front",
	"INSERT OR IGNORE INTO d_if_front VALUES(?1)", "DROP TABLE d_if_front",
	"INSERT OR REPLACE INTO d(id, track, ts, dur, r) SELECT max(id) + ?2 % 4 - 1, 'end', ?3 * 40, ?1, ?2 FROM d",
	"INSERT OR IGNORE INTO d(id, track, ts, dur, r) SELECT max(id) + ?2, 'end', ?3 * 40, ?1, ?2 FROM d",
	/* times that are texts or reals */
	"SELECT * FROM d_if('1970-01-01 00:' || (?1 % 60), '1970-01-0' || (1 + ?2 % 5)) WHERE step = (1 + ?3) || ' minutes'",
	"SELECT * FROM d_fold('1970-01-01', '1970-01-02', ?1) WHERE fill = 'last'", "SELECT * FROM d_rows WHERE at >= '1970-01-01 0' || (?1 % 9) || ':00' ORDER BY at DESC LIMIT 30",
	"SELECT * FROM d_overlap('1970-01-01 01:00', '1970-01-01 02:30', 1 + ?3)", "SELECT bucket, overlaps FROM d_overlap(?1 * 5, 1300.5, 1 + ?3)", "SELECT * FROM d_gaps WHERE longer_than = ?1 || ' s'",
	"SELECT * FROM d_if(?1 / 3.0, 1300.25) WHERE step = 0.5 + ?2 / 7.0", "SELECT * FROM d_fold(?1, 900.5) WHERE n = 10 * ?2 AND fill = 'linear'",
};

enum { N_STEPS = sizeof steps / sizeof *steps };

/* ---- what must hold after 'rebuild' ---- */

#define INDEXED "count, first_ts, last_ts, count_dur, sum_dur, min_dur, max_dur, sum_r, min_r, max_r, count_r"
#define PLAIN(time) "count(*), min(" time "), max(" time "), count(dur), sum(dur), min(dur), max(dur), sum(r), min(r), max(r), count(r)"

static const struct {
	const char *indexed, *plain; /* with the time column as %w */
	bool is_of_integers;	     /* for times that are integers alone */
} answers[] = {
	{ "SELECT count, first_ts, last_ts, count_dur, sum_r FROM d_fold", "SELECT count(*), min(\"%w\"), max(\"%w\"), count(dur), sum(r) FROM d", false },
	{ "SELECT " INDEXED " FROM d_fold", "SELECT " PLAIN("\"%w\"") " FROM d", true },
	{ "SELECT " INDEXED " FROM d_fold(500, 1300)", "SELECT " PLAIN("\"%w\"") " FROM d WHERE \"%w\" >= 500 AND \"%w\" < 1300 HAVING count(*) > 0", true },
	{ "SELECT bucket, " INDEXED " FROM d_fold WHERE step = 333 ORDER BY 1",
	  "SELECT \"%w\" / 333, " PLAIN("\"%w\"") " FROM d WHERE \"%w\" IS NOT NULL GROUP BY 1 ORDER BY 1", true },
};

enum { N_ANSWERS = sizeof answers / sizeof *answers };

/* ---- SQL ---- */

static void stop(sqlite3 *db, const char *what, const char *sql)
{
	fprintf(stderr, "%s: %s\n  %s\n", what, sqlite3_errmsg(db), sql);
	abort();
}

static void run(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL))
		stop(db, "fails", sql);
}

static void poke(sqlite3_context *context, int n, sqlite3_value **arguments)
{
	int n_bytes = sqlite3_value_bytes(arguments[0]);
	unsigned char *bytes = sqlite3_malloc(n_bytes + 1);

	(void)n;
	if (!bytes)
		abort();
	if (n_bytes > 0) {
		memcpy(bytes, sqlite3_value_blob(arguments[0]), (size_t)n_bytes);
		bytes[sqlite3_value_int(arguments[1]) % n_bytes] = (unsigned char)sqlite3_value_int(arguments[2]);
	}
	sqlite3_result_blob(context, bytes, n_bytes, sqlite3_free);
}


/* The bytes of page `id` with a right checksum; those of sketches and pieces have it where the manifest, page 0, has it. */
static void sealed(sqlite3_context *context, int n, sqlite3_value **arguments)
{
	int n_bytes = sqlite3_value_bytes(arguments[1]);
	unsigned char *bytes = sqlite3_malloc(n_bytes + 1);

	(void)n;
	if (!bytes)
		abort();
	if (n_bytes > 0)
		memcpy(bytes, sqlite3_value_blob(arguments[1]), (size_t)n_bytes);
	if (sqlite3_value_int64(arguments[0]) == 0)
		specimen_finish_manifest(bytes, (uint32_t)n_bytes);
	else
		specimen_finish_page(bytes, (uint32_t)n_bytes);
	sqlite3_result_blob(context, bytes, n_bytes, sqlite3_free);
}

/* A value that does not belong there. */
static void odd(sqlite3_context *context, int n, sqlite3_value **arguments)
{
	static const int64_t integers[] = {
		0, 1, -1, 2, 5, 100, 2000, INT32_MAX, UINT32_MAX, INT64_MAX, INT64_MAX - 1, INT64_MIN, INT64_MIN + 1
	};
	static const char *const texts[] = { "", "cpu", "7", "content=d", "content=sqlite_schema", "by=(track, u)", "value=(r)", "time=d", "sync=append",
					     "sync=manual", "x');DROP TABLE d;--", "where=(trap())", "where=(trap() OR dur > 0)", "where=(?2 IS NULL)",
					     "where=(iforest_pending(?2, 1) IS NULL)", "where=((SELECT trap()) = 1)", "where=(1) OR trap()", "where=(dur > 5)", "by=(trap())" };
	static const double reals[] = { 1.5, -0.0, 1e300, 7.0, 9.3e18 };
	enum {
		N_INTEGERS = sizeof integers / sizeof *integers,
		N_TEXTS = sizeof texts / sizeof *texts,
		N_REALS = sizeof reals / sizeof *reals
	};
	int number = sqlite3_value_int(arguments[0]);

	(void)n;
	switch (number % 5) {
	case 0:
		sqlite3_result_int64(context, integers[number / 5 % N_INTEGERS]);
		break;
	case 1:
		sqlite3_result_text(context, texts[number / 5 % N_TEXTS], -1, SQLITE_STATIC);
		break;
	case 2:
		sqlite3_result_double(context, reals[number / 5 % N_REALS]);
		break;
	case 3:
		sqlite3_result_zeroblob(context, number * number);
		break;
	}
}

/* A function of the program, which no file may call. */
static void trap(sqlite3_context *context, int n, sqlite3_value **arguments)
{
	(void)n;
	(void)arguments;
	stop(sqlite3_context_db_handle(context), "is called by the file", "trap()");
}

/* With a seed an input does the same each time. No two steps of its life may have the same: the ids of manifests would come
 * again. */
static sqlite3 *open_database(int seed)
{
	sqlite3 *db;

	sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, seed, (sqlite3 *)NULL);
	if (sqlite3_open(":memory:", &db) || sqlite3_create_function(db, "poke", 3, SQLITE_UTF8, NULL, poke, NULL, NULL) ||
	    sqlite3_create_function(db, "sealed", 2, SQLITE_UTF8, NULL, sealed, NULL, NULL) ||
	    sqlite3_create_function(db, "odd", 1, SQLITE_UTF8, NULL, odd, NULL, NULL) ||
	    sqlite3_create_function(db, "trap", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL, trap, NULL, NULL))
		stop(db, "cannot open", "");
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	return db;
}

static void release_images(void)
{
	for (int i = 0; i < N_DATABASES; i++)
		sqlite3_free(images[i].bytes);
}

static void make_images(void)
{
	if (sqlite3_auto_extension((void (*)(void))sqlite3_iforest_init))
		abort();
	for (int i = 0; i < N_DATABASES; i++) {
		sqlite3 *db = open_database(1 + i);

		run(db, databases[i]);
		run(db, "VACUUM");
		images[i].bytes = sqlite3_serialize(db, "main", &images[i].n_bytes, 0);
		if (!images[i].bytes)
			abort();
		sqlite3_close(db);
	}
	atexit(release_images);
}

static sqlite3 *open_image(const struct image *image)
{
	sqlite3 *db = open_database(1 + N_DATABASES);
	unsigned char *copy = sqlite3_malloc64((sqlite3_uint64)image->n_bytes);

	if (!copy)
		abort();
	memcpy(copy, image->bytes, (size_t)image->n_bytes);
	if (sqlite3_deserialize(db, "main", copy, image->n_bytes, image->n_bytes, SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE))
		stop(db, "cannot open", "");
	return db;
}

/* ---- steps ---- */

/* The index names itself where it fails; what fails in SQLite's own name is left to it. */
static void expect_named(sqlite3 *db, const char *sql)
{
	const char *message = sqlite3_errmsg(db);
	bool is_ours = strstr(message, "d_") || strstr(message, "iforest");
	bool is_plain = strncmp(message, "no such column", 14) == 0 || strcmp(message, "integer overflow") == 0; /* a broken fold has no columns */

	if (strncmp(sql, "SELECT", 6) == 0 && !is_ours && !is_plain)
		stop(db, "fails without a name", sql);
}

/* True if the SQL writes to a table that only the index may write to. SQLite asks as it prepares a statement. */
static bool is_forgery(const char *sql)
{
	static const char *const tables[] = { "d_if_page", "d_if_series", "d_if_config", "d_if_sketch", "d_if_piece", "d_if_distinct" };
	bool is_one = false;

	for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
		is_one = is_one || (strncmp(sql, "SELECT", 6) != 0 && strstr(sql, tables[t]));
	return is_one;
}

static sqlite3_stmt *prepare(sqlite3 *db, const uint8_t *step)
{
	const char *sql = steps[step[0] % N_STEPS];
	sqlite3_stmt *statement;
	int rc;

	if (*sql == '?')
		sql = "SELECT bucket, sum_dur, max_r_id, last_dur FROM d_if(0, 12500, 300)";
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, !is_forgery(sql), NULL);
	rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	if (rc) {
		expect_named(db, sql);
		return NULL;
	}
	for (int i = 1; i <= sqlite3_bind_parameter_count(statement); i++)
		sqlite3_bind_int(statement, i, step[i]);
	return statement;
}

static void take_step(sqlite3 *db, const uint8_t *step, sqlite3_stmt **open)
{
	bool stays_open = *steps[step[0] % N_STEPS] == '?';
	sqlite3_stmt *statement = stays_open && *open ? *open : prepare(db, step);
	int rc = statement ? sqlite3_step(statement) : SQLITE_DONE;

	while (rc == SQLITE_ROW && !stays_open)
		rc = sqlite3_step(statement);
	if (rc != SQLITE_DONE && rc != SQLITE_ROW)
		expect_named(db, sqlite3_sql(statement));
	if (stays_open && rc == SQLITE_ROW) {
		*open = statement;
		return;
	}
	sqlite3_finalize(statement);
	if (stays_open)
		*open = NULL;
}

/* ---- the end ---- */

static char *rows_of(sqlite3 *db, const char *sql)
{
	sqlite3_str *rows = sqlite3_str_new(db);
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL))
		stop(db, "fails after 'rebuild'", sql);
	while (sqlite3_step(statement) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(statement); i++)
			sqlite3_str_appendf(rows, "%s|", sqlite3_column_text(statement, i));
		sqlite3_str_appendchar(rows, 1, '\n');
	}
	if (sqlite3_finalize(statement))
		stop(db, "fails after 'rebuild'", sql);
	return sqlite3_str_finish(rows);
}

static void expect_plain_answers(sqlite3 *db, const char *time)
{
	for (int i = 0; i < N_ANSWERS; i++) {
		char *plain, *expected, *rows;

		if (answers[i].is_of_integers && strcmp(time, "at") == 0)
			continue;
		plain = sqlite3_mprintf(answers[i].plain, time, time, time, time);
		expected = rows_of(db, plain);
		rows = rows_of(db, answers[i].indexed);
		if (!expected != !rows || (rows && strcmp(rows, expected) != 0)) {
			fprintf(stderr, "%s\n  and plain SQL:\n%s\n", rows, expected);
			stop(db, "differs after 'rebuild'", answers[i].indexed);
		}
		sqlite3_free(plain);
		sqlite3_free(expected);
		sqlite3_free(rows);
	}
}

/* A fold that was connected while the config said something else, or nothing that can be read, has to be made anew. */
static void make_fold_anew(sqlite3 *db)
{
	const char *sql = "SELECT count FROM d_fold";

	if (!sqlite3_exec(db, sql, NULL, NULL, NULL))
		return;
	if (!strstr(sqlite3_errmsg(db), "was made anew with other columns") && strcmp(sqlite3_errmsg(db), "no such column: count") != 0)
		stop(db, "fails after 'rebuild'", sql);
	run(db, "DROP TABLE d_fold;" FOLD);
}

static void rebuild(sqlite3 *db, const char *time)
{
	run(db, "INSERT INTO d_if(d_if) VALUES('rebuild')");
	make_fold_anew(db);
	expect_plain_answers(db, time);
	run(db, "INSERT INTO d_if(d_if) VALUES('integrity-check')");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_data)
{
	sqlite3_int64 n_used;
	sqlite3_stmt *open = NULL;
	sqlite3 *db;
	int number;

	if (n_data == 0)
		return 0;
	if (!images[0].bytes)
		make_images();
	number = data[0] < 2 * REBUILT && data[0] % REBUILT >= REBUILT / 2 ? N_OF_INTEGERS + data[0] % 2 : data[0] % N_OF_INTEGERS;
	n_used = sqlite3_memory_used();
	db = open_image(&images[number]);
	for (size_t i = 1, n = 0; i + STEP_BYTES <= n_data && n < MOST_STEPS; i += STEP_BYTES, n++)
		take_step(db, data + i, &open);
	sqlite3_finalize(open);
	if (!sqlite3_get_autocommit(db))
		sqlite3_exec(db, n_data % 2 ? "COMMIT" : "ROLLBACK", NULL, NULL, NULL);
	if (data[0] < REBUILT)
		rebuild(db, number == 2 ? "u" : number < N_OF_INTEGERS ? "ts" : "at");
	if (sqlite3_close(db))
		stop(db, "does not close", "");
	if (sqlite3_memory_used() != n_used)
		stop(db, "memory leaks", "");
	return 0;
}

/* ---- without libFuzzer ---- */

static size_t random_input(struct random *dice, uint8_t *data)
{
	size_t n = 1 + STEP_BYTES * (1 + random_below(dice, (FUZZ_MOST_RANDOM - 1) / STEP_BYTES));

	for (size_t i = 0; i < n; i++)
		data[i] = (uint8_t)random_next(dice);
	return n;
}

const struct fuzz_target fuzz_target = { .corpus = "tests/fuzz/corpus_shadow", .n_inputs = 400, .random_input = random_input };
