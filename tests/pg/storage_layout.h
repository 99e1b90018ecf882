/* tests/pg/storage_layout.h -- Places of the fields of PostgreSQL's blocks, by the structs of pg_ext/storage.
 *
 * The server's headers are for storage_layout.c alone.
 */
#ifndef TESTS_PG_STORAGE_LAYOUT_H
#define TESTS_PG_STORAGE_LAYOUT_H

#include "tests/support/format_tables.h"

/* A record, up to a place without a name. */
extern const struct format_place layout_of_special[], layout_of_meta[], layout_of_chain[], layout_of_extent[], layout_of_sum[],
	layout_of_fixed_entry[];

/* Numbers of pages' kinds, and of flags, in `offset`. */
extern const struct format_place layout_kinds[], layout_flags[];

#endif
