/* tests/sqlite/test_damage.c -- Tests of damaged tables of an index: a query is answered correctly, or with an error that names
 * the index; the integrity check finds what could make an answer wrong; rebuild and DROP work. Bytes are changed one by one,
 * some with a corrected checksum, so that the checks after the checksum are tested, too. */
#include "harness.h"

#include "tests/support/sanitizer.h"
#include "xxh64.h"

/* With seven columns of reals and one with its variance, nodes are large and leaf pages hold few rows, so that a small table
 * has several levels of nodes. */
#define TABLE                                                                                                                 \
	"CREATE TABLE d(id INTEGER PRIMARY KEY, track, ts, a, b, c, e, f, g, h, i);"                                          \
	"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1600)"                                      \
	" INSERT INTO d SELECT x, CASE x % 4 WHEN 0 THEN 'cpu' WHEN 1 THEN 7 WHEN 2 THEN x'00ff' ELSE 2.5 END,"              \
	" nullif(x * 7919 % 100003, 5), x / 7.0, x / 11.0, x / 13.0, x / 17.0, x / 19.0, x / 23.0, -x / 29.0, x * x % 1009 FROM n;"
#define INDEX "CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, value=(a, b, c, e, f, g, h, i), variance=i, by=track);"

static const char *const questions[] = {
	"SELECT track, count, sum_a, max_b, min_c_id, first_e, last_f, avg_g, max_h_ts FROM d_if",
	"SELECT track, count, sum_a, max_b, min_c_id, first_e, last_f, avg_g, max_h_ts FROM d_if(17, 90001)",
	"SELECT track, bucket, count, sum_a, max_b_id, last_i FROM d_if(0, 100003, 40)",
	"SELECT count, first_ts, last_ts, min_a FROM d_if(40000, 40999) WHERE track = 7",
	"SELECT track, bucket, count, max_h FROM d_if(0, 100000) WHERE step = 9999 AND fill = 'zero' AND track IN ('cpu', 2.5)",
	"SELECT count, sum_f FROM d_if(99000)",
	"SELECT track, bucket, last_a, min_h_id, var_i FROM d_if(50000, 52000, 30) WHERE fill = 'last' AND track IN ('cpu', 7)",
	"SELECT track, bucket, avg_b, max_i FROM d_if(60000, 60500, 30) WHERE fill = 'linear'",
	"SELECT track, max_a, max_a_id, min_b FROM d_if",
};

enum { N_QUESTIONS = sizeof questions / sizeof questions[0] };

#define COUNTER "CREATE VIRTUAL TABLE d_counter USING iforest_counter(d_if)"
#define COUNTED "SELECT track, bucket, start_a, twa_i, increase_i, resets_b FROM d_counter(30000, 60000, 20)"

static char *counted;
static unsigned char *image;
static sqlite3_int64 n_image;
static char *answers[N_QUESTIONS];
static sqlite3 *anchor; /* keeps the library loaded */
static int n_cases;

static int make_image(void **state)
{
	(void)state;
	anchor = open_database(":memory:", 0);
	run(anchor, "%s", TABLE INDEX "VACUUM");
	for (int i = 0; i < N_QUESTIONS; i++) {
		answers[i] = rows_of(anchor, questions[i]);
		if (!answers[i])
			fail_msg("%s\n  fails: %s", questions[i], last_message());
	}
	run(anchor, COUNTER);
	counted = rows_of(anchor, COUNTED);
	assert_non_null(counted);
	run(anchor, "DROP TABLE d_counter; VACUUM");
	image = sqlite3_serialize(anchor, "main", &n_image, 0);
	assert_non_null(image);
	return 0;
}

static int release_image(void **state)
{
	(void)state;
	for (int i = 0; i < N_QUESTIONS; i++)
		free(answers[i]);
	free(counted);
	sqlite3_free(image);
	close_database(anchor);
	return 0;
}

static sqlite3 *open_image(void)
{
	sqlite3 *db = open_database(":memory:", 0);
	unsigned char *copy = sqlite3_malloc64((sqlite3_uint64)n_image);

	assert_non_null(copy);
	memcpy(copy, image, (size_t)n_image);
	assert_int_equal(sqlite3_deserialize(db, "main", copy, n_image, n_image, SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE), SQLITE_OK);
	return db;
}

