/* sql/index_functions.c -- Creation and renaming of the SQL functions that belong to an index. */
#include "pg_ext/base/engine.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/event_trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "pg_ext/am/build.h"
#include "pg_ext/base/distributed_table.h"
#include "pg_ext/base/known_functions.h"
#include "pg_ext/base/owner_context.h"
#include "pg_ext/planner/overlap_index.h"
#include "pg_ext/sql/index_info.h"
#include "pg_ext/sql/sqlgen.h"
#include "pg_ext/sql/sqlgen_counter.h"
#include "pg_ext/sql/sqlgen_overlap.h"
#include "pg_ext/sql/sqlgen_shards.h"
#include "pg_ext/storage/index.h"
#include "pg_ext/types/definition.h"

/* ---- the index ---- */

/* Reads a column of the index, under its current name in the table. */
static struct ifp_sqlgen_column read_column(Relation heap, Relation index, int number)
{
	AttrNumber attribute = index->rd_index->indkey.values[number - 1];
	Form_pg_attribute column = TupleDescAttr(RelationGetDescr(index), number - 1);

	return (struct ifp_sqlgen_column){ .name = attribute ? get_attname(RelationGetRelid(heap), attribute, false)
							     : pstrdup(NameStr(column->attname)),
					   .expression = ifp_column_expression(RelationGetRelid(index), number),
					   .type = getBaseType(column->atttypid) };
}

static void read_types(Relation index, struct ifp_sqlgen_index *sqlgen)
{
	switch (sqlgen->time.type) {
	case INT2OID:
	case INT4OID:
	case INT8OID:
		sqlgen->time_type = sqlgen->step_type = INT8OID;
		break;
	case DATEOID:
		sqlgen->time_type = DATEOID;
		sqlgen->step_type = INT4OID;
		break;
	case TIMESTAMPOID:
	case TIMESTAMPTZOID:
		sqlgen->time_type = sqlgen->time.type;
		sqlgen->step_type = INTERVALOID;
		break;
	default:
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("index \"%s\" has times of type %s, for which there are no functions",
			       RelationGetRelationName(index), format_type_be(sqlgen->time.type)),
			errhint("Times of integer types, date and timestamps have them."));
	}
}

/* Reads the schema of the index's nodes, which may differ from its current parameters. A partitioned index has no nodes; its
 * schema is that of its parameters. */
static struct iforest_node_schema fields_of(Relation heap, Relation relation)
{
	struct ifp_definition definition;
	struct iforest_node_schema fields;
	struct ifp_index *index;

	if (relation->rd_rel->relkind == RELKIND_PARTITIONED_INDEX) {
		ifp_definition_read(relation, &definition);
		ifp_definition_check(heap, relation, &definition, &fields);
		return fields;
	}
	index = palloc(sizeof *index);
	ifp_index_open(index, relation);
	ifp_index_refresh(index);
	return index->manifest.fields;
}

static void read_fields(Relation heap, Relation index, struct ifp_sqlgen_index *sqlgen)
{
	static const char *const units[IFOREST_END_RULES] = {
		[IFOREST_END_PER_1000] = "'ns'", [IFOREST_END_TIMES_1000] = "'ms'", [IFOREST_END_TIMES_1000000] = "'s'"
	};
	struct iforest_node_schema fields = fields_of(heap, index);

	sqlgen->accumulators = fields.accumulators;
	sqlgen->length = fields.duration_value == IFOREST_NO_VALUE ? -1 : fields.duration_value;
	sqlgen->is_end = fields.end_rule == IFOREST_END_COLUMN;
	sqlgen->is_overlap_read = sqlgen->length >= 0 && fields.end_rule == IFOREST_END_DURATION;
	sqlgen->unit = units[fields.end_rule];
}

/* Removes value columns that store keys, which the functions do not show. */
static void drop_keys(struct ifp_sqlgen_index *sqlgen)
{
	unsigned places[IFOREST_MAX_VALUES], n = 0;

	for (int v = 0; v < sqlgen->n_values; v++) {
		places[v] = n;
		if (!ifp_is_key_type(sqlgen->values[v].type))
			sqlgen->values[n++] = sqlgen->values[v];
	}
	if (sqlgen->length >= 0)
		sqlgen->length = (int)places[sqlgen->length];
	for (unsigned a = 0; a < sqlgen->accumulators.n; a++) {
		struct iforest_accumulator *accumulator = &sqlgen->accumulators.list[a];

		if (accumulator->value < sqlgen->n_values)
			accumulator->value = (uint8_t)places[accumulator->value];
		if (accumulator->second < sqlgen->n_values)
			accumulator->second = (uint8_t)places[accumulator->second];
	}
	sqlgen->n_values = (int)n;
}

