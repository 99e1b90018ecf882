/* bench/forest/events.h -- Events over which all structures stand: in order of time, in one array, with the longest of some
 * of them.
 *
 *      bytes    0               8       12   14
 *               | time_ns       |duration|name|       packed; EVENT_BYTES=16 adds two that are not used
 *
 * Gaps and durations are 2^k (1 + x), x uniform and each k half as likely as the one before: bursts and long silences, many
 * short events and few very long ones. The same number gives the same events on every machine.
 */
#ifndef BENCH_FOREST_EVENTS_H
#define BENCH_FOREST_EVENTS_H

#include <stdint.h>

#ifndef EVENT_BYTES
#define EVENT_BYTES 14
#endif

struct event {
	int64_t time_ns;
	uint32_t duration_ns;
	uint16_t name;
#if EVENT_BYTES == 16
	uint16_t unused;
#endif
} __attribute__((packed));

_Static_assert(sizeof(struct event) == EVENT_BYTES, "events are packed");

/* The answer to every question: the longest event, of several the first. None: the duration is -1. */
struct longest {
	int64_t duration_ns;
	uint64_t position;
};

static const struct longest NO_EVENT = { -1, 0 };

/* What `left` stands for is before what `right` does. */
static inline struct longest longer(struct longest left, struct longest right)
{
	return right.duration_ns > left.duration_ns ? right : left;
}

/* The largest of `best` and the keys of n events: the duration, and below it how near the event is to the start, which is
 * not less than `rank`. Four at a time, so that no comparison waits for the one before. */
static inline uint64_t best_key(const struct event *event, uint64_t n, uint64_t rank, uint64_t best)
{
#define BETTER(of, i)                                                                    \
	do {                                                                             \
		uint64_t key = (uint64_t)event[i].duration_ns << 32 | (rank - (i));      \
		of = key > of ? key : of;                                                \
	} while (0)
	uint64_t second = 0, third = 0, fourth = 0;

	for (; n >= 4; n -= 4, event += 4, rank -= 4) {
		BETTER(best, 0);
		BETTER(second, 1);
		BETTER(third, 2);
		BETTER(fourth, 3);
	}
	best = second > best ? second : best;
	third = fourth > third ? fourth : third;
	best = third > best ? third : best;
	for (; n > 0; n--, event++, rank--)
		BETTER(best, 0);
	return best;
#undef BETTER
}

/* The longest of events [from, to) and of `before`, which stands before them. Used by every structure. */
static inline struct longest longest_of(const struct event *events, uint64_t from, uint64_t to, struct longest before)
{
	while (from < to) {
		uint64_t n = to - from < UINT32_MAX ? to - from : UINT32_MAX, key = best_key(events + from, n, n, 0);

		before = longer(before, (struct longest){ (int64_t)(key >> 32), from + n - (uint32_t)key });
		from += n;
	}
	return before;
}

/* Position of the first of n events that is not before the time: a binary search. */
static inline uint64_t first_not_before(const struct event *events, uint64_t n, int64_t time_ns)
{
	uint64_t from = 0;

	while (n > 0) {
		uint64_t half = n / 2;

		if (events[from + half].time_ns < time_ns) {
			from += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return from;
}

/* The events one after the other. */
struct event_source {
	uint64_t state;
	int64_t time_ns;
};

static const struct event_source ALL_EVENTS = { .state = 1 };

struct event next_event(struct event_source *source);
void make_events(struct event *events, uint64_t n);

/* Uniform numbers (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014). */
static inline uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* Less than n. */
static inline uint64_t random_below(uint64_t *state, uint64_t n)
{
	return (uint64_t)((unsigned __int128)next_random(state) * n >> 64);
}

#endif
