/* trace/otlp_protobuf.h -- OTLP's traces in protobuf: one message, or several that each stand behind their length.
 *
 * The message is a TracesData, which is an ExportTraceServiceRequest as well. A length has 4 bytes, the highest first.
 *
 *     TracesData 1 -> ResourceSpans { 1 Resource, 2 ScopeSpans } -> ScopeSpans { 1 InstrumentationScope, 2 Span }
 *
 * Spans are decoded one at a time. A resource or scope that follows its spans is searched for ahead, which requires the message
 * around them to be in memory. The numbers of the fields are those of opentelemetry-proto 1.x (trace/v1/trace.proto,
 * common/v1/common.proto, resource/v1/resource.proto). docs/traces.md documents the mapping of spans.
 */
#ifndef IFOREST_OTLP_PROTOBUF_H
#define IFOREST_OTLP_PROTOBUF_H

#include "trace/format.h"

extern const struct trace_format trace_otlp_protobuf;

#endif
