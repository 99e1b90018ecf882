#include "pg_ext/types/definition.h"

#include "access/nbtree.h"
#include "access/reloptions.h"
#include "access/transam.h"
#include "commands/defrem.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"
#include "utils/varlena.h"
#include "parser/scansup.h"

/* ---- storage parameters ---- */

static relopt_kind parameters;

static relopt_enum_elt_def units[] = { { "", IFP_UNIT_OF_TIME }, { "ns", IFP_UNIT_NS }, { "us", IFP_UNIT_US },
				       { "ms", IFP_UNIT_MS },	 { "s", IFP_UNIT_S },	{ NULL, 0 } };

enum { N_OTHER_ELEMENTS = 7 };

/* The options of kinds are appended when they are registered. */
static relopt_parse_elt elements[N_OTHER_ELEMENTS + IFOREST_N_KINDS] = {
	{ .optname = "duration", .opttype = RELOPT_TYPE_STRING, .offset = offsetof(struct ifp_options, duration) },
	{ .optname = "end", .opttype = RELOPT_TYPE_STRING, .offset = offsetof(struct ifp_options, end) },
	{ .optname = "sketch", .opttype = RELOPT_TYPE_STRING, .offset = offsetof(struct ifp_options, sketch) },
	{ .optname = "distinct", .opttype = RELOPT_TYPE_STRING, .offset = offsetof(struct ifp_options, distinct) },
	{ .optname = "duration_unit", .opttype = RELOPT_TYPE_ENUM, .offset = offsetof(struct ifp_options, duration_unit) },
	{ .optname = "pending_pages", .opttype = RELOPT_TYPE_INT, .offset = offsetof(struct ifp_options, pending_pages) },
	{ .optname = "background_merge",
	  .opttype = RELOPT_TYPE_BOOL,
	  .offset = offsetof(struct ifp_options, background_merge) },
};

void ifp_options_register(void)
{
	parameters = add_reloption_kind();
	add_string_reloption(parameters, "duration", "INCLUDEd column that is the duration of a span", NULL, NULL,
			     AccessExclusiveLock);
	add_string_reloption(parameters, "end", "INCLUDEd column that is the end of a span", NULL, NULL, AccessExclusiveLock);
	for (int k = 0; k < IFOREST_N_KINDS; k++)
		add_string_reloption(parameters, iforest_kinds[k].option,
				     psprintf("INCLUDEd columns of which %s are kept", iforest_kinds[k].name), NULL, NULL,
				     AccessExclusiveLock);
	add_string_reloption(parameters, "sketch", "INCLUDEd columns of which sketches are kept", NULL, NULL,
			     ShareUpdateExclusiveLock);
	add_string_reloption(parameters, "distinct", "INCLUDEd columns of which distinct sketches are kept", NULL, NULL,
			     ShareUpdateExclusiveLock);
	add_enum_reloption(parameters, "duration_unit", "unit of the duration where the time column is a timestamp", units,
			   IFP_UNIT_OF_TIME, "Valid values are \"ns\", \"us\", \"ms\" and \"s\".", AccessExclusiveLock);
	add_int_reloption(parameters, "pending_pages", "length at which a chain of pending pages is made into a run", 24, 1,
			  4096, ShareUpdateExclusiveLock);
	add_bool_reloption(parameters, "background_merge", "merge in a background worker when runs pile up", true,
			   ShareUpdateExclusiveLock);
	for (size_t k = 0; k < IFOREST_N_KINDS; k++)
		elements[N_OTHER_ELEMENTS + k] =
			(relopt_parse_elt){ .optname = iforest_kinds[k].option,
					    .opttype = RELOPT_TYPE_STRING,
					    .offset = (int)(offsetof(struct ifp_options, kinds) + k * sizeof(int)) };
}

static bool is_known(const char *name, size_t n_bytes)
{
	for (size_t i = 0; i < lengthof(elements); i++)
		if (strlen(elements[i].optname) == n_bytes && strncmp(elements[i].optname, name, n_bytes) == 0)
			return true;
	return false;
}

static const char *kind_options(void)
{
	StringInfoData options;

	initStringInfo(&options);
	for (int k = 0; k < IFOREST_N_KINDS; k++)
		appendStringInfo(&options, "%s%s", k > 0 ? ", " : "", iforest_kinds[k].option);
	return options.data;
}

