/* SQL that a hint of pg_ext recommends: it is run as the hint has it, after the statement that was refused, the index is then created,
 * and its answers are those of plain SQL. A hint with SQL that no case runs fails. */
#include <glob.h>

#include "tests/pg/client.h"
#include "tests/support/examples.h"

struct hint_case {
	const char *literal;  /* of the source: the text of the hint, as far as its first conversion */
	const char *set_up;   /* table h and what else is needed */
	const char *refused;  /* the statement that raises the hint; NULL: it is not to be provoked by SQL */
	const char *from, *until; /* the SQL in the hint is from this word, included, to that, excluded; NULL: `then` has it all */
	const char *then;     /* more statements, %s: the SQL of the hint */
	const char *question; /* a query whose answer is the same with the index and without, and uses it */
	const char *expected; /* of another query, what the person meant; NULL: none */
};

static const char rows[] =
	"CREATE TABLE h(created_at timestamptz NOT NULL, service text, duration_ms float8, js jsonb, price numeric, took interval, a integer,"
	" \"durationMs\" bigint); INSERT INTO h SELECT timestamptz '2024-03-01' + i * interval '1 second', 's' || i % 3, i % 100 + 0.25,"
	" jsonb_build_object('svc', 's' || i % 3), i % 7, i % 100 * interval '1 ms', i % 10, i % 1000 FROM generate_series(1, 20000) i";

