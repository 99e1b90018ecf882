#include "frames.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- opening ---- */

/* One a processor, but in a browser, which gives a worker no threads. */
static int count_readers(void)
{
#ifdef __EMSCRIPTEN__
	return 1;
#else
	long n_processors = sysconf(_SC_NPROCESSORS_ONLN);

	return n_processors < 1 ? 1 : n_processors > MOST_READERS ? MOST_READERS : (int)n_processors;
#endif
}

static bool open_reader(struct reader *reader, const char *path, const char *extension, const struct tables *tables)
{
	sqlite3 *db = reader->db ? reader->db : database_open(path, extension, &reader->frames->limit);

	reader->db = db;
	if (!db)
		return false;
	sqlite3_exec(db, "PRAGMA cache_size = -200000", NULL, NULL, NULL);
	/* buckets of a series come in order; were it otherwise, a span would be sent twice: ORDER BY is not worth its
	 * sorting */
	return database_prepare(db, &reader->spans,
				"SELECT longest_dur_ts, longest_dur, longest_dur_id FROM spans_overlap(?1, ?2, ?3) "
				"WHERE track = ?4 AND depth = ?5") &&
	       database_prepare(db, &reader->span_name, "SELECT name FROM spans WHERE id = ?1") &&
	       (!tables->instants ||
		(database_prepare(db, &reader->instants,
				  "SELECT first_ts, first_id, count FROM instants_if(?1, ?2, ?3) WHERE track = ?4") &&
		 database_prepare(db, &reader->instant_name, "SELECT name FROM instants WHERE id = ?1"))) &&
	       (!tables->counters ||
		database_prepare(db, &reader->samples,
				 "SELECT bucket_start, min_value, max_value, last_value FROM counters_if(?1, ?2, ?3) "
				 "WHERE fill = 'last' AND track IS ?4 AND name IS ?5 AND counter_id IS ?6 AND key IS ?7 "
				 "AND last_value IS NOT NULL"));
}

static bool prepare_first(struct frames *frames)
{
	sqlite3 *db = frames->readers[0].db;

	return database_prepare(
		       db, &frames->span,
		       "SELECT json_object('name', CAST(name AS TEXT), 'ts', ts - ?2, 'dur', dur, 'track', track, 'depth', depth) "
		       "FROM spans WHERE id = ?1") &&
	       (!frames->tables.instants ||
		database_prepare(
			db, &frames->instant,
			"SELECT json_object('name', CAST(name AS TEXT), 'ts', ts - ?2, 'track', track) FROM instants WHERE id = ?1")) &&
	       (!frames->tables.left_out ||
		database_prepare(
			db, &frames->left_out,
			"SELECT json_group_array(json_array(finding, what, n)) FROM (SELECT finding, what, sum(n) AS n "
			"FROM left_out GROUP BY finding, what ORDER BY finding, n DESC, what)")) &&
	       (!frames->tables.flows ||
		(database_prepare(db, &frames->leaving,
				  "SELECT first_id, count FROM flows_if(?1, ?2, ?3) WHERE from_track = ?4") &&
		 database_prepare(db, &frames->arriving,
				  "SELECT first_id, count FROM flows_to_if(?1, ?2, ?3) WHERE to_track = ?4") &&
		 database_prepare(
			 db, &frames->flow,
			 "SELECT f.id, from_ts, from_track, coalesce(a.depth, 0), to_ts, to_track, coalesce(b.depth, 0) "
			 "FROM flows f LEFT JOIN spans a ON a.id = from_span LEFT JOIN spans b ON b.id = to_span "
			 "WHERE f.id = ?1") &&
		 database_prepare(db, &frames->flows_of_span,
				  "SELECT id FROM flows WHERE from_span = ?1 UNION SELECT id FROM flows WHERE to_span = ?1 "
				  "ORDER BY 1 LIMIT ?2")));
}