/* The kind of damage. */
enum damage {
	SEEN_BY_CHECK = 1,      /* the integrity check must find it */
	NEVER_WRONG = 2,        /* no query may be answered wrongly */
	NEVER_SEEN = 4          /* a valid record with another content, which nothing can detect */
};

static void expect_named(const char *what, const char *sql)
{
	if (!strstr(last_message(), "d_if"))
		fail_msg("after %s\n  %s\n  fails with: %s", what, sql, last_message());
}

/* Asks the same through a table over the index, which is created for it. Returns whether the answer is wrong. */
static bool counts_wrongly(sqlite3 *db, const char *what)
{
	bool is_made = run_any(db, COUNTER) == SQLITE_OK;
	char *rows = is_made ? rows_of(db, COUNTED) : NULL;
	bool is_wrong = rows && strcmp(rows, counted) != 0;

	if (is_made && !rows && !strstr(last_message(), "no such column")) /* there is none if the damage has changed a column's name */
		expect_named(what, COUNTED);
	free(rows);
	run(db, "DROP TABLE IF EXISTS d_counter");
	return is_wrong;
}

/* Runs all queries on the damaged index, then checks, rebuilds and drops it. */
static void judge(sqlite3 *db, const char *what, unsigned damage)
{
	const char *wrong = NULL, *check = "INSERT INTO d_if(d_if) VALUES('integrity-check')";

	for (int i = 0; i < N_QUESTIONS; i++) {
		char *rows = rows_of(db, questions[i]);

		if (!rows)
			expect_named(what, questions[i]);
		else if (strcmp(rows, answers[i]) != 0)
			wrong = questions[i];
		free(rows);
	}
	if (n_cases % 4 == 0 && counts_wrongly(db, what))
		wrong = COUNTED;
	if (wrong && damage & NEVER_WRONG)
		fail_msg("after %s\n  wrong: %s", what, wrong);
	if (run_any(db, "%s", check))
		expect_named(what, check);
	else if ((wrong && !(damage & NEVER_SEEN)) || damage & SEEN_BY_CHECK)
		fail_msg("after %s\n  the integrity check finds nothing; wrong: %s", what, wrong ? wrong : "nothing");
	if (n_cases++ % 8 == 0) {
		if (run_any(db, "INSERT INTO d_if(d_if) VALUES('rebuild')"))
			fail_msg("after %s\n  rebuild fails: %s", what, last_message());
		for (int i = 0; i < N_QUESTIONS; i++)
			run_gives(db, answers[i], "%s", questions[i]);
		run(db, "%s", check);
	}
	if (run_any(db, "DROP TABLE d_if"))
		fail_msg("after %s\n  DROP TABLE fails: %s", what, last_message());
	assert_int_equal(integer_of(db, "SELECT count(*) FROM sqlite_schema"), 1);
}

/* Opens the database. In every second case, runs a query first, so that pages are cached. */
static sqlite3 *start_case(void)
{
	sqlite3 *db = open_image();

	if (n_cases % 2)
		run_gives(db, answers[2], "%s", questions[2]);
	return db;
}

static void damage_by_sql(const char *sql, unsigned damage)
{
	sqlite3 *db = start_case();

	run(db, "%s", sql);
	judge(db, sql, damage);
	close_database(db);
}

/* ---- pages ---- */

struct page {
	sqlite3_int64 id;
	int n_bytes, length;
	unsigned char bytes[40000];
};

static void read_page(sqlite3_int64 id, struct page *page)
{
	sqlite3_stmt *statement;

	assert_int_equal(sqlite3_prepare_v2(anchor, "SELECT bytes FROM d_if_page WHERE id = ?1", -1, &statement, NULL), SQLITE_OK);
	sqlite3_bind_int64(statement, 1, id);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	page->id = id;
	page->n_bytes = sqlite3_column_bytes(statement, 0);
	assert_true(page->n_bytes >= 32 && page->n_bytes < (int)sizeof page->bytes);
	memcpy(page->bytes, sqlite3_column_blob(statement, 0), (size_t)page->n_bytes);
	page->length = id ? page->bytes[20] | page->bytes[21] << 8 : page->n_bytes;
	assert_true(page->length <= page->n_bytes);
	sqlite3_finalize(statement);
}