/* Raises PostgreSQL's error for an unknown name, with a hint that lists the known ones. */
static void refuse_unknown(Datum options)
{
	Datum *texts;
	int n;

	if (DatumGetPointer(options) == NULL)
		return;
	deconstruct_array(DatumGetArrayTypeP(options), TEXTOID, -1, false, TYPALIGN_INT, &texts, NULL, &n);
	for (int i = 0; i < n; i++) {
		char *name = TextDatumGetCString(texts[i]);
		size_t n_bytes = strcspn(name, "=");

		if (!is_known(name, n_bytes))
			ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("unrecognized parameter \"%.*s\"", (int)n_bytes, name),
				errhint("Parameters of iforest indexes are duration, \"end\", duration_unit, %s, sketch, "
					"distinct, pending_pages and background_merge.",
					kind_options()));
	}
}

bytea *ifp_options_parse(Datum options, bool validate)
{
	if (validate)
		refuse_unknown(options);
	return build_reloptions(options, validate, parameters, sizeof(struct ifp_options), elements, lengthof(elements));
}

/* ---- columns ---- */

static bool time_type_of(Oid type, enum ifp_time_type *time_type)
{
	static const struct {
		Oid oid;
		enum ifp_time_type type;
	} known[] = {
		{ INT2OID, IFP_TIME_INT2 },	{ INT4OID, IFP_TIME_INT4 },	      { INT8OID, IFP_TIME_INT8 },
		{ DATEOID, IFP_TIME_DATE },	{ TIMESTAMPOID, IFP_TIME_TIMESTAMP }, { TIMESTAMPTZOID, IFP_TIME_TIMESTAMP },
		{ FLOAT8OID, IFP_TIME_FLOAT8 },
	};

	for (size_t i = 0; i < lengthof(known); i++)
		if (known[i].oid == type) {
			*time_type = known[i].type;
			return true;
		}
	return false;
}

static bool is_numeric_exact(int32 typmod, int16 *scale)
{
	int32 precision = ifp_numeric_precision(typmod);
	int32 digits = ifp_numeric_scale(typmod);

	*scale = (int16)digits;
	return typmod >= VARHDRSZ && precision <= IFP_MOST_DIGITS && digits >= 0 && digits <= IFP_MOST_DIGITS;
}

/* Returns the base type of a domain, or the type itself. PostgreSQL's own types are not domains, and need no catalog lookup. */
static Oid without_domain(Oid type, int32 *typmod)
{
	return type < FirstGenbkiObjectId ? type : getBaseTypeAndTypmod(type, typmod);
}

bool ifp_is_key_type(Oid type)
{
	int32 typmod = -1;
	Oid base = without_domain(type, &typmod);

	return base == TEXTOID || base == VARCHAROID || base == BPCHAROID || base == BYTEAOID || base == UUIDOID;
}

/* Returns the iforest_value_type as which values of a type are stored; 0 if they cannot be stored. */
static int value_type(Oid type, int32 typmod, int16 *scale)
{
	*scale = 0;
	switch (type) {
	case INT2OID:
	case INT4OID:
	case INT8OID:
	case DATEOID:
	case TIMESTAMPOID:
	case TIMESTAMPTZOID:
		return IFOREST_INT64;
	case FLOAT4OID:
	case FLOAT8OID:
		return IFOREST_FLOAT64;
	case NUMERICOID:
		return is_numeric_exact(typmod, scale) ? IFOREST_INT64 : 0;
	default:
		return ifp_is_key_type(type) ? IFOREST_INT64 : 0;
	}
}

bool ifp_is_value_type(Oid type, int32 typmod)
{
	Oid base = without_domain(type, &typmod);
	int16 scale;

	return value_type(base, typmod, &scale) != 0;
}

/* Equal strings of bpchar without a length may differ in trailing blanks. */
bool ifp_is_by_type(Oid type, int32 typmod)
{
	return without_domain(type, &typmod) != BPCHAROID || typmod > VARHDRSZ;
}

static bool is_text(Oid type)
{
	return type == TEXTOID || type == VARCHAROID || type == BPCHAROID;
}

static Oid base_type(Relation index, int attribute, int32 *typmod)
{
	Form_pg_attribute form = TupleDescAttr(RelationGetDescr(index), attribute);

	*typmod = form->atttypmod;
	return without_domain(form->atttypid, typmod);
}

int ifp_value_named(Relation index, const char *name)
{
	int n_keys = IndexRelationGetNumberOfKeyAttributes(index), n = IndexRelationGetNumberOfAttributes(index);

	for (int i = n_keys; i < n; i++) {
		char *column = get_attname(index->rd_index->indrelid, index->rd_index->indkey.values[i], false);

		if (strcmp(column, name) == 0)
			return i - n_keys;
	}
	return -1;
}

