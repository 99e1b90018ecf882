/* The reader of Perfetto traces against the expected answers of real and random files, which were computed by another program:
 * skipped unless IFOREST_TRACES (default ../shared/data/traces) names a folder that has them.
 *
 * Both sides become lines of text, which are sorted and compared. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/trace/lines.h"
#include "trace/json.h"
#include "trace/trace.h"

enum { LINE_BYTES = 1500, KEY_BYTES = 300, MOST_TRACKS = 1000, MOST_ROWS = 20000 };

/* ---- What was read ---- */

struct row {
	uint64_t number;
	const struct trace_track *track;
	int64_t ts_ns, dur_ns, depth;
	double value;
	char name[120], category[120], id[24], args[120];
	bool has_category;
};

struct rows {
	struct row *rows;
	size_t n;
};

struct arrow {
	struct trace_flow_end from, to;
	bool is_legacy;
};

static struct {
	struct rows spans, instants, samples;
	struct arrow *arrows;
	size_t n_arrows;
	const struct trace_track *tracks[MOST_TRACKS];
	size_t n_tracks;
} found;

static void copy_text(char *copy, size_t n_allocated, struct trace_text text)
{
	snprintf(copy, n_allocated, "%.*s", (int)text.n_bytes, text.data ? text.data : "");
}

static struct row *next_row(struct rows *rows)
{
	if (rows->n % 256 == 0) {
		rows->rows = realloc(rows->rows, (rows->n + 256) * sizeof *rows->rows);
		assert_non_null(rows->rows);
	}
	assert_true(rows->n < MOST_ROWS);
	memset(&rows->rows[rows->n], 0, sizeof *rows->rows);
	return &rows->rows[rows->n++];
}

static int keep_span(void *context, const struct trace_span *span)
{
	struct row *row = next_row(&found.spans);

	(void)context;
	row->number = span->number;
	row->track = span->track;
	row->ts_ns = span->ts_ns;
	row->dur_ns = span->dur_ns;
	row->depth = span->depth;
	copy_text(row->name, sizeof row->name, span->name);
	copy_text(row->category, sizeof row->category, span->category);
	copy_text(row->id, sizeof row->id, span->id);
	copy_text(row->args, sizeof row->args, span->args);
	row->has_category = span->category.data != NULL;
	return TRACE_OK;
}

static int keep_instant(void *context, const struct trace_instant *instant)
{
	struct row *row = next_row(&found.instants);

	(void)context;
	row->number = instant->number;
	row->track = instant->track;
	row->ts_ns = instant->ts_ns;
	copy_text(row->name, sizeof row->name, instant->name);
	copy_text(row->category, sizeof row->category, instant->category);
	row->has_category = instant->category.data != NULL;
	return TRACE_OK;
}

static int keep_sample(void *context, const struct trace_sample *sample)
{
	struct row *row = next_row(&found.samples);

	(void)context;
	row->track = sample->track;
	row->ts_ns = sample->ts_ns;
	row->value = sample->value;
	copy_text(row->name, sizeof row->name, sample->name);
	copy_text(row->id, sizeof row->id, sample->id);
	return TRACE_OK;
}

static int keep_arrow(void *context, const struct trace_flow *flow)
{
	(void)context;
	if (found.n_arrows % 256 == 0) {
		found.arrows = realloc(found.arrows, (found.n_arrows + 256) * sizeof *found.arrows);
		assert_non_null(found.arrows);
	}
	found.arrows[found.n_arrows++] = (struct arrow){ flow->from, flow->to, flow->name.data || flow->category.data };
	return TRACE_OK;
}

static int keep_track(void *context, const struct trace_track *track)
{
	(void)context;
	assert_true(found.n_tracks < MOST_TRACKS);
	found.tracks[found.n_tracks++] = track;
	return TRACE_OK;
}

/* The key of a track. Processes that have the same number one after the other are told apart by none of the answers. */
static const char *key_of(const struct trace_track *track)
{
	static char keys[2][KEY_BYTES];
	static int turn;
	char *key = keys[turn ^= 1], *end;

	if (!track)
		return "";
	copy_text(key, KEY_BYTES, track->key);
	end = strchr(key, '#');
	if (track->kind == TRACE_TRACK_PROCESS && end)
		*end = 0;
	return key;
}

