/* bench/pg_index.c -- Benchmark of the cost of an iforest index in PostgreSQL, beside the covering B-tree of the same
 * columns: made, copied into, inserted into, vacuumed, and scanned as any index is.
 *
 * pg_index.sh starts it in a cluster of its own.
 *
 *   pg_index PART...      of: create sizes copy insert transaction first vacuum scans
 *
 * The environment says ROWS, COPY_ROWS, ROUNDS (figures are medians, contenders take turns) and TRACK (text or integer).
 * Every index is compared with its table: what a scan through it counts and sums, and iforest_check.
 */
#include "pg_session.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SESSIONS = 4, INSERTS = 200000, INSERTS_IN_TRANSACTION = 1000, SCANS = 1000 };

static const char *const kinds[] = { "(ts) INCLUDE (dur)", "(track, ts) INCLUDE (dur)" };
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static long n_rows, n_copied;

static void make_index(const char *table, int contender, int kind)
{
	if (contender != NO_INDEX)
		RUN("CREATE INDEX %s_index ON %s USING %s %s", table, table, contenders[contender], kinds[kind]);
}

/* ---- parts ---- */

static void load(void)
{
	const char *track = getenv("TRACK");

	RUN("CREATE TABLE spans(id bigint, track %s, ts bigint, dur bigint)", track);
	RUN("INSERT INTO spans SELECT i, %s((i * 2654435761 >> 7) & 31), i * 1000 + (i * 40503 & 1023),"
	    " (i * 2246822519 >> 3) & ((1 << ((i * 3266489917 >> 5) %% 24)::int) - 1)"
	    " FROM generate_series(0, %ld::bigint) i",
	    strcmp(track, "text") == 0 ? "'track ' || " : "", n_rows - 1);
	run("VACUUM (FREEZE, ANALYZE) spans");
}

static void measure_create(const char *settings, const char *label)
{
	heading(label);
	run(settings);
	for (int kind = 0; kind < N_KINDS; kind++) {
		double seconds[N_CONTENDERS][MOST_ROUNDS], bytes[N_CONTENDERS] = { 0 };
		char what[128];

		for (int round = 0; round < n_rounds; round++)
			for (int c = BTREE; c <= IFOREST; c++) {
				double start;

				run("DROP INDEX IF EXISTS spans_index");
				settle();
				start = now_seconds();
				make_index("spans", c, kind);
				seconds[c][round] = now_seconds() - start;
				bytes[c] = get_number("SELECT pg_relation_size('spans_index')");
			}
		snprintf(what, sizeof what, "CREATE INDEX %s", kinds[kind]);
		line_of_medians(what, "s", seconds, BTREE);
		line("  its size", "bytes a row", -1, bytes[BTREE] / (double)n_rows, bytes[IFOREST] / (double)n_rows);
		run("SELECT iforest_check('spans_index', true)");
	}
	run("DROP INDEX spans_index; RESET ALL; SET client_min_messages = warning");
}

static void part_create(void)
{
	measure_create("SELECT 1", "defaults: maintenance_work_mem 64 MB, two parallel workers allowed");
	measure_create("SET max_parallel_maintenance_workers = 0", "no parallel workers");
	measure_create("SET maintenance_work_mem = '1GB'", "maintenance_work_mem 1 GB, two parallel workers allowed");
}

/* CREATE INDEX of tables of several sizes, by one process and then by as many as are allowed. */
static void measure_size(long n, int kind, const char *workers)
{
	double seconds[N_CONTENDERS][MOST_ROUNDS], busy[N_CONTENDERS][MOST_ROUNDS];
	int times = n < 200000 ? (int)(200000 / n) : 1;
	char what[128];

	RUN("SET max_parallel_maintenance_workers = %s", workers);
	for (int round = 0; round < n_rounds; round++)
		for (int c = BTREE; c <= IFOREST; c++) {
			settle();
			seconds[c][round] = -now_seconds();
			busy[c][round] = -processor_seconds(&connection, 1);
			for (int i = 0; i < times; i++) {
				make_index("sized", c, kind);
				run("DROP INDEX sized_index");
			}
			seconds[c][round] = (seconds[c][round] + now_seconds()) / times * 1000;
			busy[c][round] = (busy[c][round] + processor_seconds(&connection, 1)) / times * 1000;
		}
	snprintf(what, sizeof what, "%ld rows, %s, %s workers", n, kinds[kind], workers);
	line_of_medians(what, "ms", seconds, BTREE);
	line_of_medians("  processor time of the session", "ms", busy, BTREE);
}

