/* trace2pg on small files that are written for the purpose: what becomes of their events, and what is refused. */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "tests/tools/harness.h"

static const char small[] =
	"{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n"
	"{\"ph\": \"M\", \"pid\": 1, \"tid\": 2, \"name\": \"thread_name\", \"args\": {\"name\": \"main\"}},\n"
	"{\"ph\": \"B\", \"pid\": 1, \"tid\": 2, \"ts\": 10, \"name\": \"frame\", \"cat\": \"ui\", \"args\": {\"n\": 7}},\n"
	"{\"ph\": \"X\", \"pid\": 1, \"tid\": 2, \"ts\": -12.5, \"dur\": 4.25, \"name\": \"layout\"},\n"
	"{\"ph\": \"C\", \"pid\": 1, \"ts\": 30, \"name\": \"memory\", \"id\": 5, \"args\": {\"used\": 12, \"free\": \"4.5\"}},\n"
	"{\"ph\": \"E\", \"pid\": 1, \"tid\": 2, \"ts\": 30},\n"
	"{\"ph\": \"X\", \"pid\": 1, \"tid\": \"gpu\", \"ts\": 21, \"name\": \"no end\"},\n"
	"{\"ph\": \"C\", \"pid\": 1, \"ts\": 40, \"name\": \"load\", \"args\": {\"\": 1e2}},\n"
	"{\"ph\": \"X\", \"pid\": 1, \"tid\": \"gpu\", \"ts\": 21, \"dur\": 8}\n"
	"]}\n";

static const char small_spans[] =
	"VALUES (1::bigint, 10000::bigint, 20000::bigint, '1', '2', '1/2', 'frame', 'ui', '{\"n\": 7}', 0::bigint, 'main', 'thread'),"
	" (2, -12500, 4250, '1', '2', '1/2', 'layout', NULL, NULL, 0, 'main', 'thread'), "
	" (3, 21000, 8000, '1', 'gpu', '1/gpu', '', NULL, NULL, 0, NULL, 'thread')";
static const char small_counters[] =
	"VALUES (1::bigint, 30000::bigint, '1', 'memory', '5', 'used', 12::float8), (2, 30000, '1', 'memory', '5', 'free', 4.5),"
	" (3, 40000, '1', 'load', NULL, '', 100)";

#define SPAN_COLUMNS "id, ts, dur, pid, tid, track, name, category, args, depth, thread, kind"
#define COUNTER_COLUMNS "id, ts, pid, name, counter_id, key, value"

static void forget_tables(void)
{
	run("DROP TABLE IF EXISTS spans, counters, instants, flows, tracks, left_out");
}

static void assert_small_is_loaded(void)
{
	same_rows("SELECT " SPAN_COLUMNS " FROM spans ORDER BY id", small_spans);
	same_rows("SELECT " COUNTER_COLUMNS " FROM counters ORDER BY id", small_counters);
	same_rows("SELECT track, kind, name, pid, tid, parent FROM tracks ORDER BY id",
		  "VALUES ('1', 'process', NULL, '1', '', NULL), ('1/2', 'thread', 'main', '1', '2', '1'), ('1/gpu', 'thread', NULL, '1', 'gpu', '1')");
	same_rows("SELECT finding, what, n FROM left_out", "SELECT 'left out', 'X without dur', 1");
}

static void every_column_is_as_documented(void **state)
{
	struct child child;

	(void)state;
	forget_tables();
	LOAD(&child, 0, "--no-index", write_text("small.json", small));
	assert_small_is_loaded();
	assert_says(child.out, "3 spans in \"spans\", 3 counter samples in \"counters\"");
	assert_says(child.out, "left out: 1 X without dur");
	assert_string_equal(child.err, "");
	LOAD(&child, 0, "--no-index", "--no-args", "--replace", file_path("small.json"));
	assert_int_equal(number_of("SELECT count(*) FROM spans WHERE args IS NULL"), 3);
}

