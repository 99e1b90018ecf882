/* tests/sqlite/test_classes.c -- Tests of columns that change their class after the index was created: whole numbers, fractions,
 * large integers, texts and blobs come in any order into columns of any declared type. Each query has the answer of plain SQL,
 * or is an error that a rebuild cures, or that names a row that no index can take. Columns declared for fractions take them.
 */
#include "harness.h"

enum class { WHOLE, FRACTION, LARGE, NUMERIC_TEXT, TIME_TEXT, OTHER_TEXT, BLOB, NOTHING, N_CLASSES };

struct declared {
	const char *type;
	bool takes_fractions; /* from the start */
};

static const struct declared types[] = {
	{ "INTEGER", false }, { "", false },	       { "REAL", true },     { "DOUBLE", true },    { "NUMERIC", true }, { "DECIMAL", true },	  { "decimal(10, 2)", true },
	{ "NUMBER", true },   { "DECIMAL(10)", false }, { "MONEY", true },    { "DATETIME", false }, { "DATE", false },	  { "TIMESTAMP", false }, { "TEXT", false },
	{ "BOOLEAN", false }, { "BLOB", false },       { "VARCHAR(20)", false }, { "BIGINT", false },
};

enum { N_TYPES = sizeof types / sizeof types[0], N_COLUMNS = 3 };

struct round {
	sqlite3 *db;
	struct random random;
	const struct declared *ts, *v, *d;
	bool has_duration;
	bool is_plain; /* only whole numbers and fractions came so far */
	unsigned classes; /* a bit for each that may come */
	int64_t n_rows;
};

/* What came of the queries of all rounds. */
static int n_rounds, n_refused, n_answers, n_plain, n_cured, n_named;

static char *value_of(struct round *round)
{
	struct random *random = &round->random;
	enum class class = WHOLE;

	do {
		class = one_in(random, 2) ? WHOLE : (enum class)random_below(random, N_CLASSES);
	} while (!(round->classes >> class & 1));
	if (class > FRACTION && class != NOTHING)
		round->is_plain = false;
	switch (class) {
	case WHOLE:
		return sqlite3_mprintf(one_in(random, 4) ? "%lld.0" : "%lld", random_below(random, 200));
	case FRACTION:
		return sqlite3_mprintf("%lld / 8.0", random_below(random, 1600));
	case LARGE:
		return sqlite3_mprintf("%lld", (INT64_C(1) << 53) + random_below(random, 3));
	case NUMERIC_TEXT:
		return sqlite3_mprintf("'%lld.5'", random_below(random, 200));
	case TIME_TEXT:
		return sqlite3_mprintf("'2026-01-%02lld 00:00:00'", 1 + random_below(random, 28));
	case OTHER_TEXT:
		return sqlite3_mprintf("'unavailable'");
	case BLOB:
		return sqlite3_mprintf("x'31'");
	default:
		return sqlite3_mprintf("NULL");
	}
}

static void write_row(struct round *round)
{
	char *ts = value_of(round), *v = value_of(round), *d = value_of(round);
	int64_t id = round->n_rows && one_in(&round->random, 3) ? 1 + random_below(&round->random, round->n_rows) : ++round->n_rows;

	/* sums of larger durations would not fit into 64 bits */
	run(round->db, "REPLACE INTO t(id, g, ts, v, d) VALUES(%lld, %lld, %s, %s, iif(typeof(%s) = 'integer', %s %% 1000, %s))", id, random_below(&round->random, 2), ts, v, d, d, d);
	sqlite3_free(ts);
	sqlite3_free(v);
	sqlite3_free(d);
}

/* Deletes the row that a message names. */
static void delete_named(struct round *round)
{
	const char *named = strstr(last_message(), " of row ");

	if (!named)
		fail_msg("neither a rebuild nor a row cures: %s", last_message());
	run(round->db, "DELETE FROM t WHERE id = %lld", strtoll(named + strlen(" of row "), NULL, 10));
	n_named++;
}

/* Follows a message: times have become texts, which do not tell the unit of durations. */
static void create_with_units(struct round *round)
{
	run(round->db, "UPDATE t SET d = NULL WHERE typeof(d) <> 'integer'; DROP TABLE x_rows; DROP TABLE x");
	while (run_any(round->db, "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, value=(v, d), by=g, duration=d, unit=ms, duration_unit=s)"))
		delete_named(round);
	run(round->db, "CREATE VIRTUAL TABLE x_rows USING iforest_rows(x)");
	run(round->db, "UPDATE unit SET factor = 1000");
}

