/* tests/sqlite/test_end.c -- Tests of spans with a start and an end column (end=...): every answer is that of plain SQL over
 * end - start, and of an index over a generated column of durations, while rows change. */
#include "harness.h"

#define KERNELS "CREATE TABLE kernels(id INTEGER PRIMARY KEY, stream, start INTEGER, \"end\");"

static void the_duration_is_end_less_start(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, KERNELS "INSERT INTO kernels VALUES(1, 7, 100, 150), (2, 7, 120, NULL), (3, 7, 130, 120), (4, 8, NULL, 9), (5, 8, -20, 5.0), (6, 8, 3, 3);"
		"CREATE VIRTUAL TABLE k USING iforest(content=kernels, time=start, end=\"end\", by=stream);"
		"CREATE VIRTUAL TABLE named USING iforest(content=kernels, time=start, \"end\"=\"end\" AS took, value=(id, \"end\"), variance=took, by=stream);"
		"CREATE VIRTUAL TABLE k_rows USING iforest_rows(k); CREATE VIRTUAL TABLE k_overlap USING iforest_overlap(k)");
	run_gives(db, "7|3|2|40|-10|50|1\n8|3|2|25|0|25|5\n", "SELECT stream, count, count_dur, sum_dur, min_dur, max_dur, max_dur_id FROM k");
	run_gives(db, "7|2|40|50|6|1|1800.0\n8|2|25|25|15|5|312.5\n",
		  "SELECT stream, count_took, sum_took, max_took, sum_id, max_took_id, var_took FROM named");
	run_gives(db, "150.0\n9.0\n", "SELECT max_end FROM named WHERE max_end < 1000");
	run_gives(db, "1|50|150\n", "SELECT id, dur, \"end\" FROM k_rows(140, 145)"); /* the second is unfinished: a point */
	run_gives(db, "7|2|15|50\n", "SELECT stream, overlaps, clipped_dur, longest_dur FROM k_overlap(115, 130)");
	run(db, "UPDATE kernels SET \"end\" = 220 WHERE id = 2; UPDATE kernels SET start = 149 WHERE id = 1");
	run_gives(db, "2|100|220\n1|1|150\n", "SELECT id, dur, \"end\" FROM k_rows(149, 150) ORDER BY id DESC");
	run(db, "INSERT INTO k(k) VALUES('integrity-check'), ('flush'), ('integrity-check')");
	run_gives(db, "7|3|91|2\n8|2|25|5\n", "SELECT stream, count_dur, sum_dur, max_dur_id FROM k");
	close_database(db);
}

static void ends_that_are_none_are_refused(void **state)
{
	static const struct {
		const char *value, *message;
	} refused[] = {
		{ "0.5", "iforest: end column \"end\" of row 17 holds 0.5; ends are integers" },
		{ "9e999", "iforest: end column \"end\" of row 17 holds Inf; ends are integers" },
		{ "'x'", "iforest: end column \"end\" of row 17 holds text or a blob (x)" },
		{ "x'00'", "iforest: end column \"end\" of row 17 holds text or a blob (a blob)" },
		{ "9223372036854775807", "iforest: end column \"end\" of row 17 holds 9223372036854775807, further from the time" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		sqlite3 *db = open_database(":memory:", 0);

		run(db, KERNELS "INSERT INTO kernels VALUES(1, 7, -1, 9223372036854775806), (17, 7, -1, %s)", refused[i].value);
		run_fails(db, refused[i].message, "CREATE VIRTUAL TABLE k USING iforest(content=kernels, time=start, end=\"end\")");
		run(db, "DELETE FROM kernels WHERE id = 17; CREATE VIRTUAL TABLE k USING iforest(content=kernels, time=start, end=\"end\");"
			"INSERT INTO kernels VALUES(17, 7, -1, %s)", refused[i].value);
		run_fails(db, refused[i].message, "SELECT count FROM k");
		run(db, "UPDATE kernels SET \"end\" = start WHERE id = 17");
		run_gives(db, "2|9223372036854775807\n", "SELECT count, sum_dur FROM k");
		close_database(db);
	}
}

/* Ten arguments or more, because the arguments of an index are stored by number. */
static void all_arguments_at_once(void **state)
{
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, KERNELS "INSERT INTO kernels VALUES(1, 7, 100, 150);"
		"CREATE VIRTUAL TABLE k USING iforest(variance=dur, histogram=(dur(10, 60)), products=(dur*start), sketch=dur, counter=id, distinct=(dur, stream), sync=log,"
		" value=id, content=kernels, end=\"end\", time=start, by=(stream));"
		"CREATE VIRTUAL TABLE k_all USING iforest_fold(k)");
	run_gives(db, "1|0|1\n", "SELECT count, count_dur_le_10, count_dur_le_60 FROM k_all");
	run_fails(db, "iforest: duration and end exclude each other", "CREATE VIRTUAL TABLE l USING iforest(variance=id, histogram=(id(10)), products=(id*start), "
		"sketch=id, counter=id, distinct=id, sync=log, value=id, content=kernels, end=\"end\", time=start, by=(stream), where=(id > 0), unit=ns, duration=id)");
	run(db, "INSERT INTO kernels VALUES(2, 8, 100, 105); INSERT INTO k(k) VALUES('rebuild')");
	run_gives(db, "2|1|2|200\n", "SELECT count, count_dur_le_10, count_dur_le_60, first_ts + last_ts FROM k_all");
	close_database(db);
}

