/* bench/pg_aggregate.c -- Benchmark of unchanged SQL in PostgreSQL: with an iforest index, beside the fastest plan without
 * it.
 *
 * pg_aggregate.sh starts it in a cluster of its own.
 *
 *   pg_aggregate ROWS
 *
 * A plain figure is that of the fastest of several settings, with the B-trees, a BRIN index and the table to choose from:
 * the iforest indexes are then hidden. The other one is with all indexes and nothing set. Both are what a client waits for,
 * planning included; medians. Every answer is compared, as text.
 */
#include "pg_session.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FEWEST_ROUNDS = 3, USUAL_ROUNDS = 5, TRIES = 3 };
static const double SLOW_SECONDS = 1, ENOUGH_SECONDS = 0.5;

/* The table spans 1920 minutes. */
static const int64_t FIRST_SECOND = 1704067200; /* 2024-01-01 00:00 UTC */
static const int64_t SPAN_MICROSECONDS = 1920 * 60 * (int64_t)1000000;
#define ALL_MINUTES "ts >= '2024-01-01 00:00+00' AND ts < '2024-01-02 08:00+00'"
#define BY_MINUTE "date_bin('1 minute', ts, '2024-01-01 00:00+00')"
#define FIGURES "count(*), sum(dur), max(dur) FROM spans"
#define WINDOW "ts >= '%1$s' AND ts < '%2$s'"

struct item {
	const char *label;
	double percent;     /* of the time, at random places: WINDOW; 0: that of `rows` rows, or no window */
	int rows;
	bool is_brief;      /* also asked where not all is vacuumed */
	const char *sql;
};

static const struct item items[] = {
	{ "whole table: count, sum, max", 0, 0, true, "SELECT " FIGURES },
	{ "window of 10 %", 10, 0, false, "SELECT " FIGURES " WHERE " WINDOW },
	{ "window of 1 %", 1, 0, true, "SELECT " FIGURES " WHERE " WINDOW },
	{ "window of 0.001 %", 0.001, 0, true, "SELECT " FIGURES " WHERE " WINDOW },
	{ "window of 10 rows", 0, 10, true, "SELECT " FIGURES " WHERE " WINDOW },
	{ "1920 buckets: date_bin", 0, 0, true,
	  "SELECT " BY_MINUTE ", " FIGURES " WHERE " ALL_MINUTES " GROUP BY 1 ORDER BY 1" },
	{ "the same in any order", 0, 0, true, "SELECT " BY_MINUTE ", " FIGURES " WHERE " ALL_MINUTES " GROUP BY 1" },
	{ "1920 buckets: floor(extract(epoch FROM ts) / 60) * 60", 0, 0, false,
	  "SELECT floor(extract(epoch FROM ts) / 60) * 60, " FIGURES " WHERE " ALL_MINUTES " GROUP BY 1 ORDER BY 1" },
	{ "1920 buckets: date_trunc('minute')", 0, 0, false,
	  "SELECT date_trunc('minute', ts), " FIGURES " WHERE " ALL_MINUTES " GROUP BY 1 ORDER BY 1" },
	{ "1920 buckets of 1 %: date_bin", 1, 0, false,
	  "SELECT date_bin('0.6 seconds', ts, '%1$s'), " FIGURES " WHERE " WINDOW " GROUP BY 1 ORDER BY 1" },
	{ "1920 buckets x 32 tracks", 0, 0, false,
	  "SELECT track, " BY_MINUTE ", " FIGURES " WHERE " ALL_MINUTES " GROUP BY 1, 2 ORDER BY 1, 2" },
	{ "one track's 1920 buckets", 0, 0, false,
	  "SELECT " BY_MINUTE ", " FIGURES " WHERE track = 'track 7' AND " ALL_MINUTES " GROUP BY 1 ORDER BY 1" },
	{ "one track's window of 0.001 %", 0.001, 0, false, "SELECT " FIGURES " WHERE track = 'track 7' AND " WINDOW },
	{ "the 10 busiest tracks", 0, 0, false,
	  "SELECT track, sum(dur) FROM spans GROUP BY track ORDER BY sum(dur) DESC LIMIT 10" },
	{ "the 10 busiest tracks of 1 %", 1, 0, false,
	  "SELECT track, sum(dur) FROM spans WHERE " WINDOW " GROUP BY track ORDER BY sum(dur) DESC LIMIT 10" },
	{ "the longest 3 of a million rows", 0, 0, false, "SELECT " FIGURES " WHERE dur > 8388000" },
	{ "the longest 2 of a thousand rows", 0, 0, false, "SELECT " FIGURES " WHERE dur > 8000000" },
};
enum { N_ITEMS = sizeof items / sizeof *items };

