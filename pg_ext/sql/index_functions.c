#include "pg_ext/sql/sqlgen.h"

#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "pg_ext/types/definition_slice.h"
#include "pg_ext/storage/index.h"
#include "pg_ext/types/definition.h"
#include "pg_ext/planner/overlap_index.h"
#include "pg_ext/sql/function_index.h"

/* A column of the table under the name that it has now. */
static struct iforest_sqlgen_column read_column(Relation heap, Relation index, int number)
{
	AttrNumber attribute = index->rd_index->indkey.values[number - 1];
	Form_pg_attribute column = TupleDescAttr(RelationGetDescr(index), number - 1);

	return (struct iforest_sqlgen_column){
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
	return OidIsValid(
		LookupFuncName(list_make2(makeString(get_namespace_name(extension_schema)), makeString(name)), -1, NULL, true));
}

void iforest_functions_read(Relation heap, Relation index, Oid extension_schema,
			    struct iforest_functions *functions)
{
	int n_keys = IndexRelationGetNumberOfKeyAttributes(index), n = IndexRelationGetNumberOfAttributes(index);

	*functions = (struct iforest_functions){
		.index_name = RelationGetRelationName(index), .extension = quoted_schema(extension_schema),
		.schema = quoted_schema(RelationGetNamespace(index)),
		.table = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(heap)),
						    RelationGetRelationName(heap)),
		.predicate = iforest_predicate_text(heap, index),
		.is_temporary = index->rd_rel->relpersistence == RELPERSISTENCE_TEMP,
		.is_partitioned = index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX,
		.n_by = n_keys - 1, .n_values = n - n_keys };
	functions->columns = OidOutputFunctionCall(F_ARRAY_OUT, PointerGetDatum(iforest_column_texts(heap, index)));
	functions->is_parallel_safe = !functions->predicate;
	for (int i = 1; i <= n; i++) {
		struct iforest_sqlgen_column column = read_column(heap, index, i);

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
	functions->is_carried = has_function(extension_schema, "iforest_last_row");
	functions->is_overlap_filled = has_function(extension_schema, "iforest_overlap_index");
	functions->is_overlap_read &= functions->is_overlap_filled;
}
