#include "pg_ext/planner/aggregates.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "pg_ext/base/own.h"
#include "pg_ext/planner/planner_index_query_own.h"

struct named_function {
	const char *name;
	enum iforest_function function;
};

static bool find_named(const char *name, const struct named_function *known, size_t n, enum iforest_function *function)
{
	for (size_t i = 0; name && i < n; i++)
		if (strcmp(name, known[i].name) == 0) {
			*function = known[i].function;
			return true;
		}
	return false;
}

bool iforest_function_find(Oid oid, enum iforest_function *function)
{
	static const struct named_function known[] = {
		{"count", IFOREST_FUNCTION_COUNT}, {"sum", IFOREST_FUNCTION_SUM},    {"avg", IFOREST_FUNCTION_AVG},
		{"min", IFOREST_FUNCTION_MIN},	   {"max", IFOREST_FUNCTION_MAX},    {"bool_and", IFOREST_FUNCTION_AND},
		{"every", IFOREST_FUNCTION_AND},   {"bool_or", IFOREST_FUNCTION_OR},
		{"variance", IFOREST_FUNCTION_VAR_SAMP},
		{"var_samp", IFOREST_FUNCTION_VAR_SAMP},
		{"var_pop", IFOREST_FUNCTION_VAR_POP},
		{"stddev", IFOREST_FUNCTION_STDDEV_SAMP},
		{"stddev_samp", IFOREST_FUNCTION_STDDEV_SAMP},
		{"stddev_pop", IFOREST_FUNCTION_STDDEV_POP},
	};
	static const struct named_function own[] = {
		{"iforest_min_row", IFOREST_FUNCTION_MIN_ROW},	 {"iforest_max_row", IFOREST_FUNCTION_MAX_ROW},
		{"iforest_min_time", IFOREST_FUNCTION_MIN_TIME}, {"iforest_max_time", IFOREST_FUNCTION_MAX_TIME},
		{"iforest_first", IFOREST_FUNCTION_FIRST},	 {"iforest_last", IFOREST_FUNCTION_LAST},
		{"iforest_first_time", IFOREST_FUNCTION_FIRST_TIME},
		{"iforest_last_time", IFOREST_FUNCTION_LAST_TIME},
		{"iforest_last_row", IFOREST_FUNCTION_LAST_ROW},
		{"iforest_sketch", IFOREST_FUNCTION_SKETCH},
	};

	if (oid < FirstNormalObjectId)
		return find_named(get_func_name(oid), known, lengthof(known), function);
	return find_named(iforest_own_function(oid), own, lengthof(own), function);
}

bool iforest_aggregate_needs_squares(Aggref *aggregate)
{
	enum iforest_function function;

	return iforest_function_find(aggregate->aggfnoid, &function) && iforest_function_needs_squares(function);
}

bool iforest_aggregate_is_ctid(Aggref *aggregate)
{
	enum iforest_function function;

	return iforest_function_find(aggregate->aggfnoid, &function) &&
	       (function == IFOREST_FUNCTION_MIN_ROW || function == IFOREST_FUNCTION_MAX_ROW ||
		function == IFOREST_FUNCTION_LAST_ROW);
}

bool iforest_aggregate_is_real(Aggref *aggregate)
{
	enum iforest_function function;
	Oid type;

	if (aggregate->args == NIL || !iforest_function_find(aggregate->aggfnoid, &function) ||
	    function == IFOREST_FUNCTION_COUNT || function == IFOREST_FUNCTION_SKETCH)
		return false;
	type = exprType((Node *)linitial_node(TargetEntry, aggregate->args)->expr);
	return type == FLOAT4OID || type == FLOAT8OID;
}
