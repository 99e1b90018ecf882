#include "bench/trace_fields.h"

#include <stddef.h>

/* Names of messages are Perfetto's and OpenTelemetry's. */

static const struct field_kind no_fields[] = { { 0 } };

static const struct field_kind clock_fields[] = { { 2, TIME_NS, NULL }, { 0 } };
static const struct field_kind clock_snapshot_fields[] = { { 1, TIME_NONE, clock_fields }, { 0 } };
static const struct field_kind ftrace_event_fields[] = { { 1, TIME_NS, NULL }, { 4, TIME_NONE, no_fields }, { 0 } };
static const struct field_kind compact_sched_fields[] = { { 2, TIME_PACKED_NS, NULL }, { 0 } };
static const struct field_kind bundle_fields[] = { { 2, TIME_NONE, ftrace_event_fields },
						   { 4, TIME_NONE, compact_sched_fields },
						   { 0 } };
static const struct field_kind track_event_fields[] = {
	{ 4, TIME_NONE, no_fields }, { 6, TIME_NONE, no_fields }, { 16, TIME_US, NULL }, { 0 }
};
static const struct field_kind interned_fields[] = {
	{ 1, TIME_NONE, no_fields }, { 2, TIME_NONE, no_fields }, { 3, TIME_NONE, no_fields }, { 0 }
};
static const struct field_kind descriptor_fields[] = { { 3, TIME_NONE, no_fields }, { 4, TIME_NONE, no_fields }, { 0 } };
static const struct field_kind packet_fields[] = { { 1, TIME_NONE, bundle_fields },
						   { 6, TIME_NONE, clock_snapshot_fields },
						   { 8, TIME_NS, NULL },
						   { 11, TIME_NONE, track_event_fields },
						   { 12, TIME_NONE, interned_fields },
						   { 60, TIME_NONE, descriptor_fields },
						   { 0 } };

const struct field_kind perfetto_fields[] = { { 1, TIME_NONE, packet_fields }, { 0 } };

static const struct field_kind attribute_fields[] = { { 2, TIME_NONE, no_fields }, { 0 } };
static const struct field_kind event_fields[] = { { 1, TIME_NS, NULL }, { 3, TIME_NONE, attribute_fields }, { 0 } };
static const struct field_kind span_fields[] = { { 7, TIME_NS, NULL },
						 { 8, TIME_NS, NULL },
						 { 9, TIME_NONE, attribute_fields },
						 { 11, TIME_NONE, event_fields },
						 { 13, TIME_NONE, no_fields },
						 { 0 } };
static const struct field_kind scope_spans_fields[] = { { 1, TIME_NONE, no_fields }, { 2, TIME_NONE, span_fields }, { 0 } };
static const struct field_kind resource_fields[] = { { 1, TIME_NONE, attribute_fields }, { 0 } };
static const struct field_kind resource_spans_fields[] = { { 1, TIME_NONE, resource_fields },
							   { 2, TIME_NONE, scope_spans_fields },
							   { 0 } };

const struct field_kind otlp_fields[] = { { 1, TIME_NONE, resource_spans_fields }, { 0 } };

const struct field_kind *field_kind_of(const struct field_kind *fields, uint32_t number)
{
	for (; fields->number; fields++) {
		if (fields->number == number)
			return fields;
	}
	return NULL;
}