bool ifp_is_time_named(Relation index, const char *name)
{
	int time = IndexRelationGetNumberOfKeyAttributes(index) - 1;
	char *column = get_attname(index->rd_index->indrelid, index->rd_index->indkey.values[time], true);

	return column && strcmp(column, name) == 0;
}

int ifp_value_of_name(Relation index, const struct ifp_name *name)
{
	int v = ifp_value_named(index, name->written);

	return v < 0 && name->otherwise ? ifp_value_named(index, name->otherwise) : v;
}

static bool can_be_sketched(Oid type, enum iforest_digest_kind kind)
{
	if (kind == IFOREST_DIGEST_DISTINCT)
		return type != NUMERICOID;
	return type == INT2OID || type == INT4OID || type == INT8OID || type == FLOAT4OID || type == FLOAT8OID;
}

/* Reads the name in double quotes at *at; NULL if its end is missing or it is empty. */
static char *read_quoted(const char **at)
{
	const char *end = *at + 1;
	char *name = palloc(strlen(*at) + 1), *out = name;

	for (; *end && (*end != '"' || end[1] == '"'); end++) {
		end += *end == '"';
		*out++ = *end;
	}
	*out = 0;
	if (*end++ != '"' || out == name)
		return NULL;
	truncate_identifier(name, (int)strlen(name), false);
	*at = end;
	return name;
}

bool ifp_read_name(const char **at, struct ifp_name *name)
{
	const char *start = *at;
	int n_bytes;

	*name = (struct ifp_name){ NULL, NULL };
	if (*start == '"') {
		name->written = read_quoted(at);
		if (!name->written)
			return false;
	} else {
		n_bytes = (int)strcspn(start, ",(*) \t\n\v\f\r");
		if (n_bytes == 0)
			return false;
		name->written = pnstrdup(start, n_bytes);
		truncate_identifier(name->written, n_bytes, false);
		name->otherwise = downcase_truncate_identifier(start, n_bytes, false);
		*at = start + n_bytes;
	}
	while (scanner_isspace(**at))
		(*at)++;
	return true;
}

struct ifp_name ifp_name_of(const char *text)
{
	struct ifp_name name = { pstrdup(text), NULL };
	const char *end = text;

	if (*text == '"')
		name.otherwise = read_quoted(&end);
	if (!name.otherwise || *end)
		name.otherwise = downcase_identifier(text, (int)strlen(text), false, false);
	return name;
}

/* Reads a list of names (struct ifp_name). Returns false if it is none. */
static bool read_names(const char *text, List **names)
{
	*names = NIL;
	while (scanner_isspace(*text))
		text++;
	while (*text || *names != NIL) {
		struct ifp_name *name = palloc(sizeof *name);

		while (scanner_isspace(*text))
			text++;
		if (!ifp_read_name(&text, name))
			return false;
		*names = lappend(*names, name);
		if (!*text)
			return true;
		if (*text++ != ',')
			return false;
	}
	return true;
}

/* Returns the parameter that names the columns of sketches of a kind; NULL if it is not set. */
static const char *option_of(Relation index, enum iforest_digest_kind kind)
{
	const struct ifp_options *options = (const struct ifp_options *)index->rd_options;

	return kind == IFOREST_DIGEST_DISTINCT ? ifp_option_string(options, distinct) : ifp_option_string(options, sketch);
}

uint32 ifp_definition_sketches(Relation index, const struct ifp_definition *definition, enum iforest_digest_kind kind)
{
	const char *sketch = option_of(index, kind);
	uint32 sketches = 0;
	List *names;
	ListCell *cell;

	if (!sketch || !read_names(sketch, &names))
		return 0;
	foreach (cell, names) {
		int v = ifp_value_of_name(index, lfirst(cell));

		if (v >= 0 && can_be_sketched(definition->value_types[v], kind))
			sketches |= 1u << v;
	}
	return sketches;
}

/* Returns (service, ts) for an index (ts, service): with the first column that can be the time as the last; NULL if there is
 * none. */
static char *with_time_last(Relation index, int n_keys)
{
	enum ifp_time_type time_type;
	StringInfoData text;
	int time = -1;
	int32 typmod;

	for (int i = n_keys - 1; i >= 0; i--)
		if (time_type_of(base_type(index, i, &typmod), &time_type) && (time < 0 || time_type >= IFP_TIME_DATE))
			time = i;
	if (time < 0)
		return NULL;
	initStringInfo(&text);
	for (int i = 0; i < n_keys; i++)
		if (i != time)
			appendStringInfo(&text, "%s, ", ifp_column_expression(RelationGetRelid(index), i + 1));
	return psprintf("(%s%s)", text.data, ifp_column_expression(RelationGetRelid(index), time + 1));
}

