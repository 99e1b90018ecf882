/* tests/sqlite/test_user_triggers.c -- Tests of a user's AFTER INSERT triggers that are newer than the index, and so run before
 * its own: what they do to the new row is logged before its insertion is. Triggers on the index's table that end the statement
 * are refused. */
#include "harness.h"

#define SPANS                                                                                                        \
	"CREATE TABLE spans(id INTEGER PRIMARY KEY, track TEXT, ts, dur INTEGER);"                                    \
	"INSERT INTO spans(track, ts, dur) VALUES('a', 1, 10), ('a', 2, 20), ('b', 3, 30);"                           \
	"CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=track);"
#define COMMAND(command) "INSERT INTO spans_if(spans_if) VALUES('" command "');"

static void expect_same(sqlite3 *db)
{
	same_rows(db, "SELECT track, count, sum_dur, max_dur, max_dur_id, first_ts FROM spans_if ORDER BY track",
		  "SELECT track, count(*), sum(dur), max(dur), (SELECT s.id FROM spans AS s WHERE s.track = spans.track ORDER BY dur DESC, ts, id LIMIT 1),"
		  " min(ts) FROM spans GROUP BY track ORDER BY track");
}

static void the_new_row_is_changed_first(void **state)
{
	static const char *const bodies[] = {
		"UPDATE spans SET dur = dur + 1 WHERE id = new.id", "UPDATE spans SET track = 'moved' WHERE id = new.id",
		"DELETE FROM spans WHERE id = new.id", "UPDATE spans SET ts = CAST(ts AS INTEGER) WHERE id = new.id",
		"UPDATE spans SET id = id + 100 WHERE id = new.id",
		"REPLACE INTO spans SELECT id, 'c', 7, 700 FROM spans WHERE id = new.id AND dur < 100",
	};
	static const char *const rows[] = { "('a', 5, 50)", "('new', 6, 60)", "('a', '7', 70), ('newer', 8, 80)" };

	(void)state;
	for (unsigned b = 0; b < sizeof bodies / sizeof *bodies; b++)
		for (unsigned r = 0; r < sizeof rows / sizeof *rows; r++) {
			sqlite3 *db = open_database(":memory:", 0);

			/* times that are texts need a trigger that makes them integers, or removes the row */
			if (r == 2 && b != 3 && b != 2 && b != 5) {
				close_database(db);
				continue;
			}
			run(db, SPANS "CREATE TRIGGER mine AFTER INSERT ON spans BEGIN %s; END", bodies[b]);
			run(db, "INSERT INTO spans(track, ts, dur) VALUES%s", rows[r]);
			expect_same(db);
			run(db, COMMAND("integrity-check"));
			run(db, COMMAND("flush"));
			expect_same(db);
			run(db, COMMAND("integrity-check"));
			run(db, "UPDATE spans SET dur = dur * 2; DELETE FROM spans WHERE id = 2");
			expect_same(db);
			run(db, COMMAND("optimize") COMMAND("integrity-check"));
			expect_same(db);
			close_database(db);
		}
}

/* A query in the trigger, before the index's trigger has logged the row, is answered from the current state of the table. */
static void the_trigger_may_ask(void **state)
{
	static const char *const bodies[] = {
		"UPDATE spans SET dur = dur + 1 WHERE id = new.id", "UPDATE spans SET track = 'moved' WHERE id = new.id",
		"UPDATE spans SET id = id + 100 WHERE id = new.id", "UPDATE spans SET ts = CAST(ts AS INTEGER) WHERE id = new.id",
	};

	(void)state;
	for (unsigned b = 0; b < sizeof bodies / sizeof *bodies; b++) {
		sqlite3 *db = open_database(":memory:", 0);

		run(db, SPANS "CREATE TABLE told(count, sum); CREATE TRIGGER mine AFTER INSERT ON spans BEGIN %s;"
			      "INSERT INTO told SELECT sum(count), sum(sum_dur) FROM spans_if; END", bodies[b]);
		run(db, "INSERT INTO spans(track, ts, dur) VALUES('new', %s, 40)", b == 3 ? "'7'" : "7");
		same_rows(db, "SELECT * FROM told", "SELECT count(*), sum(dur) FROM spans");
		expect_same(db);
		run(db, COMMAND("flush") COMMAND("integrity-check"));
		expect_same(db);
		close_database(db);
	}
}

