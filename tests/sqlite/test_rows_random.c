/* tests/sqlite/test_rows_random.c -- Tests of iforest_rows and iforest_gaps against plain SQL: random tables with pending and
 * removed rows, and random conditions, orders, joins and windows, over the rows of the index and over an ordinary table with
 * the same rows. A failure prints its seed: IFOREST_SEED=... IFOREST_ROUNDS=1 runs that round alone. */
#include "random_windows.h"

enum { N_ROUNDS = 30, N_QUESTIONS = 40, MAX_COLUMNS = 8 };

struct round {
	sqlite3 *db;
	struct random *random;
	struct table *table;
	struct row_style style;
	const char *columns[MAX_COLUMNS]; /* of t_rows */
	int n_columns;
	bool has_end;
};

/* ---- tables ---- */

/* Makes an ordinary table like t_rows: numbers are compared as numbers, by columns without affinity. */
static void copy_rows(struct round *round)
{
	sqlite3_str *declared = sqlite3_str_new(NULL), *selected = sqlite3_str_new(NULL);

	for (int c = 0; c < round->n_columns; c++) {
		const char *name = round->columns[c];
		bool is_by = *name == 'a' || *name == 'b';

		sqlite3_str_appendf(declared, "%s\"%w\" %s", c ? ", " : "", name, is_by ? "" : *name == 'v' || *name == 'w' ? "NUMERIC" : "INTEGER");
		if (strcmp(name, "ts") == 0)
			sqlite3_str_appendf(selected, ", CAST(ts AS INTEGER)");
		else if (strcmp(name, "end") == 0)
			sqlite3_str_appendf(selected, ", CASE WHEN v IS NULL OR v <= 0 THEN CAST(ts AS INTEGER) WHEN v > 9223372036854775807 - max(CAST(ts AS INTEGER), 0) "
					    "THEN 9223372036854775807 ELSE CAST(ts AS INTEGER) + v END");
		else
			sqlite3_str_appendf(selected, "%s%s", c ? ", " : "", name);
	}
	run(round->db, "DROP TABLE IF EXISTS temp.plain; CREATE TEMP TABLE plain(%s); INSERT INTO plain SELECT %s FROM t",
	    sqlite3_str_value(declared), sqlite3_str_value(selected));
	sqlite3_free(sqlite3_str_finish(declared));
	sqlite3_free(sqlite3_str_finish(selected));
}

static void change(struct round *round, int n)
{
	static const char *const writes[] = {
		"INSERT OR REPLACE INTO t(id, a, ts, v, b, w) VALUES(?, ?, ?, ?, ?, ?)",
		"UPDATE t SET ts = ?3, v = ?4 WHERE id = (SELECT id FROM t WHERE id >= ?1 LIMIT 1)",
		"UPDATE t SET a = ?2 WHERE id = (SELECT id FROM t WHERE id >= ?1 LIMIT 1)",
		"DELETE FROM t WHERE id = (SELECT id FROM t WHERE id >= ?1 LIMIT 1)",
	};

	while (n-- > 0) {
		sqlite3_stmt *write;

		assert_int_equal(sqlite3_prepare_v2(round->db, writes[random_below(round->random, 4)], -1, &write, NULL),
				 SQLITE_OK);
		bind_random_row(write, &round->style, round->random);
		sqlite3_step(write);
		sqlite3_finalize(write);
	}
	if (run_any(round->db, "SELECT count FROM t_if") != SQLITE_OK) /* a real in a column of integers */
		run(round->db, "INSERT INTO t_if(t_if) VALUES('rebuild')");
}

static void list_columns(struct round *round)
{
	round->has_end = integer_of(round->db, "SELECT count(*) FROM pragma_table_info('t_rows') WHERE name = 'end'");
	round->n_columns = 0;
	round->columns[round->n_columns++] = "id";
	for (int b = 0; b < round->table->n_by; b++)
		round->columns[round->n_columns++] = b ? "b" : "a";
	round->columns[round->n_columns++] = "ts";
	round->columns[round->n_columns++] = "v";
	if (round->table->n_values == 2)
		round->columns[round->n_columns++] = "w";
	if (round->has_end)
		round->columns[round->n_columns++] = "end";
}

