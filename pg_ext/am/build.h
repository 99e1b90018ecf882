/* am/build.h -- CREATE INDEX: a run from the sorted rows of the table. */
#ifndef IFP_AM_BUILD_H
#define IFP_AM_BUILD_H

#include "pg_ext/base/engine.h"

#include "access/amapi.h"
#include "nodes/execnodes.h"

IndexBuildResult *ifp_build(Relation heap, Relation index, IndexInfo *info);

void ifp_build_empty(Relation index);

char *ifp_build_phase_name(int64 phase);

#endif
