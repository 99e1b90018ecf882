#include "core/base/crew.h"

#include <stdatomic.h>

struct crew {
	void (*work)(void *context, unsigned thread, uint32_t item);
	void *context;
	uint32_t n_items;
	atomic_uint_least64_t next; /* wider than an item: threads that find none left count on */
};

static void take_items(void *context, unsigned thread)
{
	struct crew *crew = context;
	uint64_t item;

	while ((item = atomic_fetch_add(&crew->next, 1)) < crew->n_items)
		crew->work(crew->context, thread, (uint32_t)item);
}

void iforest_crew_run(unsigned n_threads, uint32_t n_items, void (*work)(void *context, unsigned thread, uint32_t item),
		      void *context)
{
	struct crew crew = { .work = work, .context = context, .n_items = n_items };

	atomic_init(&crew.next, 0);
	iforest_run_threads(n_threads, take_items, &crew);
}