/* ---- random SQL: %s stands for the table ---- */

static const char *any_column(struct round *round)
{
	return round->columns[random_below(round->random, round->n_columns)];
}

static const char *any_value_column(struct round *round)
{
	return round->table->n_values == 2 && one_in(round->random, 2) ? "w" : "v";
}

/* Returns a number near one in the column, or a value that is not a number. The caller frees it. */
static char *any_bound(struct round *round, const char *column)
{
	static const char *const odd[] = { "NULL", "'abc'", "x'31'", "''", "1e300", "-1e300", "9223372036854775807", "-9223372036854775808",
		"9223372036854775808.0", "-9223372036854775808.0", "-9.3e18", "1", "1.0", "'1'", "'1.5'", "' 7 '", "0.5", "-0.0",
		"9007199254740993", "9007199254740992.0" };
	static const char *const forms[] = { "%s", "%s", "%s", "%s + 1", "%s - 1", "%s + 0.5", "CAST(%s AS REAL)", "CAST(%s AS TEXT)", "+%s" };
	char *cell, *bound;

	if (one_in(round->random, 5))
		return sqlite3_mprintf("%s", odd[random_below(round->random, sizeof odd / sizeof *odd)]);
	cell = sqlite3_mprintf("(SELECT \"%w\" FROM plain LIMIT 1 OFFSET %lld)", column, random_below(round->random, round->style.n_rows + 1));
	bound = sqlite3_mprintf(forms[random_below(round->random, sizeof forms / sizeof *forms)], cell);
	sqlite3_free(cell);
	return bound;
}

static void append_condition(struct round *round, sqlite3_str *sql, const char *prefix)
{
	static const char *const operators[] = { "=", "<", "<=", ">", ">=", "IS", "IS NOT", "<>", "=", ">=", "<" };
	const char *column = any_column(round);
	char *a = any_bound(round, column), *b = any_bound(round, column), *c = any_bound(round, column);

	switch (random_below(round->random, 8)) {
	case 0:
		sqlite3_str_appendf(sql, "%s\"%w\" BETWEEN %s AND %s", prefix, column, a, b);
		break;
	case 1:
		sqlite3_str_appendf(sql, "%s\"%w\" IN (%s, %s, %s)", prefix, column, a, b, c);
		break;
	case 2:
		sqlite3_str_appendf(sql, "%s\"%w\" IN (SELECT \"%w\" FROM plain WHERE id > %s)", prefix, column, column, a);
		break;
	case 3:
		sqlite3_str_appendf(sql, "%s\"%w\" %s", prefix, column, one_in(round->random, 2) ? "IS NULL" : "IS NOT NULL");
		break;
	default:
		sqlite3_str_appendf(sql, "%s\"%w\" %s %s", prefix, column, operators[random_below(round->random, 11)], a);
	}
	sqlite3_free(a);
	sqlite3_free(b);
	sqlite3_free(c);
}

/* Returns some conditions joined by AND, some of them pairs joined by OR. The caller frees the text. */
static char *any_conditions(struct round *round, const char *prefix)
{
	sqlite3_str *sql = sqlite3_str_new(NULL);
	int n = (int)random_below(round->random, 4);

	sqlite3_str_appendall(sql, "1");
	for (int i = 0; i < n; i++) {
		sqlite3_str_appendall(sql, " AND ");
		if (one_in(round->random, 5)) {
			sqlite3_str_appendall(sql, "(");
			append_condition(round, sql, prefix);
			sqlite3_str_appendall(sql, " OR ");
			append_condition(round, sql, prefix);
			sqlite3_str_appendall(sql, ")");
		} else {
			append_condition(round, sql, prefix);
		}
	}
	return sqlite3_str_finish(sql);
}

