#include "pg_ext/definition.h"

#include <math.h>

#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "pg_ext/options.h"
#include "pg_ext/pending.h"

enum { MOST_NUMERIC_DIGITS = 18 };

/* ---- columns ---- */

static bool time_type_of(Oid type, enum iforest_time_type *time_type)
{
	static const struct { Oid oid; enum iforest_time_type type;
	} known[] = {
		{ INT2OID, IFOREST_TIME_INT2 },		  { INT4OID, IFOREST_TIME_INT4 },
		{ INT8OID, IFOREST_TIME_INT8 },		  { DATEOID, IFOREST_TIME_DATE },
		{ TIMESTAMPOID, IFOREST_TIME_TIMESTAMP }, { TIMESTAMPTZOID, IFOREST_TIME_TIMESTAMP },
		{ FLOAT8OID, IFOREST_TIME_FLOAT8 },
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
	int32 precision = (typmod - VARHDRSZ) >> 16 & 0xffff;
	int32 digits = (((typmod - VARHDRSZ) & 0x7ff) ^ 1024) - 1024;

	*scale = (int16)digits;
	return typmod >= VARHDRSZ && precision <= MOST_NUMERIC_DIGITS && digits >= 0 && digits <= MOST_NUMERIC_DIGITS;
}

/* The kind under which values of a type are kept; 0 where they are not. */
static int value_kind(Oid type, int32 typmod, int16 *scale)
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
		return 0;
	}
}

static bool is_text(Oid type)
{
	return type == TEXTOID || type == VARCHAROID || type == BPCHAROID;
}

static Oid base_type(Relation index, int attribute, int32 *typmod)
{
	Form_pg_attribute form = TupleDescAttr(RelationGetDescr(index), attribute);

	*typmod = form->atttypmod;
	return getBaseTypeAndTypmod(form->atttypid, typmod);
}

void iforest_definition_read(Relation index, struct iforest_definition *definition)
{
	const struct iforest_options *options = (const struct iforest_options *)index->rd_options;
	int n_keys = IndexRelationGetNumberOfKeyAttributes(index);
	int n_values = IndexRelationGetNumberOfAttributes(index) - n_keys;
	int32 typmod;

	memset(definition, 0, sizeof *definition);
	definition->n_by = (uint16)(n_keys - 1);
	definition->n_values = (uint16)n_values;
	if (n_values > IFOREST_MAX_VALUES)
		ereport(ERROR, errcode(ERRCODE_TOO_MANY_COLUMNS),
			errmsg("an iforest index has at most %d value columns", IFOREST_MAX_VALUES),
			errhint("Make a second index for the others."));
	if (!time_type_of(base_type(index, n_keys - 1, &typmod), &definition->time_type))
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
			errmsg("the last key column of an iforest index is its time, and type %s cannot be one",
			       format_type_be(TupleDescAttr(RelationGetDescr(index), n_keys - 1)->atttypid)),
			errhint("Times are smallint, integer, bigint, date, timestamp, timestamptz or double precision; by "
				"columns stand before the time, values are INCLUDEd."));
	for (int i = 0; i < definition->n_by; i++) {
		Oid type = base_type(index, i, &typmod);

		definition->by_text |= is_text(type) ? 1u << i : 0;
		definition->by_length[i] = type == BPCHAROID && typmod > VARHDRSZ ? typmod - VARHDRSZ : 0;
	}
	for (int v = 0; v < n_values; v++) {
		definition->value_types[v] = base_type(index, n_keys + v, &typmod);
		if (!value_kind(definition->value_types[v], typmod, &definition->value_scales[v]))
			definition->value_scales[v] = -1;
	}
	definition->entry_bytes = iforest_pending_entry_bytes((unsigned)n_values);
	definition->pending_pages = options ? (uint32)options->pending_pages : 64;
	definition->background_merge = options ? options->background_merge : true;
}

/* ---- refusals ---- */

