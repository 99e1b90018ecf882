/* trace/otlp_protobuf.h -- OTLP's traces in protobuf: a TracesData, which is an ExportTraceServiceRequest as well, or several of
 * them, each behind its length in 4 bytes, the highest first.
 *
 *     TracesData 1 -> ResourceSpans { 1 Resource, 2 ScopeSpans } -> ScopeSpans { 1 InstrumentationScope, 2 Span }
 *
 * A span is decoded at a time. A resource or scope that stands behind its spans is looked for ahead, which needs all of the
 * message around them in memory. The numbers of the fields are those of opentelemetry-proto 1.x (trace/v1/trace.proto,
 * common/v1/common.proto, resource/v1/resource.proto). docs/traces.md says what becomes of what a span has.
 */
#ifndef IFOREST_OTLP_PROTOBUF_H
#define IFOREST_OTLP_PROTOBUF_H

#include "trace/format.h"

extern const struct trace_format trace_otlp_protobuf;

#endif
