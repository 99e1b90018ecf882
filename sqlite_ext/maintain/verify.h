/* maintain/verify.h -- Integrity check of an index: sound in itself, and in agreement with its base table. */
#ifndef IFS_MAINTAIN_VERIFY_H
#define IFS_MAINTAIN_VERIFY_H

#include "sqlite_ext/follow/snapshot.h"

/* Reads every page of every run and recomputes every aggregate (core/run/check.h); then, with_table, reads the table, and
 * compares
 * by number and a checksum of the rows that are not pending what the runs hold of them. Pending rows are read from the table
 * anyway.
 * Errors  SQLITE_CORRUPT_VTAB: it is not sound, or other rows. SQLITE_ERROR: it is parted from its table. */
int ifs_verify(struct ifs_index *index, bool with_table, struct ifs_error *error);

#endif
