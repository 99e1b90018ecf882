/* tools/time_sample.h -- Sample of the times of rows, from which a window follows that holds about half of them.
 *
 * What is suggested after a load asks for such a window. The middle of all time would not do: one early event, and it is empty.
 */
#ifndef IFOREST_TIME_SAMPLE_H
#define IFOREST_TIME_SAMPLE_H

#include <stdint.h>

enum { TIME_SAMPLE_SIZE = 1000 };

/* All zero is ready for use. */
struct time_sample {
	uint64_t n, state;		    /* times added; of the generator of numbers */
	int64_t times_ns[TIME_SAMPLE_SIZE]; /* each time added is here with the same probability; all, if they are few */
};

void time_sample_add(struct time_sample *sample, int64_t time_ns);

/* The window [*first_ns, *end_ns) from the first to the third quarter of the times; at least one of them is in it. Sorts the
 * sample. Requires: something was added. */
void time_sample_window(struct time_sample *sample, int64_t *first_ns, int64_t *end_ns);

#endif
