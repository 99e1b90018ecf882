#include "frames.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void bytes_append(struct bytes *bytes, const void *from, size_t n)
{
	if (n > bytes->n_reserved - bytes->n) {
		size_t n_reserved = 2 * (bytes->n + n) + 4096;
		unsigned char *at = realloc(bytes->at, n_reserved);

		if (!at) {
			bytes->failed = true;
			return;
		}
		bytes->at = at;
		bytes->n_reserved = n_reserved;
	}
	memcpy(bytes->at + bytes->n, from, n);
	bytes->n += n;
}

/* ---- the database ---- */

static bool prepare(struct reader *reader, sqlite3_stmt **statement, const char *sql)
{
	if (sqlite3_prepare_v2(reader->db, sql, -1, statement, NULL) == SQLITE_OK)
		return true;
	fprintf(stderr, "timeline: %s\n", sqlite3_errmsg(reader->db));
	return false;
}

static bool read_lanes(struct frames *frames)
{
	sqlite3_stmt *statement;
	int64_t first = INT64_MAX, last = INT64_MIN;

	if (!prepare(&frames->readers[0], &statement,
		     "SELECT track, depth, first_ts, last_ts + max(coalesce(last_dur_ns, 0), 0) FROM spans_if WHERE first_ts "
		     "IS NOT NULL "
		     "ORDER BY track, depth"))
		return false;
	while (sqlite3_step(statement) == SQLITE_ROW) {
		struct lane *lanes = realloc(frames->lanes, ((size_t)frames->n_lanes + 1) * sizeof *lanes);
		const char *track = (const char *)sqlite3_column_text(statement, 0);
		int64_t from = sqlite3_column_int64(statement, 2), to = sqlite3_column_int64(statement, 3);

		if (!lanes)
			break;
		frames->lanes = lanes;
		lanes[frames->n_lanes++] = (struct lane){ strdup(track ? track : ""), sqlite3_column_int64(statement, 1) };
		first = from < first ? from : first;
		last = to > last ? to : last;
	}
	if (sqlite3_finalize(statement)) {
		fprintf(stderr, "timeline: %s\n", sqlite3_errmsg(frames->readers[0].db));
		return false;
	}
	if (frames->n_lanes == 0) {
		fprintf(stderr, "timeline: there are no spans to show\n");
		return false;
	}
	frames->base = first;
	frames->length = last > first ? last - first : 1;
	return true;
}

