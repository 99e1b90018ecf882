/* bench/side_by_side/forest.c -- Driver of the floor: block forests in memory, without a database.
 *
 * One stands over all rows, and one over the rows of each track; the rows are kept with each, in the order of time.
 *
 *   do    build              sorts the rows where they are not in order, and makes the forests
 *   do    append N SHIFT     the first N rows again, SHIFT later; they must come after all others
 *   size  rows | forests     bytes of the rows as they are kept, twice; of the forests
 *   ask   N T0 T1 all | each | one TRACK
 *                            count, sum and max of [T0, T1), or of each of N > 0 buckets of it, of all rows, of each
 *                            track or of one; a row is the track where each is asked for, the bucket where there are any,
 *                            and the three
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/side_by_side/driver.h"
#include "core/forest/block_forest.h"

enum { MOST_TRACKS = 1024, MOST_BUCKETS = 4096, MOST_APPENDED = 10000, NUMBER_BYTES = 24 };

struct span {
	int64_t ts, dur;
};

struct figures {
	int64_t n, sum, max;
};

/* The rows of a track, or all. */
struct group {
	char *track;
	struct span *spans;
	uint64_t n, n_allocated;
	struct iforest_block_forest forest;
};

static struct group all, tracks[MOST_TRACKS];
static int n_tracks;
static struct {
	struct span span;
	int track;
} first_rows[MOST_APPENDED];
static uint64_t n_first;

static void *reallocate(void *context, void *memory, size_t n_bytes)
{
	(void)context;
	return realloc(memory, n_bytes);
}

static void release(void *context, void *memory)
{
	(void)context;
	free(memory);
}

static const struct iforest_alloc libc_alloc = { reallocate, release, NULL };

/* ---- the kind: count, sum and max ---- */

static void identity(void *state)
{
	*(struct figures *)state = (struct figures){ 0, 0, INT64_MIN };
}

static void combine(void *state, const void *left, const void *right)
{
	const struct figures *a = left, *b = right;

	*(struct figures *)state = (struct figures){ a->n + b->n, a->sum + b->sum, a->max > b->max ? a->max : b->max };
}

static const struct iforest_monoid kind = { "count, sum, max", sizeof(struct figures), identity, NULL, combine, NULL };

static void fold_spans(void *context, uint64_t from, uint64_t to, void *state)
{
	const struct span *spans = ((const struct group *)context)->spans;
	struct figures *figures = state;

	figures->n += (int64_t)(to - from);
	for (; from < to; from++) {
		figures->sum += spans[from].dur;
		figures->max = spans[from].dur > figures->max ? spans[from].dur : figures->max;
	}
}

/* ---- the rows ---- */

static void append_span(struct group *group, struct span span)
{
	if (group->n == group->n_allocated) {
		group->n_allocated = group->n_allocated ? 2 * group->n_allocated : 1024;
		group->spans = realloc(group->spans, group->n_allocated * sizeof *group->spans);
		if (!group->spans)
			driver_fail("memory", "there is not enough");
	}
	group->spans[group->n++] = span;
}

/* The number of a track; a new one where it is not known, or -1. */
static int track_of(const char *name, bool is_new_allowed)
{
	static int latest;

	if (n_tracks > 0 && strcmp(tracks[latest].track, name) == 0)
		return latest;
	for (latest = 0; latest < n_tracks; latest++)
		if (strcmp(tracks[latest].track, name) == 0)
			return latest;
	if (!is_new_allowed || n_tracks == MOST_TRACKS) {
		latest = 0;
		return -1;
	}
	tracks[n_tracks++].track = strdup(name);
	return latest;
}

void engine_load(FILE *rows)
{
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, rows) > 0) {
		struct span span;
		char *at;
		int track;

		strtoll(line, &at, 10);
		span.ts = strtoll(at + 1, &at, 10);
		span.dur = strtoll(at + 1, &at, 10);
		at[1 + strcspn(at + 1, "\n")] = '\0';
		track = track_of(at + 1, true);
		if (track < 0)
			driver_fail(line, "too many tracks");
		append_span(&all, span);
		append_span(&tracks[track], span);
		if (n_first < MOST_APPENDED) {
			first_rows[n_first].span = span;
			first_rows[n_first++].track = track;
		}
	}
	free(line);
}

static int compare_spans(const void *a, const void *b)
{
	int64_t x = ((const struct span *)a)->ts, y = ((const struct span *)b)->ts;

	return (x > y) - (x < y);
}

static void extend(struct group *group)
{
	group->forest.entries.array = group->spans;
	group->forest.entries.times = (struct iforest_times){ group->spans, sizeof *group->spans };
	if (iforest_block_forest_extend(&group->forest, group->n, 1))
		driver_fail("a forest", "does not grow");
}