static void check_by_columns(Relation index, const struct iforest_definition *definition)
{
	for (int i = 0; i < definition->n_by; i++) {
		Form_pg_attribute form = TupleDescAttr(RelationGetDescr(index), i);

		if (getBaseType(form->atttypid) == FLOAT8OID)
			ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("column \"%s\" of type double precision cannot be a by column",
				       NameStr(form->attname)),
				errdetail("0 and -0 are equal and yet not the same."));
		if (getBaseType(form->atttypid) == BPCHAROID && definition->by_length[i] == 0)
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
	}
	for (int i = 0; i <= definition->n_by; i++)
		if (index->rd_indoption[i] != 0)
			ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("iforest indexes are ascending with NULLs last"),
				errhint("Leave DESC and NULLS FIRST out; the index is scanned backward where a query asks "
					"for it."));
}

static void check_values(Relation index, const struct iforest_definition *definition, struct iforest_fields *fields)
{
	for (unsigned v = 0; v < definition->n_values; v++) {
		int attribute = definition->n_by + 1 + (int)v;
		const char *name = NameStr(TupleDescAttr(RelationGetDescr(index), attribute)->attname);
		int16 scale;
		int32 typmod;
		Oid type = base_type(index, attribute, &typmod);
		int kind = value_kind(type, typmod, &scale);

		if (kind) {
			fields->kinds[v] = (uint8_t)kind;
			continue;
		}
		if (type == NUMERICOID)
			ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("column \"%s\" of type numeric is not exact within 64 bits", name),
				errhint("Declare it numeric(p, s) with p at most %d and s from 0 to %d.",
					MOST_NUMERIC_DIGITS, MOST_NUMERIC_DIGITS));
		if (type == INTERVALOID)
			ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("column \"%s\" of type interval cannot be a value", name),
				errdetail("Months, days and microseconds of an interval do not add up to one number."),
				errhint("Keep the duration as a bigint of microseconds, for instance in a generated "
					"column."));
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("column \"%s\" of type %s cannot be a value", name, format_type_be(type)),
			errhint("Values are integers, real, double precision, numeric(p, s) with p at most %d, date and "
				"timestamps.",
				MOST_NUMERIC_DIGITS));
	}
	fields->n_values = (uint8_t)definition->n_values;
}

static unsigned find_value(Relation index, const struct iforest_definition *definition, const char *option, const char *name)
{
	for (unsigned v = 0; v < definition->n_values; v++) {
		AttrNumber attribute = index->rd_index->indkey.values[definition->n_by + 1 + v];
		char *column = get_attname(index->rd_index->indrelid, attribute, false);

		if (strcmp(column, name) == 0)
			return v;
	}
	ereport(ERROR, errcode(ERRCODE_UNDEFINED_COLUMN), errmsg("%s = '%s': no such column is INCLUDEd", option, name),
		errhint("Name the column in INCLUDE (...), or set the parameter anew if the column was renamed."));
}

static void check_end(Relation index, const struct iforest_definition *definition, struct iforest_fields *fields)
{
	const struct iforest_options *options = (const struct iforest_options *)index->rd_options;
	const char *duration = iforest_option_string(options, duration), *end = iforest_option_string(options, end);
	static const enum iforest_end_rule rules[] = {
		[IFOREST_UNIT_OF_TIME] = IFOREST_END_DURATION, [IFOREST_UNIT_NS] = IFOREST_END_PER_1000,
		[IFOREST_UNIT_US] = IFOREST_END_DURATION, [IFOREST_UNIT_MS] = IFOREST_END_TIMES_1000,
		[IFOREST_UNIT_S] = IFOREST_END_TIMES_1000000,
	};
	int unit = options ? options->duration_unit : IFOREST_UNIT_OF_TIME;
	unsigned v;

	fields->duration_value = IFOREST_NO_VALUE;
	if (duration && end)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("give duration or end, not both"));
	if (unit != IFOREST_UNIT_OF_TIME && (!duration || definition->time_type != IFOREST_TIME_TIMESTAMP))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("duration_unit needs a duration and a time column of type timestamp or timestamptz"),
			errdetail("Otherwise the duration is in the unit of the time column."));
	if (!duration && !end)
		return;
	v = find_value(index, definition, duration ? "duration" : "end", duration ? duration : end);
	if (definition->time_type == IFOREST_TIME_FLOAT8)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("spans need a time column of an integer or timestamp type, not double precision"));
	if (end) {
		enum iforest_time_type end_type;
		bool is_time = time_type_of(definition->value_types[v], &end_type);
		bool both_integers = end_type <= IFOREST_TIME_INT8 && definition->time_type <= IFOREST_TIME_INT8;

		if (!is_time || (end_type != definition->time_type && !both_integers))
			ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
				errmsg("end = '%s': the column is not of the time column's type", end));
		fields->end_rule = IFOREST_END_COLUMN;
	} else {
		Oid type = definition->value_types[v];

		if (type != INT2OID && type != INT4OID && type != INT8OID)
			ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
				errmsg("duration = '%s': the column is not an integer", duration));
		fields->end_rule = (uint8_t)rules[unit];
	}
	fields->duration_value = (uint8_t)v;
}