/* ---- random changes ---- */

static void change(sqlite3 *db, struct random *random)
{
	int64_t id = random_below(random, 300), start = random_below(random, 2000) - 500;
	char *end = one_in(random, 8) ? sqlite3_mprintf("NULL") : sqlite3_mprintf("%lld", start + random_below(random, 120) - 10);

	switch (random_below(random, 5)) {
	case 0:
		run(db, "DELETE FROM kernels WHERE id = %lld", id);
		break;
	case 1:
		run(db, "UPDATE kernels SET \"end\" = %s WHERE id = %lld", end, id);
		break;
	case 2:
		run(db, "UPDATE kernels SET start = %lld WHERE id = %lld", start, id);
		break;
	default:
		run(db, "INSERT OR REPLACE INTO kernels(id, stream, start, \"end\") VALUES(%lld, %lld, %lld, %s)", id, random_below(random, 4), start, end);
	}
	sqlite3_free(end);
}

static void ask(sqlite3 *db, struct random *random)
{
	int64_t t0 = random_below(random, 2000) - 500, t1 = t0 + random_below(random, 300);
	char *columns = "stream, count, count_dur, sum_dur, min_dur, max_dur, min_dur_id, max_dur_id, first_dur, last_dur";
	char *windows = sqlite3_mprintf("(%lld, %lld)", t0, t1), *sql, *reference;

	for (int all = 0; all < 2; all++) {
		sql = sqlite3_mprintf("SELECT %s FROM by_end%s ORDER BY 1", columns, all ? "" : windows);
		reference = sqlite3_mprintf("SELECT %s FROM by_dur%s ORDER BY 1", columns, all ? "" : windows);
		same_rows(db, sql, reference);
		sqlite3_free(sql);
		sqlite3_free(reference);
	}
	sql = sqlite3_mprintf("SELECT sum(count), total(sum_dur), max(max_dur) FROM by_end%s", windows);
	reference = sqlite3_mprintf("SELECT nullif(count(*), 0), total(\"end\" - start), max(\"end\" - start) FROM kernels WHERE start >= %lld AND start < %lld", t0, t1);
	same_rows(db, sql, reference);
	sqlite3_free(sql);
	sqlite3_free(reference);
	sql = sqlite3_mprintf("SELECT id, start, dur FROM end_rows(%lld, %lld) ORDER BY 1", t0, t1);
	reference = sqlite3_mprintf("SELECT id, start, \"end\" - start FROM kernels WHERE start < %lld AND (\"end\" > max(start, %lld) OR (start >= %lld AND ifnull(\"end\" <= start, 1))) ORDER BY 1", t1, t0, t0);
	same_rows(db, sql, reference);
	sqlite3_free(sql);
	sqlite3_free(reference);
	sqlite3_free(windows);
}

static void an_index_follows_starts_and_ends(void **state)
{
	static const char *const commands[] = { "flush", "flush", "optimize", "rebuild", "integrity-check" };
	struct random random = { test_seed() };
	sqlite3 *db = open_database(":memory:", 0);

	(void)state;
	run(db, KERNELS "ALTER TABLE kernels ADD COLUMN dur AS (\"end\" - start);"
		"CREATE VIRTUAL TABLE by_end USING iforest(content=kernels, time=start, end=\"end\", by=stream);"
		"CREATE VIRTUAL TABLE by_dur USING iforest(content=kernels, time=start, duration=dur, by=stream);"
		"CREATE VIRTUAL TABLE end_rows USING iforest_rows(by_end)");
	for (int step = 0; step < 150; step++) {
		for (int64_t i = random_below(&random, 12); i >= 0; i--)
			change(db, &random);
		if (one_in(&random, 6))
			run(db, "INSERT INTO by_end(by_end) VALUES(%Q)", commands[random_below(&random, 5)]);
		ask(db, &random);
	}
	run(db, "INSERT INTO by_end(by_end) VALUES('integrity-check')");
	close_database(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_duration_is_end_less_start),
		cmocka_unit_test(ends_that_are_none_are_refused),
		cmocka_unit_test(all_arguments_at_once),
		cmocka_unit_test(an_index_follows_starts_and_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
