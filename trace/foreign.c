#include "trace/foreign.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "trace/bytes.h"
#include "trace/protobuf.h"

enum { MOST_KEYS = 40, LINES_COMPARED = 2 };

const char trace_formats_read[] =
	"Formats that are read: Chrome JSON, Perfetto protobuf, OTLP (JSON, lines of JSON, protobuf), .spall; "
	"plain or gzip";

/* ---- Bytes at the start ---- */

static const struct magic {
	const char *bytes;
	size_t n_bytes;
	const char *advice;
} magics[] = {
	{ "SQLite format 3", 16,
	  "This is an SQLite database. Exports of Nsight Systems and rocpd are indexed as they are: see docs/nsys.md" },
	{ "\x28\xB5\x2F\xFD", 4, "The file is packed with zstd. Unpack it: zstd -d FILE -o OTHER" },
	{ "\xFD"
	  "7zXZ",
	  6, "The file is packed with xz. Unpack it: xz -dc FILE > OTHER" },
	{ "BZh", 3, "The file is packed with bzip2. Unpack it: bzip2 -dc FILE > OTHER" },
	{ "PK\3\4", 4, "The file is a zip archive. Unpack it: unzip -p FILE > OTHER" },
	{ "7z\xBC\xAF\x27\x1C", 6, "The file is a 7z archive. Unpack it: 7z x -so FILE > OTHER" },
	{ "\x10\0\x04"
	  "FxT\x16",
	  8,
	  "The .fxt format of Fuchsia and magic-trace is not read. Perfetto's traceconv makes JSON of it: traceconv json FILE OTHER" },
	{ "PERFILE2", 8,
	  "perf's own file is not read: it has samples of stacks, and no spans. uftrace and Perfetto record spans" },
	{ "\x17\x08\x44tracing", 10,
	  "trace-cmd's own file is not read. Perfetto records the same events of the kernel in a format that is" },
	{ "# tracer:", 9,
	  "The text of ftrace is not read. Perfetto records the same events of the kernel in a format that is" },
	{ "TRACE:", 6, "The text of atrace is not read. Perfetto records the same events in a format that is" },
};

/* ---- JSON: keys of an object ---- */

/* The keys of an object as far as the head has them, with what stands behind each. */
struct object_keys {
	struct trace_text keys[MOST_KEYS], values[MOST_KEYS];
	size_t n;
};

static void skip_space(struct trace_text *text)
{
	while (text->n_bytes > 0 && strchr(" \t\r\n", *text->data)) {
		text->data++;
		text->n_bytes--;
	}
}

/* True if the text begins with these tokens, with any space before each. A token in quotes is a whole key or text. */
static bool begins_with(struct trace_text text, const char *const tokens[])
{
	for (; *tokens; tokens++) {
		size_t n_bytes = strlen(*tokens);

		skip_space(&text);
		if (text.n_bytes < n_bytes || memcmp(text.data, *tokens, n_bytes) != 0)
			return false;
		text.data += n_bytes;
		text.n_bytes -= n_bytes;
	}
	return true;
}

/* Returns the text behind a string, which begins with its quote. */
static struct trace_text behind_string(struct trace_text text)
{
	size_t i = 1;

	while (i < text.n_bytes && text.data[i] != '"')
		i += text.data[i] == '\\' ? 2 : 1;
	i = i < text.n_bytes ? i + 1 : text.n_bytes;
	return (struct trace_text){ text.data + i, text.n_bytes - i };
}

/* Finds the keys of the object whose brace the text begins with. */
static void find_keys(struct trace_text text, struct object_keys *keys)
{
	int depth = 0;

	keys->n = 0;
	while (text.n_bytes > 0 && keys->n < MOST_KEYS) {
		struct trace_text start = text;

		if (*text.data == '"') {
			text = behind_string(text);
			keys->keys[keys->n] = (struct trace_text){ start.data, (size_t)(text.data - start.data) };
			skip_space(&text);
			if (depth != 1 || text.n_bytes == 0 || *text.data != ':')
				continue;
			keys->values[keys->n++] = (struct trace_text){ text.data + 1, text.n_bytes - 1 };
			continue;
		}
		depth += *text.data == '{' || *text.data == '[' ? 1 : *text.data == '}' || *text.data == ']' ? -1 : 0;
		if (depth == 0)
			return;
		text.data++;
		text.n_bytes--;
	}
}

/* Returns what stands behind a key, which is written with its quotes; data is NULL if there is none. */
static struct trace_text value_of(const struct object_keys *keys, const char *key)
{
	for (size_t i = 0; i < keys->n; i++) {
		if (keys->keys[i].n_bytes == strlen(key) && memcmp(keys->keys[i].data, key, keys->keys[i].n_bytes) == 0)
			return keys->values[i];
	}
	return (struct trace_text){ NULL, 0 };
}