static void refuse_time(Relation index, int n_keys)
{
	Form_pg_attribute form = TupleDescAttr(RelationGetDescr(index), n_keys - 1);
	char *turned = with_time_last(index, n_keys);

	ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
		errmsg("the last key column of an iforest index is its time, and type %s cannot be one",
		       format_type_be(form->atttypid)),
		turned ? errhint("The time comes last, after the by columns: USING iforest %s.", turned)
		: is_text(getBaseType(form->atttypid))
			? errhint("To index a text, index an immutable function of it that gives a timestamp, or a column GENERATED "
				  "ALWAYS AS (f(text)) STORED; by columns stand before a time.")
			: errhint("Times are smallint, integer, bigint, date, timestamp, timestamptz or double "
				  "precision; by columns stand before the time, values are INCLUDEd."));
}

void ifp_definition_read(Relation index, struct ifp_definition *definition)
{
	const struct ifp_options *options = (const struct ifp_options *)index->rd_options;
	int n_keys = IndexRelationGetNumberOfKeyAttributes(index);
	int n_values = IndexRelationGetNumberOfAttributes(index) - n_keys;
	int32 typmod;
	Oid type = base_type(index, n_keys - 1, &typmod);

	memset(definition, 0, sizeof *definition);
	definition->n_by = (uint16)(n_keys - 1);
	definition->n_values = (uint16)n_values;
	if (n_values > IFOREST_MAX_VALUES)
		ereport(ERROR, errcode(ERRCODE_TOO_MANY_COLUMNS),
			errmsg("an iforest index has at most %d value columns", IFOREST_MAX_VALUES),
			errhint("INCLUDE the others in a second index. A query is answered from one index alone, so INCLUDE columns that are "
				"aggregated together in the same."));
	if (!time_type_of(type, &definition->time_type))
		refuse_time(index, n_keys);
	for (int i = 0; i < definition->n_by; i++) {
		Oid by_type = base_type(index, i, &typmod);

		definition->by_text |= is_text(by_type) ? 1u << i : 0;
		definition->by_blanks |= by_type == BPCHAROID ? 1u << i : 0;
		definition->by_length[i] = by_type == BPCHAROID && typmod > VARHDRSZ ? typmod - VARHDRSZ : 0;
	}
	for (int v = 0; v < n_values; v++) {
		definition->value_types[v] = base_type(index, n_keys + v, &typmod);
		if (!value_type(definition->value_types[v], typmod, &definition->value_scales[v]))
			definition->value_scales[v] = -1;
	}
	definition->pending_pages = options ? (uint32)options->pending_pages : 24;
	definition->background_merge = options ? options->background_merge : true;
	for (int kind = 0; kind < IFOREST_N_DIGESTS; kind++)
		definition->sketches[kind] = ifp_definition_sketches(index, definition, (enum iforest_digest_kind)kind);
}

/* ---- checks ---- */

/* Returns the operator of a key column's class with this strategy. */
static Oid operator_of_class(Relation index, int attribute, int16 strategy)
{
	Oid type = index->rd_opcintype[attribute];

	return get_opfamily_member(index->rd_opfamily[attribute], type, type, strategy);
}

/* True if values that are equal for the operator class have the same bytes: its equality is that of the type's B-tree, which
 * guarantees this. */
static bool equal_is_identical(Relation index, int attribute)
{
	Oid type = index->rd_opcintype[attribute], function;
	TypeCacheEntry *entry;

	if (IsPolymorphicType(type))
		type = getBaseType(TupleDescAttr(RelationGetDescr(index), attribute)->atttypid);
	entry = lookup_type_cache(type, TYPECACHE_EQ_OPR | TYPECACHE_BTREE_OPFAMILY);
	if (operator_of_class(index, attribute, BTEqualStrategyNumber) != entry->eq_opr || !OidIsValid(entry->btree_opf))
		return false;
	function = get_opfamily_proc(entry->btree_opf, entry->btree_opintype, entry->btree_opintype, BTEQUALIMAGE_PROC);
	return OidIsValid(function) && DatumGetBool(OidFunctionCall1Coll(function, index->rd_indcollation[attribute],
									 ObjectIdGetDatum(entry->btree_opintype)));
}

