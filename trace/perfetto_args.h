/* trace/perfetto_args.h -- Arguments of a Perfetto track event, as a JSON object: its debug annotations. */
#ifndef IFOREST_PERFETTO_ARGS_H
#define IFOREST_PERFETTO_ARGS_H

#include "trace/perfetto_sequence.h"

/* Replaces the content of json by the annotations of a message TrackEvent; it is empty if there are none. Invalid UTF-8 becomes
 * U+FFFD, and is counted in *n_mended; pointers become texts such as "0x7f10"; NaN, infinities, and values nested more than 100
 * deep become null. TRACE_OK, TRACE_ERROR_FORMAT or TRACE_ERROR_MEMORY. O(bytes). */
int trace_perfetto_args(const struct trace_perfetto_sequence *sequence, struct trace_text event, struct trace_bytes *json,
			uint64_t *n_mended);

/* The text of the first annotation of an event; data is NULL if it has none. */
struct trace_text trace_perfetto_first_annotation(struct trace_text event);

#endif
