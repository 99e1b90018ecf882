#include "trace/model.h"

const char *trace_track_kind_name(enum trace_track_kind kind)
{
	static const char *const names[TRACE_N_TRACK_KINDS] = {
		[TRACE_TRACK_GLOBAL] = "global",   [TRACE_TRACK_PROCESS] = "process", [TRACE_TRACK_THREAD] = "thread",
		[TRACE_TRACK_ASYNC] = "async",	   [TRACE_TRACK_CPU] = "cpu",	      [TRACE_TRACK_STATE] = "state",
		[TRACE_TRACK_SERVICE] = "service",
	};

	return names[kind];
}

const struct trace_track *trace_thread_of(const struct trace_track *track, const struct trace_track *thread)
{
	while (!thread && track) {
		thread = track->kind == TRACE_TRACK_THREAD ? track : NULL;
		track = track->parent;
	}
	return thread;
}
