/* trace/otlp.h -- OTLP span in the model, whichever encoding it was read from.
 *
 *     resource   its service.name is the track
 *     scope      its name is the category
 *     span       a span; its ids are those of the model, and all else it has is in its args
 *     event      an instant on the same track, with the id of its span
 *     link       a flow from the span that it names, wherever in the file that stands
 *
 * A reader says which resource and scope come, then adds each of their spans with its links and events, in this order. All
 * functions that answer int answer TRACE_OK or a negative status, after trace_fail().
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

/* All zero is ready for use, but for the assembly, what it wants, and the offset. */
struct trace_otlp {
	struct trace_assembly *assembly;
	struct trace_wants wants;
	uint64_t offset;		   /* byte of the file at which the span or resource at hand begins, for errors */
	struct trace_track *track;	   /* of the resource at hand; NULL before its first span */
	struct trace_bytes service, scope; /* names of the resource and the scope at hand */
	struct trace_json_writer resource_args, scope_args; /* their attributes as members of args; may be empty */
	struct trace_json_writer args, attributes;	    /* of the span or event at hand */
	struct trace_otlp_id span_id;			    /* of the span that was added last, and its start */
	int64_t start_ns;
	bool is_left_out; /* it was not added */
};

/* Text without data is absent, as is a number 0. Attributes are an object in JSON. */
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

/* What comes is of this service and has these attributes; both may be absent. */
int trace_otlp_begin_resource(struct trace_otlp *otlp, struct trace_text service, struct trace_text attributes);
int trace_otlp_begin_scope(struct trace_otlp *otlp, struct trace_text name, struct trace_text version,
			   struct trace_text attributes);

int trace_otlp_add_span(struct trace_otlp *otlp, const struct trace_otlp_span *span);

/* Of the span that was added last. */
int trace_otlp_add_link(struct trace_otlp *otlp, const struct trace_otlp_id *trace_id, const struct trace_otlp_id *span_id);
int trace_otlp_add_event(struct trace_otlp *otlp, const struct trace_otlp_event *event);

/* ---- Ids and words ---- */

/* An id of bytes. False if there are more than TRACE_OTLP_MAX_ID_BYTES. */
bool trace_otlp_id_of_bytes(struct trace_otlp_id *id, struct trace_text bytes);

/* An id of text: hexadecimal digits, or else base64. False if it is neither, or too long. */
bool trace_otlp_id_of_text(struct trace_otlp_id *id, struct trace_text text);

/* Words for the numbers, without data for 0 and for numbers without a word. */
struct trace_text trace_otlp_kind(uint64_t number);
struct trace_text trace_otlp_status(uint64_t number);

#endif