/* If the log lacks an old key that the runs have, queries count the old entry, too. The integrity check reports it. */
static void a_log_without_an_old_key_is_noticed(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, SPANS "INSERT INTO spans_if_log(id) VALUES(2)");
	run_fails(db, "spans_if: holds other rows than the table \"spans\" (2 and 2 rows that are not pending, 1 old ones of rows that are)",
		  COMMAND("integrity-check"));
	close_database(db);
}

static void a_log_of_rows_that_were_not_there_is_noticed(void **state)
{
	static const char *const statements[] = { "SELECT count FROM spans_if", COMMAND("flush"), COMMAND("integrity-check"), COMMAND("optimize") };
	static const char *const keys[] = { "2, 'nowhere'", "'2', 'a'", "2.5, 'a'" };
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, SPANS);
	for (unsigned k = 0; k < sizeof keys / sizeof *keys; k++) {
		run(db, "INSERT INTO spans_if_log(id, was, time, by_0) VALUES(2, 1, %s)", keys[k]);
		for (unsigned s = 0; s < sizeof statements / sizeof *statements; s++)
			run_fails(db, "spans_if: corrupt: the log tells of a row that the index cannot have", "%s", statements[s]);
		run(db, COMMAND("rebuild"));
		expect_same(db);
	}
	close_database(db);
}

static void equal_reals_are_no_difference(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE points(id INTEGER PRIMARY KEY, ts INTEGER, y REAL); INSERT INTO points(ts, y) VALUES(1, 0.0), (2, 1.5);"
		"CREATE VIRTUAL TABLE points_if USING iforest(content=points, time=ts, value=y);"
		"UPDATE points SET y = -0.0 WHERE id = 1; INSERT INTO points_if(points_if) VALUES('integrity-check')");
	close_database(db);
}

/* ---- which table a trigger is on ---- */

#define ENDS " BEGIN SELECT RAISE(IGNORE); END;"
#define MINE(table) "CREATE TEMP TRIGGER mine AFTER INSERT ON " table ENDS

