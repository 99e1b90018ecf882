/* base/library.h -- Name under which the server has loaded the extension's shared library. */
#ifndef IFP_BASE_LIBRARY_H
#define IFP_BASE_LIBRARY_H

#include "pg_ext/base/engine.h"

/* Returns the palloc'd library name of an index's access method. The server may be configured to load extensions from outside
 * its own folder. */
char *ifp_library_of(Relation index);

#endif
