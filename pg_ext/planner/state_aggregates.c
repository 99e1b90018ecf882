#include "pg_ext/planner/state_aggregates.h"

#include "pg_ext/base/engine.h"

#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_am.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/optimizer.h"
#include "optimizer/planner.h"
#include "parser/parse_coerce.h"
#include "parser/parse_func.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "pg_ext/base/distributed_table.h"
#include "pg_ext/base/known_functions.h"
#include "pg_ext/planner/query_level.h"
#include "pg_ext/planner/verdict.h"

/* A query level whose aggregates are replaced. */
struct state_level {
	bool is_distributed;  /* it is asked of a coordinator */
	bool has_partitions;  /* ctids do not tell rows apart */
	const Aggref *source; /* the aggregate that is being replaced */
};

/* ---- pieces of expressions ---- */

static Node *call(const struct state_level *level, Oid function, Oid type, List *arguments)
{
	return (Node *)makeFuncExpr(function, type, arguments, InvalidOid, level->source->inputcollid, COERCE_EXPLICIT_CALL);
}

/* Returns an aggregate of arguments with the filter of the one that is replaced. */
static Node *aggregate(const struct state_level *level, Oid function, Oid type, List *arguments)
{
	Aggref *made = makeNode(Aggref);
	ListCell *cell;

	made->aggfnoid = function;
	made->aggtype = type;
	made->inputcollid = level->source->inputcollid;
	made->aggfilter = copyObject(level->source->aggfilter);
	made->aggkind = AGGKIND_NORMAL;
	made->aggno = made->aggtransno = -1;
	made->location = level->source->location;
	foreach (cell, arguments) {
		Expr *argument = copyObject(lfirst(cell));

		made->aggargtypes = lappend_oid(made->aggargtypes, exprType((Node *)argument));
		made->args =
			lappend(made->args, makeTargetEntry(argument, (AttrNumber)(list_length(made->args) + 1), NULL, false));
	}
	return (Node *)made;
}

static List *arguments_of(const Aggref *aggregate)
{
	List *arguments = NIL;
	ListCell *cell;

	foreach (cell, aggregate->args)
		arguments = lappend(arguments, lfirst_node(TargetEntry, cell)->expr);
	return arguments;
}

static Node *to_numeric(const struct state_level *level, Node *number)
{
	switch (exprType(number)) {
	case INT2OID:
		return call(level, F_NUMERIC_INT2, NUMERICOID, list_make1(number));
	case INT4OID:
		return call(level, F_NUMERIC_INT4, NUMERICOID, list_make1(number));
	case INT8OID:
		return call(level, F_NUMERIC_INT8, NUMERICOID, list_make1(number));
	default:
		return number;
	}
}

static Oid extreme_of(const char *name, Oid type)
{
	return LookupFuncName(list_make2(makeString("pg_catalog"), makeString(pstrdup(name))), 1, &type, true);
}

/* ---- for a coordinator: aggregates as states ---- */

static const struct variance {
	const char *name;
	bool is_sample, is_deviation;
} variances[] = { { "variance", true, false }, { "var_samp", true, false },   { "var_pop", false, false },
		  { "stddev", true, true },    { "stddev_samp", true, true }, { "stddev_pop", false, true } };

/* Returns the sum over integers or numerics, or InvalidOid. */
static Oid sum_of(Oid type, Oid *result)
{
	*result = type == INT2OID || type == INT4OID ? INT8OID : NUMERICOID;
	switch (type) {
	case INT2OID:
		return F_SUM_INT2;
	case INT4OID:
		return F_SUM_INT4;
	case INT8OID:
		return F_SUM_INT8;
	case NUMERICOID:
		return F_SUM_NUMERIC;
	default:
		return InvalidOid;
	}
}

static Node *split_variance(const struct state_level *level, const struct variance *variance)
{
	static const Oid of_squares[] = { NUMERICOID }, of_variance[] = { INT8OID, NUMERICOID, NUMERICOID, BOOLOID, BOOLOID };
	List *arguments = arguments_of(level->source);
	Oid squares = ifp_own_function_named("iforest_squares", lengthof(of_squares), of_squares);
	Oid function = ifp_own_function_named("iforest_variance", lengthof(of_variance), of_variance);
	Oid type, sum = sum_of(exprType(linitial(arguments)), &type);
	List *parts;

	if (!OidIsValid(squares) || !OidIsValid(function) || !OidIsValid(sum))
		return NULL;
	parts = list_make3(aggregate(level, F_COUNT_ANY, INT8OID, arguments),
			   to_numeric(level, aggregate(level, sum, type, arguments)),
			   aggregate(level, squares, NUMERICOID, list_make1(to_numeric(level, linitial(arguments)))));
	parts = lappend(parts, makeBoolConst(variance->is_sample, false));
	parts = lappend(parts, makeBoolConst(variance->is_deviation, false));
	return call(level, function, NUMERICOID, parts);
}

