#include "pg_ext/base/known_functions.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_am.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/pg_list.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* ---- types, a letter each ---- */

enum { TIME = 'T', STEP = 'S', ROWS = '*' };

static Oid type_of_letter(char letter)
{
	static const struct {
		char letter;
		Oid type;
	} types[] = {
		{ 'A', ANYOID },     { 'B', BOOLOID },	     { 'b', INT8OID },	   { 'c', ANYCOMPATIBLEOID },
		{ 'd', TIDOID },     { 'e', ANYELEMENTOID }, { 'i', INT4OID },	   { 'I', INTERNALOID },
		{ 'n', NUMERICOID }, { 'o', OIDOID },	     { 'O', REGCLASSOID }, { 'r', FLOAT8OID },
		{ 't', TEXTOID },    { 'x', TEXTARRAYOID },  { 'y', BYTEAOID },	   { ROWS, RECORDOID },
	};

	for (size_t i = 0; i < lengthof(types); i++)
		if (types[i].letter == letter)
			return types[i].type;
	return InvalidOid;
}

/* Returns the type of steps between times, InvalidOid if this is no type of times. */
static Oid step_of(Oid time)
{
	switch (time) {
	case INT8OID:
		return INT8OID;
	case DATEOID:
		return INT4OID;
	case TIMESTAMPOID:
	case TIMESTAMPTZOID:
		return INTERVALOID;
	default:
		return InvalidOid;
	}
}

/* True if the type is that of the letter. The first T sets the type of times. */
static bool is_of_letter(Oid type, char letter, Oid *time)
{
	if (letter == TIME && !OidIsValid(*time) && OidIsValid(step_of(type)))
		*time = type;
	if (letter == TIME)
		return type == *time;
	return type == (letter == STEP ? step_of(*time) : type_of_letter(letter));
}

static bool has_types(Form_pg_proc form, const char *arguments, char result)
{
	Oid time = InvalidOid;

	if (form->pronargs != (int)strlen(arguments) || form->proretset != (result == ROWS))
		return false;
	for (int i = 0; i < form->pronargs; i++)
		if (!is_of_letter(form->proargtypes.values[i], arguments[i], &time))
			return false;
	return is_of_letter(form->prorettype, result, &time);
}

/* ---- the extension's functions ---- */

struct own_function {
	const char *name, *symbol, *arguments;
	char result;
};