/* Runs the queries that the program printed: each has an answer. */
static void ask_what_is_printed(char *out, int n_questions)
{
	char *line = strstr(out, "Ask next");
	int n_asked = 0;

	assert_non_null(line);
	for (line = strtok(line, "\n"); line; line = strtok(NULL, "\n")) {
		PGresult *result;

		if (strncmp(line, "  SELECT ", 9) != 0)
			continue;
		result = PQexec(pg, line);
		if (PQntuples(result) == 0 || PQgetisnull(result, 0, 0) ||
		    (strcmp(PQfname(result, 0), "count") == 0 && strcmp(PQgetvalue(result, 0, 0), "0") == 0))
			fail_msg("no answer: %s %s", line, PQresultErrorMessage(result));
		PQclear(result);
		n_asked++;
	}
	assert_int_equal(n_asked, n_questions);
}

/* One early event does not leave the suggested windows empty. */
static void what_is_suggested_has_an_answer(void **state)
{
	static const char early[] =
		"[{\"ph\":\"X\",\"tid\":1,\"ts\":0,\"dur\":1},{\"ph\":\"X\",\"tid\":1,\"ts\":1000,\"dur\":1},"
		"{\"ph\":\"X\",\"tid\":1,\"ts\":1001,\"dur\":1},{\"ph\":\"C\",\"name\":\"c\",\"ts\":500,\"args\":{\"v\":1}}]";
	struct child child;

	(void)state;
	forget_tables();
	LOAD(&child, 0, "--no-index", write_text("early.json", early));
	ask_what_is_printed(child.out, 4);
}

/* What is not loaded is said first; a file of which nothing is loaded is an error. */
static void what_is_left_out_is_said_first(void **state)
{
	static const char half[] = "[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"ph\":\"N\",\"ts\":1}]";
	struct child child;

	(void)state;
	forget_tables();
	LOAD(&child, 0, "--no-index", write_text("half.json", half));
	assert_says(child.out, "half.json: 50 % of it is left out (1 of 2 events), most of it as: phase N\n");
	forget_tables();
	LOAD(&child, 1, "--no-index", write_text("nothing.json", "[{\"ph\":\"N\",\"ts\":1}]"));
	assert_says(child.err, "nothing in it is a span, a counter sample or an instant: all is left out, most of it as \"phase N\"");
}

static void gzip_is_read_too(void **state)
{
	const char *path = file_path("small.gz");
	gzFile file = gzopen(path, "wb");
	struct child child;

	(void)state;
	forget_tables();
	assert_int_equal(gzwrite(file, small, sizeof small - 1), sizeof small - 1);
	assert_int_equal(gzclose(file), Z_OK);
	LOAD(&child, 0, "--no-index", path);
	assert_small_is_loaded();
}

/* Every batch commits both tables: any size gives the same rows. */
static void batches_of_any_size_give_the_same_rows(void **state)
{
	static const char *const sizes[] = { "1", "2", "3", "5", "6", "7" };
	struct child child;

	(void)state;
	write_text("small.json", small);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		forget_tables();
		LOAD(&child, 0, "--no-index", "--batch", sizes[i], file_path("small.json"));
		assert_small_is_loaded();
	}
}

static void a_trace_without_rows_makes_empty_tables(void **state)
{
	struct child child;

	(void)state;
	forget_tables();
	LOAD(&child, 0, "--no-index", write_text("empty.json", "[]"));
	assert_int_equal(number_of("SELECT (SELECT count(*) FROM spans) + (SELECT count(*) FROM counters)"), 0);
	assert_null(strstr(child.out, "Ask next"));
	LOAD(&child, 0, "--no-index", "--resume", write_text("small.json", small));
	assert_small_is_loaded();
}

static void existing_tables_are_not_touched_unasked(void **state)
{
	struct child child;

	(void)state;
	forget_tables();
	run("CREATE TABLE counters(mine int); INSERT INTO counters VALUES(1)");
	LOAD(&child, 1, "--no-index", write_text("small.json", small));
	assert_says(child.err, "relation \"counters\" already exists");
	assert_says(child.err, "--replace drops such tables, --resume goes on with them");
	assert_int_equal(number_of("SELECT mine FROM counters"), 1);
	assert_int_equal(number_of("SELECT count(*) FROM pg_class WHERE relname = 'spans'"), 0);
	LOAD(&child, 1, "--no-index", "--resume", file_path("small.json"));
	assert_says(child.err, "cannot find out what is committed: ");
	assert_int_equal(number_of("SELECT mine FROM counters"), 1);
	LOAD(&child, 0, "--no-index", "--replace", file_path("small.json"));
	assert_small_is_loaded();
}

