/* OTLP's and Spall's files against answers that were computed by other programs: X.expected.json beside each file X of the
 * folders formats/otlp and formats/spall in IFOREST_TRACES (default ../shared/data/traces); without them the tests are skipped.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/harness.h"
#include "tests/trace/recording.h"
#include "trace/json.h"

static const char suffix[] = ".expected.json";

static struct recording recording;
static struct trace_json expected;
static char *expected_text;

/* ---- The expected answers ---- */

static size_t member(size_t object, const char *name)
{
	for (size_t key = object || expected.n_tokens ? trace_json_first(&expected, object) : 0; key;
	     key = trace_json_next(&expected, key)) {
		struct trace_text text;

		assert_int_equal(trace_json_text(&expected, key, &text), TRACE_OK);
		if (text.n_bytes == strlen(name) && memcmp(text.data, name, text.n_bytes) == 0)
			return trace_json_value(&expected, key);
	}
	return 0;
}

/* Of a member that there is; "" for null. */
static const char *text_of(size_t object, const char *name)
{
	static char texts[8][500];
	static int n_texts;
	char *copy = texts[n_texts++ % 8];
	size_t node = member(object, name);
	struct trace_text text;

	if (!node)
		fail_msg("there is no \"%s\" in the expected answers", name);
	assert_int_equal(trace_json_text(&expected, node, &text), TRACE_OK);
	assert_true(text.n_bytes < 500);
	snprintf(copy, 500, "%.*s", (int)text.n_bytes, text.data ? text.data : "");
	return copy;
}

static int64_t number_of(size_t object, const char *name)
{
	return strtoll(text_of(object, name), NULL, 10);
}

static void expect_number(const char *what, int64_t actual, size_t object, const char *name)
{
	if (actual != number_of(object, name))
		fail_msg("%s: %s is %" PRId64 ", expected %s", what, name, actual, text_of(object, name));
}

/* Text that is missing is "" in the expected answers. */
static void expect_text(const char *what, const char *actual, size_t object, const char *name)
{
	if (strcmp(actual ? actual : "", text_of(object, name)) != 0)
		fail_msg("%s: %s is \"%s\", expected \"%s\"", what, name, actual ? actual : "", text_of(object, name));
}

/* ---- What is compared ---- */

/* Sums of some spans, as the expected answers have them. */
struct sums {
	int64_t n_spans, n_unclosed, sum, min, max, max_depth;
};

static struct sums sums_of(const char *track)
{
	struct sums sums = { .min = INT64_MAX };

	for (size_t i = 0; i < recording.n_spans; i++) {
		const struct recorded_span *span = &recording.spans[i];

		if (track && strcmp(track, span->track) != 0)
			continue;
		sums.n_spans++;
		sums.max_depth = span->depth + 1 > sums.max_depth ? span->depth + 1 : sums.max_depth;
		sums.n_unclosed += span->dur_ns < 0;
		if (span->dur_ns < 0)
			continue;
		sums.sum += span->dur_ns;
		sums.min = span->dur_ns < sums.min ? span->dur_ns : sums.min;
		sums.max = span->dur_ns > sums.max ? span->dur_ns : sums.max;
	}
	return sums;
}

static void compare_totals(void)
{
	size_t totals = member(0, "totals");
	struct sums sums = sums_of(NULL);

	expect_number("totals", sums.n_spans, totals, "spans");
	expect_number("totals", sums.n_unclosed, totals, "unclosed");
	expect_number("totals", sums.sum, totals, "sum");
	expect_number("totals", sums.max, totals, "max");
	expect_number("totals", sums.max_depth, totals, "max_depth");
	assert_int_equal(recording.counts.n_spans, sums.n_spans);
	if (sums.n_spans > 0) {
		expect_number("totals", sums.min, totals, "min");
		expect_number("totals", recording.spans[0].ts_ns, totals, "first_ts");
	}
}

