/* vtab_index.h -- see the plan. */
#ifndef IFOREST_SQLITE_VTAB_INDEX_H
#define IFOREST_SQLITE_VTAB_INDEX_H

#include "sqlite_ext/vtab/vtab.h"

extern const struct iforest_module iforest_index_module;

#endif