/* Follows the error of a query: a rebuild, and then no more than the rows that it names are in the way. */
static void cure(struct round *round)
{
	if (round->is_plain && round->ts->takes_fractions && round->v->takes_fractions && !round->has_duration)
		fail_msg("columns declared for fractions do not take them: %s", last_message());
	if (strncmp(last_message(), "iforest: ", strlen("iforest: ")) != 0)
		fail_msg("an error of another kind: %s", last_message());
	while (run_any(round->db, "INSERT INTO x(x) VALUES('rebuild')"))
		if (strstr(last_message(), "say in what durations are counted: unit=s, unit=ms,"))
			create_with_units(round);
		else
			delete_named(round);
	n_cured++;
}

/* Asks a query of the index, and compares the answer. */
static void ask(struct round *round, const char *question, const char *plain)
{
	char *rows = rows_of(round->db, question);

	n_plain += round->is_plain;
	if (!rows) {
		cure(round);
		rows = rows_of(round->db, question);
		if (!rows)
			fail_msg("a rebuild cures nothing: %s\n  %s", question, last_message());
	}
	free(rows);
	same_rows(round->db, question, plain);
	n_answers++;
}

static void ask_all(struct round *round)
{
	int64_t from = random_below(&round->random, 150), to = from + random_below(&round->random, 60);
	char *low, *high, *sql, *plain;

	ask(round, "SELECT g, count, count_v, sum_v, min_v, max_v, first_ts, last_ts FROM x ORDER BY g",
	    "SELECT g, count(*), count(v), sum(v), min(v), max(v), min(ts), max(ts) FROM t GROUP BY g ORDER BY g");
	if (integer_of(round->db, "SELECT count(*) > 0 AND typeof(max(ts)) = 'text' FROM t")) {
		low = sqlite3_mprintf("'2026-01-%02lld 00:00:00'", 1 + from % 28);
		high = sqlite3_mprintf("'2026-01-%02lld 00:00:00'", 1 + to % 28);
	} else {
		low = sqlite3_mprintf("%lld", from);
		high = sqlite3_mprintf("%lld", to);
	}
	if (integer_of(round->db, "SELECT count(ts) FROM t")) { /* an empty column does not tell which windows its index takes */
		sql = sqlite3_mprintf("SELECT g, count, sum_v FROM x(%s, %s) ORDER BY g", low, high);
		plain = sqlite3_mprintf("SELECT g, count(*), sum(v) FROM t WHERE ts >= %s AND ts < %s GROUP BY g ORDER BY g", low, high);
		ask(round, sql, plain);
		sqlite3_free(sql);
		sqlite3_free(plain);
	}
	sqlite3_free(low);
	sqlite3_free(high);
	if (round->has_duration)
		ask(round, "SELECT g, count_d, sum_d, max_d FROM x ORDER BY g", "SELECT g, count(d), sum(d * factor), max(d * factor) FROM t, unit GROUP BY g ORDER BY g");
	run(round->db, "DROP TABLE x_rows; CREATE VIRTUAL TABLE x_rows USING iforest_rows(x)");
	ask(round, "SELECT id, v FROM x_rows ORDER BY id", "SELECT id, v FROM t ORDER BY id");
}

/* Creates the index; false if the declared types, or the rows, are refused. */
static bool create(struct round *round)
{
	static const char *const durations[] = { "", ", duration=d", ", duration=d, unit=ms, duration_unit=s" };
	bool has_unit = one_in(&round->random, 4);
	int kind = (int)random_below(&round->random, 3);

	round->has_duration = kind > 0;
	run(round->db, "CREATE TABLE unit AS SELECT %d AS factor", kind == 2 ? 1000 : 1); /* of durations, in that of times */
	if (run_any(round->db, "CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, value=(v%s), by=g%s%s)", kind ? ", d" : "", durations[kind], has_unit && kind < 2 ? ", unit=ms" : "")) {
		if (!strstr(last_message(), " of row ") && !strstr(last_message(), ", for fractions, and ") && !strstr(last_message(), "which do not tell the unit of column \"d\""))
			fail_msg("refused without a reason: %s", last_message());
		n_refused++;
		return false;
	}
	run(round->db, "CREATE VIRTUAL TABLE x_rows USING iforest_rows(x)");
	return true;
}