bool frames_open(struct frames *frames, const char *path, const char *extension, int n_seconds)
{
	struct reader *first = &frames->readers[0];

	pthread_mutex_init(&frames->lock, NULL);
	frames->n_seconds = n_seconds;
	time_limit_start(&frames->limit, SECONDS_TO_OPEN);
	frames->n_readers = count_readers();
	first->db = database_open(path, extension, &frames->limit);
	if (!first->db || !database_tables(first->db, path, &frames->tables) ||
	    !layout_read(&frames->layout, first->db, &frames->tables))
		return false;
	for (int r = 0; r < frames->n_readers; r++) {
		frames->readers[r].frames = frames;
		if (!open_reader(&frames->readers[r], path, extension, &frames->tables))
			return false;
	}
	return prepare_first(frames);
}

/* Waits until no other query is answered; then this one has its time. */
static void begin_question(struct frames *frames)
{
	pthread_mutex_lock(&frames->lock);
	time_limit_start(&frames->limit, frames->n_seconds);
}

/* ---- a frame ---- */

struct part {
	int64_t t0, t1, n;
	int from, to; /* rows */
	struct bytes arrays[N_ARRAYS];
	int32_t n_names;
	int rc; /* also of a name that could not be read */
};

/* A moment of the trace's own clock; beyond the ends of 64 bits, the end. */
static int64_t moment(const struct frames *frames, int64_t t)
{
	int64_t sum;

	if (__builtin_add_overflow(frames->layout.base, t, &sum))
		return t < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

static void put_double(struct part *part, enum frame_array array, double value)
{
	bytes_append(&part->arrays[array], &value, sizeof value);
}

static void put_integer(struct part *part, enum frame_array array, int32_t value)
{
	bytes_append(&part->arrays[array], &value, sizeof value);
}

/* The number of a row's name, which is -1 if it is not wanted. */
static int32_t add_name(struct part *part, sqlite3_stmt *statement, int64_t id, bool is_wanted)
{
	const char *name = "";

	if (!is_wanted)
		return -1;
	sqlite3_bind_int64(statement, 1, id);
	if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0))
		name = (const char *)sqlite3_column_text(statement, 0);
	bytes_append(&part->arrays[NAMES], name, strlen(name) + 1);
	part->rc = sqlite3_reset(statement);
	return part->n_names++;
}

static bool is_wide(const struct part *part, double length, int n_pixels)
{
	return length * (double)part->n >= n_pixels * (double)(part->t1 - part->t0);
}

static void add_span(struct reader *reader, int row, int64_t ts, double length, int64_t id)
{
	struct part *part = reader->part;
	double start = (double)(ts - reader->frames->layout.base);

	put_double(part, SPAN_STARTS, start);
	put_double(part, SPAN_ENDS, start + length);
	put_double(part, SPAN_IDS, (double)id);
	put_integer(part, SPAN_ROWS, row);
	put_integer(part, SPAN_NAMES, add_name(part, reader->span_name, id, is_wide(part, length, NAMED_PIXELS)));
}

static int add_spans(struct reader *reader, const struct lane *lane, int64_t t0, int64_t t1)
{
	struct part *part = reader->part;
	sqlite3_stmt *statement = reader->spans;
	int64_t last_id = -1;
	bool has_last = false;

	sqlite3_bind_int64(statement, 1, t0);
	sqlite3_bind_int64(statement, 2, t1);
	sqlite3_bind_int64(statement, 3, part->n);
	sqlite3_bind_text(statement, 4, lane->track, -1, SQLITE_STATIC);
	sqlite3_bind_int64(statement, 5, lane->depth);
	while (!part->rc && sqlite3_step(statement) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(statement, 2), duration = sqlite3_column_int64(statement, 1);

		/* there is none where no span has a duration */
		if ((has_last && id == last_id) || sqlite3_column_type(statement, 2) == SQLITE_NULL ||
		    (lane->is_open && id == lane->open_id))
			continue;
		has_last = true;
		last_id = id;
		add_span(reader, lane->row, sqlite3_column_int64(statement, 0), duration > 0 ? (double)duration : 0, id);
	}
	if (lane->is_open && lane->open_ts < t1)
		add_span(reader, lane->row, lane->open_ts, INFINITY, lane->open_id);
	return sqlite3_reset(statement);
}

