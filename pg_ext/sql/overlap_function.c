#include "pg_ext/sql/index_info.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "datatype/timestamp.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "pg_ext/base/compat.h"
#include "pg_ext/planner/overlap_index.h"
#include "pg_ext/planner/overlap_parts.h"
#include "pg_ext/sql/overlaps.h"
#include "pg_ext/sql/bucket_functions.h"

IFOREST_SQL_FUNCTION(iforest_overlap_spans);

/* The index; t0, t1, n, step, origin; then, for each condition, the number of a by column and what it is equal to. */
enum { INDEX, BUCKETING, CONDITIONS = BUCKETING + 5 };

/* Columns of the answer, after the by columns. */
enum { BUCKET, BUCKET_START, BUCKET_END, COUNT, CLIPPED, LONGEST, LONGEST_ROW, LONGEST_TIME, N_COLUMNS };

/* ---- the question ---- */

static Oid time_argument_type(Oid time)
{
	return time == INT2OID || time == INT4OID ? INT8OID : time;
}

static Oid base_type(TupleDesc descriptor, int column)
{
	return getBaseType(TupleDescAttr(descriptor, column)->atttypid);
}

/* The type itself, or what it is made of; but no domain that is made of it, whose conditions nobody has checked. */
static bool is_of_type(TupleDesc wanted, int column, Oid type)
{
	Oid given = TupleDescAttr(wanted, column)->atttypid;

	return given == type || given == getBaseType(type);
}

/* As the columns stand in the index; by times and numbers the types that SQL gives them. */
static void require_columns(TupleDesc wanted, Relation index, unsigned duration)
{
	TupleDesc own = RelationGetDescr(index);
	int n_by = IndexRelationGetNumberOfKeyAttributes(index) - 1;
	Oid argument = time_argument_type(base_type(own, n_by));
	Oid types[N_COLUMNS] = { [BUCKET] = INT8OID, [BUCKET_START] = argument, [BUCKET_END] = argument, [COUNT] = INT8OID,
				 [CLIPPED] = argument == INT8OID   ? NUMERICOID
					     : argument == DATEOID ? INT8OID
								   : INTERVALOID,
				 [LONGEST] = TupleDescAttr(own, n_by + 1 + (int)duration)->atttypid,
				 [LONGEST_ROW] = TIDOID, [LONGEST_TIME] = TupleDescAttr(own, n_by)->atttypid };
	bool is_right = wanted->natts == n_by + N_COLUMNS;

	for (int i = 0; is_right && i < n_by; i++)
		is_right = is_of_type(wanted, i, TupleDescAttr(own, i)->atttypid);
	for (int i = 0; is_right && i < N_COLUMNS; i++)
		is_right = is_of_type(wanted, n_by + i, types[i]);
	if (!is_right)
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
			errmsg("the columns asked for are not those of index \"%s\"", RelationGetRelationName(index)),
			errhint("Call the function of the index that iforest_create_functions() makes."));
}

static void require_arguments(FunctionCallInfo fcinfo, Relation index, Oid type)
{
	Oid step = type == INT8OID ? INT8OID : type == DATEOID ? INT4OID : INTERVALOID;
	Oid types[] = { type, type, INT8OID, step, type };
	bool is_right = PG_NARGS() >= CONDITIONS && !get_fn_expr_variadic(fcinfo->flinfo);

	for (size_t i = 0; is_right && i < lengthof(types); i++)
		is_right = get_fn_expr_argtype(fcinfo->flinfo, (int)(BUCKETING + i)) == types[i];
	if (!is_right)
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
			errmsg("the arguments are not those of index \"%s\"", RelationGetRelationName(index)),
			errhint("Call the function of the index that iforest_create_functions() makes."));
}