/* Runs the query, in which @ stands for the table, over both tables. */
static void compare(struct round *round, char *query, const char *rows, const char *plain, const char *plain_condition)
{
	const char *tables[2] = { rows, plain };
	char *texts[2];

	for (int k = 0; k < 2; k++) {
		sqlite3_str *sql = sqlite3_str_new(NULL);

		for (const char *at = query; *at; at++) {
			if (*at == '@')
				sqlite3_str_appendall(sql, tables[k]);
			else if (*at == '#')
				sqlite3_str_appendall(sql, k ? plain_condition : "1");
			else
				sqlite3_str_appendchar(sql, 1, *at);
		}
		texts[k] = sqlite3_str_finish(sql);
	}
	same_rows(round->db, texts[0], texts[1]);
	sqlite3_free(texts[0]);
	sqlite3_free(texts[1]);
	sqlite3_free(query);
}

static char *any_limit(struct round *round)
{
	switch (random_below(round->random, 3)) {
	case 0: return sqlite3_mprintf("");
	case 1: return sqlite3_mprintf("LIMIT %lld", random_below(round->random, 30));
	default: return sqlite3_mprintf("LIMIT %lld OFFSET %lld", random_below(round->random, 30), random_below(round->random, 100));
	}
}

static char *any_query(struct round *round)
{
	char *where = any_conditions(round, ""), *other = any_conditions(round, ""), *limit = any_limit(round), *query;
	const char *direction = one_in(round->random, 2) ? "DESC" : "ASC", *value = any_value_column(round), *column = any_column(round);
	char *list = sqlite3_mprintf("id");

	for (int c = 1; c < round->n_columns; c++)
		list = sqlite3_mprintf("%z, \"%w\"", list, round->columns[c]);
	switch (random_below(round->random, 9)) {
	case 0:
		query = sqlite3_mprintf("SELECT ts FROM @ WHERE %s AND # ORDER BY ts %s %s", where, direction, limit);
		break;
	case 1:
		query = sqlite3_mprintf("SELECT %s FROM @ WHERE %s AND # ORDER BY ts %s, id %s %s", list, where, direction, direction, limit);
		break;
	case 2:
		query = sqlite3_mprintf("SELECT %s FROM @ WHERE %s AND # ORDER BY %s %s %s", value, where, value, direction, limit);
		break;
	case 3:
		query = sqlite3_mprintf("SELECT %s FROM @ WHERE ts IS NOT NULL AND %s AND # ORDER BY %s %s, ts, id %s", list, where, value, direction, limit);
		break;
	case 4:
		query = sqlite3_mprintf("SELECT id FROM @ WHERE %s AND # %s SELECT id FROM @ WHERE %s AND # ORDER BY 1 %s", where,
					one_in(round->random, 2) ? "UNION" : "EXCEPT", other, limit);
		break;
	case 5:
		query = sqlite3_mprintf("SELECT \"%w\", count(*), min(id), sum(id %% 1000) FROM @ WHERE %s AND # GROUP BY 1 ORDER BY 1", column, where);
		break;
	case 6:
		query = sqlite3_mprintf("SELECT DISTINCT \"%w\" FROM @ WHERE ((%s) OR (%s AND #)) AND # ORDER BY 1 %s", column, where, other, limit);
		break;
	case 7:
		query = sqlite3_mprintf("SELECT count(*), min(ts), max(\"%w\") FROM @ WHERE ((%s) OR (%s)) AND #", column, where, other);
		break;
	default:
		query = sqlite3_mprintf("SELECT %s FROM @ WHERE %s AND # ORDER BY id %s", list, where, limit);
	}
	sqlite3_free(where);
	sqlite3_free(other);
	sqlite3_free(limit);
	sqlite3_free(list);
	return query;
}

