/* bench/trace_fields.h -- Fields of protobuf traces that are messages, or times: what a parser has to look into, and what is
 * shifted in a copy. */
#ifndef BENCH_TRACE_FIELDS_H
#define BENCH_TRACE_FIELDS_H

#include <stdint.h>

/* A time is nanoseconds, as varint or fixed64. Of packed times the first is one, and the others are differences. */
enum time_kind { TIME_NONE, TIME_NS, TIME_US, TIME_PACKED_NS };

struct field_kind {
	uint32_t number; /* 0 ends the list */
	enum time_kind time;
	const struct field_kind *fields; /* of a message */
};

extern const struct field_kind perfetto_fields[], otlp_fields[];

/* The entry of a number, or NULL. */
const struct field_kind *field_kind_of(const struct field_kind *fields, uint32_t number);

#endif
