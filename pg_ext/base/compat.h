/* base/compat.h -- Differences between PostgreSQL 15 and 18, behind one name each.
 *
 * No other file reads PG_VERSION_NUM.
 */
#ifndef IFP_BASE_COMPAT_H
#define IFP_BASE_COMPAT_H

#include "access/amapi.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/stratnum.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "commands/explain.h"
#include "commands/vacuum.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/pathnodes.h"
#include "optimizer/appendinfo.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "parser/parse_relation.h"
#include "pgstat.h"
#include "rewrite/rewriteManip.h"
#include "storage/bufmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/datetime.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/tuplesort.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

#if PG_VERSION_NUM < 150000
#error iforest needs PostgreSQL 15 or later
#endif

/* Raises an error if old_snapshot_threshold (until 16) allowed the removal of rows that the snapshot should see. */
#if PG_VERSION_NUM >= 170000
#define ifp_test_for_old_snapshot(snapshot, relation, page) ((void)(snapshot))
#else
#define ifp_test_for_old_snapshot(snapshot, relation, page) TestForOldSnapshot(snapshot, relation, page)
#endif

/* True if reading with a snapshot that is too old may be an error. */
#if PG_VERSION_NUM >= 170000
#define ifp_snapshots_grow_old() false
#else
#define ifp_snapshots_grow_old() OldSnapshotThresholdActive()
#endif

/* True if the snapshot is so old that VACUUM may mark pages all-visible whose rows the snapshot does not see. */
#if PG_VERSION_NUM >= 170000
#define ifp_is_outlived(snapshot) ((void)(snapshot), false)
#else
#define ifp_is_outlived(snapshot) (OldSnapshotThresholdActive() && (snapshot)->whenTaken < GetOldSnapshotThresholdTimestamp())
#endif

#if PG_VERSION_NUM >= 180000
#define ifp_vacuum_delay_point() vacuum_delay_point(false)
#else
#define ifp_vacuum_delay_point() vacuum_delay_point()
#endif

#if PG_VERSION_NUM >= 180000
#define ifp_conditional_lock_tuple(relation, tid, mode) ConditionalLockTuple(relation, tid, mode, false)
#else
#define ifp_conditional_lock_tuple(relation, tid, mode) ConditionalLockTuple(relation, tid, mode)
#endif

/* Lifts transaction_timeout (since 17) for background work, as autovacuum does. */
#if PG_VERSION_NUM >= 170000
#define ifp_allow_any_duration() SetConfigOption("transaction_timeout", "0", PGC_SUSET, PGC_S_OVERRIDE)
#else
#define ifp_allow_any_duration() ((void)0)
#endif

/* Returns the next datum of a sort, palloc'd if it is passed by reference. */
#if PG_VERSION_NUM >= 160000
#define ifp_tuplesort_getdatum(sort, datum, is_null) tuplesort_getdatum(sort, true, true, datum, is_null, NULL)
#else
#define ifp_tuplesort_getdatum(sort, datum, is_null) tuplesort_getdatum(sort, true, datum, is_null, NULL)
#endif

/* Returns how many workers may build an index. Before 17 PostgreSQL plans workers only for B-trees. */
#if PG_VERSION_NUM >= 170000
#define ifp_planned_workers(heap, index, info) ((void)(heap), (void)(index), (info)->ii_ParallelWorkers)
#else
#define ifp_planned_workers(heap, index, info) \
	((void)(info), plan_create_index_workers(RelationGetRelid(heap), RelationGetRelid(index)))
#endif

/* Sets the costs of sorting the input's rows and returning the first n_first; negative: all. */
#if PG_VERSION_NUM >= 180000
#define ifp_cost_sort(path, root, keys, input, n_first)                                                                      \
	cost_sort(path, root, keys, (input)->disabled_nodes, (input)->total_cost, (input)->rows, (input)->pathtarget->width, \
		  0, work_mem, n_first)