static bool open_reader(struct reader *reader, const char *path, const char *extension)
{
	char *message = NULL;

	/* one thread asks, and locks would cost a tenth of a frame */
	if (sqlite3_open_v2(path, &reader->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL)) {
		fprintf(stderr, "timeline: %s: %s\n", path, sqlite3_errmsg(reader->db));
		return false;
	}
	sqlite3_db_config(reader->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
	if (sqlite3_load_extension(reader->db, extension, NULL, &message)) {
		fprintf(stderr, "timeline: %s (build it with make all, or name it with IFOREST=...)\n", message);
		sqlite3_free(message);
		return false;
	}
	sqlite3_busy_timeout(reader->db, LONGEST_WAIT_MS); /* who writes may lock the file for a moment */
	sqlite3_exec(reader->db, "PRAGMA mmap_size = 17179869184; PRAGMA cache_size = -200000", NULL, NULL, NULL);
	/* buckets of a series come in order; were it otherwise, a span would be sent twice: ORDER BY is not worth its
	 * sorting */
	return prepare(reader, &reader->frame, "SELECT longest_dur_ns_ts, longest_dur_ns, longest_dur_ns_id "
					       "FROM spans_overlap(?1, ?2, ?3) WHERE track = ?4 AND depth = ?5") &&
	       prepare(reader, &reader->name, "SELECT name FROM spans WHERE id = ?1");
}

bool frames_open(struct frames *frames, const char *path, const char *extension)
{
	long n_processors = sysconf(_SC_NPROCESSORS_ONLN);

	frames->n_readers = n_processors < 1 ? 1 : n_processors > MOST_READERS ? MOST_READERS : (int)n_processors;
	for (int r = 0; r < frames->n_readers; r++) {
		frames->readers[r].frames = frames;
		if (!open_reader(&frames->readers[r], path, extension))
			return false;
	}
	return read_lanes(frames) && prepare(&frames->readers[0], &frames->span,
					     "SELECT json_object('name', name, 'ts', ts_ns - ?2, 'dur', dur_ns, 'track', "
					     "track, 'depth', depth) FROM spans WHERE id = ?1");
}

/* ---- a frame ---- */

/* The arrays of a frame, in the order in which they are sent, of some of its lanes. */
enum { STARTS, ENDS, IDS, LANES, NAMES, TEXT, N_ARRAYS };

struct part {
	int64_t t0, t1, n;
	int from, to;                  /* lanes */
	struct bytes arrays[N_ARRAYS];
	int32_t n_names;
	uint32_t n_spans;
	int rc;
};

static void add_name(struct reader *reader, int64_t id, bool is_wide)
{
	struct part *part = reader->part;
	int32_t number = -1;

	if (is_wide) {
		const char *name = "";

		sqlite3_bind_int64(reader->name, 1, id);
		if (sqlite3_step(reader->name) == SQLITE_ROW && sqlite3_column_text(reader->name, 0))
			name = (const char *)sqlite3_column_text(reader->name, 0);
		bytes_append(&part->arrays[TEXT], name, strlen(name) + 1);
		sqlite3_reset(reader->name);
		number = part->n_names++;
	}
	bytes_append(&part->arrays[NAMES], &number, sizeof number);
}

static int add_lane(struct reader *reader, int32_t lane)
{
	struct part *part = reader->part;
	sqlite3_stmt *statement = reader->frame;
	int64_t base = reader->frames->base, last_id = -1;
	const struct lane *of = &reader->frames->lanes[lane];
	bool has_last = false;

	sqlite3_bind_int64(statement, 1, part->t0 + base);
	sqlite3_bind_int64(statement, 2, part->t1 + base);
	sqlite3_bind_int64(statement, 3, part->n);
	sqlite3_bind_text(statement, 4, of->track, -1, SQLITE_STATIC);
	sqlite3_bind_int64(statement, 5, of->depth);
	while (sqlite3_step(statement) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(statement, 2), duration = sqlite3_column_int64(statement, 1);
		double start = (double)(sqlite3_column_int64(statement, 0) - base), number = (double)id, end;

		/* there is none where no span has a duration */
		if ((has_last && id == last_id) || sqlite3_column_type(statement, 2) == SQLITE_NULL)
			continue;
		has_last = true;
		last_id = id;
		end = start + (duration > 0 ? (double)duration : 0);
		bytes_append(&part->arrays[STARTS], &start, sizeof start);
		bytes_append(&part->arrays[ENDS], &end, sizeof end);
		bytes_append(&part->arrays[IDS], &number, sizeof number);
		bytes_append(&part->arrays[LANES], &lane, sizeof lane);
		part->n_spans++;
		add_name(reader, id,
			 (double)duration * (double)part->n >= (double)NAMED_PIXELS * (double)(part->t1 - part->t0));
	}
	return sqlite3_reset(statement);
}

static void *make_part(void *context)
{
	struct reader *reader = context;

	for (int lane = reader->part->from; lane < reader->part->to && !reader->part->rc; lane++)
		reader->part->rc = add_lane(reader, lane);
	return NULL;
}

/* The parts one behind the other, array by array; numbers of names count on. */
static void join(struct part *parts, int n_parts, struct bytes *out)
{
	uint32_t header[2] = { 0, 0 };
	int32_t n_names = 0;

	for (int p = 0; p < n_parts; p++) {
		int32_t *names = (int32_t *)parts[p].arrays[NAMES].at;

		for (size_t i = 0; n_names > 0 && i < parts[p].arrays[NAMES].n / sizeof *names; i++)
			names[i] += names[i] >= 0 ? n_names : 0;
		n_names += parts[p].n_names;
		header[0] += parts[p].n_spans;
		header[1] += (uint32_t)parts[p].arrays[TEXT].n;
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

	for (int r = 0; r < n_readers; r++) {
		parts[r] = (struct part){ .t0 = t0, .t1 = t1, .n = n, .from = from + (to - from) * r / n_readers,
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
		error = parts[r].rc ? sqlite3_errmsg(frames->readers[r].db) : error;
	join(parts, n_readers, out);
	return !error && out->failed ? sqlite3_errstr(SQLITE_NOMEM) : error;
}

const char *frames_span(struct frames *frames, int64_t id, struct bytes *out)
{
	const char *text;

	sqlite3_bind_int64(frames->span, 1, id);
	sqlite3_bind_int64(frames->span, 2, frames->base);
	if (sqlite3_step(frames->span) == SQLITE_ROW) {
		text = (const char *)sqlite3_column_text(frames->span, 0);
		bytes_append(out, text, strlen(text));
	}
	return sqlite3_reset(frames->span) ? sqlite3_errmsg(frames->readers[0].db) : NULL;
}
