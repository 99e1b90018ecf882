/* bench/chrometrace.c -- Throughput and memory of the chrometrace module beside other ways to read a trace: MB/s of unpacked
 * JSON, peak memory, and times.
 *
 * Each reading is a process of its own, the best of five; memory is that process's peak. Every reading by SQLite has to give
 * the same number of spans. Usage: see bench/chrometrace.sh.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "trace/json.h"
#include "trace/json_frames.h"

enum { N_ROUNDS = 5 };

struct way {
	const char *label;
	const char *sql; /* gives the number of spans; NULL: the parser reads the file, and nobody looks */
	bool packed;	 /* reads the file as it is and not the unpacked copy */
};

/* What a user would write without this module. It does not match B with E: it counts the E, which is the same number
 * where none lacks its B. */
#define JSON1_SQL                                                                                                           \
	"SELECT sum(ph = 'X' AND dur IS NOT NULL) + sum(ph = 'E'), sum(dur), max(ts) FROM ("                                \
	" SELECT value ->> 'ph' AS ph, value ->> 'ts' AS ts, value ->> 'dur' AS dur, value ->> 'name' AS name"              \
	" FROM json_each(CAST(readfile(?1) AS TEXT), '$.traceEvents'))"

#define READ_SQL(more) "SELECT count(*), sum(dur_ns), max(ts_ns), max(track), max(name)" more " FROM read_chrome_trace(?1)"

static const struct way ways[] = {
	{ "read_chrome_trace: ts, dur, track, name", READ_SQL(""), false },
	{ "  the same, from gzip where packed", READ_SQL(""), true },
	{ "  and args", READ_SQL(", sum(length(args))"), false },
	{ "  and depth", READ_SQL(", max(depth)"), false },
	{ "SQLite JSON1: json_each(readfile())", JSON1_SQL, false },
	{ "frames and jsmn (parser only)", NULL, false },
};

enum { N_WAYS = sizeof ways / sizeof *ways };

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

