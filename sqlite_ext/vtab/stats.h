/* vtab_stats.h -- see the plan. */
#ifndef IFOREST_SQLITE_VTAB_STATS_H
#define IFOREST_SQLITE_VTAB_STATS_H

#include "sqlite_ext/vtab/vtab.h"

extern const struct iforest_module iforest_stats_module;

#endif
