/* overlap_plan.h -- conditions on the columns of iforest_overlap_spans(): which series it is to read.
 *
 * A function in FROM gives all its rows, and they are filtered then. So a condition that a by column is equal to something, or
 * to one of an array, is made arguments of the call as well. It is checked all the same.
 */
#ifndef IFOREST_PG_OVERLAP_PLAN_H
#define IFOREST_PG_OVERLAP_PLAN_H

/* Makes the planner do so. Once, when the library is loaded. */
void iforest_overlap_register(void);

#endif
