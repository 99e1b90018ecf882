/* test_torture_overlap.c -- sessions change a table, take changes back, vacuum, merge and rebuild its index, while others ask
 * what overlaps windows and buckets, and how much of it at once: in one snapshot, what the index answers is what SQL over the table answers.
 *
 *   IFOREST_SECONDS=600 tests/pg/cluster.sh run build/tests/pg/test_torture_overlap
 */
#include "tests/pg/torture.h"

static const char tables[] =
	"CREATE TABLE t(id integer, service text, ts timestamp, dur integer, lasts bigint GENERATED ALWAYS AS (dur * 3000000::bigint) STORED)"
	" WITH (fillfactor = 80, autovacuum_enabled = off);"
	"CREATE INDEX t_if ON t USING iforest (service, ts) INCLUDE (lasts) WITH (duration = 'lasts', pending_pages = 1);"
	"DO $$ BEGIN PERFORM iforest_create_functions('t_if'); END $$";

/* The place of the longest in the table is left out: of spans that are alike it may be any. */
static void make_question(struct worker *worker, struct text *query)
{
	int from = torture_below(worker, 4400);
	bool is_peak = random_chance(&worker->dice, 40);

	text_set(query, "SELECT q::text FROM (SELECT service, bucket, %s(timestamp '2024-01-01' + interval '%d minutes'",
		 is_peak ? "peak, peak_ts FROM t_if_peak" : "count, clipped_lasts, longest_lasts, longest_lasts_ts FROM t_if_overlap", from);
	if (random_chance(&worker->dice, 90))
		text_add(query, ", timestamp '2024-01-01' + interval '%d minutes'", from + 1 + torture_below(worker, 4400 - from));
	else
		text_add(query, ", 'infinity'");
	if (!strstr(query->at, "infinity") && random_chance(&worker->dice, 50))
		text_add(query, ", n => %d", 1 + torture_below(worker, 60));
	else if (random_chance(&worker->dice, 50))
		text_add(query, ", step => '%d minutes'", 60 + torture_below(worker, 600));
	text_add(query, ")");
	if (random_chance(&worker->dice, 30))
		text_add(query, " WHERE service IN ('service %d', 'service 1')", torture_below(worker, 7));
	text_add(query, ") q ORDER BY 1");
}

static void answers_agree(void **state)
{
	static const struct torture torture = {
		.seconds = 8,
		.tables = tables,
		.node = "Aggregate (never executed)", /* the half of the function that is SQL */
		.is_always_taken = true,
		.make_question = make_question,
	};

	torture_run(*state, &torture);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test_teardown(answers_agree, torture_end) };

	return random_report(cmocka_run_group_tests(tests, client_set_up, client_tear_down));
}