/* Records that the table is distributed. Raises an error if a group may be on several shards. */
static void read_distribution(Relation heap, Relation index, struct ifp_sqlgen_index *sqlgen)
{
	AttrNumber column = ifp_distribution_column(RelationGetRelid(heap));
	bool is_by = false;

	if (column == InvalidAttrNumber)
		return;
	for (int i = 0; i < sqlgen->n_by; i++)
		is_by |= index->rd_index->indkey.values[i] == column;
	if (!is_by)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("index \"%s\" is on a distributed table, and its by columns are without the column of the shards, \"%s\"",
			       sqlgen->index_name, get_attname(RelationGetRelid(heap), column, false)),
			errhint("Make an index with that column among its by columns; its functions ask every shard."));
	if (strpbrk(sqlgen->columns, IFP_SHARD) || strpbrk(sqlgen->table, IFP_SHARD) ||
	    (sqlgen->predicate && strpbrk(sqlgen->predicate, IFP_SHARD)))
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("index \"%s\" is on a distributed table, and a name or expression of it has the character \\x01",
			       sqlgen->index_name));
	sqlgen->distributed = sqlgen->table;
	sqlgen->table = IFP_SHARD;
}

static const char *quoted_schema(Oid namespace)
{
	return quote_identifier(get_namespace_name(namespace));
}

/* True if the extension has the function: one that was not updated yet lacks those of later versions. */
static bool has_function(Oid extension_schema, char *name)
{
	List *names = list_make2(makeString(get_namespace_name(extension_schema)), makeString(name));
	const Oid any_types = InvalidOid; /* not read; NULL would stand for a function without arguments */

	return OidIsValid(LookupFuncName(names, -1, &any_types, true));
}

/* Reads the index, and which functions the extension in this schema has. */
static void read_sqlgen_index(Relation heap, Relation index, Oid extension_schema, struct ifp_sqlgen_index *sqlgen)
{
	int n_keys = IndexRelationGetNumberOfKeyAttributes(index), n = IndexRelationGetNumberOfAttributes(index);

	*sqlgen = (struct ifp_sqlgen_index){ .index_name = RelationGetRelationName(index),
					     .extension = quoted_schema(extension_schema),
					     .schema = quoted_schema(RelationGetNamespace(index)),
					     .table = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(heap)),
										 RelationGetRelationName(heap)),
					     .predicate = ifp_index_predicate_text(heap, index),
					     .is_temporary = index->rd_rel->relpersistence == RELPERSISTENCE_TEMP,
					     .is_partitioned = index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX,
					     .n_by = n_keys - 1,
					     .n_values = n - n_keys };
	sqlgen->columns = OidOutputFunctionCall(F_ARRAY_OUT, PointerGetDatum(ifp_index_column_texts(heap, index)));
	sqlgen->is_parallel_safe = !sqlgen->predicate;
	for (int i = 1; i <= n; i++) {
		struct ifp_sqlgen_column column = read_column(heap, index, i);

		if (i < n_keys)
			sqlgen->by[i - 1] = column;
		else if (i == n_keys)
			sqlgen->time = column;
		else
			sqlgen->values[i - n_keys - 1] = column;
		sqlgen->is_parallel_safe &= index->rd_index->indkey.values[i - 1] != 0;
	}
	read_types(index, sqlgen);
	read_distribution(heap, index, sqlgen);
	read_fields(heap, index, sqlgen);
	drop_keys(sqlgen);
	sqlgen->is_carried = has_function(extension_schema, "iforest_last_row");
	sqlgen->has_peaks = has_function(extension_schema, "iforest_peak_count");
	sqlgen->has_ends = has_function(extension_schema, "iforest_first_row");
	sqlgen->is_overlap_filled = has_function(extension_schema, "iforest_overlap_index");
	sqlgen->is_overlap_read &= sqlgen->is_overlap_filled;
}

