/* altered.h -- ALTER INDEX ... SET refuses what CREATE INDEX refuses.
 *
 * PostgreSQL asks an access method about storage parameters without saying of which index, and so names of columns cannot be
 * checked there. They are checked by a hook that is called when the index has been altered.
 */
#ifndef IFOREST_PG_ALTERED_H
#define IFOREST_PG_ALTERED_H

/* Makes it so. Once, when the library is loaded: opening an index loads it. */
void iforest_altered_register(void);

#endif
