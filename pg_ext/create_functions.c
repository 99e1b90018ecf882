#include "pg_ext/functions.h"

#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
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
#include "utils/syscache.h"

#include "pg_ext/definition.h"
#include "pg_ext/function_texts.h"
#include "pg_ext/index.h"
#include "pg_ext/options.h"
#include "pg_ext/overlap_index.h"

PG_FUNCTION_INFO_V1(iforest_create_index_functions);

enum { MOST_ARGUMENTS = 6, MOST_FUNCTIONS = 3 };

/* A function to be. */
struct created {
	char *name;
	const char *comment;
	char *query;
	int n_arguments;
	Oid argument_types[MOST_ARGUMENTS];
	bool is_restricted;                 /* reads an index by itself, which may be a temporary one */
	TupleDesc columns;
	ArrayType *all_types, *all_names;   /* as pg_proc has them */
};

static const char overlap_suffix[] = "_overlap";
static const char *const argument_names[MOST_ARGUMENTS] = { "t0", "t1", "n", "step", "origin", "fill" };

/* ---- the index ---- */

/* A column of the table under the name that it has now. */
static struct iforest_column read_column(Relation heap, Relation index, int number)
{
	AttrNumber attribute = index->rd_index->indkey.values[number - 1];
	Form_pg_attribute column = TupleDescAttr(RelationGetDescr(index), number - 1);

	return (struct iforest_column){
		.name = attribute ? get_attname(RelationGetRelid(heap), attribute, false) : pstrdup(NameStr(column->attname)),
		.expression = iforest_column_expression(RelationGetRelid(index), number),
		.type = getBaseType(column->atttypid) };
}

static void read_types(Relation index, struct iforest_functions *functions)
{
	switch (functions->time.type) {
	case INT2OID:
	case INT4OID:
	case INT8OID:
		functions->time_type = functions->step_type = INT8OID;
		break;
	case DATEOID:
		functions->time_type = DATEOID;
		functions->step_type = INT4OID;
		break;
	case TIMESTAMPOID:
	case TIMESTAMPTZOID:
		functions->time_type = functions->time.type;
		functions->step_type = INTERVALOID;
		break;
	default:
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("index \"%s\" has times of type %s, for which there are no functions",
			       RelationGetRelationName(index), format_type_be(functions->time.type)),
			errhint("Times of integer types, date and timestamps have them."));
	}
}

/* What the nodes of the index keep, which need not be what its parameters say by now. A partitioned index has no nodes. */
static struct iforest_fields fields_of(Relation heap, Relation relation)
{
	struct iforest_definition definition;
	struct iforest_fields fields;
	struct iforest_index *index;

	if (relation->rd_rel->relkind == RELKIND_PARTITIONED_INDEX) {
		iforest_definition_read(relation, &definition);
		iforest_definition_check(heap, relation, &definition, &fields);
		return fields;
	}
	index = palloc(sizeof *index);
	iforest_index_open(index, relation);
	iforest_index_refresh(index);
	return index->manifest.fields;
}

static void read_fields(Relation heap, Relation index, struct iforest_functions *functions)
{
	static const char *const units[IFOREST_END_RULES] = { [IFOREST_END_PER_1000] = "'ns'",
							      [IFOREST_END_TIMES_1000] = "'ms'",
							      [IFOREST_END_TIMES_1000000] = "'s'" };
	struct iforest_fields fields = fields_of(heap, index);

	functions->squares = fields.squares;
	functions->length = fields.duration_value == IFOREST_NO_VALUE ? -1 : fields.duration_value;
	functions->is_end = fields.end_rule == IFOREST_END_COLUMN;
	functions->is_overlap_read = functions->length >= 0 && fields.end_rule == IFOREST_END_DURATION;
	functions->unit = units[fields.end_rule];
}

static const char *quoted_schema(Oid namespace)
{
	return quote_identifier(get_namespace_name(namespace));
}

/* An extension that was not updated yet lacks what later versions brought. */
static bool has_function(Oid extension_schema, char *name)
{
	return OidIsValid(LookupFuncName(list_make2(makeString(get_namespace_name(extension_schema)), makeString(name)), -1, NULL,
					 true));
}

