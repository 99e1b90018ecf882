/* sql/advise.c -- SQL function iforest_advise(): which indexes would answer queries, tried by the planner.
 *
 *   wishes of all queries (planner/wish.h)  ->  proposals, as few as sensible  ->  an index for each, of an empty temporary
 *                                           copy
 *   of its table (planner/would_be_index.h)  ->  the queries planned with these  ->  what the plans have is proposed
 *
 * The copies are made in a subtransaction, which is rolled back.
 */
#include "pg_ext/base/engine.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
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
#include "utils/syscache.h"

#include "core/model/series_key.h"
#include "pg_ext/planner/verdict.h"
#include "pg_ext/planner/wish.h"
#include "pg_ext/planner/would_be_index.h"
#include "pg_ext/sql/query_plan.h"
#include "pg_ext/types/definition.h"

/* Queries share an index if it has at most this many series, or at most as many as one of them needs. */
static const double most_merged_series = 1000;

enum { MOST_BY = 16 };

/* A column of a proposal. */
struct part {
	AttrNumber number;
	bool has_variance, has_sketch;
	List *bounds; /* Const of int8 */
};

struct proposal {
	Oid table;
	double n_rows;
	AttrNumber time;
	List *by, *values; /* struct part, by number */
	List *products;
	char *definition; /* the text after USING iforest */
	const char *error;
	Oid index; /* on a copy, while they are tried */
};

struct asked {
	struct ifp_wish *wish;
	const char *reason;	   /* why there is no proposal */
	struct proposal *proposal; /* shared with others */
	struct proposal *own;	   /* the proposal for this wish only; shared by equal wishes */
	bool own_is_needed;	   /* the shared one does not satisfy the wish */
};

struct query {
	const char *text;
	int number;
	struct ifp_query_plan now, then;
	List *asked; /* struct asked */
	const char *error;
};

/* ---- columns ---- */

static Oid type_of(Oid table, AttrNumber number, int32 *modifier)
{
	Oid type, collation;

	get_atttypetypmodcoll(table, number, &type, modifier, &collation);
	return type;
}

static bool is_date_or_timestamp(Oid type)
{
	return type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID;
}

static bool is_number_of_time(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID || type == FLOAT8OID;
}

static const char *name_of(Oid table, AttrNumber number)
{
	return quote_identifier(get_attname(table, number, false));
}

/* Returns the number of distinct values, from statistics. */
static double n_distinct(Oid table, AttrNumber number, double n_rows)
{
	double n = 200; /* the planner's default without statistics */

	for (int inherits = 1; inherits >= 0; inherits--) {
		HeapTuple tuple =
			SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(table), Int16GetDatum(number), BoolGetDatum(inherits));

		if (!HeapTupleIsValid(tuple))
			continue;
		n = ((Form_pg_statistic)GETSTRUCT(tuple))->stadistinct;
		ReleaseSysCache(tuple);
		return Max(n < 0 ? -n * n_rows : n, 1);
	}
	return n;
}

static double n_series(const struct proposal *proposal)
{
	double n = 1;
	ListCell *cell;

	foreach (cell, proposal->by)
		n *= n_distinct(proposal->table, ((struct part *)lfirst(cell))->number, proposal->n_rows);
	return Min(n, Max(proposal->n_rows, 1));
}

static int n_reals(const struct proposal *proposal)
{
	int n = 0;
	ListCell *cell;

	foreach (cell, proposal->values) {
		int32 modifier;
		Oid type = getBaseType(type_of(proposal->table, ((struct part *)lfirst(cell))->number, &modifier));

		n += type == FLOAT4OID || type == FLOAT8OID;
	}
	return n;
}

static double bytes_of(const struct proposal *proposal)
{
	return ifp_would_be_bytes(proposal->n_rows, list_length(proposal->values), n_reals(proposal));
}

/* ---- the time column ---- */

/* Returns the first column of a type of times, without NULLs if there is one; 0 if there is none. */
static AttrNumber first_time(Oid table)
{
	Relation relation = table_open(table, AccessShareLock);
	TupleDesc descriptor = RelationGetDescr(relation);
	AttrNumber found = 0;

	for (int i = 0; i < descriptor->natts; i++) {
		Form_pg_attribute attribute = TupleDescAttr(descriptor, i);

		if (attribute->attisdropped || !is_date_or_timestamp(getBaseType(attribute->atttypid)))
			continue;
		if (found == 0 || (attribute->attnotnull && !TupleDescAttr(descriptor, found - 1)->attnotnull))
			found = attribute->attnum;
	}
	table_close(relation, NoLock);
	return found;
}