static void part_sizes(void)
{
	heading("CREATE INDEX and DROP INDEX, by the number of rows");
	for (long n = 10000; n <= n_rows; n *= 10) {
		RUN("DROP TABLE IF EXISTS sized; CREATE TABLE sized AS SELECT * FROM spans WHERE id < %ld", n);
		run("VACUUM (FREEZE, ANALYZE) sized");
		for (int kind = 0; kind < N_KINDS; kind++) {
			measure_size(n, kind, "0");
			if (n >= 1000000)
				measure_size(n, kind, "2");
		}
	}
	run("DROP TABLE sized; RESET ALL; SET client_min_messages = warning");
}

static void write_files(void)
{
	RUN("COPY (SELECT * FROM spans WHERE id < %ld) TO '%s/part'", n_copied, getenv("PGHOST"));
	for (int s = 0; s < SESSIONS; s++)
		RUN("COPY (SELECT * FROM spans WHERE id < %ld AND id %% %d = %d) TO '%s/part%d'", n_copied, SESSIONS, s,
		    getenv("PGHOST"), s);
}

static void copy_by_sessions(PGconn **sessions, int n)
{
	for (int s = 0; s < n; s++) {
		char sql[512];

		if (n == 1)
			snprintf(sql, sizeof sql, "COPY copied FROM '%s/part'", getenv("PGHOST"));
		else
			snprintf(sql, sizeof sql, "COPY copied FROM '%s/part%d'", getenv("PGHOST"), s);
		if (!PQsendQuery(sessions[s], sql))
			(void)checked(sessions[s], NULL, sql);
	}
	for (int s = 0; s < n; s++)
		for (PGresult *result; (result = PQgetResult(sessions[s]));)
			PQclear(checked(sessions[s], result, "COPY"));
}

static void begin_wal(char *position, size_t size)
{
	get_text("SELECT pg_current_wal_insert_lsn()", position, size);
}

/* Megabytes since then. */
static double end_wal(const char *position)
{
	char sql[128];

	snprintf(sql, sizeof sql, "SELECT (pg_current_wal_insert_lsn() - '%s') / 1e6", position);
	return get_number(sql);
}

static void measure_copy(int kind, PGconn **sessions, int n_sessions)
{
	double seconds[N_CONTENDERS][MOST_ROUNDS], busy[N_CONTENDERS][MOST_ROUNDS], wal[N_CONTENDERS][MOST_ROUNDS];
	double bytes[N_CONTENDERS] = { 0 };
	char what[128], before[64];

	for (int round = 0; round < n_rounds; round++)
		for (int c = 0; c < N_CONTENDERS; c++) {
			double start;

			run("DROP TABLE IF EXISTS copied; CREATE TABLE copied(LIKE spans)");
			make_index("copied", c, kind);
			settle();
			begin_wal(before, sizeof before);
			busy[c][round] = -processor_seconds(sessions, n_sessions);
			start = now_seconds();
			copy_by_sessions(sessions, n_sessions);
			seconds[c][round] = now_seconds() - start;
			busy[c][round] += processor_seconds(sessions, n_sessions);
			wal[c][round] = end_wal(before);
			settle();
			if (c != NO_INDEX) {
				bytes[c] = get_number("SELECT pg_relation_size('copied_index')");
				compare_answers("copied", n_copied);
			}
		}
	snprintf(what, sizeof what, "COPY of %ld rows, %s, %d session%s", n_copied, kinds[kind], n_sessions,
		 n_sessions == 1 ? "" : "s");
	line_of_medians(what, "s", seconds, NO_INDEX);
	line_of_medians("  processor time of the sessions", "s", busy, NO_INDEX);
	line_of_medians("  its WAL", "MB", wal, NO_INDEX);
	line("  index size then", "bytes a row", -1, bytes[1] / (double)n_copied, bytes[2] / (double)n_copied);
	print_shape("copied_index");
}

