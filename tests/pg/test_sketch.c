/* test_sketch.c -- sketches of both kinds are the same bytes as those of SQLite, and so is what is counted from them; and those of an
 * index with sketch = '...', distinct = '...' are the same bytes as by scanning, while rows change, go and are vacuumed away. What
 * else they are to be is in regress/sql/sketch.sql and distinct.sql. */
#include <inttypes.h>

#include "tests/pg/client.h"
#include "tests/support/distinct_vectors.h"
#include "tests/support/sketch_vectors.h"

static struct workers workers;

/* tests/sqlite/test_sketch.c asks the same of SQLite */
static void both_engines_give_the_same_bytes(void **state)
{
	PGconn *pg = *state;

	for (size_t i = 0; i < COUNT_OF(sketch_vectors); i++) {
		const struct sketch_vector *vector = &sketch_vectors[i];
		PGresult *result = client_rows(pg, "%s", vector->sql);
		const char *shown = PQgetvalue(result, 0, 0);

		client_note("%s", vector->sql);
		assert_memory_equal(shown, "\\x", 2);
		assert_int_equal(strlen(shown), 2 + 2 * vector->n_bytes);
		assert_memory_equal(shown + 2, vector->start, 22);
		PQclear(result);
	}
}

static void both_engines_give_the_same_counts(void **state)
{
	PGconn *pg = *state;

	for (size_t i = 0; i < COUNT_OF(sketch_counts); i++) {
		const struct sketch_counts *vector = &sketch_counts[i];
		char bounds[] = SKETCH_BOUNDS, *rest = bounds, *bound;

		client_note("%s", vector->sql);
		client_run(pg, "DROP TABLE IF EXISTS a; CREATE TABLE a AS %s", vector->sql);
		for (int b = 0; b < 10; b++)
			assert_int_equal(client_number(pg, "SELECT count FROM a, iforest_histogram(s, '{" SKETCH_BOUNDS "}') LIMIT 1 OFFSET %d", b),
					 vector->bins[b]);
		assert_int_equal(client_number(pg, "SELECT count(*) FROM a, iforest_histogram(s, '{" SKETCH_BOUNDS "}')"), 10);
		for (int b = 0; (bound = strtok_r(rest, ",", &rest)); b++)
			assert_int_equal(client_number(pg, "SELECT round(coalesce(iforest_rank(s, %s), 0) * iforest_sketch_count(s)) FROM a", bound),
					 vector->through[b]);
	}
	client_run(pg, "DROP TABLE a");
}

/* tests/sqlite/test_distinct.c asks the same of SQLite */
static void both_engines_count_distinct_values_alike(void **state)
{
	PGconn *pg = *state;

	for (size_t i = 0; i < COUNT_OF(distinct_vectors); i++) {
		const struct distinct_vector *vector = &distinct_vectors[i];
		PGresult *result = client_rows(pg, "SELECT encode(substr(s, 1, 12), 'hex'), length(s), iforest_distinct_count(s) FROM (%s) AS a",
					       vector->sql);

		client_note("%s", vector->sql);
		assert_string_equal(PQgetvalue(result, 0, 0), vector->start);
		assert_int_equal(atoi(PQgetvalue(result, 0, 1)), vector->n_bytes);
		assert_int_equal(atoi(PQgetvalue(result, 0, 2)), vector->n);
		PQclear(result);
	}
}

/* ---- the index's ---- */

enum { N_TIMES = 200000 };

static void make_table(PGconn *pg, unsigned n_series, const char *kept)
{
	client_run(pg, "DROP TABLE IF EXISTS t; CREATE TABLE t(s int, ts bigint, v bigint, x float8, i smallint, w text) "
		       "WITH (fillfactor = 90, autovacuum_enabled = off)");
	client_run(pg, "INSERT INTO t SELECT i %% %u, i, (i::bigint * 7919 %% 100003) * (i %% 17) - 1000, sqrt(i) - 100, "
		       "nullif(i %% 99, 3), 'w' || nullif(i %% 20000, 7) FROM generate_series(1, %d) i", n_series, N_TIMES / 2);
	client_run(pg, "INSERT INTO t VALUES (0, NULL, 5, 5, 5, ''), (1, NULL, -6, 1e300, NULL, NULL)");
	client_run(pg, "CREATE INDEX t_if ON t USING iforest (s, ts) INCLUDE (v, x, i, w) WITH (pending_pages = 4%s)", kept);
	client_run(pg, "CREATE INDEX t_time_if ON t USING iforest (ts) INCLUDE (v, x, w, i) WITH (pending_pages = 4%s)", kept);
	client_run(pg, "VACUUM ANALYZE t");
}