static const char *category_of(const struct row *row)
{
	return row->has_category ? row->category : "(none)";
}

static bool is_kind(const struct row *row, enum trace_track_kind kind)
{
	return row->track->kind == kind;
}

static bool is_plain(const struct row *row)
{
	return !is_kind(row, TRACE_TRACK_STATE) && !is_kind(row, TRACE_TRACK_CPU);
}

/* (ts, unclosed first, longest first), then as the file has them. */
static int by_time(const void *a, const void *b)
{
	const struct row *left = a, *right = b;
	uint64_t left_dur = left->dur_ns < 0 ? UINT64_MAX : (uint64_t)left->dur_ns;
	uint64_t right_dur = right->dur_ns < 0 ? UINT64_MAX : (uint64_t)right->dur_ns;

	if (left->ts_ns != right->ts_ns)
		return left->ts_ns < right->ts_ns ? -1 : 1;
	if (left_dur != right_dur)
		return left_dur > right_dur ? -1 : 1;
	return left->number < right->number ? -1 : left->number > right->number;
}

/* ---- Expected answers ---- */

static struct trace_json json;
static char *answers;

static size_t member(size_t object, const char *name)
{
	for (size_t key = trace_json_first(&json, object); key; key = trace_json_next(&json, key)) {
		struct trace_text text;

		assert_int_equal(trace_json_text(&json, key, &text), TRACE_OK);
		if (text.n_bytes == strlen(name) && memcmp(text.data, name, text.n_bytes) == 0)
			return trace_json_value(&json, key);
	}
	return 0;
}

/* A text, in one of several buffers; "(none)" for null and what is missing. */
static const char *text_at(size_t node)
{
	static char texts[8][KEY_BYTES];
	static int turn;
	struct trace_text text;
	char *copy = texts[turn = (turn + 1) % 8];

	if (!node || trace_json_type_of(&json, node) == TRACE_JSON_NULL)
		return "(none)";
	assert_int_equal(trace_json_text(&json, node, &text), TRACE_OK);
	copy_text(copy, KEY_BYTES, text);
	return copy;
}

static const char *text_of(size_t object, const char *name)
{
	return text_at(member(object, name));
}

static int64_t number_of(size_t object, const char *name)
{
	return strtoll(text_of(object, name), NULL, 10);
}

static double double_of(size_t object, const char *name)
{
	return strtod(text_of(object, name), NULL);
}

static const char *name_of(size_t object)
{
	const char *name = text_of(object, "name");

	return strcmp(name, "(none)") == 0 ? "" : name;
}

/* ---- Comparisons ---- */

static void compare_tracks(const char *file, size_t expected_tracks, bool (*is_meant)(const struct row *row))
{
	struct lines of_file = { 0 }, expected = { 0 };

	for (size_t i = 0; i < found.n_tracks; i++) {
		int64_t n = 0, n_unclosed = 0, sum = 0, max = -1, depth = 0;

		for (size_t j = 0; j < found.spans.n; j++) {
			const struct row *span = &found.spans.rows[j];

			if (span->track != found.tracks[i] || !is_meant(span))
				continue;
			n++;
			n_unclosed += span->dur_ns < 0;
			sum += span->dur_ns < 0 ? 0 : span->dur_ns;
			max = span->dur_ns > max ? span->dur_ns : max;
			depth = span->depth >= depth ? span->depth + 1 : depth;
		}
		if (n > 0)
			lines_add(&of_file, "track %s: %" PRId64 ", %" PRId64 " unclosed, %" PRId64 " ns, at most %" PRId64 ", depth %" PRId64,
			    key_of(found.tracks[i]), n, n_unclosed, sum, max, depth);
	}
	for (size_t key = trace_json_first(&json, expected_tracks); key; key = trace_json_next(&json, key)) {
		size_t track = trace_json_value(&json, key);
		bool has_max = strcmp(text_of(track, "max"), "(none)") != 0;

		lines_add(&expected, "track %s: %" PRId64 ", %" PRId64 " unclosed, %" PRId64 " ns, at most %" PRId64 ", depth %" PRId64,
		    text_at(key), number_of(track, "count"), number_of(track, "unclosed"), number_of(track, "sum"),
		    has_max ? number_of(track, "max") : -1, number_of(track, "max_depth"));
	}
	lines_compare(file, &of_file, &expected, false);
}

