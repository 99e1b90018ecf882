#define _POSIX_C_SOURCE 200809L
#include "bench/forest/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 5, PLACE_REPEATS = 3, BUILDS = 3, APPEND_RUNS = 2, SWEPT_BYTES = 96 << 20, CACHE_LINE = 64 };

static struct longest answers[N_RANGES];

uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *times, size_t n)
{
	qsort(times, n, sizeof *times, compare_doubles);
	return times[n / 2];
}

/* What else the machine does only adds to a time. */
static void keep_least(double *least, double time)
{
	if (!(*least <= time))
		*least = time;
}

/* Writes through more memory than there is cache. */
static void sweep(void)
{
	static volatile uint8_t *memory;

	if (!memory)
		memory = get_memory(NULL, SWEPT_BYTES);
	for (size_t at = 0; at < SWEPT_BYTES; at += CACHE_LINE)
		memory[at]++;
}

/* ---- building ---- */

static double build_ns(const struct questions *questions, const struct structure *structure, unsigned n_threads)
{
	double least = NAN;

	for (int r = 0; r < BUILDS; r++) {
		void *self = structure->create(structure->options, questions->events);
		uint64_t start_ns = now_ns();

		structure->extend(self, questions->n_events, n_threads);
		keep_least(&least, (double)(now_ns() - start_ns) / (double)questions->n_events);
		structure->destroy(self);
	}
	return least;
}

/* One event at a time: once for the mean, and with a look at the clock after each for the worst. */
static void measure_appends(const struct questions *questions, const struct structure *structure, struct figures *figures)
{
	uint64_t n = questions->n_events, worst_ns = UINT64_MAX, start_ns = now_ns();
	void *self = structure->create(structure->options, questions->events);

	for (uint64_t i = 1; i <= n; i++)
		structure->extend(self, i, 1);
	figures->append = (double)(now_ns() - start_ns) / (double)n;
	figures->moved = structure->n_moved ? (double)structure->n_moved(self) / (double)n : 0;
	structure->destroy(self);
	for (int r = 0; r < APPEND_RUNS; r++) {
		uint64_t worst_of_run_ns = 0;

		self = structure->create(structure->options, questions->events);
		start_ns = now_ns();
		for (uint64_t i = 1; i <= n; i++) {
			uint64_t end_ns;

			structure->extend(self, i, 1);
			end_ns = now_ns();
			if (end_ns - start_ns > worst_of_run_ns)
				worst_of_run_ns = end_ns - start_ns;
			start_ns = end_ns;
		}
		structure->destroy(self);
		if (worst_of_run_ns < worst_ns)
			worst_ns = worst_of_run_ns;
	}
	figures->worst_append = (double)worst_ns;
}

/* ---- asking ---- */

static double fold_ns(const struct questions *questions, const struct structure *structure, const void *self, bool is_batched)
{
	size_t n = structure->is_slow ? N_SLOW_RANGES : N_RANGES;
	double least = NAN;

	for (int r = 0; r < REPEATS; r++) {
		uint64_t start_ns = now_ns();

		if (is_batched)
			structure->fold_many(self, questions->ranges, n, answers);
		else
			ask_ranges(structure, self, questions->ranges, n, answers);
		keep_least(&least, (double)(now_ns() - start_ns) / (double)n);
	}
	return least;
}

static double window_ns(const struct questions *questions, const struct structure *structure, const void *self)
{
	size_t n = structure->is_slow ? N_SLOW_WINDOWS : N_WINDOWS;
	double least = NAN;

	for (int r = 0; r < REPEATS; r++) {
		uint64_t start_ns = now_ns();

		for (size_t i = 0; i < n; i++)
			ask_pixels(questions, structure, self, questions->windows[i], 1, &answers[i]);
		keep_least(&least, (double)(now_ns() - start_ns) / (double)n);
	}
	return least;
}

static double pixel_ns(const struct questions *questions, const struct structure *structure, const void *self,
		       const int64_t *bounds)
{
	uint64_t start_ns = now_ns();

	ask_pixels(questions, structure, self, bounds, N_PIXELS, answers);
	return (double)(now_ns() - start_ns) / N_PIXELS;
}

