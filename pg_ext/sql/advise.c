/* sql/advise.c -- SQL function iforest_advise(): which indexes would answer queries, tried by the planner.
 *
 *   wishes of all queries (planner/wish.h)  ->  proposals for each (sql/proposal.h), of which the cheapest is its own  ->  as few
 *   as sensible for all  ->  what the plans have is proposed
 *
 * A proposal is tried as an index of an empty temporary copy of its table, with which the queries are planned
 * (planner/would_be_index.h).
 * The copies are made in a subtransaction, which is rolled back.
 */
#include "pg_ext/base/engine.h"

#include <math.h>

#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "catalog/index.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/relcache.h"
#include "utils/ruleutils.h"

#include "pg_ext/planner/verdict.h"
#include "pg_ext/planner/wish.h"
#include "pg_ext/planner/would_be_index.h"
#include "pg_ext/sql/proposal.h"
#include "pg_ext/sql/query_plan.h"

/* The least gain for which an index is proposed: estimates of its cost are not exact. */
static const double least_gain = 1.1;

struct asked {
	struct ifp_wish *wish;
	bool is_refused;	       /* nothing is proposed, for the reason */
	const char *reason;	       /* why there is no proposal: for the first that was tried */
	struct ifp_proposal *proposal; /* shared with others */
	struct ifp_proposal *own;      /* the cheapest for this wish only; shared by equal wishes */
	struct ifp_proposal *trying;   /* another one, which may become that */
	bool is_better;		       /* it does */
	Cost own_cost, trying_cost;    /* of the query with them */
	List *times;		       /* columns that may be the time */
	int own_time;		       /* the number of that of `own` in the list */
	List *tried;		       /* definitions */
	bool own_is_needed;	       /* the shared one does not satisfy the wish */
};

struct query {
	const char *text;
	int number;
	struct ifp_query_plan now, then;
	List *asked; /* struct asked */
	const char *error;
};

/* Merges the wish into a proposal that can satisfy it too, or adds its own. */
static void join(List **proposals, struct asked *asked)
{
	ListCell *cell;

	foreach (cell, *proposals) {
		struct ifp_proposal *both = ifp_proposal_merge(lfirst(cell), asked->own);

		if (!both)
			continue;
		asked->proposal = lfirst(cell);
		*asked->proposal = *both;
		return;
	}
	asked->proposal = palloc(sizeof *asked->proposal);
	*asked->proposal = *asked->own;
	*proposals = lappend(*proposals, asked->proposal);
}

/* ---- subtransactions ---- */

/* Work to do in a subtransaction, which is always rolled back. */
typedef void (*attempt_body)(void *context);

