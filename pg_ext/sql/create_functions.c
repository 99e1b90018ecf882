#include "pg_ext/sql/index_info.h"

#include "catalog/dependency.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "pg_ext/sql/sqlgen.h"
#include "pg_ext/planner/overlap_index.h"
#include "pg_ext/sql/function_index.h"
#include "pg_ext/sql/sqlgen_overlap.h"

IFOREST_SQL_FUNCTION(iforest_create_index_functions);

enum { MOST_ARGUMENTS = 6, MOST_FUNCTIONS = 5 };

/* A function to be. */
struct created {
	char *name;
	const char *comment;
	char *query;
	int n_arguments;
	Oid argument_types[MOST_ARGUMENTS];
	bool is_restricted;                 /* reads a temporary table, or an index by itself, which may be of one */
	bool is_part;                       /* of the next one */
	TupleDesc columns;
	ArrayType *all_types, *all_names;   /* as pg_proc has them */
};

static const char *const argument_names[MOST_ARGUMENTS] = { "t0", "t1", "n", "step", "origin", "fill" };

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

/* The next one. Its columns are those of the query, unless they are given. */
static struct created *new_function(const struct iforest_functions *functions, const char *suffix, int n_arguments, char *query,
				    TupleDesc columns, const char *comment, struct created *created)
{
	const Oid types[MOST_ARGUMENTS] = { functions->time_type, functions->time_type, INT8OID, functions->step_type,
					    functions->time_type, TEXTOID };

	*created = (struct created){ .name = psprintf("%s%s", functions->index_name, suffix), .query = query,
				     .comment = comment, .n_arguments = n_arguments };
	memcpy(created->argument_types, types, sizeof types);
	if (strlen(created->name) >= NAMEDATALEN)
		ereport(ERROR, errcode(ERRCODE_NAME_TOO_LONG),
			errmsg("the functions of index \"%s\" would have a name that is too long", functions->index_name),
			errdetail("\"%s\"", created->name), errhint("Give the index or the column a shorter name."));
	created->columns = columns ? columns : columns_of(functions, query, created);
	created->is_part = strstr(suffix, IFOREST_WINDOW_FILL) != NULL;
	created->is_restricted = functions->is_temporary || (functions->is_overlap_read &&
				 strncmp(suffix, IFOREST_OVERLAP, strlen(IFOREST_OVERLAP)) == 0);
	describe(created);
	return created;
}

static int new_window_functions(const struct iforest_functions *functions, struct created *created)
{
	TupleDesc columns = NULL;
	int n = 0;

	if (functions->is_carried)
		columns = new_function(functions, IFOREST_WINDOW_FILL, 6, iforest_window_fill_query(functions), NULL,
				       "the part with fill => 'last' and 'linear'", &created[n++])->columns;
	new_function(functions, "", 6, iforest_window_query(functions, columns), columns,
		     "sums of the index by series, of a window or in buckets", &created[n++]);
	return n;
}

static int new_overlap_functions(const struct iforest_functions *functions, struct created *created)
{
	int n_arguments = functions->is_overlap_filled ? 6 : 5, n = 0;
	struct created table;
	TupleDesc columns;

	columns = new_function(functions, IFOREST_OVERLAP, n_arguments, iforest_overlap_query(functions), NULL, NULL,
			       &table)->columns;
	if (functions->is_overlap_filled)
		new_function(functions, IFOREST_OVERLAP_FILL, n_arguments, iforest_overlap_fill_query(functions, columns),
			     columns, "the part with fill => 'null' and 'zero'", &created[n++]);
	new_function(functions, IFOREST_OVERLAP, n_arguments, iforest_overlap_by_index(functions, columns), columns,
		     "spans that overlap a window or its buckets: how many, their time inside, the longest", &created[n++]);
	return n;
}

/* A part stands before the function that it is of. */
static int new_functions(const struct iforest_functions *functions, struct created *created)
{
	int n = new_window_functions(functions, created);

	new_function(functions, "_rows", 2, iforest_rows_query(functions), NULL, "rows that reach into a window",
		     &created[n++]);
	if (functions->length >= 0 && (!functions->is_partitioned || functions->is_overlap_filled))
		n += new_overlap_functions(functions, &created[n]);
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

/* What is said of each of them. */
static char *comment_of(const struct iforest_functions *functions, const char *comment)
{
	return quote_literal_cstr(psprintf("iforest index %s: %s", functions->index_name, comment));
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
	run(psprintf("COMMENT ON FUNCTION %s IS %s", signature(functions, created), comment_of(functions, created->comment)));
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

/* Those that go with the index; and those that a dump has parted from it, by their names and comments. Parts, whose names are
 * longer, come after those that need them. */
static char *old_query(const struct iforest_functions *functions, Relation index, const struct created *created, int n)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text, "SELECT oid FROM pg_proc WHERE oid IN (SELECT objid FROM pg_depend WHERE "
				"classid = 'pg_proc'::regclass AND refclassid = 'pg_class'::regclass AND refobjid = %u AND "
				"deptype = 'a') OR (pronamespace = %u AND proowner = %u AND "
				"starts_with(obj_description(oid, 'pg_proc'), %s) AND proname IN (",
			 RelationGetRelid(index), RelationGetNamespace(index), index->rd_rel->relowner,
			 comment_of(functions, ""));
	for (int i = 0; i < n; i++)
		appendStringInfo(&text, "%s%s", i > 0 ? ", " : "", quote_literal_cstr(created[i].name));
	appendStringInfoString(&text, ")) ORDER BY length(proname)");
	return text.data;
}

