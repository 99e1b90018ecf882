/* tests/sqlite/test_advise_random.c -- Tests of iforest_advise() with random SELECTs over random tables: the index is created as
 * proposed, and the query over it gives the rows of the SELECT; or a reason says why there is none. */
#include "harness.h"

enum { SELECTS_OF_A_TABLE = 50, LONGEST = 2000 };

/* ---- tables ---- */

/* How a table's times look. */
enum times { INTEGERS, NEGATIVES, REALS, INTEGRAL_REALS, TEXTS, FRACTIONS, DATES, TEXTS_WITH_T, MIXED_FORMS, ONE_FRACTION, NUMBERS_AND_TEXTS, N_TIMES };

static const char *const time_types[N_TIMES] = { "INTEGER", "BIGINT", "REAL", "REAL", "TEXT", "TIMESTAMP", "DATE", "DATETIME", "TEXT", "INTEGER", "" };

/* A random table. is_regular: an index can have all of it. */
struct sample {
	sqlite3 *db;
	struct random random;
	enum times times;
	bool is_regular, has_texts, has_blank_type;
};

static int64_t below(struct sample *sample, int64_t n)
{
	return random_below(&sample->random, n);
}

static const char *time_of(struct sample *sample, char *text)
{
	int64_t t = below(sample, 120);

	switch (sample->times) {
	case NEGATIVES:
		return sqlite3_snprintf(64, text, "%lld", t - 60);
	case REALS:
		return sqlite3_snprintf(64, text, "%.2f", (double)t / 4);
	case INTEGRAL_REALS:
		return sqlite3_snprintf(64, text, "%lld.0", t);
	case TEXTS:
		return sqlite3_snprintf(64, text, "datetime('2026-01-01', '+%lld minutes')", t * 37);
	case FRACTIONS:
		return sqlite3_snprintf(100, text, "strftime('%%Y-%%m-%%d %%H:%%M:%%f', '2026-01-01 11:59:59', '+%lld.%03lld seconds')", t / 40, t % 40 * 25);
	case DATES:
		return sqlite3_snprintf(64, text, "date('2026-01-01', '+%lld days')", t / 4);
	case TEXTS_WITH_T:
		return sqlite3_snprintf(100, text, "strftime('%%Y-%%m-%%dT%%H:%%M:%%SZ', '2026-01-01', '+%lld minutes')", t * 37);
	case MIXED_FORMS:
		return sqlite3_snprintf(64, text, t % 2 ? "datetime('2026-01-01', '+%lld minutes')" : "date('2026-01-01', '+%lld days')", t % 2 ? t * 37 : t / 4);
	case ONE_FRACTION:
		return t == 7 ? "5.5" : sqlite3_snprintf(64, text, "%lld", t);
	case NUMBERS_AND_TEXTS:
		return t == 7 ? "'2026-01-01'" : sqlite3_snprintf(64, text, "%lld", t);
	default:
		return sqlite3_snprintf(64, text, "%lld", t);
	}
}

static const char *const tracks[] = { "'a'", "'b'", "'abc'", "'A'", "''", "'1'", "NULL", "'c%'" };
static const char *const odd_tracks[] = { "1", "1.0", "'1'", "x'31'", "2.5" };