static void measure_zoom(const struct questions *questions, const struct structure *structure, const void *self,
			 const struct zoom *zoom, double *cold, double *warm)
{
	double cold_times[N_PLACES], warm_times[N_PLACES];

	for (unsigned place = 0; place < zoom->n_places; place++) {
		cold_times[place] = warm_times[place] = NAN;
		for (int r = 0; r < PLACE_REPEATS; r++) {
			sweep();
			keep_least(&cold_times[place], pixel_ns(questions, structure, self, zoom->bounds[place]));
			keep_least(&warm_times[place], pixel_ns(questions, structure, self, zoom->bounds[place]));
		}
	}
	*cold = median(cold_times, zoom->n_places);
	*warm = median(warm_times, zoom->n_places);
}

bool measure(const struct questions *questions, const struct structure *structure, struct figures *figures)
{
	void *self = structure->create(structure->options, questions->events);
	bool is_right;

	*figures = (struct figures){ .build = NAN, .build_by_two = NAN, .append = NAN, .worst_append = NAN, .moved = NAN,
				     .batched = NAN };
	structure->extend(self, questions->n_events, 1);
	is_right = answers_right(questions, structure, self);
	if (is_right) {
		figures->bytes = (double)structure->bytes(self) / (double)questions->n_events;
		figures->fold = fold_ns(questions, structure, self, false);
		if (structure->fold_many)
			figures->batched = fold_ns(questions, structure, self, true);
		figures->window = window_ns(questions, structure, self);
		for (unsigned z = 0; z < N_ZOOMS; z++)
			measure_zoom(questions, structure, self, &questions->zooms[z], &figures->cold[z], &figures->warm[z]);
	}
	structure->destroy(self);
	if (!is_right)
		return false;
	if (figures->bytes > 0)
		figures->build = build_ns(questions, structure, 1);
	if (structure->has_threads)
		figures->build_by_two = build_ns(questions, structure, 2);
	if (structure->appends)
		measure_appends(questions, structure, figures);
	return true;
}

bool measure_sums(const struct questions *questions, const struct sum_structure *structure, struct figures *figures)
{
	uint64_t n = questions->n_events, total = 0, start_ns = now_ns();
	void *self = structure->create(questions->events, n);
	bool is_right = true;

	*figures = (struct figures){ .build = (double)(now_ns() - start_ns) / (double)n,
				     .bytes = (double)structure->bytes(self) / (double)n, .fold = NAN };
	for (size_t r = 0; r < N_SLOW_RANGES; r++) {
		const struct iforest_range *range = &questions->ranges[r];
		uint64_t sum = 0;

		for (uint64_t i = range->from; i < range->to; i++)
			sum += questions->events[i].duration_ns;
		is_right = is_right && sum == structure->sum(self, range->from, range->to);
	}
	for (int r = 0; r < REPEATS; r++) {
		start_ns = now_ns();
		for (size_t i = 0; i < N_RANGES; i++)
			total += structure->sum(self, questions->ranges[i].from, questions->ranges[i].to);
		keep_least(&figures->fold, (double)(now_ns() - start_ns) / N_RANGES);
	}
	structure->destroy(self);
	return is_right && total > 0;
}

/* ---- counting ---- */

enum { N_COUNTED = 2000 };

void counted_folds(const struct questions *questions, const struct structure *structure, const void *self);
void counted_zoom(const struct questions *questions, const struct structure *structure, const void *self,
		  const struct zoom *zoom);

__attribute__((noinline)) void counted_folds(const struct questions *questions, const struct structure *structure,
					     const void *self)
{
	ask_ranges(structure, self, questions->ranges, N_COUNTED, answers);
}

__attribute__((noinline)) void counted_zoom(const struct questions *questions, const struct structure *structure,
					    const void *self, const struct zoom *zoom)
{
	ask_pixels(questions, structure, self, zoom->bounds[0], N_PIXELS, answers);
}

bool count(const struct questions *questions, const struct structure *structure, const char *question)
{
	void *self = structure->create(structure->options, questions->events);

	structure->extend(self, questions->n_events, 1);
	sweep();
	if (!strcmp(question, "folds"))
		counted_folds(questions, structure, self);
	for (unsigned z = 0; z < N_ZOOMS; z++)
		if (!strcmp(question, questions->zooms[z].name))
			counted_zoom(questions, structure, self, &questions->zooms[z]);
	structure->destroy(self);
	return true;
}
