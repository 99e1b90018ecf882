/* base/platform.h -- Operating system services: reserved address space, a clock, threads, and a parallel for loop.
 *
 * The only file that knows an operating system. Where it finds none, address space is refused, and the caller does the work of
 * threads, one after the other.
 */
#ifndef IFOREST_BASE_PLATFORM_H
#define IFOREST_BASE_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reserves address space without memory behind it; n_bytes is a multiple of IFOREST_COMMIT_BYTES, and so is the start. NULL:
 * refused. */
void *iforest_address_space(size_t n_bytes);
void iforest_address_space_release(void *start, size_t n_bytes);

/* Puts memory of zeros behind [start, start + n_bytes), multiples of IFOREST_COMMIT_BYTES from the start of the space; in huge
 * pages where requested and possible. Returns false if there is none. */
#define IFOREST_COMMIT_BYTES ((size_t)1 << 21)
bool iforest_address_space_commit(void *start, size_t n_bytes, bool in_huge_pages);

/* Returns the time of a clock that only goes forward; 0 where there is none. */
uint64_t iforest_clock_nanoseconds(void);

/* Calls work(context, t) for each t < n_threads, at the same time as far as threads can be had, and waits for all.
 * 1 <= n_threads <= IFOREST_MAX_THREADS. */
#define IFOREST_MAX_THREADS 256
void iforest_run_threads(unsigned n_threads, void (*work)(void *context, unsigned thread), void *context);

/* Parallel for: threads take item numbers from a shared counter.
 *
 * Concurrent calls may read what they share as long as nobody writes it. So each thread that reads an index needs its own scan
 * (scan.h), opened before, and its own store, as faults are noted there. The pager's get(), release(), prefetch() and peek()
 * must change nothing that others read: so it gives pages that are in memory, and none that it would have to fetch. Manifests,
 * filters without state, and checked pages with their maxima (page_maxima.h) may be shared. Where only the engine's own thread
 * may call its allocator, note that an opened scan needs no memory, but an overlap does. */

/* Calls work(context, thread, item) once for each item < n_items, and returns when all is done and all threads have ended.
 * thread < n_threads tells who does it; 0 is the caller. If threads cannot be had, fewer do the work.
 * Requires  1 <= n_threads <= IFOREST_MAX_THREADS. */
void iforest_parallel_for(unsigned n_threads, uint32_t n_items, void (*work)(void *context, unsigned thread, uint32_t item),
			  void *context);

#endif