/* What is replaced is dropped with the first rows of the new file, not before. */
static void replace_needs_a_trace(void **state)
{
	struct child child;

	(void)state;
	forget_tables();
	LOAD(&child, 0, "--no-index", write_text("small.json", small));
	LOAD(&child, 1, "--replace", file_path("nowhere.json"));
	assert_says(child.err, "nowhere.json: cannot open the file: No such file");
	LOAD(&child, 1, "--replace", write_text("other.json", "{\"no\": \"trace\"}"));
	assert_says(child.err, "there is no array \"traceEvents\"");
	assert_says(child.err, "committed: nothing");
	assert_small_is_loaded();
}

static void tables_have_the_names_that_were_given(void **state)
{
	struct child child;

	(void)state;
	forget_tables();
	run("CREATE SCHEMA \"My \"\"traces\"\"\"");
	LOAD(&child, 0, "--no-index", "--spans", "\"My \"\"traces\"\"\".\"x'; DROP TABLE y; --\\\"", "--counters", "public.MINE",
	     write_text("small.json", small));
	same_rows("SELECT " SPAN_COLUMNS " FROM \"My \"\"traces\"\"\".\"x'; DROP TABLE y; --\\\" ORDER BY id", small_spans);
	same_rows("SELECT " COUNTER_COLUMNS " FROM public.mine ORDER BY id", small_counters);
	LOAD(&child, 0, "--no-index", "--resume", "--spans", "\"My \"\"traces\"\"\".\"x'; DROP TABLE y; --\\\"", "--counters", "mine",
	     file_path("small.json"));
	run("DROP SCHEMA \"My \"\"traces\"\"\" CASCADE; DROP TABLE mine");
	LOAD(&child, 1, "--spans", "no_such.spans", file_path("small.json"));
	assert_says(child.err, "schema \"no_such\" does not exist");
}

static void wrong_usage_is_told(void **state)
{
	static const char *const names[] = { "", ".", "a.", ".a", "a.b.c", "\"a", "a\"b", "\"a\"b", "\"\"", "\"\".a" };
	struct child child;

	(void)state;
	LOAD(&child, 2, "--no-index");
	assert_says(child.err, "give the file to load");
	LOAD(&child, 2, "a.json", "b.json");
	assert_says(child.err, "b.json");
	LOAD(&child, 2, "--resume", "--replace", "a.json");
	LOAD(&child, 2, "--bath", "a.json");
	LOAD(&child, 2, "--batch", "0", "a.json");
	LOAD(&child, 2, "--batch", "10k", "a.json");
	LOAD(&child, 2, "--batch", "99999999999999999999", "a.json");
	LOAD(&child, 2, "--spans", "Counters", "a.json");
	assert_says(child.err, "a table each");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		LOAD(&child, 2, "--spans", names[i], "a.json");
		assert_says(child.err, "is not the name of a table");
	}
	LOAD(&child, 0, "--version");
	assert_says(child.out, "trace2pg ");
	LOAD(&child, 0, "--help");
	assert_says(child.out, "usage: trace2pg");
	LOAD(&child, 1, "-d", "host=/no/such/folder", write_text("small.json", small));
	assert_says(child.err, "/no/such/folder");
}

static long long n_loaded_rows(void)
{
	return number_of("SELECT (SELECT count(*) FROM spans) + (SELECT count(*) FROM counters) + (SELECT count(*) FROM instants) + "
			 "(SELECT count(*) FROM flows) + (SELECT count(*) FROM tracks) + (SELECT count(*) FROM left_out)");
}