static void write_page(sqlite3 *db, sqlite3_int64 id, const unsigned char *bytes, int n_bytes)
{
	sqlite3_stmt *statement;

	assert_int_equal(sqlite3_prepare_v2(db, "UPDATE d_if_page SET bytes = ?1 WHERE id = ?2", -1, &statement, NULL), SQLITE_OK);
	sqlite3_bind_blob(statement, 1, bytes, n_bytes, SQLITE_STATIC);
	sqlite3_bind_int64(statement, 2, id);
	assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
	sqlite3_finalize(statement);
}

static void seal(unsigned char *bytes, int length)
{
	uint32_t checksum = (uint32_t)xxh64(bytes + 8, (size_t)length - 8);

	for (int i = 0; i < 4; i++)
		bytes[4 + i] = (unsigned char)(checksum >> 8 * i);
}

static void flip(const struct page *page, int at, unsigned char mask, bool with_checksum)
{
	static struct page broken;
	sqlite3 *db = start_case();
	char what[100];
	/* run id, number, level and version identify the page: they are checked even if the checksum is correct */
	bool is_place = page->id ? (at >= 8 && at < 20) || at == 22 || at == 23 : at < 10 || (at >= 12 && at < 16);

	broken = *page;
	broken.bytes[at] ^= mask;
	if (with_checksum)
		seal(broken.bytes, broken.length);
	write_page(db, page->id, broken.bytes, broken.n_bytes);
	snprintf(what, sizeof what, "byte %d of page %lld ^ %02x%s", at, page->id, mask, with_checksum ? ", sealed" : "");
	if (!with_checksum)
		judge(db, what, SEEN_BY_CHECK | NEVER_WRONG);
	else if (is_place && at >= 8)
		judge(db, what, SEEN_BY_CHECK);
	else if (at >= 4 && at < 8)
		judge(db, what, NEVER_WRONG); /* the checksum itself, which was corrected */
	else if (page->id && page->bytes[22] == 0 && at >= 32)
		judge(db, what, NEVER_SEEN); /* another id or time of a row may leave every node unchanged */
	else
		judge(db, what, at < 4 ? SEEN_BY_CHECK | NEVER_WRONG : 0);
	close_database(db);
}

/* Picks pages of each level: the first, one in the middle and the last. Returns how many. */
static int pick_pages(sqlite3_int64 *ids)
{
	sqlite3_stmt *statement;
	int n = 0;

	assert_int_equal(sqlite3_prepare_v2(anchor,
		"WITH p AS (SELECT id, substr(bytes, 23, 1) AS level, row_number() OVER (PARTITION BY substr(bytes, 23, 1) ORDER BY id) AS r,"
		" count(*) OVER (PARTITION BY substr(bytes, 23, 1)) AS n FROM d_if_page WHERE id <> 0)"
		" SELECT id FROM p WHERE r = 1 OR r = n OR r = n / 2 ORDER BY level", -1, &statement, NULL), SQLITE_OK);
	while (sqlite3_step(statement) == SQLITE_ROW && n < 20)
		ids[n++] = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return n;
}

static void the_small_index_has_three_levels_of_nodes(void **state)
{
	(void)state;
	assert_true(integer_of(anchor, "SELECT count(DISTINCT substr(bytes, 23, 1)) FROM d_if_page WHERE id <> 0") >= 4);
}

static void flipped_bytes_of_pages_are_found(void **state)
{
	static struct page page;
	struct random random = { test_seed() };
	sqlite3_int64 ids[20];
	int n = pick_pages(ids);

	(void)state;
	for (int p = 0; p < n; p++) {
		read_page(ids[p], &page);
		for (int at = 0; at < 32; at++)
			flip(&page, at, (unsigned char)(1 << random_below(&random, 8)), false);
		for (int i = 0; i < 12; i++)
			flip(&page, 32 + (int)random_below(&random, page.length - 32),
			     (unsigned char)(1 + random_below(&random, 255)), false);
	}
}