static bool has(const struct object_keys *keys, const char *key)
{
	return value_of(keys, key).data != NULL;
}

/* True if there is this key, and its value begins with these tokens. */
static bool has_value(const struct object_keys *keys, const char *key, const char *const tokens[])
{
	struct trace_text value = value_of(keys, key);

	return value.data && begins_with(value, tokens);
}

static bool contains(struct trace_text text, const char *word)
{
	size_t n_bytes = strlen(word);

	for (size_t i = 0; i + n_bytes <= text.n_bytes; i++) {
		if (memcmp(text.data + i, word, n_bytes) == 0)
			return true;
	}
	return false;
}

/* ---- JSON: objects and arrays ---- */

#define TOKENS(...)               \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}

static bool has_spans_of_otlp(const struct object_keys *keys)
{
	return has(keys, "\"scopeSpans\"") || has(keys, "\"scope_spans\"") || has(keys, "\"instrumentationLibrarySpans\"");
}

static bool is_cpu_profile(const struct object_keys *keys)
{
	return has_value(keys, "\"nodes\"", TOKENS("[", "{", "\"id\"")) && !has(keys, "\"ph\"");
}

static bool is_firefox(const struct object_keys *keys)
{
	struct trace_text meta = value_of(keys, "\"meta\"");

	return meta.data &&
	       (has(keys, "\"threads\"") || has(keys, "\"libs\"") || contains(meta, "\"preprocessedProfileVersion\""));
}

static const char *advice_on_object(const struct object_keys *keys)
{
	if (has(keys, "\"traceEvents\"") || has(keys, "\"resourceSpans\"") || has(keys, "\"resource_spans\"") ||
	    has(keys, "\"batches\""))
		return NULL;
	if (has_value(keys, "\"data\"", TOKENS("[", "{", "\"traceID\"")) ||
	    has_value(keys, "\"data\"", TOKENS("[", "{", "\"spans\"")))
		return "Jaeger's JSON is not read. Make events of Chrome of it: "
		       "jq '[.data[] | .processes as $p | .spans[] | {ph: \"X\", name: .operationName, ts: .startTime, dur: .duration, "
		       "pid: $p[.processID].serviceName, tid: .traceID, args: .}]' FILE > OTHER";
	if (has_value(keys, "\"result\"", TOKENS("{", "\"resourceSpans\"")))
		return "OTLP stands in \"result\" here, as Jaeger's /api/v3 gives it. Take it out: jq -c .result FILE > OTHER";
	if (has_value(keys, "\"trace\"", TOKENS("{", "\"resourceSpans\"")) ||
	    has_value(keys, "\"trace\"", TOKENS("{", "\"batches\"")))
		return "OTLP stands in \"trace\" here, as Tempo's /api/v2/traces gives it. Take it out: jq -c .trace FILE > OTHER";
	if (has_spans_of_otlp(keys) || has_value(keys, "\"resource\"", TOKENS("{", "\"attributes\"")))
		return "OTLP's resources stand alone here, without \"resourceSpans\" around them. Put it there: "
		       "jq -c '{resourceSpans: [.]}' FILE > OTHER";
	if (has(keys, "\"resourceMetrics\"") || has(keys, "\"resourceLogs\"") || has(keys, "\"resourceProfiles\""))
		return "The file begins with metrics, logs or profiles of OTLP, and only spans are read. If there are spans further on: "
		       "jq -c 'select(.resourceSpans)' FILE > OTHER";
	if (has_value(keys, "\"$schema\"", TOKENS("\"https://www.speedscope.app")) ||
	    (has_value(keys, "\"shared\"", TOKENS("{", "\"frames\"")) ||
	     (has(keys, "\"shared\"") && has(keys, "\"profiles\""))))
		return "speedscope's JSON is not read. Profiles with events (not those with samples) become events of Chrome by "
		       "jq '[.shared.frames as $f | .profiles[] | select(.type == \"evented\") | .name as $t | "
		       "({nanoseconds: 0.001, milliseconds: 1000, seconds: 1000000}[.unit] // 1) as $u | .events[] | "
		       "{ph: (if .type == \"O\" then \"B\" else \"E\" end), name: $f[.frame].name, ts: (.at * $u), pid: \"speedscope\", "
		       "tid: $t}]' FILE > OTHER";
	if (is_cpu_profile(keys))
		return "A .cpuprofile is not read: it has samples. Each becomes a span of its innermost function by "
		       "jq '. as $p | ([.nodes[] | {(.id | tostring): .callFrame.functionName}] | add) as $n | "
		       "[foreach range(0; $p.samples | length) as $i ($p.startTime; . + $p.timeDeltas[$i]; "
		       "{ph: \"X\", name: $n[$p.samples[$i] | tostring], ts: ., dur: ($p.timeDeltas[$i + 1] // 0), pid: 1, tid: 1})]' "
		       "FILE > OTHER";
	if (is_firefox(keys))
		return "A profile of the Firefox Profiler or samply is not read: it has samples of stacks, and no spans; "
		       "profiler.firefox.com shows it";
	if (has(keys, "\"rocprofiler-sdk-tool\""))
		return "rocprofv3's JSON is not read. Write the profile with --output-format pftrace, which is";
	if (has(keys, "\"ph\"") && (has(keys, "\"ts\"") || has(keys, "\"name\"") || has(keys, "\"pid\"")))
		return "Events of Chrome stand here without an array around them. Put a bracket before them: (echo '['; cat FILE) > OTHER";
	return NULL;
}