/* Frames of events, and the values in them. */
static void parse_alone(const char *path)
{
	enum { PIECE_BYTES = 64 * 1024 };
	struct trace_json_frames frames = { 0 };
	struct trace_json json = { 0 };
	struct trace_bytes piece = { 0 };
	struct trace_text event;
	FILE *file = fopen(path, "rb");
	size_t n_read, n_taken = 0, at;
	int status;

	do {
		piece.n_bytes -= n_taken;
		if (!file || trace_bytes_reserve(&piece, PIECE_BYTES + piece.n_bytes) < 0)
			die("cannot read a trace");
		memmove(piece.data, piece.data + n_taken, piece.n_bytes);
		n_read = fread(piece.data + piece.n_bytes, 1, PIECE_BYTES, file);
		piece.n_bytes += n_read;
		for (n_taken = 0; (status = trace_frames_next(&frames, piece.data + n_taken, piece.n_bytes - n_taken, &at, &event)) == TRACE_ROW;
		     n_taken += at) {
			if (trace_json_parse(&json, event, false) < 0)
				die(json.problem);
		}
		n_taken += at;
	} while (status == TRACE_OK && n_read > 0);
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

	if (sqlite3_open(":memory:", &database) != SQLITE_OK)
		die("out of memory");
	sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
	sqlite3_create_function(database, "readfile", 1, SQLITE_UTF8, NULL, read_file, NULL, NULL);
	if (sqlite3_load_extension(database, module, NULL, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK)
		die(sqlite3_errmsg(database));
	sqlite3_bind_text(statement, 1, path, -1, SQLITE_STATIC);
	if (sqlite3_step(statement) != SQLITE_ROW)
		die(sqlite3_errmsg(database));
	return sqlite3_column_int64(statement, 0);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static struct outcome run_once(const char *module, const struct way *way, const char *path)
{
	struct outcome outcome = { 0 };
	struct rusage usage;
	double start = now();
	int ends[2], status;
	pid_t child;

	if (pipe(ends) != 0 || (child = fork()) < 0)
		die("cannot start a process");
	if (child == 0) {
		long long n_spans = -1;

		if (!way->sql) {
			parse_alone(path);
			_exit(0);
		}
		n_spans = count_spans(module, way->sql, path);
		_exit(write(ends[1], &n_spans, sizeof n_spans) != sizeof n_spans);
	}
	close(ends[1]);
	if (read(ends[0], &outcome.n_spans, sizeof outcome.n_spans) < 0 || wait4(child, &status, 0, &usage) < 0)
		die("cannot wait for a process");
	close(ends[0]);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		outcome.n_spans = -1;
	outcome.seconds = now() - start;
	outcome.peak_kib = usage.ru_maxrss;
	return outcome;
}

static struct outcome best_of_rounds(const char *module, const struct way *way, const char *path)
{
	struct outcome best = run_once(module, way, path);

	for (int i = 1; i < N_ROUNDS; i++) {
		struct outcome next = run_once(module, way, path);

		if (next.seconds < best.seconds)
			best = next;
	}
	return best;
}

static long unpack(const char *path, const char *unpacked)
{
	static char buffer[1 << 16];
	gzFile input = gzopen(path, "rb");
	FILE *output = fopen(unpacked, "wb");
	long n_bytes = 0;
	int n;

	if (!input || !output)
		die("cannot unpack a trace");
	while ((n = gzread(input, buffer, sizeof buffer)) > 0) {
		if (fwrite(buffer, 1, (size_t)n, output) != (size_t)n)
			die("cannot write the unpacked trace");
		n_bytes += n;
	}
	gzclose(input);
	fclose(output);
	return n_bytes;
}

static bool measure(const char *module, const char *path, const char *unpacked)
{
	long n_bytes = unpack(path, unpacked);
	double own_seconds = 0;
	long long n_spans = 0;
	bool same = true;

	printf("\n%s: %.1f MB unpacked\n%-44s %8s %8s %10s %8s\n", path, (double)n_bytes / 1e6, "", "MB/s", "ms", "peak MiB",
	       "time x");
	for (int i = 0; i < N_WAYS; i++) {
		struct outcome outcome = best_of_rounds(module, &ways[i], ways[i].packed ? path : unpacked);

		if (i == 0) {
			own_seconds = outcome.seconds;
			n_spans = outcome.n_spans;
		}
		if (outcome.n_spans < 0) {
			printf("%-44s failed or not installed\n", ways[i].label);
			continue;
		}
		printf("%-44s %8.0f %8.1f %10.1f %8.2f", ways[i].label, (double)n_bytes / 1e6 / outcome.seconds,
		       outcome.seconds * 1e3, (double)outcome.peak_kib / 1024, outcome.seconds / own_seconds);
		if (ways[i].sql && outcome.n_spans != n_spans) {
			printf("   %lld spans instead of %lld!", outcome.n_spans, n_spans);
			same = false;
		}
		printf("\n");
	}
	return same;
}

int main(int argc, char **argv)
{
	char unpacked[] = "/tmp/iforest_bench_XXXXXX";
	struct utsname machine;
	bool same = true;
	int file = mkstemp(unpacked);

	if (file < 0 || argc < 3)
		die("usage: chrometrace chrometrace.so trace.json ...");
	close(file);
	setvbuf(stdout, NULL, _IOLBF, 0);
	uname(&machine);
	printf("%s %s, %ld processors; SQLite %s, zlib %s. Best of %d; each reading is a new process.\n", machine.sysname,
	       machine.machine, sysconf(_SC_NPROCESSORS_ONLN), sqlite3_libversion(), zlibVersion(), N_ROUNDS);
	for (int i = 2; i < argc; i++)
		same = measure(argv[1], argv[i], unpacked) && same;
	unlink(unpacked);
	if (!same)
		printf("\nThe ways do not agree.\n");
	return !same;
}