static void make_question(struct random *dice, struct text *question)
{
	static const char *const groups[] = { "", "", "s", "s", "ts / 50000", "s, ts / 20000" };
	const char *group = groups[random_below(dice, COUNT_OF(groups))];
	int from = (int)random_below(dice, N_TIMES), width = (int)random_below(dice, 2) ? N_TIMES : 3000;

	text_set(question, "SELECT %s%s count(*), iforest_sketch(v), iforest_sketch(x)%s%s", group, *group ? "," : "",
		 random_chance(dice, 30) ? " FILTER (WHERE ts < 90000), iforest_sketch(i)" : "",
		 random_chance(dice, 50) ? ", iforest_distinct(w), iforest_distinct(v) FILTER (WHERE s = 0), count(w)" : "");
	text_add(question, " FROM t WHERE %s", random_chance(dice, 20) ? "true" : "");
	if (question->at[question->n - 1] == ' ')
		text_add(question, "ts BETWEEN %d AND %d", random_chance(dice, 50) ? from / 10 : from, from + width);
	if (random_chance(dice, 20))
		text_add(question, " AND v > %d", (int)random_below(dice, 500000));
	if (random_chance(dice, 20))
		text_add(question, " AND s = 1");
	if (*group)
		text_add(question, " GROUP BY %s ORDER BY %s", group, group);
}

/* In one snapshot. */
static void ask(PGconn *pg, struct random *dice)
{
	static struct text question;
	PGresult *by_index, *by_table;

	make_question(dice, &question);
	client_run(pg, "BEGIN ISOLATION LEVEL REPEATABLE READ");
	client_run(pg, "SET LOCAL enable_seqscan = off");
	by_index = client_rows(pg, "%s", question.at);
	client_run(pg, "SET LOCAL iforest.enable = off; SET LOCAL enable_seqscan = on");
	by_table = client_rows(pg, "%s", question.at);
	client_run(pg, "COMMIT");
	client_same_rows(by_index, by_table, question.at);
	PQclear(by_index);
	PQclear(by_table);
}

static void change(PGconn *pg, struct random *dice)
{
	int at = (int)random_below(dice, N_TIMES), n = 1 << random_below(dice, 15);

	switch (random_below(dice, 7)) {
	case 0:
		client_run(pg, "DELETE FROM t WHERE ts BETWEEN %d AND %d", at, at + n);
		break;
	case 1:
		client_run(pg, "DELETE FROM t WHERE ts %% 500 = %d", at % 500);
		break;
	case 2:
		client_run(pg, "UPDATE t SET v = v + 1 WHERE ts BETWEEN %d AND %d", at, at + n / 16);
		break;
	case 3:
		client_run(pg, "UPDATE t SET x = -x, ts = ts + 3 WHERE ts %% 2000 = %d", at % 2000);
		break;
	default:
		client_run(pg, "INSERT INTO t SELECT i %% 2, i, i * 31, ln(i), i %% 50, 'new ' || i %% 3000 FROM generate_series(%d, %d) i", at + 1,
			   at + n);
	}
}

static bool tend(PGconn *pg, struct random *dice, bool may_alter)
{
	static const char *const kept[] = { "v", "v, x", "x", "v, x, i", "i" };
	const char *index = random_chance(dice, 50) ? "t_if" : "t_time_if";

	switch (random_below(dice, 6)) {
	case 0:
		client_run(pg, "SELECT iforest_merge('%s', %s)", index, random_chance(dice, 50) ? "true" : "false");
		return false;
	case 1:
		if (may_alter)
			client_run(pg, "ALTER INDEX %s SET (sketch = '%s', distinct = 'w%s')", index, kept[random_below(dice, COUNT_OF(kept))],
				   random_chance(dice, 50) ? ", v" : "");
		return false;
	default:
		client_run(pg, "VACUUM (INDEX_CLEANUP ON) t");
		return true;
	}
}

