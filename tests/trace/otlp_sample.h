/* tests/trace/otlp_sample.h -- Random traces of OTLP, each written in JSON and in protobuf. */
#ifndef TESTS_TRACE_OTLP_SAMPLE_H
#define TESTS_TRACE_OTLP_SAMPLE_H

#include "tests/support/random.h"
#include "trace/json_writer.h"

struct otlp_sample {
	struct trace_json_writer json;
	struct trace_bytes protobuf;
	bool headers_are_behind; /* resources and scopes stand behind what is in them */
	bool has_lengths;	 /* before each message of the protobuf, of which there are several as there are of lines of JSON */
};

/* The same seed gives the same sample. Release it in any case. */
void otlp_sample_make(struct otlp_sample *sample, struct random *dice);
void otlp_sample_release(struct otlp_sample *sample);

/* ---- Protobuf that is being written ---- */

void protobuf_put_varint(struct trace_bytes *message, uint64_t value);
void protobuf_put_number(struct trace_bytes *message, unsigned field, uint64_t value);
void protobuf_put_fixed64(struct trace_bytes *message, unsigned field, uint64_t value);
void protobuf_put_fixed32(struct trace_bytes *message, unsigned field, uint32_t value);
void protobuf_put_bytes(struct trace_bytes *message, unsigned field, const void *bytes, size_t n_bytes);

/* A message as a field of another; releases it. */
void protobuf_put_message(struct trace_bytes *message, unsigned field, struct trace_bytes *inside);

#endif