static void check_keys(Relation index, const struct ifp_definition *definition)
{
	for (int i = 0; i < definition->n_by; i++) {
		Form_pg_attribute form = TupleDescAttr(RelationGetDescr(index), i);

		if (getBaseType(form->atttypid) == FLOAT8OID)
			ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("column \"%s\" of type double precision cannot be a by column", NameStr(form->attname)),
				errdetail("0 and -0 are equal and yet not the same."));
		if (!ifp_is_by_type(form->atttypid, form->atttypmod))
			ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("column \"%s\" of type bpchar without a length cannot be a by column",
				       NameStr(form->attname)),
				errdetail("Strings that are equal there may differ in blanks at their ends."),
				errhint("Declare it text, or char(n)."));
		if (OidIsValid(index->rd_indcollation[i]) && !get_collation_isdeterministic(index->rd_indcollation[i]))
			ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("column \"%s\" cannot be a by column with a nondeterministic collation",
				       NameStr(form->attname)),
				errdetail("Strings that are equal there may differ."),
				errhint("Give the column another collation in the index: (%s COLLATE \"C\", ...).",
					NameStr(form->attname)));
		if (getBaseType(form->atttypid) != BPCHAROID && !equal_is_identical(index, i))
			ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("column \"%s\" of type %s cannot be a by column with this operator class",
				       NameStr(form->attname), format_type_be(form->atttypid)),
				errdetail("Values that are equal to it may differ."));
	}
	if (operator_of_class(index, definition->n_by, BTLessStrategyNumber) !=
	    lookup_type_cache(index->rd_opcintype[definition->n_by], TYPECACHE_LT_OPR)->lt_opr)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("the time column \"%s\" needs an operator class with the order of its type",
			       NameStr(TupleDescAttr(RelationGetDescr(index), definition->n_by)->attname)));
	for (int i = 0; i <= definition->n_by; i++)
		if (index->rd_indoption[i] != 0)
			ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("iforest indexes are ascending with NULLs last"),
				errhint("Leave DESC and NULLS FIRST out; the index is scanned backward where a query asks "
					"for it."));
}

/* Checks a value column of text or the like. */
static void check_key_value(Relation index, const struct ifp_definition *definition, unsigned v)
{
	AttrNumber attribute = index->rd_index->indkey.values[definition->n_by + 1 + v];
	const char *name = NameStr(TupleDescAttr(RelationGetDescr(index), definition->n_by + 1 + (int)v)->attname);
	Oid type, collation;
	int32 typmod;

	if (!(definition->sketches[IFOREST_DIGEST_DISTINCT] >> v & 1))
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("column \"%s\" of type %s cannot be a value", name, format_type_be(definition->value_types[v])),
			errhint("Values are integers, real, double precision, numeric(p, s) with p at most %d, date and "
				"timestamps; of text, bytea and uuid different values can be counted: WITH (distinct = '%s').",
				IFP_MOST_DIGITS, quote_identifier(name)));
	get_atttypetypmodcoll(index->rd_index->indrelid, attribute, &type, &typmod, &collation);
	if (OidIsValid(collation) && !get_collation_isdeterministic(collation))
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("column \"%s\" cannot be counted with a nondeterministic collation", name),
			errdetail("Strings that are equal there may differ."));
}

/* Return the names of the index's table, and of a new column for the values of one in microseconds, as SQL. The schema is always named:
 * since PostgreSQL 17 an index is built with a search path that is not the session's. */
static const char *table_of(Relation index)
{
	Oid table = index->rd_index->indrelid;

	return quote_qualified_identifier(get_namespace_name_or_temp(get_rel_namespace(table)), get_rel_name(table));
}

static const char *in_microseconds(const char *column)
{
	return quote_identifier(makeObjectName(column, NULL, "us"));
}

