/* trace/otlp.h -- Conversion of OTLP spans to the model, common to all encodings.
 *
 *     resource   its service.name is the track
 *     scope      its name is the category
 *     span       a span with its ids; everything else is in its args
 *     event      an instant on the same track, with the id of its span
 *     link       a flow from the span that it names, wherever that is in the file
 *
 * A reader begins a resource and a scope, then adds each of their spans, its links and its events, in this order. All functions
 * that return int return TRACE_OK, or a negative status after trace_fail().
 */
#ifndef IFOREST_OTLP_H
#define IFOREST_OTLP_H

#include "trace/assembly.h"
#include "trace/json_writer.h"

enum { TRACE_OTLP_MAX_ID_BYTES = 32 /* 16 and 8 are usual */ };

/* An id as lower-case hexadecimal digits; none if it is missing or all zero. */
struct trace_otlp_id {
	char digits[2 * TRACE_OTLP_MAX_ID_BYTES];
	size_t n_digits;
};

/* Ready for use if all zero except assembly, wants and offset. */
struct trace_otlp {
	struct trace_assembly *assembly;
	struct trace_wants wants;
	uint64_t offset;		   /* byte of the file at which the current span or resource begins, for errors */
	struct trace_track *track;	   /* of the current resource; NULL before its first span */
	struct trace_bytes service, scope; /* names of the current resource and scope */
	struct trace_json_writer resource_args, scope_args; /* their attributes as members of args; may be empty */
	struct trace_json_writer args, attributes;	    /* of the current span or event */
	struct trace_otlp_id span_id;			    /* of the span added last, and its start */
	int64_t start_ns;
	bool is_left_out;		   /* that span was not added */
	uint64_t n_spans, n_without_times; /* these have no trace id of the usual length, either */
};

/* Text without data is absent, and so is a number 0. Attributes are a JSON object. */
struct trace_otlp_span {
	struct trace_otlp_id trace_id, span_id, parent_id;
	struct trace_text name, trace_state, status_message, attributes;
	struct trace_text kind, status; /* in words, such as "server" and "error" */
	bool has_start;
	uint64_t start_ns, end_ns;
	uint64_t flags, n_dropped_attributes, n_dropped_events, n_dropped_links;
};

struct trace_otlp_event {
	uint64_t time_ns;
	struct trace_text name, attributes;
	uint64_t n_dropped_attributes;
};

void trace_otlp_release(struct trace_otlp *otlp);

/* Begin a resource or scope, for the spans that follow. All texts may be absent. */
int trace_otlp_begin_resource(struct trace_otlp *otlp, struct trace_text service, struct trace_text attributes);
int trace_otlp_begin_scope(struct trace_otlp *otlp, struct trace_text name, struct trace_text version,
			   struct trace_text attributes);

int trace_otlp_add_span(struct trace_otlp *otlp, const struct trace_otlp_span *span);

/* Add to the span added last. */
int trace_otlp_add_link(struct trace_otlp *otlp, const struct trace_otlp_id *trace_id, const struct trace_otlp_id *span_id);
int trace_otlp_add_event(struct trace_otlp *otlp, const struct trace_otlp_event *event);

/* At the end of the file: an error if there were spans, and none of them has times or an id, as of metrics that are taken for
 * spans. */
int trace_otlp_finish(struct trace_otlp *otlp);

/* ---- Ids and words ---- */

/* An id of bytes. False if there are more than TRACE_OTLP_MAX_ID_BYTES. */
bool trace_otlp_id_of_bytes(struct trace_otlp_id *id, struct trace_text bytes);

/* An id of text: hexadecimal digits, or else base64. False if it is neither, or too long. */
bool trace_otlp_id_of_text(struct trace_otlp_id *id, struct trace_text text);

/* Return the word for a number, without data for 0 and for numbers without a word. */
struct trace_text trace_otlp_kind(uint64_t number);
struct trace_text trace_otlp_status(uint64_t number);

#endif