IFP_SQL_FUNCTION(iforest_create_index_functions);

enum { MOST_ARGUMENTS = 6, MOST_FUNCTIONS = 9 };

/* A function that is to be created. */
struct created {
	char *name;
	const char *comment;
	char *query;
	int n_arguments;
	Oid argument_types[MOST_ARGUMENTS];
	const char *const *argument_names;
	bool needs_bounds;  /* the first two arguments have no default */
	bool is_restricted; /* it reads a temporary table, or an index that may be of one, and so is not parallel safe */
	bool is_part;	    /* a part of the next function */
	TupleDesc columns;
	ArrayType *all_types, *all_names; /* as pg_proc has them */
};

static const char *const argument_names[MOST_ARGUMENTS] = { "t0", "t1", "n", "step", "origin", "fill" };
static const char *const gap_argument_names[] = { "t0", "t1", "longer_than" };

/* ---- a function ---- */

/* Fills in all_types and all_names. */
static void describe(struct created *created)
{
	int n_arguments = created->n_arguments, n = n_arguments + created->columns->natts;
	Datum *types = palloc(n * sizeof *types), *names = palloc(n * sizeof *names);

	for (int i = 0; i < n; i++) {
		Form_pg_attribute column = i < n_arguments ? NULL : TupleDescAttr(created->columns, i - n_arguments);

		types[i] = ObjectIdGetDatum(column ? column->atttypid : created->argument_types[i]);
		names[i] = CStringGetTextDatum(column ? NameStr(column->attname) : created->argument_names[i]);
	}
	created->all_types = construct_array(types, n, OIDOID, sizeof(Oid), true, TYPALIGN_INT);
	created->all_names = construct_array(names, n, TEXTOID, -1, false, TYPALIGN_INT);
}

static TupleDesc columns_of(const struct ifp_sqlgen_index *sqlgen, const char *query, const struct created *created)
{
	const char *of_table = sqlgen->distributed ? ifp_of_table(query, sqlgen->distributed) : query;
	SPIPlanPtr plan = SPI_prepare(of_table, created->n_arguments, (Oid *)created->argument_types);
	TupleDesc columns;

	if (!plan)
		elog(ERROR, "could not prepare a function of index \"%s\": %s", sqlgen->index_name,
		     SPI_result_code_string(SPI_result));
	columns = CreateTupleDescCopy(((const CachedPlanSource *)linitial(SPI_plan_get_plan_sources(plan)))->resultDesc);
	SPI_freeplan(plan);
	return columns;
}

/* True if one arm of a function reads the index directly. */
static bool reads_index(const struct ifp_sqlgen_index *sqlgen, const char *suffix)
{
	if (strcmp(suffix, IFP_GAPS) == 0)
		return sqlgen->length < 0 || sqlgen->is_overlap_read;
	return sqlgen->is_overlap_read &&
	       (strncmp(suffix, IFP_OVERLAP, strlen(IFP_OVERLAP)) == 0 || strncmp(suffix, IFP_PEAK, strlen(IFP_PEAK)) == 0);
}

/* Fills in the next function. Its columns are those of the query unless they are given. */
static struct created *new_function(const struct ifp_sqlgen_index *sqlgen, const char *suffix, int n_arguments, char *query,
				    TupleDesc columns, const char *comment, struct created *created)
{
	const Oid types[MOST_ARGUMENTS] = { sqlgen->time_type, sqlgen->time_type, INT8OID,
					    sqlgen->step_type, sqlgen->time_type, TEXTOID };
	bool is_gaps = strcmp(suffix, IFP_GAPS) == 0;

	*created = (struct created){ .name = psprintf("%s%s", sqlgen->index_name, suffix),
				     .query = query,
				     .comment = comment,
				     .n_arguments = n_arguments,
				     .argument_names = is_gaps ? gap_argument_names : argument_names,
				     .needs_bounds = strcmp(suffix, IFP_COUNTER) == 0 };
	memcpy(created->argument_types, types, sizeof types);
	if (is_gaps)
		created->argument_types[2] = sqlgen->step_type;
	if (strlen(created->name) >= NAMEDATALEN)
		ereport(ERROR, errcode(ERRCODE_NAME_TOO_LONG),
			errmsg("the functions of index \"%s\" would have a name that is too long", sqlgen->index_name),
			errdetail("\"%s\"", created->name), errhint("Give the index or the column a shorter name."));
	created->columns = columns ? columns : columns_of(sqlgen, query, created);
	created->is_part = strstr(suffix, IFP_WINDOW_FILL) != NULL;
	created->is_restricted = sqlgen->is_temporary || reads_index(sqlgen, suffix);
	describe(created);
	return created;
}

