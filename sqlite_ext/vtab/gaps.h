/* vtab_gaps.h -- see the plan. */
#ifndef IFOREST_SQLITE_VTAB_GAPS_H
#define IFOREST_SQLITE_VTAB_GAPS_H

#include "sqlite_ext/vtab/vtab.h"

extern const struct iforest_module iforest_gaps_module;

#endif
