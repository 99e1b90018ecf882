/* maintain/build.h -- Build of an index from its base table: one pass for the series, one for the sorted rows. */
#ifndef IFS_MAINTAIN_BUILD_H
#define IFS_MAINTAIN_BUILD_H

#include "sqlite_ext/follow/base_table.h"
#include "sqlite_ext/follow/snapshot.h"

/* Reads the table, sorts its rows (run_sort.h, temp_store.h), writes series and one run, and publishes a manifest that
 * names them
 * and nothing else. Until then the state before stands; on failure what was written is taken back.
 * Afterwards the tables of the index hold what the manifest names, with sync=log the triggers are in place and the log is
 * empty. */
int ifs_build(struct ifs_index *index, const struct ifs_definition *definition, const struct ifs_base_table *base_table,
	      struct ifs_error *error);

#endif
