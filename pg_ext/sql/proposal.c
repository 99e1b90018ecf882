#include "pg_ext/sql/proposal.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "core/model/kind.h"
#include "core/model/series_key.h"
#include "pg_ext/planner/would_be_index.h"
#include "pg_ext/types/definition.h"

/* Queries share an index if it has at most this many series, or at most as many as one of them needs. */
static const double most_merged_series = 1000;

enum { MOST_BY = 16, MOST_TIMES = 4 };

/* A column of a proposal. */
struct part {
	AttrNumber number;
	bool has_variance, has_sketch;
	List *bounds; /* Const of int8 */
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

static bool is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/* True if an index can have the column as a by column. */
static bool may_be_by(Oid type, int32 modifier)
{
	return ifp_is_by_type(type, modifier) && getBaseType(type) != FLOAT8OID &&
	       OidIsValid(GetDefaultOpClass(getBaseType(type), get_index_am_oid("iforest", false)));
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

static double n_series(const struct ifp_proposal *proposal)
{
	double n = 1;
	ListCell *cell;

	foreach (cell, proposal->by)
		n *= n_distinct(proposal->table, ((struct part *)lfirst(cell))->number, proposal->n_rows);
	return Min(n, Max(proposal->n_rows, 1));
}

int ifp_proposal_n_reals(const struct ifp_proposal *proposal)
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

double ifp_proposal_bytes(const struct ifp_proposal *proposal)
{
	return ifp_would_be_bytes(proposal->n_rows, list_length(proposal->values), ifp_proposal_n_reals(proposal));
}

/* ---- the time column ---- */

/* Returns the first column of such a type, without NULLs if there is one; 0 if there is none. */
static AttrNumber first_of(Oid table, bool (*is_of_type)(Oid type))
{
	Relation relation = table_open(table, AccessShareLock);
	TupleDesc descriptor = RelationGetDescr(relation);
	AttrNumber found = 0;

	for (int i = 0; i < descriptor->natts; i++) {
		Form_pg_attribute attribute = TupleDescAttr(descriptor, i);

		if (attribute->attisdropped || !is_of_type(getBaseType(attribute->atttypid)))
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
	if (of_order && first_of(table, is_date_or_timestamp))
		return 0;
	return column->n_ranges + of_order + (column->uses & IFP_USE_GROUP_WITHIN ? 2 : 0);
}

/* Returns the column with the best score as time over all wishes; 0 if none has any. */
static AttrNumber best_time(Oid table, const List *wishes)
{
	unsigned scores[MaxHeapAttributeNumber + 1] = { 0 };
	AttrNumber best = 0;
	ListCell *cell, *column;

	foreach (cell, wishes) {
		const struct ifp_wish *wish = lfirst(cell);

		foreach (column, wish->table == table ? wish->columns : NIL)
			scores[((struct ifp_wished_column *)lfirst(column))->number] += score(table, lfirst(column));
	}
	for (AttrNumber number = 1; number <= MaxHeapAttributeNumber; number++)
		if (scores[number] > scores[best])
			best = number;
	return best;
}

static List *add_time(List *times, AttrNumber number)
{
	return number && list_length(times) < MOST_TIMES ? list_append_unique_int(times, number) : times;
}

/* Adds the wished columns of such a type that have one of these uses. */
static List *add_used(List *times, const struct ifp_wish *wish, bool (*is_of_type)(Oid type), unsigned uses)
{
	ListCell *cell;

	foreach (cell, wish->columns) {
		const struct ifp_wished_column *column = lfirst(cell);
		int32 modifier;

		if (column->uses & uses && is_of_type(getBaseType(type_of(wish->table, column->number, &modifier))))
			times = add_time(times, column->number);
	}
	return times;
}

List *ifp_proposal_times(const struct ifp_wish *wish, const List *wishes)
{
	static const unsigned of_ranges = IFP_USE_RANGE | IFP_USE_GROUP_WITHIN, any = ~(unsigned)IFP_USE_GROUP;
	List *times = add_time(NIL, best_time(wish->table, wishes));

	times = add_used(times, wish, is_date_or_timestamp, of_ranges);
	times = add_time(times, first_of(wish->table, is_date_or_timestamp));
	times = add_used(times, wish, is_date_or_timestamp, any);
	times = add_used(times, wish, is_number_of_time, of_ranges);
	times = add_used(times, wish, is_number_of_time, any);
	return add_time(times, first_of(wish->table, is_number_of_time));
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

static char *write_options(const struct ifp_proposal *proposal)
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

static void write_definition(struct ifp_proposal *proposal)
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
	proposal->definition = text.data;
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

/* True if the column is to be a value, where its type allows both. */
static bool is_value(const struct ifp_wished_column *column, enum ifp_roles roles)
{
	if (roles == IFP_ROLES_VALUES)
		return true;
	if (roles == IFP_ROLES_BY)
		return column->uses == IFP_USE_AGGREGATE || column->uses & (IFP_USE_VARIANCE | IFP_USE_SKETCH);
	if (column->uses & (IFP_USE_AGGREGATE | IFP_USE_ORDER | IFP_USE_ORDER_OF_GROUP | IFP_USE_GROUP_WITHIN))
		return !(column->uses & IFP_USE_GROUP);
	return (column->uses & IFP_USE_RANGE) && !(column->uses & (IFP_USE_CONDITION | IFP_USE_GROUP));
}

/* Notes what an index can keep besides of a value column of the type. */
static void add_options(struct part *part, Oid type, const struct ifp_wished_column *column)
{
	part->has_variance |= (column->uses & IFP_USE_VARIANCE) != 0 && (is_integer(type) || type == NUMERICOID);
	part->has_sketch |=
		(column->uses & IFP_USE_SKETCH) != 0 && (is_integer(type) || type == FLOAT4OID || type == FLOAT8OID);
	if (is_integer(type))
		part->bounds = list_union(part->bounds, column->bounds);
	if (list_length(part->bounds) > IFOREST_MAX_BOUNDS)
		part->bounds = NIL;
}

/* Adds a column that is not the time. Returns NULL, or why no index can have it. */
static const char *add_column(struct ifp_proposal *proposal, const struct ifp_wished_column *column, enum ifp_roles roles)
{
	int32 modifier;
	Oid type = type_of(proposal->table, column->number, &modifier);

	if (ifp_is_value_type(type, modifier) && !ifp_is_key_type(type) &&
	    (is_value(column, roles) || !may_be_by(type, modifier))) {
		add_options(part_of(&proposal->values, column->number), getBaseType(type), column);
		return NULL;
	}
	if (!may_be_by(type, modifier))
		return psprintf("column \"%s\" of type %s can be no column of an index",
				get_attname(proposal->table, column->number, false), format_type_be(type));
	(void)part_of(&proposal->by, column->number);
	return NULL;
}

static char *by_names(const struct ifp_proposal *proposal)
{
	StringInfoData names;
	ListCell *cell;

	initStringInfo(&names);
	foreach (cell, proposal->by)
		appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "",
				 name_of(proposal->table, ((struct part *)lfirst(cell))->number));
	return names.data;
}

static bool has_part(const List *parts, AttrNumber number)
{
	ListCell *cell;

	foreach (cell, parts)
		if (((struct part *)lfirst(cell))->number == number)
			return true;
	return false;
}

/* An index keeps products of values, or of one and the time. */
static bool may_be_factor(const struct ifp_proposal *proposal, AttrNumber number)
{
	return number == proposal->time || has_part(proposal->values, number);
}

static void add_products(struct ifp_proposal *proposal, List *products)
{
	ListCell *cell;

	foreach (cell, products)
		if (may_be_factor(proposal, (AttrNumber)linitial_int(lfirst(cell))) &&
		    may_be_factor(proposal, (AttrNumber)lsecond_int(lfirst(cell))) &&
		    linitial_int(lfirst(cell)) != proposal->time)
			proposal->products = lappend(proposal->products, lfirst(cell));
}

struct ifp_proposal *ifp_proposal_make(const struct ifp_wish *wish, AttrNumber time, enum ifp_roles roles, const char **reason)
{
	struct ifp_proposal *proposal = palloc0(sizeof *proposal);
	ListCell *cell;

	*proposal = (struct ifp_proposal){ .table = wish->table, .n_rows = wish->n_rows, .time = time };
	foreach (cell, wish->columns) {
		const struct ifp_wished_column *column = lfirst(cell);

		*reason = column->number == time ? NULL : add_column(proposal, column, roles);
		if (*reason)
			return NULL;
	}
	add_products(proposal, wish->products);
	*reason = NULL;
	if (list_length(proposal->by) > MOST_BY || list_length(proposal->values) > IFOREST_MAX_VALUES)
		*reason = "more columns are asked for than an index can have";
	else if (proposal->by != NIL && iforest_are_series_too_many((uint64)n_series(proposal), (uint64)proposal->n_rows))
		*reason = psprintf("there would be nearly as many series as rows, by %s", by_names(proposal));
	if (*reason)
		return NULL;
	write_definition(proposal);
	return proposal;
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
		if (list_length(part->bounds) > IFOREST_MAX_BOUNDS)
			part->bounds = from->bounds;
	}
}

struct ifp_proposal *ifp_proposal_merge(const struct ifp_proposal *a, const struct ifp_proposal *b)
{
	struct ifp_proposal *both = palloc0(sizeof *both);
	ListCell *cell;

	if (a->table != b->table || a->time != b->time)
		return NULL;
	*both = (struct ifp_proposal){ .table = a->table, .n_rows = a->n_rows, .time = a->time };
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
	write_definition(both);
	return both;
}