void iforest_definition_check(Relation heap, Relation index, const struct iforest_definition *definition,
			      struct iforest_fields *fields)
{
	if (heap->rd_rel->relam != HEAP_TABLE_AM_OID)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("iforest indexes need a table of access method heap"),
			errdetail("Answers from the index go by the heap's visibility map."));
	*fields = (struct iforest_fields){ .has_blocks = true };
	check_by_columns(index, definition);
	check_values(index, definition, fields);
	check_end(index, definition, fields);
	iforest_require(iforest_fields_finish(fields), index, NULL);
}

/* ---- times and values ---- */

static int64 key_from_double(double real)
{
	int64 bits;

	if (isnan(real))
		real = get_float8_nan();
	if (real == 0)
		real = 0; /* of -0, too */
	memcpy(&bits, &real, sizeof bits);
	return bits < 0 ? bits ^ PG_INT64_MAX : bits;
}

static double double_from_key(int64 key)
{
	int64 bits = key < 0 ? key ^ PG_INT64_MAX : key;
	double real;

	memcpy(&real, &bits, sizeof real);
	return real;
}

int64 iforest_time_from_datum(const struct iforest_definition *definition, Datum datum)
{
	switch (definition->time_type) {
	case IFOREST_TIME_INT2:
		return DatumGetInt16(datum);
	case IFOREST_TIME_INT4:
	case IFOREST_TIME_DATE:
		return DatumGetInt32(datum);
	case IFOREST_TIME_FLOAT8:
		return key_from_double(DatumGetFloat8(datum));
	case IFOREST_TIME_INT8:
	case IFOREST_TIME_TIMESTAMP:
		break;
	}
	return DatumGetInt64(datum);
}

Datum iforest_time_to_datum(const struct iforest_definition *definition, int64 time)
{
	switch (definition->time_type) {
	case IFOREST_TIME_INT2:
		return Int16GetDatum((int16)time);
	case IFOREST_TIME_INT4:
	case IFOREST_TIME_DATE:
		return Int32GetDatum((int32)time);
	case IFOREST_TIME_FLOAT8:
		return Float8GetDatum(double_from_key(time));
	case IFOREST_TIME_INT8:
	case IFOREST_TIME_TIMESTAMP:
		break;
	}
	return Int64GetDatum(time);
}

struct iforest_time_keys iforest_time_keys(const struct iforest_definition *definition)
{
	struct iforest_time_keys keys = { PG_INT64_MIN, PG_INT64_MIN, PG_INT64_MAX, PG_INT64_MAX };