static void compare_tracks(void)
{
	size_t n_used = 0, n_expected = 0, tracks = member(0, "tracks");

	for (size_t i = 0; i < recording.n_tracks; i++) {
		const struct recorded_track *track = &recording.tracks[i];
		size_t node = track->is_used ? member(tracks, track->key) : 0;
		struct sums sums = sums_of(track->key);

		if (!track->is_used)
			continue;
		if (!node)
			fail_msg("there is to be no track %s", track->key);
		n_used++;
		expect_number(track->key, sums.n_spans, node, "count");
		expect_number(track->key, sums.n_unclosed, node, "unclosed");
		expect_number(track->key, sums.sum, node, "sum");
		expect_number(track->key, sums.max, node, "max");
		expect_number(track->key, sums.max_depth, node, "max_depth");
	}
	for (size_t key = trace_json_first(&expected, tracks); key; key = trace_json_next(&expected, key))
		n_expected++;
	assert_int_equal(n_used, n_expected);
}

static void compare_windows(void)
{
	size_t windows = member(0, "windows");

	for (size_t window = windows ? trace_json_first(&expected, windows) : 0; window;
	     window = trace_json_next(&expected, window)) {
		int64_t a = number_of(window, "a"), b = number_of(window, "b"), count = 0, sum = 0, overlap = 0;

		for (size_t i = 0; i < recording.n_spans; i++) {
			const struct recorded_span *span = &recording.spans[i];
			bool is_in = span->dur_ns >= 0 && span->ts_ns >= a && span->ts_ns < b;

			count += is_in;
			sum += is_in ? span->dur_ns : 0;
			overlap += span->dur_ns >= 0 && span->ts_ns < b && span->ts_ns + span->dur_ns > a;
		}
		expect_number("window", count, window, "count");
		expect_number("window", sum, window, "sum");
		expect_number("window", overlap, window, "overlap_half_open");
	}
}

/* How many members, or elements, a member of an object in JSON has. */
static int64_t count_in(const struct trace_json *json, size_t node)
{
	int64_t n = 0;

	for (size_t child = node ? trace_json_first(json, node) : 0; child; child = trace_json_next(json, child))
		n++;
	return n;
}

/* What the args of a span of OTLP have, found by the name of its members. */
static void compare_otlp_args(const struct recorded_span *span, size_t node)
{
	static const char *const kinds[] = { "", "internal", "server", "client", "producer", "consumer" };
	static const char *const statuses[] = { "", "ok", "error" };
	struct trace_json args = { 0 };
	struct trace_text key, value = { 0 };
	const char *kind = "", *status = "";
	char message[500] = "", state[500] = "", flags[30] = "0";
	int64_t n_attributes = 0;

	assert_int_equal(trace_json_parse(&args, (struct trace_text){ span->args, strlen(span->args) }, true), TRACE_OK);
	for (size_t i = trace_json_first(&args, 0); i; i = trace_json_next(&args, i)) {
		assert_int_equal(trace_json_text(&args, i, &key), TRACE_OK);
		assert_int_equal(trace_json_text(&args, trace_json_value(&args, i), &value), TRACE_OK);
		if (strncmp(key.data, "kind", key.n_bytes) == 0)
			kind = strndup(value.data, value.n_bytes);
		else if (key.n_bytes == strlen("status") && strncmp(key.data, "status", key.n_bytes) == 0)
			status = strndup(value.data, value.n_bytes);
		else if (strncmp(key.data, "status_message", key.n_bytes) == 0)
			snprintf(message, sizeof message, "%.*s", (int)value.n_bytes, value.data);
		else if (strncmp(key.data, "trace_state", key.n_bytes) == 0)
			snprintf(state, sizeof state, "%.*s", (int)value.n_bytes, value.data);
		else if (strncmp(key.data, "flags", key.n_bytes) == 0)
			snprintf(flags, sizeof flags, "%.*s", (int)value.n_bytes, value.data);
		else if (strncmp(key.data, "attributes", key.n_bytes) == 0)
			n_attributes = count_in(&args, trace_json_value(&args, i));
	}
	assert_string_equal(kind, kinds[number_of(node, "kind")]);
	assert_string_equal(status, statuses[number_of(node, "status")]);
	expect_text(span->name, message, node, "status_message");
	expect_text(span->name, state, node, "trace_state");
	expect_text(span->name, flags, node, "flags");
	expect_number(span->name, n_attributes, node, "attributes");
	if (*kind)
		free((char *)kind);
	if (*status)
		free((char *)status);
	trace_json_release(&args);
}