#else
#define ifp_cost_sort(path, root, keys, input, n_first) \
	cost_sort(path, root, keys, (input)->total_cost, (input)->rows, (input)->pathtarget->width, 0, work_mem, n_first)
#endif

/* Raises an error unless the user has the privileges that running a plan needs. */
#if PG_VERSION_NUM >= 160000
#define ifp_check_privileges(plan) ((void)ExecCheckPermissions((plan)->rtable, (plan)->permInfos, true))
#else
#define ifp_check_privileges(plan) ((void)ExecCheckRTPerms((plan)->rtable, true))
#endif

/* True if the operator is <, <=, >= or > of a B-tree order. */
static inline bool ifp_is_inequality(Oid operator)
{
	ListCell *cell;

#if PG_VERSION_NUM >= 180000
	foreach (cell, get_op_index_interpretation(operator)) {
		CompareType type = ((OpIndexInterpretation *)lfirst(cell))->cmptype;

		if (type == COMPARE_LT || type == COMPARE_LE || type == COMPARE_GE || type == COMPARE_GT)
			return true;
	}
#else
	foreach (cell, get_op_btree_interpretation(operator)) {
		int strategy = ((OpBtreeInterpretation *)lfirst(cell))->strategy;

		if (strategy >= BTLessStrategyNumber && strategy <= BTGreaterStrategyNumber &&
		    strategy != BTEqualStrategyNumber)
			return true;
	}
#endif
	return false;
}

/* Classifies a word as a time zone abbreviation: TZ, DTZ (of a fixed offset), DYNTZ (of *zone), or something else. */
static inline int ifp_decode_zone_abbreviation(const char *word, pg_tz **zone)
{
	int offset, type;

#if PG_VERSION_NUM >= 160000
	DateTimeErrorExtra extra;

	if (DecodeTimezoneAbbrev(0, word, &type, &offset, zone, &extra) < 0)
		type = UNKNOWN_FIELD;
#else
	type = DecodeTimezoneAbbrev(0, unconstify(char *, word), &offset, zone);
#endif
	return type;
}

/* True if the relation, or its present storage (after TRUNCATE), is visible to this transaction only. */
static inline bool ifp_is_unshared(Relation relation)
{
#if PG_VERSION_NUM >= 160000
	return RELATION_IS_LOCAL(relation) || relation->rd_firstRelfilelocatorSubid != InvalidSubTransactionId;
#else
	return RELATION_IS_LOCAL(relation) || relation->rd_firstRelfilenodeSubid != InvalidSubTransactionId;
#endif
}

/* Returns this backend's entry for a lock in the shared table of locks; NULL if it has none.
 * Requires  that partition of the table is locked. */
static inline const PROCLOCK *ifp_own_shared_lock(const LOCKTAG *tag, uint32 partition)
{
#if PG_VERSION_NUM >= 160000
	dlist_iter at;

	dlist_foreach(at, &MyProc->myProcLocks[partition])
	{
		const PROCLOCK *lock = dlist_container(PROCLOCK, procLink, at.cur);

		if (memcmp(&lock->tag.myLock->tag, tag, sizeof *tag) == 0)
			return lock;
	}
#else
	SHM_QUEUE *all = &MyProc->myProcLocks[partition];
	const PROCLOCK *lock = (PROCLOCK *)SHMQueueNext(all, all, offsetof(PROCLOCK, procLink));

	for (; lock; lock = (PROCLOCK *)SHMQueueNext(all, &lock->procLink, offsetof(PROCLOCK, procLink)))
		if (memcmp(&lock->tag.myLock->tag, tag, sizeof *tag) == 0)
			return lock;
#endif
	return NULL;
}

/* Pins a block if it is still in that buffer, without raising the buffer's usage count. Returns false otherwise.
 * Requires  the relation is not temporary: PostgreSQL 15 confuses local buffers with shared ones. */
