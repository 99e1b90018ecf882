/* bench/forest/scan.c -- Contender: no structure at all. */
#include "bench/forest/structure.h"

static void *create(const void *options, const struct event *events)
{
	(void)options;
	return (void *)(uintptr_t)events;
}

static void extend(void *self, uint64_t n_events, unsigned n_threads)
{
	(void)self;
	(void)n_events;
	(void)n_threads;
}

static void destroy(void *self) { (void)self; }

static uint64_t bytes(const void *self)
{
	(void)self;
	return 0;
}

static struct longest fold(const void *self, uint64_t from, uint64_t to)
{
	return longest_of(self, from, to, NO_EVENT);
}

const struct structure scan = { .name = "scan", .is_slow = true, .create = create, .extend = extend, .destroy = destroy,
				.bytes = bytes, .fold = fold };
