#include "tools/rows.h"

#include <inttypes.h>
#include <string.h>

#include "tools/terminal.h"
#include "trace/trace.h"

const struct loaded_definition loaded_definitions[N_TABLES] = {
	[TABLE_SPANS] = { "spans",
			  "span",
			  16,
			  { { "id", LOADED_INTEGER, true },
			    { "ts", LOADED_INTEGER, true },
			    { "dur", LOADED_INTEGER, false },
			    { "pid", LOADED_TEXT, true },
			    { "tid", LOADED_TEXT, true },
			    { "track", LOADED_TEXT, true },
			    { "name", LOADED_TEXT, true },
			    { "category", LOADED_TEXT, false },
			    { "args", LOADED_JSON, false },
			    { "depth", LOADED_INTEGER, false },
			    { "process", LOADED_TEXT, false },
			    { "thread", LOADED_TEXT, false },
			    { "span_id", LOADED_TEXT, false },
			    { "parent_id", LOADED_TEXT, false },
			    { "trace_id", LOADED_TEXT, false },
			    { "kind", LOADED_TEXT, false } } },
	[TABLE_COUNTERS] = { "counters",
			     "counter sample",
			     9,
			     { { "id", LOADED_INTEGER, true },
			       { "ts", LOADED_INTEGER, true },
			       { "pid", LOADED_TEXT, true },
			       { "name", LOADED_TEXT, true },
			       { "counter_id", LOADED_TEXT, false },
			       { "key", LOADED_TEXT, true },
			       { "value", LOADED_REAL, true },
			       { "unit", LOADED_TEXT, false },
			       { "track", LOADED_TEXT, false } } },
	[TABLE_INSTANTS] = { "instants",
			     "instant",
			     9,
			     { { "id", LOADED_INTEGER, true },
			       { "ts", LOADED_INTEGER, true },
			       { "pid", LOADED_TEXT, true },
			       { "tid", LOADED_TEXT, true },
			       { "track", LOADED_TEXT, true },
			       { "name", LOADED_TEXT, true },
			       { "category", LOADED_TEXT, false },
			       { "args", LOADED_JSON, false },
			       { "instant_id", LOADED_TEXT, false } } },
	[TABLE_FLOWS] = { "flows",
			  "flow",
			  12,
			  { { "id", LOADED_INTEGER, true },
			    { "flow_id", LOADED_TEXT, false },
			    { "name", LOADED_TEXT, false },
			    { "category", LOADED_TEXT, false },
			    { "from_span", LOADED_INTEGER, false },
			    { "from_instant", LOADED_INTEGER, false },
			    { "from_ts", LOADED_INTEGER, true },
			    { "from_track", LOADED_TEXT, true },
			    { "to_span", LOADED_INTEGER, false },
			    { "to_instant", LOADED_INTEGER, false },
			    { "to_ts", LOADED_INTEGER, true },
			    { "to_track", LOADED_TEXT, true } } },
	[TABLE_TRACKS] = { "tracks",
			   "track",
			   10,
			   { { "id", LOADED_INTEGER, true },
			     { "track", LOADED_TEXT, true },
			     { "kind", LOADED_TEXT, true },
			     { "name", LOADED_TEXT, false },
			     { "pid", LOADED_TEXT, true },
			     { "tid", LOADED_TEXT, true },
			     { "process", LOADED_TEXT, false },
			     { "parent", LOADED_TEXT, false },
			     { "sort_index", LOADED_INTEGER, false },
			     { "labels", LOADED_TEXT, false } } },
	[TABLE_LEFT_OUT] = { "left_out",
			     "finding",
			     4,
			     { { "id", LOADED_INTEGER, true },
			       { "finding", LOADED_TEXT, true },
			       { "what", LOADED_TEXT, true },
			       { "n", LOADED_INTEGER, true } } },
};

void rows_print_count(FILE *file, enum loaded_table table, uint64_t n)
{
	fprintf(file, "%" PRIu64 " %s%s", n, loaded_definitions[table].what, n == 1 ? "" : "s");
}