/* A string in JSON, or none. */
static void compare_spall_args(const struct recorded_span *span, size_t node)
{
	struct trace_json args = { 0 };
	struct trace_text text = { 0 };
	char copy[600] = "";

	if (span->args) {
		assert_int_equal(trace_json_parse(&args, (struct trace_text){ span->args, strlen(span->args) }, true), TRACE_OK);
		assert_int_equal(trace_json_text(&args, 0, &text), TRACE_OK);
		snprintf(copy, sizeof copy, "%.*s", (int)text.n_bytes, text.data);
	}
	expect_text(span->name, copy, node, "args");
	trace_json_release(&args);
}

/* All spans, or the first ones. */
static size_t compare_spans(void)
{
	size_t list = member(0, "spans") ? member(0, "spans") : member(0, "spans_first_50"), i = 0;
	bool is_otlp = strcmp(text_of(0, "format"), "otlp") == 0;

	for (size_t node = trace_json_first(&expected, list); node; node = trace_json_next(&expected, node)) {
		const struct recorded_span *span = &recording.spans[i++];

		assert_in_range(i, 1, recording.n_spans);
		expect_number(span->name, span->ts_ns, node, "ts");
		expect_number(span->name, span->dur_ns, node, "dur");
		expect_number(span->name, span->depth, node, "depth");
		expect_text("span", span->track, node, "track");
		expect_text("span", span->name, node, "name");
		expect_text(span->name, span->category, node, "cat");
		if (is_otlp) {
			expect_text(span->name, span->trace_id, node, "trace_id");
			expect_text(span->name, span->id, node, "span_id");
			expect_text(span->name, span->parent_id, node, "parent_span_id");
			compare_otlp_args(span, node);
		} else {
			compare_spall_args(span, node);
		}
	}
	return i;
}

/* Events of spans are instants, and links flows, but for those whose span is not there. */
static void compare_others(void)
{
	size_t stats = member(0, "stats");
	const char *left_out = recording.shown ? strstr(recording.shown, "left out: ") : NULL;
	int64_t n_links = (int64_t)recording.counts.n_flows;

	if (left_out) {
		assert_int_equal(strncmp(left_out, "left out: link without start ", 29), 0);
		assert_null(strstr(left_out + 1, "left out: "));
		n_links += strtoll(left_out + 29, NULL, 10);
	}
	assert_int_equal(recording.counts.n_samples, 0);
	if (!member(stats, "events")) {
		assert_int_equal(recording.counts.n_instants + (uint64_t)n_links, 0);
		return;
	}
	expect_number("instants", (int64_t)recording.counts.n_instants, stats, "events");
	expect_number("flows", n_links, stats, "links");
}

static const struct recorded_track *track_named(struct trace_text kind, struct trace_text key)
{
	for (size_t i = 0; i < recording.n_tracks; i++) {
		const struct recorded_track *track = &recording.tracks[i];

		if (strncmp(track->kind, kind.data, kind.n_bytes) == 0 && strlen(track->key) == key.n_bytes &&
		    memcmp(track->key, key.data, key.n_bytes) == 0)
			return track;
	}
	fail_msg("there is no %.*s %.*s", (int)kind.n_bytes, kind.data, (int)key.n_bytes, key.data);
	return NULL;
}