/* All spans, or the first ones if the answers have no more. */
static void compare_spans(const char *file, size_t expected_spans, bool (*is_meant)(const struct row *row))
{
	struct lines of_file = { 0 }, expected = { 0 };
	size_t n = 0;

	for (size_t span = trace_json_first(&json, expected_spans); span; span = trace_json_next(&json, span), n++)
		lines_add(&expected, "span %" PRId64 " %" PRId64 " on %s: %s [%s] depth %s", number_of(span, "ts"),
		    number_of(span, "dur"), text_of(span, "track"), name_of(span), text_of(span, "cat"),
		    text_of(span, "depth"));
	for (size_t i = 0; i < found.spans.n && of_file.n < n; i++) {
		const struct row *span = &found.spans.rows[i];

		if (is_meant(span))
			lines_add(&of_file, "span %" PRId64 " %" PRId64 " on %s: %s [%s] depth %" PRId64, span->ts_ns, span->dur_ns,
			    key_of(span->track), span->name, category_of(span), span->depth);
	}
	lines_compare(file, &of_file, &expected, false);
}

static void compare_states(const char *file, size_t expected_states)
{
	struct lines of_file = { 0 }, expected = { 0 };

	for (size_t state = trace_json_first(&json, expected_states); expected_states && state;
	     state = trace_json_next(&json, state))
		lines_add(&expected, "state %" PRId64 " %" PRId64 " on %s: %s [%s]", number_of(state, "ts"), number_of(state, "dur"),
		    text_of(state, "track"), name_of(state), text_of(state, "cat"));
	for (size_t i = 0; i < found.spans.n; i++) {
		const struct row *span = &found.spans.rows[i];

		if (is_kind(span, TRACE_TRACK_STATE))
			lines_add(&of_file, "state %" PRId64 " %" PRId64 " on %s: %s [%s]", span->ts_ns, span->dur_ns,
			    key_of(span->track), span->name, category_of(span));
	}
	lines_compare(file, &of_file, &expected, false);
}

static bool is_run(const struct row *row)
{
	return is_kind(row, TRACE_TRACK_CPU);
}

static void compare_runs(const char *file, size_t sched)
{
	struct lines of_file = { 0 }, expected = { 0 };
	size_t first = member(sched, "spans_first_50"), n = 0;

	compare_tracks(file, member(sched, "tracks"), is_run);
	compare_spans(file, first, is_run);
	for (size_t run = trace_json_first(&json, first); run; run = trace_json_next(&json, run), n++)
		lines_add(&expected, "run %" PRId64 " of %s {\"tid\":%s,\"prio\":%s,\"end_state\":%s}", number_of(run, "ts"),
		    text_of(run, "tid"), text_of(run, "tid"), text_of(run, "prio"), text_of(run, "end_state"));
	for (size_t i = 0; i < found.spans.n && of_file.n < n; i++) {
		if (is_run(&found.spans.rows[i]))
			lines_add(&of_file, "run %" PRId64 " of %s %s", found.spans.rows[i].ts_ns, found.spans.rows[i].id,
			    found.spans.rows[i].args);
	}
	lines_compare(file, &of_file, &expected, false);
}