static int new_window_functions(const struct ifp_sqlgen_index *sqlgen, struct created *created)
{
	TupleDesc columns = NULL;
	int n = 0;

	if (sqlgen->is_carried)
		columns = new_function(sqlgen, IFP_WINDOW_FILL, 6, ifp_window_fill_query(sqlgen), NULL,
				       "the part with fill => 'last' and 'linear'", &created[n++])
				  ->columns;
	new_function(sqlgen, "", 6, ifp_window_query(sqlgen, columns), columns,
		     "sums of the index by series, of a window or in buckets", &created[n++]);
	return n;
}

static int new_overlap_functions(const struct ifp_sqlgen_index *sqlgen, struct created *created)
{
	int n_arguments = sqlgen->is_overlap_filled ? 6 : 5, n = 0;
	struct created table;
	TupleDesc columns;

	columns = new_function(sqlgen, IFP_OVERLAP, n_arguments, ifp_overlap_query(sqlgen), NULL, NULL, &table)->columns;
	if (sqlgen->is_overlap_filled)
		new_function(sqlgen, IFP_OVERLAP_FILL, n_arguments, ifp_overlap_fill_query(sqlgen, columns), columns,
			     "the part with fill => 'null' and 'zero'", &created[n++]);
	new_function(sqlgen, IFP_OVERLAP, n_arguments, ifp_overlap_by_index(sqlgen, columns), columns,
		     "spans that overlap a window or its buckets: how many, their time inside, the longest", &created[n++]);
	return n;
}

static int new_peak_functions(const struct ifp_sqlgen_index *sqlgen, struct created *created)
{
	struct created table;
	TupleDesc columns = new_function(sqlgen, IFP_PEAK, 6, ifp_peak_query(sqlgen), NULL, NULL, &table)->columns;

	new_function(sqlgen, IFP_PEAK_FILL, 6, ifp_peak_fill_query(sqlgen, columns), columns,
		     "the part with fill => 'null' and 'zero'", &created[0]);
	new_function(sqlgen, IFP_PEAK, 6, ifp_peak_by_index(sqlgen, columns), columns,
		     "how many spans are open at once, at most, in a window or its buckets, and when", &created[1]);
	return 2;
}

static int new_gaps_function(const struct ifp_sqlgen_index *sqlgen, struct created *created)
{
	struct created table;
	TupleDesc columns = new_function(sqlgen, IFP_GAPS, 3, ifp_gaps_query(sqlgen), NULL, NULL, &table)->columns;

	new_function(sqlgen, IFP_GAPS, 3, ifp_gaps_by_index(sqlgen, columns), columns, "stretches in which nothing is open",
		     created);
	return 1;
}

/* Fills in all functions, a part before the function that calls it. Returns their number. */
static int new_functions(const struct ifp_sqlgen_index *sqlgen, struct created *created)
{
	int n = new_window_functions(sqlgen, created);

	new_function(sqlgen, "_rows", 2, ifp_rows_query(sqlgen), NULL, "rows that reach into a window", &created[n++]);
	if (sqlgen->length >= 0 && (!sqlgen->is_partitioned || sqlgen->is_overlap_filled))
		n += new_overlap_functions(sqlgen, &created[n]);
	if (sqlgen->length >= 0 && sqlgen->has_peaks)
		n += new_peak_functions(sqlgen, &created[n]);
	if (sqlgen->has_peaks)
		n += new_gaps_function(sqlgen, &created[n]);
	if (sqlgen->has_peaks && ifp_has_counters(sqlgen))
		new_function(sqlgen, IFP_COUNTER, 5, ifp_counter_query(sqlgen), NULL,
			     "values as counters: means over time, increases, rates", &created[n++]);
	return n;
}

static const char *open_bound(Oid type, bool is_end)
{
	if (type == INT8OID)
		return is_end ? "9223372036854775807" : "'-9223372036854775808'";
	return is_end ? "'infinity'" : "'-infinity'";
}

