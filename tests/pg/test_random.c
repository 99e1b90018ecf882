/* Random tables, changed at random, asked random questions: whatever way a question is answered through the index, the rows
 * are those that a sequential scan finds. Pages of pending entries are sealed all the time (pending_pages = 1).
 *
 *   IFOREST_SEED=20240231 IFOREST_ROUNDS=1 tests/pg/cluster.sh run build/tests/pg/test_random     runs a round alone
 */
#include <inttypes.h>

#include "tests/pg/client.h"
#include "tests/pg/random_table.h"

static PGconn *pg, *other;

static int set_up(void **state)
{
	(void)state;
	pg = client_connect(NULL);
	other = client_connect(NULL);
	random_table_prepare(pg);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	PQfinish(pg);
	PQfinish(other);
	return 0;
}

/* ---- questions ---- */

/* The same rows in each way that the planner can take for the question. What an index gives in order need not be sorted. */
static void ask_every_way(const char *question, bool can_use_index, bool can_use_bitmap)
{
	PGresult *expected, *actual;

	client_read(pg, BY_TABLE);
	expected = client_rows(pg, "%s", question);
	for (enum client_way way = BY_INDEX; way < CLIENT_WAYS; way++) {
		client_read(pg, way);
		client_run(pg, "SET enable_sort = %d", way == BY_BITMAP);
		if (way == BY_BITMAP ? can_use_bitmap : way == BY_INDEX && can_use_index)
			client_plan_must(pg, way, question);
		actual = client_rows(pg, "%s", question);
		client_same_rows(actual, expected, question);
		PQclear(actual);
	}
	PQclear(expected);
	client_run(pg, "RESET enable_sort");
}

static void ask_for_rows(struct random_table *table)
{
	struct text question;
	unsigned n;

	text_set(&question, "SELECT t FROM t WHERE ");
	n = random_conditions(table, "", &question);
	text_add(&question, " ORDER BY id");
	ask_every_way(question.at, n > 0, n > 0);
}

static void ask_for_counts(struct random_table *table)
{
	struct text question;
	unsigned n;

	text_set(&question, "SELECT count(*) FROM t WHERE ");
	n = random_conditions(table, "", &question);
	ask_every_way(question.at, n > 0, n > 0);
}

static void ask_in_order(struct random_table *table)
{
	bool is_descending = random_chance(table->dice, 50);
	struct text question;

	text_set(&question, "SELECT ");
	random_table_keys(table, NULL, &question);
	text_add(&question, " FROM t WHERE ");
	random_conditions(table, "", &question);
	text_add(&question, " ORDER BY ");
	random_table_keys(table, is_descending ? " DESC" : "", &question);
	if (random_chance(table->dice, 60))
		text_add(&question, " LIMIT %u", 1 + (unsigned)random_below(table->dice, 300));
	if (random_chance(table->dice, 30))
		text_add(&question, " OFFSET %u", (unsigned)random_below(table->dice, 300));
	/* no bitmap is offered where conditions are thought to leave nothing out */
	ask_every_way(question.at, true, false);
}

/* A join of the table with itself on all key columns, in one way and through the index in another. */
static void ask_for_join(struct random_table *table)
{
	bool is_merge = random_chance(table->dice, 60);
	long long step = 1 + client_number(pg, "SELECT count(*) FROM t") / (is_merge ? 600 : 100);
	PGresult *expected, *actual;
	struct text question;

	text_set(&question, "SELECT count(*), sum(a.id * b.id) FROM t a JOIN t b ON a.ts = b.ts");
	for (unsigned i = 0; i < table->n_by; i++)
		text_add(&question, " AND a.%s = b.%s", table->by[i].name, table->by[i].name);
	text_add(&question, " WHERE a.id %% %lld = 0 AND ", step);
	random_conditions(table, "b.", &question);
	client_read(pg, BY_TABLE);
	client_run(pg, "SET enable_mergejoin = off; SET enable_nestloop = off");
	expected = client_rows(pg, "%s", question.at);
	client_read(pg, BY_INDEX);
	client_run(pg, "SET enable_hashjoin = off; SET enable_sort = off; SET enable_material = off; SET %s = on",
		   is_merge ? "enable_mergejoin" : "enable_nestloop");
	client_plan_must(pg, BY_INDEX, question.at);
	actual = client_rows(pg, "%s", question.at);
	client_same_rows(actual, expected, question.at);
	PQclear(actual);
	PQclear(expected);
	client_run(pg, "RESET enable_mergejoin; RESET enable_nestloop; RESET enable_hashjoin; RESET enable_sort;"
		       " RESET enable_material");
}

/* ---- cursors ---- */