static void compare_windows(const char *file, size_t windows)
{
	struct lines of_file = { 0 }, expected = { 0 };

	for (size_t window = windows ? trace_json_first(&json, windows) : 0; window; window = trace_json_next(&json, window)) {
		int64_t a = number_of(window, "a"), b = number_of(window, "b"), n = 0, sum = 0, n_unclosed = 0;

		for (size_t i = 0; i < found.spans.n; i++) {
			const struct row *span = &found.spans.rows[i];

			if (!is_plain(span) || span->ts_ns < a || span->ts_ns >= b)
				continue;
			n += span->dur_ns >= 0;
			sum += span->dur_ns >= 0 ? span->dur_ns : 0;
			n_unclosed += span->dur_ns < 0;
		}
		lines_add(&of_file, "window %" PRId64 " %" PRId64 ": %" PRId64 ", %" PRId64 " ns, %" PRId64 " unclosed", a, b, n, sum,
		    n_unclosed);
		lines_add(&expected, "window %" PRId64 " %" PRId64 ": %" PRId64 ", %" PRId64 " ns, %" PRId64 " unclosed", a, b,
		    number_of(window, "count"), number_of(window, "sum"), number_of(window, "unclosed"));
	}
	lines_compare(file, &of_file, &expected, false);
}

/* All instants, or of those that the answers have each one. */
static void compare_instants(const char *file, size_t instants)
{
	struct lines of_file = { 0 }, expected = { 0 };
	size_t n = (size_t)number_of(instants, "n");

	assert_int_equal(found.instants.n, n);
	for (size_t i = 0; i < n; i++) {
		const struct row *instant = &found.instants.rows[i];

		lines_add(&expected, "instant %" PRId64 " on %s: %s [%s]", instant->ts_ns, key_of(instant->track), instant->name,
		    category_of(instant));
	}
	for (size_t instant = trace_json_first(&json, member(instants, "list")); instant;
	     instant = trace_json_next(&json, instant))
		lines_add(&of_file, "instant %" PRId64 " on %s: %s [%s]", number_of(instant, "ts"), text_of(instant, "track"),
		    name_of(instant), text_of(instant, "cat"));
	lines_compare(file, &of_file, &expected, of_file.n < n);
}

/* "track|name", and the counter's uuid if several have the same. */
static void series_of(const struct row *sample, char series[LINE_BYTES])
{
	int n = snprintf(series, LINE_BYTES, "%s|%s", key_of(sample->track), sample->name);

	for (size_t i = 0; i < found.samples.n; i++) {
		const struct row *other = &found.samples.rows[i];

		if (other->track != sample->track || strcmp(other->name, sample->name) != 0 ||
		    strcmp(other->id, sample->id) == 0)
			continue;
		snprintf(series + n, LINE_BYTES - (size_t)n, "|uuid:%s", sample->id);
		return;
	}
}

static void compare_series(const char *file, size_t counters)
{
	struct lines of_file = { 0 }, expected = { 0 };

	for (size_t i = 0; i < found.samples.n; i++) {
		const struct row *first = &found.samples.rows[i];
		double sum = 0, min = first->value, max = first->value;
		char series[LINE_BYTES];
		size_t n = 0;

		for (size_t j = 0; j < found.samples.n; j++) {
			const struct row *sample = &found.samples.rows[j];

			if (sample->track != first->track || strcmp(sample->name, first->name) != 0 ||
			    strcmp(sample->id, first->id) != 0)
				continue;
			if (j < i)
				break;
			n++;
			sum += sample->value;
			min = sample->value < min ? sample->value : min;
			max = sample->value > max ? sample->value : max;
		}
		if (n == 0)
			continue;
		series_of(first, series);
		lines_add(&of_file, "counter %s: %zu, sum %.9g, %.9g to %.9g", series, n, sum, min, max);
	}
	for (size_t key = trace_json_first(&json, counters); key; key = trace_json_next(&json, key)) {
		size_t counter = trace_json_value(&json, key);

		lines_add(&expected, "counter %s: %" PRId64 ", sum %.9g, %.9g to %.9g", text_at(key), number_of(counter, "n"),
		    double_of(counter, "sum"), double_of(counter, "min"), double_of(counter, "max"));
	}
	lines_compare(file, &of_file, &expected, false);
}

