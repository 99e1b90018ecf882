/* base/platform.h -- Operating system services: reserved address space, threads, and a parallel for loop.
 *
 * The only file that knows an operating system.
 *
 * Where there is neither, address space is refused and the work of threads is done by the caller, one after the other.
 */
#ifndef IFOREST_BASE_PLATFORM_H
#define IFOREST_BASE_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Address space without memory behind it, n_bytes a multiple of IFOREST_COMMIT_BYTES and so the start. NULL: refused. */
void *iforest_address_space(size_t n_bytes);
void iforest_address_space_release(void *start, size_t n_bytes);

/* Memory of zeros behind [start, start + n_bytes), multiples of IFOREST_COMMIT_BYTES from the start of the space; in huge pages
 * where wanted and possible. False: there is none. */
#define IFOREST_COMMIT_BYTES ((size_t)1 << 21)
bool iforest_address_space_commit(void *start, size_t n_bytes, bool in_huge_pages);

/* Calls work(context, t) for each t < n_threads, at the same time as far as threads can be had, and waits for all.
 * 1 <= n_threads <= IFOREST_MAX_THREADS. */
#define IFOREST_MAX_THREADS 256
void iforest_run_threads(unsigned n_threads, void (*work)(void *context, unsigned thread), void *context);

/* Items of work taken by several threads at once, each the next that nobody has taken yet.
 *
 * What is called at the same time may read what all share as long as nobody writes it. So a read of an index by several threads
 * wants, for each of them: a scan of its own (scan.h), opened before; a store of its own, for faults are noted there; and a
 * pager whose get(), release(), prefetch() and peek() change nothing that others read: one that gives pages that are in memory,
 * and none that would have to be fetched. Manifests, filters without a state and checked pages with their maxima (maxima.h)
 * may be shared. Where an engine must not be called by other threads than its own, neither may its allocator be: scans need
 * none once they are opened, overlaps do.
 */

/* Calls work(context, thread, item) once for each item < n_items; thread < n_threads tells who does it, 0 is the caller.
 * Returns when all is done and all threads have ended. Where threads cannot be had, fewer do the work. 1 <= n_threads <=
 * IFOREST_MAX_THREADS. */
void iforest_parallel_for(unsigned n_threads, uint32_t n_items, void (*work)(void *context, unsigned thread, uint32_t item),
			  void *context);

#endif