/* Returns a score of how likely the column is the time of a wish. */
static unsigned score(Oid table, const struct ifp_wished_column *column)
{
	int32 modifier;
	Oid type = getBaseType(type_of(table, column->number, &modifier));
	unsigned of_order = column->uses & IFP_USE_ORDER_OF_GROUP ? 5 : 0;

	if (is_date_or_timestamp(type))
		return 4 * column->n_ranges + of_order + (column->uses & IFP_USE_GROUP_WITHIN ? 3 : 0) +
		       (column->uses & IFP_USE_GROUP ? 1 : 0);
	if (!is_number_of_time(type) || column->bounds != NIL ||
	    column->uses & (IFP_USE_AGGREGATE | IFP_USE_ORDER | IFP_USE_CONDITION))
		return 0;
	/* the longest spans of each group are asked for, not the latest */
	if (of_order && first_time(table))
		return 0;
	return column->n_ranges + of_order + (column->uses & IFP_USE_GROUP_WITHIN ? 2 : 0);
}

/* Returns the column with the best score as time over all wishes; 0 if there is none. */
static AttrNumber time_of(const List *queries, Oid table)
{
	unsigned scores[MaxHeapAttributeNumber + 1] = { 0 };
	AttrNumber best = 0;
	ListCell *query, *asked, *cell;

	foreach (query, queries)
		foreach (asked, ((struct query *)lfirst(query))->asked) {
			const struct ifp_wish *wish = ((struct asked *)lfirst(asked))->wish;

			foreach (cell, wish->table == table ? wish->columns : NIL) {
				const struct ifp_wished_column *column = lfirst(cell);

				scores[column->number] += score(table, column);
			}
		}
	for (AttrNumber number = 1; number <= MaxHeapAttributeNumber; number++)
		if (scores[number] > scores[best])
			best = number;
	return best ? best : first_time(table);
}

/* ---- proposals ---- */

static struct part *part_of(List **parts, AttrNumber number)
{
	struct part *part;
	ListCell *cell;
	int at = 0;

	foreach (cell, *parts) {
		part = lfirst(cell);
		if (part->number == number)
			return part;
		at += part->number < number;
	}
	part = palloc0(sizeof *part);
	part->number = number;
	*parts = list_insert_nth(*parts, at, part);
	return part;
}

static bool is_value(const struct ifp_wished_column *column)
{
	if (column->uses & (IFP_USE_AGGREGATE | IFP_USE_ORDER | IFP_USE_ORDER_OF_GROUP | IFP_USE_GROUP_WITHIN))
		return !(column->uses & IFP_USE_GROUP);
	return (column->uses & IFP_USE_RANGE) && !(column->uses & (IFP_USE_CONDITION | IFP_USE_GROUP));
}

/* Adds a column that is not the time. Returns NULL, or why no index can have it. */
static const char *add_column(struct proposal *proposal, const struct ifp_wished_column *column)
{
	int32 modifier;
	Oid type = type_of(proposal->table, column->number, &modifier);
	struct part *part;

	if (ifp_is_value_type(type, modifier) && !ifp_is_key_type(getBaseType(type)) &&
	    (is_value(column) || !ifp_is_by_type(type, modifier))) {
		part = part_of(&proposal->values, column->number);
		part->has_variance |= (column->uses & IFP_USE_VARIANCE) != 0;
		part->has_sketch |= (column->uses & IFP_USE_SKETCH) != 0;
		part->bounds = list_union(part->bounds, column->bounds);
		return NULL;
	}
	if (!ifp_is_by_type(type, modifier) ||
	    !OidIsValid(GetDefaultOpClass(getBaseType(type), get_index_am_oid("iforest", false))))
		return psprintf("column \"%s\" of type %s can be no column of an index",
				get_attname(proposal->table, column->number, false), format_type_be(type));
	(void)part_of(&proposal->by, column->number);
	return NULL;
}

