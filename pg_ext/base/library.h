/* base/library.h -- The extension's shared library, by the name under which the server has loaded it. */
#ifndef IFP_BASE_LIBRARY_H
#define IFP_BASE_LIBRARY_H

#include "pg_ext/base/engine.h"

/* Returns the name of the library of an index's access method, palloc'd; the server may be configured to load extensions from
 * elsewhere than its own folder. */
char *ifp_library_of(Relation index);

#endif