/* The type of what a condition compares with, as the operators of the index have it. */
static Oid compared_type(Relation index, int column, Oid given)
{
	Oid own = index->rd_opcintype[column - 1], type = getBaseType(given);

	return IsPolymorphicType(own) && type == base_type(RelationGetDescr(index), column - 1) ? own : type;
}

/* A condition that the operators of the index know becomes a scan key; the query checks them all again. */
static void read_conditions(FunctionCallInfo fcinfo, Relation index, struct iforest_overlaps *overlaps)
{
	int n_by = IndexRelationGetNumberOfKeyAttributes(index) - 1;

	overlaps->conditions = palloc0(PG_NARGS() * sizeof *overlaps->conditions);
	for (int i = CONDITIONS; i + 1 < PG_NARGS(); i += 2) {
		int column = PG_ARGISNULL(i) || get_fn_expr_argtype(fcinfo->flinfo, i) != INT4OID ? 0 : PG_GETARG_INT32(i);
		Oid given = get_fn_expr_argtype(fcinfo->flinfo, i + 1), element = get_element_type(given);
		Oid type, operator;

		if (column < 1 || column > n_by || PG_ARGISNULL(i + 1))
			continue;
		type = compared_type(index, column, OidIsValid(element) ? element : given);
		operator = get_opfamily_member(index->rd_opfamily[column - 1], index->rd_opcintype[column - 1], type,
					       BTEqualStrategyNumber);
		if (OidIsValid(operator))
			ScanKeyEntryInitialize(&overlaps->conditions[overlaps->n_conditions++],
					       OidIsValid(element) ? SK_SEARCHARRAY : 0, (AttrNumber)column,
					       BTEqualStrategyNumber, type, index->rd_indcollation[column - 1],
					       get_opcode(operator), PG_GETARG_DATUM(i + 1));
	}
}

/* ---- the answer ---- */

/* What lies inside, as PostgreSQL subtracts times. */
static Datum clipped(const struct iforest_overlapped *row, Oid type)
{
	iforest_int128 inside = row->inside, n_days = inside / USECS_PER_DAY;
	Interval *interval;

	if (type == INT8OID)
		return iforest_numeric_from_int128(inside, 0);
	if (row->has_no_end && type == DATEOID)
		ereport(ERROR, errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE), errmsg("cannot subtract infinite dates"));
	if (type == DATEOID && inside <= PG_INT64_MAX)
		return Int64GetDatum((int64)inside);
	if (type == DATEOID)
		ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("bigint out of range"));
	interval = palloc0(sizeof *interval);
	if (row->has_no_end) {
		iforest_endless_interval(interval);
		return IntervalPGetDatum(interval);
	}
	if (n_days > PG_INT32_MAX)
		ereport(ERROR, errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE), errmsg("interval out of range"));
	interval->day = (int32)n_days;
	interval->time = (TimeOffset)(inside % USECS_PER_DAY);
	return IntervalPGetDatum(interval);
}

/* A row as the index leads to it, and as the snapshot sees it: neighbours have the same longest span, as a rule. */
struct shown_row {
	int64 ref;
	ItemPointerData tid;
};

static void put_row(const struct iforest_overlaps *overlaps, const struct iforest_overlapped *row, Oid type,
		    ReturnSetInfo *result, Datum *values, bool *are_null, struct shown_row *shown)
{
	const struct iforest_reader *reader = overlaps->reader;
	const struct iforest_fields *fields = &reader->index.manifest.fields;
	int n_by = reader->definition.n_by;

	values[n_by + BUCKET] = Int64GetDatum(row->bucket);
	values[n_by + BUCKET_START] = iforest_bucket_bound(&overlaps->bucketing, row->bucket, false, type,
							   &are_null[n_by + BUCKET_START]);
	values[n_by + BUCKET_END] = iforest_bucket_bound(&overlaps->bucketing, row->bucket, true, type,
							 &are_null[n_by + BUCKET_END]);
	values[n_by + COUNT] = Int64GetDatum((int64)row->n);
	values[n_by + CLIPPED] = clipped(row, type);
	for (int i = LONGEST; i < N_COLUMNS; i++)
		are_null[n_by + i] = !row->longest.is_set;
	if (row->longest.is_set) {
		values[n_by + LONGEST] =
			iforest_value_to_datum(&reader->definition, fields->duration_value, row->longest.value);
		if (shown->ref != row->longest.ref) {
			shown->ref = row->longest.ref;
			iforest_ref_to_tid(shown->ref, &shown->tid);
			iforest_visible_ctid(overlaps->heap, overlaps->snapshot, &shown->tid);
		}
		values[n_by + LONGEST_ROW] = PointerGetDatum(&shown->tid);
		values[n_by + LONGEST_TIME] = iforest_time_to_datum(&reader->definition, row->longest.time);
	}
	tuplestore_putvalues(result->setResult, result->setDesc, values, are_null);
}

