/* Files that are not read: each error says what the file is, and gives a command. The command is run where its program is installed,
 * and what it makes is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/protobuf_writer.h"
#include "tests/trace/chrome_file.h"
#include "trace/foreign.h"

enum { COMMAND_BYTES = 2000 };

static const char plain[] = "[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2,\"name\":\"a\"}]";

/* Runs a command in which FILE and OTHER stand for files of the test's folder. False if it fails. */
static bool run_command(const char *command)
{
	char text[COMMAND_BYTES];
	size_t n = 0;

	for (const char *at = command; *at;) {
		bool is_file = strncmp(at, "FILE", 4) == 0, is_other = strncmp(at, "OTHER", 5) == 0;

		if (is_file || is_other)
			n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", trace_path, is_other ? ".other" : "");
		else
			text[n++] = *at;
		at += is_file ? 4 : is_other ? 5 : 1;
	}
	text[n] = 0;
	return system(text) == 0;
}

static bool is_installed(const char *program)
{
	char command[100];

	snprintf(command, sizeof command, "command -v %s > /dev/null 2>&1", program);
	return system(command) == 0;
}

/* The file that was written is not read; the error has these words. */
static void expect_advice(const char *words)
{
	read_path(trace_path, &everything);
	if (reading.status != TRACE_ERROR_NOT_TRACE)
		fail_msg("status %d: %s", reading.status, words);
	if (!strstr(reading.error, words))
		fail_msg("'%s' is not in '%s'", words, reading.error);
	assert_non_null(strstr(reading.error, trace_formats_read));
}

/* The error has this command, which makes a file of so many spans. */
static void expect_command(const char *program, const char *command, uint64_t n_spans)
{
	char other[300];

	expect_advice(command);
	if (!is_installed(program)) {
		print_message("skipped, there is no %s: %s\n", program, command);
		return;
	}
	snprintf(other, sizeof other, "%s.other", trace_path);
	remove(other);
	if (!run_command(command))
		fail_msg("%s", command);
	read_path(other, &everything);
	assert_string_equal(reading.error, "");
	assert_int_equal(reading.status, TRACE_OK);
	assert_int_equal(reading.counts.n_spans, n_spans);
	remove(other);
}

/* ---- JSON ---- */

#define ZIPKIN_COMMAND \
	"jq -s '[.[][] | select(.timestamp) | {ph: \"X\", name: (.name // \"\"), ts: .timestamp, dur: (.duration // 0), " \
	"pid: (.localEndpoint.serviceName // \"\"), tid: (.traceId // \"\"), args: .}]' FILE > OTHER"
#define SPANS_OF_OTLP \
	"\"scopeSpans\":[{\"spans\":[{\"traceId\":\"5b8efff798038103d269b633813fc60c\",\"spanId\":\"eee19b7ec3c1b174\",\"name\":\"a\"," \
	"\"startTimeUnixNano\":\"1\",\"endTimeUnixNano\":\"3\"}]}]"
#define RESOURCE "{\"resource\":{\"attributes\":[]}," SPANS_OF_OTLP "}"
#define REQUEST "{\"resourceSpans\":[" RESOURCE "]}"

