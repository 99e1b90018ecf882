/* crew.h -- items of work taken by several threads at once, each the next that nobody has taken yet.
 *
 * What is called at the same time may read what all share as long as nobody writes it. So a read of an index by several threads
 * wants, for each of them: a scan of its own (scan.h), opened before; a store of its own, for faults are noted there; and a
 * pager whose get(), release(), expect() and glance() change nothing that others read: one that gives pages that are in memory,
 * and none that would have to be fetched. Manifests, filters without a state and checked pages with their peaks (peaks.h)
 * may be shared. Where an engine must not be called by other threads than its own, neither may its allocator be: scans need
 * none once they are opened, overlaps do.
 */
#ifndef IFOREST_CREW_H
#define IFOREST_CREW_H

#include <stdint.h>

#include "core/base/platform.h"

/* Calls work(context, thread, item) once for each item < n_items; thread < n_threads tells who does it, 0 is the caller.
 * Returns when all is done and all threads have ended. Where threads cannot be had, fewer do the work. 1 <= n_threads <=
 * IFOREST_MAX_THREADS. */
void iforest_crew_run(unsigned n_threads, uint32_t n_items, void (*work)(void *context, unsigned thread, uint32_t item),
		      void *context);

#endif