static const struct hint_case cases[] = {
	{ "The time comes last, after the by columns: USING iforest %s.", rows, "CREATE INDEX ON h USING iforest (created_at, service)", "USING", ".",
	  "CREATE INDEX ON h %s", "SELECT service, count(*) FROM h WHERE created_at > '2024-03-01 01:00' GROUP BY 1", NULL },
	{ "Of milliseconds, INCLUDE and name %s after ALTER TABLE %s ADD COLUMN %s bigint GENERATED ALWAYS AS ", rows,
	  "CREATE INDEX ON h USING iforest (service, created_at) INCLUDE (duration_ms) WITH (duration = 'duration_ms')", "ALTER", ";",
	  "%s; CREATE INDEX h_if ON h USING iforest (service, created_at) INCLUDE (duration_ms_us) WITH (duration = 'duration_ms_us');"
	  "SELECT iforest_create_functions('h_if')", "SELECT service, sum(duration_ms_us) FROM h GROUP BY 1",
	  "SELECT (SELECT sum(duration_ms)::numeric * 1000 FROM h) = sum(sum_duration_ms_us) FROM h_if()" },
	{ "INCLUDE microseconds in its place: ALTER TABLE %s ADD COLUMN %s bigint GENERATED ALWAYS AS ", rows,
	  "CREATE INDEX ON h USING iforest (created_at) INCLUDE (took)", "ALTER", " STORED.",
	  "%s STORED; CREATE INDEX ON h USING iforest (created_at) INCLUDE (took_us)", "SELECT sum(took_us), max(took_us) FROM h",
	  "SELECT sum(took_us) = extract(epoch FROM sum(took)) * 1000000 FROM h" },
	{ "INCLUDE and name whole numbers, such as thousandths: ALTER TABLE %s ADD COLUMN %s bigint GENERATED ALWAYS ", rows,
	  "CREATE INDEX ON h USING iforest (created_at) INCLUDE (duration_ms) WITH (histogram = 'duration_ms(5, 50)')", "ALTER", ";",
	  "%s; CREATE INDEX ON h USING iforest (created_at) INCLUDE (duration_ms_thousandths) WITH (histogram = 'duration_ms_thousandths(5000, 50000)')",
	  "SELECT count(*) FILTER (WHERE duration_ms_thousandths <= 50000) FROM h",
	  "SELECT count(*) FILTER (WHERE duration_ms_thousandths <= 50000) = count(*) FILTER (WHERE duration_ms <= 50) FROM h" },
	{ "For example: %s = '%s(100, 500)'.", rows, "CREATE INDEX ON h USING iforest (created_at) INCLUDE (\"durationMs\") WITH (histogram = 'durationMs')",
	  "histogram", ".", "CREATE INDEX ON h USING iforest (created_at) INCLUDE (\"durationMs\") WITH (%s)",
	  "SELECT count(*) FILTER (WHERE \"durationMs\" > 100) FROM h", NULL },
	{ "For example: %s = '%s*%s'.", rows, "CREATE INDEX ON h USING iforest (created_at) INCLUDE (\"durationMs\") WITH (products = 'durationMs')",
	  "products", ".", "CREATE INDEX ON h USING iforest (created_at) INCLUDE (\"durationMs\") WITH (%s)",
	  "SELECT regr_count(\"durationMs\", \"durationMs\") FROM h", NULL },
	{ "Give the column another collation in the index: (%s COLLATE \"C\", ...).",
	  "CREATE COLLATION blind (provider = icu, locale = 'und', deterministic = false); CREATE TABLE h(ts timestamptz, s text COLLATE blind);"
	  " INSERT INTO h SELECT timestamptz '2024-03-01' + i * interval '1 second', 's' || i % 3 FROM generate_series(1, 20000) i",
	  "CREATE INDEX ON h USING iforest (s, ts)", "(", ", ...", "CREATE INDEX ON h USING iforest %s, ts)", "SELECT count(*) FROM h", NULL },
	{ "Values to be aggregated are INCLUDEd: probably USING iforest %s is meant.",
	  "CREATE TABLE h(ts timestamptz, took integer); INSERT INTO h SELECT timestamptz '2024-03-01' + i * interval '1 second', i FROM generate_series(1, 20000) i",
	  "CREATE INDEX ON h USING iforest (ts, took)", "USING", " is meant", "CREATE INDEX ON h %s", "SELECT max(took), count(*) FROM h", NULL },
	{ "Values are integers, real, double precision, numeric(p, s) with p at most %d, date and timestamps; of text, bytea and uuid different values can be counted: WITH (distinct = '%s').",
	  rows, "CREATE INDEX ON h USING iforest (created_at) INCLUDE (service)", "WITH", ".", "SET iforest.approximate_distinct = on; CREATE INDEX ON h USING iforest (created_at) INCLUDE (service) %s",
	  "SELECT count(DISTINCT service) FROM h", NULL },
	{ "Declare it numeric(p, s) with p at most %d and s from 0 to %d.", rows, "CREATE INDEX ON h USING iforest (created_at) INCLUDE (price)", NULL, NULL,
	  "ALTER TABLE h ALTER price TYPE numeric(18, 2); CREATE INDEX ON h USING iforest (created_at) INCLUDE (price)", "SELECT sum(price) FROM h", NULL },
	{ "To index a text, index an immutable function of it that gives a timestamp, or a column GENERATED ALWAYS AS (f(text)) STORED; by columns stand before a time.",
	  "CREATE FUNCTION f(text) RETURNS timestamp LANGUAGE sql IMMUTABLE AS $$ SELECT make_timestamp(left($1, 4)::int, 1, 1, 0, 0, 0) $$;"
	  "CREATE TABLE h(at text); INSERT INTO h SELECT 2000 + i % 20 FROM generate_series(1, 20000) i",
	  "CREATE INDEX ON h USING iforest (at)", "GENERATED", ";", "ALTER TABLE h ADD text text GENERATED ALWAYS AS (at) STORED; ALTER TABLE h DROP text;"
	  "ALTER TABLE h RENAME at TO text; ALTER TABLE h ADD ts timestamp %s; CREATE INDEX ON h USING iforest (ts)", "SELECT ts, count(*) FROM h GROUP BY 1", NULL },
	/* these are of damage, which other tests make, and of states that SQL alone does not reach */
	{ "Please REINDEX it.", NULL, NULL, NULL, NULL, NULL, NULL, NULL },
	{ "REINDEX INDEX rebuilds it in the format of this version.", NULL, NULL, NULL, NULL, NULL, NULL, NULL },
	{ "REINDEX INDEX or DROP INDEX: a concurrent build of it was cut off.", NULL, NULL, NULL, NULL, NULL, NULL, NULL },
	{ "REINDEX INDEX %s. With iforest.enable = off the tables are read.", NULL, NULL, NULL, NULL, NULL, NULL, NULL },
	{ "SELECT iforest_merge('%s', true) leaves one run.", NULL, NULL, NULL, NULL, NULL, NULL, NULL },
};

/* ---- sources ---- */

/* The words by which a hint is one with SQL. */
static bool has_sql(const char *hint)
{
	static const char *const words[] = { "ALTER TABLE", "GENERATED ALWAYS", "USING iforest", "REINDEX INDEX", "Please REINDEX", "For example",
					     "WITH (", "COLLATE \\\"C\\\", ...", "SELECT iforest", "Declare it numeric" };

	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (strstr(hint, words[i]))
			return true;
	return false;
}

/* The literals from here on that follow one another, as one; quotes stay escaped. */
static void read_literals(const char *at, struct text *hint)
{
	text_set(hint, "%s", "");
	for (;;) {
		while (*at == ' ' || *at == '\t' || *at == '\n')
			at++;
		if (*at != '"')
			return;
		for (at++; *at && *at != '"'; at++) {
			text_add(hint, "%c", *at);
			if (*at == '\\')
				text_add(hint, "%c", *++at);
		}
		at++;
	}
}