/* Returns a join with some rows of the plain table. */
static char *any_join(struct round *round)
{
	char *where = any_conditions(round, "r."), *query;
	const char *value = any_value_column(round), *column = any_column(round), *kind = one_in(round->random, 2) ? "LEFT JOIN" : "JOIN";

	if (sqlite3_libversion_number() >= 3039000 && one_in(round->random, 4))
		kind = "FULL JOIN";
	switch (random_below(round->random, 4)) {
	case 0:
		query = sqlite3_mprintf("SELECT s.id, (SELECT r.%s FROM @ r WHERE r.\"%w\" IS s.\"%w\" AND %s AND # ORDER BY r.%s DESC LIMIT 1) FROM "
					"(SELECT * FROM plain ORDER BY id LIMIT 10) s", value, column, column, where, value);
		break;
	case 1:
		query = sqlite3_mprintf("SELECT s.id, (SELECT r.id FROM @ r WHERE r.ts >= s.ts AND %s AND # ORDER BY r.ts, r.id LIMIT 1 OFFSET 1) FROM "
					"(SELECT * FROM plain ORDER BY id LIMIT 10) s", where);
		break;
	case 2:
		query = sqlite3_mprintf("SELECT s.id, r.id FROM (SELECT * FROM plain ORDER BY id LIMIT 10) s %s @ r ON r.\"%w\" = s.\"%w\" AND %s AND # "
					"ORDER BY 1, 2 LIMIT 500", strcmp(kind, "FULL JOIN") ? kind : "LEFT JOIN", column, column, where);
		break;
	default:
		query = sqlite3_mprintf("SELECT count(*), count(s.id), count(r.id), min(r.ts) FROM (SELECT * FROM plain ORDER BY id LIMIT 10) s %s "
					"(SELECT * FROM @ r WHERE %s AND #) r ON r.ts BETWEEN s.ts AND s.ts + 1000 WHERE r.%s IS NULL OR r.%s > 3 OR 1", kind,
					where, value, value);
	}
	sqlite3_free(where);
	return query;
}

/* Compares queries of the rows that reach into a window. */
static void ask_window(struct round *round)
{
	char *t0 = sqlite3_mprintf(
		"%lld",
		(long long)integer_of(round->db, "SELECT ts + %lld FROM plain WHERE abs(ts / 2) < 4e18 LIMIT 1 OFFSET %lld",
				      (long long)random_below(round->random, 3) - 1,
				      (long long)random_below(round->random, round->style.n_rows + 1)));
	char *t1 = sqlite3_mprintf("%lld", (long long)integer_of(round->db, "SELECT ts FROM plain WHERE ts >= %s ORDER BY ts LIMIT 1 OFFSET %lld", t0,
				   (long long)random_below(round->random, round->style.n_rows / 2 + 1)));
	char *rows, *condition;
	const char *reaches = round->has_end ? "(ts >= %s OR \"end\" > %s)" : "(ts >= %s AND %s NOT NULL)";

	if (one_in(round->random, 20)) {
		sqlite3_free(t1);
		t1 = sqlite3_mprintf("NULL");
	}
	if (one_in(round->random, 4)) {
		rows = sqlite3_mprintf("t_rows(%s)", t0);
		condition = sqlite3_mprintf(reaches, t0, t0);
	} else {
		char *start = sqlite3_mprintf(reaches, t0, t0);

		rows = sqlite3_mprintf("t_rows(%s, %s)", t0, t1);
		condition = sqlite3_mprintf("(ts < %s AND %s < %s AND %z)", t1, t0, t1, start);
	}
	compare(round, any_query(round), rows, "plain", condition);
	sqlite3_free(rows);
	sqlite3_free(condition);
	sqlite3_free(t0);
	sqlite3_free(t1);
}

