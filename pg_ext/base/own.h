/* own.h -- functions of this extension, told by their OID wherever the extension has its schema. */
#ifndef IFOREST_PG_OWN_H
#define IFOREST_PG_OWN_H

#include "pg_ext/base/engine.h"

/* The name of a function or aggregate that belongs to this extension; NULL of all others. In the current memory context. */
const char *iforest_own_function(Oid function);

/* Is it the one of that name? */
bool iforest_is_own_function(Oid function, const char *name);

#endif
