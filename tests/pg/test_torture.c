/* test_torture.c -- sessions change a table, take changes back, vacuum, merge and rebuild its index, while others ask grouped
 * queries: in one snapshot, what the index answers is what the table answers.
 *
 *   IFOREST_SECONDS=600 tests/pg/cluster.sh run build/tests/pg/test_torture
 */
#include "tests/pg/torture.h"

static void add_condition(struct worker *worker, struct text *query)
{
	switch (torture_below(worker, 10)) {
	case 0:
		text_add(query, " AND service = 'service %d'", torture_below(worker, 7));
		break;
	case 1:
		text_add(query, " AND service IN ('service 1', 'service %d', 'nobody')", torture_below(worker, 7));
		break;
	case 2:
		text_add(query, " AND (service IS NULL OR service LIKE '%%%d')", torture_below(worker, 7));
		break;
	case 3:
		text_add(query, " AND ts >= timestamp '2024-01-01' + interval '%d minutes'", torture_below(worker, 4000));
		break;
	case 4:
		text_add(query, " AND ts BETWEEN timestamp '2024-01-02' AND timestamp '2024-01-02' + interval '%d minutes'",
			 torture_below(worker, 2000));
		break;
	case 5:
		text_add(query, " AND dur BETWEEN %d AND 900", torture_below(worker, 900));
		break;
	case 6:
		text_add(query, " AND dur < %d AND ts IS NOT NULL", torture_below(worker, 1000));
		break;
	case 7:
		text_add(query, " AND date_trunc('hour', ts) <> timestamp '2024-01-01 %02d:00'", torture_below(worker, 24));
		break;
	case 8:
		text_add(query, " AND dur <= 599");
		break;
	default:
		break;
	}
}

/* Every row of the answer is a row of text; in an order of its own. */
static void make_question(struct worker *worker, struct text *query)
{
	static const char *const groups[] = {
		"1", "service", "date_trunc('hour', ts)", "service, date_trunc('day', ts)",
		"date_bin('7 minutes', ts, timestamp '2024-01-01')", "service IS NULL, ts > timestamp '2024-01-02'",
		"right(service, 1), extract(epoch from date_trunc('minute', ts)) % 3600",
		"to_char(date_trunc('hour', ts), 'HH24')", "width_bucket(dur, ARRAY[300, 600])", "date_trunc('day', ts), dur > 299",
	};
	static const char every[] = "sum(dur), avg(dur), min(dur), max(dur), min(ts), max(ts), regr_count(dur, dur), regr_avgx(dur, dur)";
	const char *group = groups[random_below(&worker->dice, COUNT_OF(groups))];
	/* of parts of the values there are counts alone */
	bool is_counted = strstr(group, "dur") || torture_below(worker, 3) == 0;
	bool is_grouped = strcmp(group, "1") != 0;

	text_set(query, "SELECT q::text FROM (SELECT %s, count(*), count(dur), count(*) FILTER (WHERE service = 'service 1'),"
			" count(*) FILTER (WHERE dur > 599), avg((dur <= 299)::int), %s FROM t WHERE true",
		 group, is_counted ? "sum(CASE WHEN dur > 299 THEN 1 ELSE 0 END)" : every);
	for (int n = torture_below(worker, 4); n > 0; n--)
		add_condition(worker, query);
	if (is_grouped)
		text_add(query, " GROUP BY %s", group);
	text_add(query, ") q ORDER BY 1");
}

static void answers_agree(void **state)
{
	static const struct torture torture = {
		.seconds = 8,
		.tables = "CREATE TABLE t(id integer, service text, ts timestamp, dur integer)"
			  " WITH (fillfactor = 80, autovacuum_enabled = off);"
			  "CREATE INDEX t_if ON t USING iforest (service, ts) INCLUDE (dur)"
			  " WITH (histogram = 'dur(299, 599)', products = 'dur*dur', pending_pages = 1)",
		.node = "Custom Scan (IForestAggregate)",
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
