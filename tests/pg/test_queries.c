/* Random grouped queries over random tables: with the index's answers (iforest.enable = on) the rows, their types and names
 * are those that PostgreSQL finds without them. Tables have dead rows, rows of open transactions and pending pages.
 *
 *   IFOREST_QUERIES=1000000 IFOREST_SEED=7 tests/pg/cluster.sh run build/tests/pg/test_queries     another and longer run
 *   IFOREST_QUERIES=120 IFOREST_SEED=20240300 ...          a round that failed alone
 *   IFOREST_FAILURES=100 ...                               ends after so many differences, not after the fifth
 *   IFOREST_SHOW=1 ...                                     each query, whether an index answers it, and if not, why
 */
#include <inttypes.h>

#include "tests/pg/client.h"
#include "tests/pg/random_query_answer.h"
#include "tests/pg/random_table.h"

enum { PHASES = 8, QUERIES_OF_PHASE = 15, MOST_FAILURES = 5 };

static PGconn *pg, *other;
static uint64_t round_seed;
static bool is_in_transaction, is_other_in_transaction, is_shown, is_done;
static unsigned n_asked, n_taken, n_raised, n_spared, n_cut_short, n_failures;

/* ---- statements, which a failure shows ---- */

static FILE *script;
static char *script_text;
static size_t script_size;
static struct text reasons;

static void note_reason(void *context, const PGresult *result)
{
	const char *detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);

	(void)context;
	if (detail && reasons.n < 2000)
		text_add(&reasons, " [%s]", detail);
}

static void begin_script(void)
{
	if (script)
		fclose(script);
	free(script_text);
	script = open_memstream(&script_text, &script_size);
}

static void run(PGconn *session, const char *sql)
{
	fprintf(script, "%s%s%s", session == other ? "/* other session */ " : "", sql,
		sql[strlen(sql) - 1] == '\n' ? "" : ";\n");
	client_run(session, "%s", sql);
}

static void print_query(const struct query *query)
{
	struct text sql;

	if (query->is_prepared) {
		query_write_prepare(query, &sql);
		text_add(&sql, ";\n");
		for (unsigned i = 0; i < query->n_earlier; i++) {
			query_write_execute(query, false, &sql);
			text_add(&sql, ";\n");
		}
		query_write_execute(query, true, &sql);
	} else {
		query_write(query, &sql);
	}
	fprintf(stderr, "%s;\n", sql.at);
}

static void print_script(void)
{
	fflush(script);
	fprintf(stderr, "---- IFOREST_SEED=%" PRIu64 " IFOREST_QUERIES=%d; the table:\n%s\n", round_seed,
		PHASES * QUERIES_OF_PHASE, script_text);
}

/* The statements that led to the failure, the query, and as much of it as still fails. */
static void report(const struct query *query, const struct manner *manner, const struct text *difference)
{
	static const char *const ways[] = { "", ", by cursor", ", into a table", ", into the table itself" };
	static struct query shrunk, smaller;
	struct text again;
	unsigned n = 0;

	print_script();
	fprintf(stderr, "-- the query (%s, %s%s%s):\n", manner->is_forced ? "scans disabled" : "by cost", manner->plans,
		manner->is_reader ? ", as reader" : "", ways[manner->way]);
	print_query(query);
	fprintf(stderr, "-- %s\n", difference->at);
	shrunk = smaller = *query;
	while (query_leave_out(&smaller, n)) {
		if (answers_differ(pg, &smaller, manner, &again)) {
			shrunk = smaller;
			n = 0;
		} else {
			n++;
		}
		smaller = shrunk;
	}
	answers_differ(pg, &shrunk, manner, &again);
	fprintf(stderr, "-- the least that differs:\n");
	print_query(&shrunk);
	fprintf(stderr, "-- %s\n", again.at);
}

static void show(const struct query *query, const struct manner *manner, const struct answer *answer)
{
	if (*answer->state)
		fprintf(stderr, "-- raised %s: %s", answer->state, PQresultErrorMessage(answer->result));
	else
		fprintf(stderr, "-- %s%s, %d rows:%s\n", manner->is_forced ? "scans disabled, " : "",
			answer->is_taken ? "taken" : "plain", PQntuples(answer->result), answer->is_taken ? "" : reasons.at);
	print_query(query);
}

/* Had a LIMIT not ended it before the rows that do, would the one plan have raised what the other one has? */
static bool is_cut_short(const struct query *query, const struct manner *manner, const struct answer *plain,
			 const struct answer *indexed)
{
	static struct query whole;
	struct answer answer;
	bool is_plain = !*plain->state, is_raised;

	if (!*plain->state == !*indexed->state || !strstr(query->order, " LIMIT "))
		return false;
	whole = *query;
	*whole.order = 0;
	answer = answer_ask(pg, &whole, manner, !is_plain);
	is_raised = strcmp(answer.state, is_plain ? indexed->state : plain->state) == 0;
	answer_forget(&answer);
	return is_raised;
}