static void make_sample(struct sample *sample, uint64_t seed)
{
	static const char *const number_types[] = { "INTEGER", "NUMERIC", "DECIMAL(10)", "", "BIGINT" };
	const char *time_type;
	int n_rows;

	*sample = (struct sample){ .db = open_database(":memory:", 0), .random = { seed } };
	sample->times = (enum times)below(sample, N_TIMES);
	if (below(sample, 2))
		sample->times = INTEGERS;
	time_type = time_types[sample->times];
	sample->has_texts = sample->times >= TEXTS && sample->times <= MIXED_FORMS;
	sample->is_regular = sample->times < MIXED_FORMS;
	sample->has_blank_type = one_in(&sample->random, 5);
	n_rows = one_in(&sample->random, 10) ? 0 : (int)below(sample, 60);
	if (sample->times == INTEGERS)
		time_type = number_types[below(sample, 5)];
	run(sample->db, "CREATE TABLE t(id INTEGER PRIMARY KEY, ts %s, fin %s, track %s, depth INTEGER, v INTEGER, w REAL, n %s, name TEXT); BEGIN",
	    time_type, time_type, sample->has_blank_type ? "" : "TEXT", number_types[below(sample, 5)]);
	for (int row = 0; row < n_rows; row++) {
		char text[100];
		const char *time = one_in(&sample->random, 25) ? "NULL" : time_of(sample, text),
			   *track = sample->has_blank_type && one_in(&sample->random, 3) ? odd_tracks[below(sample, 5)] : tracks[below(sample, 8)];

		run(sample->db, "INSERT INTO t(ts, fin, track, depth, v, w, n, name) VALUES (%s, NULL, %s, %lld, %s, %.2f, %s, 'n%lld')", time, track,
		    below(sample, 4), one_in(&sample->random, 8) ? "NULL" : sqlite3_snprintf(64, (char[64]){ 0 }, "%lld", below(sample, 50) - 10),
		    (double)below(sample, 40) / 4, one_in(&sample->random, 9) ? "NULL" : one_in(&sample->random, 9) ? "2.5" : "7", below(sample, 5));
	}
	run(sample->db, "UPDATE t SET fin = ts + id %% 9 WHERE %d AND id %% 7; COMMIT", !sample->has_texts);
	if (sample->has_texts)
		run(sample->db, "UPDATE t SET fin = ts");
}

/* ---- SELECTs ---- */

/* A random SELECT. is_answerable: an index of such a table has the answer, so the advisor may find it. */
struct question {
	char sql[LONGEST];
	bool is_answerable, is_grouped, has_limit;
};

static void add(struct question *question, const char *format, ...)
{
	size_t n = strlen(question->sql);
	va_list arguments;

	va_start(arguments, format);
	sqlite3_vsnprintf((int)(LONGEST - n), question->sql + n, format, arguments);
	va_end(arguments);
}

/* Returns text k, noting that from n_answerable on an index has no answer. */
static const char *one_of(struct sample *sample, struct question *question, const char *const *texts, int n, int n_answerable)
{
	int k = (int)below(sample, one_in(&sample->random, 5) ? n : n_answerable);

	question->is_answerable &= k < n_answerable;
	return texts[k];
}

static void add_aggregate(struct sample *sample, struct question *question)
{
	static const char *const numbers[] = { "count(*)", "sum(v)", "max(v)", "min(v)", "avg(v)", "total(v)", "count(v)", "sum(w)", "max(w)", "avg(w)", "min(ts)",
		"max(ts)", "count(ts)", "sum(n)", "max(n)", "sum(fin - ts)", "max(fin - ts)", "avg(t.fin - t.ts)", "sum(v) * 2", "sum(v) + count(*)", "max(v) - min(v)",
		"sum(v) / count(*)", "round(avg(v), 1)", "coalesce(sum(w), -1)", "count(1)", "count(DISTINCT track)", "min(track)", "max(name)", "count(track)",
		"sum(n) / 2", "total(w) / 4", "CASE WHEN sum(v) > 20 THEN 'much' ELSE 'little' END", "\"sum\"(v)", "iif(count(*) > 3, max(v), NULL)",
		/* expressions that no index has */
		"max(-v)", "sum(v > 10)", "avg(v / 10)", "count(nullif(v, 5))", "max(v, 10)", "sum(ts)", "sum(v) FILTER (WHERE v > 0)", "count(DISTINCT v)", "max(v * 2)",
		"group_concat(track)", "sum(id)", "sum(DISTINCT v)", "v", "id", "sum(fin - ts + 1)", "max(length(name))", "sum(v) OVER ()", "abs(v)" },
		*const texts[] = { "count(*)", "sum(v)", "max(v)", "min(v)", "avg(v)", "count(v)", "sum(w)", "avg(w)", "min(ts)", "max(ts)", "count(ts)", "sum(n)", "total(v)",
		"round(avg(v), 1)", "sum(v) + count(*)", "count(DISTINCT track)", "max(track)", "min(name)",
		"max(-v)", "sum(v > 10)", "max(fin - ts)", "max(ts, '2026')", "max(date(ts))", "sum(id)", "max(fin)" };

	if (sample->has_texts)
		add(question, "%s", one_of(sample, question, texts, (int)(sizeof texts / sizeof *texts), 18));
	else
		add(question, "%s", one_of(sample, question, numbers, (int)(sizeof numbers / sizeof *numbers), 34));
}