/* Returns schema.name(types). */
static char *signature(const struct ifp_sqlgen_index *sqlgen, const struct created *created)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text, "%s.%s(", sqlgen->schema, quote_identifier(created->name));
	for (int i = 0; i < created->n_arguments; i++)
		appendStringInfo(&text, "%s%s", i > 0 ? ", " : "", format_type_be(created->argument_types[i]));
	appendStringInfoChar(&text, ')');
	return text.data;
}

static void add_arguments(StringInfo text, const struct created *created)
{
	for (int i = 0; i < created->n_arguments; i++) {
		Oid type = created->argument_types[i];

		appendStringInfo(text, "%s%s %s", i > 0 ? ", " : "", created->argument_names[i], format_type_be(type));
		if (i >= 2 || !created->needs_bounds)
			appendStringInfo(text, " DEFAULT %s", i < 2 ? open_bound(type, i == 1) : "NULL");
	}
}

static void run(const char *command)
{
	int result = SPI_execute(command, false, 0);

	if (result < 0)
		elog(ERROR, "%s: %s", SPI_result_code_string(result), command);
}

/* Returns a comment as a literal. By it the functions of the index are recognised after a dump. */
static char *comment_of(const struct ifp_sqlgen_index *sqlgen, const char *comment)
{
	return quote_literal_cstr(psprintf("iforest index %s: %s", sqlgen->index_name, comment));
}

/* Appends the function's body to the text of CREATE FUNCTION. */
static void add_body(StringInfo text, const struct ifp_sqlgen_index *sqlgen, const struct created *created)
{
	if (sqlgen->distributed) {
		/* literals of times are in this style on every server */
		appendStringInfo(text, " LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO' AS %s",
				 quote_literal_cstr(ifp_shards_body(sqlgen->distributed, created->query,
								    created->argument_types, created->columns)));
		return;
	}
	appendStringInfo(text, " LANGUAGE sql STABLE %s BEGIN ATOMIC ",
			 !sqlgen->is_parallel_safe ? ""
			 : created->is_restricted  ? "PARALLEL RESTRICTED"
						   : "PARALLEL SAFE");
	appendStringInfoString(text, created->query);
	appendStringInfoString(text, "; END");
}

static void create(const struct ifp_sqlgen_index *sqlgen, const struct created *created)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text, "CREATE OR REPLACE FUNCTION %s.%s(", sqlgen->schema, quote_identifier(created->name));
	add_arguments(&text, created);
	appendStringInfoString(&text, ") RETURNS TABLE(");
	for (int i = 0; i < created->columns->natts; i++) {
		Form_pg_attribute column = TupleDescAttr(created->columns, i);

		appendStringInfo(&text, "%s%s %s", i > 0 ? ", " : "", quote_identifier(NameStr(column->attname)),
				 format_type_be_qualified(column->atttypid));
	}
	appendStringInfoChar(&text, ')');
	add_body(&text, sqlgen, created);
	run(text.data);
	run(psprintf("COMMENT ON FUNCTION %s IS %s", signature(sqlgen, created), comment_of(sqlgen, created->comment)));
}

/* ---- existing functions ---- */

static bool is_same(HeapTuple tuple, Oid schema, const struct created *created)
{
	Form_pg_proc function = (Form_pg_proc)GETSTRUCT(tuple);
	bool no_types, no_names;
	Datum types = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_proallargtypes, &no_types);
	Datum names = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_proargnames, &no_names);

	return function->pronamespace == schema && strcmp(NameStr(function->proname), created->name) == 0 && !no_types &&
	       !no_names &&
	       datumIsEqual(PointerGetDatum(PG_DETOAST_DATUM(types)), PointerGetDatum(created->all_types), false, -1) &&
	       datumIsEqual(PointerGetDatum(PG_DETOAST_DATUM(names)), PointerGetDatum(created->all_names), false, -1);
}

static void drop_unless_same(Oid oid, Oid schema, const struct created *created, int n)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(oid));
	bool same = false;

	if (!HeapTupleIsValid(tuple))
		return;
	for (int i = 0; i < n; i++)
		same = same || is_same(tuple, schema, &created[i]);
	ReleaseSysCache(tuple);
	if (!same)
		run(psprintf("DROP FUNCTION %s", format_procedure_qualified(oid)));
}

