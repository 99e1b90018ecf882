/* vtab/rows.h -- Virtual table iforest_rows: the entries of an index, one row each. */
#ifndef IFS_VTAB_ROWS_H
#define IFS_VTAB_ROWS_H

#include "sqlite_ext/vtab/common.h"

extern const struct ifs_module ifs_rows_module;

#endif