/* Functions of the index that would not be as they are. CREATE OR REPLACE cannot give others columns to a function. */
static void drop_old(const struct iforest_functions *functions, Relation index, const struct created *created, int n)
{
	SPITupleTable *found;
	uint64 n_found;

	if (SPI_execute(old_query(functions, index, created, n), false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read pg_proc");
	found = SPI_tuptable;
	n_found = SPI_processed;
	for (uint64 i = 0; i < n_found; i++) {
		bool is_null;
		Oid oid = DatumGetObjectId(SPI_getbinval(found->vals[i], found->tupdesc, 1, &is_null));

		drop_unless_same(oid, RelationGetNamespace(index), created, n);
	}
}

/* A function of that name and these arguments that is not of this index is not replaced: it may be a part of another's. Nor is
 * one whose owner lacks the rights of the index's, and might change it afterwards, whatever its comment says. */
static void refuse_to_replace(const struct iforest_functions *functions, const struct created *created, Relation index)
{
	char *name = signature(functions, created);

	if (SPI_execute(psprintf("SELECT FROM pg_proc WHERE oid = to_regprocedure(%s) AND NOT (starts_with("
				 "coalesce(obj_description(oid, 'pg_proc'), ''), %s) AND pg_has_role(proowner, %u, 'USAGE')) "
				 "AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND "
				 "objid = pg_proc.oid AND refclassid = 'pg_class'::regclass AND refobjid = %u AND "
				 "deptype = 'a')",
				 quote_literal_cstr(name), comment_of(functions, ""), index->rd_rel->relowner,
				 RelationGetRelid(index)),
			false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read pg_proc");
	if (SPI_processed > 0)
		ereport(ERROR, errcode(ERRCODE_DUPLICATE_FUNCTION),
			errmsg("there is a function %s, which is not of index \"%s\"", name, functions->index_name),
			errhint("Rename the index, or the function."));
}

/* Names are looked up when a function is made. Who may create functions in the extension's schema may make one of the same name
 * that suits the types better: it would run with the rights of whoever calls the function of the index. */
static void refuse_overloads(const struct iforest_functions *functions, const struct created *created, Oid extension)
{
	char *query = psprintf("WITH own AS (SELECT pg_proc.oid, proname, pronamespace FROM pg_proc, pg_depend WHERE "
			       "classid = 'pg_proc'::regclass AND objid = pg_proc.oid AND "
			       "refclassid = 'pg_extension'::regclass AND refobjid = %u AND deptype = 'e') "
			       "SELECT used.oid::regprocedure::text FROM pg_proc used, pg_depend WHERE "
			       "classid = 'pg_proc'::regclass AND objid = to_regprocedure(%s) AND "
			       "refclassid = 'pg_proc'::regclass AND refobjid = used.oid AND (proname, pronamespace) IN "
			       "(SELECT proname, pronamespace FROM own) AND used.oid NOT IN (SELECT oid FROM own) LIMIT 1",
			       extension, quote_literal_cstr(signature(functions, created)));

	if (SPI_execute(query, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read pg_depend");
	if (SPI_processed > 0)
		ereport(ERROR, errcode(ERRCODE_AMBIGUOUS_FUNCTION),
			errmsg("function %s would be called in the place of one of the extension's",
			       SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1)),
			errhint("Drop or rename it, and let nobody else create functions in the extension's schema."));
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

/* own: a function of the extension */
static ArrayType *create_all(Relation heap, Relation index, Oid own)
{
	struct iforest_functions *functions = palloc(sizeof *functions);
	struct created created[MOST_FUNCTIONS];
	MemoryContext caller = CurrentMemoryContext, before;
	Datum signatures[MOST_FUNCTIONS];
	Oid extension = getExtensionOfObject(ProcedureRelationId, own);
	ArrayType *result;
	int n, n_signatures = 0;

	iforest_functions_read(heap, index, get_func_namespace(own), functions);
	SPI_connect();
	n = new_functions(functions, created);
	drop_old(functions, index, created, n);
	for (int i = 0; i < n; i++) {
		refuse_to_replace(functions, &created[i], index);
		create(functions, &created[i]);
		refuse_overloads(functions, &created[i], extension);
		depend(functions, &created[i], index);
		if (!created[i].is_part)
			signatures[n_signatures++] = CStringGetTextDatum(signature(functions, &created[i]));
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
	Relation heap, index;
	ArrayType *result;
	int level;

	index = iforest_open_named_or_partitioned(oid, AccessShareLock, &heap);
	if (!iforest_owns_class(oid))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, RelationGetRelationName(index));
	level = iforest_neutral_settings();
	result = create_all(heap, index, fcinfo->flinfo->fn_oid);
	AtEOXact_GUC(true, level);
	iforest_close_named(index, heap, AccessShareLock);
	PG_RETURN_ARRAYTYPE_P(result);
}
