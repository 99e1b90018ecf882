/* sql/sqlgen_overlap.h -- SQL text of an index's functions on rows and on the spans that overlap buckets. */
#ifndef IFP_SQL_SQLGEN_OVERLAP_H
#define IFP_SQL_SQLGEN_OVERLAP_H

#include "pg_ext/sql/sqlgen.h"

/* The queries. Names of columns that are there already are given a prefix; raises an error where that is of no use. */
char *ifp_rows_query(const struct ifp_sqlgen_index *index);

/* What overlaps, by reading the table, whatever is filled; requires a length. The part that fills, and the query, which ask the
 * index first: those columns again. */
char *ifp_overlap_query(const struct ifp_sqlgen_index *index);

char *ifp_overlap_fill_query(const struct ifp_sqlgen_index *index, TupleDesc columns);

char *ifp_overlap_by_index(const struct ifp_sqlgen_index *index, TupleDesc columns);

#endif