static void add_operand(struct sample *sample, struct question *question)
{
	static const char *const numbers[] = { "%lld", "%lld.0", "%lld.5", "'%lld'", "%lld + 1", "?", "(%lld - 2)", "1e1", "-%lld", "'%lld.5'", "%lld * 2", "? + 1", "'abc'", "NULL", "9e18",
		"9223372036854775807", "x'31'", "-9223372036854775808", "abs(%lld)", "(SELECT %lld)", "depth", "v" },
		*const texts[] = { "'2026-01-01 12:00:00'", "'2026-01-02'", "'2026-01'", "'2026-01-01 10:00'", "'2026-01-01T12:00:00Z'", "'2026-01-01T12:00:00'", "'2026-01-03'",
		"'2026-01-01 12:00:00+05:00'", "'2026'", "'2026-01-01 12:00:00.125'", "'2026-01-01 12:00:01.5'", "?", "'abc'", "5", "date('2026-01-02')", "datetime('now')", "name" };

	if (sample->has_texts)
		add(question, one_of(sample, question, texts, (int)(sizeof texts / sizeof *texts), 11));
	else
		add(question, one_of(sample, question, numbers, (int)(sizeof numbers / sizeof *numbers), 18), below(sample, 100));
}

static void add_condition(struct sample *sample, struct question *question, bool is_time)
{
	static const char *const operators[] = { ">=", "<", ">", "<=", ">=", "<", "=", "<>", "IS" },
		*const of_columns[] = { "track = 'a'", "track IN ('a', 'b')", "depth = 2", "track GLOB 'a*'", "track LIKE 'a%'", "track BETWEEN 'a' AND 'b'", "depth IN (1, 3)",
		"track IS NULL", "track = ?", "(track = 'a' OR depth = 1)", "NOT track = 'a'", "name <> 'n1'", "track >= 'b'", "track = 'a' AND track = 'b'", "depth = '2'", "track = 1",
		"rowid = 2", "id = 3", "v > 5", "(ts, depth) >= (5, 1)", "v % 2 = 1", "length(track) = 1", "track = 'a' COLLATE NOCASE", "(depth, v) = (1, 5)", "ts % 2 = 0",
		"depth < 2", "+depth = 1", "EXISTS (SELECT 1)", "depth IN (SELECT 1)", "(ts >= 5 OR depth = 1)", "ts + 1 > 5", "typeof(track) = 'text'", "w = 2.5 AND w", "track || 'x' = 'ax'" };

	if (!is_time) {
		add(question, "%s", one_of(sample, question, of_columns, (int)(sizeof of_columns / sizeof *of_columns), sample->has_blank_type ? 3 : 16));
	} else if (one_in(&sample->random, 6)) {
		add(question, "ts BETWEEN ");
		add_operand(sample, question);
		add(question, " AND ");
		add_operand(sample, question);
	} else if (one_in(&sample->random, 8)) {
		static const char *const reversed[] = { " <= ", " > ", " < " };

		add_operand(sample, question);
		add(question, "%st.ts", reversed[below(sample, 3)]);
	} else {
		add(question, "ts %s ", one_of(sample, question, operators, 9, 7));
		add_operand(sample, question);
	}
}