static uint64_t seed_of_round;

static int print_seed(void **state)
{
	(void)state;
	print_message("last round: IFOREST_SEED=%" PRIu64 " IFOREST_ROUNDS=1\n", seed_of_round);
	return 0;
}

static void any_class_comes_into_any_column(void **state)
{
	static const char *const commands[] = { "flush", "optimize", "rebuild", "integrity-check" };
	int n = test_rounds(120);

	(void)state;
	for (int r = 0; r < n; r++) {
		struct round round = { .random = { seed_of_round = test_seed() + (uint64_t)r }, .is_plain = true };

		round.db = open_database(":memory:", 0);
		round.ts = &types[random_below(&round.random, N_TYPES)];
		round.v = &types[random_below(&round.random, N_TYPES)];
		round.d = &types[random_below(&round.random, N_TYPES)];
		run(round.db, "CREATE TABLE t(id INTEGER PRIMARY KEY, g INTEGER, ts %s, v %s, d %s)", round.ts->type, round.v->type, round.d->type);
		round.classes = 1u << WHOLE | (one_in(&round.random, 3) ? 1u << FRACTION : 0);
		for (int64_t i = one_in(&round.random, 2) ? 0 : random_below(&round.random, 6); i > 0; i--)
			write_row(&round);
		n_rounds++;
		if (create(&round)) {
			round.classes |= 1u << FRACTION | 1u << NOTHING | (one_in(&round.random, 2) ? (unsigned)random_below(&round.random, 1 << N_CLASSES) : 0);
			for (int step = 0; step < 12; step++) {
				for (int64_t i = random_below(&round.random, 4); i >= 0; i--)
					write_row(&round);
				ask_all(&round);
				/* real durations that came beside times with fractions are in the way once those are gone */
				if (one_in(&round.random, 4) && run_any(round.db, "INSERT INTO x(x) VALUES(%Q)", commands[random_below(&round.random, 4)]) && !strstr(last_message(), "duration column \"d\" of row "))
					fail_msg("a command fails: %s", last_message());
			}
		}
		close_database(round.db);
	}
	print_message("%d rounds (%d refused at CREATE), %d answers, %d of them of numbers up to 2^53 only; %d rebuilds, %d rows that no index can take\n", n_rounds, n_refused, n_answers,
		      n_plain, n_cured, n_named);
	assert_true(n_rounds < 100 || (n_refused < n_rounds / 2 && n_plain > n_answers / 4));
}

/* Columns declared for fractions, empty or with whole numbers so far, take a fraction without a rebuild. */
static void a_fraction_comes_into_a_column_declared_for_it(void **state)
{
	static const char *const before[] = { "SELECT 1", "INSERT INTO t VALUES(1, 10, 7)" };

	(void)state;
	for (size_t i = 0; i < 2 * (size_t)N_TYPES; i++) {
		const struct declared *type = &types[i / 2];
		sqlite3 *db;

		if (!type->takes_fractions)
			continue;
		db = open_database(":memory:", 0);
		run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts %s, price %s); %s; CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, value=price)", type->type, type->type, before[i % 2]);
		run_fails(db, "iforest: value column \"price\" ", "CREATE VIRTUAL TABLE y USING iforest(content=t, time=id, value=price, variance=price)");
		run_fails(db, "iforest: duration column \"price\" ", "CREATE VIRTUAL TABLE y USING iforest(content=t, time=id, duration=price)");
		run(db, "INSERT INTO t VALUES(2, 20.25, 9.99), (3, 30, 4)");
		same_rows(db, "SELECT count, sum_price, max_price, last_ts FROM x", "SELECT count(*), sum(price), max(price), max(ts) FROM t");
		run(db, "INSERT INTO x(x) VALUES('flush'), ('integrity-check')");
		same_rows(db, "SELECT count, sum_price FROM x(20, 30)", "SELECT count(*), sum(price) FROM t WHERE ts >= 20 AND ts < 30");
		run(db, "DELETE FROM t WHERE id <> 1");
		run(db, "CREATE VIRTUAL TABLE y USING iforest(content=t, time=id, duration=price, unit=ms, duration_unit=s); INSERT INTO t VALUES(2, 20, 9.99)");
		run_gives(db, "9990\n", "SELECT max_price FROM y");
		close_database(db);
	}
}

