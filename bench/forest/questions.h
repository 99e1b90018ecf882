/* bench/forest/questions.h -- Questions to all structures, and the right answers.
 *
 * The answers are the textbook's, of which samples are compared with a scan. Every structure is asked everything once and
 * compared before it is measured.
 */
#ifndef BENCH_FOREST_QUESTIONS_H
#define BENCH_FOREST_QUESTIONS_H

#include "bench/forest/structure.h"

enum {
	N_RANGES = 100000,
	N_SLOW_RANGES = 20,
	N_WINDOWS = 20000,
	N_SLOW_WINDOWS = 5,
	N_PIXELS = 1920,
	N_PLACES = 15,
	N_ZOOMS = 3
};

/* Pictures of 1/share of the events, at random places. */
struct zoom {
	const char *name;
	uint64_t share;
	unsigned n_places;
	int64_t bounds[N_PLACES][N_PIXELS + 1];
	struct longest answers[N_PLACES][N_PIXELS];
};

struct questions {
	const struct event *events;
	uint64_t n_events;
	struct iforest_range ranges[N_RANGES];     /* both ends uniform */
	struct longest range_answers[N_RANGES];
	int64_t windows[N_WINDOWS][2];             /* from the time of one event to that of another */
	struct longest window_answers[N_WINDOWS];
	struct zoom zooms[N_ZOOMS];
};

/* Fills them in; false if the textbook and the scan do not agree. */
bool make_questions(struct questions *questions, const struct event *events, uint64_t n_events);

/* Does the structure give the same answers? Says which it does not. */
bool answers_right(const struct questions *questions, const struct structure *structure, const void *self);

/* The questions, put to a structure in its own best way. */
void ask_ranges(const struct structure *structure, const void *self, const struct iforest_range *ranges, size_t n,
		struct longest *answers);
void ask_pixels(const struct questions *questions, const struct structure *structure, const void *self, const int64_t *bounds,
		size_t n_pixels, struct longest *answers);

#endif
