/* tests/trace/recording.h -- All that a sink is given of a trace, kept and shown as text. */
#ifndef TESTS_TRACE_RECORDING_H
#define TESTS_TRACE_RECORDING_H

#include <stdbool.h>

#include "trace/trace.h"

/* Copies, NUL-terminated; NULL where there is none. */
struct recorded_span {
	uint64_t number;
	int64_t ts_ns, dur_ns, depth;
	char *track, *name, *category, *id, *parent_id, *trace_id, *args;
};

struct recorded_track {
	const char *kind;
	char *key, *name, *parent; /* the parent's key */
	bool is_used;
};

struct recording {
	int status;
	char error[900], format[40];
	struct trace_counts counts;
	struct recorded_span *spans; /* by time, unclosed first, longest first, number */
	size_t n_spans;
	struct recorded_track *tracks;
	size_t n_tracks;
	char *shown; /* a line for each instant, flow, and line of the report, in this order */
	size_t n_shown_bytes;
};

/* Reads a file, or bytes that stand for one named "trace". Free with recording_release() in any case. */
void recording_of_file(struct recording *recording, const char *path, const struct trace_options *options);
void recording_of_bytes(struct recording *recording, const void *bytes, size_t n_bytes, const struct trace_options *options);

/* The same without keeping anything: the status alone, and the error if it is not NULL. */
int recording_status(const void *bytes, size_t n_bytes, const struct trace_options *options, char error[900]);

/* Reads bytes whole, then in pieces; says why and aborts if the two differ, or if an error does not name its byte. Files of other
 * formats than those named, up to a NULL, are not judged; if formats is NULL, all are. The recording is of the whole. */
void recording_check_pieces(struct recording *recording, const void *bytes, size_t n_bytes, bool is_strict, size_t piece_bytes,
			    const char *const *formats);

/* Spans, then what is shown, then tracks, a line each; to be freed. */
char *recording_text(const struct recording *recording);

void recording_release(struct recording *recording);

#endif