static void check_values(Relation index, const struct ifp_definition *definition, struct iforest_node_schema *fields)
{
	for (unsigned v = 0; v < definition->n_values; v++) {
		int attribute = definition->n_by + 1 + (int)v;
		const char *name = NameStr(TupleDescAttr(RelationGetDescr(index), attribute)->attname);
		int16 scale;
		int32 typmod;
		Oid type = base_type(index, attribute, &typmod);
		int kept = value_type(type, typmod, &scale);

		if (ifp_is_key_type(type)) {
			check_key_value(index, definition, v);
			fields->value_types[v] = IFOREST_INT64;
			continue;
		}
		if (kept) {
			fields->value_types[v] = (uint8_t)kept;
			continue;
		}
		if (type == NUMERICOID)
			ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("column \"%s\" of type numeric is not exact within 64 bits", name),
				errhint("Declare it numeric(p, s) with p at most %d and s from 0 to %d.", IFP_MOST_DIGITS,
					IFP_MOST_DIGITS));
		if (type == INTERVALOID)
			ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("column \"%s\" of type interval cannot be a value", name),
				errdetail("Months, days and microseconds of an interval do not add up to one number."),
				errhint("INCLUDE microseconds in its place: ALTER TABLE %s ADD COLUMN %s bigint GENERATED ALWAYS AS "
					"((extract(epoch FROM %s) * 1000000)::bigint) STORED.",
					table_of(index), in_microseconds(name), quote_identifier(name)));
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("column \"%s\" of type %s cannot be a value", name, format_type_be(type)),
			errhint("Values are integers, real, double precision, numeric(p, s) with p at most %d, date and "
				"timestamps.",
				IFP_MOST_DIGITS));
	}
	fields->n_values = (uint8_t)definition->n_values;
}

/* Returns the name of an INCLUDEd column that is equal to this one but for capitals; NULL if there is none. */
static const char *alike(Relation index, const char *name)
{
	int n_keys = IndexRelationGetNumberOfKeyAttributes(index), n = IndexRelationGetNumberOfAttributes(index);

	for (int i = n_keys; i < n; i++) {
		const char *column = get_attname(index->rd_index->indrelid, index->rd_index->indkey.values[i], false);

		if (pg_strcasecmp(column, name) == 0)
			return column;
	}
	return NULL;
}

static unsigned find_value(Relation index, const char *option, const struct ifp_name *name)
{
	int v = ifp_value_of_name(index, name);
	const char *other = v < 0 ? alike(index, name->written) : NULL;

	if (v < 0)
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_COLUMN),
			errmsg("%s = '%s': no such column is INCLUDEd", option, name->written),
			other ? errhint("Perhaps you meant the column %s.", quote_identifier(other))
			      : errhint("Name the column in INCLUDE (...), or set the parameter again if the column was renamed."));
	return (unsigned)v;
}

/* Raises an error with the SQL that adds a column of whole numbers. */
static void refuse_duration(Relation index, const struct ifp_definition *definition, unsigned v, const char *duration)
{
	const char *name = NameStr(TupleDescAttr(RelationGetDescr(index), definition->n_by + 1 + (int)v)->attname);
	bool is_number = definition->value_types[v] == FLOAT4OID || definition->value_types[v] == FLOAT8OID ||
			 definition->value_types[v] == NUMERICOID;
	bool is_timestamp = definition->time_type == IFP_TIME_TIMESTAMP;
	const char *column = quote_identifier(name), *added = in_microseconds(name);

	ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("duration = '%s': the column is not an integer", duration),
		!is_number ? errhint("The column of the end of a span is named by the parameter \"end\".")
		: is_timestamp
			? errhint("Of milliseconds, INCLUDE and name %s after ALTER TABLE %s ADD COLUMN %s bigint GENERATED ALWAYS AS "
				  "(round((%s * 1000)::numeric)::bigint) STORED; of seconds, multiply by 1000000.",
				  added, table_of(index), added, column)
			: errhint("INCLUDE and name a column of integers in the unit of the time."));
}

static void check_end(Relation index, const struct ifp_definition *definition, struct iforest_node_schema *fields)
{
	const struct ifp_options *options = (const struct ifp_options *)index->rd_options;
	const char *duration = ifp_option_string(options, duration), *end = ifp_option_string(options, end);
	static const enum iforest_end_rule rules[] = {
		[IFP_UNIT_OF_TIME] = IFOREST_END_DURATION, [IFP_UNIT_NS] = IFOREST_END_PER_1000,
		[IFP_UNIT_US] = IFOREST_END_DURATION,	   [IFP_UNIT_MS] = IFOREST_END_TIMES_1000,
		[IFP_UNIT_S] = IFOREST_END_TIMES_1000000,
	};
	int unit = options ? options->duration_unit : IFP_UNIT_OF_TIME;
	struct ifp_name name;
	unsigned v;

	fields->duration_value = IFOREST_NO_VALUE;
	if (duration && end)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("cannot specify both \"duration\" and \"end\""));
	if (unit != IFP_UNIT_OF_TIME && (!duration || definition->time_type != IFP_TIME_TIMESTAMP))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("duration_unit needs a duration and a time column of type timestamp or timestamptz"),
			errdetail("Otherwise the duration is in the unit of the time column."));
	if (!duration && !end)
		return;
	name = ifp_name_of(duration ? duration : end);
	v = find_value(index, duration ? "duration" : "end", &name);
	if (definition->time_type == IFP_TIME_FLOAT8)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("spans need a time column of an integer or timestamp type, not double precision"));
	if (end) {
		enum ifp_time_type end_type;
		bool is_time = time_type_of(definition->value_types[v], &end_type);
		bool both_integers = end_type <= IFP_TIME_INT8 && definition->time_type <= IFP_TIME_INT8;

		if (!is_time || (end_type != definition->time_type && !both_integers))
			ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
				errmsg("end = '%s': the column is not of the time column's type", end));
		fields->end_rule = IFOREST_END_COLUMN;
	} else {
		Oid type = definition->value_types[v];

		if (type != INT2OID && type != INT4OID && type != INT8OID)
			refuse_duration(index, definition, v, duration);
		fields->end_rule = (uint8_t)rules[unit];
	}
	fields->duration_value = (uint8_t)v;
}