static const char *advice_on_element(const struct object_keys *keys)
{
	if (has(keys, "\"ph\""))
		return NULL;
	if (has(keys, "\"resourceSpans\"") || has(keys, "\"resource_spans\""))
		return "Several objects of OTLP stand in an array here. Take them out: jq -c '.[]' FILE > OTHER";
	if (has_spans_of_otlp(keys))
		return "OTLP's resources stand alone here, without \"resourceSpans\" around them. Put it there: "
		       "jq -c '{resourceSpans: .}' FILE > OTHER";
	if (has(keys, "\"traceId\"") && has(keys, "\"id\"") &&
	    (has(keys, "\"timestamp\"") || has(keys, "\"duration\"") || has(keys, "\"name\"")))
		return "Zipkin's JSON, which Next.js writes, too, is not read. Make events of Chrome of it: "
		       "jq -s '[.[][] | select(.timestamp) | {ph: \"X\", name: (.name // \"\"), ts: .timestamp, dur: (.duration // 0), "
		       "pid: (.localEndpoint.serviceName // \"\"), tid: (.traceId // \"\"), args: .}]' FILE > OTHER";
	return NULL;
}

static const char *advice_on_json(struct trace_text text)
{
	bool is_array = *text.data == '[';
	struct object_keys keys;

	if (is_array) {
		text.data++;
		text.n_bytes--;
		skip_space(&text);
	}
	if (text.n_bytes == 0 || *text.data != '{')
		return NULL;
	find_keys(text, &keys);
	return is_array ? advice_on_element(&keys) : advice_on_object(&keys);
}

/* ---- Protobuf ---- */

static bool is_printable(struct trace_text text)
{
	for (size_t i = 0; i < text.n_bytes; i++) {
		if (!isprint((unsigned char)text.data[i]))
			return false;
	}
	return text.n_bytes > 0;
}

/* XLA's planes: field 1 is a message with a number, the name of a device (field 2), and lines (field 3). */
static bool is_xplane(struct trace_text text)
{
	struct trace_message file = trace_message_of(text), plane;
	struct trace_field field;
	uint64_t n_bytes;
	bool has_name = false;

	if (trace_message_next_head(&file, &field, &n_bytes) != TRACE_ROW || field.number != 1 ||
	    field.wire != TRACE_WIRE_BYTES)
		return false;
	plane = file;
	if (n_bytes < (uint64_t)(file.end - file.at))
		plane.end = file.at + n_bytes;
	while (trace_message_next_head(&plane, &field, &n_bytes) == TRACE_ROW) {
		uint64_t n_left = (uint64_t)(plane.end - plane.at);

		if ((field.number == 1) != (field.wire == TRACE_WIRE_VARINT) || field.number > 6)
			return false;
		if (field.number == 2)
			has_name = n_bytes <= n_left && is_printable((struct trace_text){ plane.at, (size_t)n_bytes });
		if (field.number >= 3 || n_bytes > n_left)
			break;
		plane.at += n_bytes;
	}
	return has_name;
}

static const char key_characters[] = "abcdefghijklmnopqrstuvwxyz._";

/* Metrics and logs of OTLP begin as spans do, with the attributes of a resource: fields 1 in one another, then a key. */
static bool is_otlp(struct trace_text text)
{
	enum { LEVELS = 4 };
	struct trace_message message = trace_message_of(text);
	struct trace_field field;
	uint64_t n_bytes = 0;

	for (int level = 0; level < LEVELS; level++) {
		if (trace_message_next_head(&message, &field, &n_bytes) != TRACE_ROW || field.number != 1 ||
		    field.wire != TRACE_WIRE_BYTES)
			return false;
		if (n_bytes < (uint64_t)(message.end - message.at))
			message.end = message.at + n_bytes;
	}
	for (uint64_t i = 0; i < n_bytes; i++) {
		if (message.at + i == message.end || !strchr(key_characters, message.at[i]) || !message.at[i])
			return false;
	}
	return n_bytes > 0;
}

