/* maintain/verify.h -- Integrity check of an index: sound in itself, and in agreement with its base table. */
#ifndef IFS_MAINTAIN_VERIFY_H
#define IFS_MAINTAIN_VERIFY_H

#include "sqlite_ext/follow/snapshot.h"

/* Reads every page of every run and recomputes every aggregate (core/run/check.h). With with_table it then reads the base
 * table, and compares the rows that are not pending with the entries of the runs, by number and checksum. Pending rows are
 * always read from the table.
 * Errors  SQLITE_CORRUPT_VTAB: damaged, or other rows than the table's. SQLITE_ERROR: detached from its table. */
int ifs_verify(struct ifs_index *index, bool with_table, struct ifs_error *error);

#endif