static void limits_are_kept(void **state)
{
	struct child child;
	char most_rows[30], most_bytes[30];
	long long n_rows;

	(void)state;
	forget_tables();
	LOAD(&child, 0, "--no-index", write_text("small.json", small));
	n_rows = n_loaded_rows();
	LOAD(&child, 1, "--no-index", "--replace", "--max-rows", "2", file_path("small.json"));
	assert_says(child.err, "more than 2 rows, which --max-rows allows");
	assert_int_equal(n_loaded_rows(), 2);
	snprintf(most_rows, sizeof most_rows, "%lld", n_rows - 1);
	LOAD(&child, 1, "--no-index", "--resume", "--max-rows", most_rows, file_path("small.json"));
	assert_int_equal(n_loaded_rows(), n_rows - 1);
	snprintf(most_rows, sizeof most_rows, "%lld", n_rows);
	LOAD(&child, 0, "--no-index", "--resume", "--max-rows", most_rows, file_path("small.json"));
	assert_small_is_loaded();
	snprintf(most_bytes, sizeof most_bytes, "%zu", strlen(small) - 1);
	LOAD(&child, 1, "--no-index", "--replace", "--max-bytes", most_bytes, file_path("small.json"));
	assert_says(child.err, "small.json: the unpacked file has more than the");
	snprintf(most_bytes, sizeof most_bytes, "%zu", strlen(small));
	LOAD(&child, 0, "--no-index", "--replace", "--max-bytes", most_bytes, file_path("small.json"));
	assert_small_is_loaded();
	LOAD(&child, 2, "--max-rows", "0", "a.json");
	assert_says(child.err, "--max-rows needs a number of rows");
	LOAD(&child, 2, "--max-bytes", "1k", "a.json");
	assert_says(child.err, "--max-bytes needs a number of bytes");
}

static void assert_harmless(const char *printed)
{
	bool is_harmless = !strstr(printed, "\xE2\x80\xAE") && !strstr(printed, "\xC2\x9B");

	for (const char *at = printed; *at; at++)
		is_harmless = is_harmless && ((unsigned char)*at >= ' ' || *at == '\n' || *at == '\t');
	if (!is_harmless)
		fail_msg("%s", printed);
}

/* Names of files, of what a trace has, and of options, in all that is printed of a load. */
static void names_are_no_commands_to_the_terminal(void **state)
{
	static const char name[] = "n\033]0;PWN\007\xC2\x9B\xE2\x80\xAE.json";
	static const char broken[] = "[{\"ph\": \"X\", \"ts\": 1, \"dur\": 1, \"name\": \"a\"}, {\"ph\": \"\033]0;PWN\007\", \"ts\": 2}, "
				     "{\"ph\": \"e\", \"cat\": \"c\", \"id\": 7, \"name\": \"\xE2\x80\xAE\", \"ts\": 2}, "
				     "{\"ph\": \"X\", \"ts\": 3, \"dur\": 1, \"name\": \"a\"}";
	static const struct {
		int status;
		const char *arguments[5];
	} loads[] = {
		{ 0, { "--no-index", "--replace", name } }, { 1, { "--no-index", "--replace", "--max-rows", "1", name } }, { 1, { "--no-index", "--resume", name } },
		{ 1, { "--replace", "/none/\033]0;PWN\007" } }, { 1, { "-d", "host=/no/\033]0;PWN\007", name } }, { 2, { "--max-rows", "\033]0;PWN\007", "a" } },
		{ 2, { "--spans", "a\"\033]0;PWN\007", "a" } }, { 2, { "--\033]0;PWN\007", "a" } }, { 2, { "a", "\033]0;PWN\007" } },
	};

	(void)state;
	forget_tables();
	for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
		const char *arguments[6] = { NULL };
		struct child child;

		write_text(name, i == 2 ? "[{\"ph\": \"X\", \"ts\": 7, \"dur\": 1, \"name\": \"other\"}]" : broken);
		for (int a = 0; a < 5; a++)
			arguments[a] = loads[i].arguments[a] == name ? file_path(name) : loads[i].arguments[a];
		run_child(&child, loads[i].status, arguments);
		assert_harmless(child.out);
		assert_harmless(child.err);
		assert_true(strstr(child.out, "]0;PWN") || strstr(child.err, "]0;PWN") || strstr(child.err, "max-rows"));
	}
	forget_tables();
}

