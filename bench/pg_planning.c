/* bench/pg_planning.c -- Benchmark of the planning of queries that no iforest index answers in the end.
 *
 * pg_planning.sh starts it in a cluster of its own.
 *
 *   pg_planning ROWS ROUNDS     fills the tables, and measures
 *   pg_planning queries STATE   prints the queries over the table of a state, 0 to 3
 *
 * The same queries are planned over four tables that differ in one index: there is none, it is a B-tree, or it is an iforest
 * index, with iforest.enable off and on. The first two are planned in sessions that never load the extension. In a round each
 * query is planned once over each table, beginning with another one each time. The figure is the least of all rounds, as
 * pg_stat_statements measures it: other work on the machine only adds to it.
 */
#include "pg_session.h"

#include <stdlib.h>
#include <string.h>

enum { WITHOUT, BTREE_INSTEAD, OFF, ON, N_STATES };

static const char *const tables[N_STATES] = { "spans_plain", "spans_btree", "spans_off", "spans_on" };
static const char *const states[N_STATES] = { "no index", "a B-tree", "off", "on" };

/* %1$s: the table. */
static const char *const queries[] = {
	"SELECT * FROM %1$s WHERE id = 4711",
	"SELECT id, dur FROM %1$s WHERE service = 'service 3' ORDER BY ts DESC LIMIT 20",
	"SELECT * FROM %1$s WHERE ts >= '2024-01-01 10:00+00' AND ts < '2024-01-01 10:01+00' ORDER BY ts",
	"SELECT * FROM %1$s WHERE note LIKE '%%7%%' LIMIT 10",
	"SELECT a.id, b.dur FROM %1$s a JOIN %1$s b ON b.id = a.id + 1 WHERE a.ts >= '2024-01-01 10:00+00' AND a.dur > 900",
	"SELECT note, count(*) FROM %1$s GROUP BY note",
	"SELECT service, max(id), count(note) FROM %1$s GROUP BY service ORDER BY 1",
	"SELECT service, count(*) FROM %1$s WHERE note = 'note 3' AND ts >= '2024-01-01 10:00+00' GROUP BY service",
	"SELECT service, string_agg(note, ',') FROM %1$s WHERE ts < '2024-01-01 10:00+00' GROUP BY service",
	"SELECT service, sum(round(dur / 1000.0)) FROM %1$s GROUP BY service",
	"SELECT service, sum(dur * dur) FROM %1$s GROUP BY service",
	"SELECT round(dur / 100.0) AS bin, count(*) FROM %1$s GROUP BY 1 ORDER BY 1",
	"SELECT date_trunc('hour', ts), count(DISTINCT dur) FROM %1$s GROUP BY 1 ORDER BY 1",
	"SELECT service, mode() WITHIN GROUP (ORDER BY dur) FROM %1$s GROUP BY service",
	"SELECT DISTINCT note FROM %1$s",
	"SELECT service, id, row_number() OVER (PARTITION BY service ORDER BY id) FROM %1$s WHERE dur > 10",
	"SELECT count(*) FROM %1$s WHERE dur > length(note)",
	"SELECT service, status, count(note) FROM %1$s GROUP BY CUBE (service, status)",
	"UPDATE %1$s SET note = 'x' WHERE id = 4711",
	"DELETE FROM %1$s WHERE ts < '2024-01-01 00:05+00' AND dur < 3",
};
enum { N_QUERIES = sizeof queries / sizeof *queries };

static void print_queries(int state)
{
	for (int q = 0; q < N_QUERIES; q++) {
		printf(queries[q], tables[state]);
		printf("\n");
	}
}