static void read_index(Relation heap, Relation index, Oid extension_schema, struct iforest_functions *functions)
{
	int n_keys = IndexRelationGetNumberOfKeyAttributes(index), n = IndexRelationGetNumberOfAttributes(index);

	*functions = (struct iforest_functions){
		.index_name = RelationGetRelationName(index), .extension = quoted_schema(extension_schema),
		.schema = quoted_schema(RelationGetNamespace(index)),
		.table = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(heap)),
						    RelationGetRelationName(heap)),
		.predicate = iforest_predicate_text(heap, index),
		.is_partitioned = index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX,
		.n_by = n_keys - 1, .n_values = n - n_keys };
	functions->columns = OidOutputFunctionCall(F_ARRAY_OUT, PointerGetDatum(iforest_column_texts(heap, index)));
	functions->is_parallel_safe = !functions->predicate;
	for (int i = 1; i <= n; i++) {
		struct iforest_column column = read_column(heap, index, i);

		if (i < n_keys)
			functions->by[i - 1] = column;
		else if (i == n_keys)
			functions->time = column;
		else
			functions->values[i - n_keys - 1] = column;
		functions->is_parallel_safe &= index->rd_index->indkey.values[i - 1] != 0;
	}
	read_types(index, functions);
	read_fields(heap, index, functions);
	functions->is_overlap_read &= has_function(extension_schema, "iforest_overlap_index");
	functions->is_carried = has_function(extension_schema, "iforest_last_row");
}

/* ---- a function ---- */

/* What pg_proc will say of arguments and columns. */
static void describe(struct created *created)
{
	int n_arguments = created->n_arguments, n = n_arguments + created->columns->natts;
	Datum *types = palloc(n * sizeof *types), *names = palloc(n * sizeof *names);

	for (int i = 0; i < n; i++) {
		Form_pg_attribute column = i < n_arguments ? NULL : TupleDescAttr(created->columns, i - n_arguments);

		types[i] = ObjectIdGetDatum(column ? column->atttypid : created->argument_types[i]);
		names[i] = CStringGetTextDatum(column ? NameStr(column->attname) : argument_names[i]);
	}
	created->all_types = construct_array(types, n, OIDOID, sizeof(Oid), true, TYPALIGN_INT);
	created->all_names = construct_array(names, n, TEXTOID, -1, false, TYPALIGN_INT);
}

static TupleDesc columns_of(const struct iforest_functions *functions, const char *query, const struct created *created)
{
	SPIPlanPtr plan = SPI_prepare(query, created->n_arguments, (Oid *)created->argument_types);
	TupleDesc columns;

	if (!plan)
		elog(ERROR, "could not prepare a function of index \"%s\": %s", functions->index_name,
		     SPI_result_code_string(SPI_result));
	columns = CreateTupleDescCopy(linitial_node(CachedPlanSource, SPI_plan_get_plan_sources(plan))->resultDesc);
	SPI_freeplan(plan);
	return columns;
}

static void new_function(const struct iforest_functions *functions, const char *suffix, int n_arguments, char *query,
			 const char *comment, struct created *created)
{
	bool is_overlap = strcmp(suffix, overlap_suffix) == 0;
	const Oid types[MOST_ARGUMENTS] = { functions->time_type, functions->time_type, INT8OID, functions->step_type,
					    functions->time_type, TEXTOID };

	*created = (struct created){ .name = psprintf("%s%s", functions->index_name, suffix), .query = query,
				     .comment = comment, .n_arguments = n_arguments };
	memcpy(created->argument_types, types, sizeof types);
	if (strlen(created->name) >= NAMEDATALEN)
		ereport(ERROR, errcode(ERRCODE_NAME_TOO_LONG),
			errmsg("the functions of index \"%s\" would have a name that is too long", functions->index_name),
			errdetail("\"%s\"", created->name), errhint("Give the index or the column a shorter name."));
	created->columns = columns_of(functions, query, created);
	if (is_overlap && functions->is_overlap_read)
		created->query = iforest_overlap_by_index(functions, query, created->columns);
	created->is_restricted = is_overlap && functions->is_overlap_read;
	describe(created);
}

static int new_functions(const struct iforest_functions *functions, struct created *created)
{
	int n = 0;

	new_function(functions, "", 6, iforest_window_query(functions),
		     "sums of the index by series, of a window or in buckets", &created[n++]);
	new_function(functions, "_rows", 2, iforest_rows_query(functions), "rows that reach into a window", &created[n++]);
	if (functions->length >= 0 && !functions->is_partitioned)
		new_function(functions, overlap_suffix, 5, iforest_overlap_query(functions),
			     "spans that overlap a window or its buckets: how many, their time inside, the longest",
			     &created[n++]);
	return n;
}

static const char *open_bound(Oid type, bool is_end)
{
	if (type == INT8OID)
		return is_end ? "9223372036854775807" : "'-9223372036854775808'";
	return is_end ? "'infinity'" : "'-infinity'";
}

/* schema.name(types). */
static char *signature(const struct iforest_functions *functions, const struct created *created)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text, "%s.%s(", functions->schema, quote_identifier(created->name));
	for (int i = 0; i < created->n_arguments; i++)
		appendStringInfo(&text, "%s%s", i > 0 ? ", " : "", format_type_be(created->argument_types[i]));
	appendStringInfoChar(&text, ')');
	return text.data;
}