static void compare_names_of(struct trace_text kind, size_t names, size_t *n_names)
{
	for (size_t key = trace_json_first(&expected, names); key; key = trace_json_next(&expected, key)) {
		struct trace_text text, name;

		assert_int_equal(trace_json_text(&expected, key, &text), TRACE_OK);
		assert_int_equal(trace_json_text(&expected, trace_json_value(&expected, key), &name), TRACE_OK);
		assert_int_equal(strlen(track_named(kind, text)->name), name.n_bytes);
		assert_memory_equal(track_named(kind, text)->name, name.data, name.n_bytes);
		++*n_names;
	}
}

/* Of processes and threads, as the file has them; a service is named as its key is. */
static void compare_names(void)
{
	size_t names = member(0, "names"), n_names = 0;

	for (size_t key = names ? trace_json_first(&expected, names) : 0; key; key = trace_json_next(&expected, key)) {
		struct trace_text kind;

		assert_int_equal(trace_json_text(&expected, key, &kind), TRACE_OK);
		compare_names_of(kind, trace_json_value(&expected, key), &n_names);
	}
	for (size_t i = 0; i < recording.n_tracks; i++) {
		if (strcmp(recording.tracks[i].kind, "service") == 0)
			assert_string_equal(recording.tracks[i].name, recording.tracks[i].key);
		else
			n_names -= recording.tracks[i].name != NULL;
	}
	assert_int_equal(n_names, 0);
}

/* ---- Files ---- */

static void load_expected(const char *path)
{
	FILE *file = fopen(path, "rb");
	long n_bytes;

	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	n_bytes = ftell(file);
	rewind(file);
	expected_text = malloc((size_t)n_bytes + 1);
	assert_non_null(expected_text);
	assert_int_equal(fread(expected_text, 1, (size_t)n_bytes, file), n_bytes);
	fclose(file);
	assert_int_equal(trace_json_parse(&expected, (struct trace_text){ expected_text, (size_t)n_bytes }, true), TRACE_OK);
}

static void compare_file(const char *path, size_t piece_bytes)
{
	const struct trace_options options = { .args = true, .complete = true, .piece_bytes = piece_bytes };

	recording_of_file(&recording, path, &options);
	if (member(0, "error")) {
		assert_true(recording.status < 0);
		assert_non_null(strstr(recording.error, ": byte "));
	} else {
		if (recording.status != TRACE_OK)
			fail_msg("%s", recording.error);
		compare_totals();
		compare_tracks();
		compare_windows();
		compare_spans();
		compare_others();
		compare_names();
	}
	recording_release(&recording);
}

static void compare_folder(const char *folder)
{
	const char *traces = getenv("IFOREST_TRACES");
	char path[800];
	DIR *directory;
	struct dirent *entry;
	int n_files = 0;

	snprintf(path, sizeof path, "%s/formats/%s", traces && *traces ? traces : "../shared/data/traces", folder);
	directory = opendir(path);
	if (!directory) {
		print_message("skipped: there is no folder %s\n", path);
		skip();
	}
	while ((entry = readdir(directory))) {
		size_t n_path = strlen(path), n_name = strlen(entry->d_name);
		char file[1200];

		if (n_name < sizeof suffix || strcmp(entry->d_name + n_name - strlen(suffix), suffix) != 0)
			continue;
		snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
		print_message("%s\n", entry->d_name);
		load_expected(file);
		file[n_path + 1 + n_name - strlen(suffix)] = 0;
		compare_file(file, 0);
		compare_file(file, 7);
		free(expected_text);
		n_files++;
	}
	closedir(directory);
	trace_json_release(&expected);
	assert_true(n_files > 0);
}

static void otlp_files_have_the_expected_answers(void **state)
{
	(void)state;
	compare_folder("otlp");
}

static void spall_files_have_the_expected_answers(void **state)
{
	(void)state;
	compare_folder("spall");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(otlp_files_have_the_expected_answers),
		cmocka_unit_test(spall_files_have_the_expected_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
