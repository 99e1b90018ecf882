/* trace/assembly.h -- Assembly of a model from the events of a file: pairs begins with ends, binds flows, computes depths.
 *
 * Used by the readers of formats. A reader decodes its file and adds events in the order of the file:
 *
 *     trace_find_thread(assembly, pid, tid, &thread);
 *     event = (struct trace_event){ .track = thread, .thread = thread, .ts_ns = 10, .name = name };
 *     trace_add_begin(assembly, &event);
 *     ...
 *     trace_add_end(assembly, &(struct trace_event){ .track = thread, .ts_ns = 30 }, "E without B");
 *
 * Begins and ends of a track are paired in order of time, ties in order of addition: an end closes the innermost open span that
 * it matches. They wait in a sorter until the whole file is read. Complete spans (unless options.complete), instants and
 * samples go to the sink at once.
 *
 * All functions that return int return TRACE_OK or a negative status, which the reader must return, too; the assembly records
 * the error. Texts are copied.
 */
#ifndef IFOREST_ASSEMBLY_H
#define IFOREST_ASSEMBLY_H

#include "trace/flows.h"
#include "trace/report.h"
#include "trace/tracks.h"

struct trace_assembly;

/* What the sink wants, so that a reader need not decode the rest. Begins, ends, spans and their flow points must be added if
 * spans are wanted; flows imply spans. */
struct trace_wants {
	bool spans, args, samples, instants, flows;
};

struct trace_wants trace_assembly_wants(const struct trace_assembly *assembly);

/* ---- Tracks ---- */

/* Finds or creates a track. O(bytes of key) expected. */
int trace_find_track(struct trace_assembly *assembly, const struct trace_track_identity *identity, struct trace_track **track);

/* Find or create a process by its pid as written, and a thread with its process as the parent. Text without data is "". */
int trace_find_process(struct trace_assembly *assembly, struct trace_text pid, struct trace_track **track);
int trace_find_thread(struct trace_assembly *assembly, struct trace_text pid, struct trace_text tid,
		      struct trace_track **track);

/* The last name and the last labels win. */
int trace_name_track(struct trace_assembly *assembly, struct trace_track *track, struct trace_text name);
int trace_label_track(struct trace_assembly *assembly, struct trace_track *track, struct trace_text labels);
void trace_sort_track(struct trace_track *track, int64_t sort_index);

/* Sets the parent of a track, for files that give it after the track. TRACE_ERROR_FORMAT, with the parent unchanged, if that
 * would create a cycle. O(number of ancestors). */
int trace_set_parent(struct trace_assembly *assembly, struct trace_track *track, struct trace_track *parent);

/* ---- Events ---- */

/* An event as decoded by a reader. Text without data is absent; an absent name becomes "". */
struct trace_event {
	struct trace_track *track, *thread; /* as in struct trace_span */
	int64_t ts_ns;
	struct trace_text name, category;
	struct trace_text id, parent_id, trace_id;
	struct trace_text args; /* one JSON value */
};

/* A span with its duration: >= 0, or TRACE_NEVER_CLOSED. */
int trace_add_span(struct trace_assembly *assembly, const struct trace_event *event, int64_t dur_ns);

/* A begin and an end. An end matches open spans of its track with its name and its category, as far as it has them; the rest of
 * the end's event is ignored; a span without a name matches any. Spans inside the one that it closes stay open until their own
 * ends. An end that matches none is reported as `unmatched`, a string that must outlive the assembly, and by its name. A begin without an end becomes a span that was never
 * closed. */
/* From now on begins and ends of a track are paired in the order in which they are added, whatever their times are. An end that
 * is then before its begin gives a span that was never closed, and is counted. Call it before anything is added. */
void trace_pair_in_file_order(struct trace_assembly *assembly);

int trace_add_begin(struct trace_assembly *assembly, const struct trace_event *event);
int trace_add_end(struct trace_assembly *assembly, const struct trace_event *event, const char *unmatched);

/* A state, which lasts until the next state of its track in order of time. A state without a name only ends the previous one;
 * one with the name of the current state continues it. */
int trace_add_state(struct trace_assembly *assembly, const struct trace_event *event);

int trace_add_instant(struct trace_assembly *assembly, const struct trace_event *event);
int trace_add_sample(struct trace_assembly *assembly, const struct trace_sample *sample);

/* ---- Flows ---- */

/* Adds a point of a flow (flows.h). TRACE_BIND_EVENT binds it to the event added last. */
int trace_add_flow_point(struct trace_assembly *assembly, const struct trace_flow_point *point);

/* ---- Report and errors ---- */

/* Counts one event of the file. */
void trace_count_event(struct trace_assembly *assembly);

/* Adds n to a line of the report (report.h), whose text is formatted as by printf. Returns TRACE_OK. */
__attribute__((format(printf, 4, 5))) int trace_report_add(struct trace_assembly *assembly, enum trace_finding finding,
							   uint64_t n, const char *format, ...);

/* Adds n to the events left out for that reason. Returns TRACE_OK. */
int trace_leave_out(struct trace_assembly *assembly, uint64_t n, const char *what);

/* Records an error at a byte of the uncompressed file, with a text formatted as by printf. Returns the status. */
__attribute__((format(printf, 4, 5))) int trace_fail(struct trace_assembly *assembly, int status, uint64_t offset,
						     const char *format, ...);

/* ---- For trace.c: life of an assembly ---- */

struct trace_assembly *trace_assembly_new(const struct trace_options *options, const struct trace_sink *sink); /* or NULL */
void trace_assembly_free(struct trace_assembly *assembly); /* NULL is allowed */

/* After the whole file is added: passes some of the pending data to the sink. Returns TRACE_ROW if there is more, TRACE_OK when
 * done, or a negative status. */
int trace_assembly_finish(struct trace_assembly *assembly);

const struct trace_counts *trace_assembly_counts(const struct trace_assembly *assembly);
const struct trace_report *trace_assembly_report(const struct trace_assembly *assembly);

#endif