/* Leaf pages that a question of everything reads, and those that there are. */
static long long leaf_pages_read(PGconn *pg)
{
	PGresult *plan = client_rows(pg, "EXPLAIN (ANALYZE, COSTS OFF) SELECT iforest_sketch(v), iforest_sketch(x) FROM t");
	long long n = -1;

	for (int i = 0; i < PQntuples(plan); i++)
		(void)sscanf(PQgetvalue(plan, i, 0), " Leaf Pages: %lld", &n);
	PQclear(plan);
	return n;
}

static void an_index_gives_the_same_bytes(void **state)
{
	PGconn *pg = *state;
	unsigned n_rounds = random_rounds(2);

	for (unsigned round = 0; round < n_rounds; round++) {
		struct random dice = random_from(random_seed() + round);

		client_note("IFOREST_SEED=%" PRIu64 " IFOREST_ROUNDS=1", dice.seed);
		make_table(pg, 1 + (unsigned)random_below(&dice, 3), random_chance(&dice, 80) ? ", sketch = 'v, x', distinct = 'v, w'" : ", distinct = w");
		for (unsigned step = 0; step < 20; step++) {
			if (random_chance(&dice, 60))
				change(pg, &dice);
			else
				(void)tend(pg, &dice, true);
			for (unsigned q = 0; q < 3; q++)
				ask(pg, &dice);
		}
		client_run(pg, "ALTER INDEX t_time_if SET (sketch = 'v, x'); ALTER INDEX t_if SET (sketch = 'i')");
		client_run(pg, "VACUUM (INDEX_CLEANUP ON) t");
		client_check(pg, "t_if");
		client_check(pg, "t_time_if");
		ask(pg, &dice);
		client_run(pg, "SELECT iforest_merge('t_time_if', true)");
		assert_true(leaf_pages_read(pg) >= 0);
		assert_true(4 * leaf_pages_read(pg) < client_number(pg, "SELECT leaf_pages FROM iforest_stats('t_time_if')"));
		client_run(pg, "ALTER INDEX t_time_if RESET (sketch)");
		assert_true(leaf_pages_read(pg) >= client_number(pg, "SELECT leaf_pages FROM iforest_stats('t_time_if')"));
	}
}

/* ---- beside others ---- */

static bool write_rows(struct worker *worker)
{
	change(worker->pg, &worker->dice);
	return true;
}

static bool vacuum(struct worker *worker)
{
	(void)tend(worker->pg, &worker->dice, false);
	return true;
}

static void it_does_so_while_sketches_are_written_anew(void **state)
{
	PGconn *pg = *state;
	struct random dice = random_from(random_seed());
	const char *text = getenv("IFOREST_SECONDS");
	uint64_t end;
	unsigned n = 0;

	client_note("IFOREST_SEED=%" PRIu64, dice.seed);
	make_table(pg, 2, ", sketch = 'v, x', distinct = 'w'");
	workers_begin(&workers);
	workers_add(&workers, NULL, write_rows, dice.seed + 1, NULL);
	workers_add(&workers, NULL, vacuum, dice.seed + 2, NULL);
	end = now_microseconds() + (text && *text ? strtoull(text, NULL, 10) : 5) * 1000000;
	do {
		ask(pg, &dice);
		n++;
	} while (now_microseconds() < end || n < 20);
	workers_stop(&workers);
	client_run(pg, "VACUUM t");
	client_check(pg, "t_if");
	client_check(pg, "t_time_if");
}

static int tear_down(void **state)
{
	workers_abandon(&workers);
	return client_tear_down(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_engines_give_the_same_bytes),
		cmocka_unit_test(both_engines_give_the_same_counts),
		cmocka_unit_test(both_engines_count_distinct_values_alike),
		cmocka_unit_test(an_index_gives_the_same_bytes),
		cmocka_unit_test(it_does_so_while_sketches_are_written_anew),
	};

	return random_report(cmocka_run_group_tests(tests, client_set_up, tear_down));
}
