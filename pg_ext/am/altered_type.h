/* am/altered_type.h -- Refusal of ALTER TABLE ... TYPE that an index cannot follow.
 *
 * PostgreSQL rebuilds an index when a column gets another type, which then refuses types that it cannot have. But where the table
 * need not be rewritten, as from numeric(10,2) to numeric, it keeps the index and tells nobody: each INSERT would fail from then
 * on. Its object access hook is called after the column has been altered, for each index's table.
 */
#ifndef IFP_AM_ALTERED_TYPE_H
#define IFP_AM_ALTERED_TYPE_H

#include "pg_ext/base/engine.h"

/* Raises an error if the type of a table's column was altered to one that an iforest index of the table cannot hold.
 * Requires  a lock on the table. */
void ifp_altered_type_check(Oid table, AttrNumber column);

#endif
