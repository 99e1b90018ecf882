#include "pg_ext/types/values.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

/* ---- times and values ---- */

int64 ifp_key_from_double(double real)
{
	int64 bits;

	if (isnan(real))
		real = get_float8_nan();
	memcpy(&bits, &real, sizeof bits);
	return bits < 0 ? bits ^ PG_INT64_MAX : bits;
}

double ifp_double_from_key(int64 key)
{
	int64 bits = key < 0 ? key ^ PG_INT64_MAX : key;
	double real;

	memcpy(&real, &bits, sizeof real);
	return real;
}

int64 ifp_time_from_datum(const struct ifp_definition *definition, Datum datum)
{
	switch (definition->time_type) {
	case IFP_TIME_INT2:
		return DatumGetInt16(datum);
	case IFP_TIME_INT4:
	case IFP_TIME_DATE:
		return DatumGetInt32(datum);
	case IFP_TIME_FLOAT8:
		return ifp_key_from_double(DatumGetFloat8(datum));
	case IFP_TIME_INT8:
	case IFP_TIME_TIMESTAMP:
		break;
	}
	return DatumGetInt64(datum);
}

Datum ifp_time_to_datum(const struct ifp_definition *definition, int64 time)
{
	switch (definition->time_type) {
	case IFP_TIME_INT2:
		return Int16GetDatum((int16)time);
	case IFP_TIME_INT4:
	case IFP_TIME_DATE:
		return Int32GetDatum((int32)time);
	case IFP_TIME_FLOAT8:
		return Float8GetDatum(ifp_double_from_key(time));
	case IFP_TIME_INT8:
	case IFP_TIME_TIMESTAMP:
		break;
	}
	return Int64GetDatum(time);
}

struct ifp_time_keys ifp_time_keys(const struct ifp_definition *definition)
{
	struct ifp_time_keys keys = { PG_INT64_MIN, PG_INT64_MIN, PG_INT64_MAX, PG_INT64_MAX };

	switch (definition->time_type) {
	case IFP_TIME_INT2:
		keys = (struct ifp_time_keys){ PG_INT16_MIN, PG_INT16_MIN, PG_INT16_MAX, PG_INT16_MAX };
		break;
	case IFP_TIME_INT4:
		keys = (struct ifp_time_keys){ PG_INT32_MIN, PG_INT32_MIN, PG_INT32_MAX, PG_INT32_MAX };
		break;
	case IFP_TIME_DATE:
		keys = (struct ifp_time_keys){ DATEVAL_NOBEGIN, DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE,
					       DATE_END_JULIAN - POSTGRES_EPOCH_JDATE - 1, DATEVAL_NOEND };
		break;
	case IFP_TIME_TIMESTAMP:
		keys = (struct ifp_time_keys){ DT_NOBEGIN, MIN_TIMESTAMP, END_TIMESTAMP - 1, DT_NOEND };
		break;
	case IFP_TIME_FLOAT8:
		keys.lowest = keys.lowest_finite = ifp_key_from_double(-get_float8_infinity());
		keys.highest = keys.highest_finite = ifp_key_from_double(get_float8_nan());
		break;
	case IFP_TIME_INT8:
		break;
	}
	return keys;
}

static const char *column_name(Relation index, unsigned value)
{
	int attribute = IndexRelationGetNumberOfKeyAttributes(index) + (int)value;

	return NameStr(TupleDescAttr(RelationGetDescr(index), attribute)->attname);
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
	Numeric number = DatumGetNumeric(datum), power;
	Datum scaled;
	int64 result;

	if (numeric_is_nan(number))
		ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			errmsg("index \"%s\" cannot hold NaN in numeric column \"%s\"", RelationGetRelationName(index),
			       column_name(index, value)),
			errhint("Store NULL, or declare the column double precision."));
	power = int64_to_numeric(powers[scale]);
	scaled = DirectFunctionCall2(numeric_mul, NumericGetDatum(number), NumericGetDatum(power));
	result = DatumGetInt64(DirectFunctionCall1(numeric_int8, scaled));
	/* an INSERT of many rows has no memory context for each row */
	pfree(DatumGetPointer(scaled));
	pfree(power);
	if ((Pointer)number != DatumGetPointer(datum))
		pfree(number);
	return result;
}