static inline bool ifp_read_recent_buffer(Relation relation, BlockNumber block, Buffer buffer)
{
#if PG_VERSION_NUM >= 160000
	bool found = ReadRecentBuffer(relation->rd_locator, MAIN_FORKNUM, block, buffer);
#else
	bool found = ReadRecentBuffer(relation->rd_node, MAIN_FORKNUM, block, buffer);
#endif

	if (found) {
		pgstat_count_buffer_read(relation);
		pgstat_count_buffer_hit(relation);
	}
	return found;
}

/* Makes a hash table of groups, with n_bytes of data for each. */
static inline TupleHashTable ifp_make_group_table(PlanState *node, TupleDesc keys, AttrNumber *columns, Oid *equal,
						  FmgrInfo *hash, Oid *collations, long n_expected, Size n_bytes,
						  MemoryContext context, MemoryContext short_lived)
{
#if PG_VERSION_NUM >= 180000
	return BuildTupleHashTable(node, keys, NULL, keys->natts, columns, equal, hash, collations, n_expected, n_bytes,
				   context, context, short_lived, false);
#else
	return BuildTupleHashTableExt(node, keys, keys->natts, columns, equal, hash, collations, n_expected, n_bytes, context,
				      context, short_lived, false);
#endif
}

/* Returns the data of a group; zeros if it is new. */
static inline void *ifp_group_bytes(TupleHashTable table, TupleHashEntry group, bool is_new, Size n_bytes)
{
#if PG_VERSION_NUM >= 180000
	void *bytes = TupleHashEntryGetAdditional(table, group);

	if (is_new)
		memset(bytes, 0, n_bytes);
	return bytes;
#else
	if (is_new)
		group->additional = MemoryContextAllocZero(table->tablecxt, n_bytes);
	return group->additional;
#endif
}

/* Returns the user whose privileges apply to a table of a query. */
static inline Oid ifp_user_of(const RangeTblEntry *table, const RelOptInfo *rel)
{
#if PG_VERSION_NUM >= 160000
	Oid user = rel->userid;

	(void)table;
#else
	Oid user = table->checkAsUser;

	(void)rel;
#endif
	return OidIsValid(user) ? user : GetUserId();
}

/* True if a column of a table is never NULL. */
static inline bool ifp_is_not_null(const RelOptInfo *rel, Oid table, AttrNumber attribute)
{
#if PG_VERSION_NUM >= 170000
	(void)table;
	return bms_is_member(attribute, rel->notnullattnums);
#else
	HeapTuple tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(table), Int16GetDatum(attribute));
	bool is_not_null = HeapTupleIsValid(tuple) && ((Form_pg_attribute)GETSTRUCT(tuple))->attnotnull;

	(void)rel;
	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return is_not_null;
#endif
}

/* Removes the nulling marks of grouping sets from an expression. Before 18 there were none. */
static inline Node *ifp_without_group_nulls(const PlannerInfo *root, Node *expression)
{
#if PG_VERSION_NUM >= 180000
	if (root->group_rtindex > 0 && root->parse->groupingSets != NIL)
		return remove_nulling_relids(expression, bms_make_singleton(root->group_rtindex), NULL);
#else
	(void)root;
#endif
	return expression;
}

/* Removes the nulling marks of outer joins from an expression. Before 16 there were none. */
static inline Node *ifp_without_join_nulls(const PlannerInfo *root, Node *expression)
{
#if PG_VERSION_NUM >= 160000
	return remove_nulling_relids(expression, root->outer_join_rels, NULL);
#else
	(void)root;
	return expression;
#endif
}

/* Returns an expression over a partitioned table as it is over one of its partitions. */
static inline Node *ifp_adjust_for_partition(PlannerInfo *root, Node *expression, RelOptInfo *partition, const RelOptInfo *rel)
{
#if PG_VERSION_NUM >= 160000
	return adjust_appendrel_attrs_multilevel(root, expression, partition, unconstify(RelOptInfo *, rel));
#else
	return adjust_appendrel_attrs_multilevel(root, expression, partition->relids, rel->relids);
#endif
}

/* Makes the tables of a query ones for which no privileges are checked, if ifp_forget_privileges() follows planning, and
 * ifp_forget_subplan_privileges() the creation of the plan. */
