/* bench/traces.c -- Throughput and memory of reading traces of each format through SQL, beside the parser alone and other ways: MB
 * of the unpacked file in a second of processor time, and peak memory.
 *
 * Each reading is a process of its own, the best of ROUNDS; memory is that process's peak. All readings of a file have to give
 * the same number of spans. Usage: see bench/traces.sh.
 */
#include <fcntl.h>
#include <malloc.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "bench/trace_copies.h"
#include "bench/trace_fields.h"
#include "trace/json.h"
#include "trace/json_frames.h"
#include "trace/otlp_frames.h"
#include "trace/protobuf.h"

/* Which module reads; the parser alone is none. */
enum reader { READER_OWN, READER_REFERENCE, READER_PARSER };

struct way {
	const char *label;
	const char *sql; /* gives the number of spans */
	enum reader reader;
	bool chrome_only;
};

/* What a user would write without this module. It does not match B with E: it counts the E, which is the same number
 * where none lacks its B. */
#define JSON1_SQL                                                                                              \
	"SELECT sum(ph = 'X' AND dur IS NOT NULL) + sum(ph = 'E'), sum(dur), max(ts) FROM ("                   \
	" SELECT value ->> 'ph' AS ph, value ->> 'ts' AS ts, value ->> 'dur' AS dur, value ->> 'name' AS name" \
	" FROM json_each(CAST(readfile(?1) AS TEXT), '$.traceEvents'))"

#define SPANS_SQL(more) "SELECT count(*), sum(dur_ns), max(ts_ns), max(track), max(name)" more " FROM read_trace(?1)"
#define CHROME_SQL(more) "SELECT count(*), sum(dur_ns), max(ts_ns), max(track), max(name)" more " FROM read_chrome_trace(?1)"
#define ALL_SQL                                                                                                          \
	"SELECT count(*), sum(depth), max(process), sum(length(args)), (SELECT count(*) FROM read_trace_counters(?1)), " \
	"(SELECT count(*) FROM read_trace_instants(?1)), (SELECT count(*) FROM read_trace_flows(?1)) FROM read_trace(?1)"

static const struct way ways[] = {
	{ "spans: ts, dur, track, name", SPANS_SQL(""), READER_OWN, false },
	{ "  and args", SPANS_SQL(", sum(length(args))"), READER_OWN, false },
	{ "  and depth", SPANS_SQL(", max(depth)"), READER_OWN, false },
	{ "all, in four readings", ALL_SQL, READER_OWN, false },
	{ "parser alone", NULL, READER_PARSER, false },
	{ "read_chrome_trace", CHROME_SQL(""), READER_OWN, true },
	{ "  the reference", CHROME_SQL(""), READER_REFERENCE, true },
	{ "  with depth", CHROME_SQL(", max(depth)"), READER_OWN, true },
	{ "  with depth, the reference", CHROME_SQL(", max(depth)"), READER_REFERENCE, true },
	{ "SQLite's json_each(readfile())", JSON1_SQL, READER_OWN, true },
};

enum { N_WAYS = sizeof ways / sizeof *ways };

static const char *own_module, *reference_module;

struct outcome {
	double seconds;
	long peak_kib;
	long long n_spans;
};

static void die(const char *what)
{
	fprintf(stderr, "bench: %s\n", what);
	exit(1);
}

/* ---- The parsers alone: they look at each value, and nobody at what they find ---- */

static void parse_chrome_json(const char *data, size_t n_bytes)
{
	struct trace_json_frames frames = { 0 };
	struct trace_json json = { 0 };
	struct trace_text event;
	size_t at, n_taken;

	for (at = 0; trace_frames_next(&frames, data + at, n_bytes - at, &n_taken, &event) == TRACE_ROW; at += n_taken) {
		if (trace_json_parse(&json, event, false) < 0)
			die(json.problem);
	}
	trace_json_release(&json);
}

static void parse_otlp_json(const char *data, size_t n_bytes)
{
	struct trace_otlp_frames frames = { 0 };
	struct trace_json json = { 0 };
	enum trace_otlp_frame frame;
	struct trace_text text;
	size_t at, n_taken;

	for (at = 0; trace_otlp_frames_next(&frames, data + at, n_bytes - at, &n_taken, &frame, &text) == TRACE_ROW;
	     at += n_taken) {
		if (text.data && trace_json_parse(&json, text, false) < 0)
			die(json.problem);
	}
	trace_json_release(&json);
}

