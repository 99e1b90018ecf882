/* vtab/advise.h -- Virtual table iforest_advise(sql [, schema]): which index would answer a SELECT, and the query over it.
 *
 *   content     the table
 *   statement   creates the index; NULL if none is proposed
 *   query       gives the rows of the SELECT from the index; NULL if the SELECT is not understood in full (advised_query.h)
 *   reason      why there is no statement, or no query
 *
 * SQLite itself parses the SELECT, in a separate database of virtual tables with the same columns, whose xBestIndex records the
 * constraints on each column. Then the index is created there on an empty copy of the table, and the query is prepared.
 */
#ifndef IFS_VTAB_ADVISE_H
#define IFS_VTAB_ADVISE_H

#include "sqlite_ext/vtab/common.h"

extern const struct ifs_module ifs_advise_module;

#endif
