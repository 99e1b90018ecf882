/* base/platform.h -- Operating system services: reserved address space, a clock, threads, and a parallel for loop.
 *
 * Only platform.c depends on the operating system. On one that it does not know, no address space can be reserved, and the
 * caller does the work of all threads, one after the other.
 */
#ifndef IFOREST_BASE_PLATFORM_H
#define IFOREST_BASE_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reserves address space without memory. n_bytes is a multiple of IFOREST_COMMIT_BYTES, and the start is aligned to it. Returns
 * NULL if the system refuses. */
void *iforest_address_space(size_t n_bytes);
void iforest_address_space_release(void *start, size_t n_bytes);

/* Backs [start, start + n_bytes) of reserved address space with zeroed memory, in huge pages where requested and possible. Both
 * ends are multiples of IFOREST_COMMIT_BYTES from the start of the space. Returns false without memory. */
#define IFOREST_COMMIT_BYTES ((size_t)1 << 21)
bool iforest_address_space_commit(void *start, size_t n_bytes, bool in_huge_pages);

/* Returns the time of a monotonic clock; 0 where there is none. */
uint64_t iforest_clock_nanoseconds(void);

/* Calls work(context, t) for each t < n_threads, concurrently as far as threads can be started, and waits for all of them.
 * Requires  1 <= n_threads <= IFOREST_MAX_THREADS. */
#define IFOREST_MAX_THREADS 256
void iforest_run_threads(unsigned n_threads, void (*work)(void *context, unsigned thread), void *context);

/* Parallel for: threads take item numbers from a shared counter.
 *
 * Threads may share what none of them writes: manifests, filters without state, and checked pages with their maxima
 * (page_maxima.h). Each thread that reads an index needs its own scan (scan.h), opened beforehand, and its own store, because
 * faults are noted there. The pager's get(), release(), prefetch() and peek() must not change what other threads read, so such
 * a pager gives only pages that are in memory already. If only the engine's own thread may call the allocator: an opened scan
 * allocates nothing, but an overlap does. */

/* Calls work(context, thread, item) once for each item < n_items, and returns when all threads have ended. thread < n_threads
 * is the number of the thread that makes the call; 0 is the caller. If threads cannot be started, fewer do the work.
 * Requires  1 <= n_threads <= IFOREST_MAX_THREADS. */
void iforest_parallel_for(unsigned n_threads, uint32_t n_items, void (*work)(void *context, unsigned thread, uint32_t item),
			  void *context);

#endif