static void put_rows(struct iforest_overlaps *overlaps, Oid type, ReturnSetInfo *result)
{
	int n = overlaps->reader->definition.n_by + N_COLUMNS;
	Datum *values = palloc0(n * sizeof *values);
	bool *are_null = palloc0(n * sizeof *are_null);
	MemoryContext of_series = AllocSetContextCreate(CurrentMemoryContext, "iforest series", ALLOCSET_SMALL_SIZES);
	MemoryContext of_row = AllocSetContextCreate(CurrentMemoryContext, "iforest row", ALLOCSET_SMALL_SIZES);
	MemoryContext before = MemoryContextSwitchTo(of_row);
	struct shown_row shown = { .ref = -1 };
	struct iforest_overlapped row;
	int64 series = -1;

	while (iforest_overlaps_next(overlaps, &row)) {
		CHECK_FOR_INTERRUPTS();
		if (overlaps->reader->definition.n_by > 0 && row.series != series) {
			MemoryContextReset(of_series);
			MemoryContextSwitchTo(of_series);
			iforest_reader_by(overlaps->reader, row.series, values, are_null);
			series = row.series;
		}
		MemoryContextSwitchTo(of_row);
		MemoryContextReset(of_row);
		put_row(overlaps, &row, type, result, values, are_null, &shown);
	}
	MemoryContextSwitchTo(before);
}

static void answer(struct iforest_overlaps *overlaps, Oid type, ReturnSetInfo *result)
{
	if (overlaps->is_out_of_range)
		iforest_bucket_out_of_range();
	if (overlaps->has_infinite_time)
		ereport(ERROR, errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
			type == DATEOID ? errmsg("cannot subtract infinite dates")
					: errmsg("cannot subtract infinite timestamps"));
	put_rows(overlaps, type, result);
}

/* ---- indexes ---- */

static void require_usable(Relation index, bool is_partition)
{
	/* that of a partition was valid when it was found: should another one have taken its place, it is kept for who holds
	 * the lock */
	if (!(is_partition ? iforest_index_is_old_enough(index) : iforest_index_is_usable(index)))
		ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			errmsg("index \"%s\" cannot be read by this transaction", RelationGetRelationName(index)),
			errhint("It is not valid, or was made while rows were changed that this transaction still sees: "
				"try again in a new one."));
}

/* The value that is the duration. */
static unsigned require_spans(Relation relation)
{
	struct iforest_index *index = palloc(sizeof *index);

	iforest_index_open(index, relation);
	iforest_index_refresh(index);
	if (index->manifest.fields.duration_value == IFOREST_NO_VALUE ||
	    index->manifest.fields.end_rule != IFOREST_END_DURATION)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("index \"%s\" has no durations in the unit of its times", RelationGetRelationName(relation)));
	return index->manifest.fields.duration_value;
}

