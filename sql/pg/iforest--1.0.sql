-- complain if this is fed to psql instead of CREATE EXTENSION
\echo Use "CREATE EXTENSION iforest" to load this file. \quit

-- ---- the access method ----

CREATE FUNCTION iforest_handler(internal) RETURNS index_am_handler
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON FUNCTION iforest_handler(internal) IS 'handler of the access method iforest';

CREATE ACCESS METHOD iforest TYPE INDEX HANDLER iforest_handler;
COMMENT ON ACCESS METHOD iforest IS 'range-aggregate index: by columns, then a time column; values are INCLUDEd';

-- ---- maintenance ----

CREATE FUNCTION iforest_merge(index regclass, complete boolean DEFAULT false) RETURNS integer
	AS 'MODULE_PATHNAME', 'iforest_merge_index' LANGUAGE C STRICT VOLATILE;
COMMENT ON FUNCTION iforest_merge(regclass, boolean) IS
	'makes pending entries into runs and merges runs by policy, or all of them to one; returns the number of runs left';

CREATE FUNCTION iforest_check(index regclass, heapallindexed boolean DEFAULT false) RETURNS void
	AS 'MODULE_PATHNAME', 'iforest_check_index' LANGUAGE C STRICT VOLATILE;
COMMENT ON FUNCTION iforest_check(regclass, boolean) IS
	'reads the whole index and raises an error if anything is not as it should be; heapallindexed: also if a row of the table is missing';

-- ---- inspection ----

CREATE FUNCTION iforest_stats(index regclass, OUT format_version integer, OUT value_columns integer, OUT runs integer, OUT levels integer,
	OUT leaf_pages bigint, OUT node_pages bigint, OUT entries bigint, OUT removed bigint, OUT pending_entries bigint,
	OUT pending_pages bigint, OUT series bigint, OUT free_pages bigint, OUT total_pages bigint, OUT bytes_per_entry double precision,
	OUT removal_epoch bigint)
	AS 'MODULE_PATHNAME', 'iforest_stats_index' LANGUAGE C STRICT VOLATILE;
COMMENT ON FUNCTION iforest_stats(regclass) IS 'size and shape of an index';

CREATE FUNCTION iforest_runs(index regclass, OUT run_id bigint, OUT generation bigint, OUT born bigint, OUT leaf_pages bigint,
	OUT node_pages bigint, OUT levels integer, OUT entries bigint, OUT removed bigint, OUT first_block bigint, OUT last_block bigint,
	OUT removal_in_progress boolean) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'iforest_runs_index' LANGUAGE C STRICT VOLATILE;
COMMENT ON FUNCTION iforest_runs(regclass) IS 'the runs of an index';

CREATE FUNCTION iforest_page(index regclass, block bigint, OUT kind text, OUT owner bigint, OUT number bigint, OUT level integer,
	OUT items integer, OUT entries integer, OUT removed integer, OUT bytes integer)
	AS 'MODULE_PATHNAME', 'iforest_page_info' LANGUAGE C STRICT VOLATILE;
COMMENT ON FUNCTION iforest_page(regclass, bigint) IS 'what a block of an index holds';
REVOKE EXECUTE ON FUNCTION iforest_page(regclass, bigint) FROM PUBLIC;

CREATE FUNCTION iforest_entries(index regclass, block bigint, OUT series bigint, OUT ts_key bigint, OUT tid tid, OUT is_removed boolean,
	OUT value_keys bigint[]) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'iforest_page_entries' LANGUAGE C STRICT VOLATILE;
COMMENT ON FUNCTION iforest_entries(regclass, bigint) IS 'the entries of a leaf page or a page of pending entries';
REVOKE EXECUTE ON FUNCTION iforest_entries(regclass, bigint) FROM PUBLIC;

-- ---- buckets and windows ----
-- Times are bigint, timestamptz, timestamp or date; steps bigint, interval or (days) integer. A window from the least to the greatest time has no bounds.

CREATE FUNCTION iforest_bucket(ts bigint, t0 bigint, t1 bigint, n bigint) RETURNS bigint
	AS 'MODULE_PATHNAME', 'iforest_bucket_number' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_bucket(bigint, bigint, bigint, bigint) IS 'number of the bucket, 0 to n - 1, of n buckets of the window [t0, t1); NULL outside';
CREATE FUNCTION iforest_bucket(ts timestamptz, t0 timestamptz, t1 timestamptz, n bigint) RETURNS bigint
	AS 'MODULE_PATHNAME', 'iforest_bucket_number' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_bucket(timestamptz, timestamptz, timestamptz, bigint) IS 'number of the bucket, 0 to n - 1, of n buckets of the window [t0, t1); NULL outside';