/* Of the series whose samples the answers have, each one. */
static void compare_samples(const char *file, size_t samples)
{
	struct lines of_file = { 0 }, expected = { 0 };

	for (size_t i = 0; i < found.samples.n; i++) {
		char series[LINE_BYTES];

		series_of(&found.samples.rows[i], series);
		lines_add(&expected, "sample %.300s %" PRId64 ": %.17g", series, found.samples.rows[i].ts_ns,
		    found.samples.rows[i].value);
	}
	for (size_t key = samples ? trace_json_first(&json, samples) : 0; key; key = trace_json_next(&json, key)) {
		for (size_t pair = trace_json_first(&json, trace_json_value(&json, key)); pair;
		     pair = trace_json_next(&json, pair)) {
			size_t ts = trace_json_first(&json, pair);

			lines_add(&of_file, "sample %s %s: %.17g", text_at(key), text_at(ts),
			    strtod(text_at(trace_json_next(&json, ts)), NULL));
		}
	}
	lines_compare(file, &of_file, &expected, true);
}

static const struct row *row_of(const struct rows *rows, uint64_t number)
{
	for (size_t i = 0; i < rows->n; i++) {
		if (rows->rows[i].number == number)
			return &rows->rows[i];
	}
	fail_msg("a flow is bound to what is not there");
	return NULL;
}

static const struct row *row_of_end(const struct trace_flow_end *end)
{
	return end->span ? row_of(&found.spans, end->span) : row_of(&found.instants, end->instant);
}

static void add_arrow(struct lines *lines, const struct row *from, const struct row *to)
{
	char text[2][LINE_BYTES / 3];
	const struct row *ends[2] = { from, to };

	/* the answers have the earlier one first, also where the arrow arrives at the end of a span that is older */
	if (from->ts_ns > to->ts_ns) {
		ends[0] = to;
		ends[1] = from;
	}
	for (int i = 0; i < 2; i++)
		snprintf(text[i], sizeof text[i], "%" PRId64 " %" PRId64 " %s %s", ends[i]->ts_ns, ends[i]->dur_ns,
			 key_of(ends[i]->track), ends[i]->name);
	lines_add(lines, "flow %s -> %s", text[0], text[1]);
}

static void expected_end(size_t end, char text[LINE_BYTES / 3])
{
	size_t n = 0;

	for (size_t part = trace_json_first(&json, end); part; part = trace_json_next(&json, part))
		n += (size_t)snprintf(text + n, LINE_BYTES / 3 - n, n ? " %s" : "%s", text_at(part));
}

/* ---- Flows of the phases s, t and f ---- */

/* They are bound to the span around them here, as in Chrome JSON. The answers follow Perfetto's own processor: it binds them to what
 * it has on top of the track's stack, from which it takes what is over only when the next span begins or ends. So it has these
 * flows, by the starts of their ends, between spans and instants that were over or had just ended when the flow left or came. */
static const struct {
	const char *file;
	int64_t from_ns, to_ns;
} other_flows[] = {
	/* an instant that came before, at one end or both */
	{ "random_1.pftrace", 1005016317000, 1005020619000 },
	{ "random_1.pftrace", 1005016317000, 1005075931818 },
	{ "random_1.pftrace", 1005016317000, 1005087176879 },
	{ "random_1.pftrace", 1005016317000, 1005088431879 },
	{ "random_1.pftrace", 1005020619000, 1005116362390 },
	{ "random_1.pftrace", 1005061355818, 1005087176879 },
	{ "random_1.pftrace", 1005061355818, 1005138755340 },
	{ "random_1.pftrace", 1005116362390, 1005121820390 },
	{ "random_1.pftrace", 1005116362390, 1005124973390 },
	{ "random_1.pftrace", 1005116362390, 1005124973390 },
	{ "random_1.pftrace", 1005124973390, 1005132232390 },
	{ "random_1.pftrace", 1005132232390, 1005189003340 },
	{ "random_1.pftrace", 1005138755340, 1005161332340 },
	{ "random_1.pftrace", 1005161332340, 1005189003340 },
	{ "random_1.pftrace", 1005161332340, 1005209878340 },
	{ "random_1.pftrace", 1005189003340, 1005203524340 },
	{ "random_1.pftrace", 1005203524340, 1005221300716 },
	{ "random_1.pftrace", 1005209878340, 1005224406716 },
	{ "random_2.pftrace", 1005036389000, 1005058863000 },
	{ "random_2.pftrace", 1005048254000, 1005096555941 },
	{ "random_2.pftrace", 1005058863000, 1005145595033 },
	{ "random_2.pftrace", 1005096555941, 1005129272062 },
	{ "random_2.pftrace", 1005129272062, 1005156259033 },
	/* a span that was over, or ended at that time */
	{ "random_1.pftrace", 1005088431879, 1005113058390 },
	{ "random_1.pftrace", 1005113058390, 1005162382340 },
	{ "random_1.pftrace", 1005209878340, 1005230875507 },
	{ "random_2.pftrace", 1005145595033, 1005194252985 },
	/* the first span of the file, from which an f without an s comes there */
	{ "random_2.pftrace", 1005000001000, 1005057760000 },
	{ "random_2.pftrace", 1005000001000, 1005226068511 },
};

