/* vtab_cover.h -- see the plan. */
#ifndef IFOREST_SQLITE_VTAB_COVER_H
#define IFOREST_SQLITE_VTAB_COVER_H

#include "sqlite_ext/vtab/vtab.h"

extern const struct iforest_module iforest_cover_module;

#endif