	switch (definition->time_type) {
	case IFOREST_TIME_INT2:
		keys = (struct iforest_time_keys){ PG_INT16_MIN, PG_INT16_MIN, PG_INT16_MAX, PG_INT16_MAX };
		break;
	case IFOREST_TIME_INT4:
		keys = (struct iforest_time_keys){ PG_INT32_MIN, PG_INT32_MIN, PG_INT32_MAX, PG_INT32_MAX };
		break;
	case IFOREST_TIME_DATE:
		keys = (struct iforest_time_keys){ DATEVAL_NOBEGIN, DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE,
						   DATE_END_JULIAN - POSTGRES_EPOCH_JDATE - 1, DATEVAL_NOEND };
		break;
	case IFOREST_TIME_TIMESTAMP:
		keys = (struct iforest_time_keys){ DT_NOBEGIN, MIN_TIMESTAMP, END_TIMESTAMP - 1, DT_NOEND };
		break;
	case IFOREST_TIME_FLOAT8:
		keys.lowest = keys.lowest_finite = key_from_double(-get_float8_infinity());
		keys.highest = keys.highest_finite = key_from_double(get_float8_nan());
		break;
	case IFOREST_TIME_INT8:
		break;
	}
	return keys;
}

static int64 int64_from_numeric(Relation index, unsigned value, Datum datum, int16 scale)
{
	static const int64 powers[] = { 1,
					10,
					100,
					1000,
					10000,
					100000,
					1000000,
					10000000,
					100000000,
					1000000000,
					10000000000,
					100000000000,
					1000000000000,
					10000000000000,
					100000000000000,
					1000000000000000,
					10000000000000000,
					100000000000000000,
					1000000000000000000 };
	int attribute = IndexRelationGetNumberOfKeyAttributes(index) + (int)value;
	const char *column = NameStr(TupleDescAttr(RelationGetDescr(index), attribute)->attname);
	Numeric number = DatumGetNumeric(datum), power;
	Datum scaled;
	int64 result;

	/* a type may be made wider without building the index anew */
	if (scale < 0 || scale >= (int)lengthof(powers))
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("column \"%s\" is no longer exact within 64 bits, as index \"%s\" needs it", column,
			       RelationGetRelationName(index)),
			errhint("Make it numeric(p, s) again with p at most %d, or drop the index.", MOST_NUMERIC_DIGITS));
	if (numeric_is_nan(number))
		ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			errmsg("index \"%s\" cannot hold NaN in numeric column \"%s\"", RelationGetRelationName(index), column),
			errhint("Store NULL, or declare the column double precision."));
	power = int64_to_numeric(powers[scale]);
	scaled = DirectFunctionCall2(numeric_mul, NumericGetDatum(number), NumericGetDatum(power));
	result = DatumGetInt64(DirectFunctionCall1(numeric_int8, scaled));
	/* an INSERT of many rows comes here without a memory context for each */
	pfree(DatumGetPointer(scaled));
	pfree(power);
	if ((Pointer)number != DatumGetPointer(datum))
		pfree(number);
	return result;
}

union iforest_number iforest_value_from_datum(Relation index, const struct iforest_definition *definition, unsigned value,
					      Datum datum)
{
	union iforest_number number = { .integer = 0 };

	switch (definition->value_types[value]) {
	case INT2OID:
		number.integer = DatumGetInt16(datum);
		break;
	case INT4OID:
	case DATEOID:
		number.integer = DatumGetInt32(datum);
		break;
	case FLOAT4OID:
		number.real = DatumGetFloat4(datum);
		break;
	case FLOAT8OID:
		number.real = DatumGetFloat8(datum);
		break;
	case NUMERICOID:
		number.integer = int64_from_numeric(index, value, datum, definition->value_scales[value]);
		break;
	default:
		number.integer = DatumGetInt64(datum);
	}
	return number;
}

/* ---- by values ---- */

static int64 int64_from_fixed(Datum datum, int16 length)
{
	switch (length) {
	case 1:
		return DatumGetChar(datum);
	case 2:
		return DatumGetInt16(datum);
	case 4:
		return DatumGetInt32(datum);
	default:
		return DatumGetInt64(datum);
	}
}