CREATE FUNCTION iforest_bucket(ts timestamp, t0 timestamp, t1 timestamp, n bigint) RETURNS bigint
	AS 'MODULE_PATHNAME', 'iforest_bucket_number' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_bucket(timestamp, timestamp, timestamp, bigint) IS 'number of the bucket, 0 to n - 1, of n buckets of the window [t0, t1); NULL outside';
CREATE FUNCTION iforest_bucket(ts date, t0 date, t1 date, n bigint) RETURNS bigint
	AS 'MODULE_PATHNAME', 'iforest_bucket_number' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_bucket(date, date, date, bigint) IS 'number of the bucket, 0 to n - 1, of n buckets of the window [t0, t1); NULL outside';

-- What functions of an index are made of (iforest_create_functions).

CREATE FUNCTION iforest_bucket_of(ts bigint, t0 bigint, t1 bigint, n bigint, step bigint, origin bigint) RETURNS bigint
	AS 'MODULE_PATHNAME', 'iforest_bucket_of_time' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_bucket_of(bigint, bigint, bigint, bigint, bigint, bigint) IS 'number of the bucket: of n, with -1 before and n after them; floor((ts - origin) / step); 0 without n and step';
CREATE FUNCTION iforest_bucket_of(ts timestamptz, t0 timestamptz, t1 timestamptz, n bigint, step interval, origin timestamptz) RETURNS bigint
	AS 'MODULE_PATHNAME', 'iforest_bucket_of_time' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_bucket_of(timestamptz, timestamptz, timestamptz, bigint, interval, timestamptz) IS 'number of the bucket: of n, with -1 before and n after them; floor((ts - origin) / step); 0 without n and step';
CREATE FUNCTION iforest_bucket_of(ts timestamp, t0 timestamp, t1 timestamp, n bigint, step interval, origin timestamp) RETURNS bigint
	AS 'MODULE_PATHNAME', 'iforest_bucket_of_time' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_bucket_of(timestamp, timestamp, timestamp, bigint, interval, timestamp) IS 'number of the bucket: of n, with -1 before and n after them; floor((ts - origin) / step); 0 without n and step';
CREATE FUNCTION iforest_bucket_of(ts date, t0 date, t1 date, n bigint, step integer, origin date) RETURNS bigint
	AS 'MODULE_PATHNAME', 'iforest_bucket_of_time' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_bucket_of(date, date, date, bigint, integer, date) IS 'number of the bucket: of n, with -1 before and n after them; floor((ts - origin) / step); 0 without n and step';
CREATE FUNCTION iforest_bucket_start(bucket bigint, t0 bigint, t1 bigint, n bigint, step bigint, origin bigint) RETURNS bigint
	AS 'MODULE_PATHNAME', 'iforest_bucket_starts' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_bucket_start(bigint, bigint, bigint, bigint, bigint, bigint) IS 'start of a bucket; NULL where the window is open and not cut';
CREATE FUNCTION iforest_bucket_start(bucket bigint, t0 timestamptz, t1 timestamptz, n bigint, step interval, origin timestamptz) RETURNS timestamptz
	AS 'MODULE_PATHNAME', 'iforest_bucket_starts' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_bucket_start(bigint, timestamptz, timestamptz, bigint, interval, timestamptz) IS 'start of a bucket; NULL where the window is open and not cut';
CREATE FUNCTION iforest_bucket_start(bucket bigint, t0 timestamp, t1 timestamp, n bigint, step interval, origin timestamp) RETURNS timestamp
	AS 'MODULE_PATHNAME', 'iforest_bucket_starts' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_bucket_start(bigint, timestamp, timestamp, bigint, interval, timestamp) IS 'start of a bucket; NULL where the window is open and not cut';
CREATE FUNCTION iforest_bucket_start(bucket bigint, t0 date, t1 date, n bigint, step integer, origin date) RETURNS date
	AS 'MODULE_PATHNAME', 'iforest_bucket_starts' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_bucket_start(bigint, date, date, bigint, integer, date) IS 'start of a bucket; NULL where the window is open and not cut';
CREATE FUNCTION iforest_bucket_end(bucket bigint, t0 bigint, t1 bigint, n bigint, step bigint, origin bigint) RETURNS bigint
	AS 'MODULE_PATHNAME', 'iforest_bucket_ends' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_bucket_end(bigint, bigint, bigint, bigint, bigint, bigint) IS 'end of a bucket; NULL where the window is open and not cut';