static const struct own_function own_functions[] = {
	{ "iforest_bucket", "iforest_bucket_number", "TTTb", 'b' },
	{ "iforest_bucket_of", "iforest_bucket_of_time", "TTTbST", 'b' },
	{ "iforest_bucket_start", "iforest_bucket_starts", "bTTbST", TIME },
	{ "iforest_bucket_end", "iforest_bucket_ends", "bTTbST", TIME },
	{ "iforest_window_asks", "iforest_window_asks", "TTbSTtBB", 'B' },
	{ "iforest_window_last", "iforest_window_last", "T", TIME },
	{ "iforest_overlap_asks", "iforest_overlap_asks", "TTbSTtB", 'B' },
	{ "iforest_span_end", "iforest_span_ends", "Tbt", TIME },
	{ "iforest_span_earliest", "iforest_span_earliest", "Tbt", TIME },
	{ "iforest_line", "iforest_line", "TTTee", 'e' },

	{ "iforest_overlap_index", "iforest_overlap_index", "Oxti", 'o' },
	{ "iforest_overlap_spans", "iforest_overlap_spans", "oA", ROWS },

	{ "iforest_sketch_state", "iforest_sketch_state", "e", 'y' },
	{ "iforest_sketch_union", "iforest_sketch_union", "yy", 'y' },
	{ "iforest_sketch_count", "iforest_sketch_numbers", "y", 'b' },
	{ "iforest_distinct_state", "iforest_distinct_state", "e", 'y' },
	{ "iforest_distinct_union", "iforest_distinct_union", "yy", 'y' },
	{ "iforest_distinct_count", "iforest_distinct_values", "y", 'b' },
	{ "iforest_quantile", "iforest_sketch_quantile_real", "yr", 'r' },
	{ "iforest_quantile", "iforest_sketch_quantile_real", "yrrr", 'r' },
	{ "iforest_quantile", "iforest_sketch_quantile_integer", "yrbb", 'b' },
	{ "iforest_quantile_cont", "iforest_quantile_cont", "yrrr", 'r' },
	{ "iforest_rank", "iforest_rank", "yr", 'r' },

	{ "iforest_row_state", "iforest_row_state", "ec", 'y' },
	{ "iforest_row_state", "iforest_row_state", "ecd", 'y' },
	{ "iforest_state_row", "iforest_state_row", "y", 'd' },
	{ "iforest_state_time", "iforest_state_time", "ye", 'e' },
	{ "iforest_state_value", "iforest_state_value", "ye", 'e' },
	{ "iforest_state_timed", "iforest_state_timed", "y", 'y' },
	{ "iforest_states_first", "iforest_states_first", "yy", 'y' },
	{ "iforest_states_last", "iforest_states_last", "yy", 'y' },
	{ "iforest_states_max", "iforest_states_max", "yy", 'y' },
	{ "iforest_states_min", "iforest_states_min", "yy", 'y' },
	{ "iforest_squares_add", "iforest_squares_add", "nn", 'n' },
	{ "iforest_variance", "iforest_variance", "bnnBB", 'n' },

	/* of aggregates */
	{ "iforest_row_first_add", "iforest_row_first_add", "Iec", 'I' },
	{ "iforest_row_first_add", "iforest_row_first_add", "Iecd", 'I' },
	{ "iforest_row_first_combine", "iforest_row_first_combine", "II", 'I' },
	{ "iforest_row_last_add", "iforest_row_last_add", "Iec", 'I' },
	{ "iforest_row_last_add", "iforest_row_last_add", "Iecd", 'I' },
	{ "iforest_row_last_combine", "iforest_row_last_combine", "II", 'I' },
	{ "iforest_row_max_add", "iforest_row_max_add", "Iecd", 'I' },
	{ "iforest_row_max_combine", "iforest_row_max_combine", "II", 'I' },
	{ "iforest_row_min_add", "iforest_row_min_add", "Iecd", 'I' },
	{ "iforest_row_min_combine", "iforest_row_min_combine", "II", 'I' },
	{ "iforest_row_serialize", "iforest_row_serialize", "I", 'y' },
	{ "iforest_row_deserialize", "iforest_row_deserialize", "yI", 'I' },
	{ "iforest_row_ctid", "iforest_row_ctid", "I", 'd' },
	{ "iforest_row_time", "iforest_row_time", "Iecd", 'c' },
	{ "iforest_row_value", "iforest_row_value", "Iec", 'e' },
	{ "iforest_row_value", "iforest_row_value", "Iecd", 'e' },
	{ "iforest_sketch_add", "iforest_sketch_add_number", "Ie", 'I' },
	{ "iforest_sketch_remove", "iforest_sketch_remove_number", "Ie", 'I' },
	{ "iforest_sketch_combine", "iforest_sketch_combine_states", "II", 'I' },
	{ "iforest_sketch_result", "iforest_sketch_result", "I", 'y' },
	{ "iforest_sketch_serialize", "iforest_sketch_serialize", "I", 'y' },
	{ "iforest_sketch_deserialize", "iforest_sketch_deserialize", "yI", 'I' },
	{ "iforest_peak_add", "iforest_peak_add", "Iee", 'I' },
	{ "iforest_peak_add", "iforest_peak_add", "IeeB", 'I' },
	{ "iforest_peak_count", "iforest_peak_count", "I", 'b' },
	{ "iforest_peak_when", "iforest_peak_when", "Iee", 'e' },
	{ "iforest_peak_when", "iforest_peak_when", "IeeB", 'e' },
	{ "iforest_distinct_add", "iforest_distinct_add_value", "Ie", 'I' },
	{ "iforest_distinct_deserialize", "iforest_distinct_deserialize", "yI", 'I' },
};

/* ---- the extension's aggregates ---- */

struct own_aggregate {
	const char *name, *arguments;
	char result, state;
	const char *transition, *final, *combine, *serialize, *deserialize, *remove;
	bool has_final_arguments; /* the final function is given arguments as the transition function is */
};

#define ROW_AGGREGATE(name, arguments, result, choice, final, has_final_arguments)                                   \
	{                                                                                                            \
		name, arguments, result, 'I', "iforest_row_" choice "_add", final, "iforest_row_" choice "_combine", \
			"iforest_row_serialize", "iforest_row_deserialize", NULL, has_final_arguments                \
	}