/* Returns a query for the functions that depend on the index, and for those that lost the dependency in a dump, by name and
 * comment. Parts, whose names are longer, come after the functions that call them. */
static char *old_query(const struct ifp_sqlgen_index *sqlgen, Relation index, const struct created *created, int n)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text,
			 "SELECT oid FROM pg_proc WHERE oid IN (SELECT objid FROM pg_depend WHERE "
			 "classid = 'pg_proc'::regclass AND refclassid = 'pg_class'::regclass AND refobjid = %u AND "
			 "deptype = 'a') OR (pronamespace = %u AND proowner = %u AND "
			 "starts_with(obj_description(oid, 'pg_proc'), %s) AND proname IN (",
			 RelationGetRelid(index), RelationGetNamespace(index), index->rd_rel->relowner, comment_of(sqlgen, ""));
	for (int i = 0; i < n; i++)
		appendStringInfo(&text, "%s%s", i > 0 ? ", " : "", quote_literal_cstr(created[i].name));
	appendStringInfoString(&text, ")) ORDER BY length(proname)");
	return text.data;
}

/* Drops functions of the index whose columns change, which CREATE OR REPLACE cannot do. */
static void drop_old(const struct ifp_sqlgen_index *sqlgen, Relation index, const struct created *created, int n)
{
	SPITupleTable *found;
	uint64 n_found;

	if (SPI_execute(old_query(sqlgen, index, created, n), false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read pg_proc");
	found = SPI_tuptable;
	n_found = SPI_processed;
	for (uint64 i = 0; i < n_found; i++) {
		bool is_null;
		Oid oid = DatumGetObjectId(SPI_getbinval(found->vals[i], found->tupdesc, 1, &is_null));

		drop_unless_same(oid, RelationGetNamespace(index), created, n);
	}
}

/* Raises an error if a function with this name and arguments exists that does not belong to this index. Whatever its comment,
 * it does not if its owner lacks the rights of the index's owner, and might change it afterwards. */
static void refuse_to_replace(const struct ifp_sqlgen_index *sqlgen, const struct created *created, Relation index)
{
	char *name = signature(sqlgen, created);

	if (SPI_execute(psprintf("SELECT FROM pg_proc WHERE oid = to_regprocedure(%s) AND NOT (starts_with("
				 "coalesce(obj_description(oid, 'pg_proc'), ''), %s) AND pg_has_role(proowner, %u, 'USAGE')) "
				 "AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND "
				 "objid = pg_proc.oid AND refclassid = 'pg_class'::regclass AND refobjid = %u AND "
				 "deptype = 'a')",
				 quote_literal_cstr(name), comment_of(sqlgen, ""), index->rd_rel->relowner,
				 RelationGetRelid(index)),
			false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read pg_proc");
	if (SPI_processed > 0)
		ereport(ERROR, errcode(ERRCODE_DUPLICATE_FUNCTION),
			errmsg("there is a function %s, which is not of index \"%s\"", name, sqlgen->index_name),
			errhint("Rename the index, or the function."));
}

/* Raises an error if the function calls one in the extension's schema that is not the extension's own. Names are resolved when the
 * function is created. A user who may create functions in that schema could add an overload that fits the types better, and it
 * would run with the rights of whoever calls the function of the index. */
static void refuse_overloads(const struct ifp_sqlgen_index *sqlgen, const struct created *created, Oid extension)
{
	char *query = psprintf("SELECT used.oid, used.oid::regprocedure::text FROM pg_proc used, pg_depend WHERE "
			       "classid = 'pg_proc'::regclass AND objid = to_regprocedure(%s) AND "
			       "refclassid = 'pg_proc'::regclass AND refobjid = used.oid AND (proname, pronamespace) IN "
			       "(SELECT proname, pronamespace FROM pg_proc, pg_depend WHERE "
			       "classid = 'pg_proc'::regclass AND objid = pg_proc.oid AND "
			       "refclassid = 'pg_extension'::regclass AND refobjid = %u AND deptype = 'e')",
			       quote_literal_cstr(signature(sqlgen, created)), extension);

	if (SPI_execute(query, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read pg_depend");
	for (uint64 i = 0; i < SPI_processed; i++) {
		bool is_null;
		Datum used = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &is_null);

		if (!ifp_own_function(DatumGetObjectId(used)))
			ereport(ERROR, errcode(ERRCODE_AMBIGUOUS_FUNCTION),
				errmsg("function %s would be called in the place of one of the extension's",
				       SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2)),
				errhint("Drop or rename it, and let nobody else create functions in the extension's schema."));
	}
}

/* Makes the function depend on the index. */
static void depend(const struct ifp_sqlgen_index *sqlgen, const struct created *created, Relation index)
{
	Oid oid = DatumGetObjectId(DirectFunctionCall1(to_regprocedure, CStringGetTextDatum(signature(sqlgen, created))));
	ObjectAddress function, on;

	ObjectAddressSet(function, ProcedureRelationId, oid);
	ObjectAddressSet(on, RelationRelationId, RelationGetRelid(index));
	recordDependencyOn(&function, &on, DEPENDENCY_AUTO);
}

/* own: a function of the extension, which identifies its schema. Returns the signatures of all functions but parts. */
static ArrayType *create_all(Relation heap, Relation index, Oid own)
{
	struct ifp_sqlgen_index *sqlgen = palloc(sizeof *sqlgen);
	struct created created[MOST_FUNCTIONS];
	MemoryContext caller = CurrentMemoryContext, before;
	Datum signatures[MOST_FUNCTIONS];
	Oid extension = getExtensionOfObject(ProcedureRelationId, own);
	ArrayType *result;
	int n, n_signatures = 0;

	read_sqlgen_index(heap, index, get_func_namespace(own), sqlgen);
	SPI_connect();
	n = new_functions(sqlgen, created);
	drop_old(sqlgen, index, created, n);
	for (int i = 0; i < n; i++) {
		/* shards have no parts to be called */
		if (sqlgen->distributed && created[i].is_part)
			continue;
		refuse_to_replace(sqlgen, &created[i], index);
		create(sqlgen, &created[i]);
		refuse_overloads(sqlgen, &created[i], extension);
		depend(sqlgen, &created[i], index);
		if (!created[i].is_part)
			signatures[n_signatures++] = CStringGetTextDatum(signature(sqlgen, &created[i]));
	}
	before = MemoryContextSwitchTo(caller);
	result = construct_array(signatures, n_signatures, TEXTOID, -1, false, TYPALIGN_INT);
	MemoryContextSwitchTo(before);
	SPI_finish();
	return result;
}

Datum iforest_create_index_functions(PG_FUNCTION_ARGS)
{
	Oid oid = PG_GETARG_OID(0);
	struct ifp_owner_context caller;
	Relation heap, index;
	ArrayType *result;

	index = ifp_open_valid_or_partitioned_index(oid, AccessShareLock, &heap);
	if (!ifp_owns_class(oid))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, RelationGetRelationName(index));
	/* the functions contain the owner's expressions, and must not belong to a user with other rights */
	caller = ifp_become_owner(heap);
	(void)ifp_neutral_settings();
	result = create_all(heap, index, fcinfo->flinfo->fn_oid);
	ifp_leave_owner(&caller);
	ifp_close_index(index, heap, AccessShareLock);
	PG_RETURN_ARRAYTYPE_P(result);
}

IFP_SQL_FUNCTION(iforest_follow_rename);

/* ---- ALTER TABLE ... RENAME COLUMN ----
 *
 * Storage parameters that name columns are kept as text, and dumped as such, so they must follow a rename. This is an event
 * trigger and no hook: renaming a column opens no index, so the library may not be loaded. */

/* True if the name was that of the column, which already has the new one. */
static bool was_renamed(Relation index, const struct ifp_name *name, const RenameStmt *rename)
{
	if (strcmp(name->written, rename->subname) == 0)
		return true;
	return name->otherwise && strcmp(name->otherwise, rename->subname) == 0 && ifp_value_named(index, name->written) < 0;
}

static void add_name(Relation index, List **parameters, const char *parameter, const char *text, const RenameStmt *rename)
{
	struct ifp_name name;

	if (!text)
		return;
	name = ifp_name_of(text);
	if (was_renamed(index, &name, rename))
		*parameters = lappend(*parameters, makeDefElem(pstrdup(parameter), (Node *)makeString(rename->newname), -1));
}

/* Separators between names, and numbers in parentheses (core/model/kind.h), are copied unchanged. */
static void add_names(Relation index, List **parameters, const char *parameter, const char *text, const RenameStmt *rename)
{
	StringInfoData by_now;
	struct ifp_name name;
	bool is_other = false;

	if (!text)
		return;
	initStringInfo(&by_now);
	while (*text) {
		const char *start = text;

		if (*text == '(') {
			text += strcspn(text, ")");
			appendBinaryStringInfo(&by_now, start, (int)(text - start));
		} else if (!ifp_read_name(&text, &name)) {
			appendStringInfoChar(&by_now, *text++);
		} else if (was_renamed(index, &name, rename)) {
			appendStringInfoString(&by_now, quote_identifier(rename->newname));
			is_other = true;
		} else {
			appendBinaryStringInfo(&by_now, start, (int)(text - start));
		}
	}
	if (is_other)
		*parameters = lappend(*parameters, makeDefElem(pstrdup(parameter), (Node *)makeString(by_now.data), -1));
}

/* Returns the parameters that named the column, with its new name, as DefElems. */
static List *parameters_by_now(Relation index, const RenameStmt *rename)
{
	const struct ifp_options *options = (const struct ifp_options *)index->rd_options;
	List *parameters = NIL;

	add_name(index, &parameters, "duration", ifp_option_string(options, duration), rename);
	add_name(index, &parameters, "end", ifp_option_string(options, end), rename);
	for (int k = 0; k < IFOREST_N_KINDS; k++)
		add_names(index, &parameters, iforest_kinds[k].option, ifp_option_string(options, kinds[k]), rename);
	add_names(index, &parameters, "sketch", ifp_option_string(options, sketch), rename);
	add_names(index, &parameters, "distinct", ifp_option_string(options, distinct), rename);
	return parameters;
}

/* Sets parameters as ALTER INDEX does, also of a partitioned index, which that refuses. */
static void set_parameters(Oid index, List *parameters)
{
	Relation classes = table_open(RelationRelationId, RowExclusiveLock);
	HeapTuple tuple = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(index));
	int column = Anum_pg_class_reloptions;
	bool is_null;
	Datum texts = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &is_null);

	texts = transformRelOptions(is_null ? (Datum)0 : texts, parameters, NULL, NULL, false, false);
	is_null = false;
	tuple = heap_modify_tuple_by_cols(tuple, RelationGetDescr(classes), 1, &column, &texts, &is_null);
	CatalogTupleUpdate(classes, &tuple->t_self, tuple);
	table_close(classes, RowExclusiveLock);
}

/* A weak lock on the index suffices: readers lock its table first, which is locked, and commands on the index come before or
 * after. */
static void follow_in_index(Oid oid, const RenameStmt *rename)
{
	Relation index = index_open(oid, AccessShareLock);
	List *parameters = NIL;

	if (index->rd_indam->ambuild == ifp_build) {
		LockRelation(index, ShareUpdateExclusiveLock);
		if (ifp_value_named(index, rename->newname) >= 0 || ifp_is_time_named(index, rename->newname))
			parameters = parameters_by_now(index, rename);
	}
	if (parameters)
		set_parameters(oid, parameters);
	index_close(index, NoLock);
}

static void follow_in_table(Oid table, const RenameStmt *rename)
{
	Relation heap = relation_open(table, NoLock);
	List *indexes = RelationGetIndexList(heap);
	ListCell *cell;

	foreach (cell, indexes)
		follow_in_index(lfirst_oid(cell), rename);
	list_free(indexes);
	relation_close(heap, NoLock);
}

/* Tables that inherit the column have it under the same name, and are locked by the rename. */
static void follow(const RenameStmt *rename)
{
	Oid table = RangeVarGetRelid(rename->relation, NoLock, true);
	ListCell *cell;

	if (!OidIsValid(table))
		return;
	foreach (cell, find_all_inheritors(table, NoLock, NULL))
		follow_in_table(lfirst_oid(cell), rename);
}

Datum iforest_follow_rename(PG_FUNCTION_ARGS)
{
	Node *command;

	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR, errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
			errmsg("iforest_follow_rename() is for an event trigger"));
	command = ((EventTriggerData *)fcinfo->context)->parsetree;
	if (IsA(command, RenameStmt) && castNode(RenameStmt, command)->renameType == OBJECT_COLUMN)
		follow(castNode(RenameStmt, command));
	PG_RETURN_NULL();
}
