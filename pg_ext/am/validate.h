/* validate.h -- Operator classes. */
#ifndef IFOREST_PG_VALIDATE_H
#define IFOREST_PG_VALIDATE_H

#include "pg_ext/base/engine.h"

#include "access/amapi.h"
#include "nodes/execnodes.h"

bool iforest_validate(Oid opclass);

#endif