CREATE FUNCTION iforest_bucket_end(bucket bigint, t0 timestamptz, t1 timestamptz, n bigint, step interval, origin timestamptz) RETURNS timestamptz
	AS 'MODULE_PATHNAME', 'iforest_bucket_ends' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_bucket_end(bigint, timestamptz, timestamptz, bigint, interval, timestamptz) IS 'end of a bucket; NULL where the window is open and not cut';
CREATE FUNCTION iforest_bucket_end(bucket bigint, t0 timestamp, t1 timestamp, n bigint, step interval, origin timestamp) RETURNS timestamp
	AS 'MODULE_PATHNAME', 'iforest_bucket_ends' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_bucket_end(bigint, timestamp, timestamp, bigint, interval, timestamp) IS 'end of a bucket; NULL where the window is open and not cut';
CREATE FUNCTION iforest_bucket_end(bucket bigint, t0 date, t1 date, n bigint, step integer, origin date) RETURNS date
	AS 'MODULE_PATHNAME', 'iforest_bucket_ends' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_bucket_end(bigint, date, date, bigint, integer, date) IS 'end of a bucket; NULL where the window is open and not cut';
CREATE FUNCTION iforest_window_asks(t0 bigint, t1 bigint, n bigint, step bigint, origin bigint, fill text, open boolean, filled boolean) RETURNS boolean
	AS 'MODULE_PATHNAME', 'iforest_window_asks' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_window_asks(bigint, bigint, bigint, bigint, bigint, text, boolean, boolean) IS 'is that asked of all times, or of a window; and filled, or not? Raises an error of arguments that do not go together';
CREATE FUNCTION iforest_window_asks(t0 timestamptz, t1 timestamptz, n bigint, step interval, origin timestamptz, fill text, open boolean, filled boolean) RETURNS boolean
	AS 'MODULE_PATHNAME', 'iforest_window_asks' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_window_asks(timestamptz, timestamptz, bigint, interval, timestamptz, text, boolean, boolean) IS 'is that asked of all times, or of a window; and filled, or not? Raises an error of arguments that do not go together';
CREATE FUNCTION iforest_window_asks(t0 timestamp, t1 timestamp, n bigint, step interval, origin timestamp, fill text, open boolean, filled boolean) RETURNS boolean
	AS 'MODULE_PATHNAME', 'iforest_window_asks' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_window_asks(timestamp, timestamp, bigint, interval, timestamp, text, boolean, boolean) IS 'is that asked of all times, or of a window; and filled, or not? Raises an error of arguments that do not go together';
CREATE FUNCTION iforest_window_asks(t0 date, t1 date, n bigint, step integer, origin date, fill text, open boolean, filled boolean) RETURNS boolean
	AS 'MODULE_PATHNAME', 'iforest_window_asks' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_window_asks(date, date, bigint, integer, date, text, boolean, boolean) IS 'is that asked of all times, or of a window; and filled, or not? Raises an error of arguments that do not go together';
CREATE FUNCTION iforest_window_last(t1 bigint) RETURNS bigint
	AS 'MODULE_PATHNAME', 'iforest_window_last' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_window_last(bigint) IS 'the last time before t1; the greatest time where that is no bound';
CREATE FUNCTION iforest_window_last(t1 timestamptz) RETURNS timestamptz
	AS 'MODULE_PATHNAME', 'iforest_window_last' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_window_last(timestamptz) IS 'the last time before t1; the greatest time where that is no bound';
CREATE FUNCTION iforest_window_last(t1 timestamp) RETURNS timestamp
	AS 'MODULE_PATHNAME', 'iforest_window_last' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_window_last(timestamp) IS 'the last time before t1; the greatest time where that is no bound';
CREATE FUNCTION iforest_window_last(t1 date) RETURNS date
	AS 'MODULE_PATHNAME', 'iforest_window_last' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_window_last(date) IS 'the last time before t1; the greatest time where that is no bound';
CREATE FUNCTION iforest_span_end(ts bigint, duration bigint, unit text) RETURNS bigint
	AS 'MODULE_PATHNAME', 'iforest_span_ends' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_span_end(bigint, bigint, text) IS 'end of a span; where it starts if the duration is NULL, zero or negative';
CREATE FUNCTION iforest_span_end(ts timestamptz, duration bigint, unit text) RETURNS timestamptz
	AS 'MODULE_PATHNAME', 'iforest_span_ends' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_span_end(timestamptz, bigint, text) IS 'end of a span; where it starts if the duration is NULL, zero or negative';
CREATE FUNCTION iforest_span_end(ts timestamp, duration bigint, unit text) RETURNS timestamp
	AS 'MODULE_PATHNAME', 'iforest_span_ends' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_span_end(timestamp, bigint, text) IS 'end of a span; where it starts if the duration is NULL, zero or negative';