static bool is_number_type(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID || type == FLOAT4OID || type == FLOAT8OID;
}

static Node *split_sketch(const struct state_level *level, Node *argument, const char *state, const char *states)
{
	static const Oid of_state[] = { ANYELEMENTOID }, of_states[] = { BYTEAOID };
	Oid function = ifp_own_function_named(state, lengthof(of_state), of_state);
	Oid combined = ifp_own_function_named(states, lengthof(of_states), of_states);

	if (!OidIsValid(function) || !OidIsValid(combined))
		return NULL;
	return aggregate(level, combined, BYTEAOID, list_make1(call(level, function, BYTEAOID, list_make1(argument))));
}

static Node *split_distinct_count(const struct state_level *level)
{
	static const Oid of_count[] = { BYTEAOID };
	Oid count = ifp_own_function_named("iforest_distinct_count", lengthof(of_count), of_count);
	Node *sketch =
		split_sketch(level, linitial(arguments_of(level->source)), "iforest_distinct_state", "iforest_distinct_states");

	return sketch && OidIsValid(count) ? call(level, count, INT8OID, list_make1(sketch)) : NULL;
}

/* Returns a number as another type of numbers, as an implicit cast or one in an assignment does. */
static Node *as_type(Node *number, Oid type)
{
	return coerce_to_target_type(NULL, number, exprType(number), type, -1, COERCION_ASSIGNMENT, COERCE_EXPLICIT_CAST, -1);
}

/* True for a constant from 0 to 1: others are left to PostgreSQL, with its errors. */
static bool is_fraction(Node *node)
{
	const Const *fraction = (const Const *)node;

	return IsA(node, Const) && !fraction->constisnull && DatumGetFloat8(fraction->constvalue) >= 0 &&
	       DatumGetFloat8(fraction->constvalue) <= 1;
}

/* Returns a percentile as a quantile of a sketch between the least and the greatest number. The fraction is a constant, and the
 * order ascends. */
static Node *split_percentile(const struct state_level *level)
{
	bool is_continuous = level->source->aggfnoid == F_PERCENTILE_CONT_FLOAT8_FLOAT8;
	Node *fraction = eval_const_expressions(NULL, linitial(level->source->aggdirectargs));
	Node *number = strip_implicit_coercions(linitial(arguments_of(level->source)));
	Oid type = exprType(number);
	Oid ends_type = is_continuous || type == FLOAT4OID || type == FLOAT8OID ? FLOAT8OID : INT8OID;
	const Oid of_quantile[] = { BYTEAOID, FLOAT8OID, ends_type, ends_type };
	const char *name = is_continuous ? "iforest_quantile_cont" : "iforest_quantile";
	Oid quantile = ifp_own_function_named(name, lengthof(of_quantile), of_quantile);
	Oid least = extreme_of("min", type), greatest = extreme_of("max", type);
	Node *sketch = split_sketch(level, number, "iforest_sketch_state", "iforest_sketch_states");
	Oid ascending = lookup_type_cache(exprType(linitial(arguments_of(level->source))), TYPECACHE_LT_OPR)->lt_opr;
	bool descends = linitial_node(SortGroupClause, level->source->aggorder)->sortop != ascending;

	if (!is_number_type(type) || !sketch || !OidIsValid(quantile) || descends || !is_fraction(fraction))
		return NULL;
	return as_type(call(level, quantile, ends_type,
			    list_make4(sketch, fraction, as_type(aggregate(level, least, type, list_make1(number)), ends_type),
				       as_type(aggregate(level, greatest, type, list_make1(number)), ends_type))),
		       level->source->aggtype);
}

static bool is_time_type(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID || type == DATEOID || type == TIMESTAMPOID ||
	       type == TIMESTAMPTZOID;
}

/* What is asked of a chosen row. */
enum row_part { ROW_VALUE, ROW_TIME, ROW_CTID };

