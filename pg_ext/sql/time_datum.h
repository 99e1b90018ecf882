/* sql/time_datum.h -- Times of SQL aggregates as integers, and back: of integers, dates and timestamps. */
#ifndef IFP_SQL_TIME_DATUM_H
#define IFP_SQL_TIME_DATUM_H

#include "pg_ext/base/engine.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/date.h"

/* Converts a time of a base type to an integer. Raises an error for other types. */
static inline int64 ifp_time_of_datum(Oid type, Datum datum)
{
	switch (type) {
	case INT2OID:
		return DatumGetInt16(datum);
	case INT4OID:
		return DatumGetInt32(datum);
	case DATEOID:
		return DatumGetDateADT(datum);
	case INT8OID:
	case TIMESTAMPOID:
	case TIMESTAMPTZOID:
		return DatumGetInt64(datum);
	default:
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("times are integers, dates or timestamps, and not of type %s", format_type_be(type)));
	}
}

static inline Datum ifp_datum_of_time(Oid type, int64 time)
{
	switch (type) {
	case INT2OID:
		return Int16GetDatum((int16)time);
	case INT4OID:
		return Int32GetDatum((int32)time);
	case DATEOID:
		return DateADTGetDatum((DateADT)time);
	default:
		return Int64GetDatum(time);
	}
}

#endif
