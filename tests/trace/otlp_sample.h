/* tests/trace/otlp_sample.h -- Random traces of OTLP, each written in JSON and in protobuf. */
#ifndef TESTS_TRACE_OTLP_SAMPLE_H
#define TESTS_TRACE_OTLP_SAMPLE_H

#include "tests/support/protobuf_writer.h"
#include "tests/support/random.h"
#include "trace/json_writer.h"

struct otlp_sample {
	struct trace_json_writer json;
	struct protobuf protobuf;
	bool headers_are_behind; /* resources and scopes stand behind what is in them */
	bool has_lengths; /* before each message of the protobuf, of which there are several as there are of lines of JSON */
};

/* The same seed gives the same sample. Release it in any case. */
void otlp_sample_make(struct otlp_sample *sample, struct random *dice);
void otlp_sample_release(struct otlp_sample *sample);

#endif