void rows_print_share(FILE *file, const char *path, const struct trace_share *share)
{
	if (!trace_share_is_notable(share))
		return;
	terminal_print(file, path);
	fprintf(file, ": %" PRIu64 " %% of it is left out (%" PRIu64 " of %" PRIu64 " events), most of it as: ",
		(uint64_t)((double)share->n_left_out / (double)share->n_all * 100 + 0.5), share->n_left_out, share->n_all);
	terminal_print(file, share->cause);
	fputc('\n', file);
}

/* The row that is being made: its values are filled in one after the other. */
struct filling {
	struct row_maker *maker;
	struct loaded_value *next;
	bool out_of_memory;
};

static void fill_integer(struct filling *filling, int64_t value)
{
	*filling->next++ = (struct loaded_value){ .integer = value };
}

static void fill_optional(struct filling *filling, bool is_there, int64_t value)
{
	*filling->next++ = (struct loaded_value){ .is_null = !is_there, .integer = value };
}

static void fill_text(struct filling *filling, struct trace_text text)
{
	*filling->next++ = (struct loaded_value){ .is_null = !text.data, .text = text };
}

static void fill_word(struct filling *filling, const char *word)
{
	fill_text(filling, (struct trace_text){ word, strlen(word) });
}

/* Fills in the key of a track, with the prefix before it; "" if the track is NULL. */
static void fill_key(struct filling *filling, const struct trace_track *track)
{
	const char *prefix = filling->maker->base.prefix;
	struct trace_bytes *keys = &filling->maker->keys;
	size_t start = keys->n_bytes;

	if (!track || !prefix) {
		fill_text(filling, track ? track->key : (struct trace_text){ "", 0 });
		return;
	}
	if (trace_bytes_append(keys, (struct trace_text){ prefix, strlen(prefix) }, NULL) < 0 ||
	    trace_bytes_append(keys, track->key, NULL) < 0)
		filling->out_of_memory = true;
	else
		fill_text(filling, (struct trace_text){ keys->data + start, keys->n_bytes - start });
}

/* Begins a row. Memory for both keys of a flow is reserved first, because the second must not move the first. */
static struct filling begin_row(struct row_maker *maker, enum loaded_table table, size_t n_key_bytes, int64_t number)
{
	struct filling filling = { .maker = maker, .next = maker->row.values };

	maker->row.table = table;
	maker->n_rows[table]++;
	maker->keys.n_bytes = 0;
	if (maker->base.prefix && trace_bytes_reserve(&maker->keys, n_key_bytes + 2 * strlen(maker->base.prefix)) < 0)
		filling.out_of_memory = true;
	fill_integer(&filling, maker->base.n_rows[table] + (number ? number : maker->n_rows[table]));
	return filling;
}

static struct loaded_row *end_row(const struct filling *filling)
{
	return filling->out_of_memory ? NULL : &filling->maker->row;
}

static const struct trace_track *process_of(const struct trace_track *track)
{
	while (track && track->kind != TRACE_TRACK_PROCESS)
		track = track->parent;
	return track;
}

static struct trace_text name_of(const struct trace_track *track)
{
	return track ? track->name : (struct trace_text){ NULL, 0 };
}

static void fill_place(struct filling *filling, const struct trace_track *track, const struct trace_track *thread)
{
	fill_text(filling, thread ? thread->pid : track->pid);
	fill_text(filling, thread ? thread->tid : track->tid);
	fill_key(filling, track);
}

struct loaded_row *row_of_span(struct row_maker *maker, const struct trace_span *span)
{
	const struct trace_track *thread = trace_thread_of(span->track, span->thread);
	struct filling filling = begin_row(maker, TABLE_SPANS, span->track->key.n_bytes, (int64_t)span->number);

