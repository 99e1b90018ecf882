/* storage/sidecar.h -- Sidecar of a run: sketches of whole nodes, on pages of the run's owner after its last page.
 *
 * A run's sketches are a stream of bytes on pages of type IFP_PAGE_SKETCH. FORMAT.md and storage/sidecar.c describe the bytes.
 * They are rewritten as a whole, in place, under the maintenance lock. Readers take no lock: each rewrite puts a new random
 * stamp on all its pages, and a reader that sees two stamps treats the sketches as missing.
 */
#ifndef IFP_STORAGE_SIDECAR_H
#define IFP_STORAGE_SIDECAR_H

#include "core/query/sketch_scan.h"
#include "pg_ext/types/definition.h"
#include "pg_ext/storage/index.h"

struct ifp_sketch_sidecar;

/* Opens the sketches of an index for one read, in the current memory context. The manifest must not change meanwhile. */
struct ifp_sketch_sidecar *ifp_sidecar_open(struct ifp_index *index);

/* Returns the sidecar to pass to iforest_scan_sketch() for sketches of a kind; only `get` is set. If `sidecar` is NULL, the
 * result must not be used. */
struct iforest_sidecar ifp_sidecar_for_reader(struct ifp_sketch_sidecar *sidecar, enum iforest_digest_kind kind);

/* Writes missing sketches of the runs on the worklist (in a build: of all runs). Does nothing without the parameters sketch and
 * distinct.
 * Requires  the maintenance lock, or a build.
 * Cost      reads the top nodes of unchanged runs, and every leaf page under changed nodes. */
void ifp_sidecar_keep(struct ifp_index *index);

/* Checks that each sketch matches its node; raises "corrupt" errors.
 * Requires  no entries are removed meanwhile.
 * Cost      reads all leaf pages once for each level of nodes. */
void ifp_sidecar_check(struct ifp_index *index);

#endif