/* The plain plans that are tried: settings, and what they are called. */
static const struct way {
	const char *name, *sql;
} ways[] = {
	{ "default", "SELECT 1" },
	{ "no JIT", "SET jit = off" },
	{ "no JIT, not parallel", "SET jit = off; SET max_parallel_workers_per_gather = 0" },
	{ "by index", "SET enable_seqscan = off; SET enable_bitmapscan = off" },
	{ "by index, no JIT", "SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off" },
	{ "by index, no JIT, not parallel", "SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off;"
					    " SET max_parallel_workers_per_gather = 0" },
	{ "by bitmap, no JIT", "SET enable_seqscan = off; SET enable_indexscan = off; SET enable_indexonlyscan = off;"
			       " SET jit = off" },
	/* times are thought to be as many groups as rows, and sorted for that */
	{ "hashed", "SET enable_sort = off; SET work_mem = '1GB'" },
	{ "hashed, no JIT", "SET enable_sort = off; SET work_mem = '1GB'; SET jit = off" },
};
enum { N_WAYS = sizeof ways / sizeof *ways };

static long n_rows, table_rows; /* of the table asked, which may be a part */
static const char *schema = "public"; /* its schema */

/* ---- data ---- */

/* Indexes of the table that is in the search path. */
static void make_indexes(void)
{
	run("CREATE INDEX if_ts ON spans USING iforest (ts) INCLUDE (dur);"
	    "CREATE INDEX if_track_ts ON spans USING iforest (track, ts) INCLUDE (dur)");
	run("CREATE INDEX btree_ts ON spans (ts) INCLUDE (dur);"
	    "CREATE INDEX btree_track_ts ON spans (track, ts) INCLUDE (dur);"
	    "CREATE INDEX brin_ts ON spans USING brin (ts)");
}

static void load(void)
{
	double spacing = (double)SPAN_MICROSECONDS / (double)n_rows;

	run("CREATE TABLE spans(id bigint, track text, ts timestamptz, dur bigint)");
	RUN("INSERT INTO spans SELECT i, 'track ' || ((i * 2654435761 >> 7) & 31), '2024-01-01 00:00+00'::timestamptz"
	    " + floor((i + (i * 40503 & 1023) / 1000.0::float8) * %.17g) * interval '1 microsecond',"
	    " (i * 2246822519 >> 3) & ((1 << ((i * 3266489917 >> 5) %% 24)::int) - 1)"
	    " FROM generate_series(0, %ld::bigint) i",
	    spacing, n_rows - 1);
	run("SET maintenance_work_mem = '1GB'");
	make_indexes();
	run("RESET maintenance_work_mem");
	run("VACUUM (FREEZE, ANALYZE) spans");
	settle();
}

/* Changes a row in every n-th page, so that it is not all-visible any more. */
static void touch_pages(int n, int row)
{
	RUN("UPDATE spans SET dur = dur + 1 WHERE ctid = ANY (ARRAY(SELECT format('(%%s,%d)', page)::tid"
	    " FROM generate_series(0, (SELECT relpages FROM pg_class WHERE oid = 'spans'::regclass) - 1, %d) page))",
	    row, n);
	settle();
}

/* Settings as a new session has them. */
static void set_back(bool is_enabled)
{
	RUN("RESET ALL; SET client_min_messages = warning; SET search_path = %s, public; SET iforest.enable = %s", schema,
	    is_enabled ? "on" : "off");
}

/* What the planner sees: with the iforest indexes or without. Rows are entered into them all the same. */
static void show_indexes(bool are_shown)
{
	set_back(are_shown);
	RUN("UPDATE pg_index SET indisvalid = %s WHERE indrelid = 'spans'::regclass"
	    " AND indexrelid IN (SELECT oid FROM pg_class WHERE relname LIKE 'if\\_%%')",
	    are_shown ? "true" : "false");
}

/* ---- asking ---- */

static void write_time(int64_t microseconds, char *to, size_t size)
{
	time_t seconds = (time_t)(FIRST_SECOND + microseconds / 1000000);
	struct tm parts;
	char text[32];

	gmtime_r(&seconds, &parts);
	strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
	snprintf(to, size, "%s.%06u+00", text, (unsigned)(microseconds % 1000000));
}

/* The question of an item, at a place that the round decides. */
static void write_question(const struct item *item, int round, char *sql, size_t size)
{
	double share = item->rows ? (double)item->rows / (double)table_rows : item->percent / 100;
	int64_t width = (int64_t)(share * (double)SPAN_MICROSECONDS), low;
	uint64_t state = 88172645463325252 + (uint64_t)round * 0x9e3779b97f4a7c15;
	char from[64], to[64];

	state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9;
	state = (state ^ state >> 27) * 0x94d049bb133111eb;
	low = (int64_t)((state ^ state >> 31) % (uint64_t)(SPAN_MICROSECONDS - width));
	write_time(low, from, sizeof from);
	write_time(low + width, to, sizeof to);
	snprintf(sql, size, item->sql, from, to);
}