/* An instant waits for the next one, which says how much room there is for its name. */
struct waiting {
	int64_t ts, id;
	int32_t n;
};

static void add_instant(struct reader *reader, const struct lane *lane, const struct waiting *instant, int64_t next)
{
	struct part *part = reader->part;
	bool is_wanted = !lane->has_spans && is_wide(part, (double)next - (double)instant->ts, NAMED_INSTANT_PIXELS);

	if (instant->n == 0)
		return;
	put_double(part, INSTANT_TIMES, (double)(instant->ts - reader->frames->layout.base));
	put_double(part, INSTANT_IDS, (double)instant->id);
	put_integer(part, INSTANT_ROWS, lane->row);
	put_integer(part, INSTANT_COUNTS, instant->n);
	put_integer(part, INSTANT_NAMES, add_name(part, reader->instant_name, instant->id, is_wanted));
}

static int add_instants(struct reader *reader, const struct lane *lane, int64_t t0, int64_t t1)
{
	sqlite3_stmt *statement = reader->instants;
	struct waiting waiting = { .n = 0 };

	sqlite3_bind_int64(statement, 1, t0);
	sqlite3_bind_int64(statement, 2, t1);
	sqlite3_bind_int64(statement, 3, reader->part->n);
	sqlite3_bind_text(statement, 4, lane->track, -1, SQLITE_STATIC);
	while (!reader->part->rc && sqlite3_step(statement) == SQLITE_ROW) {
		struct waiting next = { sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1),
					sqlite3_column_int(statement, 2) };

		add_instant(reader, lane, &waiting, next.ts);
		waiting = next;
	}
	add_instant(reader, lane, &waiting, INT64_MAX);
	return sqlite3_reset(statement);
}

static int add_samples(struct reader *reader, int row, const struct series *series, int64_t t0, int64_t t1)
{
	struct part *part = reader->part;
	sqlite3_stmt *statement = reader->samples;
	const char *const names[] = { series->track, series->name, series->id, series->key };
	double known = NAN; /* the value at the end of the last pixel */

	sqlite3_bind_int64(statement, 1, t0);
	sqlite3_bind_int64(statement, 2, t1);
	sqlite3_bind_int64(statement, 3, part->n);
	for (int i = 0; i < 4; i++)
		sqlite3_bind_text(statement, 4 + i, names[i], -1, SQLITE_STATIC);
	while (sqlite3_step(statement) == SQLITE_ROW) {
		double least = sqlite3_column_double(statement, 1), most = sqlite3_column_double(statement, 2);

		if (least == known && most == known)
			continue;
		known = sqlite3_column_double(statement, 3);
		put_double(part, SAMPLE_TIMES, (double)(sqlite3_column_int64(statement, 0) - reader->frames->layout.base));
		put_double(part, SAMPLE_LEASTS, least);
		put_double(part, SAMPLE_MOSTS, most);
		put_double(part, SAMPLE_LASTS, known);
		put_integer(part, SAMPLE_ROWS, row);
	}
	return sqlite3_reset(statement);
}

static int add_row(struct reader *reader, int number)
{
	const struct layout *layout = &reader->frames->layout;
	const struct row *row = &layout->rows[number];
	int64_t t0 = moment(reader->frames, reader->part->t0), t1 = moment(reader->frames, reader->part->t1);
	int rc = SQLITE_OK;

	if (row->kind == ROW_COUNTER)
		return add_samples(reader, number, &layout->series[row->series], t0, t1);
	for (int i = row->from; !rc && i < row->to; i++) {
		const struct lane *lane = &layout->lanes[layout->row_lanes[i]];

		/* a row of many lanes has most of them elsewhere; a row of one may have grown */
		if (row->to - row->from > 1 && (lane->first >= t1 || (lane->end < t0 && !lane->is_open)))
			continue;
		if (lane->has_spans)
			rc = add_spans(reader, lane, t0, t1);
		if (!rc && lane->has_instants)
			rc = add_instants(reader, lane, t0, t1);
	}
	return rc;
}

