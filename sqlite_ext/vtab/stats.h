/* vtab/stats.h -- Virtual table iforest_stats('index'): size, runs and pending rows of an index, in one row. */
#ifndef IFS_VTAB_STATS_H
#define IFS_VTAB_STATS_H

#include "sqlite_ext/vtab/common.h"

extern const struct ifs_module ifs_stats_module;

#endif
