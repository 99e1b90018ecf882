/* export_tables.h -- the tables and the view of an export (export.h), and the SQL that fills them. */
#ifndef IFOREST_SQLITE_EXPORT_TABLES_H
#define IFOREST_SQLITE_EXPORT_TABLES_H

#include "sqlite_ext/follow/snapshot.h"

/* Makes those that are not there. *is_complete: all were. Unless they are ours, one that is there is an error; so is a by
 * column that has the name of another column. */
int iforest_export_make_tables(struct iforest_index *index, const struct iforest_definition *definition, bool are_ours,
			       bool *is_complete, struct iforest_error *error);

/* Empties x_levels, so that the view shows nothing; *n is how many levels there were. */
int iforest_export_take_levels(struct iforest_index *index, int *n, struct iforest_error *error);

/* Fills it again, with n levels of which the first has the width given, and removes rows of x_rollup above them. */
int iforest_export_put_levels(struct iforest_index *index, int64_t width, int n, struct iforest_error *error);

/* Replaces the rows of a level whose buckets start in [start, *end), or from start on where end is NULL, by what the index
 * says. Both are bounds of buckets of that width, or the ends of int64. */
int iforest_export_fill(struct iforest_index *index, const struct iforest_definition *definition, int level, int64_t width,
			int64_t start, const int64_t *end, struct iforest_error *error);

/* Those that are there. */
int iforest_export_drop_tables(struct iforest_index *index, struct iforest_error *error);
int iforest_export_rename_tables(struct iforest_index *index, const struct iforest_definition *definition, const char *new_name,
				 struct iforest_error *error);

#endif