/* Bytes: NUL, overlong, a surrogate, beyond U+10FFFF, cut, a lone continuation; and characters of every length that are
 * right. */
static void what_postgresql_cannot_store_is_replaced(void **state)
{
	static const char text[] =
		"[{\"ph\": \"X\", \"pid\": \"p\\u0000q\", \"tid\": 1, \"ts\": 1, \"dur\": 1, \"name\": \"a\\u0000\\u0000b\", \"cat\": "
		"\"\xC0\x80|\xED\xA0\x80|\xF4\x90\x80\x80|\xE2\x82|\x80\", \"args\": {\"a\\u0000\": \"\\\\u0000 \\uD83D\\uDE00 \\uD83D x "
		"\\uDE00 \\u00e9 \\\"\xFF\"}},\n"
		"{\"ph\": \"X\", \"ts\": 2, \"dur\": 1, \"name\": \"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\x7F\\u00e9\", \"args\": {\"\xC3\xA9\": "
		"\"\\n\\ud83d\\ude00\"}},\n"
		"{\"ph\": \"C\", \"pid\": 1, \"ts\": 2, \"name\": \"c\\u0000\", \"id\": \"\\u0000\", \"args\": {\"k\\u0000\": 1}}]";
	struct child child;

	(void)state;
	forget_tables();
	LOAD(&child, 0, "--no-index", write_text("odd.json", text));
	same_rows("SELECT pid, track, name, category, args::text, args ->> E'a\\uFFFD' FROM spans WHERE id = 1",
		  "SELECT E'p\\uFFFDq', E'p\\uFFFDq/1', E'a\\uFFFD\\uFFFDb', repeat(E'\\uFFFD', 2) || '|' || repeat(E'\\uFFFD', 3) || '|' || "
		  "repeat(E'\\uFFFD', 4) || '|' || repeat(E'\\uFFFD', 2) || '|' || E'\\uFFFD', "
		  "E'{\"a\\\\ufffd\":\"\\\\\\\\u0000 \\\\uD83D\\\\uDE00 \\\\ufffd x \\\\ufffd \\\\u00e9 \\\\\"\\uFFFD\"}', "
		  "E'\\\\u0000 \\U0001F600 \\uFFFD x \\uFFFD \\u00E9 \"\\uFFFD'");
	same_rows("SELECT name, args ->> E'\\u00E9' FROM spans WHERE id = 2",
		  "SELECT E'\\u00E9\\u20AC\\U0001F600\\x7F\\u00E9', E'\\n\\U0001F600'");
	same_rows("SELECT name, counter_id, key FROM counters", "SELECT E'c\\uFFFD', E'\\uFFFD', E'k\\uFFFD'");
	/* pid and the pid in track, two in name, one in args; three of the counter; pid, tracks and parent of the process and the
	 * thread */
	assert_says(child.out, "  13 NUL characters became U+FFFD");
	assert_says(child.out, "  2 bytes");
	assert_says(child.out, "  mended: 2 string that is not UTF-8");
	LOAD(&child, 0, "--no-index", "--resume", file_path("odd.json"));
}

static void times_at_the_ends_of_the_range_are_exact(void **state)
{
	static const char text[] = "[{\"ph\": \"X\", \"ts\": -9223372036854775.808, \"dur\": 9223372036854775.807},"
				   "{\"ph\": \"X\", \"ts\": 9223372036854775.807, \"dur\": 0}]";
	struct child child;

	(void)state;
	forget_tables();
	LOAD(&child, 0, "--no-index", write_text("ends.json", text));
	same_rows("SELECT ts, dur FROM spans ORDER BY id",
		  "VALUES ('-9223372036854775808'::bigint, 9223372036854775807), (9223372036854775807, 0)");
	LOAD(&child, 0, "--no-index", "--resume", file_path("ends.json"));
}