static void build(struct group *group)
{
	struct iforest_entries entries = { .fold = fold_spans, .context = group, .entry_bytes = sizeof *group->spans,
					   .array = group->spans, .times = { group->spans, sizeof *group->spans } };
	bool is_sorted = true;

	for (uint64_t i = 1; i < group->n && is_sorted; i++)
		is_sorted = group->spans[i - 1].ts <= group->spans[i].ts;
	if (!is_sorted)
		qsort(group->spans, group->n, sizeof *group->spans, compare_spans);
	if (iforest_block_forest_init(&group->forest, &kind, &libc_alloc, IFOREST_GROW_IN_PLACE, &entries, 0))
		driver_fail("a forest", "is not made");
	extend(group);
}

/* The first rows again, in the order of time. */
static void append(uint64_t n, int64_t shift)
{
	qsort(first_rows, n_first, sizeof *first_rows, compare_spans);
	for (uint64_t i = 0; i < n && i < n_first; i++) {
		struct span span = { first_rows[i].span.ts + shift, first_rows[i].span.dur };

		append_span(&all, span);
		append_span(&tracks[first_rows[i].track], span);
	}
	extend(&all);
	for (int i = 0; i < n_tracks; i++)
		extend(&tracks[i]);
}

void engine_run(const char *command)
{
	uint64_t n;
	int64_t shift;

	if (strcmp(command, "build") == 0) {
		build(&all);
		for (int i = 0; i < n_tracks; i++)
			build(&tracks[i]);
	} else if (sscanf(command, "append %" SCNu64 " %" SCNd64, &n, &shift) == 2) {
		append(n, shift);
	} else {
		driver_fail(command, "no such command");
	}
}

/* ---- questions ---- */

struct question {
	int64_t n_buckets, t0, t1;
	bool is_each;
};

static void tell_number(struct answer *answer, int64_t number)
{
	char text[NUMBER_BYTES];

	snprintf(text, sizeof text, "%" PRId64, number);
	answer_cell(answer, text);
}

static void tell_figures(struct answer *answer, const struct question *question, const char *track, int64_t bucket,
			 const struct figures *figures)
{
	if (!answer || figures->n == 0)
		return;
	if (question->is_each)
		answer_cell(answer, track);
	if (question->n_buckets > 0)
		tell_number(answer, bucket);
	tell_number(answer, figures->n);
	tell_number(answer, figures->sum);
	tell_number(answer, figures->max);
	answer_end_row(answer);
}

static void ask_group(const struct group *group, const struct question *question, struct answer *answer)
{
	static int64_t bounds[MOST_BUCKETS + 1];
	static struct figures figures[MOST_BUCKETS];
	int64_t n = question->n_buckets;

	if (n == 0) {
		uint64_t from = iforest_block_forest_find(&group->forest, question->t0);
		uint64_t to = iforest_block_forest_find(&group->forest, question->t1);

		iforest_block_forest_fold(&group->forest, from, to, figures);
		tell_figures(answer, question, group->track, 0, figures);
		return;
	}
	for (int64_t i = 0; i <= n; i++)
		bounds[i] = question->t0 + (question->t1 - question->t0) / n * i;
	iforest_block_forest_zoom(&group->forest, bounds, (size_t)n, figures);
	for (int64_t i = 0; i < n; i++)
		tell_figures(answer, question, group->track, i, &figures[i]);
}

static void ask_groups(const char *of, struct question *question, struct answer *answer)
{
	if (strcmp(of, "all") == 0) {
		ask_group(&all, question, answer);
	} else if (strcmp(of, "each") == 0) {
		question->is_each = true;
		for (int i = 0; i < n_tracks; i++)
			ask_group(&tracks[i], question, answer);
	} else if (strncmp(of, "one ", 4) == 0) {
		int track = track_of(of + 4, false);

		if (track >= 0)
			ask_group(&tracks[track], question, answer);
	} else {
		driver_fail(of, "is not all, each or one TRACK");
	}
}

static int64_t forest_bytes(const struct group *group)
{
	uint64_t n_leaves = group->forest.forest.n_leaves;

	return (int64_t)(iforest_forest_bytes(&kind, n_leaves) + n_leaves * sizeof(int64_t));
}

void engine_ask(const char *sql, struct answer *answer)
{
	struct question question = { .is_each = false };
	int64_t *n_buckets = &question.n_buckets;
	int n_read = 0;

	if (strcmp(sql, "rows") == 0) {
		tell_number(answer, (int64_t)(2 * all.n * sizeof *all.spans));
	} else if (strcmp(sql, "forests") == 0) {
		int64_t n_bytes = forest_bytes(&all);

		for (int i = 0; i < n_tracks; i++)
			n_bytes += forest_bytes(&tracks[i]);
		tell_number(answer, n_bytes);
	} else if (sscanf(sql, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %n", n_buckets, &question.t0, &question.t1, &n_read) == 3 &&
		   *n_buckets >= 0 && *n_buckets <= MOST_BUCKETS) {
		ask_groups(sql + n_read, &question, answer);
	} else {
		driver_fail(sql, "no such question");
	}
}

double engine_pages(const char *sql)
{
	driver_fail(sql, "reads no pages");
}

void engine_open(const char *where)
{
	(void)where;
}

void engine_close(void)
{
	iforest_block_forest_release(&all.forest);
	for (int i = 0; i < n_tracks; i++)
		iforest_block_forest_release(&tracks[i].forest);
}