static void *make_part(void *context)
{
	struct reader *reader = context;

	for (int row = reader->part->from; row < reader->part->to && !reader->part->rc; row++) {
		int rc = add_row(reader, row);

		reader->part->rc = reader->part->rc ? reader->part->rc : rc;
	}
	return NULL;
}

static void shift_names(struct bytes *numbers, int32_t by)
{
	int32_t *number = (int32_t *)numbers->at;

	for (size_t i = 0; by > 0 && i < numbers->n / sizeof *number; i++)
		number[i] += number[i] >= 0 ? by : 0;
}

/* The parts one behind the other, array by array; numbers of names count on. */
static void join(struct part *parts, int n_parts, struct bytes *out)
{
	uint32_t header[N_ARRAYS] = { 0 };
	int32_t n_names = 0;

	for (int p = 0; p < n_parts; p++) {
		shift_names(&parts[p].arrays[SPAN_NAMES], n_names);
		shift_names(&parts[p].arrays[INSTANT_NAMES], n_names);
		n_names += parts[p].n_names;
		for (int a = 0; a < N_ARRAYS; a++)
			header[a] += (uint32_t)parts[p].arrays[a].n;
	}
	bytes_append(out, header, sizeof header);
	for (int a = 0; a < N_ARRAYS; a++)
		for (int p = 0; p < n_parts; p++) {
			if (parts[p].arrays[a].n)
				bytes_append(out, parts[p].arrays[a].at, parts[p].arrays[a].n);
			out->failed = out->failed || parts[p].arrays[a].failed;
			free(parts[p].arrays[a].at);
		}
}

const char *frames_make(struct frames *frames, int64_t t0, int64_t t1, int64_t n, int from, int to, struct bytes *out)
{
	struct part parts[MOST_READERS];
	pthread_t threads[MOST_READERS];
	bool is_running[MOST_READERS] = { false };
	int n_readers = frames->n_readers;
	const char *error = NULL;

	begin_question(frames);
	for (int r = 0; r < n_readers; r++) {
		parts[r] = (struct part){ .t0 = t0,
					  .t1 = t1,
					  .n = n,
					  .from = from + (to - from) * r / n_readers,
					  .to = from + (to - from) * (r + 1) / n_readers };
		frames->readers[r].part = &parts[r];
		is_running[r] = r + 1 < n_readers && !pthread_create(&threads[r], NULL, make_part, &frames->readers[r]);
		if (!is_running[r])
			make_part(&frames->readers[r]);
	}
	for (int r = 0; r < n_readers; r++)
		if (is_running[r])
			pthread_join(threads[r], NULL);
	for (int r = 0; r < n_readers; r++)
		error = parts[r].rc ? database_error(frames->readers[r].db, parts[r].rc, &frames->limit) : error;
	join(parts, n_readers, out);
	pthread_mutex_unlock(&frames->lock);
	return !error && out->failed ? sqlite3_errstr(SQLITE_NOMEM) : error;
}

/* ---- arrows ---- */

enum { ARROW_BUCKETS = 32, MOST_FOUND = 8192 };

struct ids {
	int64_t *at;
	int n, most;
	bool is_all;
};

/* Where flows are looked for. */
struct flow_view {
	const struct ids *tracks; /* their first lanes, in order */
	int64_t t0, t1;		  /* moments of the trace's own clock */
	int64_t n_ends;		  /* of flows that leave or arrive there */
};

static void add_id(struct ids *ids, int64_t id)
{
	if (ids->n < ids->most)
		ids->at[ids->n++] = id;
	else
		ids->is_all = false;
}