int64 ifp_distinct_key(Oid type, Datum datum)
{
	union iforest_number number = { .integer = 0 };
	struct varlena *bytes;
	size_t n_bytes;
	int64 key;

	switch (type) {
	case BOOLOID:
		return DatumGetBool(datum);
	case INT2OID:
		return DatumGetInt16(datum);
	case INT4OID:
	case DATEOID:
		return DatumGetInt32(datum);
	case INT8OID:
	case TIMESTAMPOID:
	case TIMESTAMPTZOID:
		return DatumGetInt64(datum);
	case FLOAT4OID:
	case FLOAT8OID:
	case NUMERICOID:
		number.real = ifp_number_from_datum(datum, type);
		return iforest_distinct_key_of_number(number, IFOREST_FLOAT64);
	case UUIDOID:
		return iforest_distinct_key_of_blob(DatumGetPointer(datum), UUID_LEN);
	case TEXTOID:
	case VARCHAROID:
	case BPCHAROID:
	case BYTEAOID:
		bytes = PG_DETOAST_DATUM_PACKED(datum);
		n_bytes = VARSIZE_ANY_EXHDR(bytes);
		if (type == BPCHAROID)
			n_bytes = (size_t)bpchartruelen(VARDATA_ANY(bytes), (int)n_bytes);
		key = (type == BYTEAOID ? iforest_distinct_key_of_blob : iforest_distinct_key_of_text)(VARDATA_ANY(bytes),
												       n_bytes);
		if (bytes != (struct varlena *)DatumGetPointer(datum))
			pfree(bytes);
		return key;
	default:
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
			errmsg("iforest_distinct: values of type %s cannot be counted", format_type_be(type)),
			errhint("Cast them to text."));
	}
}

union iforest_number ifp_value_from_datum(Relation index, const struct ifp_definition *definition, unsigned value, Datum datum)
{
	union iforest_number number = { .integer = 0 };

	/* the type may have been widened without a rebuild of the index */
	if (definition->value_scales[value] < 0)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("column \"%s\" is no longer exact within 64 bits, as index \"%s\" needs it",
			       column_name(index, value), RelationGetRelationName(index)),
			errhint("Give it a type again that the index can hold, as numeric(p, s) with p at most %d, or drop the "
				"index.",
				IFP_MOST_DIGITS));
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
	case TEXTOID:
	case VARCHAROID:
	case BPCHAROID:
	case BYTEAOID:
	case UUIDOID:
		number.integer = ifp_distinct_key(definition->value_types[value], datum);
		break;
	default:
		number.integer = DatumGetInt64(datum);
	}
	return number;
}

Datum ifp_numeric_from_int128(iforest_int128 integer, int scale)
{
	Datum number;

	if (integer >= PG_INT64_MIN && integer <= PG_INT64_MAX) {
		number = NumericGetDatum(int64_to_numeric((int64)integer));
	} else {
		/* high * 2^62 + low */
		Datum high = ifp_numeric_from_int128(integer >> 62, 0);
		Datum unit = NumericGetDatum(int64_to_numeric(INT64CONST(1) << 62));

		number = DirectFunctionCall2(numeric_add, DirectFunctionCall2(numeric_mul, high, unit),
					     NumericGetDatum(int64_to_numeric((int64)(integer & ((INT64CONST(1) << 62) - 1)))));
	}
	if (scale > 0)
		number = DirectFunctionCall2(numeric_mul, number, NumericGetDatum(int64_div_fast_to_numeric(1, scale)));
	return number;
}

Datum ifp_value_to_datum(const struct ifp_definition *definition, unsigned value, union iforest_number number)
{
	if (ifp_is_key_type(definition->value_types[value]))
		elog(ERROR, "no value can be read from a key");
	switch (definition->value_types[value]) {
	case INT2OID:
		return Int16GetDatum((int16)number.integer);
	case INT4OID:
	case DATEOID:
		return Int32GetDatum((int32)number.integer);
	case FLOAT4OID:
		return Float4GetDatum((float4)number.real);
	case FLOAT8OID:
		return Float8GetDatum(number.real);
	case NUMERICOID:
		return ifp_numeric_from_int128(number.integer, definition->value_scales[value]);
	default:
		return Int64GetDatum(number.integer);
	}
}

/* ---- variances ----
 *
 * Results have the same digits as those of the server's aggregates. The server (numeric.c) computes
 * (n * squares - sum^2) / (n * (n - 1)), or / n^2, and takes the square root of that quotient to as many digits after the
 * point. Here the server's own functions of numerics compute both; only the root, which numeric_sqrt() returns with more
 * digits, has to be rounded. */

