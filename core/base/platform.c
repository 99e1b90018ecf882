#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core/base/platform.h"

#include <stdatomic.h>

/* ---- By operating system: address space, a clock, and threads that can be joined ---- */

struct task {
	void (*work)(void *context, unsigned thread);
	void *context;
	unsigned thread;
	bool is_running;
};

#if defined(__unix__) || defined(__APPLE__)

#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

/* Reserves more than asked and gives the surplus back, so that the start is aligned to a huge page. */
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

typedef pthread_t task_thread;

uint64_t iforest_clock_nanoseconds(void)
{
	struct timespec time = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void *run(void *argument)
{
	struct task *task = argument;

	task->work(task->context, task->thread);
	return NULL;
}

static bool task_start(struct task *task, task_thread *thread)
{
	return pthread_create(thread, NULL, run, task) == 0;
}

static void task_join(task_thread thread)
{
	(void)pthread_join(thread, NULL);
}

#elif defined(_WIN32)

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

/* Reserves more than asked and keeps the surplus: no part of a reservation can be given back. */
void *iforest_address_space(size_t n_bytes)
{
	uint8_t *start = VirtualAlloc(NULL, n_bytes + IFOREST_COMMIT_BYTES, MEM_RESERVE, PAGE_NOACCESS);

	return start ? start + (-(uintptr_t)start & (IFOREST_COMMIT_BYTES - 1)) : NULL;
}

void iforest_address_space_release(void *start, size_t n_bytes)
{
	MEMORY_BASIC_INFORMATION region;

	(void)n_bytes;
	if (VirtualQuery(start, &region, sizeof region))
		(void)VirtualFree(region.AllocationBase, 0, MEM_RELEASE);
}

/* Huge pages would need a privilege on Windows. */
bool iforest_address_space_commit(void *start, size_t n_bytes, bool in_huge_pages)
{
	(void)in_huge_pages;
	return VirtualAlloc(start, n_bytes, MEM_COMMIT, PAGE_READWRITE) != NULL;
}

typedef HANDLE task_thread;

uint64_t iforest_clock_nanoseconds(void)
{
	LARGE_INTEGER now, a_second;

	QueryPerformanceCounter(&now);
	QueryPerformanceFrequency(&a_second);
	return (uint64_t)((double)now.QuadPart / (double)a_second.QuadPart * 1e9);
}

static DWORD WINAPI run(void *argument)
{
	struct task *task = argument;

	task->work(task->context, task->thread);
	return 0;
}

static bool task_start(struct task *task, task_thread *thread)
{
	*thread = CreateThread(NULL, 0, run, task, 0, NULL);
	return *thread != NULL;
}

static void task_join(task_thread thread)
{
	(void)WaitForSingleObject(thread, INFINITE);
	(void)CloseHandle(thread);
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

typedef int task_thread;

uint64_t iforest_clock_nanoseconds(void)
{
	return 0;
}

static bool task_start(struct task *task, task_thread *thread)
{
	(void)task;
	(void)thread;
	return false;
}

static void task_join(task_thread thread)
{
	(void)thread;
}

#endif

/* ---- Threads ---- */

void iforest_run_threads(unsigned n_threads, void (*work)(void *context, unsigned thread), void *context)
{
	struct task tasks[IFOREST_MAX_THREADS];
	task_thread threads[IFOREST_MAX_THREADS];

	for (unsigned t = 1; t < n_threads; t++) {
		tasks[t] = (struct task){ .work = work, .context = context, .thread = t };
		tasks[t].is_running = task_start(&tasks[t], &threads[t]);
	}
	work(context, 0);
	for (unsigned t = 1; t < n_threads; t++)
		if (tasks[t].is_running)
			task_join(threads[t]);
		else
			work(context, t);
}

struct parallel_for {
	void (*work)(void *context, unsigned thread, uint32_t item);
	void *context;
	uint32_t n_items;
	atomic_uint_least64_t next; /* wider than an item: threads that find none left still increment it */
};

static void take_items(void *context, unsigned thread)
{
	struct parallel_for *loop = context;
	uint64_t item;

	while ((item = atomic_fetch_add(&loop->next, 1)) < loop->n_items)
		loop->work(loop->context, thread, (uint32_t)item);
}

void iforest_parallel_for(unsigned n_threads, uint32_t n_items, void (*work)(void *context, unsigned thread, uint32_t item),
			  void *context)
{
	struct parallel_for loop = { .work = work, .context = context, .n_items = n_items };

	atomic_init(&loop.next, 0);
	iforest_run_threads(n_threads, take_items, &loop);
}