static void add_groups(struct sample *sample, struct question *question, char *groups)
{
	static const char *const of_columns[] = { "track", "depth", "track, depth", "name", "depth, name", "track" },
		*const others[] = { "ts / 10", "ts / 60 * 60", "depth, ts / 10", "depth + 1", "v", "length(track)", "ts % 10", "ts / v", "date(ts)", "ts" };

	if (one_in(&sample->random, 4)) {
		bool is_step = below(sample, 2);

		strcpy(groups, is_step ? others[below(sample, 3)] : others[3 + below(sample, 7)]);
		question->is_answerable &= is_step && sample->times == INTEGERS;
	} else {
		strcpy(groups, of_columns[below(sample, 6)]);
	}
}

static void make_question(struct sample *sample, struct question *question)
{
	char groups[100] = "";
	int n_conditions = (int)below(sample, 4);

	/* which column is the time is said by conditions on it, or its type */
	*question = (struct question){ .is_answerable = sample->is_regular && (n_conditions > 0 || (sample->times >= FRACTIONS && sample->has_texts)) };
	question->is_grouped = below(sample, 2);
	add(question, "SELECT %s", one_in(&sample->random, 15) ? "DISTINCT " : "");
	if (question->is_grouped) {
		add_groups(sample, question, groups);
		add(question, "%s, ", groups);
	}
	add_aggregate(sample, question);
	if (below(sample, 2)) {
		add(question, " AS a, ");
		add_aggregate(sample, question);
		add(question, one_in(&sample->random, 3) ? " b" : "");
	}
	add(question, " FROM %s", one_in(&sample->random, 4) ? "main.t AS t" : "t");
	for (int c = 0; c < n_conditions; c++) {
		add(question, c ? " AND " : " WHERE ");
		add_condition(sample, question, c < 2);
	}
	if (question->is_grouped)
		add(question, " GROUP BY %s", one_in(&sample->random, 5) && !strchr(groups, ',') ? "1" : groups);
	if (question->is_grouped && one_in(&sample->random, 6))
		add(question, " HAVING %s", below(sample, 2) ? "count(*) > 2" : "sum(v) > 10 AND max(v) IS NOT NULL");
	if (question->is_grouped && one_in(&sample->random, 5)) {
		question->has_limit = below(sample, 2);
		add(question, " ORDER BY count(*) DESC, %s%s", groups, question->has_limit ? " LIMIT 3" : "");
	}
}

/* ---- answers ---- */