static void read_index(FunctionCallInfo fcinfo, Relation heap, Relation index)
{
	ReturnSetInfo *result = (ReturnSetInfo *)fcinfo->resultinfo;
	Oid type = time_argument_type(base_type(RelationGetDescr(index), IndexRelationGetNumberOfKeyAttributes(index) - 1));
	struct iforest_overlaps *overlaps;

	require_columns(result->setDesc, index, require_spans(index));
	require_arguments(fcinfo, index, type);
	if (PG_ARGISNULL(BUCKETING) || PG_ARGISNULL(BUCKETING + 1))
		return;
	overlaps = palloc0(sizeof *overlaps);
	overlaps->heap = heap;
	overlaps->index = index;
	overlaps->snapshot = GetActiveSnapshot();
	overlaps->context = AllocSetContextCreate(CurrentMemoryContext, "iforest overlaps", ALLOCSET_DEFAULT_SIZES);
	overlaps->bucketing = iforest_bucketing_argument(fcinfo, BUCKETING, type);
	read_conditions(fcinfo, index, overlaps);
	iforest_overlaps_read(overlaps);
	answer(overlaps, type, result);
	iforest_overlaps_release(overlaps);
	MemoryContextDelete(overlaps->context);
}

/* ---- the function ---- */

/* Those that were usable when the query began stay so, whatever is done to them: who drops one waits for the query. */
struct known {
	Oid index;
	struct iforest_overlap_parts parts;
};

static const struct iforest_overlap_parts *known_parts(FunctionCallInfo fcinfo, Relation heap, Relation index)
{
	struct known *known = fcinfo->flinfo->fn_extra;
	MemoryContext before = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	struct iforest_overlap_parts parts;
	ListCell *cell;

	if (known && known->index == RelationGetRelid(index)) {
		MemoryContextSwitchTo(before);
		return &known->parts;
	}
	parts = iforest_overlap_parts(heap, index);
	if (parts.has_foreign)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("table \"%s\" has foreign tables as partitions, which have no index",
			       RelationGetRelationName(heap)),
			errhint("Call the function of the index that iforest_create_functions() makes; it reads the tables "
				"then."));
	foreach(cell, parts.indexes) {
		Relation part = index_open(lfirst_oid(cell), AccessShareLock);

		require_usable(part, lfirst_oid(cell) != RelationGetRelid(index));
		index_close(part, NoLock);
	}
	if (!known)
		known = fcinfo->flinfo->fn_extra = palloc0(sizeof *known);
	*known = (struct known){ .index = RelationGetRelid(index), .parts = parts };
	MemoryContextSwitchTo(before);
	return &known->parts;
}

/* One after the other: what they have of the same bucket is added up by who asks. */
static void read_parts(FunctionCallInfo fcinfo, const struct iforest_overlap_parts *parts)
{
	MemoryContext of_part = AllocSetContextCreate(CurrentMemoryContext, "iforest part", ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(of_part);
	ListCell *table, *index;

	forboth(table, parts->tables, index, parts->indexes) {
		Relation heap = table_open(lfirst_oid(table), AccessShareLock);
		Relation part = index_open(lfirst_oid(index), AccessShareLock);

		CHECK_FOR_INTERRUPTS();
		read_index(fcinfo, heap, part);
		/* locks are kept, as those of a scan are */
		iforest_close_named(part, heap, NoLock);
		MemoryContextReset(of_part);
	}
	MemoryContextSwitchTo(before);
	MemoryContextDelete(of_part);
}

Datum iforest_overlap_spans(PG_FUNCTION_ARGS)
{
	Relation heap, index;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (PG_ARGISNULL(INDEX))
		PG_RETURN_VOID();
	index = iforest_open_iforest(PG_GETARG_OID(INDEX), AccessShareLock, &heap);
	/* of the table that was named, as of a query of it: partitions are not asked */
	iforest_require_readable(heap, index);
	read_parts(fcinfo, known_parts(fcinfo, heap, index));
	iforest_close_named(index, heap, NoLock);
	PG_RETURN_VOID();
}