/* Of rows that come in no order, the sum of each one's. */
static uint64_t digest_of(const PGresult *result, bool is_ordered)
{
	uint64_t digest = START_OF_DIGEST;

	for (int r = 0; r < PQntuples(result); r++)
		digest = is_ordered ? digest_of_row(result, r, digest) : digest + digest_of_row(result, r, START_OF_DIGEST);
	return digest;
}

/* Seconds; *digest is that of the answer. */
static double ask(const struct item *item, int round, uint64_t *digest)
{
	double start, seconds;
	char sql[1024];
	PGresult *result;

	write_question(item, round, sql, sizeof sql);
	start = now_seconds();
	result = checked(connection, PQexec(connection, sql), sql);
	seconds = now_seconds() - start;
	*digest = digest_of(result, strstr(sql, "ORDER BY") != NULL);
	PQclear(result);
	return seconds;
}

static size_t length_before(const char *text, const char *end)
{
	const char *at = strstr(text, end);

	return at ? (size_t)(at - text) : strlen(text);
}

/* How it reads: the node of the index, or the scan farthest down. */
static void name_plan(const struct item *item, char *name, size_t size)
{
	char sql[1024] = "EXPLAIN (COSTS off) ";
	PGresult *plan;

	write_question(item, 0, sql + strlen(sql), sizeof sql - strlen(sql));
	plan = checked(connection, PQexec(connection, sql), sql);
	snprintf(name, size, "no scan");
	for (int r = 0; r < PQntuples(plan); r++) {
		const char *text = PQgetvalue(plan, r, 0);

		text += strspn(text, " ->");
		if (strstr(text, "Scan") && !strstr(name, "Custom Scan"))
			snprintf(name, size, "%.*s", (int)length_before(text, " on spans"), text);
	}
	PQclear(plan);
}

/* ---- figures ---- */

struct figure {
	double median;
	char plan[160];
	uint64_t digests[MOST_ROUNDS]; /* of the answer of each round */
	int n_rounds;
};

static double median(double *figures, int n)
{
	qsort(figures, (size_t)n, sizeof *figures, compare_doubles);
	return figures[n / 2];
}

/* Rounds for a question that takes so long. */
static int rounds_for(double seconds)
{
	double n = ENOUGH_SECONDS / seconds;

	if (seconds > SLOW_SECONDS)
		return FEWEST_ROUNDS;
	return n < USUAL_ROUNDS ? USUAL_ROUNDS : n > MOST_ROUNDS ? MOST_ROUNDS : (int)n;
}

/* The shortest of some tries; fewer where it is slow and cannot be the best. */
static double shortest_of_tries(const struct item *item, double best)
{
	uint64_t digest;
	double shortest = ask(item, 0, &digest);
	bool is_slow = shortest > SLOW_SECONDS;

	for (int t = 0; t < (is_slow ? 1 : TRIES) && (!is_slow || shortest < 1.5 * best); t++) {
		double now = ask(item, 0, &digest);

		shortest = now < shortest ? now : shortest;
	}
	return shortest;
}

/* Asks in each of the ways, then in the fastest in as many rounds as it is worth. */
static void measure_plain(const struct item *item, struct figure *plain)
{
	double seconds[MOST_ROUNDS], best = HUGE_VAL;
	const struct way *fastest = ways;
	char plan[128];

	show_indexes(false);
	for (int w = 0; w < N_WAYS; w++) {
		double now;

		set_back(false);
		run(ways[w].sql);
		now = shortest_of_tries(item, best);
		if (now < best) {
			best = now;
			fastest = &ways[w];
		}
	}
	set_back(false);
	run(fastest->sql);
	name_plan(item, plan, sizeof plan);
	snprintf(plain->plan, sizeof plain->plan, "%s (%s)", plan, fastest->name);
	plain->n_rounds = rounds_for(best);
	for (int r = 0; r < plain->n_rounds; r++)
		seconds[r] = ask(item, r, &plain->digests[r]);
	plain->median = median(seconds, plain->n_rounds);
}

static void must_agree(const struct item *item, int round, uint64_t plain, uint64_t ours)
{
	char sql[1024];

	if (plain == ours)
		return;
	write_question(item, round, sql, sizeof sql);
	fprintf(stderr, "pg_aggregate: ANSWERS DIFFER: %s\n", sql);
	exit(1);
}