static enum manner_way choose_way(const struct query *query, bool is_reader, struct random *dice)
{
	unsigned kind = (unsigned)random_below(dice, 100);

	return query->is_prepared ? kind < 4 ? INTO_TABLE : AS_ROWS
	       : kind < 4	  ? BY_CURSOR
	       : kind < 7	  ? INTO_TABLE
	       : kind < 10 && !is_reader && query->shape != SCALARS ? INTO_ITSELF
								    : AS_ROWS;
}

/* Goes on after a difference. */
static void check(const struct query *query, struct random *dice)
{
	static const char *const plans[] = { "force_generic_plan", "force_custom_plan", "auto" };
	struct manner manner = { .is_forced = random_chance(dice, 70), .is_of_rows = query->shape == FIRST_ROWS,
				 .is_reader = random_chance(dice, 4),
				 .is_in_transaction = is_in_transaction,
				 .plans = plans[random_below(dice, COUNT_OF(plans))] };
	struct answer plain, indexed;
	struct text difference;

	manner.way = choose_way(query, manner.is_reader, dice);
	plain = answer_ask(pg, query, &manner, false);
	text_set(&reasons, "%s", "");
	indexed = answer_ask(pg, query, &manner, true);
	if (is_cut_short(query, &manner, &plain, &indexed)) {
		n_cut_short++;
		answer_forget(&plain);
		answer_forget(&indexed);
		return;
	}
	n_asked++;
	n_taken += indexed.is_taken;
	n_raised += *plain.state != 0;
	n_spared += answer_is_spared(&plain, &indexed);
	if (is_shown)
		show(query, &manner, &indexed);
	answer_compare(&plain, &indexed, &difference);
	if (strncmp(plain.state, "42", 2) == 0 && strcmp(plain.state, "42501") != 0)
		text_set(&difference, "such a query is not to be made: %s", PQresultErrorMessage(plain.result));
	answer_forget(&plain);
	answer_forget(&indexed);
	if (difference.n == 0)
		return;
	n_failures++;
	report(query, &manner, &difference);
}

/* ---- rounds ---- */

static void change(struct query_table *table, PGconn *session, bool inserts_only)
{
	struct text sql;

	text_set(&sql, "%s", "");
	if (inserts_only || random_chance(table->dice, 30))
		query_table_insert(table, 1 + (long long)random_below(table->dice, 300), &sql);
	else
		query_table_change(table, &sql);
	run(session, sql.at);
}

static void maintain(struct query_table *table)
{
	struct text sql;

	text_set(&sql, "%s", "");
	query_table_maintain(table, &sql);
	run(pg, sql.at);
}

static void end_transactions(struct random *dice)
{
	if (is_in_transaction)
		run(pg, random_chance(dice, 60) ? "COMMIT" : "ROLLBACK");
	if (is_other_in_transaction)
		run(other, random_chance(dice, 60) ? "COMMIT" : "ROLLBACK");
	is_in_transaction = is_other_in_transaction = false;
}

/* A transaction that stays open: rows that nobody else sees, some undone. */
static void begin_own(struct query_table *table)
{
	struct random *dice = table->dice;

	run(pg, "BEGIN");
	is_in_transaction = true;
	change(table, pg, is_other_in_transaction);
	if (random_chance(dice, 50)) {
		run(pg, "SAVEPOINT s");
		change(table, pg, is_other_in_transaction);
		run(pg, random_chance(dice, 50) ? "ROLLBACK TO s" : "RELEASE s");
	}
}

/* A snapshot that sees what others have changed and vacuumed since. */
static void begin_old(struct query_table *table)
{
	run(pg, "BEGIN ISOLATION LEVEL REPEATABLE READ");
	is_in_transaction = true;
	run(pg, "SELECT count(*) FROM t");
	if (is_other_in_transaction || table->is_temporary)
		return;
	change(table, other, false);
	run(other, "VACUUM t");
}

/* Plans run in a worker wherever they may, and in more of them. */
static void set_parallel(bool is_on)
{
	char sql[300];

	snprintf(sql, sizeof sql,
		 is_on ? "SET %s = on; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;"
			 " SET min_parallel_table_scan_size = 0; SET min_parallel_index_scan_size = 0"
		       : "RESET %s; RESET parallel_setup_cost; RESET parallel_tuple_cost;"
			 " RESET min_parallel_table_scan_size; RESET min_parallel_index_scan_size",
		 PQserverVersion(pg) >= 160000 ? "debug_parallel_query" : "force_parallel_mode");
	run(pg, sql);
}