static int compare_ids(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

static bool has_end(const struct frames *frames, const struct flow_view *view, const char *track, int64_t ts)
{
	int64_t lane = track ? layout_first_lane(&frames->layout, track) : -1;

	return ts >= view->t0 && ts < view->t1 &&
	       bsearch(&lane, view->tracks->at, (size_t)view->tracks->n, sizeof lane, compare_ids);
}

/* Adds the ends that lie in the view, unless that is NULL, to *n_ends. */
static int add_flow(struct frames *frames, int64_t id, bool is_first, const struct flow_view *view, int64_t *n_ends,
		    struct bytes *out)
{
	const struct layout *layout = &frames->layout;
	sqlite3_stmt *flow = frames->flow;

	sqlite3_bind_int64(flow, 1, id);
	if (sqlite3_step(flow) == SQLITE_ROW) {
		bytes_print(out, "%s[%lld, ", is_first ? "" : ", ", (long long)id);
		for (int end = 1; end <= 4; end += 3) {
			const char *track = (const char *)sqlite3_column_text(flow, end + 1);
			int row = track ? layout_row(layout, track, sqlite3_column_int64(flow, end + 2)) : -1;

			if (view)
				*n_ends += has_end(frames, view, track, sqlite3_column_int64(flow, end));
			bytes_print(out, "%lld, %d%s", (long long)(sqlite3_column_int64(flow, end) - layout->base), row,
				    end == 1 ? ", " : "]");
		}
	}
	return sqlite3_reset(flow);
}

/* Orders ids, and keeps each once. */
static void order_ids(struct ids *ids)
{
	int n = 0;

	qsort(ids->at, (size_t)ids->n, sizeof *ids->at, compare_ids);
	for (int i = 0; i < ids->n; i++)
		if (i == 0 || ids->at[i] != ids->at[i - 1])
			ids->at[n++] = ids->at[i];
	ids->n = n;
}

/* The flows of these ids, or every second, every third ... so that they are no more than `most`. They are all if no end in the view
 * belongs to another flow. */
static int add_flows(struct frames *frames, struct ids *ids, const struct flow_view *view, int most, struct bytes *out)
{
	int64_t n_ends = 0;
	int step, rc = SQLITE_OK;

	order_ids(ids);
	step = ids->n / (most + 1) + 1;
	bytes_print(out, "{\"arrows\": [");
	for (int i = 0; !rc && i < ids->n; i += step)
		rc = add_flow(frames, ids->at[i], i == 0, view, &n_ends, out);
	bytes_print(out, "], \"all\": %s}", ids->is_all && step == 1 && (!view || n_ends == view->n_ends) ? "true" : "false");
	return rc;
}

/* Of each bucket the first flow that leaves, or arrives. */
static int find_flows(sqlite3_stmt *statement, struct flow_view *view, int64_t n, const char *track, struct ids *ids)
{
	sqlite3_bind_int64(statement, 1, view->t0);
	sqlite3_bind_int64(statement, 2, view->t1);
	sqlite3_bind_int64(statement, 3, n);
	sqlite3_bind_text(statement, 4, track, -1, SQLITE_STATIC);
	while (sqlite3_step(statement) == SQLITE_ROW) {
		add_id(ids, sqlite3_column_int64(statement, 0));
		view->n_ends += sqlite3_column_int64(statement, 1);
	}
	return sqlite3_reset(statement);
}

/* The first lanes of the tracks in these rows, each once. */
static void find_tracks(const struct layout *layout, int from, int to, struct ids *tracks)
{
	for (int r = from; r < to; r++)
		for (int i = layout->rows[r].from; i < layout->rows[r].to; i++)
			add_id(tracks, layout_first_lane(layout, layout->lanes[layout->row_lanes[i]].track));
	order_ids(tracks);
}

/* The ids of flows of all tracks. */
static int find_all_flows(struct frames *frames, struct flow_view *view, struct ids *flows)
{
	const struct ids *tracks = view->tracks;
	int n_buckets = MOST_FOUND / (2 * tracks->n + 1), rc = SQLITE_OK;

	n_buckets = n_buckets < 1 ? 1 : n_buckets > ARROW_BUCKETS ? ARROW_BUCKETS : n_buckets;
	for (int i = 0; !rc && i < tracks->n; i++) {
		const char *track = frames->layout.lanes[tracks->at[i]].track;

		rc = find_flows(frames->leaving, view, n_buckets, track, flows);
		if (!rc)
			rc = find_flows(frames->arriving, view, n_buckets, track, flows);
	}
	return rc;
}

const char *frames_arrows(struct frames *frames, int64_t t0, int64_t t1, int from, int to, struct bytes *out)
{
	const struct layout *layout = &frames->layout;
	int n_lanes = from < to ? layout->rows[to - 1].to - layout->rows[from].from : 0;
	struct ids tracks = { .at = malloc(((size_t)n_lanes + 1) * sizeof(int64_t)), .most = n_lanes, .is_all = true };
	struct ids flows = { .at = malloc(MOST_FOUND * sizeof(int64_t)), .most = MOST_FOUND, .is_all = true };
	struct flow_view view = { .tracks = &tracks, .t0 = moment(frames, t0), .t1 = moment(frames, t1) };
	int rc = tracks.at && flows.at ? SQLITE_OK : SQLITE_NOMEM;
	const char *error;

	begin_question(frames);
	if (!rc && frames->tables.flows) {
		find_tracks(layout, from, to, &tracks);
		rc = find_all_flows(frames, &view, &flows);
	}
	if (!rc)
		rc = add_flows(frames, &flows, &view, MOST_ARROWS, out);
	error = rc == SQLITE_NOMEM ? sqlite3_errstr(rc) : rc ? database_error(frames->readers[0].db, rc, &frames->limit) : NULL;
	pthread_mutex_unlock(&frames->lock);
	free(tracks.at);
	free(flows.at);
	return error;
}

const char *frames_arrows_of_span(struct frames *frames, int64_t id, struct bytes *out)
{
	sqlite3_stmt *statement = frames->flows_of_span;
	int64_t found[MOST_OF_SPAN];
	struct ids flows = { .at = found, .most = MOST_OF_SPAN, .is_all = true };
	const char *error;
	int rc = SQLITE_OK;

	begin_question(frames);
	if (frames->tables.flows) {
		sqlite3_bind_int64(statement, 1, id);
		sqlite3_bind_int(statement, 2, MOST_OF_SPAN + 1);
		while (sqlite3_step(statement) == SQLITE_ROW)
			add_id(&flows, sqlite3_column_int64(statement, 0));
		rc = sqlite3_reset(statement);
	}
	if (!rc)
		rc = add_flows(frames, &flows, NULL, MOST_OF_SPAN, out);
	error = rc ? database_error(frames->readers[0].db, rc, &frames->limit) : NULL;
	pthread_mutex_unlock(&frames->lock);
	return error;
}

/* ---- the rest ---- */

/* Appends the only value of the first row, if there is one. */
static const char *append_value(struct frames *frames, sqlite3_stmt *statement, struct bytes *out)
{
	const char *text, *error;
	int rc;

	if (sqlite3_step(statement) == SQLITE_ROW) {
		text = (const char *)sqlite3_column_text(statement, 0);
		bytes_append(out, text ? text : "", text ? strlen(text) : 0);
	}
	rc = sqlite3_reset(statement);
	error = rc ? database_error(frames->readers[0].db, rc, &frames->limit) : NULL;
	return error;
}

static const char *append_row(struct frames *frames, sqlite3_stmt *statement, int64_t id, struct bytes *out)
{
	const char *error;

	if (!statement)
		return NULL;
	begin_question(frames);
	sqlite3_bind_int64(statement, 1, id);
	sqlite3_bind_int64(statement, 2, frames->layout.base);
	error = append_value(frames, statement, out);
	pthread_mutex_unlock(&frames->lock);
	return error;
}

const char *frames_span(struct frames *frames, int64_t id, struct bytes *out)
{
	return append_row(frames, frames->span, id, out);
}

const char *frames_instant(struct frames *frames, int64_t id, struct bytes *out)
{
	return append_row(frames, frames->instant, id, out);
}

const char *frames_left_out(struct frames *frames, struct bytes *out)
{
	const char *error;

	if (!frames->left_out) {
		bytes_print(out, "[]");
		return NULL;
	}
	begin_question(frames);
	error = append_value(frames, frames->left_out, out);
	pthread_mutex_unlock(&frames->lock);
	return error;
}