/* Of the spans of a track with start <= ts <= end the one that starts last, then the shortest. */
static const struct row *innermost(const struct trace_track *track, int64_t ts_ns)
{
	const struct row *inner = NULL;

	for (size_t i = 0; i < found.spans.n; i++) {
		const struct row *span = &found.spans.rows[i];

		if (span->track == track && span->ts_ns <= ts_ns && (span->dur_ns < 0 || ts_ns - span->ts_ns <= span->dur_ns) &&
		    (!inner || by_time(inner, span) < 0))
			inner = span;
	}
	return inner;
}

/* The first span of a track that starts at that time or later, then the longest. */
static const struct row *next_span(const struct trace_track *track, int64_t ts_ns)
{
	const struct row *next = NULL;

	for (size_t i = 0; i < found.spans.n; i++) {
		const struct row *span = &found.spans.rows[i];

		if (span->track == track && span->ts_ns >= ts_ns && (!next || by_time(span, next) < 0))
			next = span;
	}
	return next;
}

/* Which of the two an f is bound to, the test does not know. */
static void check_binding(const struct trace_flow_end *end)
{
	const struct row *row = row_of_end(end);

	if (end->span == 0 || (row != innermost(row->track, end->ts_ns) && row != next_span(row->track, end->ts_ns)))
		fail_msg("at %" PRId64 " a flow is bound to %s, which starts at %" PRId64, end->ts_ns, row->name, row->ts_ns);
}

static size_t n_other_flows(const char *file)
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof other_flows / sizeof *other_flows; i++)
		n += strcmp(other_flows[i].file, file) == 0;
	return n;
}

/* Takes the flow of the table, of which there may be two, from those that are left of it. */
static bool take_other_flow(const char *file, int64_t from_ns, int64_t to_ns, bool *are_taken)
{
	for (size_t i = 0; i < sizeof other_flows / sizeof *other_flows; i++) {
		if (!are_taken[i] && strcmp(other_flows[i].file, file) == 0 && other_flows[i].from_ns == from_ns &&
		    other_flows[i].to_ns == to_ns)
			return are_taken[i] = true;
	}
	return false;
}

static int64_t start_of_end(size_t end)
{
	return strtoll(text_at(trace_json_first(&json, end)), NULL, 10);
}

/* The flows of phases that are in the answers, too, are compared like all others; what a flow that is not there is bound to is
 * looked for anew. */