static uint64_t parse_protobuf(struct trace_text text, const struct field_kind *fields)
{
	struct trace_message message = trace_message_of(text);
	struct trace_field field;
	uint64_t sum = 0;
	int status;

	while ((status = trace_message_next(&message, &field)) == TRACE_ROW) {
		const struct field_kind *kind = field_kind_of(fields, field.number);

		sum += kind && kind->fields && field.wire == TRACE_WIRE_BYTES ? parse_protobuf(field.text, kind->fields)
									      : field.value;
	}
	if (status < 0)
		die("not valid protobuf");
	return sum;
}

/* False if there is no parser of its own for the format. */
static bool parse_alone(const char *path, const char *format)
{
	static volatile uint64_t sum; /* so that it is computed */
	int file = open(path, O_RDONLY);
	struct stat status;
	char *data;

	(void)sum;
	if (file < 0 || fstat(file, &status) != 0)
		die("cannot read a trace");
	data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
	if (data == MAP_FAILED)
		die("cannot read a trace");
	if (strcmp(format, "Chrome JSON") == 0)
		parse_chrome_json(data, (size_t)status.st_size);
	else if (strcmp(format, "OTLP JSON") == 0)
		parse_otlp_json(data, (size_t)status.st_size);
	else if (strcmp(format, "OTLP protobuf") == 0)
		sum = parse_protobuf((struct trace_text){ data, (size_t)status.st_size }, otlp_fields);
	else if (strcmp(format, "Perfetto protobuf") == 0)
		sum = parse_protobuf((struct trace_text){ data, (size_t)status.st_size }, perfetto_fields);
	else
		return false;
	return true;
}

static void read_file(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	FILE *file = fopen((const char *)sqlite3_value_text(argv[0]), "rb");
	long n_bytes;
	char *data;

	(void)argc;
	if (!file || fseek(file, 0, SEEK_END) != 0)
		die("cannot read a trace");
	n_bytes = ftell(file);
	rewind(file);
	data = sqlite3_malloc64((sqlite3_uint64)n_bytes);
	if (!data || fread(data, 1, (size_t)n_bytes, file) != (size_t)n_bytes)
		die("cannot read a trace");
	fclose(file);
	sqlite3_result_blob64(context, data, (sqlite3_uint64)n_bytes, sqlite3_free);
}

static long long count_spans(const char *module, const char *sql, const char *path)
{
	sqlite3 *database;
	sqlite3_stmt *statement;
	char *problem = NULL;

	if (sqlite3_open(":memory:", &database) != SQLITE_OK)
		die("out of memory");
	sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
	sqlite3_create_function(database, "readfile", 1, SQLITE_UTF8, NULL, read_file, NULL, NULL);
	if (sqlite3_load_extension(database, module, NULL, &problem) != SQLITE_OK)
		die(problem);
	if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK)
		die(sqlite3_errmsg(database));
	sqlite3_bind_text(statement, 1, path, -1, SQLITE_STATIC);
	if (sqlite3_step(statement) != SQLITE_ROW)
		die(sqlite3_errmsg(database));
	return sqlite3_column_int64(statement, 0);
}

