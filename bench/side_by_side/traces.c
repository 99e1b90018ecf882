/* bench/side_by_side/traces.c -- Recorded traces as rows (rows.h), one after the other and again from the first, until there
 * are enough.
 *
 *   traces ROWS FILE...
 *
 * Rows come as they become complete in a file, which is not the order of time. Each trace begins where the one before has
 * ended; its tracks are named after the number of the file, and are the same each time.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/forest/events.h"
#include "bench/side_by_side/rows.h"
#include "trace/trace.h"

struct span {
	int64_t ts, dur;
	char *track;
};

static struct span *spans;
static size_t n_spans, n_allocated;
static int64_t end; /* of the traces so far */

static _Noreturn void die(const char *message)
{
	fprintf(stderr, "traces: %s\n", message);
	exit(1);
}

/* "FILE/PID/TID", without what would need quotes. */
static char *track_name(int file, struct trace_text track)
{
	char *name = malloc(track.n_bytes + 16);
	int n;

	if (!name)
		die("out of memory");
	n = snprintf(name, track.n_bytes + 16, "%d/%.*s", file, (int)track.n_bytes, track.data);
	for (int i = 0; i < n; i++)
		if (strchr("\"',\\\n\r\t|", name[i]))
			name[i] = '_';
	return name;
}

/* Keeps the spans of threads that have an end; context is the number of the file. */
static int keep_span(void *context, const struct trace_span *span)
{
	if (span->track->kind != TRACE_TRACK_THREAD || span->dur_ns < 0)
		return TRACE_OK;
	if (n_spans == n_allocated) {
		n_allocated = n_allocated ? 2 * n_allocated : 1024;
		spans = realloc(spans, n_allocated * sizeof *spans);
		if (!spans)
			die("out of memory");
	}
	spans[n_spans++] = (struct span){ span->ts_ns, span->dur_ns, track_name(*(int *)context, span->track->key) };
	return TRACE_OK;
}

static void read_trace(int file, const char *path)
{
	struct trace *trace;
	size_t first = n_spans;
	int64_t begin = INT64_MAX, last = end;
	int status = trace_open(path, &(struct trace_options){ 0 }, &(struct trace_sink){ .context = &file, .on_span = keep_span }, &trace);

	while (status >= 0 && (status = trace_step(trace)) == TRACE_ROW)
		continue;
	if (status < 0)
		die(trace_error(trace));
	trace_close(trace);
	for (size_t i = first; i < n_spans; i++)
		begin = spans[i].ts < begin ? spans[i].ts : begin;
	for (struct span *span = spans + first; span < spans + n_spans; span++) {
		span->ts += end - begin;
		if (span->ts + (span->dur > 0 ? span->dur : 0) >= last)
			last = span->ts + (span->dur > 0 ? span->dur : 0) + 1;
	}
	end = last;
}

static int64_t time_of(uint64_t row)
{
	return spans[row % n_spans].ts + (int64_t)(row / n_spans) * end;
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 2 ? strtoull(argv[1], NULL, 10) : 0, state = 2;
	int64_t times[TIMES], last = 0;
	char *track;

	for (int i = 2; i < argc; i++)
		read_trace(i - 1, argv[i]);
	if (n == 0 || n_spans == 0)
		die("usage: traces ROWS FILE... (and spans in them)");
	for (uint64_t row = 0; row < n; row++) {
		print_row(row + 1, time_of(row), spans[row % n_spans].dur, spans[row % n_spans].track);
		if (time_of(row) > last)
			last = time_of(row);
	}
	for (int i = 0; i < TIMES; i++)
		times[i] = time_of(random_below(&state, n));
	track = malloc(strlen(spans[0].track) + 3);
	if (!track)
		die("out of memory");
	sprintf(track, "'%s'", spans[0].track);
	print_times(track, last + 1, times);
	return fflush(stdout) != 0;
}
