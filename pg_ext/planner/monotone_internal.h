/* monotone_internal.h -- what the parts of monotone.c share; not for others. */
#ifndef IFOREST_PG_MONOTONE_INTERNAL_H
#define IFOREST_PG_MONOTONE_INTERNAL_H

#include "pg_ext/planner/monotone.h"

/* The function that a node calls, and its arguments; InvalidOid and NIL where it calls none. */
Oid iforest_called(Node *node, List **arguments);

void iforest_add_break(List **breaks, Node *argument, Node *zone, enum iforest_break_kind kind);

/* monotone_shifts.c: a time to which an interval is added, one less another, the time of the day. Adds breaks only where it is
 * monotone. */
bool iforest_is_shifted(Oid function, List *arguments, AttrNumber attribute, List **breaks);

#endif
