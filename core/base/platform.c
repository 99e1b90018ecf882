#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core/base/platform.h"

#include <stdatomic.h>

#if defined(__unix__) || defined(__APPLE__)

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

/* Reserves more, and returns the rest, as huge pages are aligned to their size. */
void *iforest_address_space(size_t n_bytes)
{
	size_t n_more = n_bytes + IFOREST_COMMIT_BYTES, n_before;
	uint8_t *start = mmap(NULL, n_more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if ((void *)start == MAP_FAILED)
		return NULL;
	n_before = -(uintptr_t)start & (IFOREST_COMMIT_BYTES - 1);
	if (n_before > 0)
		(void)munmap(start, n_before);
	(void)munmap(start + n_before + n_bytes, IFOREST_COMMIT_BYTES - n_before);
	return start + n_before;
}

void iforest_address_space_release(void *start, size_t n_bytes)
{
	(void)munmap(start, n_bytes);
}

bool iforest_address_space_commit(void *start, size_t n_bytes, bool in_huge_pages)
{
	if (mprotect(start, n_bytes, PROT_READ | PROT_WRITE))
		return false;
#ifdef MADV_HUGEPAGE
	if (in_huge_pages)
		(void)madvise(start, n_bytes, MADV_HUGEPAGE);
#else
	(void)in_huge_pages;
#endif
	return true;
}

struct task {
	void (*work)(void *context, unsigned thread);
	void *context;
	unsigned thread;
	pthread_t id;
	bool is_running;
};

static void *run(void *argument)
{
	struct task *task = argument;

	task->work(task->context, task->thread);
	return NULL;
}

void iforest_run_threads(unsigned n_threads, void (*work)(void *context, unsigned thread), void *context)
{
	struct task tasks[IFOREST_MAX_THREADS];

	for (unsigned t = 1; t < n_threads; t++) {
		tasks[t] = (struct task){ .work = work, .context = context, .thread = t };
		tasks[t].is_running = pthread_create(&tasks[t].id, NULL, run, &tasks[t]) == 0;
	}
	work(context, 0);
	for (unsigned t = 1; t < n_threads; t++)
		if (tasks[t].is_running)
			(void)pthread_join(tasks[t].id, NULL);
		else
			work(context, t);
}

#else

void *iforest_address_space(size_t n_bytes)
{
	(void)n_bytes;
	return NULL;
}

void iforest_address_space_release(void *start, size_t n_bytes)
{
	(void)start;
	(void)n_bytes;
}

bool iforest_address_space_commit(void *start, size_t n_bytes, bool in_huge_pages)
{
	(void)start;
	(void)n_bytes;
	(void)in_huge_pages;
	return false;
}

void iforest_run_threads(unsigned n_threads, void (*work)(void *context, unsigned thread), void *context)
{
	for (unsigned t = 0; t < n_threads; t++)
		work(context, t);
}

#endif

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

void iforest_parallel_for(unsigned n_threads, uint32_t n_items, void (*work)(void *context, unsigned thread, uint32_t item),
			  void *context)
{
	struct crew crew = { .work = work, .context = context, .n_items = n_items };

	atomic_init(&crew.next, 0);
	iforest_run_threads(n_threads, take_items, &crew);
}