static inline void ifp_drop_privileges(Query *query)
{
	ListCell *cell;

	foreach (cell, query->rtable) {
		RangeTblEntry *table = lfirst_node(RangeTblEntry, cell);

#if PG_VERSION_NUM >= 160000
		/* planning reads the user from an entry, which requires no privileges when it is new */
		table->perminfoindex = 0;
		if (table->rtekind == RTE_RELATION)
			(void)addRTEPermissionInfo(&query->rteperminfos, table);
#else
		table->requiredPerms = 0;
		table->checkAsUser = InvalidOid;
#endif
	}
}

/* Removes the entries that require no privileges from a planned query and its subqueries: they must not stay in a plan. */
static inline void ifp_forget_privileges(PlannerInfo *root)
{
#if PG_VERSION_NUM >= 160000
	List *required = NIL;
	ListCell *cell;

	foreach (cell, root->parse->rtable) {
		RangeTblEntry *table = lfirst_node(RangeTblEntry, cell);
		RTEPermissionInfo *entry;

		if (table->perminfoindex == 0)
			continue;
		entry = getRTEPermissionInfo(root->parse->rteperminfos, table);
		if (entry->requiredPerms != 0)
			required = lappend(required, entry);
		table->perminfoindex = entry->requiredPerms != 0 ? (Index)list_length(required) : 0;
	}
	root->parse->rteperminfos = required;
	for (int i = 1; i < root->simple_rel_array_size; i++)
		if (root->simple_rel_array[i] && root->simple_rel_array[i]->subroot)
			ifp_forget_privileges(root->simple_rel_array[i]->subroot);
#else
	(void)root;
#endif
}

/* Removes them from the queries of all subplans. To plan min() and max() as first rows copies a query, entries included; only
 * once there is a plan, the copy can be found. */
static inline void ifp_forget_subplan_privileges(const PlannerInfo *root)
{
	ListCell *cell;

	foreach (cell, root->glob->subroots)
		ifp_forget_privileges(lfirst(cell));
}

/* Plans a query below another one. */
static inline PlannerInfo *ifp_plan_subquery(PlannerInfo *root, Query *query)
{
#if PG_VERSION_NUM >= 170000
	return subquery_planner(root->glob, query, root, false, 0, NULL);
#else
	return subquery_planner(root->glob, query, root, false, 0);
#endif
}

/* Returns the path that scans a subquery whose columns are all wanted. */
static inline Path *ifp_subquery_path(PlannerInfo *root, RelOptInfo *rel, Path *path)
{
#if PG_VERSION_NUM >= 160000
	return (Path *)create_subqueryscan_path(root, rel, path, true, NIL, NULL);
#else
	return (Path *)create_subqueryscan_path(root, rel, path, NIL, NULL);
#endif
}

/* True if the path has nodes that enable_seqscan and similar settings forbid. Before 18 only its cost showed that. */
static inline bool ifp_is_disabled(const Path *path)
{
#if PG_VERSION_NUM >= 180000
	return path->disabled_nodes > 0;
#else
	(void)path;
	return false;
#endif
}

/* Copies that property from a path to one that wraps it. */
static inline void ifp_copy_disabled(Path *path, const Path *from)
{
#if PG_VERSION_NUM >= 180000
	path->disabled_nodes = from->disabled_nodes;
#else
	(void)path;
	(void)from;
#endif
}

/* True for the order of ORDER BY x DESC. */
static inline bool ifp_descends(const PathKey *key)
{
#if PG_VERSION_NUM >= 180000
	return key->pk_cmptype == COMPARE_GT;
#else
	return key->pk_strategy == BTGreaterStrategyNumber;
#endif
}