static int compare_lines(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Returns the rows in order, each as a line; 1 is 1.0. NULL if the query fails: the message is in *failed. */
static char *answer_of(sqlite3 *db, const char *sql, char **failed)
{
	char *lines[400], *answer = sqlite3_mprintf("%s", "");
	sqlite3_stmt *statement = NULL;
	int n = 0, rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

	for (int p = 1; p <= sqlite3_bind_parameter_count(statement); p++)
		sqlite3_bind_int(statement, p, 20 + 15 * p);
	while (!rc && (rc = sqlite3_step(statement)) == SQLITE_ROW && n < 400) {
		lines[n] = sqlite3_mprintf("%s", "");
		for (int c = 0; c < sqlite3_column_count(statement); c++) {
			int type = sqlite3_column_type(statement, c);
			char *before = lines[n], number[40];

			snprintf(number, sizeof number, "%.11g", sqlite3_column_double(statement, c) + 0.0);
			lines[n] = sqlite3_mprintf("%s|%s%s", before, type == SQLITE_TEXT ? "'" : type == SQLITE_BLOB ? "x" : "",
						   type == SQLITE_NULL ? "NULL" : type == SQLITE_TEXT || type == SQLITE_BLOB ? (const char *)sqlite3_column_text(statement, c) : number);
			sqlite3_free(before);
		}
		n++;
		rc = SQLITE_OK;
	}
	*failed = rc == SQLITE_DONE ? NULL : sqlite3_mprintf("%s", sqlite3_errmsg(db));
	sqlite3_finalize(statement);
	qsort(lines, (size_t)n, sizeof *lines, compare_lines);
	for (int line = 0; line < n; line++) {
		char *before = answer;

		answer = sqlite3_mprintf("%s%s\n", before, lines[line]);
		sqlite3_free(before);
		sqlite3_free(lines[line]);
	}
	if (*failed) {
		sqlite3_free(answer);
		answer = NULL;
	}
	return answer;
}

static void advice_of(sqlite3 *db, const char *sql, char *texts[3])
{
	sqlite3_stmt *statement;

	assert_int_equal(sqlite3_prepare_v2(db, "SELECT statement, query, reason FROM iforest_advise(?)", -1, &statement, NULL), SQLITE_OK);
	sqlite3_bind_text(statement, 1, sql, -1, SQLITE_STATIC);
	if (sqlite3_step(statement) != SQLITE_ROW)
		fail_msg("iforest_advise(%s) fails: %s", sql, sqlite3_errmsg(db));
	for (int c = 0; c < 3; c++)
		texts[c] = sqlite3_column_type(statement, c) == SQLITE_TEXT ? sqlite3_mprintf("%s", sqlite3_column_text(statement, c)) : NULL;
	sqlite3_finalize(statement);
}

/* Compares the answers. Returns true if there was a query. */
static bool check(struct sample *sample, const struct question *question, uint64_t seed)
{
	char *advice[3], *statement, *query, *reason, *failed, *other, *expected, *actual;
	bool is_advised;

	advice_of(sample->db, question->sql, advice);
	statement = advice[0];
	query = advice[1];
	reason = advice[2];
	is_advised = query != NULL;
	if (!query && !reason)
		fail_msg("seed %llu: %s\n  has neither a query nor a reason", (unsigned long long)seed, question->sql);
	if (statement && run_any(sample->db, "%s", statement))
		fail_msg("seed %llu: %s\n  %s\n  fails: %s", (unsigned long long)seed, question->sql, statement, last_message());
	if (query) {
		expected = answer_of(sample->db, question->sql, &failed);
		actual = answer_of(sample->db, query, &other);
		if (!failed && other)
			fail_msg("seed %llu: %s\n  query: %s\n  of: %s\n  fails: %s", (unsigned long long)seed, question->sql, query, statement, other);
		if (expected && actual && strcmp(expected, actual) != 0)
			fail_msg("seed %llu: %s\n  gives:\n%s  query: %s\n  of: %s\n  gives:\n%s", (unsigned long long)seed, question->sql, expected, query, statement, actual);
		sqlite3_free(expected);
		sqlite3_free(actual);
		sqlite3_free(failed);
		sqlite3_free(other);
	}
	if (statement)
		run(sample->db, "DROP TABLE t_if");
	if (getenv("IFOREST_SHOW") && question->is_answerable && !query)
		print_message("no query: %s\n  %s\n", question->sql, reason);
	sqlite3_free(statement);
	sqlite3_free(query);
	sqlite3_free(reason);
	return is_advised;
}

static void proposed_queries_answer_what_the_select_answers(void **state)
{
	int n_rounds = test_rounds(1000), n_answerable = 0, n_advised = 0, n_others = 0, n_valid = 0;
	struct sample sample = { .db = NULL };

	(void)state;
	for (int round = 0; round < n_rounds; round++) {
		struct question question;
		uint64_t seed = test_seed() + (uint64_t)(round / SELECTS_OF_A_TABLE);
		sqlite3_stmt *statement = NULL;

		if (round % SELECTS_OF_A_TABLE == 0) {
			if (sample.db)
				close_database(sample.db);
			make_sample(&sample, seed);
		}
		make_question(&sample, &question);
		if (sqlite3_prepare_v2(sample.db, question.sql, -1, &statement, NULL) == SQLITE_OK) {
			bool is_advised = check(&sample, &question, seed);

			n_valid++;
			n_answerable += question.is_answerable;
			n_advised += is_advised && question.is_answerable;
			n_others += is_advised && !question.is_answerable;
		}
		sqlite3_finalize(statement);
	}
	close_database(sample.db);
	print_message("%d SELECTs, of which an index can answer %d: %d of these, and %d others, have a query\n", n_valid, n_answerable, n_advised,
		      n_others);
	assert_true(2 * n_advised >= n_answerable);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(proposed_queries_answer_what_the_select_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