static void compare_arrows(const char *file, size_t flows)
{
	bool are_taken[sizeof other_flows / sizeof *other_flows] = { false };
	struct lines of_file = { 0 }, expected = { 0 }, of_phases = { 0 };
	size_t n_expected = 0, n_taken = 0;

	for (size_t i = 0; i < found.n_arrows; i++) {
		bool is_of_phase = found.arrows[i].is_legacy && n_other_flows(file) > 0;

		if (is_of_phase) {
			check_binding(&found.arrows[i].from);
			check_binding(&found.arrows[i].to);
		}
		add_arrow(is_of_phase ? &of_phases : &of_file, row_of_end(&found.arrows[i].from), row_of_end(&found.arrows[i].to));
	}
	lines_sort(&of_phases);
	for (size_t flow = trace_json_first(&json, member(flows, "list")); flow; flow = trace_json_next(&json, flow), n_expected++) {
		char from[LINE_BYTES / 3], to[LINE_BYTES / 3];
		size_t n_before = expected.n;

		expected_end(member(flow, "from"), from);
		expected_end(member(flow, "to"), to);
		if (take_other_flow(file, start_of_end(member(flow, "from")), start_of_end(member(flow, "to")), are_taken)) {
			n_taken++;
			continue;
		}
		lines_add(&expected, "flow %s -> %s", from, to);
		/* of a phase, and bound alike */
		if (lines_have(&of_phases, expected.lines[n_before]))
			lines_add(&of_file, "%s", expected.lines[n_before]);
	}
	assert_int_equal(n_expected, number_of(flows, "n"));
	assert_int_equal(n_taken, n_other_flows(file));
	lines_release(&of_phases);
	lines_compare(file, &of_file, &expected, false);
}

static void add_name(struct lines *lines, const char *key, const char *what, const char *name)
{
	if (*name && strcmp(name, "(none)") != 0)
		lines_add(lines, "track %s: %s %s", key, what, name);
}

static void add_names(struct lines *lines, const struct trace_track *track)
{
	char key[KEY_BYTES], text[KEY_BYTES];

	snprintf(key, sizeof key, "%s", key_of(track));
	copy_text(text, sizeof text, track->name);
	if (track->kind == TRACE_TRACK_ASYNC)
		add_name(lines, key, "name", text);
	for (const struct trace_track *above = track; above; above = above->parent) {
		copy_text(text, sizeof text, above->name);
		if (above->kind == TRACE_TRACK_THREAD)
			add_name(lines, key, "thread", text);
		if (above->kind == TRACE_TRACK_PROCESS)
			add_name(lines, key, "process", text);
		copy_text(text, sizeof text, above->kind == TRACE_TRACK_THREAD ? above->tid : above->pid);
		if (above->kind == TRACE_TRACK_THREAD)
			add_name(lines, key, "tid", text);
		if (above->kind == TRACE_TRACK_PROCESS)
			add_name(lines, key, "pid", text);
	}
}

/* The answers name the tracks that have something on them, but for counters; a key's first track is the one that they mean. */
static void compare_names(const char *file, size_t tracks)
{
	struct lines of_file = { 0 }, expected = { 0 };

	for (size_t key = trace_json_first(&json, tracks); key; key = trace_json_next(&json, key)) {
		static const char *const whats[] = { "name", "pid", "process", "tid", "thread" };
		size_t track = trace_json_value(&json, key), i = 0;

		for (size_t j = 0; j < sizeof whats / sizeof *whats; j++)
			add_name(&expected, text_at(key), whats[j], text_of(track, whats[j]));
		while (i < found.n_tracks && (strcmp(key_of(found.tracks[i]), text_at(key)) != 0 ||
					      found.tracks[i]->kind == TRACE_TRACK_STATE))
			i++;
		if (i == found.n_tracks)
			fail_msg("%s: there is no track %s", file, text_at(key));
		add_names(&of_file, found.tracks[i]);
	}
	lines_compare(file, &of_file, &expected, false);
}

/* Some reasons have a name behind a colon. */
static uint64_t left_out(const struct trace *trace, const char *what)
{
	const struct trace_report_line *line;
	size_t n_bytes = strlen(what);
	uint64_t n = 0;

	for (size_t i = 0; (line = trace_report(trace, i)); i++) {
		if (line->finding == TRACE_LEFT_OUT && strncmp(line->what, what, n_bytes) == 0 && strchr(":", line->what[n_bytes]))
			n += line->n;
	}
	return n;
}

