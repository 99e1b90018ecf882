/* test_torture_rows.c -- sessions change a table, take changes back, vacuum, merge and rebuild its index, while others ask for
 * the largest values of a window, also of each service in it, and for the spans that reach into one: in one snapshot, the rows
 * that the index finds are those of the table.
 *
 *   IFOREST_SECONDS=600 tests/pg/cluster.sh run build/tests/pg/test_torture_rows
 */
#include "tests/pg/torture.h"

static const char tables[] =
	"CREATE TABLE t(id integer, service text, ts timestamp, dur integer,"
	" fin timestamp GENERATED ALWAYS AS (ts + dur * interval '3 seconds') STORED)"
	" WITH (fillfactor = 80, autovacuum_enabled = off);"
	"CREATE INDEX t_if ON t USING iforest (service, ts) INCLUDE (dur, fin) WITH (\"end\" = 'fin', pending_pages = 1)";

/* other ways to read the table, and to bring rows into an order, are dear */
static const char by_index[] = "SET enable_indexscan = on; SET enable_sort = off";

static void add_condition(struct worker *worker, struct text *query)
{
	switch (torture_below(worker, 6)) {
	case 0:
		text_add(query, " AND service = 'service %d'", torture_below(worker, 7));
		break;
	case 1:
		text_add(query, " AND service IN ('service 1', 'service %d', 'nobody')", torture_below(worker, 7));
		break;
	case 2:
		text_add(query, " AND ts >= timestamp '2024-01-01' + interval '%d minutes'", torture_below(worker, 4000));
		break;
	case 3:
		text_add(query, " AND dur BETWEEN %d AND 900", torture_below(worker, 900));
		break;
	case 4:
		text_add(query, " AND id %% 3 = %d", torture_below(worker, 3));
		break;
	default:
		text_add(query, " AND dur IS NOT NULL");
		break;
	}
}

/* Spans that reach into a window of up to two hours. */
static void add_reach(struct worker *worker, struct text *query)
{
	int from = torture_below(worker, 4300);

	text_add(query, " AND ts < timestamp '2024-01-01' + interval '%d minutes'", from + 1 + torture_below(worker, 120));
	text_add(query, " AND fin > timestamp '2024-01-01' + interval '%d minutes'", from);
}

/* The largest values of each service. */
static void make_ranks(struct worker *worker, struct text *query)
{
	static const char *const orders[] = { "dur DESC", "dur", "dur DESC NULLS LAST" };

	text_set(query,
		 "SELECT q::text FROM (SELECT ctid, id, service, dur, rank() OVER (PARTITION BY service ORDER BY %s) AS place"
		 " FROM t WHERE true",
		 orders[random_below(&worker->dice, COUNT_OF(orders))]);
	for (int n = torture_below(worker, 3); n > 0; n--)
		add_condition(worker, query);
	text_add(query, ") q WHERE place <= %d ORDER BY 1", 1 + torture_below(worker, 5));
}

static void make_question(struct worker *worker, struct text *query, bool is_top, bool is_reach)
{
	static const char *const orders[] = { "dur", "dur DESC", "dur DESC NULLS LAST", "dur NULLS FIRST",
					      "fin DESC NULLS LAST" };

	text_set(query, "SELECT q::text FROM (SELECT ctid, id, service, ts, dur FROM t WHERE true");
	if (is_reach)
		add_reach(worker, query);
	for (int n = torture_below(worker, 3); n > 0; n--)
		add_condition(worker, query);
	/* what goes after the value makes the order one */
	if (is_top)
		text_add(query, " ORDER BY %s, ts, id, ctid LIMIT %d", orders[random_below(&worker->dice, COUNT_OF(orders))],
			 1 + torture_below(worker, 60));
	text_add(query, ") q");
	if (!is_top)
		text_add(query, " ORDER BY 1");
}

static void make_top(struct worker *worker, struct text *query)
{
	if (random_chance(&worker->dice, 30))
		make_ranks(worker, query);
	else
		make_question(worker, query, true, random_chance(&worker->dice, 30));
}

static void make_reach(struct worker *worker, struct text *query)
{
	make_question(worker, query, false, true);
}

static void the_largest_are_those_of_the_table(void **state)
{
	static const struct torture torture = { .seconds = 4, .tables = tables, .by_index = by_index,
						.make_question = make_top, .node = "Custom Scan (IForestTopK)" };

	torture_run(*state, &torture);
}

static void those_that_reach_into_a_window_are_those_of_the_table(void **state)
{
	static const struct torture torture = { .seconds = 4, .tables = tables, .by_index = by_index,
						.make_question = make_reach, .node = "Custom Scan (IForestReach)" };

	torture_run(*state, &torture);
}

static int end(void **state)
{
	int result = torture_end(state);

	client_run(*state, "DROP TABLE t");
	return result;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_largest_are_those_of_the_table, end),
		cmocka_unit_test_teardown(those_that_reach_into_a_window_are_those_of_the_table, end),
	};

	return random_report(cmocka_run_group_tests(tests, client_set_up, client_tear_down));
}