/* At the places that the plain plan was asked at, in turn. */
static void measure_ours(const struct item *item, struct figure *ours, const struct figure *plain)
{
	double seconds[MOST_ROUNDS];
	uint64_t digest;

	show_indexes(true);
	(void)ask(item, 0, &digest);
	name_plan(item, ours->plan, sizeof ours->plan);
	ours->n_rounds = rounds_for(ask(item, 0, &digest));
	if (ours->n_rounds < plain->n_rounds)
		ours->n_rounds = plain->n_rounds;
	for (int r = 0; r < ours->n_rounds; r++) {
		int place = r % plain->n_rounds;

		seconds[r] = ask(item, place, &ours->digests[r]);
		must_agree(item, place, plain->digests[place], ours->digests[r]);
	}
	ours->median = median(seconds, ours->n_rounds);
}

static void print_heading(const char *what)
{
	printf("\n%s\n%-54s %12s %12s %11s  %s\n", what, "", "plain, ms", "iforest, ms", "plain:if", "plans");
}

static void print_figures(const char *label, const struct figure *plain, const struct figure *ours)
{
	bool is_ours = strstr(ours->plan, "Custom Scan") != NULL;

	printf("%-54s %12.3f %12.3f %10.2fx  %s%s%s\n", label, plain->median * 1e3, ours->median * 1e3,
	       plain->median / ours->median, plain->plan, is_ours ? "" : "; with iforest: ", is_ours ? "" : ours->plan);
	fflush(stdout);
}

static void measure(const char *state, bool is_brief)
{
	print_heading(state);
	for (int i = 0; i < N_ITEMS; i++) {
		struct figure plain, ours;

		if (is_brief && !items[i].is_brief)
			continue;
		measure_plain(&items[i], &plain);
		measure_ours(&items[i], &ours, &plain);
		print_figures(items[i].label, &plain, &ours);
	}
	print_shape("if_ts");
}

/* ---- a table that was never vacuumed ---- */

/* Every fourth row, into indexes that are there already. */
static void load_fresh(void)
{
	schema = "fresh";
	table_rows = (n_rows + 3) / 4;
	run("DROP SCHEMA IF EXISTS fresh CASCADE; CREATE SCHEMA fresh");
	set_back(true);
	run("CREATE TABLE spans(LIKE public.spans)");
	make_indexes();
	run("INSERT INTO spans SELECT * FROM public.spans WHERE id % 4 = 0 ORDER BY id");
	settle();
}

/* The very first question after loading: no row says yet that its transaction is committed. */
static void ask_first(bool is_ours, struct figure *figure)
{
	load_fresh();
	show_indexes(is_ours);
	name_plan(&items[0], figure->plan, sizeof figure->plan);
	figure->median = ask(&items[0], 0, &figure->digests[0]);
}

static void measure_fresh(void)
{
	struct figure plain, ours;

	print_heading("a fourth of the rows in a table just loaded, with its indexes there before; no VACUUM, no ANALYZE");
	ask_first(true, &ours);
	ask_first(false, &plain);
	must_agree(&items[0], 0, plain.digests[0], ours.digests[0]);
	print_figures("whole table, the first query after loading, once", &plain, &ours);
	show_indexes(true);
	run("SET enable_indexonlyscan = off; SET iforest.enable = off; SELECT sum(id) FROM spans");
	measure("  the same after a scan of the whole table", true);
	set_back(true);
	run("DROP SCHEMA fresh CASCADE");
	schema = "public";
	table_rows = n_rows;
	set_back(true);
}

int main(int argc, char **argv)
{
	char text[256];

	n_rows = argc == 2 ? atol(argv[1]) : 0;
	if (n_rows < 200000) {
		fprintf(stderr, "pg_aggregate: ROWS, at least 200000\n");
		return 2;
	}
	table_rows = n_rows;
	connection = new_connection();
	run("SET client_min_messages = warning; CREATE EXTENSION iforest");
	get_text("SELECT version()", text, sizeof text);
	printf("%s\n", text);
	load();
	get_text("SELECT format('heap %s, iforest %s and %s, B-trees %s and %s, BRIN %s; time zone %s',"
		 " pg_size_pretty(pg_relation_size('spans')), pg_size_pretty(pg_relation_size('if_ts')),"
		 " pg_size_pretty(pg_relation_size('if_track_ts')), pg_size_pretty(pg_relation_size('btree_ts')),"
		 " pg_size_pretty(pg_relation_size('btree_track_ts')), pg_size_pretty(pg_relation_size('brin_ts')),"
		 " current_setting('TimeZone'))",
		 text, sizeof text);
	printf("%ld rows over 32 hours, nearly in time order, 32 tracks interleaved, durations up to 2^23\n%s\n", n_rows, text);
	measure("vacuumed, warm", false);
	measure_fresh();
	touch_pages(20, 1);
	measure("then a row in every 20th page updated: 5 % of the pages not all-visible", true);
	touch_pages(5, 2);
	measure("then a row in every 5th page updated: 20 % of the pages not all-visible", true);
	printf("\nall answers are the same\n");
	PQfinish(connection);
	return 0;
}