CREATE FUNCTION iforest_span_end(ts date, duration bigint, unit text) RETURNS date
	AS 'MODULE_PATHNAME', 'iforest_span_ends' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_span_end(date, bigint, text) IS 'end of a span; where it starts if the duration is NULL, zero or negative';
CREATE FUNCTION iforest_span_earliest(t0 bigint, longest bigint, unit text) RETURNS bigint
	AS 'MODULE_PATHNAME', 'iforest_span_earliest' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_span_earliest(bigint, bigint, text) IS 'before which no span starts that reaches beyond t0, if none lasts longer';
CREATE FUNCTION iforest_span_earliest(t0 timestamptz, longest bigint, unit text) RETURNS timestamptz
	AS 'MODULE_PATHNAME', 'iforest_span_earliest' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_span_earliest(timestamptz, bigint, text) IS 'before which no span starts that reaches beyond t0, if none lasts longer';
CREATE FUNCTION iforest_span_earliest(t0 timestamp, longest bigint, unit text) RETURNS timestamp
	AS 'MODULE_PATHNAME', 'iforest_span_earliest' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_span_earliest(timestamp, bigint, text) IS 'before which no span starts that reaches beyond t0, if none lasts longer';
CREATE FUNCTION iforest_span_earliest(t0 date, longest bigint, unit text) RETURNS date
	AS 'MODULE_PATHNAME', 'iforest_span_earliest' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_span_earliest(date, bigint, text) IS 'before which no span starts that reaches beyond t0, if none lasts longer';

-- ---- rows of extremes ----
-- v and ts are of any types that have an order.

CREATE FUNCTION iforest_row_min_add(internal, anyelement, anycompatible, tid) RETURNS internal
	AS 'MODULE_PATHNAME', 'iforest_row_min_add' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_row_min_add(internal, anyelement, anycompatible, tid) IS 'transition of iforest_min and its like';
