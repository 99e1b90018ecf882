/* maintain/build.h -- Build of an index from its base table: one pass for the series, one for the sorted rows. */
#ifndef IFS_MAINTAIN_BUILD_H
#define IFS_MAINTAIN_BUILD_H

#include "sqlite_ext/follow/base_table.h"
#include "sqlite_ext/follow/snapshot.h"

/* Reads the base table, sorts its rows (core/run/sorter.h, storage/temp_store.h), writes series and one run, and publishes
 * a manifest that names only these. Until then the former state is visible; a failed build removes what it wrote. Afterwards
 * the tables of the index contain only what the manifest names; with sync=log the triggers exist and the log is empty. is_new:
 * the index was not there before. */
int ifs_build(struct ifs_index *index, const struct ifs_definition *definition, const struct ifs_base_table *base_table,
	      bool is_new, struct ifs_error *error);

#endif
