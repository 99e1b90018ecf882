/* vtab/advise.h -- Virtual table iforest_advise(sql [, schema]): which index would answer a SELECT, and the query over it.
 *
 *   content     the table
 *   statement   makes the index; NULL if none is proposed
 *   query       asks it for the aggregates of the SELECT; NULL if that has more than this understands
 *   reason      why there is no statement, or no query
 *
 * SQLite itself reads the SELECT: in a database of its own, whose tables are virtual ones with the same columns, which learn from
 * xBestIndex what is asked of each column. Then the index is made there on an empty copy of the table, and the query prepared.
 */
#ifndef IFS_VTAB_ADVISE_H
#define IFS_VTAB_ADVISE_H

#include "sqlite_ext/vtab/common.h"

extern const struct ifs_module ifs_advise_module;

#endif