/* An index that was there before keeps what it can do, whatever its columns are declared. */
static void a_column_of_whole_numbers_keeps_its_accumulators(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts INTEGER, v INTEGER, d INTEGER); INSERT INTO t VALUES(1, 10, 7, 2), (2, 20, 9, 3);"
		"CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, value=(v, d), duration=d, variance=v)");
	run(db, "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'v INTEGER, d INTEGER', 'v DECIMAL(10, 2), d NUMERIC') WHERE name = 't'; PRAGMA writable_schema = RESET");
	run(db, "INSERT INTO x(x) VALUES('rebuild'); INSERT INTO t VALUES(3, 30, 8, 4)");
	run_gives(db, "3|24|1.0|9\n", "SELECT count, sum_v, var_v, sum_d FROM x");
	close_database(db);
}

/* Where reals cannot hold what is there, or what is asked for, a column declared for fractions has integers. */
static void integers_that_reals_cannot_hold_stay_integers(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts NUMERIC, v DECIMAL(20, 2)); INSERT INTO t VALUES(1, 9007199254740993, 9007199254740993), (2, 9007199254740994, 1);"
		"CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, value=v)");
	run_gives(db, "2|9007199254740994|9007199254740993|9007199254740993\n", "SELECT count, sum_v, max_v, first_ts FROM x");
	run(db, "UPDATE t SET ts = id * 10, v = id; DROP TABLE x; ALTER TABLE t ADD COLUMN n INTEGER AS (id * id); CREATE VIRTUAL TABLE x USING iforest(content=t, time=ts, value=n, products=(n*ts))");
	run_gives(db, "2|0.3\n", "SELECT count, regr_slope_n_ts FROM x");
	run(db, "INSERT INTO t(id, ts) VALUES(3, 0.5)");
	run_fails(db, "iforest: time column \"ts\" of row 3 holds 0.5, and the index was made when it held integers only", "SELECT count FROM x");
	run_fails(db, "iforest: times of \"t\" are reals, and so are the durations, but products are kept of integers alone; add a column of integers: ALTER TABLE", "INSERT INTO x(x) VALUES('rebuild')");
	close_database(db);
}

/* unit= belongs to numbers, too, so a column of dates without texts can be rebuilt. */
static void a_unit_is_that_of_numbers_as_well(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, at DATETIME, v); CREATE VIRTUAL TABLE x USING iforest(content=t, time=at, value=v, unit=ms)");
	run(db, "INSERT INTO t VALUES(1, 1700000000123, 4), (2, 1700000060000, 5)");
	run_fails(db, "iforest: time column \"at\" of row 1 holds a number (1700000000123), and times of the index are texts", "SELECT count FROM x");
	run(db, "INSERT INTO x(x) VALUES('rebuild')");
	run_gives(db, "2|9\n", "SELECT count, sum_v FROM x");
	run_gives(db, "1699999980000|1\n1700000040000|1\n", "SELECT bucket_start, count FROM x WHERE step = '30 s'");
	run_fails(db, "x: argument step is no whole number of ms, in which this index counts: 5 us", "SELECT count FROM x WHERE step = '5 us'");
	run(db, "UPDATE t SET at = at / 1000.0; DROP TABLE x; CREATE VIRTUAL TABLE x USING iforest(content=t, time=at, value=v, unit=s)");
	run_gives(db, "1699999980.0|1\n1700000040.0|1\n", "SELECT bucket_start, count FROM x WHERE step = '0.5 min'");
	run_gives(db, "1700000000.123|1\n1700000060.0|1\n", "SELECT first_ts, count FROM x WHERE step = '250 ms'");
	close_database(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(any_class_comes_into_any_column, print_seed),
		cmocka_unit_test(a_fraction_comes_into_a_column_declared_for_it),
		cmocka_unit_test(a_column_of_whole_numbers_keeps_its_accumulators),
		cmocka_unit_test(integers_that_reals_cannot_hold_stay_integers),
		cmocka_unit_test(a_unit_is_that_of_numbers_as_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
