/* trace/perfetto_args.h -- Arguments of a Perfetto track event, as a JSON object: its debug annotations. */
#ifndef IFOREST_PERFETTO_ARGS_H
#define IFOREST_PERFETTO_ARGS_H

#include "trace/perfetto_sequence.h"

/* Writes the annotations of a message TrackEvent to json, which is emptied first, and stays empty if there are none. Texts that
 * are not UTF-8 have U+FFFD; pointers are texts such as "0x7f10"; NaN and the infinities are null; what is nested more than
 * 100 deep is null, too.
 * TRACE_OK, TRACE_ERROR_FORMAT or TRACE_ERROR_MEMORY. O(bytes). */
int trace_perfetto_args(const struct trace_perfetto_sequence *sequence, struct trace_text event, struct trace_bytes *json);

/* The text of the first annotation of an event; data is NULL if it has none. */
struct trace_text trace_perfetto_first_annotation(struct trace_text event);

#endif