/* Compares gaps. In plain SQL, they follow from the running maximum of the ends before each row. */
static void ask_gaps(struct round *round)
{
	static const char *const by[] = { "", "a, ", "a, b, " };
	const char *columns = by[round->table->n_by], *end = round->has_end ? "\"end\"" : "ts", *kind = "WHERE 1";
	long long longer_than = random_below(round->random, INT64_C(1) << random_below(round->random, 50));
	char *t0 = sqlite3_mprintf("coalesce((SELECT ts FROM plain LIMIT 1 OFFSET %lld), 5)", (long long)random_below(round->random, round->style.n_rows + 1));
	char *t1 = sqlite3_mprintf("coalesce((SELECT max(ts) - %lld FROM plain WHERE ts > -9e18), 100)", (long long)random_below(round->random, 100));
	char *window, *sql, *plain, *condition = sqlite3_mprintf("1");

	if (round->table->n_by == 1 && one_in(round->random, 2))
		kind = one_in(round->random, 2) ? "WHERE a = '1'" : "WHERE a IS (SELECT a FROM plain LIMIT 1)";
	if (one_in(round->random, 3))
		condition = sqlite3_mprintf("%z AND ts > %s", condition, t0), window = sqlite3_mprintf("t0 = %s", t0);
	else if (one_in(round->random, 2))
		condition = sqlite3_mprintf("%z AND %s < %s AND ts > %s AND m < %s", condition, t0, t1, t0, t1),
		window = sqlite3_mprintf("t0 = %s AND t1 = %s", t0, t1);
	else
		window = sqlite3_mprintf("1");
	plain = sqlite3_mprintf("SELECT %sm AS gap_start, ts AS gap_end FROM (SELECT *, max(%s) OVER (PARTITION BY %s1 ORDER BY ts, id ROWS BETWEEN UNBOUNDED "
				"PRECEDING AND 1 PRECEDING) AS m FROM plain WHERE ts IS NOT NULL) WHERE ts > m AND ts - m > %lld AND %s", columns, end,
				columns, longer_than, condition);
	for (int in_order = 0; in_order < 2; in_order++) {
		char *reference = sqlite3_mprintf("SELECT %s FROM (%s) %s ORDER BY %s", in_order ? "gap_start" : "*", plain, kind,
						  in_order ? "gap_start LIMIT 9" : round->table->n_by ? "1, 2, 3" : "1, 2");

		sql = sqlite3_mprintf("SELECT %s FROM t_gaps %s AND longer_than = %lld AND %s ORDER BY %s", in_order ? "gap_start" : "*", kind, longer_than,
				      window, in_order ? "gap_start LIMIT 9" : round->table->n_by ? "1, 2, 3" : "1, 2");
		same_rows(round->db, sql, reference);
		sqlite3_free(sql);
		sqlite3_free(reference);
	}
	sqlite3_free(t0);
	sqlite3_free(t1);
	sqlite3_free(window);
	sqlite3_free(condition);
	sqlite3_free(plain);
}

static void ask(struct round *round)
{
	copy_rows(round);
	for (int q = 0; q < N_QUESTIONS / 8; q++)
		ask_gaps(round);
	for (int q = 0; q < N_QUESTIONS; q++)
		switch (random_below(round->random, 4)) {
		case 0:
			ask_window(round);
			break;
		case 1:
			compare(round, any_join(round), "t_rows", "plain", "1");
			break;
		default:
			compare(round, any_query(round), "t_rows", "plain", "1");
		}
}

static void run_round(struct round *round)
{
	make_table(round->db, "", round->table, &round->style, round->random);
	run(round->db, "CREATE VIRTUAL TABLE t_rows USING iforest_rows(t_if); CREATE VIRTUAL TABLE t_gaps USING iforest_gaps(t_if)");
	list_columns(round);
	ask(round);
	change(round, 30);
	ask(round);
	run(round->db, "INSERT INTO t_if(t_if) VALUES('flush'); BEGIN");
	change(round, 20);
	run(round->db, "SAVEPOINT s");
	change(round, 20);
	ask(round);
	run(round->db, "ROLLBACK TO s");
	ask(round);
	run(round->db, "%s", one_in(round->random, 2) ? "COMMIT" : "ROLLBACK");
	ask(round);
}

static void random_questions_are_answered_as_by_plain_sql(void **state)
{
	static struct table table;
	int n_rounds = test_rounds(N_ROUNDS);

	(void)state;
	for (int r = 0; r < n_rounds; r++) {
		struct random random = { test_seed() + (uint64_t)r };
		struct round round = { .db = open_database(":memory:", 0), .random = &random, .table = &table };

		memset(&table, 0, sizeof table);
		print_message("seed %" PRIu64 "\n", random.state);
		if (one_in(&random, 4))
			run(round.db, "PRAGMA encoding = 'UTF-16'");
		run_round(&round);
		close_database(round.db);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_questions_are_answered_as_by_plain_sql),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
