#include "tools/time_sample.h"

#include <stdlib.h>

void time_sample_add(struct time_sample *sample, int64_t time_ns)
{
	uint64_t place = sample->n++;

	if (place >= TIME_SAMPLE_SIZE) {
		sample->state = sample->state * 0x5851f42d4c957f2du + 0x14057b7ef767814fu;
		place = (sample->state >> 16) % sample->n;
	}
	if (place < TIME_SAMPLE_SIZE)
		sample->times_ns[place] = time_ns;
}

static int compare_times(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

void time_sample_window(struct time_sample *sample, int64_t *first_ns, int64_t *end_ns)
{
	uint64_t n = sample->n < TIME_SAMPLE_SIZE ? sample->n : TIME_SAMPLE_SIZE;

	qsort(sample->times_ns, (size_t)n, sizeof *sample->times_ns, compare_times);
	*first_ns = sample->times_ns[n / 4];
	*end_ns = sample->times_ns[n - 1 - n / 4];
	if (*end_ns < INT64_MAX)
		++*end_ns;
	else if (*first_ns == *end_ns)
		--*first_ns;
}
