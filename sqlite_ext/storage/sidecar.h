/* storage/sidecar.h -- Sidecar tables: sketches and counter summaries of whole nodes, stored beside the pages.
 *
 *   x_sketch(run INTEGER, value INTEGER, level INTEGER, number INTEGER, dead INTEGER, bytes BLOB,
 *            PRIMARY KEY(run, value, level, number))       with sketch=...
 *   x_piece, with the same columns                         with counter=...
 *   x_distinct, with the same columns                      with distinct=...
 *
 * Commands that write runs update the tables. Queries read them, and compute missing summaries from the entries.
 */
#ifndef IFS_STORAGE_SIDECAR_H
#define IFS_STORAGE_SIDECAR_H

#include "core/run/manifest.h"
#include "core/run/sidecar.h"
#include "sqlite_ext/storage/shadow_tables.h"

/* Returns the values of core that have summaries in the table, as bits. */
uint32_t ifs_sidecar_values(const struct ifs_definition *definition, enum ifs_sidecar_table table);

struct ifs_sidecar {
	struct iforest_sidecar sidecar;
	struct ifs_index *index;
	enum ifs_sidecar_table table;
	sqlite3_stmt *put; /* while the table is updated */
};

/* Initializes a sidecar for reading. index must outlive it, and the struct must not move. There is nothing to release. */
void ifs_sidecar_open(struct ifs_sidecar *sidecar, struct ifs_index *index, enum ifs_sidecar_table table);

/* Adds missing summaries of runs in the stored manifest, and deletes those of runs that are not in it. Does nothing for a table
 * that the index does not have.
 * Cost  a lookup for the top nodes of unchanged runs; every leaf page under changed nodes */
int ifs_sidecars_update(struct ifs_index *index, struct ifs_error *error);

/* Checks every stored summary against its node. Returns IFOREST_CORRUPT, with the fault in index->store, if one is wrong.
 * Cost  reads all leaf pages once for each table, value column and level of nodes */
enum iforest_status ifs_sidecars_check(struct ifs_index *index, const struct iforest_manifest *manifest);

#endif