static void flipped_bytes_with_a_sound_checksum_do_no_harm(void **state)
{
	static struct page page;
	struct random random = { test_seed() };
	sqlite3_int64 ids[20];
	int n = pick_pages(ids), n_anywhere = sanitizer_shortens() ? 20 : 60;

	(void)state;
	for (int p = 0; p < n; p++) {
		read_page(ids[p], &page);
		for (int at = 0; at < 32; at++)
			if (at != 20 && at != 21) { /* the length has a test of its own */
				flip(&page, at, (unsigned char)(1 << random_below(&random, 8)), true);
				flip(&page, at, 0xff, true);
			}
		for (int at = 32; at < 96 && at < page.length; at += sanitizer_shortens() ? 4 : 1)
			flip(&page, at, one_in(&random, 2) ? 0xff : (unsigned char)(1 << random_below(&random, 8)), true);
		for (int i = 0; i < n_anywhere; i++)
			flip(&page, 32 + (int)random_below(&random, page.length - 32),
			     (unsigned char)(1 + random_below(&random, 255)), true);
	}
}

static void flipped_bytes_of_the_manifest_do_no_harm(void **state)
{
	static struct page manifest;
	struct random random = { test_seed() };

	(void)state;
	read_page(0, &manifest);
	for (int at = 0; at < manifest.n_bytes; at += at < 120 ? 1 : 1 + (int)random_below(&random, 9)) {
		flip(&manifest, at, (unsigned char)(1 << random_below(&random, 8)), false);
		flip(&manifest, at, one_in(&random, 2) ? 0xff : (unsigned char)(1 << random_below(&random, 8)), true);
	}
}

/* Cuts a page to n bytes; with_length: with the right length field and checksum. */
static void cut(const struct page *page, int n_bytes, bool with_length)
{
	static struct page broken;
	sqlite3 *db = start_case();
	char what[100];

	broken = *page;
	if (with_length && n_bytes >= 32) {
		if (page->id) {
			broken.bytes[20] = (unsigned char)n_bytes;
			broken.bytes[21] = (unsigned char)(n_bytes >> 8);
		} else {
			broken.bytes[12] = (unsigned char)n_bytes;
			broken.bytes[13] = (unsigned char)(n_bytes >> 8);
		}
		seal(broken.bytes, n_bytes);
	}
	write_page(db, page->id, broken.bytes, n_bytes);
	snprintf(what, sizeof what, "page %lld cut to %d of %d bytes%s", page->id, n_bytes, page->n_bytes, with_length ? ", sealed" : "");
	judge(db, what, n_bytes < page->length && !with_length ? SEEN_BY_CHECK | NEVER_WRONG : 0);
	close_database(db);
}

static void short_and_long_pages_do_no_harm(void **state)
{
	static struct page page;
	sqlite3_int64 ids[21];
	int n = pick_pages(ids);

	(void)state;
	ids[n++] = 0;
	for (int p = 0; p < n; p++) {
		read_page(ids[p], &page);
		for (int i = 0; i < 2; i++) {
			cut(&page, 0, i);
			cut(&page, 1, i);
			cut(&page, 31, i);
			cut(&page, 32, i);
			cut(&page, 33, i);
			cut(&page, page.length / 2, i);
			cut(&page, page.length - 8, i);
			cut(&page, page.length - 1, i);
			cut(&page, page.length + 100, i);
		}
	}
}

/* ---- rows of the tables ---- */

static void pages_that_are_no_pages_do_no_harm(void **state)
{
	static const char *const values[] = { "NULL", "''", "'text'", "5", "2.5", "x''", "x'00'", "zeroblob(32)", "zeroblob(4000)", "zeroblob(70000)",
					      "zeroblob(3000000)", "randomblob(4000)", "CAST(bytes AS TEXT)", "bytes || x'00'", "bytes || bytes",
					      "(SELECT bytes FROM d_if_page p WHERE p.id > d_if_page.id LIMIT 1)",
					      "(SELECT bytes FROM d_if_page p WHERE p.id < d_if_page.id ORDER BY id DESC LIMIT 1)" };
	sqlite3_int64 ids[21];
	int n = pick_pages(ids);

	(void)state;
	ids[n++] = 0;
	for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
		for (int p = 0; p < n; p++) {
			char *sql = sqlite3_mprintf("UPDATE d_if_page SET bytes = %s WHERE id = %lld", values[v], ids[p]);

			damage_by_sql(sql, strstr(values[v], "bytes ||") || strstr(values[v], "AS TEXT") ? NEVER_WRONG :
				      SEEN_BY_CHECK | NEVER_WRONG);
			sqlite3_free(sql);
		}
		damage_by_sql("DELETE FROM d_if_page", SEEN_BY_CHECK | NEVER_WRONG);
	}
	for (int p = 0; p < n; p++) {
		char *sql = sqlite3_mprintf("DELETE FROM d_if_page WHERE id = %lld", ids[p]);

		damage_by_sql(sql, SEEN_BY_CHECK | NEVER_WRONG);
		sqlite3_free(sql);
		sql = sqlite3_mprintf("UPDATE d_if_page SET id = id + 1000000007 WHERE id = %lld", ids[p]);
		damage_by_sql(sql, SEEN_BY_CHECK | NEVER_WRONG);
		sqlite3_free(sql);
	}
	damage_by_sql("DELETE FROM d_if_page WHERE id <> 0", SEEN_BY_CHECK | NEVER_WRONG);
	damage_by_sql("UPDATE d_if_page SET id = -id", NEVER_WRONG);
	damage_by_sql("INSERT INTO d_if_page SELECT id + 100000, bytes FROM d_if_page WHERE id <> 0", NEVER_WRONG);
}

