/* vtab/gaps.h -- Virtual table iforest_gaps: stretches of time in which no span of a series is open. */
#ifndef IFS_VTAB_GAPS_H
#define IFS_VTAB_GAPS_H

#include "sqlite_ext/vtab/common.h"

extern const struct ifs_module ifs_gaps_module;

#endif