/* Returns NULL, or the message of the error that the body raised. */
static const char *attempt(attempt_body body, void *context, bool keep)
{
	MemoryContext memory = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(memory);
	PG_TRY();
	{
		body(context);
		MemoryContextSwitchTo(memory);
		if (keep)
			ReleaseCurrentSubTransaction();
		else
			RollbackAndReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(memory);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(memory);
	CurrentResourceOwner = owner;
	if (error && (error->sqlerrcode == ERRCODE_QUERY_CANCELED || error->sqlerrcode == ERRCODE_OUT_OF_MEMORY))
		ReThrowError(error);
	return error ? error->message : NULL;
}

/* ---- trying proposals ---- */

static void append_columns(StringInfo sql, Oid table)
{
	Relation relation = table_open(table, AccessShareLock);
	TupleDesc descriptor = RelationGetDescr(relation);

	for (int i = 0; i < descriptor->natts; i++) {
		Form_pg_attribute attribute = TupleDescAttr(descriptor, i);
		const char *separator = i > 0 ? ", " : "";

		if (attribute->attisdropped) {
			appendStringInfo(sql, "%s\"dropped %d\" integer", separator, i + 1);
			continue;
		}
		appendStringInfo(sql, "%s%s %s", separator, quote_identifier(NameStr(attribute->attname)),
				 format_type_extended(attribute->atttypid, attribute->atttypmod,
						      FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
		if (OidIsValid(attribute->attcollation))
			appendStringInfo(sql, " COLLATE %s", generate_collation_name(attribute->attcollation));
	}
	table_close(relation, NoLock);
}

static void run(const char *sql)
{
	if (SPI_execute(sql, false, 0) < 0)
		elog(ERROR, "SPI_execute: %s", SPI_result_code_string(SPI_result));
}

/* Makes an empty copy of the table, and the proposal's index on it. */
static void make_copy(struct ifp_proposal *proposal, Oid table)
{
	MemoryContext memory = CurrentMemoryContext;
	struct ifp_would_be_index *index = palloc(sizeof *index);
	StringInfoData sql;
	Relation copy;
	Oid oid;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "CREATE TEMPORARY TABLE iforest_would_be(");
	append_columns(&sql, table);
	appendStringInfoChar(&sql, ')');
	SPI_connect();
	run(sql.data);
	run(psprintf("CREATE INDEX ON pg_temp.iforest_would_be USING iforest %s", proposal->definition));
	oid = get_relname_relid("iforest_would_be", LookupExplicitNamespace("pg_temp", false));
	/* the next one has the same name */
	run(psprintf("ALTER TABLE pg_temp.iforest_would_be RENAME TO iforest_would_be_%u", oid));
	SPI_finish();
	MemoryContextSwitchTo(memory);
	copy = table_open(oid, NoLock);
	*index = (struct ifp_would_be_index){ .table = proposal->table,
					      .copied = table,
					      .copy = oid,
					      .index = linitial_oid(RelationGetIndexList(copy)),
					      .n_values = list_length(proposal->values),
					      .n_reals = ifp_proposal_n_reals(proposal) };
	table_close(copy, NoLock);
	proposal->indexes = lappend(proposal->indexes, index);
}

static bool has_copy_for(const struct ifp_proposal *proposal, Oid table)
{
	ListCell *cell;

	foreach (cell, proposal->indexes)
		if (ifp_would_be_index_is_of(lfirst(cell), table))
			return true;
	return false;
}

/* Makes a copy of the table, and of each partition whose columns have other numbers. */
static void make_copies_of(void *context)
{
	struct ifp_proposal *proposal = context;
	ListCell *cell;

	make_copy(proposal, proposal->table);
	if (get_rel_relkind(proposal->table) != RELKIND_PARTITIONED_TABLE)
		return;
	foreach (cell, find_all_inheritors(proposal->table, AccessShareLock, NULL))
		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_RELATION && !has_copy_for(proposal, lfirst_oid(cell)))
			make_copy(proposal, lfirst_oid(cell));
}

struct trial {
	List *queries, *proposals;
	bool is_of_own; /* each wish is planned with only its own proposal, and gets the reason if that is not taken */
};

static void plan_again(void *context)
{
	struct query *query = context;

	ifp_query_plan(query->text, &query->then);
}

static void make_copies(List *proposals)
{
	ListCell *cell;

	foreach (cell, proposals) {
		struct ifp_proposal *proposal = lfirst(cell);

		proposal->indexes = NIL;
		proposal->error = attempt(make_copies_of, proposal, true);
		if (proposal->error)
			proposal->indexes = NIL;
	}
}

pg_noinline static List *as_would_be(const List *proposals)
{
	List *indexes = NIL;
	ListCell *cell;

	foreach (cell, proposals)
		indexes = list_concat(indexes, ((const struct ifp_proposal *)lfirst(cell))->indexes);
	return indexes;
}

static void plan_with(struct query *query, List *indexes)
{
	ifp_would_be_indexes_set(indexes);
	query->error = attempt(plan_again, query, false);
}

static bool has_taken(const struct query *query, const struct ifp_proposal *proposal);
static const char *reason_of(const struct query *query, const struct ifp_proposal *proposal);

/* True for the same wish, and for wishes of arms of the same UNION ALL. */
static bool are_together(const struct asked *a, const struct asked *b)
{
	return a == b || (a->wish->together && a->wish->together == b->wish->together);
}

/* Returns the proposals that are needed together: that of a wish and those of the other arms of its UNION ALL. */
static List *needed(const struct query *query, const struct asked *asked, bool is_of_own)
{
	List *proposals = NIL;
	ListCell *cell;

	foreach (cell, query->asked) {
		const struct asked *other = lfirst(cell);

		struct ifp_proposal *own = other->trying ? other->trying : other->own;

		if (own && are_together(asked, other))
			proposals = list_append_unique_ptr(proposals, is_of_own ? own : other->proposal);
	}
	return proposals;
}

static bool is_served(const struct query *query, const List *proposals)
{
	ListCell *cell;

	foreach (cell, proposals)
		if (!has_taken(query, lfirst(cell)))
			return false;
	return true;
}

/* Plans the query with what is tried for each of its wishes separately. */
static void try_own(struct query *query)
{
	ListCell *cell;

	foreach (cell, query->asked) {
		struct asked *asked = lfirst(cell);
		List *own;

		if (!asked->trying)
			continue;
		own = needed(query, asked, true);
		plan_with(query, as_would_be(own));
		if (!query->error && is_served(query, own)) {
			if (!asked->own || query->then.cost < asked->own_cost)
				asked->is_better = true;
			asked->trying_cost = query->then.cost;
		} else if (!asked->reason) {
			asked->reason = query->error ? query->error : reason_of(query, asked->trying);
		}
		query->error = NULL;
	}
}

/* Plans the queries as if the indexes existed. */
static void try_all(void *context)
{
	const struct trial *trial = context;
	List *all;
	ListCell *cell;

	make_copies(trial->proposals);
	all = as_would_be(trial->proposals);
	PG_TRY();
	{
		foreach (cell, trial->queries) {
			struct query *query = lfirst(cell);

			if (query->error || query->asked == NIL)
				continue;
			if (trial->is_of_own)
				try_own(query);
			else
				plan_with(query, all);
		}
	}
	PG_FINALLY();
	{
		ifp_would_be_indexes_set(NIL);
	}
	PG_END_TRY();
}

static void try_proposals(List *queries, List *proposals, bool is_of_own)
{
	struct trial trial = { queries, proposals, is_of_own };
	const char *error = attempt(try_all, &trial, false);

	if (error)
		ereport(ERROR, errmsg("indexes cannot be tried: %s", error));
}

static bool is_index_of(const struct ifp_proposal *proposal, Oid index)
{
	ListCell *cell;

	foreach (cell, proposal->indexes)
		if (((const struct ifp_would_be_index *)lfirst(cell))->index == index)
			return true;
	return false;
}

/* True if a plan of the query uses the proposal's index. */
static bool has_taken(const struct query *query, const struct ifp_proposal *proposal)
{
	ListCell *cell, *index;

	foreach (cell, query->then.verdicts) {
		const struct ifp_verdict *verdict = lfirst(cell);

		foreach (index, verdict->is_taken ? verdict->indexes : NIL)
			if (is_index_of(proposal, lfirst_oid(index)))
				return true;
	}
	return false;
}

static const char *reason_of(const struct query *query, const struct ifp_proposal *proposal)
{
	const char *reason = ifp_costs_more;
	ListCell *cell;

	if (proposal->error)
		return proposal->error;
	foreach (cell, query->then.verdicts) {
		const struct ifp_verdict *verdict = lfirst(cell);

		if (verdict->table == proposal->table && verdict->reason && is_index_of(proposal, verdict->index))
			return verdict->reason;
		if (verdict->table == proposal->table && verdict->reason && !OidIsValid(verdict->index))
			reason = verdict->reason;
	}
	return reason;
}

/* ---- all queries ---- */

static void plan_now(void *context)
{
	struct query *query = context;

	ifp_query_plan(query->text, &query->now);
}

/* Returns the index of the table that answers the query as it is; InvalidOid if none does. */
static Oid answering(const struct query *query, Oid table)
{
	ListCell *cell;

	foreach (cell, query->now.verdicts) {
		const struct ifp_verdict *verdict = lfirst(cell);
		Oid answered = OidIsValid(verdict->table) || !OidIsValid(verdict->index)
				       ? verdict->table
				       : IndexGetRelation(verdict->index, true);

		if (answered == table && verdict->is_taken && verdict->has_cost)
			return verdict->index;
	}
	return InvalidOid;
}

/* The same for a wish; that of a UNION ALL is answered by the index of one of its arms. */
static Oid answering_wish(const struct query *query, const struct ifp_wish *wish)
{
	ListCell *cell;

	foreach (cell, query->now.wishes) {
		const struct ifp_wish *other = lfirst(cell);
		bool is_arm = wish->together && wish->together == other->together;
		Oid index = OidIsValid(other->table) && (other == wish || is_arm) ? answering(query, other->table) : InvalidOid;

		if (OidIsValid(index))
			return index;
	}
	return InvalidOid;
}

static void ask(struct query *query)
{
	ListCell *cell;

	query->error = attempt(plan_now, query, false);
	foreach (cell, query->error ? NIL : query->now.wishes) {
		struct asked *asked = palloc0(sizeof *asked);
		Oid index;

		asked->wish = lfirst(cell);
		index = answering_wish(query, asked->wish);
		if (OidIsValid(index))
			asked->reason = psprintf("index \"%s\" answers it already", get_rel_name(index));
		else if (!OidIsValid(asked->wish->table))
			asked->reason = asked->wish->reason;
		asked->is_refused = asked->reason != NULL;
		query->asked = lappend(query->asked, asked);
	}
}

/* Returns the proposal with the same definition, which is added if it is new. */
static struct ifp_proposal *add_proposal(List **proposals, struct ifp_proposal *added)
{
	ListCell *cell;

	foreach (cell, *proposals) {
		struct ifp_proposal *proposal = lfirst(cell);

		if (proposal->table == added->table && strcmp(proposal->definition, added->definition) == 0)
			return proposal;
	}
	*proposals = lappend(*proposals, added);
	return added;
}

static List *all_asked(const List *queries)
{
	List *all = NIL;
	ListCell *cell;

	foreach (cell, queries)
		all = list_concat(all, ((const struct query *)lfirst(cell))->asked);
	return all;
}

static List *all_wishes(const List *asked)
{
	List *wishes = NIL;
	ListCell *cell;

	foreach (cell, asked)
		if (OidIsValid(((const struct asked *)lfirst(cell))->wish->table))
			wishes = lappend(wishes, ((const struct asked *)lfirst(cell))->wish);
	return wishes;
}

static bool was_tried(const struct asked *asked, const char *definition)
{
	ListCell *cell;

	foreach (cell, asked->tried)
		if (strcmp(lfirst(cell), definition) == 0)
			return true;
	return false;
}

/* Makes the next proposal for a wish: all roles with one time, then with the next one, unless an earlier one has served. */
static void make_next(struct asked *asked, int round, List **proposals)
{
	int time = round / IFP_N_ROLES;
	struct ifp_proposal *proposal;
	const char *reason;

	asked->trying = NULL;
	asked->is_better = false;
	if (asked->is_refused || time >= list_length(asked->times) || (asked->own && asked->own_time < time))
		return;
	proposal = ifp_proposal_make(asked->wish, (AttrNumber)list_nth_int(asked->times, time),
				     (enum ifp_roles)(round % IFP_N_ROLES), &reason);
	if (!proposal && !asked->reason)
		asked->reason = reason;
	if (!proposal || was_tried(asked, proposal->definition))
		return;
	asked->tried = lappend(asked->tried, proposal->definition);
	asked->trying = add_proposal(proposals, proposal);
}

static void keep_better(struct asked *asked, int round)
{
	if (asked->is_better) {
		asked->own = asked->trying;
		asked->own_cost = asked->trying_cost;
		asked->own_time = round / IFP_N_ROLES;
	}
	asked->trying = NULL;
}

/* Proposes an index for each wish, and tries it. */
static void propose_own(List *queries)
{
	List *all = all_asked(queries), *wishes = all_wishes(all);
	int n_rounds = 0;
	ListCell *cell;

	foreach (cell, all) {
		struct asked *asked = lfirst(cell);

		if (asked->is_refused)
			continue;
		asked->times = ifp_proposal_times(asked->wish, wishes);
		if (asked->times == NIL)
			asked->reason =
				"no column can be a time: the table has none of a time, integer or double precision type";
		n_rounds = Max(n_rounds, IFP_N_ROLES * list_length(asked->times));
	}
	for (int round = 0; round < n_rounds; round++) {
		List *proposals = NIL;

		foreach (cell, all)
			make_next(lfirst(cell), round, &proposals);
		if (proposals != NIL)
			try_proposals(queries, proposals, true);
		foreach (cell, all)
			keep_better(lfirst(cell), round);
	}
	foreach (cell, all)
		if (((struct asked *)lfirst(cell))->own)
			((struct asked *)lfirst(cell))->reason = NULL;
}

/* Returns proposals that wishes share. */
static List *share(List *queries)
{
	List *proposals = NIL;
	ListCell *query, *cell;

	foreach (query, queries)
		foreach (cell, ((struct query *)lfirst(query))->asked)
			if (!((struct asked *)lfirst(cell))->reason)
				join(&proposals, lfirst(cell));
	return proposals;
}

/* Gives wishes that the shared proposal does not satisfy their own. Returns true if there are any. */
static bool add_own(List *queries, List **proposals)
{
	int n_before = list_length(*proposals);
	ListCell *query, *cell;

	foreach (query, queries)
		foreach (cell, ((struct query *)lfirst(query))->asked) {
			struct asked *asked = lfirst(cell);

			if (!asked->reason && !is_served(lfirst(query), needed(lfirst(query), asked, false)))
				asked->own_is_needed = true;
		}
	foreach (query, queries)
		foreach (cell, ((struct query *)lfirst(query))->asked) {
			struct asked *asked = lfirst(cell);

			if (asked->own_is_needed)
				asked->proposal = add_proposal(proposals, asked->own);
		}
	return list_length(*proposals) > n_before;
}

/* ---- rows ---- */

enum { COLUMNS = 8 };

static void put_row(ReturnSetInfo *result, const struct query *query, Oid table, const struct ifp_proposal *proposal,
		    const char *reason)
{
	Datum values[COLUMNS];
	bool nulls[COLUMNS] = { false,	   !OidIsValid(table), !proposal, !proposal, query->error != NULL,
				!proposal, !proposal,	       !reason };

	values[0] = Int32GetDatum(query->number);
	values[1] = ObjectIdGetDatum(table);
	values[4] = Float8GetDatum(query->now.cost);
	if (proposal) {
		values[2] =
			CStringGetTextDatum(psprintf("CREATE INDEX ON %s USING iforest %s",
						     DatumGetCString(DirectFunctionCall1(regclassout, ObjectIdGetDatum(table))),
						     proposal->definition));
		values[3] = Int64GetDatum((int64)ifp_proposal_bytes(proposal));
		values[5] = Float8GetDatum(query->then.cost);
		values[6] = Float8GetDatum(query->now.cost / Max(query->then.cost, 0.01));
	}
	if (reason)
		values[7] = CStringGetTextDatum(reason);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* Returns a row for each proposal that the plan uses. Returns their tables. */
static List *put_proposals(ReturnSetInfo *result, const struct query *query, const List *proposals)
{
	List *tables = NIL;
	ListCell *cell;

	foreach (cell, proposals) {
		const struct ifp_proposal *proposal = lfirst(cell);

		if (!has_taken(query, proposal))
			continue;
		put_row(result, query, proposal->table, proposal, NULL);
		tables = list_append_unique_oid(tables, proposal->table);
	}
	return tables;
}

static void put_query(ReturnSetInfo *result, const struct query *query, const List *proposals)
{
	bool gains = !query->error && query->now.cost >= least_gain * query->then.cost;
	List *served = gains ? put_proposals(result, query, proposals) : NIL;
	bool has_rows = served != NIL;
	ListCell *cell;

	foreach (cell, query->error ? NIL : query->asked) {
		const struct asked *asked = lfirst(cell);

		if (!asked->reason && list_member_oid(served, asked->wish->table))
			continue;
		put_row(result, query, asked->wish->table, NULL,
			asked->reason				      ? asked->reason
			: !gains && has_taken(query, asked->proposal) ? "the index would hardly make the query cheaper"
								      : reason_of(query, asked->proposal));
		has_rows = true;
	}
	if (!has_rows)
		put_row(result, query, InvalidOid, NULL,
			query->error ? query->error : "no level groups one table, or orders it and takes the first rows");
}

static void advise(ReturnSetInfo *result, List *queries)
{
	List *proposals;
	ListCell *cell;

	PreventCommandDuringRecovery("iforest_advise()");
	foreach (cell, queries)
		ask(lfirst(cell));
	propose_own(queries);
	proposals = share(queries);
	try_proposals(queries, proposals, false);
	if (add_own(queries, &proposals))
		try_proposals(queries, proposals, false);
	foreach (cell, queries)
		put_query(result, lfirst(cell), proposals);
}

static List *add_query(List *queries, Datum sql, int number)
{
	struct query *query = palloc0(sizeof *query);

	query->text = TextDatumGetCString(sql);
	query->number = number;
	return lappend(queries, query);
}

IFP_SQL_FUNCTION(iforest_advise_query);

Datum iforest_advise_query(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	advise((ReturnSetInfo *)fcinfo->resultinfo, add_query(NIL, PG_GETARG_DATUM(0), 1));
	return (Datum)0;
}

IFP_SQL_FUNCTION(iforest_advise_queries);

Datum iforest_advise_queries(PG_FUNCTION_ARGS)
{
	List *queries = NIL;
	Datum *texts;
	bool *nulls;
	int n;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), TEXTOID, -1, false, TYPALIGN_INT, &texts, &nulls, &n);
	for (int i = 0; i < n; i++)
		if (!nulls[i])
			queries = add_query(queries, texts[i], i + 1);
	InitMaterializedSRF(fcinfo, 0);
	advise((ReturnSetInfo *)fcinfo->resultinfo, queries);
	return (Datum)0;
}
