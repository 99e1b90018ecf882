/* trace/assembly.h -- Assembly of a model from the events of a file: pairs begins with ends, binds flows, finds depths.
 *
 * For readers of formats. A reader decodes its file and adds what it finds, in whatever order the file has it:
 *
 *     trace_find_thread(assembly, pid, tid, &thread);
 *     event = (struct trace_event){ .track = thread, .thread = thread, .ts_ns = 10, .name = name };
 *     trace_add_begin(assembly, &event);
 *     ...
 *     trace_add_end(assembly, &(struct trace_event){ .track = thread, .ts_ns = 30 }, "E without B");
 *
 * Begins and ends of a track are paired in the order of time, and of adding among equal times: an end closes the innermost
 * open span that it fits. They wait in a sorter until the file is read. Spans that are added whole, instants and samples go
 * to the sink at once (spans unless options.complete).
 *
 * All functions that answer int answer TRACE_OK or a negative status, which the reader passes on: the assembly knows what
 * went wrong. Texts are copied.
 */
#ifndef IFOREST_ASSEMBLY_H
#define IFOREST_ASSEMBLY_H

#include "trace/flows.h"
#include "trace/report.h"
#include "trace/tracks.h"

struct trace_assembly;

/* What somebody wants, so that a reader need not decode the rest. Ends, begins, spans and their flow points must be added if
 * spans are wanted, which flows imply. */
struct trace_wants {
	bool spans, args, samples, instants, flows;
};

struct trace_wants trace_assembly_wants(const struct trace_assembly *assembly);

/* ---- Tracks ---- */

/* Finds a track, or makes it. O(bytes of key) expected. */
int trace_find_track(struct trace_assembly *assembly, const struct trace_track_identity *identity, struct trace_track **track);

/* A process, by its pid as written; a thread with its process as the parent. Text without data is "". */
int trace_find_process(struct trace_assembly *assembly, struct trace_text pid, struct trace_track **track);
int trace_find_thread(struct trace_assembly *assembly, struct trace_text pid, struct trace_text tid,
		      struct trace_track **track);

/* The last name and the last labels count. */
int trace_name_track(struct trace_assembly *assembly, struct trace_track *track, struct trace_text name);
int trace_label_track(struct trace_assembly *assembly, struct trace_track *track, struct trace_text labels);
void trace_sort_track(struct trace_track *track, int64_t sort_index);

/* Sets the parent of a track, as where a file gives it later than the track. No circle may arise: TRACE_ERROR_FORMAT then,
 * with the parent as it was. O(length of the line of parents). */
int trace_set_parent(struct trace_assembly *assembly, struct trace_track *track, struct trace_track *parent);

/* ---- Events ---- */

/* What a reader knows of an event. Text without data is absent; an absent name becomes "". */
struct trace_event {
	struct trace_track *track, *thread; /* as in struct trace_span */
	int64_t ts_ns;
	struct trace_text name, category;
	struct trace_text id, parent_id, trace_id;
	struct trace_text args; /* one JSON value */
};

/* A span with its duration: >= 0, or TRACE_NEVER_CLOSED. */
int trace_add_span(struct trace_assembly *assembly, const struct trace_event *event, int64_t dur_ns);

/* A begin and an end. An end fits open spans of its track with its name, if it has one, and with its category, if it has one;
 * what else the end's event has is ignored. Spans inside the one that it closes stay open, and keep ends of their own. An end
 * that fits none is left out as `unmatched`, a string that lives as long as the assembly. A begin without an end becomes a
 * span that was never closed. */
int trace_add_begin(struct trace_assembly *assembly, const struct trace_event *event);
int trace_add_end(struct trace_assembly *assembly, const struct trace_event *event, const char *unmatched);

/* A state: it lasts until the next state of its track, in the order of time as above. One without a name only ends what was;
 * one with the name of the state that lasts goes on with it. */
int trace_add_state(struct trace_assembly *assembly, const struct trace_event *event);

int trace_add_instant(struct trace_assembly *assembly, const struct trace_event *event);
int trace_add_sample(struct trace_assembly *assembly, const struct trace_sample *sample);

/* ---- Flows ---- */

/* Adds a point of a flow (flows.h). One that is bound to an event belongs to the event that was added last. */
int trace_add_flow_point(struct trace_assembly *assembly, const struct trace_flow_point *point);

/* ---- Report and errors ---- */

/* Counts one event of the file. */
void trace_count_event(struct trace_assembly *assembly);

/* Adds n to a line of the report (report.h). The text is made as by printf. TRACE_OK. */
__attribute__((format(printf, 4, 5))) int trace_report_add(struct trace_assembly *assembly, enum trace_finding finding,
							   uint64_t n, const char *format, ...);

/* Adds n to the line of what was left out for that reason. TRACE_OK. */
int trace_leave_out(struct trace_assembly *assembly, uint64_t n, const char *what);

/* Notes an error at a byte of the unpacked file, and answers the status. The text is made as by printf. */
__attribute__((format(printf, 4, 5))) int trace_fail(struct trace_assembly *assembly, int status, uint64_t offset,
						     const char *format, ...);

/* ---- For trace.c: life of an assembly ---- */

struct trace_assembly *trace_assembly_new(const struct trace_options *options, const struct trace_sink *sink); /* or NULL */
void trace_assembly_free(struct trace_assembly *assembly); /* NULL is allowed */

/* When all of the file is added: hands out a part of what was held back. TRACE_ROW if there is more, TRACE_OK when all is done,
 * or a negative status. */
int trace_assembly_finish(struct trace_assembly *assembly);

const struct trace_counts *trace_assembly_counts(const struct trace_assembly *assembly);
const struct trace_report *trace_assembly_report(const struct trace_assembly *assembly);

#endif
