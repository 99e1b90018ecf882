/* maintain/column_types.h -- Classes of an index's columns: which kind of times it has, and which values are integers or reals.
 *
 * They are chosen when the index is built, by the rows that are there and by the declared types, and stay until it is built
 * again. So a column that is declared for fractions (REAL, DECIMAL(10, 2)) has reals from the start, even if it is empty or
 * holds whole numbers so far, unless it has integers that reals cannot hold.
 */
#ifndef IFS_MAINTAIN_COLUMN_TYPES_H
#define IFS_MAINTAIN_COLUMN_TYPES_H

#include "core/page/node.h"
#include "sqlite_ext/storage/shadow_tables.h"

/* True if a column is declared for numbers with fractions: affinity REAL; or NUMERIC and named after decimals, unless digits
 * are given and none of them is of a fraction, as in DECIMAL(10) and NUMERIC(10, 0). */
bool ifs_is_for_fractions(const char *type);

/* Chooses the kind of times and the types of values, as far as a column's first value and its declared type tell. */
int ifs_column_types_choose(const struct ifs_index *index, const struct ifs_definition *definition,
			    const struct ifs_base_table *base_table, struct ifs_times *times,
			    struct iforest_node_schema *fields, struct ifs_error *error);

/* Chooses them again after a real was found among integers.
 * Cost  reading the table */
int ifs_column_types_widen(const struct ifs_index *index, const struct ifs_definition *definition,
			   const struct ifs_base_table *base_table, struct ifs_times *times, struct iforest_node_schema *fields,
			   struct ifs_error *error);

/* Refuses a column that is declared for fractions, where a new index could take none of them: a fraction that comes later would
 * make its queries fail, and a rebuild would not help. Indexes that are there, over whole numbers, are left alone. */
int ifs_column_types_check_new(const struct ifs_index *index, const struct ifs_definition *definition,
			       const struct ifs_base_table *base_table, enum ifs_time_kind kind, struct ifs_error *error);

#endif