/* ---- Text ---- */

/* Takes the next line that is not empty, without its end; data is NULL if there is none. */
static struct trace_text next_line(struct trace_text *text)
{
	struct trace_text line;
	const char *end;

	while (text->n_bytes > 0 && (*text->data == '\n' || *text->data == '\r')) {
		text->data++;
		text->n_bytes--;
	}
	if (text->n_bytes == 0)
		return (struct trace_text){ NULL, 0 };
	end = memchr(text->data, '\n', text->n_bytes);
	line = (struct trace_text){ text->data, end ? (size_t)(end - text->data) : text->n_bytes };
	text->data += line.n_bytes;
	text->n_bytes -= line.n_bytes;
	if (line.n_bytes > 0 && line.data[line.n_bytes - 1] == '\r')
		line.n_bytes--;
	return line;
}

static bool is_text(struct trace_text line)
{
	for (size_t i = 0; i < line.n_bytes; i++) {
		if ((unsigned char)line.data[i] < ' ' && line.data[i] != '\t')
			return false;
	}
	return true;
}

static size_t n_digits_at_end(struct trace_text line)
{
	size_t n = 0;

	while (n < line.n_bytes && isdigit((unsigned char)line.data[line.n_bytes - 1 - n]))
		n++;
	return n;
}

/* A stack in a line: "main;work;leaf 12". */
static bool is_collapsed(struct trace_text line)
{
	size_t n = n_digits_at_end(line);

	return n > 0 && n + 1 < line.n_bytes && line.data[line.n_bytes - n - 1] == ' ' && memchr(line.data, ';', line.n_bytes);
}

/* What perf script writes: "name 123 [000] 456.789: 1 cycles: ..." */
static bool is_perf_script(struct trace_text line)
{
	for (size_t i = 1; i + 2 < line.n_bytes; i++) {
		if (line.data[i] == ':' && line.data[i + 1] == ' ' && isdigit((unsigned char)line.data[i - 1])) {
			struct trace_text before = { line.data, i };
			size_t n = n_digits_at_end(before);

			return n < i && n >= 3 && line.data[i - n - 1] == '.' && memchr(line.data, ' ', i - n);
		}
	}
	return false;
}

static size_t n_of(struct trace_text line, char separator)
{
	size_t n = 0;

	for (size_t i = 0; i < line.n_bytes; i++)
		n += line.data[i] == separator;
	return n;
}

static bool is_table(const struct trace_text lines[LINES_COMPARED])
{
	static const char separators[] = ",;\t";

	for (size_t i = 0; separators[i]; i++) {
		size_t n = n_of(lines[0], separators[i]);

		if (n > 0 && n_of(lines[1], separators[i]) == n)
			return true;
	}
	return false;
}

static const char *advice_on_text(struct trace_text text)
{
	struct trace_text lines[LINES_COMPARED] = { next_line(&text), next_line(&text) };

	if (!lines[0].data || !is_text(lines[0]) || (lines[1].data && !is_text(lines[1])))
		return NULL;
	if (is_perf_script(lines[0]))
		return "What perf script writes is not read: it has samples or events of the kernel as text. "
		       "Perfetto records the kernel's events in a format that is";
	if (is_collapsed(lines[0]))
		return "Stacks with counts, one a line, are not read: they have no times. speedscope and flamegraph.pl show them";
	if (lines[1].data && is_table(lines))
		return "This is a table as text, such as CSV. Load it as a table, and index that (docs/your_table.md): "
		       "sqlite3 DATABASE '.import --csv FILE TABLE'";
	return NULL;
}

/* ---- All ---- */

const char *trace_foreign_advice(const char *head, size_t n_bytes)
{
	struct trace_text text = { head, n_bytes };

	for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
		if (n_bytes >= magics[i].n_bytes && memcmp(head, magics[i].bytes, magics[i].n_bytes) == 0)
			return magics[i].advice;
	}
	if (n_bytes >= 3 && memcmp(head, "\xEF\xBB\xBF", 3) == 0)
		text = (struct trace_text){ head + 3, n_bytes - 3 };
	if (is_xplane(text))
		return "An xplane.pb of XLA is not read. JAX and TensorFlow write the same as events of Chrome beside it: load "
		       "HOST.trace.json.gz";
	if (is_otlp(text))
		return "This is OTLP in protobuf, but of metrics or logs, and only spans are read";
	skip_space(&text);
	if (text.n_bytes == 0)
		return NULL;
	return *text.data == '{' || *text.data == '[' ? advice_on_json(text) : advice_on_text(text);
}