static void damaged_series_do_no_harm(void **state)
{
	static const char *const damages[] = {
		"DELETE FROM d_if_series", "DELETE FROM d_if_series WHERE id = (SELECT max(id) FROM d_if_series)",
		"DELETE FROM d_if_series WHERE id = (SELECT min(id) FROM d_if_series)",
		"UPDATE d_if_series SET id = id + 1000", "UPDATE d_if_series SET id = -id - 1", "UPDATE d_if_series SET id = id + 4294967296",
		"INSERT INTO d_if_series SELECT max(id) + 9223372036854770000, key || x'00' FROM d_if_series",
		"INSERT OR IGNORE INTO d_if_series SELECT 77, NULL",
		"INSERT OR IGNORE INTO d_if_series SELECT 77, x'01'",
		"INSERT OR IGNORE INTO d_if_series SELECT id + 50, key FROM d_if_series",
		"UPDATE OR IGNORE d_if_series SET key = NULL", "UPDATE OR IGNORE d_if_series SET key = 5", "UPDATE OR IGNORE d_if_series SET key = 'text'",
		"UPDATE OR IGNORE d_if_series SET key = x''", "UPDATE OR IGNORE d_if_series SET key = zeroblob(5000000)",
		"UPDATE OR IGNORE d_if_series SET key = x'04ffffffff41'", "UPDATE OR IGNORE d_if_series SET key = x'0400000040'",
		"UPDATE OR IGNORE d_if_series SET key = key || x'01'", "UPDATE OR IGNORE d_if_series SET key = substr(key, 1, length(key) - 1)",
		"UPDATE OR IGNORE d_if_series SET key = x'06' || substr(key, 2)", "UPDATE OR IGNORE d_if_series SET key = x'00'",
	};
	char sql[200];

	(void)state;
	for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++)
		damage_by_sql(damages[i], NEVER_WRONG);
	for (int id = 0; id < 6; id++)
		for (int at = 1; at <= 9; at++) {
			snprintf(sql, sizeof sql, "UPDATE OR IGNORE d_if_series SET key = CAST(substr(key, 1, %d) || x'%02x' || substr(key, %d) AS BLOB) WHERE id = %d",
				 at - 1, at * 29 & 255, at + 1, id);
			damage_by_sql(sql, NEVER_WRONG);
		}
}