static double seconds_of(struct timeval time)
{
	return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

static bool applies(const struct way *way, const char *format, uint64_t n_bytes)
{
	enum { MOST_TEXT_BYTES = 1000000000 }; /* SQLite's limit */

	if (way->chrome_only && strcmp(format, "Chrome JSON") != 0)
		return false;
	if (way->reader == READER_REFERENCE && !*reference_module)
		return false;
	return !way->sql || !strstr(way->sql, "readfile") || n_bytes < MOST_TEXT_BYTES;
}

/* The child's part: its exit status. */
static int read_as(const struct way *way, const char *format, const char *path, int end)
{
	long long n_spans = -1;

	if (way->reader == READER_PARSER)
		return !parse_alone(path, format);
	n_spans = count_spans(way->reader == READER_OWN ? own_module : reference_module, way->sql, path);
	return write(end, &n_spans, sizeof n_spans) != sizeof n_spans;
}

static struct outcome run_once(const struct way *way, const char *format, const char *path)
{
	struct outcome outcome = { 0 };
	struct rusage usage;
	int ends[2], status;
	pid_t child;

	if (pipe(ends) != 0 || (child = fork()) < 0)
		die("cannot start a process");
	if (child == 0)
		_exit(read_as(way, format, path, ends[1]));
	close(ends[1]);
	if (read(ends[0], &outcome.n_spans, sizeof outcome.n_spans) < 0 || wait4(child, &status, 0, &usage) < 0)
		die("cannot wait for a process");
	close(ends[0]);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		outcome.n_spans = -1;
	outcome.seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
	outcome.peak_kib = usage.ru_maxrss;
	return outcome;
}

/* Prints a row for each way; false if they do not agree on the number of spans. */
static bool measure(const char *path, const char *format, uint64_t n_bytes, uint64_t n_spans, int n_rounds)
{
	double mb = (double)n_bytes / 1e6;
	struct outcome best[N_WAYS];
	bool same = true;

	/* in turns, so that what else the machine does is spread over all */
	for (int round = 0; round < n_rounds; round++) {
		for (int i = 0; i < N_WAYS; i++) {
			struct outcome next = { 0 };

			if (applies(&ways[i], format, n_bytes))
				next = run_once(&ways[i], format, path);
			if (round == 0 || next.seconds < best[i].seconds)
				best[i] = next;
		}
	}
	for (int i = 0; i < N_WAYS; i++) {
		bool is_all = strcmp(ways[i].label, ways[0].label) == 0 || strstr(ways[i].sql ? ways[i].sql : "", "read_trace");

		if (!applies(&ways[i], format, n_bytes) || (best[i].n_spans < 0 && ways[i].reader == READER_PARSER))
			continue;
		if (best[i].n_spans < 0) {
			printf("%-40s failed\n", ways[i].label);
			continue;
		}
		printf("%-40s %8.0f %8.2f", ways[i].label, mb / best[i].seconds, best[i].seconds);
		if (ways[i].reader != READER_PARSER)
			printf(" %10.1f", (double)best[i].peak_kib / 1024);
		if (is_all && (uint64_t)best[i].n_spans != n_spans) {
			printf("   %lld spans instead of %llu!", best[i].n_spans, (unsigned long long)n_spans);
			same = false;
		}
		printf("\n");
	}
	return same;
}

/* The file itself, unpacked, or copies of it. */
static bool measure_file(const char *path, double mb, int n_rounds, const char *scratch)
{
	struct recorded_trace recorded = recorded_trace_read(path);
	const char *name = strrchr(path, '/');
	uint64_t n_copies = trace_copies_write(&recorded, (uint64_t)(mb * 1e6), scratch);
	struct stat status;

	if (stat(scratch, &status) != 0)
		die("cannot write a file");
	printf("\n%s, %s: %.1f MB, %llu copies, %llu spans\n%-40s %8s %8s %10s\n", name ? name + 1 : path, recorded.format,
	       (double)status.st_size / 1e6, (unsigned long long)n_copies, (unsigned long long)(n_copies * recorded.n_spans),
	       "", "MB/s", "s", "peak MiB");
	recorded_trace_release(&recorded); /* the peak of a child is at least what its parent has */
	malloc_trim(0);
	return measure(scratch, recorded.format, (uint64_t)status.st_size, n_copies * recorded.n_spans, n_rounds);
}

int main(int argc, char **argv)
{
	enum { OWN = 1, REFERENCE, SCRATCH, MB, ROUNDS, FIRST_TRACE };
	struct utsname machine;
	bool same = true;
	int n_rounds;

	if (argc <= FIRST_TRACE || (n_rounds = atoi(argv[ROUNDS])) < 1)
		die("usage: traces chrometrace.so REFERENCE.so SCRATCH MB ROUNDS trace ...");
	own_module = argv[OWN];
	reference_module = argv[REFERENCE];
	setvbuf(stdout, NULL, _IOLBF, 0);
	uname(&machine);
	printf("%s %s, %ld processors; SQLite %s, zlib %s. Best of %d, in seconds of processor time; each reading is a new process.\n",
	       machine.sysname, machine.machine, sysconf(_SC_NPROCESSORS_ONLN), sqlite3_libversion(), zlibVersion(), n_rounds);
	for (int i = FIRST_TRACE; i < argc; i++)
		same = measure_file(argv[i], atof(argv[MB]), n_rounds, argv[SCRATCH]) && same;
	if (!same)
		printf("\nThe ways do not agree.\n");
	return !same;
}