	fill_integer(&filling, span->ts_ns);
	fill_optional(&filling, span->dur_ns != TRACE_NEVER_CLOSED, span->dur_ns);
	fill_place(&filling, span->track, span->thread);
	fill_text(&filling, span->name);
	fill_text(&filling, span->category);
	fill_text(&filling, span->args);
	fill_optional(&filling, span->depth != TRACE_UNKNOWN_DEPTH, span->depth);
	fill_text(&filling, name_of(process_of(thread ? thread : span->track)));
	fill_text(&filling, name_of(thread));
	fill_text(&filling, span->id);
	fill_text(&filling, span->parent_id);
	fill_text(&filling, span->trace_id);
	fill_word(&filling, trace_track_kind_name(span->track->kind));
	return end_row(&filling);
}

struct loaded_row *row_of_sample(struct row_maker *maker, const struct trace_sample *sample)
{
	size_t n_key_bytes = sample->track ? sample->track->key.n_bytes : 0;
	struct filling filling = begin_row(maker, TABLE_COUNTERS, n_key_bytes, 0);

	fill_integer(&filling, sample->ts_ns);
	fill_text(&filling, sample->track ? sample->track->pid : (struct trace_text){ "", 0 });
	fill_text(&filling, sample->name);
	fill_text(&filling, sample->id);
	fill_text(&filling, sample->key);
	*filling.next++ = (struct loaded_value){ .real = sample->value };
	fill_text(&filling, sample->unit);
	fill_key(&filling, sample->track);
	return end_row(&filling);
}

struct loaded_row *row_of_instant(struct row_maker *maker, const struct trace_instant *instant)
{
	struct filling filling = begin_row(maker, TABLE_INSTANTS, instant->track->key.n_bytes, (int64_t)instant->number);

	fill_integer(&filling, instant->ts_ns);
	fill_place(&filling, instant->track, instant->thread);
	fill_text(&filling, instant->name);
	fill_text(&filling, instant->category);
	fill_text(&filling, instant->args);
	fill_text(&filling, instant->id);
	return end_row(&filling);
}

static void fill_flow_end(struct filling *filling, const struct trace_flow_end *end)
{
	const int64_t *base = filling->maker->base.n_rows;

	fill_optional(filling, end->span, base[TABLE_SPANS] + (int64_t)end->span);
	fill_optional(filling, end->instant, base[TABLE_INSTANTS] + (int64_t)end->instant);
	fill_integer(filling, end->ts_ns);
	fill_key(filling, end->track);
}

struct loaded_row *row_of_flow(struct row_maker *maker, const struct trace_flow *flow)
{
	struct filling filling = begin_row(maker, TABLE_FLOWS, flow->from.track->key.n_bytes + flow->to.track->key.n_bytes, 0);

	fill_text(&filling, flow->id);
	fill_text(&filling, flow->name);
	fill_text(&filling, flow->category);
	fill_flow_end(&filling, &flow->from);
	fill_flow_end(&filling, &flow->to);
	return end_row(&filling);
}

struct loaded_row *row_of_track(struct row_maker *maker, const struct trace_track *track)
{
	size_t n_key_bytes = track->key.n_bytes + (track->parent ? track->parent->key.n_bytes : 0);
	struct filling filling = begin_row(maker, TABLE_TRACKS, n_key_bytes, track->number);

	fill_key(&filling, track);
	fill_word(&filling, trace_track_kind_name(track->kind));
	fill_text(&filling, track->name);
	fill_text(&filling, track->pid);
	fill_text(&filling, track->tid);
	fill_text(&filling, name_of(process_of(track)));
	if (track->parent)
		fill_key(&filling, track->parent);
	else
		fill_text(&filling, (struct trace_text){ NULL, 0 });
	fill_optional(&filling, track->has_sort_index, track->sort_index);
	fill_text(&filling, track->labels);
	return end_row(&filling);
}

struct loaded_row *row_of_report_line(struct row_maker *maker, const struct trace_report_line *line)
{
	struct filling filling = begin_row(maker, TABLE_LEFT_OUT, 0, 0);

	fill_word(&filling, line->finding == TRACE_MENDED ? "mended" : "left out");
	fill_word(&filling, line->what);
	fill_integer(&filling, (int64_t)line->n);
	return end_row(&filling);
}

void row_maker_release(struct row_maker *maker)
{
	trace_bytes_release(&maker->keys);
}
