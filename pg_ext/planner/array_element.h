/* planner/array_element.h -- The first element of array_agg() in the order of time: the first or last value of a group.
 *
 *   SELECT service, (array_agg(dur ORDER BY ts DESC))[1] FROM requests GROUP BY service
 *
 * An array of all rows is not needed for its first element. So the subscript and the aggregate below it are one aggregate of the
 * index query: an Aggref of array_agg() whose type is that of the element. Other subscripts, and arrays that are used otherwise,
 * are left to PostgreSQL.
 *
 * NULL is an element as any other. Of rows at the same time a plain plan has any first, so any of their values is right.
 */
#ifndef IFP_PLANNER_ARRAY_ELEMENT_H
#define IFP_PLANNER_ARRAY_ELEMENT_H

#include "pg_ext/base/engine.h"

#include "nodes/primnodes.h"

/* Returns the aggregate that a node of a query's outputs is: the Aggref itself, or a new one for such an element; NULL if it is
 * neither. */
Aggref *ifp_output_aggregate(Node *node);

/* True if the aggregate is such an element. */
bool ifp_is_array_element(const Aggref *aggregate);

struct ifp_array_element {
	Node *time;
	bool is_last;	   /* the order is descending */
	bool is_of_values; /* FILTER leaves out rows whose value is NULL */
	List *conditions;  /* of FILTER, without that one */
};

/* Reads an element over the columns of an index. Returns false if its order is not that of the time column alone. */
bool ifp_array_element_read(const Aggref *aggregate, AttrNumber time, struct ifp_array_element *element);

#endif