/* One FETCH, compared with all rows as they were read at once; position 0 is before the first. Returns the new position. */
static int fetch(struct random *dice, const PGresult *all, int position)
{
	int distance = 1 + (int)random_below(dice, random_chance(dice, 60) ? 5 : 400);
	int n = PQntuples(all), first, last, step = 1;
	unsigned kind = (unsigned)random_below(dice, 100);
	PGresult *rows;

	if (kind < 50) {
		rows = client_rows(pg, "FETCH FORWARD %d FROM c", distance);
		first = position + 1;
		position = last = position + distance;
	} else if (kind < 90) {
		rows = client_rows(pg, "FETCH BACKWARD %d FROM c", distance);
		first = position - 1;
		position = last = position - distance;
		step = -1;
	} else {
		position = first = last = 1 + (int)random_below(dice, (uint64_t)n + 1);
		rows = client_rows(pg, "FETCH ABSOLUTE %d FROM c", position);
	}
	position = position < 0 ? 0 : position > n ? n + 1 : position;
	last = last < 1 ? 1 : last > n ? n : last;
	for (int i = 0, at = first; step > 0 ? at <= last : at >= last; at += step, i++)
		if (i >= PQntuples(rows) || strcmp(PQgetvalue(rows, i, 0), PQgetvalue(all, at - 1, 0)) != 0)
			client_fail("a cursor gives '%s' as row %d of %d, not '%s'",
				    i < PQntuples(rows) ? PQgetvalue(rows, i, 0) : "nothing", at, n,
				    PQgetvalue(all, at - 1, 0));
	if (PQntuples(rows) != (step > 0 ? last - first : first - last) + 1 && PQntuples(rows) > 0)
		client_fail("a cursor gives %d rows", PQntuples(rows));
	PQclear(rows);
	return position;
}

/* A cursor goes to and fro while another session changes, merges and vacuums the table. */
static void ask_cursor(struct random_table *table)
{
	struct text question, statement;
	PGresult *all;
	int position = 0;

	text_set(&question, "SELECT id FROM t WHERE ");
	random_conditions(table, "", &question);
	text_add(&question, " ORDER BY ");
	random_table_keys(table, random_chance(table->dice, 40) ? " DESC" : "", &question);
	client_read(pg, BY_INDEX);
	client_run(pg, "BEGIN; SET LOCAL enable_sort = off; DECLARE c SCROLL CURSOR FOR %s", question.at);
	all = client_rows(pg, "%s", question.at);
	for (int n = 25; n > 0; n--) {
		position = fetch(table->dice, all, position);
		if (table->is_temporary)
			continue;
		if (random_chance(table->dice, 15)) {
			text_set(&statement, "%s", "");
			random_change(table, &statement);
			client_run(other, "%s", statement.at);
		}
		if (random_chance(table->dice, 15)) {
			random_upkeep(table, &statement);
			client_run(other, "%s", statement.at);
		}
	}
	PQclear(all);
	client_run(pg, "COMMIT");
}

static void ask(struct random_table *table)
{
	unsigned kind = (unsigned)random_below(table->dice, 100);

	if (kind < 40)
		ask_for_rows(table);
	else if (kind < 55)
		ask_for_counts(table);
	else if (kind < 85)
		ask_in_order(table);
	else
		ask_for_join(table);
}

/* ---- rounds ---- */

/* Some changes as one transaction, parts of which are undone, and which sees itself. */
static void change_in_transaction(struct random_table *table)
{
	struct random *dice = table->dice;
	int n_savepoints = 0;
	struct text sql;

	client_run(pg, "BEGIN");
	for (int n = 1 + (int)random_below(dice, 5); n > 0; n--) {
		if (random_chance(dice, 40))
			client_run(pg, "SAVEPOINT s%d", n_savepoints++);
		text_set(&sql, "%s", "");
		random_change(table, &sql);
		client_run(pg, "%s", sql.at);
		if (random_chance(dice, 30))
			ask(table);
		if (n_savepoints > 0 && random_chance(dice, 30))
			client_run(pg, "ROLLBACK TO s%d", n_savepoints = (int)random_below(dice, (uint64_t)n_savepoints));
	}
	client_run(pg, random_chance(dice, 70) ? "COMMIT" : "ROLLBACK");
}

static void take_step(struct random_table *table)
{
	unsigned kind = (unsigned)random_below(table->dice, 100);
	struct text sql;

	if (kind < 25) {
		text_set(&sql, "%s", "");
		random_change(table, &sql);
		client_run(pg, "%s", sql.at);
	} else if (kind < 35) {
		change_in_transaction(table);
	} else if (kind < 50) {
		random_maintenance(table, &sql);
		client_run(pg, "%s", sql.at);
	} else if (kind < 92) {
		ask(table);
	} else {
		ask_cursor(table);
	}
}

static void index_answers_as_table(void **state)
{
	unsigned n_rounds = random_rounds(14);

	(void)state;
	for (unsigned round = 0; round < n_rounds; round++) {
		struct random dice = random_from(random_seed() + round);
		struct random_table table;

		client_note("IFOREST_SEED=%" PRIu64 " IFOREST_ROUNDS=1", dice.seed);
		random_table_make(&table, &dice, pg);
		for (int n = 40; n > 0; n--)
			take_step(&table);
		client_entries_are_rows(pg, "t");
		client_check(pg, "t_if");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(index_answers_as_table) };

	return random_report(cmocka_run_group_tests(tests, set_up, tear_down));
}