/* The schema of the index, what is created before and after it, and whether a trigger then hides rows from it. */
static const struct {
	const char *schema, *before, *after;
	bool hides;
} places[] = {
	{ "main", "", MINE("spans"), true },
	{ "main", "", MINE("main.spans"), true },
	{ "main", "", MINE("\"MAIN\" /* . */ . [Spans]"), true },
	{ "main", "", "CREATE TRIGGER gr\xc3\xb6\xc3\x9f" "er AFTER INSERT ON spans" ENDS, true },
	{ "main", "", "CREATE TRIGGER a$b AFTER INSERT ON spans" ENDS, true },
	{ "main", "CREATE TRIGGER mine AFTER INSERT ON spans" ENDS, "", false },
	{ "main", "", "CREATE TEMP TABLE spans(x);" MINE("spans"), false },
	{ "main", "", "CREATE TEMP TABLE Spans(x); CREATE TRIGGER mine AFTER INSERT ON spans" ENDS, false },
	{ "main", "", "CREATE TEMP TABLE spans(x);" MINE("temp.spans"), false },
	{ "main", "", "CREATE TEMP TABLE spans(x);" MINE("`temp`.'spans'"), false },
	{ "main", "", "CREATE TEMP TABLE spans(x);" MINE("main.spans"), true },
	{ "main", "", "CREATE TEMP TABLE spans(x); CREATE TRIGGER main.mine AFTER INSERT ON spans" ENDS, true },
	{ "main", "", MINE("spans") "CREATE TEMP TABLE spans(x);", true },
	{ "main", "CREATE TEMP TABLE other(x);", MINE("spans") "ALTER TABLE other RENAME TO spans;", false },
	{ "main", "", "CREATE TEMP TABLE other(x);" MINE("other") "ALTER TABLE other RENAME TO spans;", false },
	{ "main", "", "CREATE TABLE o.spans(x);" MINE("o.spans"), false },
	{ "main", "", "CREATE TABLE \"o.\".spans(x);" MINE("\"o.\".spans"), false },
	{ "main", "", "CREATE TABLE o.spans(x); CREATE TRIGGER o.mine AFTER INSERT ON spans" ENDS, false },
	{ "main", "", "CREATE TABLE o.spans(x);" MINE("spans"), true },
	{ "main", "", "CREATE TABLE other(x);" MINE("other"), false },
	{ "o", "", MINE("spans"), true },
	{ "o", "", MINE("o.spans"), true },
	{ "o", "", "CREATE TABLE main.spans(x);" MINE("spans"), false },
	{ "o", "", "CREATE TABLE main.spans(x);" MINE("o.spans"), true },
	{ "o", "", "CREATE TABLE \"o.\".spans(x);" MINE("spans"), true },
	{ "o.", "", "CREATE TABLE o.spans(x);" MINE("spans"), false },
	{ "o.", "", "CREATE TABLE o.spans(x);" MINE("'o.'.spans"), true },
	{ "o", "", "CREATE TEMP TABLE spans(x);" MINE("spans"), false },
	{ "temp", MINE("spans"), "", false },
	{ "temp", "", MINE("spans"), true },
	{ "temp", "CREATE TABLE main.spans(x);" MINE("main.spans"), "", false },
	{ "temp", "CREATE TABLE main.spans(x);", MINE("main.spans"), false },
	{ "temp", "CREATE TABLE main.spans(x);", MINE("temp.spans"), true },
	{ "temp", "CREATE TABLE o.spans(x);", MINE("o.spans"), false },
};

static void only_triggers_on_the_table_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		const char *schema = places[i].schema;
		sqlite3 *db = open_database(":memory:", 0);
		int64_t n_logged;
		int rc;

		run(db, "ATTACH ':memory:' AS o; ATTACH ':memory:' AS \"o.\"; CREATE TABLE \"%w\".spans(id INTEGER PRIMARY KEY, ts, dur)", schema);
		run(db, "%s CREATE VIRTUAL TABLE \"%w\".spans_if USING iforest(content=spans, time=ts, duration=dur)", places[i].before, schema);
		run(db, "%s INSERT INTO \"%w\".spans VALUES(1, 5, 6)", places[i].after, schema);
		n_logged = integer_of(db, "SELECT count(*) FROM \"%w\".spans_if_log", schema);
		if (n_logged != !places[i].hides)
			fail_msg("in %s: %s logs %d rows", schema, places[i].after, (int)n_logged);
		rc = run_any(db, "SELECT count FROM \"%w\".spans_if", schema);
		if (places[i].hides ? rc == SQLITE_OK || !strstr(last_message(), " on \"spans\" says RAISE(IGNORE)") : rc != SQLITE_OK)
			fail_msg("in %s: %s %s and the question says: %s", schema, places[i].before, places[i].after, last_message());
		if (!places[i].hides || strcmp(schema, "temp") == 0) {
			run(db, "INSERT INTO \"%w\".spans_if(spans_if) VALUES('rebuild'); INSERT INTO \"%w\".spans VALUES(2, 7, 8)", schema, schema);
			run_gives(db, "2|14\n", "SELECT count, sum_dur FROM \"%w\".spans_if", schema);
		}
		close_database(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_new_row_is_changed_first),
		cmocka_unit_test(the_trigger_may_ask),
		cmocka_unit_test(a_log_without_an_old_key_is_noticed),
		cmocka_unit_test(a_log_of_rows_that_were_not_there_is_noticed),
		cmocka_unit_test(equal_reals_are_no_difference),
		cmocka_unit_test(only_triggers_on_the_table_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, remove_test_directory);
}
