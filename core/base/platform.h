/* platform.h -- all that core asks of an operating system: address space and threads. The only file that knows one.
 *
 * Where there is neither, address space is refused and the work of threads is done by the caller, one after the other.
 */
#ifndef IFOREST_PLATFORM_H
#define IFOREST_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>

/* Address space without memory behind it, n_bytes a multiple of IFOREST_COMMIT_BYTES and so the start. NULL: refused. */
void *iforest_address_space(size_t n_bytes);
void iforest_address_space_release(void *start, size_t n_bytes);

/* Memory of zeros behind [start, start + n_bytes), multiples of IFOREST_COMMIT_BYTES from the start of the space; in huge pages
 * where wanted and possible. False: there is none. */
#define IFOREST_COMMIT_BYTES ((size_t)1 << 21)
bool iforest_commit(void *start, size_t n_bytes, bool in_huge_pages);

/* Calls work(context, t) for each t < n_threads, at the same time as far as threads can be had, and waits for all.
 * 1 <= n_threads <= IFOREST_MAX_THREADS. */
#define IFOREST_MAX_THREADS 256
void iforest_run_threads(unsigned n_threads, void (*work)(void *context, unsigned thread), void *context);

#endif