static void add_arguments(StringInfo text, const struct created *created)
{
	for (int i = 0; i < created->n_arguments; i++) {
		Oid type = created->argument_types[i];

		appendStringInfo(text, "%s%s %s DEFAULT %s", i > 0 ? ", " : "", argument_names[i], format_type_be(type),
				 i < 2 ? open_bound(type, i == 1) : "NULL");
	}
}

static void run(const char *command)
{
	int result = SPI_execute(command, false, 0);

	if (result < 0)
		elog(ERROR, "%s: %s", SPI_result_code_string(result), command);
}

static void create(const struct iforest_functions *functions, const struct created *created)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text, "CREATE OR REPLACE FUNCTION %s.%s(", functions->schema, quote_identifier(created->name));
	add_arguments(&text, created);
	appendStringInfoString(&text, ") RETURNS TABLE(");
	for (int i = 0; i < created->columns->natts; i++) {
		Form_pg_attribute column = TupleDescAttr(created->columns, i);

		appendStringInfo(&text, "%s%s %s", i > 0 ? ", " : "", quote_identifier(NameStr(column->attname)),
				 format_type_be_qualified(column->atttypid));
	}
	appendStringInfo(&text, ") LANGUAGE sql STABLE %s BEGIN ATOMIC ",
			 !functions->is_parallel_safe ? "" : created->is_restricted ? "PARALLEL RESTRICTED" : "PARALLEL SAFE");
	appendStringInfoString(&text, created->query);
	appendStringInfoString(&text, "; END");
	run(text.data);
	run(psprintf("COMMENT ON FUNCTION %s IS %s", signature(functions, created),
		     quote_literal_cstr(psprintf("iforest index %s: %s", functions->index_name, created->comment))));
}

/* ---- those that there are ---- */

static bool is_same(HeapTuple tuple, Oid schema, const struct created *created)
{
	Form_pg_proc function = (Form_pg_proc) GETSTRUCT(tuple);
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

/* Functions of the index that would not be as they are. CREATE OR REPLACE cannot give others columns to a function. */
static void drop_old(Relation index, const struct created *created, int n)
{
	Oid argument_type = OIDOID;
	Datum argument = ObjectIdGetDatum(RelationGetRelid(index));
	SPITupleTable *found;
	uint64 n_found;

	if (SPI_execute_with_args("SELECT objid FROM pg_depend WHERE classid = 'pg_proc'::regclass AND "
				  "refclassid = 'pg_class'::regclass AND refobjid = $1 AND deptype = 'a'",
				  1, &argument_type, &argument, NULL, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read pg_depend");
	found = SPI_tuptable;
	n_found = SPI_processed;
	for (uint64 i = 0; i < n_found; i++) {
		bool is_null;
		Oid oid = DatumGetObjectId(SPI_getbinval(found->vals[i], found->tupdesc, 1, &is_null));

		drop_unless_same(oid, RelationGetNamespace(index), created, n);
	}
}

/* They go with the index. */
static void depend(const struct iforest_functions *functions, const struct created *created, Relation index)
{
	Oid oid = DatumGetObjectId(DirectFunctionCall1(to_regprocedure, CStringGetTextDatum(signature(functions, created))));
	ObjectAddress function, on;

	ObjectAddressSet(function, ProcedureRelationId, oid);
	ObjectAddressSet(on, RelationRelationId, RelationGetRelid(index));
	recordDependencyOn(&function, &on, DEPENDENCY_AUTO);
}

static ArrayType *create_all(Relation heap, Relation index, Oid extension_schema)
{
	struct iforest_functions *functions = palloc(sizeof *functions);
	struct created created[MOST_FUNCTIONS];
	MemoryContext caller = CurrentMemoryContext, before;
	Datum signatures[MOST_FUNCTIONS];
	ArrayType *result;
	int n;

	read_index(heap, index, extension_schema, functions);
	SPI_connect();
	n = new_functions(functions, created);
	drop_old(index, created, n);
	for (int i = 0; i < n; i++) {
		create(functions, &created[i]);
		depend(functions, &created[i], index);
		signatures[i] = CStringGetTextDatum(signature(functions, &created[i]));
	}
	before = MemoryContextSwitchTo(caller);
	result = construct_array(signatures, n, TEXTOID, -1, false, TYPALIGN_INT);
	MemoryContextSwitchTo(before);
	SPI_finish();
	return result;
}

Datum iforest_create_index_functions(PG_FUNCTION_ARGS)
{
	Oid oid = PG_GETARG_OID(0);
	Relation heap, index;
	ArrayType *result;
	int level;

	index = iforest_open_named_or_partitioned(oid, AccessShareLock, &heap);
	if (!iforest_owns_class(oid))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, RelationGetRelationName(index));
	level = iforest_narrow_search_path();
	result = create_all(heap, index, get_func_namespace(fcinfo->flinfo->fn_oid));
	AtEOXact_GUC(true, level);
	iforest_close_named(index, heap, AccessShareLock);
	PG_RETURN_ARRAYTYPE_P(result);
}