static void unescape(struct text *hint)
{
	size_t n = 0;

	for (size_t i = 0; i < hint->n; i++) {
		i += hint->at[i] == '\\';
		hint->at[n++] = hint->at[i];
	}
	hint->at[n] = 0;
	hint->n = n;
}

static bool is_a_case(const char *hint)
{
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		if (strncmp(hint, cases[i].literal, strlen(cases[i].literal)) == 0)
			return true;
	return false;
}

static void every_hint_with_sql_is_a_case(void **state)
{
	static const char call[] = "errhint(";
	static struct text hint;
	unsigned n_with_sql = 0;
	glob_t sources;

	(void)state;
	assert_int_equal(glob("pg_ext/*/*.c", 0, NULL, &sources), 0);
	for (size_t i = 0; i < sources.gl_pathc; i++) {
		char *source = read_whole_file(sources.gl_pathv[i]);

		for (char *at = source; (at = strstr(at, call)); at++) {
			read_literals(at + strlen(call), &hint);
			if (!has_sql(hint.at))
				continue;
			n_with_sql++;
			unescape(&hint);
			if (!is_a_case(hint.at))
				client_fail("no case of test_hints runs the SQL of %s: %s", sources.gl_pathv[i], hint.at);
		}
		free(source);
	}
	assert_true(n_with_sql >= 16);
	globfree(&sources);
}

/* ---- cases ---- */

static char noticed[2000];

static void note(void *context, const PGresult *result)
{
	const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);

	(void)context;
	snprintf(noticed, sizeof noticed, "%s", hint ? hint : "");
}

/* The SQL in the hint that the statement raises, as an error or a notice. */
static void sql_of_hint(PGconn *pg, const struct hint_case *tried, struct text *sql)
{
	PGresult *result = PQexec(pg, tried->refused);
	const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT), *from, *until;

	hint = hint ? hint : noticed;
	if (strncmp(hint, tried->literal, strcspn(tried->literal, "%")) != 0)
		client_fail("%s: the hint is: %s", tried->refused, hint);
	from = tried->from ? strstr(hint, tried->from) : NULL;
	until = from ? strstr(from, tried->until) : NULL;
	if (tried->from && !until)
		client_fail("%s: no SQL in the hint: %s", tried->refused, hint);
	text_set(sql, "%.*s", from ? (int)(until - from) : 0, from ? from : "");
	PQclear(result);
}

static void check_case(PGconn *pg, const struct hint_case *tried)
{
	static struct text sql, fix;
	const char *place;
	PGresult *plain, *indexed;

	client_run(pg, "%s", tried->set_up);
	client_run(pg, "SET client_min_messages = notice");
	noticed[0] = 0;
	sql_of_hint(pg, tried, &sql);
	client_run(pg, "DROP INDEX IF EXISTS h_ts_took_idx");
	place = strstr(tried->then, "%s");
	text_set(&fix, "%.*s%s%s", place ? (int)(place - tried->then) : (int)strlen(tried->then), tried->then, place ? sql.at : "",
		 place ? place + 2 : "");
	if (*client_try(pg, "%s", fix.at))
		client_fail("what a hint says fails: %s: %s", fix.at, PQerrorMessage(pg));
	client_run(pg, "VACUUM ANALYZE h");
	client_run(pg, "SET iforest.enable = off");
	plain = client_rows(pg, "SELECT q::text FROM (%s) q ORDER BY 1", tried->question);
	client_run(pg, "RESET iforest.enable");
	indexed = client_rows(pg, "SELECT q::text FROM (%s) q ORDER BY 1", tried->question);
	client_same_rows(indexed, plain, tried->question);
	PQclear(plain);
	PQclear(indexed);
	if (client_number(pg, "SELECT count(*) FROM iforest_explain($q$%s$q$) WHERE taken", tried->question) == 0)
		client_fail("the index is not used: %s", tried->question);
	if (tried->expected && client_number(pg, "SELECT (%s)::int", tried->expected) != 1)
		client_fail("that is not what was meant: %s", tried->expected);
	client_run(pg, "RESET ALL; DROP TABLE h");
}

static void sql_of_hints_works(void **state)
{
	PGconn *pg = *state;

	PQsetNoticeReceiver(pg, note, NULL);
	client_run(pg, "SET TimeZone = 'UTC'");
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		if (cases[i].refused)
			check_case(pg, &cases[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_hint_with_sql_is_a_case),
		cmocka_unit_test(sql_of_hints_works),
	};

	return cmocka_run_group_tests(tests, client_set_up, client_tear_down);
}
