/* build.h -- An index built from the rows of its table. */
#ifndef IFP_AM_BUILD_H
#define IFP_AM_BUILD_H

#include "pg_ext/base/engine.h"

#include "access/amapi.h"
#include "nodes/execnodes.h"

IndexBuildResult *ifp_build(Relation heap, Relation index, IndexInfo *info);

void ifp_build_empty(Relation index);

char *ifp_build_phase_name(int64 phase);

#endif
