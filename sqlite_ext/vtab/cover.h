/* vtab/cover.h -- Virtual table iforest_cover: the nodes and parts of leaf pages from which an answer is computed. */
#ifndef IFS_VTAB_COVER_H
#define IFS_VTAB_COVER_H

#include "sqlite_ext/vtab/common.h"

extern const struct ifs_module ifs_cover_module;

#endif
