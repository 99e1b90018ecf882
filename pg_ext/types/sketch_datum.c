#include "pg_ext/types/sketch_datum.h"
#include "pg_ext/types/types_sketch_datum_own.h"

void iforest_sketch_require(enum iforest_status status, const char *name)
{
	switch (status) {
	case IFOREST_OK:
		return;
	case IFOREST_FORMAT:
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("%s: the sketch is of another version of iforest", name),
			errhint("Make it anew from its numbers."));
		break;
	case IFOREST_RANGE:
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			errmsg("%s: more than 9223372036854775807 numbers", name));
		break;
	case IFOREST_ARGUMENT:
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("%s: min and max are not those of the sketch's numbers", name),
			errhint("Give min(v) and max(v) of the same rows."));
		break;
	default:
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s: not a sketch, or a damaged one", name),
			errhint("It takes what iforest_sketch() and iforest_sketch_merge() give."));
	}
}

bytea *iforest_sketch_to_bytea(const struct iforest_sketch *sketch)
{
	uint8_t *bytes;
	size_t n_bytes;
	bytea *result;

	iforest_sketch_require(iforest_sketch_write(sketch, &bytes, &n_bytes), "iforest_sketch");
	result = palloc(VARHDRSZ + n_bytes);
	SET_VARSIZE(result, VARHDRSZ + n_bytes);
	memcpy(VARDATA(result), bytes, n_bytes);
	pfree(bytes);
	return result;
}

bytea *iforest_sketch_sum(const bytea *one, const bytea *other)
{
	const bytea *const parts[] = { one, other };
	struct iforest_sketch sketch;
	bytea *sum;

	iforest_sketch_init(&sketch, &iforest_pg_alloc);
	for (size_t i = 0; i < lengthof(parts); i++)
		iforest_sketch_require(iforest_sketch_merge(&sketch, (const uint8_t *)VARDATA(parts[i]),
							    VARSIZE(parts[i]) - VARHDRSZ),
				       "iforest_sketch");
	sum = iforest_sketch_to_bytea(&sketch);
	iforest_sketch_release(&sketch);
	return sum;
}