static void a_cut_file_gives_what_it_has(void **state)
{
	const char *end = strstr(small, "{\"ph\": \"X\", \"pid\": 1, \"tid\": \"gpu\", \"ts\": 21, \"dur\"");
	struct child child;

	(void)state;
	forget_tables();
	LOAD(&child, 0, "--no-index", write_file("cut.json", small, (size_t)(end - small) + 20));
	assert_says(child.out, "mended: 1 file cut in an event");
	assert_int_equal(number_of("SELECT count(*) FROM spans"), 2);
	/* Its writer has gone on since: what was left out then is no beginning of what it has now. */
	LOAD(&child, 1, "--no-index", "--resume", write_text("cut.json", small));
	assert_says(child.err, "does not begin with the rows in the tables");
	assert_says(child.err, "--replace begins anew, as a file that has grown needs");
	LOAD(&child, 0, "--no-index", "--replace", file_path("cut.json"));
	assert_small_is_loaded();
}

static void a_damaged_file_gives_the_rows_before(void **state)
{
	const char *end = strstr(small, "{\"ph\": \"X\", \"pid\": 1, \"tid\": \"gpu\", \"ts\": 21, \"dur\"");
	char damaged[sizeof small];
	struct child child;

	(void)state;
	forget_tables();
	memcpy(damaged, small, sizeof small);
	damaged[end - small] = '}';
	LOAD(&child, 1, write_text("damaged.json", damaged));
	assert_says(child.err, "damaged.json: byte ");
	assert_says(child.err, "not valid JSON");
	assert_says(child.err, "committed: 0 spans in \"spans\", 3 counter samples in \"counters\"");
	assert_says(child.err, "once the file is mended, go on with --resume");
	assert_int_equal(number_of("SELECT count(*) FROM counters"), 3);
	LOAD(&child, 0, "--no-index", "--resume", write_text("damaged.json", small));
	assert_small_is_loaded();
}

static void indexes_are_made_and_questions_printed(void **state)
{
	struct child child;

	(void)state;
	forget_tables();
	LOAD(&child, 0, write_text("small.json", small));
	assert_says(child.out, "indexed with iforest");
	assert_int_equal(number_of("SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam "
				   "WHERE amname = 'iforest' AND indrelid IN ('spans'::regclass, 'counters'::regclass) AND indisvalid"), 3);
	assert_int_equal(number_of("SELECT count(*) FROM pg_class WHERE oid IN ('spans'::regclass, 'counters'::regclass) "
				   "AND reltuples = 3 AND relallvisible = 1"), 2);
	ask_what_is_printed(child.out, 4);
	LOAD(&child, 0, "--resume", file_path("small.json"));
	assert_says(child.out, "iforest indexes are there already");
	assert_small_is_loaded();
}

/* In a schema of the search path, others have functions of the names that the program calls, which fit its arguments better. */
static void functions_of_others_are_not_called(void **state)
{
	static const char *const functions[] = { "convert_to(text, text)", "octet_length(anyelement)",
						 "concat_ws(text, bigint, numeric)", "to_regclass(varchar)",
						 "set_config(text, varchar, boolean)" };
	static const char *const counted[] = { "text", "json", "float8", "anyelement" };
	struct child child;

	(void)state;
	forget_tables();
	run("CREATE FUNCTION stranger(bigint, anyelement) RETURNS bigint LANGUAGE plpgsql AS "
	    "'BEGIN RAISE ''a stranger is called as %%'', current_user; END'");
	for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
		run("CREATE AGGREGATE public.count(%s) (SFUNC = stranger, STYPE = bigint, INITCOND = '0'); "
		    "CREATE AGGREGATE public.sum(%s) (SFUNC = stranger, STYPE = bigint, INITCOND = '0')",
		    counted[i], counted[i]);
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		run("CREATE FUNCTION public.%s RETURNS bytea LANGUAGE plpgsql AS 'BEGIN RAISE ''a stranger is called''; END'",
		    functions[i]);
	LOAD(&child, 0, write_text("small.json", small));
	LOAD(&child, 0, "--resume", file_path("small.json"));
	assert_small_is_loaded();
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		run("DROP FUNCTION public.%s", functions[i]);
	run("DROP FUNCTION stranger CASCADE");
}

