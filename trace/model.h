/* trace/model.h -- Format-independent model of a trace: tracks, spans, counter samples, instants, flows, and omissions.
 *
 *     reader of a format --> assembly.h (sorts, pairs, binds) --> sink, as below --> tables in SQL
 *
 *     track    a row of the timeline: of a process, a thread, an asynchronous operation, a CPU or a service
 *     span     an interval on a track
 *     sample   a value of a counter at a time
 *     instant  an event at one time on a track
 *     flow     an arrow from one span or instant to another
 *
 * Code above this header does not depend on a format. Times are integer nanoseconds of the trace's own clock. Texts are as in
 * the file, and UTF-8 as far as the file is. They are valid until the callback that received them returns.
 */
#ifndef IFOREST_MODEL_H
#define IFOREST_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/bytes.h"
#include "trace/status.h"

enum trace_track_kind {
	TRACE_TRACK_GLOBAL,  /* of the whole trace: key "global" */
	TRACE_TRACK_PROCESS, /* key "pid" */
	TRACE_TRACK_THREAD,  /* key "pid/tid" */
	TRACE_TRACK_ASYNC,   /* of an operation that may move between threads */
	TRACE_TRACK_CPU,     /* key "cpu:n": which thread ran */
	TRACE_TRACK_STATE,   /* key "state:" and the key of a thread: its states */
	TRACE_TRACK_SERVICE, /* key: the name of the service */
	TRACE_N_TRACK_KINDS
};

/* Returns the kind as a word, such as "thread". */
const char *trace_track_kind_name(enum trace_track_kind kind);

/* A track lives as long as its trace. Its key is unique among tracks of its kind (for threads together with the pid, because
 * pids may contain slashes), and never changes. Names, labels and the sort index may come anywhere in the file: they are
 * complete only when on_track is called, or, with trace_options.complete, also when on_span is called. */
struct trace_track {
	uint32_t number; /* from 1 on, in the order in which the file mentions the tracks */
	enum trace_track_kind kind;
	struct trace_text key;
	struct trace_text pid, tid; /* as written, whether number or text; "" if there is none */
	struct trace_text name;	    /* of thread, process, operation ...; data is NULL if the file has no name */
	struct trace_text labels;   /* of a process; data may be NULL */
	bool has_sort_index;
	int64_t sort_index;		  /* lower ones come first */
	const struct trace_track *parent; /* for example a thread's process; NULL if there is none */
	bool is_used;			  /* it has a span, sample or instant */
};

/* Returns the thread of an event: the one that its format names, or else the track or what is above it; NULL if there is none. */
const struct trace_track *trace_thread_of(const struct trace_track *track, const struct trace_track *thread);

enum { TRACE_NEVER_CLOSED = -1, TRACE_UNKNOWN_DEPTH = -1 };

struct trace_span {
	uint64_t number; /* from 1 on, unique in the trace, and independent of the options */
	const struct trace_track *track;
	const struct trace_track *thread; /* on which it began, the track itself unless asynchronous; NULL if unknown */
	int64_t ts_ns;
	int64_t dur_ns; /* >= 0, or TRACE_NEVER_CLOSED */
	int64_t depth; /* spans of the track that are open when it starts; TRACE_UNKNOWN_DEPTH without trace_options.complete */
	struct trace_text name;
	struct trace_text category;		   /* data is NULL if there is none, here and in the next two lines */
	struct trace_text id, parent_id, trace_id; /* of an asynchronous span, or of a distributed trace */
	struct trace_text args;			   /* one JSON value; data is NULL also if not requested */
};

/* Samples with equal track, name, id and key form a series. */
struct trace_sample {
	const struct trace_track *track; /* NULL if there is none */
	int64_t ts_ns;
	double value; /* finite */
	struct trace_text name;
	struct trace_text id;	/* data may be NULL */
	struct trace_text key;	/* tells several values of one name apart; "" if there is only one */
	struct trace_text unit; /* data may be NULL */
};

struct trace_instant {
	uint64_t number;			  /* from 1 on, unique among instants */
	const struct trace_track *track, *thread; /* as of a span */
	int64_t ts_ns;
	struct trace_text name;
	struct trace_text category, id, args; /* as of a span */
};

struct trace_flow_end {
	uint64_t span, instant; /* the number of one of them; the other is 0 */
	const struct trace_track *track;
	int64_t ts_ns; /* when the arrow leaves or arrives; not always the start of the span */
};

struct trace_flow {
	struct trace_flow_end from, to;
	struct trace_text name, category, id; /* as in the file; data may be NULL */
};

/* Receiver of a trace. Data whose callback is NULL need not be decoded. Each callback returns TRACE_OK, or a negative status
 * that ends the reading and is returned from it.
 *
 * Order: the order of spans and flows is unspecified, but the same for the same file and options. All else comes in the order
 * of the file; tracks come last, by number. */
struct trace_sink {
	void *context;
	int (*on_span)(void *context, const struct trace_span *span);
	int (*on_sample)(void *context, const struct trace_sample *sample);
	int (*on_instant)(void *context, const struct trace_instant *instant);
	int (*on_flow)(void *context, const struct trace_flow *flow);
	int (*on_track)(void *context, const struct trace_track *track);
};

struct trace_options {
	bool args;	    /* read the arguments of spans and instants; otherwise skip them */
	bool complete;	    /* spans have their depth, and their tracks have names; spans come after the file is read */
	bool strict;	    /* text that violates its format is an error; otherwise it is repaired and counted */
	bool needs_rows;    /* a file that has something, of which nothing is read, is an error; needs a sink for all */
	uint64_t max_bytes; /* of the unpacked file; more of them are an error; 0: no limit */
	size_t piece_bytes; /* bytes of the file parsed at a time; 0: 64 KiB. Does not affect results */
};

enum trace_finding {
	TRACE_LEFT_OUT, /* events that were ignored */
	TRACE_MENDED	/* violations of the format that were read nevertheless */
};

/* A line of the report. */
struct trace_report_line {
	enum trace_finding finding;
	const char *what; /* such as "E without B" */
	uint64_t n;
};

/* How much of the events of a file was left out, flows apart. */
struct trace_share {
	uint64_t n_left_out, n_all;
	const char *cause; /* the line of the report that counts most; NULL if nothing was left out */
};

/* Counts of what was read so far. */
struct trace_counts {
	uint64_t n_events; /* of the file, of any kind */
	uint64_t n_spans, n_samples, n_instants, n_flows, n_tracks;
};

#endif
