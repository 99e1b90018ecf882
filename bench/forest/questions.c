#include "bench/forest/questions.h"

#include <stdio.h>
#include <string.h>

enum { N_SAMPLES = 20, N_NARROW = 1000, NARROW = 5000 };

static struct longest answers[N_RANGES]; /* compared with the right ones */

void ask_ranges(const struct structure *structure, const void *self, const struct iforest_range *ranges, size_t n,
		struct longest *to)
{
	for (size_t i = 0; i < n; i++)
		to[i] = structure->fold(self, ranges[i].from, ranges[i].to);
}

void ask_pixels(const struct questions *questions, const struct structure *structure, const void *self, const int64_t *bounds,
		size_t n_pixels, struct longest *to)
{
	if (structure->zoom) {
		structure->zoom(self, bounds, n_pixels, to);
		return;
	}
	for (size_t p = 0; p < n_pixels; p++)
		to[p] = structure->fold(self, first_not_before(questions->events, questions->n_events, bounds[p]),
					first_not_before(questions->events, questions->n_events, bounds[p + 1]));
}

/* ---- making them ---- */

static void swap_if_descending(uint64_t *a, uint64_t *b)
{
	uint64_t least = *a < *b ? *a : *b;

	*b = *a < *b ? *b : *a;
	*a = least;
}

static void make_ranges(struct questions *questions, uint64_t *state)
{
	uint64_t n = questions->n_events;

	for (size_t i = 0; i < N_RANGES; i++) {
		struct iforest_range *range = &questions->ranges[i];

		*range = (struct iforest_range){ random_below(state, n + 1), random_below(state, n + 1) };
		swap_if_descending(&range->from, &range->to);
	}
	for (size_t i = 0; i < N_WINDOWS; i++) {
		uint64_t from = random_below(state, n), to = random_below(state, n);

		swap_if_descending(&from, &to);
		questions->windows[i][0] = questions->events[from].time_ns;
		questions->windows[i][1] = questions->events[to].time_ns;
	}
}

static void make_zoom(const struct questions *questions, struct zoom *zoom, uint64_t *state)
{
	uint64_t n_seen = questions->n_events / zoom->share;

	for (unsigned place = 0; place < zoom->n_places; place++) {
		uint64_t from = random_below(state, questions->n_events - n_seen + 1);
		int64_t start = questions->events[from].time_ns, end = questions->events[from + n_seen - 1].time_ns + 1;

		for (int p = 0; p <= N_PIXELS; p++)
			zoom->bounds[place][p] = start + (int64_t)((__int128)(end - start) * p / N_PIXELS);
	}
}

static bool is_same(struct longest a, struct longest b)
{
	return a.duration_ns == b.duration_ns && (a.duration_ns < 0 || a.position == b.position);
}

/* Samples of all widths, and every pixel of the first picture of each zoom. */
static bool is_scan_the_same(const struct questions *questions, const void *self)
{
	const struct event *events = questions->events;
	uint64_t state = 3;

	for (size_t i = 0; i < N_SAMPLES + N_NARROW; i++) {
		struct iforest_range range = questions->ranges[i];

		if (i >= N_SAMPLES && range.to - range.from > NARROW)
			range.to = range.from + random_below(&state, NARROW);
		if (!is_same(textbook.fold(self, range.from, range.to), longest_of(events, range.from, range.to, NO_EVENT)))
			return false;
	}
	for (unsigned z = 0; z < N_ZOOMS; z++) {
		const struct zoom *zoom = &questions->zooms[z];
		uint64_t from = 0, to;

		while (from < questions->n_events && events[from].time_ns < zoom->bounds[0][0])
			from++;
		for (int p = 0; p < N_PIXELS; p++, from = to) {
			for (to = from; to < questions->n_events && events[to].time_ns < zoom->bounds[0][p + 1];)
				to++;
			if (!is_same(zoom->answers[0][p], longest_of(events, from, to, NO_EVENT)))
				return false;
		}
	}
	return true;
}

bool make_questions(struct questions *questions, const struct event *events, uint64_t n_events)
{
	static const struct zoom zooms[N_ZOOMS] = { { .name = "whole", .share = 1, .n_places = 5 },
						    { .name = "1/100", .share = 100, .n_places = N_PLACES },
						    { .name = "1/10000", .share = 10000, .n_places = N_PLACES } };
	void *self = textbook.create(textbook.options, events);
	uint64_t state = 2;
	bool is_right;

	questions->events = events;
	questions->n_events = n_events;
	memcpy(questions->zooms, zooms, sizeof zooms);
	make_ranges(questions, &state);
	textbook.extend(self, n_events, 1);
	ask_ranges(&textbook, self, questions->ranges, N_RANGES, questions->range_answers);
	for (size_t i = 0; i < N_WINDOWS; i++)
		textbook.zoom(self, questions->windows[i], 1, &questions->window_answers[i]);
	for (unsigned z = 0; z < N_ZOOMS; z++) {
		struct zoom *zoom = &questions->zooms[z];

		make_zoom(questions, zoom, &state);
		for (unsigned place = 0; place < zoom->n_places; place++)
			textbook.zoom(self, zoom->bounds[place], N_PIXELS, zoom->answers[place]);
	}
	is_right = is_scan_the_same(questions, self);
	textbook.destroy(self);
	if (!is_right)
		fprintf(stderr, "the textbook and the scan do not agree\n");
	return is_right;
}

/* ---- comparing ---- */

static bool are_same(const struct longest *right, size_t n, const char *what, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!is_same(answers[i], right[i])) {
			fprintf(stderr, "%s: %s %zu: %lld at %llu, not %lld at %llu\n", name, what, i,
				(long long)answers[i].duration_ns, (unsigned long long)answers[i].position,
				(long long)right[i].duration_ns, (unsigned long long)right[i].position);
			return false;
		}
	return true;
}

bool answers_right(const struct questions *questions, const struct structure *structure, const void *self)
{
	size_t n_ranges = structure->is_slow ? N_SLOW_RANGES : N_RANGES,
	       n_windows = structure->is_slow ? N_SLOW_WINDOWS : N_WINDOWS;

	ask_ranges(structure, self, questions->ranges, n_ranges, answers);
	if (!are_same(questions->range_answers, n_ranges, "fold", structure->name))
		return false;
	if (structure->fold_many) {
		structure->fold_many(self, questions->ranges, n_ranges, answers);
		if (!are_same(questions->range_answers, n_ranges, "fold of many", structure->name))
			return false;
	}
	for (size_t i = 0; i < n_windows; i++)
		ask_pixels(questions, structure, self, questions->windows[i], 1, &answers[i]);
	if (!are_same(questions->window_answers, n_windows, "window", structure->name))
		return false;
	for (unsigned z = 0; z < N_ZOOMS; z++) {
		const struct zoom *zoom = &questions->zooms[z];

		for (unsigned place = 0; place < zoom->n_places; place++) {
			ask_pixels(questions, structure, self, zoom->bounds[place], N_PIXELS, answers);
			if (!are_same(zoom->answers[place], N_PIXELS, zoom->name, structure->name))
				return false;
		}
	}
	return true;
}
