#include "bench/forest/events.h"

enum { FRACTION_BITS = 20, MOST_DOUBLINGS = 30 };

static uint64_t heavy_tailed(uint64_t *state)
{
	uint64_t random = next_random(state);
	unsigned doublings = (unsigned)__builtin_ctzll(random | UINT64_C(1) << MOST_DOUBLINGS);

	return (((UINT64_C(1) << FRACTION_BITS) | random >> (64 - FRACTION_BITS)) << doublings) >> FRACTION_BITS;
}

struct event next_event(struct event_source *source)
{
	source->time_ns += (int64_t)(8 * heavy_tailed(&source->state));
	return (struct event){ .time_ns = source->time_ns, .duration_ns = (uint32_t)heavy_tailed(&source->state),
			       .name = (uint16_t)random_below(&source->state, 1000) };
}

void make_events(struct event *events, uint64_t n)
{
	struct event_source source = ALL_EVENTS;

	for (uint64_t i = 0; i < n; i++)
		events[i] = next_event(&source);
}