/* Returns a part of the row that a choice ("min", "max", "first", "last") makes. */
static Node *split_row(const struct state_level *level, const char *choice, enum row_part part)
{
	static const char *const readers[] = { "iforest_state_value", "iforest_state_time", "iforest_state_row" };
	static const Oid of_row[] = { ANYELEMENTOID, ANYCOMPATIBLEOID, TIDOID }, of_states[] = { BYTEAOID },
			 of_part[] = { BYTEAOID, ANYELEMENTOID };
	List *arguments = arguments_of(level->source);
	Oid value_type = exprType(linitial(arguments)), time_type = exprType(lsecond(arguments));
	Oid type = part == ROW_VALUE ? value_type : part == ROW_TIME ? time_type : TIDOID;
	Oid row = ifp_own_function_named("iforest_row_state", list_length(arguments), of_row);
	Oid states = ifp_own_function_named(psprintf("iforest_%s_state", choice), lengthof(of_states), of_states);
	Oid reader = ifp_own_function_named(readers[part], part == ROW_CTID ? 1 : 2, of_part);
	Node *chosen;

	/* the states of partitions are without ctids */
	if (!OidIsValid(row) || !OidIsValid(states) || !OidIsValid(reader) || !is_time_type(time_type) ||
	    !(is_time_type(value_type) || is_number_type(value_type)) || (part == ROW_CTID && level->has_partitions))
		return NULL;
	chosen = aggregate(level, states, BYTEAOID, list_make1(call(level, row, BYTEAOID, arguments)));
	if (part == ROW_CTID)
		return call(level, reader, type, list_make1(chosen));
	return call(level, reader, type, list_make2(chosen, makeNullConst(type, -1, InvalidOid)));
}

static bool is_percentile(const Aggref *aggregate)
{
	return aggregate->aggfnoid == F_PERCENTILE_CONT_FLOAT8_FLOAT8 ||
	       aggregate->aggfnoid == F_PERCENTILE_DISC_FLOAT8_ANYELEMENT;
}

static bool is_distinct_count(const Aggref *aggregate)
{
	return aggregate->aggfnoid == F_COUNT_ANY && aggregate->aggdistinct != NIL;
}

/* The same for an aggregate without ORDER BY and DISTINCT. */
static Node *split(const struct state_level *level)
{
	static const struct {
		const char *name, *choice;
		enum row_part part;
	} rows[] = { { "iforest_first", "first", ROW_VALUE },	  { "iforest_last", "last", ROW_VALUE },
		     { "iforest_first_time", "first", ROW_TIME }, { "iforest_last_time", "last", ROW_TIME },
		     { "iforest_min_time", "min", ROW_TIME },	  { "iforest_max_time", "max", ROW_TIME },
		     { "iforest_first_row", "first", ROW_CTID },  { "iforest_last_row", "last", ROW_CTID },
		     { "iforest_min_row", "min", ROW_CTID },	  { "iforest_max_row", "max", ROW_CTID } };
	Oid function = level->source->aggfnoid;
	Node *argument = level->source->args == NIL ? NULL : linitial(arguments_of(level->source));
	const char *own = ifp_own_function(function);
	const char *name = function < FirstNormalObjectId ? get_func_name(function) : NULL;

	for (size_t i = 0; name && i < lengthof(variances); i++)
		if (strcmp(name, variances[i].name) == 0)
			return split_variance(level, &variances[i]);
	for (size_t i = 0; own && i < lengthof(rows); i++)
		if (strcmp(own, rows[i].name) == 0)
			return split_row(level, rows[i].choice, rows[i].part);
	if (own && strcmp(own, "iforest_sketch") == 0)
		return split_sketch(level, argument, "iforest_sketch_state", "iforest_sketch_states");
	if (own && strcmp(own, "iforest_distinct") == 0)
		return split_sketch(level, argument, "iforest_distinct_state", "iforest_distinct_states");
	return NULL;
}

/* ---- for a shard: states as aggregates ---- */

/* Returns the arguments of a call of this extension's function, or NIL. */
static List *arguments_of_call(Node *node, const char *name)
{
	FuncExpr *called = IsA(node, FuncExpr) ? castNode(FuncExpr, node) : NULL;

	return called && ifp_is_own_function(called->funcid, name) ? called->args : NIL;
}