static const struct wrapped {
	const char *text, *words; /* the words are a command if there is one */
	uint64_t n_spans;
} wrapped[] = {
	{ "{\"data\":[{\"traceID\":\"1f\",\"spans\":[{\"traceID\":\"1f\",\"spanID\":\"2f\",\"operationName\":\"get\",\"references\":[],"
	  "\"startTime\":1700000000000000,\"duration\":50,\"tags\":[],\"logs\":[],\"processID\":\"p1\"},{\"traceID\":\"1f\",\"spanID\":\"3f\","
	  "\"operationName\":\"put\",\"startTime\":1700000000000010,\"duration\":5,\"processID\":\"p1\"}],"
	  "\"processes\":{\"p1\":{\"serviceName\":\"shop\",\"tags\":[]}}}],\"total\":0}",
	  "jq '[.data[] | .processes as $p | .spans[] | {ph: \"X\", name: .operationName, ts: .startTime, dur: .duration, "
	  "pid: $p[.processID].serviceName, tid: .traceID, args: .}]' FILE > OTHER",
	  2 },
	{ "[{\"traceId\":\"1\",\"id\":\"2\",\"name\":\"get\",\"timestamp\":5,\"duration\":3,\"localEndpoint\":{\"serviceName\":\"shop\"}},"
	  "{\"traceId\":\"1\",\"id\":\"3\",\"name\":\"no time\"}]",
	  ZIPKIN_COMMAND, 1 },
	/* .next/trace: an array a line */
	{ "[{\"name\":\"a\",\"duration\":3,\"timestamp\":5,\"id\":1,\"tags\":{},\"startTime\":1,\"traceId\":\"9\"}]\n"
	  "[{\"name\":\"b\",\"duration\":3,\"timestamp\":7,\"id\":2,\"parentId\":1,\"tags\":{},\"startTime\":1,\"traceId\":\"9\"}]\n",
	  ZIPKIN_COMMAND, 2 },
	{ "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"shared\":{\"frames\":[{\"name\":\"a\"},{\"name\":\"b\"}]},"
	  "\"profiles\":[{\"type\":\"evented\",\"name\":\"t\",\"unit\":\"milliseconds\",\"startValue\":0,\"endValue\":9,\"events\":["
	  "{\"type\":\"O\",\"frame\":0,\"at\":0},{\"type\":\"O\",\"frame\":1,\"at\":2.5},{\"type\":\"C\",\"frame\":1,\"at\":3},"
	  "{\"type\":\"C\",\"frame\":0,\"at\":9}]},{\"type\":\"sampled\",\"name\":\"s\",\"unit\":\"none\",\"samples\":[[0]],\"weights\":[1]}]}",
	  "jq '[.shared.frames as $f | .profiles[] | select(.type == \"evented\") | .name as $t | "
	  "({nanoseconds: 0.001, milliseconds: 1000, seconds: 1000000}[.unit] // 1) as $u | .events[] | "
	  "{ph: (if .type == \"O\" then \"B\" else \"E\" end), name: $f[.frame].name, ts: (.at * $u), pid: \"speedscope\", "
	  "tid: $t}]' FILE > OTHER",
	  2 },
	{ "{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"(root)\"},\"children\":[2]},{\"id\":2,\"callFrame\":{\"functionName\":\"f\"}}],"
	  "\"startTime\":100,\"endTime\":130,\"samples\":[1,2,2],\"timeDeltas\":[10,10,10]}",
	  "jq '. as $p | ([.nodes[] | {(.id | tostring): .callFrame.functionName}] | add) as $n | "
	  "[foreach range(0; $p.samples | length) as $i ($p.startTime; . + $p.timeDeltas[$i]; "
	  "{ph: \"X\", name: $n[$p.samples[$i] | tostring], ts: ., dur: ($p.timeDeltas[$i + 1] // 0), pid: 1, tid: 1})]' FILE > OTHER",
	  3 },
	{ "{\"trace\":" REQUEST "}", "jq -c .trace FILE > OTHER", 1 },
	{ "{\"result\":" REQUEST "}\n{\"result\":" REQUEST "}\n", "jq -c .result FILE > OTHER", 2 },
	{ RESOURCE "\n" RESOURCE "\n", "jq -c '{resourceSpans: [.]}' FILE > OTHER", 2 },
	{ "{" SPANS_OF_OTLP ",\"resource\":{}}", "jq -c '{resourceSpans: [.]}' FILE > OTHER", 1 },
	{ "[" RESOURCE "," RESOURCE "]", "jq -c '{resourceSpans: .}' FILE > OTHER", 2 },
	{ "[" REQUEST "," REQUEST "]", "jq -c '.[]' FILE > OTHER", 2 },
	{ "{\"name\":\"a\",\"ph\":\"X\",\"ts\":1,\"dur\":1}\n{\"name\":\"b\",\"ph\":\"X\",\"ts\":2,\"dur\":1}\n", "(echo '['; cat FILE) > OTHER", 2 },
	{ "{\"pid\":1,\"ph\":\"X\",\"ts\":1,\"dur\":1},\n{\"pid\":1,\"ph\":\"X\",\"ts\":2,\"dur\":1},\n", "(echo '['; cat FILE) > OTHER", 2 },
};

static void wrapped_json_is_unwrapped_by_the_command(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof wrapped / sizeof *wrapped; i++) {
		write_file(wrapped[i].text, strlen(wrapped[i].text));
		expect_command(wrapped[i].words[0] == '(' ? "cat" : "jq", wrapped[i].words, wrapped[i].n_spans);
	}
}

