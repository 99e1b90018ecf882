-- complain if this is fed to psql instead of ALTER EXTENSION
\echo Use "ALTER EXTENSION iforest UPDATE TO '1.1'" to load this file. \quit

-- ---- sketches: percentiles that add up ----
-- A sketch is a bytea, the same as SQLite's functions of these names make. NULL is the sketch of no numbers.

CREATE FUNCTION iforest_sketch_add(internal, anyelement) RETURNS internal
	AS 'MODULE_PATHNAME', 'iforest_sketch_add_number' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_sketch_add(internal, anyelement) IS 'adds a number to a sketch';
CREATE FUNCTION iforest_sketch_remove(internal, anyelement) RETURNS internal
	AS 'MODULE_PATHNAME', 'iforest_sketch_remove_number' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_sketch_remove(internal, anyelement) IS 'takes a number out of a sketch';
CREATE FUNCTION iforest_sketch_add_sketch(internal, bytea) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_sketch_add_sketch(internal, bytea) IS 'adds the numbers of a sketch to another';
CREATE FUNCTION iforest_sketch_remove_sketch(internal, bytea) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_sketch_remove_sketch(internal, bytea) IS 'takes the numbers of a sketch out of another';
CREATE FUNCTION iforest_sketch_combine(internal, internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'iforest_sketch_combine_states' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_sketch_combine(internal, internal) IS 'the sketch of all numbers of two';
CREATE FUNCTION iforest_sketch_serialize(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_sketch_serialize(internal) IS 'sketch to bytes, for parallel plans';
CREATE FUNCTION iforest_sketch_deserialize(bytea, internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_sketch_deserialize(bytea, internal) IS 'bytes to sketch, for parallel plans';
CREATE FUNCTION iforest_sketch_result(internal) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_sketch_result(internal) IS 'result of iforest_sketch and iforest_sketch_merge';

CREATE AGGREGATE iforest_sketch(v anyelement) (
	SFUNC = iforest_sketch_add, STYPE = internal, SSPACE = 16384, FINALFUNC = iforest_sketch_result, COMBINEFUNC = iforest_sketch_combine,
	SERIALFUNC = iforest_sketch_serialize, DESERIALFUNC = iforest_sketch_deserialize,
	MSFUNC = iforest_sketch_add, MINVFUNC = iforest_sketch_remove, MSTYPE = internal, MSSPACE = 16384, MFINALFUNC = iforest_sketch_result,
	PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_sketch(anyelement) IS 'the sketch of the numbers v, for iforest_quantile';
CREATE AGGREGATE iforest_sketch_merge(sketch bytea) (
	SFUNC = iforest_sketch_add_sketch, STYPE = internal, SSPACE = 16384, FINALFUNC = iforest_sketch_result, COMBINEFUNC = iforest_sketch_combine,
	SERIALFUNC = iforest_sketch_serialize, DESERIALFUNC = iforest_sketch_deserialize,
	MSFUNC = iforest_sketch_add_sketch, MINVFUNC = iforest_sketch_remove_sketch, MSTYPE = internal, MSSPACE = 16384,
	MFINALFUNC = iforest_sketch_result, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_sketch_merge(bytea) IS 'the sketch of all numbers of these sketches';

CREATE FUNCTION iforest_sketch_count(sketch bytea) RETURNS bigint
	AS 'MODULE_PATHNAME', 'iforest_sketch_numbers' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_sketch_count(bytea) IS 'how many numbers the sketch holds; 0 of NULL';
CREATE FUNCTION iforest_quantile(sketch bytea, q double precision) RETURNS double precision
	AS 'MODULE_PATHNAME', 'iforest_sketch_quantile_real' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_quantile(bytea, double precision) IS 'the quantile for q from 0 to 1, at most 1/128 of it off';
CREATE FUNCTION iforest_quantile(sketch bytea, q double precision, min double precision, max double precision) RETURNS double precision
	AS 'MODULE_PATHNAME', 'iforest_sketch_quantile_real' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_quantile(bytea, double precision, double precision, double precision) IS 'the same between the smallest and the greatest number';
CREATE FUNCTION iforest_quantile(sketch bytea, q double precision, min bigint, max bigint) RETURNS bigint
	AS 'MODULE_PATHNAME', 'iforest_sketch_quantile_integer' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_quantile(bytea, double precision, bigint, bigint) IS 'the same of integers, between the smallest and the greatest of them';

-- ---- spans that overlap a window, read from an index ----

CREATE FUNCTION iforest_overlap_index_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_overlap_index_support(internal) IS 'for the planner: under row security no index may be read';
CREATE FUNCTION iforest_overlap_index(tab regclass, columns text[], condition text, duration integer) RETURNS oid
	AS 'MODULE_PATHNAME', 'iforest_overlap_index' LANGUAGE C STABLE PARALLEL RESTRICTED
	SUPPORT iforest_overlap_index_support;
COMMENT ON FUNCTION iforest_overlap_index(regclass, text[], text, integer) IS
	'the index of the table with these columns, whose durations are the given value, if it may be read by itself; else NULL';
CREATE FUNCTION iforest_overlap_spans(index oid, VARIADIC arguments "any") RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'iforest_overlap_spans' LANGUAGE C STABLE PARALLEL RESTRICTED;
COMMENT ON FUNCTION iforest_overlap_spans(oid, "any") IS
	'what the overlap function of an index gives, read from it: of t0, t1, n, step, origin; no row where the index is NULL';

CREATE FUNCTION iforest_overlap_asks(t0 bigint, t1 bigint, n bigint, step bigint, origin bigint, fill text, filled boolean) RETURNS boolean
	AS 'MODULE_PATHNAME', 'iforest_overlap_asks' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_overlap_asks(bigint, bigint, bigint, bigint, bigint, text, boolean) IS 'is that asked of what overlaps: filled, or not? Raises an error of arguments that do not go together';
CREATE FUNCTION iforest_overlap_asks(t0 timestamptz, t1 timestamptz, n bigint, step interval, origin timestamptz, fill text, filled boolean) RETURNS boolean
	AS 'MODULE_PATHNAME', 'iforest_overlap_asks' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_overlap_asks(timestamptz, timestamptz, bigint, interval, timestamptz, text, boolean) IS 'is that asked of what overlaps: filled, or not? Raises an error of arguments that do not go together';
CREATE FUNCTION iforest_overlap_asks(t0 timestamp, t1 timestamp, n bigint, step interval, origin timestamp, fill text, filled boolean) RETURNS boolean
	AS 'MODULE_PATHNAME', 'iforest_overlap_asks' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_overlap_asks(timestamp, timestamp, bigint, interval, timestamp, text, boolean) IS 'is that asked of what overlaps: filled, or not? Raises an error of arguments that do not go together';
CREATE FUNCTION iforest_overlap_asks(t0 date, t1 date, n bigint, step integer, origin date, fill text, filled boolean) RETURNS boolean
	AS 'MODULE_PATHNAME', 'iforest_overlap_asks' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_overlap_asks(date, date, bigint, integer, date, text, boolean) IS 'is that asked of what overlaps: filled, or not? Raises an error of arguments that do not go together';

CREATE FUNCTION iforest_asks_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_asks_support(internal) IS 'for the planner: what is ruled out by those arguments that are constants';
ALTER FUNCTION iforest_window_asks(bigint, bigint, bigint, bigint, bigint, text, boolean, boolean) SUPPORT iforest_asks_support;
ALTER FUNCTION iforest_window_asks(timestamptz, timestamptz, bigint, interval, timestamptz, text, boolean, boolean) SUPPORT iforest_asks_support;
ALTER FUNCTION iforest_window_asks(timestamp, timestamp, bigint, interval, timestamp, text, boolean, boolean) SUPPORT iforest_asks_support;
ALTER FUNCTION iforest_window_asks(date, date, bigint, integer, date, text, boolean, boolean) SUPPORT iforest_asks_support;
ALTER FUNCTION iforest_overlap_asks(bigint, bigint, bigint, bigint, bigint, text, boolean) SUPPORT iforest_asks_support;
ALTER FUNCTION iforest_overlap_asks(timestamptz, timestamptz, bigint, interval, timestamptz, text, boolean) SUPPORT iforest_asks_support;
ALTER FUNCTION iforest_overlap_asks(timestamp, timestamp, bigint, interval, timestamp, text, boolean) SUPPORT iforest_asks_support;
ALTER FUNCTION iforest_overlap_asks(date, date, bigint, integer, date, text, boolean) SUPPORT iforest_asks_support;

-- ---- fill: the last sample carried on, and a line between samples ----

CREATE AGGREGATE iforest_first_time(v anyelement, ts anycompatible, ctid tid) (
	SFUNC = iforest_row_first_add, STYPE = internal, FINALFUNC = iforest_row_time, FINALFUNC_EXTRA, COMBINEFUNC = iforest_row_first_combine,
	SERIALFUNC = iforest_row_serialize, DESERIALFUNC = iforest_row_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_first_time(anyelement, anycompatible, tid) IS 'time of the earliest row that has a v';
CREATE AGGREGATE iforest_last_time(v anyelement, ts anycompatible, ctid tid) (
	SFUNC = iforest_row_last_add, STYPE = internal, FINALFUNC = iforest_row_time, FINALFUNC_EXTRA, COMBINEFUNC = iforest_row_last_combine,
	SERIALFUNC = iforest_row_serialize, DESERIALFUNC = iforest_row_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_last_time(anyelement, anycompatible, tid) IS 'time of the latest row that has a v';
CREATE AGGREGATE iforest_last_row(v anyelement, ts anycompatible, ctid tid) (
	SFUNC = iforest_row_last_add, STYPE = internal, FINALFUNC = iforest_row_ctid, COMBINEFUNC = iforest_row_last_combine,
	SERIALFUNC = iforest_row_serialize, DESERIALFUNC = iforest_row_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_last_row(anyelement, anycompatible, tid) IS 'ctid of the latest row that has a v; at equal times the highest';

CREATE FUNCTION iforest_line(ts bigint, ts_a bigint, ts_b bigint, a anyelement, b anyelement) RETURNS anyelement
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_line(bigint, bigint, bigint, anyelement, anyelement) IS 'where the line from a at ts_a to b at ts_b is at ts, between them';
CREATE FUNCTION iforest_line(ts timestamptz, ts_a timestamptz, ts_b timestamptz, a anyelement, b anyelement) RETURNS anyelement
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_line(timestamptz, timestamptz, timestamptz, anyelement, anyelement) IS 'where the line from a at ts_a to b at ts_b is at ts, between them';
CREATE FUNCTION iforest_line(ts timestamp, ts_a timestamp, ts_b timestamp, a anyelement, b anyelement) RETURNS anyelement
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_line(timestamp, timestamp, timestamp, anyelement, anyelement) IS 'where the line from a at ts_a to b at ts_b is at ts, between them';
CREATE FUNCTION iforest_line(ts date, ts_a date, ts_b date, a anyelement, b anyelement) RETURNS anyelement
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_line(date, date, date, anyelement, anyelement) IS 'where the line from a at ts_a to b at ts_b is at ts, between them';

-- ---- columns that are renamed ----

CREATE FUNCTION iforest_follow_rename() RETURNS event_trigger
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON FUNCTION iforest_follow_rename() IS 'after a column was renamed: parameters of iforest indexes that name it name it anew';
CREATE EVENT TRIGGER iforest_rename ON ddl_command_end WHEN TAG IN ('ALTER TABLE', 'ALTER MATERIALIZED VIEW') EXECUTE FUNCTION iforest_follow_rename();
ALTER EVENT TRIGGER iforest_rename ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER iforest_rename IS 'parameters of iforest indexes follow columns that are renamed';