/* Returns an aggregate of one argument by another name, over the arguments of the state. */
static Node *join_sketch(const struct state_level *level, Node *state, const char *of_one, const char *name)
{
	static const Oid types[] = { ANYELEMENTOID };
	List *arguments = arguments_of_call(state, of_one);
	Oid function = ifp_own_function_named(name, lengthof(types), types);

	if (arguments == NIL || !OidIsValid(function))
		return NULL;
	return aggregate(level, function, BYTEAOID, arguments);
}

/* Returns the state of the chosen row, of aggregates for its value, time and ctid. */
static Node *join_row(const struct state_level *level, Node *state, const char *choice)
{
	static const Oid types[] = { ANYELEMENTOID, ANYCOMPATIBLEOID, TIDOID };
	List *arguments = arguments_of_call(state, "iforest_row_state"), *parts;
	bool is_extreme = strcmp(choice, "min") == 0 || strcmp(choice, "max") == 0;
	bool has_ctid = !level->has_partitions;
	Oid row = ifp_own_function_named("iforest_row_state", has_ctid ? 3 : 2, types);
	Oid time = ifp_own_function_named(psprintf("iforest_%s_time", choice), lengthof(types), types);
	Oid ctid = ifp_own_function_named(psprintf("iforest_%s_row", choice), lengthof(types), types);
	Oid value, value_type, time_type;

	if (list_length(arguments) != lengthof(types))
		return NULL;
	value_type = exprType(linitial(arguments));
	time_type = exprType(lsecond(arguments));
	value = is_extreme ? extreme_of(choice, value_type)
			   : ifp_own_function_named(psprintf("iforest_%s", choice), lengthof(types), types);
	if (!OidIsValid(row) || !OidIsValid(time) || !OidIsValid(ctid) || !OidIsValid(value))
		return NULL;
	parts = list_make2(aggregate(level, value, value_type, is_extreme ? list_make1(linitial(arguments)) : arguments),
			   aggregate(level, time, time_type, arguments));
	if (has_ctid)
		parts = lappend(parts, aggregate(level, ctid, TIDOID, arguments));
	return call(level, row, BYTEAOID, parts);
}

/* Returns an expression for the state of this extension's aggregate over an argument, or NULL. */
static Node *join(const struct state_level *level, Oid function, Node *argument)
{
	static const char *const choices[] = { "min", "max", "first", "last" };
	const char *own = ifp_own_function(function);

	if (!own)
		return NULL;
	for (size_t i = 0; i < lengthof(choices); i++)
		if (strcmp(own, psprintf("iforest_%s_state", choices[i])) == 0)
			return join_row(level, argument, choices[i]);
	if (strcmp(own, "iforest_sketch_states") == 0)
		return join_sketch(level, argument, "iforest_sketch_state", "iforest_sketch");
	if (strcmp(own, "iforest_distinct_states") == 0)
		return join_sketch(level, argument, "iforest_distinct_state", "iforest_distinct");
	return NULL;
}

/* True for Citus's aggregate of a state as text, worker_partial_agg(oid, anyelement). */
static bool is_partial(const Aggref *aggregate)
{
	const char *name = aggregate->aggfnoid < FirstNormalObjectId || list_length(aggregate->args) != 2
				   ? NULL
				   : get_func_name(aggregate->aggfnoid);

	return name && strcmp(name, "worker_partial_agg") == 0 &&
	       get_func_namespace(aggregate->aggfnoid) == PG_CATALOG_NAMESPACE;
}

/* Returns what replaces an aggregate that a coordinator sent, or NULL. */
static Node *join_sent(const struct state_level *level)
{
	List *arguments = arguments_of(level->source);
	const Const *function;
	Node *state;

	if (!is_partial(level->source))
		return list_length(arguments) == 1 ? join(level, level->source->aggfnoid, linitial(arguments)) : NULL;
	/* a regprocedure that is taken as an oid */
	function = (const Const *)strip_implicit_coercions(linitial(arguments));
	if (!IsA(function, Const) || function->constisnull)
		return NULL;
	if (ifp_is_own_function(DatumGetObjectId(function->constvalue), "iforest_squares"))
		return call(level, F_NUMERIC_OUT, CSTRINGOID,
			    list_make1(aggregate(level, DatumGetObjectId(function->constvalue), NUMERICOID,
						 list_make1(lsecond(arguments)))));
	state = join(level, DatumGetObjectId(function->constvalue), lsecond(arguments));
	return state ? call(level, F_BYTEAOUT, CSTRINGOID, list_make1(state)) : NULL;
}