/* Lines with metrics or logs alone, so many that the first spans stand far behind the start. */
static void metrics_before_spans_are_left_away_by_the_command(void **state)
{
	static const char *const lines[] = { "{\"resourceMetrics\":[{}]}\n", "{\"resourceLogs\":[{}]}\n" };
	static char text[20000];

	(void)state;
	for (int i = 0; i < 2; i++) {
		size_t n = 0;

		while (n < sizeof text - 2000)
			n += (size_t)snprintf(text + n, sizeof text - n, "%s", lines[i]);
		snprintf(text + n, sizeof text - n, "%s\n", REQUEST);
		write_file(text, strlen(text));
		expect_command("jq", "jq -c 'select(.resourceSpans)' FILE > OTHER", 1);
	}
}

/* ---- Packed files ---- */

static void packed_files_are_unpacked_by_the_command(void **state)
{
	static const struct {
		const char *program, *pack, *unpack;
	} packed[] = {
		{ "zstd", "zstd -q -f OTHER -o FILE", "zstd -d FILE -o OTHER" },
		{ "xz", "xz -c OTHER > FILE", "xz -dc FILE > OTHER" },
		{ "bzip2", "bzip2 -c OTHER > FILE", "bzip2 -dc FILE > OTHER" },
		{ "python3", "python3 -m zipfile -c FILE OTHER", "unzip -p FILE > OTHER" },
		{ "7z", "7z a -bd FILE.7z OTHER > /dev/null && mv FILE.7z FILE", "7z x -so FILE > OTHER" },
	};
	char other[300];

	(void)state;
	snprintf(other, sizeof other, "%s.other", trace_path);
	for (size_t i = 0; i < sizeof packed / sizeof *packed; i++) {
		char program[20];

		if (!is_installed(packed[i].program)) {
			print_message("skipped, there is no %s\n", packed[i].program);
			continue;
		}
		write_file(plain, strlen(plain));
		assert_true(run_command("mv FILE OTHER"));
		assert_true(run_command(packed[i].pack));
		sscanf(packed[i].unpack, "%19s", program);
		expect_command(program, packed[i].unpack, 1);
		remove(other);
	}
}

/* ---- What only gets a name ---- */