/* What the answers have under other words. Flows of the phases s, t and f are not counted there as here: see above. */
static void compare_left_out(const char *file, const struct trace *trace, size_t expected_left_out)
{
	struct lines of_file = { 0 }, expected = { 0 };

	for (size_t key = trace_json_first(&json, expected_left_out); key; key = trace_json_next(&json, key)) {
		const char *what = text_at(key);

		if (strncmp(what, "trace_processor: flow", 21) == 0)
			continue;
		if (strcmp(what, "trace_processor: end_without_begin") == 0)
			what = "end without begin";
		if (strcmp(what, "ftrace event: not sched_switch") == 0)
			what = "ftrace event: other";
		lines_add(&expected, "%s left out: %s", text_at(trace_json_value(&json, key)), what);
		lines_add(&of_file, "%" PRIu64 " left out: %s", left_out(trace, what), what);
	}
	lines_compare(file, &of_file, &expected, false);
}

/* ---- Files ---- */

static void read_trace(const char *path, struct trace **trace)
{
	struct trace_sink sink = { NULL, keep_span, keep_sample, keep_instant, keep_arrow, keep_track };
	struct trace_options options = { .args = true, .complete = true, .strict = true };
	int status = trace_open(path, &options, &sink, trace);

	free(found.spans.rows);
	free(found.instants.rows);
	free(found.samples.rows);
	free(found.arrows);
	memset(&found, 0, sizeof found);
	while (status >= 0 && (status = trace_step(*trace)) == TRACE_ROW)
		;
	assert_string_equal(trace_error(*trace), "");
	assert_string_equal(trace_format_name(*trace), "Perfetto protobuf");
	if (found.spans.n > 0)
		qsort(found.spans.rows, found.spans.n, sizeof *found.spans.rows, by_time);
}

static void read_answers(const char *path)
{
	FILE *file = fopen(path, "rb");
	long n_bytes;

	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	n_bytes = ftell(file);
	assert_true(n_bytes > 0);
	rewind(file);
	free(answers);
	answers = malloc((size_t)n_bytes);
	assert_non_null(answers);
	assert_int_equal(fread(answers, 1, (size_t)n_bytes, file), n_bytes);
	fclose(file);
	assert_int_equal(trace_json_parse(&json, (struct trace_text){ answers, (size_t)n_bytes }, true), TRACE_OK);
}

static const char *folder(void)
{
	static char path[400];
	const char *traces = getenv("IFOREST_TRACES");

	snprintf(path, sizeof path, "%s/formats/perfetto", traces ? traces : "../shared/data/traces");
	return path;
}

static void check_file(const char *name)
{
	char path[800];
	struct trace *trace;
	size_t sched;

	snprintf(path, sizeof path, "%s/%s", folder(), name);
	read_trace(path, &trace);
	snprintf(path, sizeof path, "%s/%s.expected.json", folder(), name);
	read_answers(path);
	compare_tracks(name, member(0, "tracks"), is_plain);
	compare_spans(name, member(0, member(0, "spans") ? "spans" : "spans_first_50"), is_plain);
	compare_windows(name, member(0, "windows"));
	compare_states(name, member(0, "states"));
	compare_instants(name, member(0, "instants"));
	compare_series(name, member(0, "counters"));
	compare_samples(name, member(0, "counter_samples"));
	compare_arrows(name, member(0, "flows"));
	compare_names(name, member(member(0, "names"), "tracks"));
	compare_left_out(name, trace, member(0, "left_out"));
	sched = member(0, "sched");
	if (sched)
		compare_runs(name, sched);
	trace_close(trace);
}

static void files_equal_their_expected_answers(void **state)
{
	DIR *directory = opendir(folder());
	struct dirent *entry;
	int n = 0;

	(void)state;
	if (!directory)
		skip();
	while ((entry = readdir(directory))) {
		const char *end = strrchr(entry->d_name, '.');

		if (!end || (strcmp(end, ".pftrace") != 0 && strcmp(end, ".perfetto-trace") != 0))
			continue;
		check_file(entry->d_name);
		n++;
	}
	closedir(directory);
	assert_true(n > 0);
	free(found.spans.rows);
	free(found.instants.rows);
	free(found.samples.rows);
	free(found.arrows);
	free(answers);
	trace_json_release(&json);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(files_equal_their_expected_answers) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