static void damaged_settings_do_no_harm(void **state)
{
	static const char *const values[] = { "NULL", "''", "'nonsense'", "x'ff00'", "5", "-1", "2", "9223372036854775807", "1e300", "'sqlite_schema'",
					      "'d_if'", "'d_if_page'", "zeroblob(2000000)", "value || 'x'", "'d; DROP TABLE d'", "'\"'" };
	int64_t n = integer_of(anchor, "SELECT count(*) FROM d_if_config");
	char sql[200];

	(void)state;
	assert_true(n >= 2);
	for (int row = 0; row < n; row++) {
		for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
			snprintf(sql, sizeof sql, "UPDATE d_if_config SET value = %s WHERE name = (SELECT name FROM d_if_config ORDER BY name LIMIT 1 OFFSET %d)", values[v], row);
			damage_by_sql(sql, 0);
		}
		snprintf(sql, sizeof sql, "DELETE FROM d_if_config WHERE name = (SELECT name FROM d_if_config ORDER BY name LIMIT 1 OFFSET %d)", row);
		damage_by_sql(sql, 0);
		snprintf(sql, sizeof sql, "UPDATE d_if_config SET name = name || 'x' WHERE name = (SELECT name FROM d_if_config ORDER BY name LIMIT 1 OFFSET %d)", row);
		damage_by_sql(sql, 0);
	}
	damage_by_sql("DELETE FROM d_if_config", 0);
	damage_by_sql("INSERT INTO d_if_log(id) VALUES('x')", NEVER_WRONG);
	damage_by_sql("INSERT INTO d_if_log(id) VALUES(NULL)", NEVER_WRONG);
	damage_by_sql("INSERT INTO d_if_log(id, was, time, by_0) VALUES(5, 1, 3, 'no such track')", NEVER_WRONG);
	damage_by_sql("INSERT INTO d_if_log(id, was, time, by_0) VALUES(5, 1, 'x', 'cpu')", NEVER_WRONG);
	damage_by_sql("INSERT INTO d_if_log(id, was, time, by_0) VALUES(5, 1, 1e300, 'cpu')", NEVER_WRONG);
	damage_by_sql("INSERT INTO d_if_log(seq, id) VALUES(-5, 99999)", NEVER_WRONG);
}

/* A row whose id cannot be a page's is ignored, and removed by a rebuild. */
static void rows_at_the_end_of_the_ids_are_cleared_away(void **state)
{
	sqlite3 *db = open_image();

	(void)state;
	run(db, "INSERT INTO d_if_page VALUES(9223372036854775807, x'00'), (-5, x'00')");
	for (int i = 0; i < N_QUESTIONS; i++)
		run_gives(db, answers[i], "%s", questions[i]);
	run(db, "INSERT INTO d_if(d_if) VALUES('rebuild')");
	assert_int_equal(integer_of(db, "SELECT count(*) FROM d_if_page WHERE id < 0 OR id > 1 << 40"), 0);
	for (int i = 0; i < N_QUESTIONS; i++)
		run_gives(db, answers[i], "%s", questions[i]);
	close_database(db);
}

static void missing_tables_are_named(void **state)
{
	static const char *const tables[] = { "d_if_page", "d_if_series", "d_if_config", "d_if_log", "d_if_front" };

	(void)state;
	for (size_t i = 0; i < 2 * sizeof tables / sizeof tables[0]; i++) {
		sqlite3 *db = start_case();

		run(db, "DROP TABLE %s", tables[i / 2]);
		if (i % 2)
			run(db, "CREATE TABLE %s(x, y, z); INSERT INTO %s VALUES(1, 2, 3)", tables[i / 2], tables[i / 2]);
		for (int q = 0; q < N_QUESTIONS; q++) {
			char *rows = rows_of(db, questions[q]);

			if (!rows && i % 2 == 0)
				expect_named(tables[i / 2], questions[q]);
			else if (!rows)
				assert_int_not_equal(last_message()[0], '\0');
			else
				assert_string_equal(rows, answers[q]);
			free(rows);
		}
		run_any(db, "INSERT INTO d_if(d_if) VALUES('rebuild')");
		if (run_any(db, "DROP TABLE d_if"))
			fail_msg("without %s\n  DROP TABLE fails: %s", tables[i / 2], last_message());
		close_database(db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_small_index_has_three_levels_of_nodes),
		cmocka_unit_test(flipped_bytes_of_pages_are_found),
		cmocka_unit_test(flipped_bytes_with_a_sound_checksum_do_no_harm),
		cmocka_unit_test(flipped_bytes_of_the_manifest_do_no_harm),
		cmocka_unit_test(short_and_long_pages_do_no_harm),
		cmocka_unit_test(pages_that_are_no_pages_do_no_harm),
		cmocka_unit_test(damaged_series_do_no_harm),
		cmocka_unit_test(damaged_settings_do_no_harm),
		cmocka_unit_test(rows_at_the_end_of_the_ids_are_cleared_away),
		cmocka_unit_test(missing_tables_are_named),
	};

	return cmocka_run_group_tests(tests, make_image, release_image);
}