static void files_that_are_no_traces_are_called_what_they_are(void **state)
{
	static const struct {
		const char *text;
		size_t n_bytes; /* 0: to the NUL */
		const char *words;
	} known[] = {
		{ "SQLite format 3\0\x10\0", 18, "docs/nsys.md" },
		{ "\x28\xB5\x2F\xFD\x04", 5, "zstd -d" },
		{ "\xFD\x37zXZ\0\0", 7, "xz" },
		{ "BZh91AY", 0, "bzip2" },
		{ "PK\3\4....", 0, "zip" },
		{ "7z\xBC\xAF\x27\x1C\0", 7, "7z" },
		{ "\x10\0\x04" "FxT\x16\0", 8, "Fuchsia" },
		{ "PERFILE2....", 0, "perf's own file" },
		{ "# tracer: nop\n#\n", 0, "ftrace" },
		{ "\n# tracer: nop\n#\n", 0, "no trace format that is known" },
		{ "swapper     0 [000] 12345.678901:          1 cycles: \n\tffffffff81 native_write_msr\n", 0, "perf script" },
		{ "main;work;leaf 12\nmain;work 3\n", 0, "Stacks with counts" },
		{ "start,duration,name\n1,2,a\n", 0, "'.import --csv FILE TABLE'" },
		{ "start\tduration\n1\t2\n", 0, "a table as text" },
		{ "{\"meta\":{\"interval\":1,\"preprocessedProfileVersion\":47},\"libs\":[],\"threads\":[]}", 0, "samply" },
		{ "{\"rocprofiler-sdk-tool\":[{\"metadata\":{}}]}", 0, "--output-format pftrace" },
		{ "\nhello, this is a text file that begins with an empty line\n", 0, "no trace format that is known" },
		{ "{\"hello\":1}", 0, "there is no array \"traceEvents\" at the top level" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		write_file(known[i].text, known[i].n_bytes ? known[i].n_bytes : strlen(known[i].text));
		expect_advice(known[i].words);
	}
}

/* What looks like one of these, but is a trace. */
static void traces_are_not_mistaken(void **state)
{
	static const char *const texts[] = {
		"{\"meta\":{\"preprocessedProfileVersion\":1},\"libs\":[],\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1}]}",
		"{\"data\":[{\"traceID\":1}],\"nodes\":[{\"id\":1}],\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1}]}",
		"[{\"traceId\":\"1\",\"id\":\"2\",\"name\":\"get\",\"ph\":\"X\",\"ts\":1,\"dur\":1}]",
		"[{\"args\":{\"resourceSpans\":[],\"scopeSpans\":1},\"ph\":\"X\",\"ts\":1,\"dur\":1}]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		write_file(texts[i], strlen(texts[i]));
		read_path(trace_path, &everything);
		assert_string_equal(reading.error, "");
		assert_int_equal(reading.counts.n_spans, 1);
	}
}

/* ---- Protobuf ---- */

static void write_message(struct protobuf *message)
{
	write_file(message->bytes, message->n_bytes);
	protobuf_release(message);
	*message = (struct protobuf){ 0 };
}

/* As JAX has it: a plane with an id, a name, a line with events, and names by number. */
static void xplanes_are_called_so(void **state)
{
	(void)state;
	for (int has_id = 0; has_id < 2; has_id++) {
		struct protobuf message = { 0 };
		size_t plane = protobuf_begin(&message, 1), line, names;

		if (has_id)
			protobuf_varint(&message, 1, 7);
		protobuf_text(&message, 2, "/host:CPU");
		line = protobuf_begin(&message, 3);
		protobuf_varint(&message, 1, 1);
		protobuf_text(&message, 2, "python");
		protobuf_end(&message, line);
		names = protobuf_begin(&message, 4);
		protobuf_varint(&message, 1, 1);
		protobuf_end(&message, names);
		protobuf_end(&message, plane);
		write_message(&message);
		expect_advice("HOST.trace.json.gz");
	}
}

static size_t begin_resource(struct protobuf *message, size_t begun[2])
{
	size_t data = protobuf_begin(message, 1), resource = protobuf_begin(message, 1), pair = protobuf_begin(message, 1);
	size_t value;

	protobuf_text(message, 1, "service.name");
	value = protobuf_begin(message, 2);
	protobuf_text(message, 1, "shop");
	protobuf_end(message, value);
	protobuf_end(message, pair);
	protobuf_end(message, resource);
	begun[0] = protobuf_begin(message, 2);
	begun[1] = protobuf_begin(message, 2);
	return data;
}

/* A gauge looks like a span without times, a sum and a record of a log like nothing. */
static void metrics_and_logs_of_otlp_are_errors(void **state)
{
	enum { GAUGE, SUM, LOG, N_KINDS };

	(void)state;
	for (int kind = 0; kind < N_KINDS; kind++) {
		struct protobuf message = { 0 };
		size_t begun[2], data = begin_resource(&message, begun), point;

		if (kind == LOG) {
			protobuf_fixed64(&message, 1, 1700000000000000000);
			protobuf_text(&message, 3, "INFO");
		} else {
			protobuf_text(&message, 1, "memory");
			point = protobuf_begin(&message, kind == GAUGE ? 5 : 7);
			protobuf_varint(&message, 2, 2);
			protobuf_end(&message, point);
		}
		protobuf_end(&message, begun[1]);
		protobuf_end(&message, begun[0]);
		protobuf_end(&message, data);
		write_message(&message);
		expect_advice(kind == GAUGE ? "metrics and logs of OTLP are not read" : "OTLP in protobuf, but of metrics or logs");
	}
}

static void a_perfetto_trace_has_a_packet_that_can_be_read(void **state)
{
	struct protobuf message = { 0 };
	size_t packet = protobuf_begin(&message, 1);

	(void)state;
	protobuf_varint(&message, 8, 5);
	protobuf_raw(&message, "\xFF\xFF", 2);
	protobuf_end(&message, packet);
	write_message(&message);
	expect_advice("no trace format that is known");
	/* the inside of the only packet */
	packet = protobuf_begin(&message, 1);
	protobuf_varint(&message, 10, 1);
	protobuf_bytes(&message, 60, "\xFF\xFF", 2);
	protobuf_end(&message, packet);
	write_message(&message);
	expect_advice("none of the packets can be read");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrapped_json_is_unwrapped_by_the_command),
		cmocka_unit_test(metrics_before_spans_are_left_away_by_the_command),
		cmocka_unit_test(packed_files_are_unpacked_by_the_command),
		cmocka_unit_test(files_that_are_no_traces_are_called_what_they_are),
		cmocka_unit_test(traces_are_not_mistaken),
		cmocka_unit_test(xplanes_are_called_so),
		cmocka_unit_test(metrics_and_logs_of_otlp_are_errors),
		cmocka_unit_test(a_perfetto_trace_has_a_packet_that_can_be_read),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
