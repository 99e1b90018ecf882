/* vtab_rows.h -- see the plan. */
#ifndef IFOREST_SQLITE_VTAB_ROWS_H
#define IFOREST_SQLITE_VTAB_ROWS_H

#include "sqlite_ext/vtab/vtab.h"

extern const struct iforest_module iforest_rows_module;

#endif