static void without_the_extension_loading_succeeds(void **state)
{
	struct child child;

	(void)state;
	forget_tables();
	run("DROP EXTENSION IF EXISTS iforest CASCADE");
	LOAD(&child, 0, "-d",
	     number_of("SELECT count(*) FROM pg_settings WHERE name = 'extension_destdir'") ?
		     "options='-c extension_destdir=/nowhere'" :
		     "options='-c extension_control_path=/nowhere'",
	     "--spans", "public.spans", write_text("small.json", small));
	assert_says(child.err, "trace2pg: ERROR:  ");
	assert_says(child.err, "the extension iforest is not installed on this server");
	assert_says(child.err, "make install-pg");
	assert_says(child.err, "CREATE INDEX ON \"public\".\"spans\" USING iforest (track, ts) INCLUDE (dur) WITH (duration = 'dur');");
	assert_small_is_loaded();
	ask_what_is_printed(child.out, 4);
}

/* What is to be done then begins with the extension. */
static void an_extension_that_is_refused_is_told(void **state)
{
	struct child child;

	(void)state;
	forget_tables();
	run("DROP EXTENSION IF EXISTS iforest CASCADE; CREATE ROLE guest LOGIN; GRANT CREATE ON SCHEMA public TO guest");
	LOAD(&child, 3, "-d", "user=guest", write_text("small.json", small));
	assert_says(child.err, "all rows are committed, but not indexed: ERROR:  permission denied to create extension");
	assert_says(child.err, "or these statements:\n  CREATE EXTENSION IF NOT EXISTS iforest;\n  CREATE INDEX ON \"spans\"");
	run("CREATE EXTENSION iforest");
	LOAD(&child, 0, "-d", "user=guest", "--resume", file_path("small.json"));
	assert_says(child.out, "indexed with iforest");
	run("DROP OWNED BY guest; DROP ROLE guest");
}

static void an_index_that_fails_is_told(void **state)
{
	struct child child;

	(void)state;
	forget_tables();
	LOAD(&child, 0, "--no-index", write_text("small.json", small));
	run("ALTER TABLE counters ALTER value TYPE text");
	LOAD(&child, 3, "--resume", file_path("small.json"));
	assert_says(child.err, "all rows are committed, but not indexed: ");
	assert_says(child.err, "CREATE INDEX ON \"spans\" USING iforest");
	assert_int_equal(number_of("SELECT count(*) FROM pg_index WHERE indrelid = 'spans'::regclass"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_column_is_as_documented),
		cmocka_unit_test(what_is_left_out_is_said_first),
		cmocka_unit_test(what_is_suggested_has_an_answer), cmocka_unit_test(gzip_is_read_too),
		cmocka_unit_test(batches_of_any_size_give_the_same_rows),
		cmocka_unit_test(a_trace_without_rows_makes_empty_tables),
		cmocka_unit_test(existing_tables_are_not_touched_unasked),
		cmocka_unit_test(replace_needs_a_trace),
		cmocka_unit_test(tables_have_the_names_that_were_given),
		cmocka_unit_test(wrong_usage_is_told),
		cmocka_unit_test(limits_are_kept),
		cmocka_unit_test(names_are_no_commands_to_the_terminal),
		cmocka_unit_test(what_postgresql_cannot_store_is_replaced),
		cmocka_unit_test(times_at_the_ends_of_the_range_are_exact),
		cmocka_unit_test(a_cut_file_gives_what_it_has),
		cmocka_unit_test(a_damaged_file_gives_the_rows_before),
		cmocka_unit_test(indexes_are_made_and_questions_printed),
		cmocka_unit_test(functions_of_others_are_not_called),
		cmocka_unit_test(without_the_extension_loading_succeeds),
		cmocka_unit_test(an_extension_that_is_refused_is_told),
		cmocka_unit_test(an_index_that_fails_is_told),
	};

	return cmocka_run_group_tests_name("trace2pg", tests, harness_start, harness_stop);
}
