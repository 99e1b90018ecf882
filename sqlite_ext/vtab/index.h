/* vtab/index.h -- Virtual table iforest, the index itself: creation, renaming, dropping and commands. */
#ifndef IFS_VTAB_INDEX_H
#define IFS_VTAB_INDEX_H

#include "sqlite_ext/vtab/common.h"

extern const struct ifs_module ifs_index_module;

#endif