static void begin_phase(struct query_table *table, unsigned phase)
{
	struct random *dice = table->dice;
	char sql[60];

	end_transactions(dice);
	if (phase > 0)
		change(table, pg, false);
	while (random_chance(dice, 40))
		maintain(table);
	if (random_chance(dice, 50))
		change(table, pg, phase == 0);
	snprintf(sql, sizeof sql, "SET TimeZone = '%s'", query_zone(table, dice));
	run(pg, sql);
	run(pg, random_chance(dice, 15) ? "SET work_mem = '64kB'" : "SET work_mem = '4MB'");
	run(pg, random_chance(dice, 8) ? "SET iforest.float_aggregates = off" : "SET iforest.float_aggregates = on");
	set_parallel(random_chance(dice, 8));
	if (random_chance(dice, 30) && !table->is_temporary) {
		run(other, "BEGIN");
		is_other_in_transaction = true;
		change(table, other, false);
	}
	if (random_chance(dice, 25))
		begin_own(table);
	else if (random_chance(dice, 15))
		begin_old(table);
}

static void make_table(struct query_table *table, struct random *dice)
{
	struct text sql;

	text_set(&sql, "%s", "");
	query_table_make(table, dice, &sql);
	query_table_insert(table, 1 + (long long)random_below(dice, random_chance(dice, 80) ? 1200 : 3), &sql);
	run(pg, sql.at);
	query_table_sample(table, pg);
}

/* So many differences are told, each with its query. */
static unsigned most_failures(void)
{
	const char *request = getenv("IFOREST_FAILURES");

	return request ? (unsigned)strtoul(request, NULL, 10) : MOST_FAILURES;
}

static void play_round(uint64_t seed, unsigned n_queries)
{
	static struct query query;
	struct random dice = random_from(seed);
	static struct query_table table;

	round_seed = seed;
	client_note("IFOREST_SEED=%" PRIu64 " IFOREST_QUERIES=%d", seed, PHASES * QUERIES_OF_PHASE);
	begin_script();
	make_table(&table, &dice);
	for (unsigned n = 0; n < n_queries && n_failures < most_failures(); n++) {
		if (n % QUERIES_OF_PHASE == 0)
			begin_phase(&table, n / QUERIES_OF_PHASE);
		query_make(&query, &table);
		check(&query, &dice);
	}
	end_transactions(&dice);
}

/* ---- the test ---- */

static int set_up(void **state)
{
	(void)state;
	is_shown = getenv("IFOREST_SHOW") != NULL;
	pg = client_connect(NULL);
	other = client_connect(NULL);
	random_table_prepare(pg);
	client_run(pg, "CREATE ROLE reader");
	client_run(pg, "SET statement_timeout = '60s'; SET iforest.explain_decline = %s;"
		       " SET client_min_messages = %s",
		   is_shown ? "on" : "off", is_shown ? "notice" : "error");
	PQsetNoticeReceiver(pg, note_reason, NULL);
	client_run(other, "SET statement_timeout = '60s'");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	if (!is_done && script)
		print_script();
	PQfinish(pg);
	PQfinish(other);
	return 0;
}

/* Whether this build answers queries from the index at all. */
static bool takes_queries(void)
{
	PGresult *plan;
	bool taken;

	client_run(pg, "CREATE TABLE probe(ts bigint); CREATE INDEX ON probe USING iforest (ts)");
	answer_set_up(pg, &(struct manner){ .is_forced = true, .plans = "auto" }, true);
	plan = client_rows(pg, "EXPLAIN (COSTS off) SELECT count(*) FROM probe");
	taken = answer_plan_is_taken(plan);
	PQclear(plan);
	return taken;
}

static void index_answers_as_table(void **state)
{
	const char *request = getenv("IFOREST_QUERIES");
	unsigned long n = request ? strtoul(request, NULL, 10) : 10000, n_round = PHASES * QUERIES_OF_PHASE;
	bool may_take = takes_queries();

	(void)state;
	for (uint64_t seed = random_seed(); n > 0 && n_failures < most_failures(); seed++) {
		unsigned n_queries = (unsigned)(n < n_round ? n : n_round);

		play_round(seed, n_queries);
		n -= n_queries;
	}
	is_done = true;
	fprintf(stderr, "%u queries, %u answered from an index, %u raised an error, %u more without the index alone, %u differ;"
			" %u more that a LIMIT kept from an error\n",
		n_asked, n_taken, n_raised - n_spared, n_spared, n_failures, n_cut_short);
	assert_int_equal(n_failures, 0);
	if (may_take && n_asked >= 1000 && n_taken < n_asked / 5)
		client_fail("only %u of %u queries were answered from an index", n_taken, n_asked);
	if (n_asked >= 1000 && n_spared + n_cut_short > n_asked / 50)
		client_fail("%u of %u queries raise an error in one way alone: too many to tell whether it is right",
			    n_spared + n_cut_short, n_asked);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(index_answers_as_table) };

	return random_report(cmocka_run_group_tests(tests, set_up, tear_down));
}
