#include "pg_ext/planner/query_level.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

bool ifp_float_aggregates = true, ifp_approximate_percentiles = false, ifp_approximate_distinct = false;

/* ---- paths ---- */

pg_attribute_hot const Path *ifp_cheapest_path(const RelOptInfo *rel)
{
	const Path *cheapest = NULL;
	ListCell *cell;

	foreach (cell, rel->pathlist) {
		const Path *path = lfirst(cell);

		if (!ifp_is_disabled(path) && (!cheapest || path->total_cost < cheapest->total_cost))
			cheapest = path;
	}
	return cheapest;
}

/* ---- which subqueries hand on all rows ---- */

/* A subquery that was entered. */
struct layer {
	Index relid;	  /* its relid in the level above */
	List *columns;	  /* its target list, over the relation below */
	List *conditions; /* conditions of the level above on it */
	bool is_barrier;  /* a view whose rows no condition above may see before it has passed them */
};

static bool is_no_limit(Node *limit)
{
	Const *constant = (Const *)limit;

	return !limit || (IsA(limit, Const) && constant->constisnull);
}

static bool is_no_offset(Node *offset)
{
	Const *constant = (Const *)offset;

	return is_no_limit(offset) || (IsA(offset, Const) && DatumGetInt64(constant->constvalue) == 0);
}

/* The reason when no notice is worthwhile: the subquery groups, joins or computes rows. */
static const char does_more[] = "";

bool ifp_returns_rows(const Query *query)
{
	return query->commandType == CMD_SELECT && !query->groupClause && !query->groupingSets && !query->hasAggs &&
	       !query->havingQual && !query->hasWindowFuncs && !query->hasTargetSRFs && !query->distinctClause &&
	       !query->setOperations && !query->rowMarks;
}

static const char *refuse(const PlannerInfo *root)
{
	const Query *parse = root->parse;

	if (!ifp_returns_rows(parse))
		return does_more;
	if (!is_no_limit(parse->limitCount) || !is_no_offset(parse->limitOffset))
		return "rows are chosen by LIMIT or OFFSET below the aggregates";
	/* they would have to be evaluated by the plan that is not run */
	if (root->init_plans != NIL)
		return "a subselect is evaluated below the aggregates, within a subquery";
	return contain_volatile_functions((Node *)parse->targetList) ? "a subquery has a volatile function" : NULL;
}

/* Returns the planned query of a CTE; NULL if it has none. */
static PlannerInfo *root_of_cte(PlannerInfo *root, const RangeTblEntry *table)
{
	int n = 0;
	ListCell *cell;

	if (table->self_reference)
		return NULL;
	for (Index up = table->ctelevelsup; up > 0 && root; up--)
		root = root->parent_root;
	foreach (cell, root ? root->parse->cteList : NIL) {
		if (strcmp(lfirst_node(CommonTableExpr, cell)->ctename, table->ctename) == 0)
			break;
		n++;
	}
	if (!root || n >= list_length(root->cte_plan_ids) || list_nth_int(root->cte_plan_ids, n) <= 0)
		return NULL;
	return list_nth(root->glob->subroots, list_nth_int(root->cte_plan_ids, n) - 1);
}

/* Returns the planned query of a relation that is a subquery; NULL for other relations. */
static PlannerInfo *root_of(const struct ifp_query_level *level)
{
	RelOptInfo *rel = level->rel;
	const RangeTblEntry *table;

	if (rel->reloptkind != RELOPT_BASEREL || (rel->rtekind != RTE_SUBQUERY && rel->rtekind != RTE_CTE) ||
	    IS_DUMMY_REL(rel) || !bms_is_empty(rel->lateral_relids))
		return NULL;
	table = planner_rt_fetch(rel->relid, level->root);
	if (table->inh)
		return NULL;
	if (rel->rtekind == RTE_CTE)
		return root_of_cte(level->root, table);
	return rel->subplan_params == NIL ? rel->subroot : NULL;
}

/* Returns the only relation of a query's FROM; NULL if there are several. */
static RelOptInfo *only_relation(PlannerInfo *root)
{
	int relid;

	return bms_get_singleton_member(root->all_baserels, &relid) ? find_base_rel(root, relid) : NULL;
}

/* ---- entering ---- */

static void enter(struct ifp_query_level *level, PlannerInfo *root, RelOptInfo *below)
{
	struct layer *layer = palloc(sizeof *layer);

	*layer = (struct layer){ .relid = level->rel->relid,
				 .columns = root->parse->targetList,
				 .conditions = level->rel->baserestrictinfo,
				 .is_barrier = planner_rt_fetch(level->rel->relid, level->root)->security_barrier };
	level->layers = lappend(level->layers, layer);
	if (!level->source && level->rel->rtekind == RTE_SUBQUERY)
		level->source = level->rel->cheapest_total_path;
	level->root = root;
	level->rel = below;
}

const char *ifp_query_level_enter(struct ifp_query_level *level)
{
	struct ifp_query_level entered = *level;
	PlannerInfo *root;

	while ((root = root_of(&entered))) {
		RelOptInfo *below = only_relation(root);
		const char *reason = below ? refuse(root) : does_more;

		if (reason)
			return reason != does_more && ifp_has_index(root, below) ? reason : NULL;
		enter(&entered, root, below);
	}
	if (entered.rel->rtekind == RTE_RELATION)
		*level = entered;
	return NULL;
}

/* ---- expressions ---- */

static Node *through(Node *node, void *context)
{
	const struct layer *layer = context;
	const Var *var = (const Var *)node;

	if (!node)
		return NULL;
	if (IsA(node, Var) && (Index)var->varno == layer->relid && var->varlevelsup == 0 && var->varattno > 0)
		return copyObject((Node *)get_tle_by_resno(layer->columns, var->varattno)->expr);
	return expression_tree_mutator(node, through, context);
}

static Node *through_layers(const struct ifp_query_level *level, int first, Node *node)
{
	for (int i = first; i < list_length(level->layers); i++)
		node = through(node, list_nth(level->layers, i));
	return node;
}

Node *ifp_query_level_expression(const struct ifp_query_level *level, Node *expression)
{
	expression = ifp_without_group_nulls(level->upper, expression);
	if (level->dimensions != NIL)
		expression = ifp_without_join_nulls(level->root, expression);
	return through_layers(level, 0, expression);
}

/* A condition of an outer level sees only rows that inner levels pass, as user conditions see only rows that row security
 * passes. A view that is a security barrier passes rows as row security does. */
static RestrictInfo *restriction_below(const struct ifp_query_level *level, int layer, const RestrictInfo *above)
{
	Expr *clause = (Expr *)through_layers(level, layer, (Node *)above->clause);
	RestrictInfo *restriction = make_simple_restrictinfo(level->root, clause);

	restriction->security_level = level->root->qual_security_level;
	for (int i = layer; i < list_length(level->layers); i++)
		restriction->security_level += ((const struct layer *)list_nth(level->layers, i))->is_barrier;
	restriction->leakproof = !contain_leaked_vars((Node *)clause);
	return restriction;
}

pg_attribute_hot List *ifp_query_level_restrictions(const struct ifp_query_level *level, List *of_table)
{
	List *restrictions = list_copy(of_table);
	ListCell *cell;

	for (int i = list_length(level->layers) - 1; i >= 0; i--)
		foreach (cell, ((struct layer *)list_nth(level->layers, i))->conditions)
			restrictions = lappend(restrictions, restriction_below(level, i, lfirst_node(RestrictInfo, cell)));
	return restrictions;
}