CREATE FUNCTION iforest_row_min_combine(internal, internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'iforest_row_min_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_row_min_combine(internal, internal) IS 'combination of two states of iforest_min and its like';
CREATE FUNCTION iforest_row_max_add(internal, anyelement, anycompatible, tid) RETURNS internal
	AS 'MODULE_PATHNAME', 'iforest_row_max_add' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_row_max_add(internal, anyelement, anycompatible, tid) IS 'transition of iforest_max and its like';
CREATE FUNCTION iforest_row_max_combine(internal, internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'iforest_row_max_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_row_max_combine(internal, internal) IS 'combination of two states of iforest_max and its like';
CREATE FUNCTION iforest_row_first_add(internal, anyelement, anycompatible) RETURNS internal
	AS 'MODULE_PATHNAME', 'iforest_row_first_add' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_row_first_add(internal, anyelement, anycompatible) IS 'transition of iforest_first';
CREATE FUNCTION iforest_row_first_add(internal, anyelement, anycompatible, tid) RETURNS internal
	AS 'MODULE_PATHNAME', 'iforest_row_first_add' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_row_first_add(internal, anyelement, anycompatible, tid) IS 'transition of iforest_first and its like';
CREATE FUNCTION iforest_row_first_combine(internal, internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'iforest_row_first_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_row_first_combine(internal, internal) IS 'combination of two states of iforest_first and its like';
CREATE FUNCTION iforest_row_last_add(internal, anyelement, anycompatible) RETURNS internal
	AS 'MODULE_PATHNAME', 'iforest_row_last_add' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_row_last_add(internal, anyelement, anycompatible) IS 'transition of iforest_last';
CREATE FUNCTION iforest_row_last_add(internal, anyelement, anycompatible, tid) RETURNS internal
	AS 'MODULE_PATHNAME', 'iforest_row_last_add' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_row_last_add(internal, anyelement, anycompatible, tid) IS 'transition of iforest_last and its like';
CREATE FUNCTION iforest_row_last_combine(internal, internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'iforest_row_last_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_row_last_combine(internal, internal) IS 'combination of two states of iforest_last and its like';
CREATE FUNCTION iforest_row_serialize(internal) RETURNS bytea
	AS 'MODULE_PATHNAME', 'iforest_row_serialize' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_row_serialize(internal) IS 'state of iforest_first and its like, for another process';
CREATE FUNCTION iforest_row_deserialize(bytea, internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'iforest_row_deserialize' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_row_deserialize(bytea, internal) IS 'state of iforest_first and its like, from another process';
CREATE FUNCTION iforest_row_ctid(internal) RETURNS tid
	AS 'MODULE_PATHNAME', 'iforest_row_ctid' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_row_ctid(internal) IS 'result of iforest_min_row and iforest_max_row';
CREATE FUNCTION iforest_row_time(internal, anyelement, anycompatible, tid) RETURNS anycompatible
	AS 'MODULE_PATHNAME', 'iforest_row_time' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_row_time(internal, anyelement, anycompatible, tid) IS 'result of iforest_min_time and iforest_max_time';
CREATE FUNCTION iforest_row_value(internal, anyelement, anycompatible) RETURNS anyelement
	AS 'MODULE_PATHNAME', 'iforest_row_value' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_row_value(internal, anyelement, anycompatible) IS 'result of iforest_first and iforest_last';
CREATE FUNCTION iforest_row_value(internal, anyelement, anycompatible, tid) RETURNS anyelement
	AS 'MODULE_PATHNAME', 'iforest_row_value' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_row_value(internal, anyelement, anycompatible, tid) IS 'result of iforest_first and iforest_last';

CREATE AGGREGATE iforest_min_row(v anyelement, ts anycompatible, ctid tid) (
	SFUNC = iforest_row_min_add, STYPE = internal, FINALFUNC = iforest_row_ctid, COMBINEFUNC = iforest_row_min_combine,
	SERIALFUNC = iforest_row_serialize, DESERIALFUNC = iforest_row_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_min_row(anyelement, anycompatible, tid) IS 'ctid of the row with the smallest v; of several the earliest, then the one with the lowest ctid';
CREATE AGGREGATE iforest_min_time(v anyelement, ts anycompatible, ctid tid) (
	SFUNC = iforest_row_min_add, STYPE = internal, FINALFUNC = iforest_row_time, FINALFUNC_EXTRA, COMBINEFUNC = iforest_row_min_combine,
	SERIALFUNC = iforest_row_serialize, DESERIALFUNC = iforest_row_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_min_time(anyelement, anycompatible, tid) IS 'time of the row with the smallest v; of several the earliest';
CREATE AGGREGATE iforest_max_row(v anyelement, ts anycompatible, ctid tid) (
	SFUNC = iforest_row_max_add, STYPE = internal, FINALFUNC = iforest_row_ctid, COMBINEFUNC = iforest_row_max_combine,
	SERIALFUNC = iforest_row_serialize, DESERIALFUNC = iforest_row_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_max_row(anyelement, anycompatible, tid) IS 'ctid of the row with the greatest v; of several the earliest, then the one with the lowest ctid';
CREATE AGGREGATE iforest_max_time(v anyelement, ts anycompatible, ctid tid) (
	SFUNC = iforest_row_max_add, STYPE = internal, FINALFUNC = iforest_row_time, FINALFUNC_EXTRA, COMBINEFUNC = iforest_row_max_combine,
	SERIALFUNC = iforest_row_serialize, DESERIALFUNC = iforest_row_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_max_time(anyelement, anycompatible, tid) IS 'time of the row with the greatest v; of several the earliest';
CREATE AGGREGATE iforest_first(v anyelement, ts anycompatible, ctid tid) (
	SFUNC = iforest_row_first_add, STYPE = internal, FINALFUNC = iforest_row_value, FINALFUNC_EXTRA, COMBINEFUNC = iforest_row_first_combine,
	SERIALFUNC = iforest_row_serialize, DESERIALFUNC = iforest_row_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_first(anyelement, anycompatible, tid) IS 'v of the earliest row that has a v; at equal times of the one with the lowest ctid';
CREATE AGGREGATE iforest_first(v anyelement, ts anycompatible) (
	SFUNC = iforest_row_first_add, STYPE = internal, FINALFUNC = iforest_row_value, FINALFUNC_EXTRA, COMBINEFUNC = iforest_row_first_combine,
	SERIALFUNC = iforest_row_serialize, DESERIALFUNC = iforest_row_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_first(anyelement, anycompatible) IS 'v of the earliest row that has a v; at equal times the smallest';
CREATE AGGREGATE iforest_last(v anyelement, ts anycompatible, ctid tid) (
	SFUNC = iforest_row_last_add, STYPE = internal, FINALFUNC = iforest_row_value, FINALFUNC_EXTRA, COMBINEFUNC = iforest_row_last_combine,
	SERIALFUNC = iforest_row_serialize, DESERIALFUNC = iforest_row_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_last(anyelement, anycompatible, tid) IS 'v of the latest row that has a v; at equal times of the one with the highest ctid';
CREATE AGGREGATE iforest_last(v anyelement, ts anycompatible) (
	SFUNC = iforest_row_last_add, STYPE = internal, FINALFUNC = iforest_row_value, FINALFUNC_EXTRA, COMBINEFUNC = iforest_row_last_combine,
	SERIALFUNC = iforest_row_serialize, DESERIALFUNC = iforest_row_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_last(anyelement, anycompatible) IS 'v of the latest row that has a v; at equal times the greatest';

-- ---- functions of an index ----

CREATE FUNCTION iforest_create_functions(index regclass) RETURNS text[]
	AS 'MODULE_PATHNAME', 'iforest_create_index_functions' LANGUAGE C STRICT VOLATILE;
COMMENT ON FUNCTION iforest_create_functions(regclass) IS
	'creates the functions of an index, named after it: its windows and buckets, _rows and _overlap; returns their signatures';

-- ---- operator classes ----
-- by columns may be of any type whose equality means identity; the time column is of the types of integer_ops, datetime_ops and float_ops.

CREATE OPERATOR FAMILY integer_ops USING iforest;
COMMENT ON OPERATOR FAMILY integer_ops USING iforest IS 'integers';
CREATE OPERATOR CLASS int2_ops DEFAULT FOR TYPE int2 USING iforest FAMILY integer_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 btint2cmp(int2, int2);
COMMENT ON OPERATOR CLASS int2_ops USING iforest IS 'integers: int2';
CREATE OPERATOR CLASS int4_ops DEFAULT FOR TYPE int4 USING iforest FAMILY integer_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 btint4cmp(int4, int4);
COMMENT ON OPERATOR CLASS int4_ops USING iforest IS 'integers: int4';
CREATE OPERATOR CLASS int8_ops DEFAULT FOR TYPE int8 USING iforest FAMILY integer_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 btint8cmp(int8, int8);
COMMENT ON OPERATOR CLASS int8_ops USING iforest IS 'integers: int8';
ALTER OPERATOR FAMILY integer_ops USING iforest ADD
	OPERATOR 1 < (int2, int4),
	OPERATOR 2 <= (int2, int4),
	OPERATOR 3 = (int2, int4),
	OPERATOR 4 >= (int2, int4),
	OPERATOR 5 > (int2, int4),
	OPERATOR 1 < (int2, int8),
	OPERATOR 2 <= (int2, int8),
	OPERATOR 3 = (int2, int8),
	OPERATOR 4 >= (int2, int8),
	OPERATOR 5 > (int2, int8),
	OPERATOR 1 < (int4, int2),
	OPERATOR 2 <= (int4, int2),
	OPERATOR 3 = (int4, int2),
	OPERATOR 4 >= (int4, int2),
	OPERATOR 5 > (int4, int2),
	OPERATOR 1 < (int4, int8),
	OPERATOR 2 <= (int4, int8),
	OPERATOR 3 = (int4, int8),
	OPERATOR 4 >= (int4, int8),
	OPERATOR 5 > (int4, int8),
	OPERATOR 1 < (int8, int2),
	OPERATOR 2 <= (int8, int2),
	OPERATOR 3 = (int8, int2),
	OPERATOR 4 >= (int8, int2),
	OPERATOR 5 > (int8, int2),
	OPERATOR 1 < (int8, int4),
	OPERATOR 2 <= (int8, int4),
	OPERATOR 3 = (int8, int4),
	OPERATOR 4 >= (int8, int4),
	OPERATOR 5 > (int8, int4),
	FUNCTION 1 (int2, int4) btint24cmp(int2, int4),
	FUNCTION 1 (int2, int8) btint28cmp(int2, int8),
	FUNCTION 1 (int4, int2) btint42cmp(int4, int2),
	FUNCTION 1 (int4, int8) btint48cmp(int4, int8),
	FUNCTION 1 (int8, int2) btint82cmp(int8, int2),
	FUNCTION 1 (int8, int4) btint84cmp(int8, int4);

CREATE OPERATOR FAMILY datetime_ops USING iforest;
COMMENT ON OPERATOR FAMILY datetime_ops USING iforest IS 'dates and timestamps';
CREATE OPERATOR CLASS date_ops DEFAULT FOR TYPE date USING iforest FAMILY datetime_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 date_cmp(date, date);
COMMENT ON OPERATOR CLASS date_ops USING iforest IS 'dates and timestamps: date';
CREATE OPERATOR CLASS timestamp_ops DEFAULT FOR TYPE timestamp USING iforest FAMILY datetime_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 timestamp_cmp(timestamp, timestamp);
COMMENT ON OPERATOR CLASS timestamp_ops USING iforest IS 'dates and timestamps: timestamp';
CREATE OPERATOR CLASS timestamptz_ops DEFAULT FOR TYPE timestamptz USING iforest FAMILY datetime_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 timestamptz_cmp(timestamptz, timestamptz);
COMMENT ON OPERATOR CLASS timestamptz_ops USING iforest IS 'dates and timestamps: timestamptz';
ALTER OPERATOR FAMILY datetime_ops USING iforest ADD
	OPERATOR 1 < (date, timestamp),
	OPERATOR 2 <= (date, timestamp),
	OPERATOR 3 = (date, timestamp),
	OPERATOR 4 >= (date, timestamp),
	OPERATOR 5 > (date, timestamp),
	OPERATOR 1 < (date, timestamptz),
	OPERATOR 2 <= (date, timestamptz),
	OPERATOR 3 = (date, timestamptz),
	OPERATOR 4 >= (date, timestamptz),
	OPERATOR 5 > (date, timestamptz),
	OPERATOR 1 < (timestamp, date),
	OPERATOR 2 <= (timestamp, date),
	OPERATOR 3 = (timestamp, date),
	OPERATOR 4 >= (timestamp, date),
	OPERATOR 5 > (timestamp, date),
	OPERATOR 1 < (timestamp, timestamptz),
	OPERATOR 2 <= (timestamp, timestamptz),
	OPERATOR 3 = (timestamp, timestamptz),
	OPERATOR 4 >= (timestamp, timestamptz),
	OPERATOR 5 > (timestamp, timestamptz),
	OPERATOR 1 < (timestamptz, date),
	OPERATOR 2 <= (timestamptz, date),
	OPERATOR 3 = (timestamptz, date),
	OPERATOR 4 >= (timestamptz, date),
	OPERATOR 5 > (timestamptz, date),
	OPERATOR 1 < (timestamptz, timestamp),
	OPERATOR 2 <= (timestamptz, timestamp),
	OPERATOR 3 = (timestamptz, timestamp),
	OPERATOR 4 >= (timestamptz, timestamp),
	OPERATOR 5 > (timestamptz, timestamp),
	FUNCTION 1 (date, timestamp) date_cmp_timestamp(date, timestamp),
	FUNCTION 1 (date, timestamptz) date_cmp_timestamptz(date, timestamptz),
	FUNCTION 1 (timestamp, date) timestamp_cmp_date(timestamp, date),
	FUNCTION 1 (timestamptz, date) timestamptz_cmp_date(timestamptz, date),
	FUNCTION 1 (timestamptz, timestamp) timestamptz_cmp_timestamp(timestamptz, timestamp),
	FUNCTION 1 (timestamp, timestamptz) timestamp_cmp_timestamptz(timestamp, timestamptz);

CREATE OPERATOR FAMILY float_ops USING iforest;
COMMENT ON OPERATOR FAMILY float_ops USING iforest IS 'double precision, as a time only';
CREATE OPERATOR CLASS float8_ops DEFAULT FOR TYPE float8 USING iforest FAMILY float_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 btfloat8cmp(float8, float8);
COMMENT ON OPERATOR CLASS float8_ops USING iforest IS 'double precision, as a time only: float8';
ALTER OPERATOR FAMILY float_ops USING iforest ADD
	OPERATOR 1 < (float8, float4),
	OPERATOR 2 <= (float8, float4),
	OPERATOR 3 = (float8, float4),
	OPERATOR 4 >= (float8, float4),
	OPERATOR 5 > (float8, float4),
	FUNCTION 1 (float8, float4) btfloat84cmp(float8, float4);

CREATE OPERATOR FAMILY text_ops USING iforest;
COMMENT ON OPERATOR FAMILY text_ops USING iforest IS 'strings';
CREATE OPERATOR CLASS text_ops DEFAULT FOR TYPE text USING iforest FAMILY text_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 bttextcmp(text, text);
COMMENT ON OPERATOR CLASS text_ops USING iforest IS 'strings: text';

CREATE OPERATOR FAMILY bool_ops USING iforest;
COMMENT ON OPERATOR FAMILY bool_ops USING iforest IS 'booleans';
CREATE OPERATOR CLASS bool_ops DEFAULT FOR TYPE bool USING iforest FAMILY bool_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 btboolcmp(bool, bool);
COMMENT ON OPERATOR CLASS bool_ops USING iforest IS 'booleans: bool';

CREATE OPERATOR FAMILY char_ops USING iforest;
COMMENT ON OPERATOR FAMILY char_ops USING iforest IS 'single bytes';
CREATE OPERATOR CLASS char_ops DEFAULT FOR TYPE "char" USING iforest FAMILY char_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 btcharcmp("char", "char");
COMMENT ON OPERATOR CLASS char_ops USING iforest IS 'single bytes: "char"';

CREATE OPERATOR FAMILY oid_ops USING iforest;
COMMENT ON OPERATOR FAMILY oid_ops USING iforest IS 'object identifiers';
CREATE OPERATOR CLASS oid_ops DEFAULT FOR TYPE oid USING iforest FAMILY oid_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 btoidcmp(oid, oid);
COMMENT ON OPERATOR CLASS oid_ops USING iforest IS 'object identifiers: oid';

CREATE OPERATOR FAMILY bpchar_ops USING iforest;
COMMENT ON OPERATOR FAMILY bpchar_ops USING iforest IS 'strings of fixed length';
CREATE OPERATOR CLASS bpchar_ops DEFAULT FOR TYPE bpchar USING iforest FAMILY bpchar_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 bpcharcmp(bpchar, bpchar);
COMMENT ON OPERATOR CLASS bpchar_ops USING iforest IS 'strings of fixed length: bpchar';

CREATE OPERATOR CLASS name_ops DEFAULT FOR TYPE name USING iforest FAMILY text_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 btnamecmp(name, name);
COMMENT ON OPERATOR CLASS name_ops USING iforest IS 'strings: name';
ALTER OPERATOR FAMILY text_ops USING iforest ADD
	OPERATOR 1 < (name, text),
	OPERATOR 2 <= (name, text),
	OPERATOR 3 = (name, text),
	OPERATOR 4 >= (name, text),
	OPERATOR 5 > (name, text),
	OPERATOR 1 < (text, name),
	OPERATOR 2 <= (text, name),
	OPERATOR 3 = (text, name),
	OPERATOR 4 >= (text, name),
	OPERATOR 5 > (text, name),
	FUNCTION 1 (name, text) btnametextcmp(name, text),
	FUNCTION 1 (text, name) bttextnamecmp(text, name);

CREATE OPERATOR FAMILY bytea_ops USING iforest;
COMMENT ON OPERATOR FAMILY bytea_ops USING iforest IS 'byte strings';
CREATE OPERATOR CLASS bytea_ops DEFAULT FOR TYPE bytea USING iforest FAMILY bytea_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 byteacmp(bytea, bytea);
COMMENT ON OPERATOR CLASS bytea_ops USING iforest IS 'byte strings: bytea';

CREATE OPERATOR FAMILY uuid_ops USING iforest;
COMMENT ON OPERATOR FAMILY uuid_ops USING iforest IS 'UUIDs';
CREATE OPERATOR CLASS uuid_ops DEFAULT FOR TYPE uuid USING iforest FAMILY uuid_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 uuid_cmp(uuid, uuid);
COMMENT ON OPERATOR CLASS uuid_ops USING iforest IS 'UUIDs: uuid';

CREATE OPERATOR FAMILY time_ops USING iforest;
COMMENT ON OPERATOR FAMILY time_ops USING iforest IS 'times of day';
CREATE OPERATOR CLASS time_ops DEFAULT FOR TYPE time USING iforest FAMILY time_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 time_cmp(time, time);
COMMENT ON OPERATOR CLASS time_ops USING iforest IS 'times of day: time';

CREATE OPERATOR FAMILY inet_ops USING iforest;
COMMENT ON OPERATOR FAMILY inet_ops USING iforest IS 'network addresses';
CREATE OPERATOR CLASS inet_ops DEFAULT FOR TYPE inet USING iforest FAMILY inet_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 network_cmp(inet, inet);
COMMENT ON OPERATOR CLASS inet_ops USING iforest IS 'network addresses: inet';

CREATE OPERATOR FAMILY macaddr_ops USING iforest;
COMMENT ON OPERATOR FAMILY macaddr_ops USING iforest IS 'hardware addresses';
CREATE OPERATOR CLASS macaddr_ops DEFAULT FOR TYPE macaddr USING iforest FAMILY macaddr_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 macaddr_cmp(macaddr, macaddr);
COMMENT ON OPERATOR CLASS macaddr_ops USING iforest IS 'hardware addresses: macaddr';

CREATE OPERATOR FAMILY enum_ops USING iforest;
COMMENT ON OPERATOR FAMILY enum_ops USING iforest IS 'enums';
CREATE OPERATOR CLASS enum_ops DEFAULT FOR TYPE anyenum USING iforest FAMILY enum_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 enum_cmp(anyenum, anyenum);
COMMENT ON OPERATOR CLASS enum_ops USING iforest IS 'enums: anyenum';
