/* storage/sidecar.h -- Sidecar of a run: sketches of whole nodes, on pages of the run's owner after its last page.
 *
 * A run's sketches are a stream of bytes on pages of type IFP_PAGE_SKETCH. FORMAT.md and storage/sidecar.c have the bytes. They
 * are written as a whole, in the same place each time, under the maintenance lock. Readers take no lock: every writing has a
 * random stamp on each of its pages, and a reader that meets two stamps treats the sketches as missing.
 */
#ifndef IFP_STORAGE_SIDECAR_H
#define IFP_STORAGE_SIDECAR_H

#include "core/query/sketch_scan.h"
#include "pg_ext/types/definition.h"
#include "pg_ext/storage/index.h"

struct ifp_sketch_sidecar;

/* Opens the sketches of an index for one reading, in the current memory context. The manifest must stay as it is. */
struct ifp_sketch_sidecar *ifp_sidecar_open(struct ifp_index *index);

/* Returns the sidecar that iforest_scan_sketch() takes for sketches of a kind; only `get` is set. sidecar may be NULL: then it
 * must not be used. */
struct iforest_sidecar ifp_sidecar_for_reader(struct ifp_sketch_sidecar *sidecar, enum iforest_digest_kind kind);

/* Writes missing sketches of the runs on the worklist (in a build: of all runs). Does nothing without the parameters sketch and
 * distinct.
 * Requires  the maintenance lock, or a build.
 * Cost      reads the top nodes of runs that did not change, and every leaf page under nodes that did. */
void ifp_sidecar_keep(struct ifp_index *index);

/* Checks that each sketch is that of its node; raises "corrupt" errors.
 * Requires  no entries are removed meanwhile.
 * Cost      reads all leaf pages once for each level of nodes. */
void ifp_sidecar_check(struct ifp_index *index);

#endif
