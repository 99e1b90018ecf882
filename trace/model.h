/* trace/model.h -- Model of a trace of any format: tracks, spans, counter samples, instants, flows, and what was left out.
 *
 *     reader of a format --> assembly.h (sorts, pairs, binds) --> sink, as below --> tables in SQL
 *
 *     track    a line of the picture. It belongs to a process, a thread, an asynchronous operation, a CPU or a service
 *     span     something on a track that takes time
 *     sample   a value of a counter at a time
 *     instant  something on a track at a time
 *     flow     an arrow from one span or instant to another
 *
 * Nothing above this header knows a format. Times are integer nanoseconds of the trace's own clock. Texts are as the file has
 * them, in UTF-8 as far as the file is; they are valid until the callback that was given them returns.
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
	TRACE_TRACK_ASYNC,   /* of an operation that several threads may carry on */
	TRACE_TRACK_CPU,     /* key "cpu:n": which thread ran */
	TRACE_TRACK_STATE,   /* key "state:" and the key of a thread: in which states it was */
	TRACE_TRACK_SERVICE, /* key: the name of the service */
	TRACE_N_TRACK_KINDS
};

/* The kind in a word, such as "thread". */
const char *trace_track_kind_name(enum trace_track_kind kind);

/* A track lives as long as its trace. Its key is unique among tracks of its kind (of threads
 * with their pid, as pids may have slashes), and never changes. Names, labels and the
 * sort index may come anywhere in the file, so that they are complete only when on_track gets the track, or, with
 * trace_options.complete, when on_span gets it too. */
struct trace_track {
	uint32_t number; /* from 1 on, in the order in which the file mentions the tracks */
	enum trace_track_kind kind;
	struct trace_text key;
	struct trace_text pid, tid; /* as written, numbers and texts alike; "" where there is none */
	struct trace_text name;	    /* of thread, process, operation ...; data is NULL if the file names it nowhere */
	struct trace_text labels;   /* of a process; data may be NULL */
	bool has_sort_index;
	int64_t sort_index;		  /* lower ones stand above */
	const struct trace_track *parent; /* a thread's process, for one; NULL if there is none */
	bool is_used;			  /* it has a span, sample or instant; others are only named */
};

enum { TRACE_NEVER_CLOSED = -1, TRACE_UNKNOWN_DEPTH = -1 };

struct trace_span {
	uint64_t number; /* from 1 on, unique in the trace, and the same whatever the options are */
	const struct trace_track *track;
	const struct trace_track *thread; /* on which it began: the track itself, or of an asynchronous span; NULL if unknown */
	int64_t ts_ns;
	int64_t dur_ns; /* >= 0, or TRACE_NEVER_CLOSED */
	int64_t depth; /* spans of the track that are open when it starts; TRACE_UNKNOWN_DEPTH without trace_options.complete */
	struct trace_text name;
	struct trace_text category;		   /* data is NULL where there is none, and so in the next two lines */
	struct trace_text id, parent_id, trace_id; /* of an asynchronous span, or of a distributed trace */
	struct trace_text args;			   /* one JSON value; NULL too where not asked for */
};

/* Samples with equal track, name, id and key are a series. */
struct trace_sample {
	const struct trace_track *track; /* NULL if it belongs to none */
	int64_t ts_ns;
	double value; /* finite */
	struct trace_text name;
	struct trace_text id;	/* data may be NULL */
	struct trace_text key;	/* of several values under one name; "" if there is one alone */
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
	int64_t ts_ns; /* when the arrow leaves or arrives, which is not always when the span begins */
};

struct trace_flow {
	struct trace_flow_end from, to;
	struct trace_text name, category, id; /* as the file has them; data may be NULL */
};

/* What takes a trace in. A callback that is NULL is for what nobody wants; it then need not be decoded. Each answers
 * TRACE_OK, or a negative status that ends the reading, which answers the same.
 *
 * Order: spans come in no promised order, except that it is the same for the same file and options. All else comes in the
 * order of the file, flows excepted; tracks come last, by their numbers. */
struct trace_sink {
	void *context;
	int (*on_span)(void *context, const struct trace_span *span);
	int (*on_sample)(void *context, const struct trace_sample *sample);
	int (*on_instant)(void *context, const struct trace_instant *instant);
	int (*on_flow)(void *context, const struct trace_flow *flow);
	int (*on_track)(void *context, const struct trace_track *track);
};

struct trace_options {
	bool args;	    /* spans and instants with their arguments; otherwise these are skipped */
	bool complete;	    /* spans with depth, and their tracks with names: spans come when the file is read */
	bool strict;	    /* text that breaks the rules of its format is an error; otherwise it is mended and counted */
	size_t piece_bytes; /* how much of the file is parsed at a time; 0 is 64 KiB. Does not change any answer */
};

enum trace_finding {
	TRACE_LEFT_OUT, /* events that gave nothing */
	TRACE_MENDED	/* breaches of the format that were read all the same */
};

/* A line of the report. */
struct trace_report_line {
	enum trace_finding finding;
	const char *what; /* such as "E without B" */
	uint64_t n;
};

/* What was read so far. */
struct trace_counts {
	uint64_t n_events; /* of the file, of any sort */
	uint64_t n_spans, n_samples, n_instants, n_flows, n_tracks;
};

#endif
