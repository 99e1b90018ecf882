/* overlap_plan.h -- what the planner is told of the functions of an index, which have arms of which one is run.
 *
 * Which series iforest_overlap_spans() is to read: a function in FROM gives all its rows, and they are filtered then. So a
 * condition that a by column is equal to something, or to one of an array, is made arguments of the call as well. It is checked
 * all the same.
 *
 * That the half of an overlap function that reads the table costs nothing while there is an index to read; and the arm that
 * asks of all times nothing where a window is given by parameters. The planner would count them as if they were run, and so
 * compile by JIT, or share between workers, what takes less than a millisecond. When the query begins it is asked which arm
 * answers, whatever was thought of it.
 */
#ifndef IFOREST_PG_OVERLAP_PLAN_H
#define IFOREST_PG_OVERLAP_PLAN_H

/* Makes the planner do so. Once, when the library is loaded. */
void iforest_overlap_register(void);

#endif