static Datum fixed_from_int64(int64 number, int16 length)
{
	switch (length) {
	case 1:
		return CharGetDatum((char)number);
	case 2:
		return Int16GetDatum((int16)number);
	case 4:
		return Int32GetDatum((int32)number);
	default:
		return Int64GetDatum(number);
	}
}

void iforest_by_append(Relation index, const struct iforest_definition *definition, unsigned attribute, Datum datum,
		       bool is_null, struct iforest_series_key *key)
{
	Form_pg_attribute form = TupleDescAttr(RelationGetDescr(index), attribute);
	struct iforest_by_value value = { .tag = IFOREST_BY_NULL };
	struct varlena *detoasted = NULL;

	if (!is_null && form->attbyval) {
		value.tag = IFOREST_BY_INTEGER;
		value.integer = int64_from_fixed(datum, form->attlen);
	} else if (!is_null && form->attlen == -1) {
		detoasted = PG_DETOAST_DATUM_PACKED(datum);
		value.tag = definition->by_text >> attribute & 1 ? IFOREST_BY_TEXT : IFOREST_BY_BLOB;
		value.data = (const uint8_t *)VARDATA_ANY(detoasted);
		value.n_bytes = (uint32_t)VARSIZE_ANY_EXHDR(detoasted);
		if (definition->by_length[attribute])
			value.n_bytes = (uint32_t)bpchartruelen(VARDATA_ANY(detoasted), (int)value.n_bytes);
	} else if (!is_null) {
		value.tag = form->atttypid == NAMEOID ? IFOREST_BY_TEXT : IFOREST_BY_BLOB;
		value.data = (const uint8_t *)DatumGetPointer(datum);
		value.n_bytes = form->atttypid == NAMEOID ? (uint32_t)strlen(DatumGetCString(datum))
							  : (uint32_t)form->attlen;
	}
	iforest_require(iforest_series_append(key, &value), index, NULL);
	if (detoasted && detoasted != (struct varlena *)DatumGetPointer(datum))
		pfree(detoasted);
}

/* A string of char(n) with its blanks at the end. */
static Datum padded(const struct iforest_by_value *value, int32 length)
{
	int n_characters = pg_mbstrlen_with_len((const char *)value->data, (int)value->n_bytes);
	uint32 n_blanks = (uint32)Max(length - n_characters, 0);
	char *bytes = palloc(VARHDRSZ + value->n_bytes + n_blanks);

	SET_VARSIZE(bytes, VARHDRSZ + value->n_bytes + n_blanks);
	memcpy(VARDATA(bytes), value->data, value->n_bytes);
	memset(VARDATA(bytes) + value->n_bytes, ' ', n_blanks);
	return PointerGetDatum(bytes);
}

static Datum by_datum(Form_pg_attribute form, const struct iforest_by_value *value, int32 length)
{
	char *bytes;

	if (form->attbyval)
		return fixed_from_int64(value->integer, form->attlen);
	if (length)
		return padded(value, length);
	if (form->attlen == -1) {
		bytes = palloc(VARHDRSZ + value->n_bytes);
		SET_VARSIZE(bytes, VARHDRSZ + value->n_bytes);
		memcpy(VARDATA(bytes), value->data, value->n_bytes);
	} else {
		bytes = palloc0((Size)form->attlen);
		memcpy(bytes, value->data, Min(value->n_bytes, (uint32_t)form->attlen));
	}
	return PointerGetDatum(bytes);
}

void iforest_by_read(Relation index, const struct iforest_definition *definition, const uint8 *key, uint32 n_bytes,
		     Datum *values, bool *are_null)
{
	uint32_t offset = 0;

	for (unsigned i = 0; i < definition->n_by; i++) {
		struct iforest_by_value value;

		iforest_require(iforest_series_next(key, n_bytes, &offset, &value), index,
				&(struct iforest_fault){ .what = "the key of a series is wrong" });
		are_null[i] = value.tag == IFOREST_BY_NULL;
		values[i] = are_null[i]
				    ? (Datum)0
				    : by_datum(TupleDescAttr(RelationGetDescr(index), i), &value, definition->by_length[i]);
	}
}