#define STATE_AGGREGATE(name, transition, final)                                            \
	{                                                                                   \
		name, "y", 'y', 'y', transition, final, transition, NULL, NULL, NULL, false \
	}

static const struct own_aggregate own_aggregates[] = {
	ROW_AGGREGATE("iforest_first", "ec", 'e', "first", "iforest_row_value", true),
	ROW_AGGREGATE("iforest_first", "ecd", 'e', "first", "iforest_row_value", true),
	ROW_AGGREGATE("iforest_first_time", "ecd", 'c', "first", "iforest_row_time", true),
	ROW_AGGREGATE("iforest_first_row", "ecd", 'd', "first", "iforest_row_ctid", false),
	ROW_AGGREGATE("iforest_last", "ec", 'e', "last", "iforest_row_value", true),
	ROW_AGGREGATE("iforest_last", "ecd", 'e', "last", "iforest_row_value", true),
	ROW_AGGREGATE("iforest_last_time", "ecd", 'c', "last", "iforest_row_time", true),
	ROW_AGGREGATE("iforest_last_row", "ecd", 'd', "last", "iforest_row_ctid", false),
	ROW_AGGREGATE("iforest_max_time", "ecd", 'c', "max", "iforest_row_time", true),
	ROW_AGGREGATE("iforest_max_row", "ecd", 'd', "max", "iforest_row_ctid", false),
	ROW_AGGREGATE("iforest_min_time", "ecd", 'c', "min", "iforest_row_time", true),
	ROW_AGGREGATE("iforest_min_row", "ecd", 'd', "min", "iforest_row_ctid", false),
	STATE_AGGREGATE("iforest_first_state", "iforest_states_first", "iforest_state_timed"),
	STATE_AGGREGATE("iforest_last_state", "iforest_states_last", "iforest_state_timed"),
	STATE_AGGREGATE("iforest_max_state", "iforest_states_max", NULL),
	STATE_AGGREGATE("iforest_min_state", "iforest_states_min", NULL),
	STATE_AGGREGATE("iforest_sketch_states", "iforest_sketch_union", NULL),
	STATE_AGGREGATE("iforest_distinct_states", "iforest_distinct_union", NULL),
	{ "iforest_sketch", "e", 'y', 'I', "iforest_sketch_add", "iforest_sketch_result", "iforest_sketch_combine",
	  "iforest_sketch_serialize", "iforest_sketch_deserialize", "iforest_sketch_remove", false },
	{ "iforest_distinct", "e", 'y', 'I', "iforest_distinct_add", "iforest_sketch_result", "iforest_sketch_combine",
	  "iforest_sketch_serialize", "iforest_distinct_deserialize", NULL, false },
	{ "iforest_peak", "ee", 'b', 'I', "iforest_peak_add", "iforest_peak_count", NULL, NULL, NULL, NULL, false },
	{ "iforest_peak", "eeB", 'b', 'I', "iforest_peak_add", "iforest_peak_count", NULL, NULL, NULL, NULL, false },
	{ "iforest_peak_time", "ee", 'e', 'I', "iforest_peak_add", "iforest_peak_when", NULL, NULL, NULL, NULL, true },
	{ "iforest_peak_time", "eeB", 'e', 'I', "iforest_peak_add", "iforest_peak_when", NULL, NULL, NULL, NULL, true },
	/* its parts are combined by a function of PostgreSQL */
	{ "iforest_squares", "n", 'n', 'n', "iforest_squares_add", NULL, NULL, NULL, NULL, NULL, false },
};

/* ---- this library ---- */

static PGFunction own_handler;

static struct {
	bool is_read;
	Oid schema; /* InvalidOid if the extension is not installed */
	char file[MAXPGPATH];
} library;

static uint64 n_changes; /* of the catalogs */

/* Copies an attribute of type text. Returns false if it is NULL or too long. */
static bool copy_text(HeapTuple tuple, AttrNumber attribute, char *copy, size_t n_bytes)
{
	bool is_null;
	Datum datum = SysCacheGetAttr(PROCOID, tuple, attribute, &is_null);
	char *value = is_null ? NULL : TextDatumGetCString(datum);
	bool fits = value && strlcpy(copy, value, n_bytes) < n_bytes;

	if (value)
		pfree(value);
	return fits;
}

