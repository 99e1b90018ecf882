/* sql/sqlgen_overlap.h -- SQL text of an index's functions for rows of a window and spans that overlap buckets.
 *
 * Columns of the overlap function: the by columns, three of the bucket, count, time inside the bucket, the longest span's
 * duration, its ctid (not for a partitioned table), its time. The function has two arms: one reads the index by
 * iforest_overlap_spans(), the other the table if no index may be read (planner/overlap_index.h).
 */
#ifndef IFP_SQL_SQLGEN_OVERLAP_H
#define IFP_SQL_SQLGEN_OVERLAP_H

#include "pg_ext/sql/sqlgen.h"

/* Returns the end of a row's span, as an expression over the table. */
char *ifp_span_end_text(const struct ifp_sqlgen_index *index);

/* Returns the query of rows whose spans reach into a window. Columns whose names are taken get a prefix; raises an error if the
 * prefixed name is taken too. */
char *ifp_rows_query(const struct ifp_sqlgen_index *index);

/* Returns the query of overlaps that reads the table. Its result columns are those of the following queries.
 * Requires  index->length >= 0. */
char *ifp_overlap_query(const struct ifp_sqlgen_index *index);

/* Returns the query of the part with fills, with these columns. */
char *ifp_overlap_fill_query(const struct ifp_sqlgen_index *index, TupleDesc columns);

/* Returns the query of overlaps with both arms, with these columns. */
char *ifp_overlap_by_index(const struct ifp_sqlgen_index *index, TupleDesc columns);

/* Return the queries of peaks: of the table only, of the part with fills, and with both arms. Columns: the by columns, three of
 * the bucket, the peak, its time. The arm that reads the index also calls iforest_overlap_spans(). Require index->length >= 0
 * and index->has_peaks. */
char *ifp_peak_query(const struct ifp_sqlgen_index *index);
char *ifp_peak_fill_query(const struct ifp_sqlgen_index *index, TupleDesc columns);
char *ifp_peak_by_index(const struct ifp_sqlgen_index *index, TupleDesc columns);

/* Return the queries of gaps: of the table only, and with both arms. Columns: the by columns, gap_start, gap_end. Arguments: $1
 * t0, $2 t1, $3 longer_than. */
char *ifp_gaps_query(const struct ifp_sqlgen_index *index);
char *ifp_gaps_by_index(const struct ifp_sqlgen_index *index, TupleDesc columns);

#endif