static void part_copy(void)
{
	PGconn *sessions[SESSIONS];

	for (int s = 0; s < SESSIONS; s++)
		sessions[s] = new_connection();
	heading("COPY from a file of the server");
	for (int kind = 0; kind < N_KINDS; kind++) {
		measure_copy(kind, sessions, 1);
		measure_copy(kind, sessions, SESSIONS);
	}
	for (int s = 0; s < SESSIONS; s++)
		PQfinish(sessions[s]);
	run("DROP TABLE copied");
}

/* Rows one by one: each contender's table in turn gets a transaction of them. Each statement is timed, without the commits;
 * microseconds. */
static void insert_rows(double times[N_CONTENDERS][INSERTS], double *busy, double *wal)
{
	static const char *const sql_of_rows = "SELECT * FROM spans WHERE id < 200000 ORDER BY id";
	PGresult *rows = checked(connection, PQexec(connection, sql_of_rows), sql_of_rows);

	for (int c = 0; c < N_CONTENDERS; c++) {
		char name[16], sql[64];

		busy[c] = wal[c] = 0;
		snprintf(name, sizeof name, "row%d", c);
		snprintf(sql, sizeof sql, "INSERT INTO inserted%d VALUES($1, $2, $3, $4)", c);
		PQclear(checked(connection, PQprepare(connection, name, sql, 4, NULL), sql));
	}
	for (int first = 0; first < INSERTS; first += INSERTS_IN_TRANSACTION)
		for (int c = 0; c < N_CONTENDERS; c++) {
			char name[16], before[64];

			snprintf(name, sizeof name, "row%d", c);
			begin_wal(before, sizeof before);
			busy[c] -= processor_seconds(&connection, 1);
			run("BEGIN");
			for (int i = first; i < first + INSERTS_IN_TRANSACTION; i++) {
				const char *values[4];
				double start;

				for (int v = 0; v < 4; v++)
					values[v] = PQgetvalue(rows, i, v);
				start = now_seconds();
				PQclear(checked(connection, PQexecPrepared(connection, name, 4, values, NULL, NULL, 0),
						name));
				times[c][i] = (now_seconds() - start) * 1e6;
			}
			run("COMMIT");
			busy[c] += processor_seconds(&connection, 1);
			wal[c] += end_wal(before);
		}
	PQclear(rows);
	run("DEALLOCATE ALL");
}

