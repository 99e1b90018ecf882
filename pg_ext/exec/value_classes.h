/* exec/value_classes.h -- Classes of the rows of a bucket, split by values (planner/value_split.h). */
#ifndef IFP_EXEC_VALUE_CLASSES_H
#define IFP_EXEC_VALUE_CLASSES_H

#include "pg_ext/planner/index_query.h"

#include "executor/tuptable.h"
#include "nodes/execnodes.h"

#include "core/query/split_scan.h"

struct ifp_value_classes;

/* Prepares the classes of a query, whose second columns in the row they will set, in the current memory context. Returns NULL if
 * nothing is split. */
struct ifp_value_classes *ifp_value_classes_begin(const struct ifp_index_query *query, const struct ifp_definition *definition,
						  TupleTableSlot *row);

/* Starts with an index that has these fields. What is read lives in the current memory context; classes before are forgotten. */
void ifp_value_classes_start(struct ifp_value_classes *classes, const struct iforest_node_schema *fields);

/* Reads the classes of a range of keys. Errors: as iforest_scan_split(). */
enum iforest_status ifp_value_classes_read(struct ifp_value_classes *classes, struct iforest_scan *scan,
					   const struct iforest_key *from, const struct iforest_key *to,
					   const struct iforest_request *request);

/* The number of classes that were read. */
Size ifp_value_classes_n(const struct ifp_value_classes *classes);

/* Returns the fold of a class, and sets its columns in the row, until the context is reset. */
struct iforest_aggregate *ifp_value_classes_get(const struct ifp_value_classes *classes, Size i, ExprContext *econtext);

#endif
