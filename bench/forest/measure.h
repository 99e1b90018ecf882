/* bench/forest/measure.h -- Figures of one structure. */
#ifndef BENCH_FOREST_MEASURE_H
#define BENCH_FOREST_MEASURE_H

#include "bench/forest/questions.h"

/* Times in nanoseconds, the least of several; not a number: not measured. */
struct figures {
	double bytes;                     /* an event */
	double build, build_by_two;       /* an event; by one thread and by two */
	double append, worst_append;      /* one event; the mean, and the worst of the better of two runs */
	double moved;                     /* bytes an event copied while appending */
	double fold, batched;             /* a random range */
	double window;                    /* a random window of time */
	/* A pixel, the median of several places: after other memory was written through, and asked again at once. */
	double cold[N_ZOOMS], warm[N_ZOOMS];
};

uint64_t now_ns(void);

/* Builds, compares, measures. False if an answer is wrong. */
bool measure(const struct questions *questions, const struct structure *structure, struct figures *figures);

/* The same for sums: bytes an event, build an event, a random fold. */
bool measure_sums(const struct questions *questions, const struct sum_structure *structure, struct figures *figures);

/* Only asks one kind of question a few times, for a simulator to count in: the functions counted_...() in measure.c. */
bool count(const struct questions *questions, const struct structure *structure, const char *question);

#endif