static void part_insert(void)
{
	static double times[N_CONTENDERS][INSERTS];

	heading("INSERT of 200 000 rows, one a statement, 1 000 in a transaction");
	for (int kind = 0; kind < N_KINDS; kind++) {
		double mean[N_CONTENDERS][MOST_ROUNDS], busy[N_CONTENDERS][MOST_ROUNDS], rare[N_CONTENDERS][MOST_ROUNDS];
		double longest[N_CONTENDERS][MOST_ROUNDS], wal[N_CONTENDERS][MOST_ROUNDS];
		double busy_now[N_CONTENDERS], wal_now[N_CONTENDERS];

		for (int round = 0; round < n_rounds; round++) {
			for (int c = 0; c < N_CONTENDERS; c++) {
				RUN("DROP TABLE IF EXISTS inserted%d; CREATE TABLE inserted%d(LIKE spans)", c, c);
				if (c != NO_INDEX)
					RUN("CREATE INDEX ON inserted%d USING %s %s", c, contenders[c], kinds[kind]);
			}
			settle();
			insert_rows(times, busy_now, wal_now);
			for (int c = 0; c < N_CONTENDERS; c++) {
				double total = 0;
				char table[16];

				for (int i = 0; i < INSERTS; i++)
					total += times[c][i];
				mean[c][round] = total / INSERTS;
				busy[c][round] = busy_now[c] / INSERTS * 1e6;
				wal[c][round] = wal_now[c] / INSERTS * 1e6;
				qsort(times[c], INSERTS, sizeof *times[c], compare_doubles);
				rare[c][round] = times[c][INSERTS - INSERTS / 10000];
				longest[c][round] = times[c][INSERTS - 1];
				snprintf(table, sizeof table, "inserted%d", c);
				if (c != NO_INDEX)
					compare_answers(table, INSERTS);
			}
		}
		printf("%s\n", kinds[kind]);
		line_of_medians("  mean", "us", mean, NO_INDEX);
		line_of_medians("  processor time of the server, a row", "us", busy, NO_INDEX);
		line_of_medians("  WAL, a row", "bytes", wal, NO_INDEX);
		line_of_medians("  one in 10 000 takes longer than", "us", rare, NO_INDEX);
		line_of_medians("  the longest", "us", longest, NO_INDEX);
	}
	run("DROP TABLE inserted0, inserted1, inserted2");
}

static void part_transaction(void)
{
	heading("CREATE TABLE, CREATE INDEX, COPY of all rows in one transaction");
	for (int kind = 0; kind < N_KINDS; kind++) {
		double seconds[N_CONTENDERS][MOST_ROUNDS], busy[N_CONTENDERS][MOST_ROUNDS], wal[N_CONTENDERS][MOST_ROUNDS];

		for (int round = 0; round < n_rounds; round++)
			for (int c = 0; c < N_CONTENDERS; c++) {
				char before[64];

				run("DROP TABLE IF EXISTS loaded");
				settle();
				begin_wal(before, sizeof before);
				busy[c][round] = -processor_seconds(&connection, 1);
				seconds[c][round] = -now_seconds();
				run("BEGIN; CREATE TABLE loaded(LIKE spans)");
				make_index("loaded", c, kind);
				RUN("COPY loaded FROM '%s/part'; COMMIT", getenv("PGHOST"));
				seconds[c][round] += now_seconds();
				busy[c][round] += processor_seconds(&connection, 1);
				wal[c][round] = end_wal(before);
				if (c != NO_INDEX)
					compare_answers("loaded", n_copied);
			}
		line_of_medians(kinds[kind], "s", seconds, NO_INDEX);
		line_of_medians("  processor time of the session", "s", busy, NO_INDEX);
		line_of_medians("  its WAL", "MB", wal, NO_INDEX);
		print_shape("loaded_index");
	}
	run("DROP TABLE loaded");
}

/* The first question of all after COPY and a checkpoint: of the table by a parallel scan, by the B-tree, and by the index. */
static void part_first(void)
{
	double seconds[N_CONTENDERS][MOST_ROUNDS], wal[N_CONTENDERS][MOST_ROUNDS], answers[N_CONTENDERS];

	heading("the first question after COPY: count(*), sum(dur), max(dur) of all rows but ten");
	for (int round = 0; round < n_rounds; round++)
		for (int c = 0; c < N_CONTENDERS; c++) {
			char before[64];

			run("DROP TABLE IF EXISTS copied; CREATE TABLE copied(LIKE spans)");
			make_index("copied", c, 0);
			/* the planner knows the times, and nobody has looked at the pages */
			RUN("COPY copied FROM '%s/part'; ANALYZE copied; TRUNCATE copied", getenv("PGHOST"));
			RUN("COPY copied FROM '%s/part'", getenv("PGHOST"));
			run("CHECKPOINT");
			begin_wal(before, sizeof before);
			seconds[c][round] = -now_seconds();
			answers[c] = get_number("SELECT count(*) + sum(dur) + max(dur) FROM copied WHERE ts >= 10000");
			seconds[c][round] = (seconds[c][round] + now_seconds()) * 1000;
			wal[c][round] = end_wal(before);
		}
	if (answers[NO_INDEX] != answers[BTREE] || answers[NO_INDEX] != answers[IFOREST]) {
		fprintf(stderr, "pg_index: ANSWERS DIFFER\n");
		exit(1);
	}
	line_of_medians("  time", "ms", seconds, NO_INDEX);
	line_of_medians("  its WAL", "MB", wal, NO_INDEX);
	run("DROP TABLE copied");
}