static void load(long n_rows)
{
	for (int s = 0; s < N_STATES; s++) {
		RUN("CREATE TABLE %s(id bigint PRIMARY KEY, service text, status text, ts timestamptz, dur bigint, note text)",
		    tables[s]);
		RUN("INSERT INTO %s SELECT i, 'service ' || i %% 12, (ARRAY['ok', 'ok', 'error'])[i %% 3 + 1],"
		    " '2024-01-01 00:00+00'::timestamptz + i * interval '0.5 seconds', i * 7919 %% 1000, 'note ' || i %% 50"
		    " FROM generate_series(1, %ld) i",
		    tables[s], n_rows);
		RUN("CREATE INDEX ON %s (ts)", tables[s]);
	}
	run("CREATE INDEX ON spans_btree (service, status, ts) INCLUDE (dur)");
	run("CREATE INDEX ON spans_off USING iforest (service, status, ts) INCLUDE (dur)");
	run("CREATE INDEX ON spans_on USING iforest (service, status, ts) INCLUDE (dur)");
	run("VACUUM (FREEZE, ANALYZE)");
}

static void plan(PGconn *session, const char *query, int state)
{
	char asked[1024] = "EXPLAIN ";
	size_t length = strlen(asked);
	PGresult *result;

	snprintf(asked + length, sizeof asked - length, query, tables[state]);
	result = checked(session, PQexec(session, asked), asked);
	for (int row = 0; row < PQntuples(result); row++)
		if (strstr(PQgetvalue(result, row, 0), "IForest")) {
			fprintf(stderr, "pg_planning: an index answers %s\n", asked);
			exit(1);
		}
	PQclear(result);
}

/* Plans a query in all rounds, and reads the microseconds over each table. */
static void measure(PGconn *const *sessions, const char *query, int n_planned, double *microseconds)
{
	run("SELECT pg_stat_statements_reset()");
	for (int n = 0; n < n_planned; n++)
		for (int i = 0; i < N_STATES; i++)
			plan(sessions[(n + i) % N_STATES], query, (n + i) % N_STATES);
	for (int s = 0; s < N_STATES; s++) {
		char sql[256];

		snprintf(sql, sizeof sql, "SELECT 1000 * min(min_plan_time) FROM pg_stat_statements WHERE plans >= %d AND"
			 " query LIKE '%%%s%%'", n_planned, tables[s]);
		microseconds[s] = get_number(sql);
	}
}

static void print_line(const char *what, const double *microseconds)
{
	printf("%-96.96s", what);
	for (int s = 0; s < N_STATES; s++)
		printf(" %9.1f", microseconds[s]);
	printf(" %7.1f%% %10.1f%% %8.1f%%\n", 100 * (microseconds[ON] / microseconds[WITHOUT] - 1),
	       100 * (microseconds[ON] / microseconds[BTREE_INSTEAD] - 1), 100 * (microseconds[ON] / microseconds[OFF] - 1));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	double microseconds[N_STATES], sums[N_STATES] = { 0 };
	PGconn *sessions[N_STATES];
	int n_planned = argc == 3 ? atoi(argv[2]) : 0;

	if (argc == 3 && strcmp(argv[1], "queries") == 0 && n_planned >= 0 && n_planned < N_STATES) {
		print_queries(n_planned);
		return 0;
	}
	if (n_planned < 1) {
		fprintf(stderr, "usage: pg_planning ROWS ROUNDS, or pg_planning queries STATE\n");
		return 2;
	}
	connection = new_connection();
	run("SET client_min_messages = warning");
	run("CREATE EXTENSION iforest; CREATE EXTENSION pg_stat_statements");
	load(atol(argv[1]));
	for (int s = 0; s < N_STATES; s++)
		sessions[s] = new_connection();
	PQclear(checked(sessions[OFF], PQexec(sessions[OFF], "SET iforest.enable = off"), "SET"));
	printf("\n%-96s", "planning time, microseconds");
	for (int s = 0; s < N_STATES; s++)
		printf(" %9s", states[s]);
	printf("  on:none  on:B-tree   on:off\n");
	for (int q = 0; q < N_QUERIES; q++) {
		measure(sessions, queries[q], n_planned, microseconds);
		print_line(queries[q], microseconds);
		for (int s = 0; s < N_STATES; s++)
			sums[s] += microseconds[s];
	}
	print_line("all", sums);
	for (int s = 0; s < N_STATES; s++)
		PQfinish(sessions[s]);
	PQfinish(connection);
	return 0;
}
