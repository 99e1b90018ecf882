/* exec/value_classes.h -- Classes of the rows of a bucket, split by values (planner/value_split.h). */
#ifndef IFP_EXEC_VALUE_CLASSES_H
#define IFP_EXEC_VALUE_CLASSES_H

#include "pg_ext/planner/index_query.h"

#include "executor/tuptable.h"
#include "nodes/execnodes.h"

#include "core/query/split_scan.h"

struct ifp_value_classes;

/* Prepares the classes of a query, in the current memory context. They set its second columns in `row`. Returns NULL if nothing
 * is split. */
struct ifp_value_classes *ifp_value_classes_begin(const struct ifp_index_query *query, const struct ifp_definition *definition,
						  TupleTableSlot *row);

/* Starts an index with these fields. Forgets earlier classes; new ones are allocated in the current memory context. */
void ifp_value_classes_start(struct ifp_value_classes *classes, const struct iforest_node_schema *fields);

/* Reads the classes of keys [from, to). Errors: as iforest_scan_split(). */
enum iforest_status ifp_value_classes_read(struct ifp_value_classes *classes, struct iforest_scan *scan,
					   const struct iforest_key *from, const struct iforest_key *to,
					   const struct iforest_request *request);

/* Returns the number of classes read. */
Size ifp_value_classes_n(const struct ifp_value_classes *classes);

/* Returns the fold of a class, and sets its columns in the row; both are valid until the context is reset. */
struct iforest_aggregate *ifp_value_classes_get(const struct ifp_value_classes *classes, Size i, ExprContext *econtext);

#endif
