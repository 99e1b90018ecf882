/* trace/otlp_json.h -- OTLP's traces in JSON: one object or several, most often one in a line.
 *
 * docs/traces.md says what becomes of what a span has.
 */
#ifndef IFOREST_OTLP_JSON_H
#define IFOREST_OTLP_JSON_H

#include "trace/format.h"

extern const struct trace_format trace_otlp_json;

#endif