static char *by_names(const struct proposal *proposal)
{
	StringInfoData names;
	ListCell *cell;

	initStringInfo(&names);
	foreach (cell, proposal->by)
		appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "",
				 name_of(proposal->table, ((struct part *)lfirst(cell))->number));
	return names.data;
}

/* Makes the proposal for a single wish. Returns NULL, or why there is none. */
static const char *propose(struct asked *asked, AttrNumber time)
{
	const struct ifp_wish *wish = asked->wish;
	struct proposal *proposal = palloc0(sizeof *proposal);
	ListCell *cell;

	if (!OidIsValid(wish->table))
		return wish->reason;
	if (time == 0)
		return "no column looks like a time: none of a type of times is in the table, and of no number a range is asked";
	*proposal = (struct proposal){ .table = wish->table, .n_rows = wish->n_rows, .time = time, .products = wish->products };
	foreach (cell, wish->columns) {
		const struct ifp_wished_column *column = lfirst(cell);
		const char *reason = column->number == time ? NULL : add_column(proposal, column);

		if (reason)
			return reason;
	}
	if (list_length(proposal->by) > MOST_BY || list_length(proposal->values) > IFOREST_MAX_VALUES)
		return "more columns are asked for than an index can have";
	if (proposal->by != NIL && iforest_are_series_too_many((uint64)n_series(proposal), (uint64)proposal->n_rows))
		return psprintf("there would be nearly as many series as rows, by %s", by_names(proposal));
	asked->own = proposal;
	return NULL;
}

static void add_parts(List **parts, const List *added)
{
	ListCell *cell;

	foreach (cell, added) {
		const struct part *from = lfirst(cell);
		struct part *part = part_of(parts, from->number);

		part->has_variance |= from->has_variance;
		part->has_sketch |= from->has_sketch;
		part->bounds = list_union(part->bounds, from->bounds);
	}
}

static bool has_part(const List *parts, AttrNumber number)
{
	ListCell *cell;

	foreach (cell, parts)
		if (((struct part *)lfirst(cell))->number == number)
			return true;
	return false;
}

/* Returns a proposal that satisfies both; NULL if two are better. */
static struct proposal *merge(const struct proposal *a, const struct proposal *b)
{
	struct proposal *both = palloc0(sizeof *both);
	ListCell *cell;

	if (a->table != b->table)
		return NULL;
	*both = (struct proposal){ .table = a->table, .n_rows = a->n_rows, .time = a->time };
	add_parts(&both->by, a->by);
	add_parts(&both->by, b->by);
	add_parts(&both->values, a->values);
	add_parts(&both->values, b->values);
	both->products = list_union(a->products, b->products);
	foreach (cell, both->by)
		if (has_part(both->values, ((struct part *)lfirst(cell))->number))
			return NULL;
	if (list_length(both->by) > MOST_BY || list_length(both->values) > IFOREST_MAX_VALUES ||
	    n_series(both) > Max(most_merged_series, Max(n_series(a), n_series(b))))
		return NULL;
	return both;
}

