/* exec/agg_scan.h -- Executor node of Custom Scan (IForestAggregate): answers an index query from the indexes of a table.
 *
 *   for each index        of the table or its partitions: copy metapage and manifest, then determine what the snapshot sees
 *                         (exec/snapshot_reader.h, storage/heap_visibility.h)
 *     for each series     that passes the conditions on by columns
 *       for each range    of times that passes the conditions on the time
 *         for each bucket (planner/bucket_finder.h): fold runs and pending entries, find the bucket's group, add
 *
 * After an index has been read, its removal epoch must be unchanged. Otherwise VACUUM may have reused TIDs while the visibility
 * map was read, and the scan restarts. It also restarts if a run was merged away and its pages were reused. After a few
 * restarts it takes the maintenance lock; a standby cannot do that and keeps trying.
 *
 * All groups are in memory before the first is returned. Tables and indexes stay open for the life of the node.
 */
#ifndef IFP_EXEC_AGG_SCAN_H
#define IFP_EXEC_AGG_SCAN_H

#include "pg_ext/base/engine.h"

/* Registers the node under the name by which its path (planner/agg_path.h) finds it.
 * Requires  called once, when the library is loaded. */
void ifp_agg_scan_register(void);

#endif