/* Of VACUUM VERBOSE, what it says of the index. */
static void print_of_index(void *context, const char *message)
{
	const char *at = strstr(message, "index \"");

	(void)context;
	while (at && (!strstr(at, "pages:") || strstr(at, "pages:") > strchr(at, '\n')))
		at = strstr(at + 1, "index \"");
	if (at)
		printf("    %.*s\n", (int)strcspn(at, "\n"), at);
}

static void part_vacuum(void)
{
	static const char *const steps[] = { "DELETE FROM aged WHERE id < %ld", "VACUUM (VERBOSE) aged",
					     "VACUUM (VERBOSE) aged" };
	static const char *const labels[] = { "  DELETE of the older half", "  VACUUM", "  VACUUM again" };

	heading("the older half deleted");
	PQsetNoticeProcessor(connection, print_of_index, NULL);
	for (int kind = 0; kind < N_KINDS; kind++) {
		double seconds[3][N_CONTENDERS];

		printf("%s\n", kinds[kind]);
		for (int c = 0; c < N_CONTENDERS; c++) {
			run("DROP TABLE IF EXISTS aged; CREATE TABLE aged AS SELECT * FROM spans");
			run("VACUUM (FREEZE) aged");
			make_index("aged", c, kind);
			settle();
			run("SET client_min_messages = info");
			for (int step = 0; step < 3; step++) {
				double start;

				/* what was given up may be used again once later transactions are over */
				run("SELECT txid_current()");
				start = now_seconds();
				RUN(steps[step], n_rows / 2);
				seconds[step][c] = now_seconds() - start;
			}
			run("SET client_min_messages = warning");
			if (c != NO_INDEX)
				compare_answers("aged", n_rows - n_rows / 2);
			if (c == IFOREST)
				run("SELECT iforest_check('aged_index', true)");
		}
		for (int step = 0; step < 3; step++)
			line(labels[step], "s", seconds[step][0], seconds[step][1], seconds[step][2]);
	}
	run("DROP TABLE aged");
}

/* Microseconds a query, of SCANS with the same places for each contender; their answers are added to the sum. */
static double scan(const char *sql, int n_parameters, long width, double *sum)
{
	unsigned long long state = 88172645463325252;
	double start;

	*sum = 0;
	PQclear(checked(connection, PQprepare(connection, "scan", sql, n_parameters, NULL), sql));
	start = now_seconds();
	for (int i = 0; i < SCANS; i++) {
		char track[32], from[32], to[32];
		const char *values[3] = { track, from, to };
		PGresult *result;
		long low;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		low = (long)(state % (unsigned long long)(n_rows * 1000 - width));
		snprintf(track, sizeof track, "%s%d", strcmp(getenv("TRACK"), "text") == 0 ? "track " : "",
			 (int)(state >> 40 & 31));
		snprintf(from, sizeof from, "%ld", low);
		snprintf(to, sizeof to, "%ld", low + width);
		result = checked(connection, PQexecPrepared(connection, "scan", n_parameters, values, NULL, NULL, 0), sql);
		for (int r = 0; r < PQntuples(result); r++)
			for (int f = 0; f < PQnfields(result); f++)
				*sum += atof(PQgetvalue(result, r, f)) * (f + 1);
		PQclear(result);
	}
	start = now_seconds() - start;
	run("DEALLOCATE scan");
	return start / SCANS * 1e6;
}

