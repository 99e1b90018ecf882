/* maintain/export.h -- Export of an index to plain tables and a view, for tools that cannot load extensions.
 *
 *   x_rollup(bucket_level, bucket_start, by columns, count, first_ts, last_ts, eight of each value)
 *   x_levels(bucket_level, bucket_width, interval_from, interval_to)
 *   x_export   a view of both, which picks a level by the interval that a tool requests
 *
 * Bucket widths double from level to level. x_config records the state of the tables: 'export width' is the width of the finest
 * buckets, 'export until' the latest time at the last export, and 'export from' and 'export to' the range of times up to that
 * one in which rows were flushed since. Without these records there is no export, and tables of these names are the user's.
 */
#ifndef IFS_MAINTAIN_EXPORT_H
#define IFS_MAINTAIN_EXPORT_H

#include "sqlite_ext/follow/snapshot.h"

/* Updates the exported tables from the index; creates missing ones. step is the width of the finest buckets, NULL for the
 * present one. If the width changes, or the index was rebuilt, all buckets are recomputed; otherwise those in which something
 * changed, and those from the latest one on.
 * Requires  an index just flushed
 * Errors    within a transaction leave the view empty or unchanged; the next export recomputes everything */
int ifs_export(struct ifs_index *index, const struct ifs_definition *definition, sqlite3_value *step, struct ifs_error *error);

/* Records the range of times that pending rows change. Call it before they are published. */
int ifs_export_note(struct ifs_index *index, const struct ifs_delta *delta, struct ifs_error *error);

/* Records that all buckets may have changed. */
int ifs_export_note_all(struct ifs_index *index, struct ifs_error *error);

/* Drop or rename the exported tables; rename them before the index's own. Both do nothing if there is no export. */
int ifs_export_drop(struct ifs_index *index, struct ifs_error *error);
int ifs_export_rename(struct ifs_index *index, const struct ifs_definition *definition, const char *new_name,
		      struct ifs_error *error);

#endif