/* The names of columns in the list of a kind's option. */
struct option_reader {
	Relation index;
	const struct ifp_definition *definition;
	const struct iforest_node_schema *fields;
	const struct iforest_kind *kind;
	const char *text;
};

/* An INCLUDEd column that may be in such a list, for an example. */
static const char *example_column(const struct option_reader *reader)
{
	for (int v = 0; v < reader->definition->n_values; v++) {
		Oid type = reader->definition->value_types[v];

		if (type == INT2OID || type == INT4OID || type == INT8OID)
			return quote_identifier(NameStr(
				TupleDescAttr(RelationGetDescr(reader->index), reader->definition->n_by + 1 + v)->attname));
	}
	return "took";
}

static void refuse_list(const struct option_reader *reader)
{
	const char *option = reader->kind->option, *column = example_column(reader);

	ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		errmsg("invalid value for parameter \"%s\": \"%s\"", option, reader->text),
		reader->kind->most_parameters ? errdetail("It must be a list of columns with ascending bounds.")
		: reader->kind->has_second    ? errdetail("It must be a list of pairs of columns.")
					      : errdetail("It must be a list of column names."),
		reader->kind->most_parameters ? errhint("For example: %s = '%s(100, 500)'.", option, column)
		: reader->kind->has_second
			? errhint("For example: %s = '%s*%s'.", option, column, column)
			: errhint("Separate names by commas; those with spaces or signs stand in double quotes."));
}

/* Raises an error if the column's type is not one of which the kind is kept. */
static void check_listed(const struct option_reader *reader, unsigned v, const char *name)
{
	const char *option = reader->kind->option;
	Oid type = reader->definition->value_types[v];

	if (reader->fields->value_types[v] != IFOREST_INT64)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("%s = '%s': the values of column \"%s\" are floating-point numbers", option, reader->text, name),
			reader->kind->takes_decimals
				? errdetail(
					  "Sums of squares of these depend on the order of addition; only exact ones are kept.")
				: 0,
			errhint("INCLUDE and name whole numbers, such as thousandths: ALTER TABLE %s ADD COLUMN %s bigint GENERATED ALWAYS "
				"AS (round((%s * 1000)::numeric)::bigint) STORED;",
				table_of(reader->index), quote_identifier(makeObjectName(name, NULL, "thousandths")),
				quote_identifier(name)));
	if (type != INT2OID && type != INT4OID && type != INT8OID && type != NUMERICOID)
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
			errmsg("%s = '%s': the values of column \"%s\" are no numbers", option, reader->text, name));
	if (type == NUMERICOID && !reader->kind->takes_decimals)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("%s = '%s': the values of column \"%s\" are no integers", option, reader->text, name));
}

static int read_value_name(void *context, const char **at)
{
	const struct option_reader *reader = context;
	struct ifp_name name;
	unsigned v;

	if (!ifp_read_name(at, &name) || (**at && !strchr(",(*)", **at)))
		return IFOREST_NAME_MISSING;
	if (reader->kind->has_second && reader->definition->time_type <= IFP_TIME_INT8 &&
	    ifp_value_of_name(reader->index, &name) < 0 &&
	    (ifp_is_time_named(reader->index, name.written) ||
	     (name.otherwise && ifp_is_time_named(reader->index, name.otherwise))))
		return IFOREST_TIME_COLUMN;
	v = find_value(reader->index, reader->kind->option, &name);
	check_listed(reader, v,
		     NameStr(TupleDescAttr(RelationGetDescr(reader->index), reader->definition->n_by + 1 + (int)v)->attname));
	return (int)v;
}