/* Tells of which family of B-trees a comparison is, and whether it is >. Returns false if it is neither < nor >. */
static inline bool ifp_ordering_operator(Oid comparison, Oid *family, bool *is_descending)
{
	Oid type;
#if PG_VERSION_NUM >= 180000
	CompareType order;

	if (!get_ordering_op_properties(comparison, family, &type, &order))
		return false;
	*is_descending = order == COMPARE_GT;
#else
	int16 order;

	if (!get_ordering_op_properties(comparison, family, &type, &order))
		return false;
	*is_descending = order == BTGreaterStrategyNumber;
#endif
	return true;
}

/* Returns the run conditions of a path's window functions: OpExprs of a WindowFunc and a limit. */
static inline List *ifp_run_conditions(const WindowAggPath *path)
{
#if PG_VERSION_NUM >= 170000
	return path->runCondition;
#else
	return path->winclause->runCondition;
#endif
}

/* Begins the index scan of an index scan node, as the node does before its first row. */
static inline IndexScanDesc ifp_index_beginscan(IndexScanState *node)
{
#if PG_VERSION_NUM >= 180000
	return index_beginscan(node->ss.ss_currentRelation, node->iss_RelationDesc, node->ss.ps.state->es_snapshot,
			       &node->iss_Instrument, node->iss_NumScanKeys, node->iss_NumOrderByKeys);
#else
	return index_beginscan(node->ss.ss_currentRelation, node->iss_RelationDesc, node->ss.ps.state->es_snapshot,
			       node->iss_NumScanKeys, node->iss_NumOrderByKeys);
#endif
}

/* True if the current user may act as the owner of the relation. */
#if PG_VERSION_NUM >= 160000
#define ifp_owns_class(oid) object_ownercheck(RelationRelationId, oid, GetUserId())
#else
#define ifp_owns_class(oid) pg_class_ownercheck(oid, GetUserId())
#endif

/* True if the current user may call the function or aggregate. */
#if PG_VERSION_NUM >= 160000
#define ifp_may_execute(oid) (object_aclcheck(ProcedureRelationId, oid, GetUserId(), ACL_EXECUTE) == ACLCHECK_OK)
#else
#define ifp_may_execute(oid) (pg_proc_aclcheck(oid, GetUserId(), ACL_EXECUTE) == ACLCHECK_OK)
#endif

/* Strategies are those of a B-tree. PostgreSQL 18 needs these functions to know that scans are ordered. */
#if PG_VERSION_NUM >= 180000
static inline CompareType ifp_compare_type(StrategyNumber strategy, Oid family)
{
	(void)family;
	return strategy >= COMPARE_LT && strategy <= COMPARE_GT ? (CompareType)strategy : COMPARE_INVALID;
}

static inline StrategyNumber ifp_strategy(CompareType type, Oid family)
{
	(void)family;
	return type >= COMPARE_LT && type <= COMPARE_GT ? (StrategyNumber)type : InvalidStrategy;
}
#endif

static inline void ifp_handler_complete(IndexAmRoutine *routine)
{
#if PG_VERSION_NUM >= 170000
	routine->amcanbuildparallel = true;
#endif
#if PG_VERSION_NUM >= 180000
	routine->amconsistentequality = true;
	routine->amconsistentordering = true;
	routine->amtranslatestrategy = ifp_compare_type;
	routine->amtranslatecmptype = ifp_strategy;
#else
	(void)routine;
#endif
}

/* Returns what a handler returns: servers before 19 free it; later ones keep it for good, and never write to it. */
static inline const IndexAmRoutine *ifp_handler_result(const IndexAmRoutine *routine)
{
#if PG_VERSION_NUM >= 190000
	return routine;
#else
	IndexAmRoutine *copy = palloc(sizeof *copy);

	*copy = *routine;
	return copy;
#endif
}

/* Makes an interval infinite. Before 17 there are no such intervals, and the server's subtraction of timestamps refuses them.
 */
static inline void ifp_endless_interval(Interval *interval)
{
#if PG_VERSION_NUM >= 170000
	INTERVAL_NOEND(interval);
#else
	(void)interval;
	ereport(ERROR, errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE), errmsg("cannot subtract infinite timestamps"));
#endif
}

#endif