static Oid handler_of_method(void)
{
	HeapTuple tuple = SearchSysCache1(AMNAME, CStringGetDatum("iforest"));
	Oid handler = InvalidOid;

	if (HeapTupleIsValid(tuple)) {
		handler = ((Form_pg_am)GETSTRUCT(tuple))->amhandler;
		ReleaseSysCache(tuple);
	}
	return handler;
}

/* True if the server would call our handler for it. */
static bool is_own_handler(Oid handler)
{
	FmgrInfo called;

	fmgr_info(handler, &called);
	return called.fn_addr == own_handler;
}

static void read_library(void)
{
	uint64 before = n_changes;
	Oid handler = handler_of_method();
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(handler));

	library.schema = InvalidOid;
	if (HeapTupleIsValid(tuple)) {
		Form_pg_proc form = (Form_pg_proc)GETSTRUCT(tuple);

		if (form->prolang == ClanguageId && copy_text(tuple, Anum_pg_proc_probin, library.file, sizeof library.file) &&
		    is_own_handler(handler))
			library.schema = form->pronamespace;
		ReleaseSysCache(tuple);
	}
	library.is_read = n_changes == before;
}

bool ifp_is_installed(void)
{
	if (!library.is_read)
		read_library();
	return OidIsValid(library.schema);
}

/* ---- recognition ---- */

/* True if the server calls the function itself, without changing user or settings. */
static bool is_called_plainly(HeapTuple tuple)
{
	return !((Form_pg_proc)GETSTRUCT(tuple))->prosecdef && heap_attisnull(tuple, Anum_pg_proc_proconfig, NULL);
}

static const char *find_function(HeapTuple tuple)
{
	Form_pg_proc form = (Form_pg_proc)GETSTRUCT(tuple);
	char file[MAXPGPATH], symbol[2 * NAMEDATALEN];

	if (form->prolang != ClanguageId || !is_called_plainly(tuple) || !ifp_is_installed() ||
	    !copy_text(tuple, Anum_pg_proc_probin, file, sizeof file) || strcmp(file, library.file) != 0 ||
	    !copy_text(tuple, Anum_pg_proc_prosrc, symbol, sizeof symbol))
		return NULL;
	for (size_t i = 0; i < lengthof(own_functions); i++)
		if (strcmp(own_functions[i].symbol, symbol) == 0 &&
		    has_types(form, own_functions[i].arguments, own_functions[i].result))
			return own_functions[i].name;
	return NULL;
}

/* True if the function is ours by that name, or is none for NULL. */
static bool is_part(Oid function, const char *name)
{
	return name ? ifp_is_own_function(function, name) : !OidIsValid(function);
}

static bool has_initial_state(HeapTuple tuple, const char *state)
{
	bool is_null;
	Datum datum = SysCacheGetAttr(AGGFNOID, tuple, Anum_pg_aggregate_agginitval, &is_null);

	return is_null ? !state : state && strcmp(TextDatumGetCString(datum), state) == 0;
}

/* True if the aggregate computes as this one does, in windows and in parallel plans, too. */
static bool has_parts(HeapTuple tuple, const struct own_aggregate *own)
{
	Form_pg_aggregate form = (Form_pg_aggregate)GETSTRUCT(tuple);
	bool is_squares = own->state == 'n';

	return form->aggkind == AGGKIND_NORMAL && form->aggnumdirectargs == 0 &&
	       form->aggtranstype == type_of_letter(own->state) && is_part(form->aggtransfn, own->transition) &&
	       is_part(form->aggfinalfn, own->final) && form->aggfinalextra == own->has_final_arguments &&
	       (is_squares ? form->aggcombinefn == F_NUMERIC_ADD : is_part(form->aggcombinefn, own->combine)) &&
	       is_part(form->aggserialfn, own->serialize) && is_part(form->aggdeserialfn, own->deserialize) &&
	       is_part(form->aggmtransfn, own->remove ? own->transition : NULL) && is_part(form->aggminvtransfn, own->remove) &&
	       is_part(form->aggmfinalfn, own->remove ? own->final : NULL) && !OidIsValid(form->aggsortop) &&
	       has_initial_state(tuple, is_squares ? "0" : NULL);
}

static const char *find_aggregate(HeapTuple function)
{
	Form_pg_proc form = (Form_pg_proc)GETSTRUCT(function);
	HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(form->oid));
	const char *name = NULL;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	for (size_t i = 0; i < lengthof(own_aggregates) && !name; i++)
		if (has_types(form, own_aggregates[i].arguments, own_aggregates[i].result) &&
		    has_parts(tuple, &own_aggregates[i]))
			name = own_aggregates[i].name;
	ReleaseSysCache(tuple);
	return name;
}

