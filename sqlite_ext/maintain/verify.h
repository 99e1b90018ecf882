/* maintain/verify.h -- Integrity check of an index: its pages and aggregates, and their agreement with the base table. */
#ifndef IFS_MAINTAIN_VERIFY_H
#define IFS_MAINTAIN_VERIFY_H

#include "sqlite_ext/follow/snapshot.h"

/* Reads every page of every run and recomputes every aggregate (core/run/check.h). With with_table it then reads the base
 * table, and compares the count and checksum of the rows that are not pending with those of the entries in the runs. Pending
 * rows are always read from the table.
 * Errors  SQLITE_CORRUPT_VTAB: damaged, or does not match the table. SQLITE_ERROR: detached from its table. */
int ifs_verify(struct ifs_index *index, bool with_table, struct ifs_error *error);

#endif