/* Merges the wish into a proposal that can satisfy it too, or adds its own. */
static void join(List **proposals, struct asked *asked)
{
	ListCell *cell;

	foreach (cell, *proposals) {
		struct proposal *both = merge(lfirst(cell), asked->own);

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

/* ---- as SQL ---- */

static void write_option(StringInfo options, const char *name, const char *value)
{
	if (value[0])
		appendStringInfo(options, "%s%s = %s", options->len > 0 ? ", " : "", name, quote_literal_cstr(value));
}

static int compare_bounds(const ListCell *a, const ListCell *b)
{
	int64 x = DatumGetInt64(lfirst_node(Const, a)->constvalue), y = DatumGetInt64(lfirst_node(Const, b)->constvalue);

	return (x > y) - (x < y);
}

static void write_bounds(StringInfo histogram, const char *name, List *bounds)
{
	ListCell *cell;
	const char *separator = "(";

	list_sort(bounds, compare_bounds);
	appendStringInfo(histogram, "%s%s", histogram->len > 0 ? ", " : "", name);
	foreach (cell, bounds) {
		appendStringInfo(histogram, "%s" INT64_FORMAT, separator, DatumGetInt64(lfirst_node(Const, cell)->constvalue));
		separator = ", ";
	}
	appendStringInfoChar(histogram, ')');
}

static char *write_options(const struct proposal *proposal)
{
	StringInfoData variance, sketch, histogram, products, options;
	ListCell *cell;

	initStringInfo(&variance);
	initStringInfo(&sketch);
	initStringInfo(&histogram);
	initStringInfo(&products);
	initStringInfo(&options);
	foreach (cell, proposal->values) {
		const struct part *part = lfirst(cell);
		const char *name = name_of(proposal->table, part->number);

		if (part->has_variance)
			appendStringInfo(&variance, "%s%s", variance.len > 0 ? ", " : "", name);
		if (part->has_sketch)
			appendStringInfo(&sketch, "%s%s", sketch.len > 0 ? ", " : "", name);
		if (part->bounds != NIL)
			write_bounds(&histogram, name, part->bounds);
	}
	foreach (cell, proposal->products)
		appendStringInfo(&products, "%s%s*%s", products.len > 0 ? ", " : "",
				 name_of(proposal->table, (AttrNumber)linitial_int(lfirst(cell))),
				 name_of(proposal->table, (AttrNumber)lsecond_int(lfirst(cell))));
	write_option(&options, "variance", variance.data);
	write_option(&options, "histogram", histogram.data);
	write_option(&options, "products", products.data);
	write_option(&options, "sketch", sketch.data);
	return options.data;
}

static char *write_definition(const struct proposal *proposal)
{
	StringInfoData text;
	const char *options = write_options(proposal), *separator = " INCLUDE (";
	ListCell *cell;

	initStringInfo(&text);
	appendStringInfoChar(&text, '(');
	foreach (cell, proposal->by)
		appendStringInfo(&text, "%s, ", name_of(proposal->table, ((struct part *)lfirst(cell))->number));
	appendStringInfo(&text, "%s)", name_of(proposal->table, proposal->time));
	foreach (cell, proposal->values) {
		appendStringInfo(&text, "%s%s", separator, name_of(proposal->table, ((struct part *)lfirst(cell))->number));
		separator = ", ";
	}
	if (proposal->values != NIL)
		appendStringInfoChar(&text, ')');
	if (options[0])
		appendStringInfo(&text, " WITH (%s)", options);
	return text.data;
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

/* Makes an empty copy of the proposal's table, and the index on it. */
static void make_copy(void *context)
{
	struct proposal *proposal = context;
	MemoryContext memory = CurrentMemoryContext;
	StringInfoData sql;
	Relation copy;
	List *indexes;
	Oid oid;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "CREATE TEMPORARY TABLE iforest_would_be(");
	append_columns(&sql, proposal->table);
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
	indexes = RelationGetIndexList(copy);
	proposal->index = linitial_oid(indexes);
	table_close(copy, NoLock);
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
		struct proposal *proposal = lfirst(cell);

		proposal->index = InvalidOid;
		proposal->error = attempt(make_copy, proposal, true);
	}
}

static List *as_would_be(List *proposals)
{
	List *indexes = NIL;
	ListCell *cell;

	foreach (cell, proposals) {
		const struct proposal *proposal = lfirst(cell);
		struct ifp_would_be_index *index = palloc(sizeof *index);

		if (!OidIsValid(proposal->index))
			continue;
		*index = (struct ifp_would_be_index){ .table = proposal->table,
						      .copy = IndexGetRelation(proposal->index, false),
						      .n_values = list_length(proposal->values),
						      .n_reals = n_reals(proposal) };
		indexes = lappend(indexes, index);
	}
	return indexes;
}

static void plan_with(struct query *query, List *indexes)
{
	ifp_would_be_indexes_set(indexes);
	query->error = attempt(plan_again, query, false);
}

static bool has_taken(const struct query *query, Oid index);
static const char *reason_of(const struct query *query, const struct proposal *proposal);

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

		if (!other->reason && are_together(asked, other))
			proposals = list_append_unique_ptr(proposals, is_of_own ? other->own : other->proposal);
	}
	return proposals;
}

/* A plan over a UNION ALL has the index of its first arm, which stands for the others. */
static bool is_served(const struct query *query, const List *proposals)
{
	ListCell *cell;

	foreach (cell, proposals)
		if (has_taken(query, ((const struct proposal *)lfirst(cell))->index))
			return true;
	return false;
}