static void print_plan(int contender, const char *sql)
{
	char text[1024];

	snprintf(text, sizeof text, "PREPARE planned AS %s", sql);
	run(text);
	PGresult *plan = PQexec(connection, strstr(sql, "$3") ? "EXPLAIN (COSTS off) EXECUTE planned('7', 5000000, 8000000)"
							     : "EXPLAIN (COSTS off) EXECUTE planned('7')");

	for (int r = 0; r < PQntuples(plan); r++)
		if (strstr(PQgetvalue(plan, r, 0), "Scan"))
			printf("    %s: %s\n", contenders[contender], PQgetvalue(plan, r, 0));
	PQclear(plan);
	run("DEALLOCATE planned");
}

static void part_scans(void)
{
	static const char *const labels[] = {
		"sum(dur) of about 100 rows of a track", "  the same and a column that is not in the index",
		"  of about 10 000 rows", "ORDER BY ts DESC LIMIT 10 of a track"
	};
	static const char *const queries[] = {
		"SELECT count(*), sum(dur) FROM spans WHERE track = $1 AND ts >= $2 AND ts < $3",
		"SELECT count(*), sum(dur), sum(id) FROM spans WHERE track = $1 AND ts >= $2 AND ts < $3",
		"SELECT count(*), sum(dur) FROM spans WHERE track = $1 AND ts >= $2 AND ts < $3",
		"SELECT ts, dur FROM spans WHERE track = $1 ORDER BY ts DESC LIMIT 10"
	};
	static const long widths[] = { 3200000, 3200000, 320000000, 3200000 };
	double times[4][N_CONTENDERS][MOST_ROUNDS], sums[4][N_CONTENDERS];

	heading("1 000 ordinary scans by (track, ts), each");
	for (int round = 0; round < n_rounds; round++)
		for (int c = BTREE; c <= IFOREST; c++) {
			run("DROP INDEX IF EXISTS spans_index");
			make_index("spans", c, 1);
			run("VACUUM ANALYZE spans");
			for (int q = 0; q < 4; q++) {
				if (round == 0)
					print_plan(c, queries[q]);
				(void)scan(queries[q], q == 3 ? 1 : 3, widths[q], &sums[q][c]);
				times[q][c][round] = scan(queries[q], q == 3 ? 1 : 3, widths[q], &sums[q][c]);
			}
		}
	for (int q = 0; q < 4; q++) {
		line_of_medians(labels[q], "us", times[q], BTREE);
		if (sums[q][BTREE] != sums[q][IFOREST]) {
			fprintf(stderr, "pg_index: ANSWERS DIFFER: %f and %f\n", sums[q][BTREE], sums[q][IFOREST]);
			exit(1);
		}
	}
	run("DROP INDEX spans_index");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*measure)(void);
	} parts[] = { { "create", part_create },	   { "sizes", part_sizes }, { "copy", part_copy },
		      { "insert", part_insert },	   { "transaction", part_transaction }, { "first", part_first },
		      { "vacuum", part_vacuum },	   { "scans", part_scans } };
	char version[256];

	n_rows = atol(getenv("ROWS"));
	n_copied = n_rows < atol(getenv("COPY_ROWS")) ? n_rows : atol(getenv("COPY_ROWS"));
	n_rounds = atoi(getenv("ROUNDS"));
	if (n_rows < 1000000 || n_rounds < 1 || n_rounds > MOST_ROUNDS) {
		fprintf(stderr, "pg_index: ROWS is at least 1000000, ROUNDS 1 to %d\n", MOST_ROUNDS);
		return 2;
	}
	connection = new_connection();
	run("SET client_min_messages = warning; CREATE EXTENSION iforest");
	get_text("SELECT version()", version, sizeof version);
	printf("%s\n%ld rows in time order, 32 tracks (%s) interleaved, durations of 1 ns to 16 ms; medians of %d\n",
	       version, n_rows, getenv("TRACK"), n_rounds);
	load();
	write_files();
	for (int a = 1; a < argc; a++)
		for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
			if (strcmp(argv[a], parts[p].name) == 0)
				parts[p].measure();
	printf("\nall answers are the same\n");
	PQfinish(connection);
	return 0;
}