static Datum multiply(Datum a, Datum b)
{
	return DirectFunctionCall2(numeric_mul, a, b);
}

static bool is_greater(Datum a, Datum b)
{
	return DatumGetInt32(DirectFunctionCall2(numeric_cmp, a, b)) > 0;
}

Datum ifp_numeric_from_squares(const uint64 *squares, int scale)
{
	Datum number = ifp_numeric_from_int128(0, 0), word = ifp_numeric_from_int128((iforest_int128)1 << 64, 0);

	for (int i = 2; i >= 0; i--)
		number = DirectFunctionCall2(numeric_add, multiply(number, word), ifp_numeric_from_int128(squares[i], 0));
	return scale > 0 ? multiply(number, ifp_numeric_from_int128(1, 2 * scale)) : number;
}

/* Returns the square root, rounded to as many digits after the point as the number has. Further digits of numeric_sqrt() are
 * cut off. The square of the midpoint between two roots decides the last digit; no number of so few digits equals it. */
static Datum root(Datum number)
{
	int32 scale = DatumGetInt32(DirectFunctionCall1(numeric_scale, number));
	Datum low = DirectFunctionCall2(numeric_trunc, DirectFunctionCall1(numeric_sqrt, number), Int32GetDatum(scale));
	Datum half = ifp_numeric_from_int128(5, scale + 1);
	Datum middle = DirectFunctionCall2(numeric_add, low, half);

	if (is_greater(number, multiply(middle, middle)))
		low = DirectFunctionCall2(numeric_add, middle, half);
	return DirectFunctionCall2(numeric_trunc, low, Int32GetDatum(scale));
}

Datum ifp_numeric_variance(uint64 n, Datum sum, Datum squares, bool is_sample, bool is_deviation)
{
	Datum zero = ifp_numeric_from_int128(0, 0), count = ifp_numeric_from_int128((iforest_int128)n, 0);
	Datum spread = DirectFunctionCall2(numeric_sub, multiply(count, squares), multiply(sum, sum));
	Datum divisor, variance;

	if (!is_greater(spread, zero))
		return zero;
	divisor = multiply(count, ifp_numeric_from_int128((iforest_int128)(is_sample ? n - 1 : n), 0));
	variance = DirectFunctionCall2(numeric_div, spread, divisor);
	return is_deviation ? root(variance) : variance;
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

void ifp_by_append(Relation index, const struct ifp_definition *definition, unsigned attribute, Datum datum, bool is_null,
		   struct iforest_series_key *key)
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
		if (definition->by_blanks >> attribute & 1)
			value.n_bytes = (uint32_t)bpchartruelen(VARDATA_ANY(detoasted), (int)value.n_bytes);
	} else if (!is_null) {
		value.tag = form->atttypid == NAMEOID ? IFOREST_BY_TEXT : IFOREST_BY_BLOB;
		value.data = (const uint8_t *)DatumGetPointer(datum);
		value.n_bytes = form->atttypid == NAMEOID ? (uint32_t)strlen(DatumGetCString(datum)) : (uint32_t)form->attlen;
	}
	ifp_require(iforest_series_key_append(key, &value), index, NULL);
	if (detoasted && detoasted != (struct varlena *)DatumGetPointer(datum))
		pfree(detoasted);
}

/* Returns a string of char(n) with its trailing blanks. */
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

void ifp_by_read(Relation index, const struct ifp_definition *definition, const uint8 *key, uint32 n_bytes, Datum *values,
		 bool *are_null)
{
	uint32_t offset = 0;

	for (unsigned i = 0; i < definition->n_by; i++) {
		struct iforest_by_value value;

		ifp_require(iforest_series_key_next(key, n_bytes, &offset, &value), index,
			    &(struct iforest_fault){ .what = "the key of a series is wrong" });
		are_null[i] = value.tag == IFOREST_BY_NULL;
		values[i] = are_null[i] ? (Datum)0
					: by_datum(TupleDescAttr(RelationGetDescr(index), i), &value, definition->by_length[i]);
	}
}

double ifp_number_from_datum(Datum datum, Oid type)
{
	switch (type) {
	case INT2OID:
		return DatumGetInt16(datum);
	case INT4OID:
		return DatumGetInt32(datum);
	case INT8OID:
		return (double)DatumGetInt64(datum);
	case FLOAT4OID:
		return DatumGetFloat4(datum);
	case NUMERICOID:
		return DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, datum));
	default:
		return DatumGetFloat8(datum);
	}
}