/* Plans the query with the proposal of each of its wishes separately. */
static void try_own(struct query *query)
{
	ListCell *cell;

	foreach (cell, query->asked) {
		struct asked *asked = lfirst(cell);
		List *own;

		if (asked->reason || query->error)
			continue;
		own = needed(query, asked, true);
		plan_with(query, as_would_be(own));
		if (!is_served(query, own))
			asked->reason = reason_of(query, asked->own);
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

/* True if a plan of the query uses the index. */
static bool has_taken(const struct query *query, Oid index)
{
	ListCell *cell;

	foreach (cell, OidIsValid(index) ? query->then.verdicts : NIL) {
		const struct ifp_verdict *verdict = lfirst(cell);

		if (verdict->index == index && verdict->is_taken)
			return true;
	}
	return false;
}

static const char *reason_of(const struct query *query, const struct proposal *proposal)
{
	const char *reason = ifp_costs_more;
	ListCell *cell;

	if (proposal->error)
		return proposal->error;
	foreach (cell, query->then.verdicts) {
		const struct ifp_verdict *verdict = lfirst(cell);

		if (verdict->table == proposal->table && verdict->reason && verdict->index == proposal->index)
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
		query->asked = lappend(query->asked, asked);
	}
}

/* Returns the proposal with the same definition, which is added if it is new. */
static struct proposal *add_proposal(List **proposals, struct proposal *added)
{
	ListCell *cell;

	added->definition = write_definition(added);
	foreach (cell, *proposals) {
		struct proposal *proposal = lfirst(cell);

		if (proposal->table == added->table && strcmp(proposal->definition, added->definition) == 0)
			return proposal;
	}
	*proposals = lappend(*proposals, added);
	return added;
}

/* Proposes an index for each wish, and tries it. */
static void propose_own(List *queries)
{
	List *proposals = NIL;
	ListCell *query, *cell;

	foreach (query, queries)
		foreach (cell, ((struct query *)lfirst(query))->asked) {
			struct asked *asked = lfirst(cell);
			Oid table = asked->wish->table;

			if (!asked->reason)
				asked->reason = propose(asked, OidIsValid(table) ? time_of(queries, table) : 0);
			if (!asked->reason)
				asked->own = add_proposal(&proposals, asked->own);
		}
	try_proposals(queries, proposals, true);
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
	foreach (cell, proposals)
		((struct proposal *)lfirst(cell))->definition = write_definition(lfirst(cell));
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

static void put_row(ReturnSetInfo *result, const struct query *query, Oid table, const struct proposal *proposal,
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
		values[3] = Int64GetDatum((int64)bytes_of(proposal));
		values[5] = Float8GetDatum(query->then.cost);
		values[6] = Float8GetDatum(query->now.cost / Max(query->then.cost, 0.01));
	}
	if (reason)
		values[7] = CStringGetTextDatum(reason);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

static bool is_needed(const struct query *query, const struct proposal *proposal)
{
	ListCell *cell;

	if (has_taken(query, proposal->index))
		return true;
	foreach (cell, query->asked) {
		const struct asked *asked = lfirst(cell);

		if (!asked->reason && asked->proposal == proposal && asked->wish->together &&
		    is_served(query, needed(query, asked, false)))
			return true;
	}
	return false;
}

/* Returns a row for each proposal that the plan uses. Returns their tables. */
static List *put_proposals(ReturnSetInfo *result, const struct query *query, const List *proposals)
{
	List *tables = NIL;
	ListCell *cell;

	foreach (cell, proposals) {
		const struct proposal *proposal = lfirst(cell);

		if (!is_needed(query, proposal))
			continue;
		put_row(result, query, proposal->table, proposal, NULL);
		tables = list_append_unique_oid(tables, proposal->table);
	}
	return tables;
}

static void put_query(ReturnSetInfo *result, const struct query *query, const List *proposals)
{
	List *served = query->error ? NIL : put_proposals(result, query, proposals);
	bool has_rows = served != NIL;
	ListCell *cell;

	foreach (cell, query->error ? NIL : query->asked) {
		const struct asked *asked = lfirst(cell);

		if (!asked->reason && list_member_oid(served, asked->wish->table))
			continue;
		put_row(result, query, asked->wish->table, NULL,
			asked->reason ? asked->reason : reason_of(query, asked->proposal));
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