/* True if a column in the list has more bounds than are kept. */
static bool has_too_many_bounds(const char *text)
{
	int n = 0;

	for (; *text; text++) {
		n = *text == '(' ? 1 : n + (*text == ',');
		if (*text == ',' && n > IFOREST_MAX_BOUNDS && strcspn(text, ")") < strcspn(text, "("))
			return true;
	}
	return false;
}

static void check_kind(Relation index, const struct ifp_definition *definition, const struct iforest_kind *kind,
		       const char *text, struct iforest_node_schema *fields)
{
	struct option_reader reader = {
		.index = index, .definition = definition, .fields = fields, .kind = kind, .text = text
	};
	const char *at = text;
	enum iforest_text_error why;

	/* a column that is named twice was never an error where that says nothing new */
	do
		why = iforest_accumulators_parse(&fields->accumulators, kind, &at, read_value_name, &reader);
	while (why == IFOREST_TEXT_TWICE && !kind->most_parameters && *at == ',' && *++at);
	if (why == IFOREST_TEXT_TOO_MANY ||
	    iforest_accumulators_finish(&fields->accumulators, fields->value_types, fields->n_values,
					fields->n_values * IFOREST_VALUE_WORDS))
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			errmsg("%s = '%s': that is too much for one index", kind->option, text),
			kind->most_parameters && has_too_many_bounds(text)
				? errhint("A column has at most %d bounds. Conditions with others are answered without a histogram, too.",
					  IFOREST_MAX_BOUNDS)
				: errhint("An index keeps at most %d words: one for a bound, three for a variance, 18 for a pair of columns. "
					  "Divide the list between two indexes.",
					  IFOREST_MAX_ACCUMULATOR_WORDS));
	if ((why && (why != IFOREST_TEXT_TWICE || kind->most_parameters)) || *at)
		refuse_list(&reader);
}

static void check_kinds(Relation index, const struct ifp_definition *definition, struct iforest_node_schema *fields)
{
	const struct ifp_options *options = (const struct ifp_options *)index->rd_options;

	for (int k = 0; k < IFOREST_N_KINDS; k++) {
		const char *text = ifp_option_string(options, kinds[k]);

		if (text)
			check_kind(index, definition, &iforest_kinds[k], text, fields);
	}
}

static void check_sketches(Relation index, const struct ifp_definition *definition, enum iforest_digest_kind kind)
{
	const char *option = kind == IFOREST_DIGEST_DISTINCT ? "distinct" : "sketch", *sketch = option_of(index, kind);
	List *names;
	ListCell *cell;

	if (!sketch)
		return;
	if (!read_names(sketch, &names))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("invalid value for parameter \"%s\": \"%s\"", option, sketch),
			errdetail("It must be a list of column names."),
			errhint("Separate names by commas; those with spaces or signs stand in double quotes."));
	foreach (cell, names) {
		const struct ifp_name *name = lfirst(cell);

		if (can_be_sketched(definition->value_types[find_value(index, option, name)], kind))
			continue;
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
			kind == IFOREST_DIGEST_DISTINCT
				? errmsg("distinct = '%s': the values of column \"%s\" are numeric", sketch, name->written)
				: errmsg("sketch = '%s': the values of column \"%s\" are neither integers nor floating-point numbers",
					 sketch, name->written));
	}
}

void ifp_definition_check_columns(Relation index, const struct ifp_definition *definition, struct iforest_node_schema *fields)
{
	*fields = (struct iforest_node_schema){ .has_blocks = true };
	check_keys(index, definition);
	check_values(index, definition, fields);
	check_end(index, definition, fields);
	check_kinds(index, definition, fields);
	for (int kind = 0; kind < IFOREST_N_DIGESTS; kind++)
		check_sketches(index, definition, (enum iforest_digest_kind)kind);
	ifp_require(iforest_node_schema_finish(fields), index, NULL);
}

void ifp_definition_check(Relation heap, Relation index, const struct ifp_definition *definition,
			  struct iforest_node_schema *fields)
{
	if (heap->rd_rel->relam != HEAP_TABLE_AM_OID && heap->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("iforest indexes need a table of access method heap"),
			errdetail("Answers from the index go by the heap's visibility map."));
	ifp_definition_check_columns(index, definition, fields);
}

char *ifp_column_expression(Oid index, int number)
{
	return TextDatumGetCString(OidFunctionCall3(F_PG_GET_INDEXDEF_OID_INT4_BOOL, ObjectIdGetDatum(index),
						    Int32GetDatum(number), BoolGetDatum(false)));
}