/* ---- query levels ---- */

static bool is_plain(const Aggref *aggregate)
{
	return aggregate->aggkind == AGGKIND_NORMAL && aggregate->aggorder == NIL && aggregate->aggdistinct == NIL;
}

/* Returns what replaces the aggregate in a statement over a distributed table, or NULL. */
static Node *split_one(const struct state_level *level)
{
	if (ifp_approximate_percentiles && is_percentile(level->source))
		return split_percentile(level);
	if (ifp_approximate_distinct && is_distinct_count(level->source))
		return split_distinct_count(level);
	return is_plain(level->source) ? split(level) : NULL;
}

static Node *replace(Node *node, void *context)
{
	struct state_level *level = context;
	Node *replaced = NULL;

	if (!node || IsA(node, Query))
		return node;
	if (!IsA(node, Aggref))
		return expression_tree_mutator(node, replace, context);
	level->source = castNode(Aggref, node);
	if (level->source->agglevelsup != 0)
		return node;
	if (level->is_distributed)
		replaced = split_one(level);
	else if (is_plain(level->source))
		replaced = join_sent(level);
	return replaced ? replaced : node;
}

static bool groups_by(const Query *query, int table, AttrNumber column)
{
	ListCell *cell;

	foreach (cell, query->groupClause) {
		Node *key = get_sortgroupclause_expr(lfirst(cell), query->targetList);

		if (IsA(key, Var) && castNode(Var, key)->varno == table && castNode(Var, key)->varattno == column &&
		    castNode(Var, key)->varlevelsup == 0)
			return true;
	}
	return false;
}

/* Returns false if shards can answer the level unchanged because each group is in a single shard. */
static bool read_level(const Query *query, struct state_level *level)
{
	ListCell *cell;
	int i = 0;

	foreach (cell, query->rtable) {
		const RangeTblEntry *table = lfirst_node(RangeTblEntry, cell);
		AttrNumber column;

		i++;
		if (table->rtekind != RTE_RELATION)
			continue;
		level->has_partitions |= table->relkind == RELKIND_PARTITIONED_TABLE;
		column = ifp_distribution_column(table->relid);
		if (column == InvalidAttrNumber)
			continue;
		level->is_distributed = true;
		if (groups_by(query, i, column))
			return false;
	}
	return true;
}

static bool visit(Node *node, void *context)
{
	struct state_level level = { .source = NULL };
	Query *query;

	if (!node)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, visit, context);
	query = castNode(Query, node);
	if (query->hasAggs && query->groupingSets == NIL && read_level(query, &level)) {
		query->targetList = (List *)replace((Node *)query->targetList, &level);
		query->havingQual = replace(query->havingQual, &level);
	}
	return query_tree_walker(query, visit, context, 0);
}

/* ---- one aggregate ---- */

Node *ifp_state_aggregate_split(const Aggref *source)
{
	struct state_level level = { .is_distributed = true, .has_partitions = true, .source = source };

	return ifp_is_installed() ? split_one(&level) : NULL;
}

Node *ifp_state_aggregate_join(const Aggref *source)
{
	struct state_level level = { .has_partitions = true, .source = source };

	return ifp_is_installed() && list_length(source->args) == 1
		       ? join(&level, source->aggfnoid, linitial(arguments_of(source)))
		       : NULL;
}

bool ifp_is_state_combiner(Oid function)
{
	const char *own = ifp_own_function(function);
	size_t length = own ? strlen(own) : 0;

	return own && ((length > 6 && strcmp(own + length - 6, "_state") == 0) || strcmp(own, "iforest_sketch_states") == 0 ||
		       strcmp(own, "iforest_distinct_states") == 0);
}

/* ---- planner hook ---- */

static planner_hook_type previous_hook;

pg_attribute_hot static PlannedStmt *plan(Query *query, const char *text, int options, ParamListInfo parameters)
{
	if (ifp_enable && ifp_has_distributed_tables() && ifp_is_installed())
		(void)visit((Node *)query, NULL);
	return previous_hook ? previous_hook(query, text, options, parameters)
			     : standard_planner(query, text, options, parameters);
}

void ifp_state_aggregates_register(void)
{
	previous_hook = planner_hook;
	planner_hook = plan;
}