/* ---- functions that hold only memory ---- */

enum plain { NOT_PLAIN, TEXT_OR_BOOLEAN, NUMBER_OR_TIME };

static enum plain plain_type(Oid type)
{
	switch (type) {
	case TEXTOID:
	case BOOLOID:
		return TEXT_OR_BOOLEAN;
	case INT2OID:
	case INT4OID:
	case INT8OID:
	case NUMERICOID:
	case FLOAT4OID:
	case FLOAT8OID:
	case DATEOID:
	case TIMEOID:
	case TIMETZOID:
	case TIMESTAMPOID:
	case TIMESTAMPTZOID:
	case INTERVALOID:
		return NUMBER_OR_TIME;
	default:
		return NOT_PLAIN;
	}
}

/* True for to_char(), date_trunc() and the like, but not for functions of texts that name a table or a type. */
static bool is_of_plain_types(Form_pg_proc form)
{
	enum plain most = plain_type(form->prorettype);

	for (int i = 0; i < form->pronargs && most != NOT_PLAIN; i++) {
		enum plain one = plain_type(form->proargtypes.values[i]);

		most = one == NOT_PLAIN ? one : Max(most, one);
	}
	return most == NUMBER_OR_TIME;
}

static bool is_quiet(HeapTuple tuple, const char *own)
{
	Form_pg_proc form = (Form_pg_proc)GETSTRUCT(tuple);

	if (form->proretset || !is_called_plainly(tuple))
		return false;
	if (own)
		return form->provolatile == PROVOLATILE_IMMUTABLE;
	/* satisfies_hash_partition() opens a table */
	return form->oid < FirstNormalObjectId && form->prolang == INTERNALlanguageId &&
	       form->oid != F_SATISFIES_HASH_PARTITION &&
	       (form->provolatile == PROVOLATILE_IMMUTABLE ||
		(form->provolatile == PROVOLATILE_STABLE && is_of_plain_types(form)));
}

/* ---- what is known ---- */

struct known {
	Oid function;
	const char *own;
	bool holds_only_memory;
};

static struct known all_known[256];

static void forget(Datum argument, int cache, uint32 hash)
{
	(void)argument;
	(void)cache;
	(void)hash;
	memset(all_known, 0, sizeof all_known);
	library.is_read = false;
	n_changes++;
}

void ifp_known_functions_register(PGFunction handler)
{
	own_handler = handler;
	CacheRegisterSyscacheCallback(PROCOID, forget, (Datum)0);
	CacheRegisterSyscacheCallback(AMOID, forget, (Datum)0);
}

static struct known look_up(Oid function)
{
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	struct known known = { .function = function };

	if (!HeapTupleIsValid(tuple))
		return known;
	if (function >= FirstNormalObjectId)
		known.own = ((Form_pg_proc)GETSTRUCT(tuple))->prokind == PROKIND_AGGREGATE ? find_aggregate(tuple)
											   : find_function(tuple);
	known.holds_only_memory = is_quiet(tuple, known.own);
	ReleaseSysCache(tuple);
	return known;
}

pg_attribute_hot static struct known known_of(Oid function)
{
	struct known *kept = &all_known[function % lengthof(all_known)], known;
	uint64 before = n_changes;

	if (kept->function == function)
		return *kept;
	known = look_up(function);
	/* the catalogs may have changed while they were read */
	if (n_changes == before)
		*kept = known;
	return known;
}

const char *ifp_own_function(Oid function)
{
	return function < FirstNormalObjectId ? NULL : known_of(function).own;
}

bool ifp_is_own_function(Oid function, const char *name)
{
	const char *own = ifp_own_function(function);

	return own && strcmp(own, name) == 0;
}

bool ifp_holds_only_memory(Oid function)
{
	return known_of(function).holds_only_memory;
}

Oid ifp_own_function_named(const char *name, int n, const Oid *types)
{
	char *schema = ifp_is_installed() ? get_namespace_name(library.schema) : NULL;
	Oid function =
		schema ? LookupFuncName(list_make2(makeString(schema), makeString(pstrdup(name))), n, types, true) : InvalidOid;

	return OidIsValid(function) && ifp_is_own_function(function, name) ? function : InvalidOid;
}
