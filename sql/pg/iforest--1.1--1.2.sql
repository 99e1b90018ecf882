-- complain if this is fed to psql instead of ALTER EXTENSION
\echo Use "ALTER EXTENSION iforest UPDATE TO '1.2'" to load this file. \quit

-- ---- sketches asked the other way ----

CREATE FUNCTION iforest_rank(sketch bytea, v double precision) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_rank(bytea, double precision) IS 'the share of the sketch''s numbers at or below v, which may be 1/127 of it off';
CREATE FUNCTION iforest_histogram(sketch bytea, OUT lower double precision, OUT upper double precision, OUT count bigint) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 200;
COMMENT ON FUNCTION iforest_histogram(bytea) IS 'the buckets of a sketch that have numbers, and how many';
CREATE FUNCTION iforest_histogram(sketch bytea, bounds double precision[], OUT lower double precision, OUT upper double precision, OUT count bigint)
	RETURNS SETOF record AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 50;
COMMENT ON FUNCTION iforest_histogram(bytea, double precision[]) IS 'how many of a sketch''s numbers are in each of the bins lower <= v < upper that the bounds part';

CREATE FUNCTION iforest_quantile_cont(sketch bytea, q double precision, min double precision, max double precision) RETURNS double precision
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_quantile_cont(bytea, double precision, double precision, double precision) IS 'what lies between the two numbers nearest to the quantile, as percentile_cont() computes it';

-- ---- the row of the first value ----

CREATE AGGREGATE iforest_first_row(v anyelement, ts anycompatible, ctid tid) (
	SFUNC = iforest_row_first_add, STYPE = internal, FINALFUNC = iforest_row_ctid, COMBINEFUNC = iforest_row_first_combine,
	SERIALFUNC = iforest_row_serialize, DESERIALFUNC = iforest_row_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_first_row(anyelement, anycompatible, tid) IS 'ctid of the earliest row that has a v; at equal times the lowest';

-- ---- the peak of overlapping spans ----

CREATE FUNCTION iforest_peak_add(internal, anyelement, anyelement) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_peak_add(internal, anyelement, anyelement) IS 'adds a span to those of a peak';
CREATE FUNCTION iforest_peak_add(internal, anyelement, anyelement, boolean) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_peak_add(internal, anyelement, anyelement, boolean) IS 'the same of a span that may end later than its type can tell';
CREATE FUNCTION iforest_peak_count(internal) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_peak_count(internal) IS 'result of iforest_peak';
CREATE FUNCTION iforest_peak_when(internal, anyelement, anyelement) RETURNS anyelement
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_peak_when(internal, anyelement, anyelement) IS 'result of iforest_peak_time';
CREATE FUNCTION iforest_peak_when(internal, anyelement, anyelement, boolean) RETURNS anyelement
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_peak_when(internal, anyelement, anyelement, boolean) IS 'result of iforest_peak_time';

CREATE AGGREGATE iforest_peak(ts anyelement, ends anyelement) (
	SFUNC = iforest_peak_add, STYPE = internal, FINALFUNC = iforest_peak_count, FINALFUNC_MODIFY = SHAREABLE, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_peak(anyelement, anyelement) IS 'how many of the spans are open at once, at most; those that do not end after ts are points';
CREATE AGGREGATE iforest_peak(ts anyelement, ends anyelement, endless boolean) (
	SFUNC = iforest_peak_add, STYPE = internal, FINALFUNC = iforest_peak_count, FINALFUNC_MODIFY = SHAREABLE, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_peak(anyelement, anyelement, boolean) IS 'the same, where some spans end later than the type can tell';
CREATE AGGREGATE iforest_peak_time(ts anyelement, ends anyelement) (
	SFUNC = iforest_peak_add, STYPE = internal, FINALFUNC = iforest_peak_when, FINALFUNC_EXTRA, FINALFUNC_MODIFY = SHAREABLE, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_peak_time(anyelement, anyelement) IS 'the earliest time at which as many spans are open as ever are';
CREATE AGGREGATE iforest_peak_time(ts anyelement, ends anyelement, endless boolean) (
	SFUNC = iforest_peak_add, STYPE = internal, FINALFUNC = iforest_peak_when, FINALFUNC_EXTRA, FINALFUNC_MODIFY = SHAREABLE, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_peak_time(anyelement, anyelement, boolean) IS 'the same, where some spans end later than the type can tell';

-- ---- the points of a line to be drawn ----

CREATE FUNCTION iforest_lttb_add(internal, anyelement, double precision, integer) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_lttb_add(internal, anyelement, double precision, integer) IS 'adds a point to those of a line';
CREATE FUNCTION iforest_lttb_time_array(internal, anyelement, double precision, integer) RETURNS anyarray
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_lttb_time_array(internal, anyelement, double precision, integer) IS 'result of iforest_lttb_times';
CREATE FUNCTION iforest_lttb_value_array(internal) RETURNS double precision[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_lttb_value_array(internal) IS 'result of iforest_lttb_values';

CREATE AGGREGATE iforest_lttb_times(ts anyelement, v double precision, n integer) (
	SFUNC = iforest_lttb_add, STYPE = internal, FINALFUNC = iforest_lttb_time_array, FINALFUNC_EXTRA, FINALFUNC_MODIFY = SHAREABLE, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_lttb_times(anyelement, double precision, integer) IS 'times of the n points of a line that make the largest triangles (LTTB)';
CREATE AGGREGATE iforest_lttb_values(ts anyelement, v double precision, n integer) (
	SFUNC = iforest_lttb_add, STYPE = internal, FINALFUNC = iforest_lttb_value_array, FINALFUNC_MODIFY = SHAREABLE, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_lttb_values(anyelement, double precision, integer) IS 'values of the n points of a line that make the largest triangles (LTTB)';

-- ---- distinct sketches: how many different values there are ----
-- A bytea, the same as SQLite's functions of these names make. NULL is the sketch of no values.

CREATE FUNCTION iforest_distinct_add(internal, anyelement) RETURNS internal
	AS 'MODULE_PATHNAME', 'iforest_distinct_add_value' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_distinct_add(internal, anyelement) IS 'adds a value to a distinct sketch';
CREATE FUNCTION iforest_distinct_add_sketch(internal, bytea) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_distinct_add_sketch(internal, bytea) IS 'adds the values of a distinct sketch to another';
CREATE FUNCTION iforest_distinct_deserialize(bytea, internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION iforest_distinct_deserialize(bytea, internal) IS 'bytes to distinct sketch, for parallel plans';

CREATE AGGREGATE iforest_distinct(x anyelement) (
	SFUNC = iforest_distinct_add, STYPE = internal, SSPACE = 4096, FINALFUNC = iforest_sketch_result, COMBINEFUNC = iforest_sketch_combine,
	SERIALFUNC = iforest_sketch_serialize, DESERIALFUNC = iforest_distinct_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_distinct(anyelement) IS 'the distinct sketch of the values x, for iforest_distinct_count';
CREATE AGGREGATE iforest_distinct_merge(sketch bytea) (
	SFUNC = iforest_distinct_add_sketch, STYPE = internal, SSPACE = 4096, FINALFUNC = iforest_sketch_result, COMBINEFUNC = iforest_sketch_combine,
	SERIALFUNC = iforest_sketch_serialize, DESERIALFUNC = iforest_distinct_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_distinct_merge(bytea) IS 'the distinct sketch of all values of these sketches';
CREATE FUNCTION iforest_distinct_count(sketch bytea) RETURNS bigint
	AS 'MODULE_PATHNAME', 'iforest_distinct_values' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_distinct_count(bytea) IS 'how many different values the sketch has: exact up to 768, then with a standard error of 1.6 %; 0 of NULL';

-- ---- what becomes of a query ----

CREATE FUNCTION iforest_explain(query text, OUT level text, OUT relation regclass, OUT index regclass, OUT taken boolean, OUT node text, OUT reason text,
	OUT cost double precision, OUT cost_without double precision) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'iforest_explain_query' LANGUAGE C STRICT VOLATILE ROWS 5;
COMMENT ON FUNCTION iforest_explain(text) IS 'what becomes of each iforest index at each level of a query: taken, or why not';

CREATE FUNCTION iforest_advise(queries text[], OUT query integer, OUT relation regclass, OUT statement text, OUT bytes bigint,
	OUT cost double precision, OUT cost_with double precision, OUT gain double precision, OUT reason text) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'iforest_advise_queries' LANGUAGE C STRICT VOLATILE ROWS 20;
COMMENT ON FUNCTION iforest_advise(text[]) IS 'which indexes would answer these queries, with their size and what is gained';
CREATE FUNCTION iforest_advise(sql text, OUT query integer, OUT relation regclass, OUT statement text, OUT bytes bigint,
	OUT cost double precision, OUT cost_with double precision, OUT gain double precision, OUT reason text) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'iforest_advise_query' LANGUAGE C STRICT VOLATILE ROWS 2;
COMMENT ON FUNCTION iforest_advise(text) IS 'which index would answer this query, with its size and what is gained';

-- ---- states of aggregates, which shards send ----
-- Aggregates over ordinary types, which another server may combine. The planner puts iforest_sketch(), iforest_last(), stddev() and others into
-- these terms where a distributed table is asked, and answers them from the index of a shard.

CREATE FUNCTION iforest_row_state(v anyelement, ts anycompatible, ctid tid) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_row_state(anyelement, anycompatible, tid) IS 'a row as the state of an aggregate of rows; NULL without a v';
CREATE FUNCTION iforest_row_state(v anyelement, ts anycompatible) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_row_state(anyelement, anycompatible) IS 'the same, where values decide between rows of the same time';
CREATE FUNCTION iforest_state_value(state bytea, v anyelement) RETURNS anyelement
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_state_value(bytea, anyelement) IS 'the value of a row''s state, in the type of v';
CREATE FUNCTION iforest_state_time(state bytea, ts anyelement) RETURNS anyelement
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_state_time(bytea, anyelement) IS 'the time of a row''s state, in the type of ts';
CREATE FUNCTION iforest_state_row(state bytea) RETURNS tid
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_state_row(bytea) IS 'the ctid of a row''s state, if it has one';
CREATE FUNCTION iforest_state_timed(state bytea) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_state_timed(bytea) IS 'the state of a row that has a time, or NULL';
CREATE FUNCTION iforest_states_min(bytea, bytea) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_states_min(bytea, bytea) IS 'of two rows that with the smaller value';
CREATE FUNCTION iforest_states_max(bytea, bytea) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_states_max(bytea, bytea) IS 'of two rows that with the greater value';
CREATE FUNCTION iforest_states_first(bytea, bytea) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_states_first(bytea, bytea) IS 'the earlier of two rows';
CREATE FUNCTION iforest_states_last(bytea, bytea) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_states_last(bytea, bytea) IS 'the later of two rows';

CREATE AGGREGATE iforest_min_state(state bytea) (
	SFUNC = iforest_states_min, STYPE = bytea, COMBINEFUNC = iforest_states_min, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_min_state(bytea) IS 'the state of the row with the smallest value';
CREATE AGGREGATE iforest_max_state(state bytea) (
	SFUNC = iforest_states_max, STYPE = bytea, COMBINEFUNC = iforest_states_max, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_max_state(bytea) IS 'the state of the row with the greatest value';
CREATE AGGREGATE iforest_first_state(state bytea) (
	SFUNC = iforest_states_first, STYPE = bytea, FINALFUNC = iforest_state_timed, COMBINEFUNC = iforest_states_first, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_first_state(bytea) IS 'the state of the earliest row';
CREATE AGGREGATE iforest_last_state(state bytea) (
	SFUNC = iforest_states_last, STYPE = bytea, FINALFUNC = iforest_state_timed, COMBINEFUNC = iforest_states_last, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_last_state(bytea) IS 'the state of the latest row';

CREATE FUNCTION iforest_sketch_state(v anyelement) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_sketch_state(anyelement) IS 'the sketch of one number';
CREATE FUNCTION iforest_sketch_union(bytea, bytea) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_sketch_union(bytea, bytea) IS 'the sketch of all numbers of two';
CREATE AGGREGATE iforest_sketch_states(sketch bytea) (
	SFUNC = iforest_sketch_union, STYPE = bytea, COMBINEFUNC = iforest_sketch_union, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_sketch_states(bytea) IS 'the sketch of all numbers of these sketches, as iforest_sketch_merge gives it';
CREATE FUNCTION iforest_distinct_state(x anyelement) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_distinct_state(anyelement) IS 'the distinct sketch of one value';
CREATE FUNCTION iforest_distinct_union(bytea, bytea) RETURNS bytea
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_distinct_union(bytea, bytea) IS 'the distinct sketch of all values of two';
CREATE AGGREGATE iforest_distinct_states(sketch bytea) (
	SFUNC = iforest_distinct_union, STYPE = bytea, COMBINEFUNC = iforest_distinct_union, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_distinct_states(bytea) IS 'the distinct sketch of all values of these sketches, as iforest_distinct_merge gives it';

CREATE FUNCTION iforest_squares_add(numeric, numeric) RETURNS numeric
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_squares_add(numeric, numeric) IS 'adds the square of a number to a sum';
CREATE AGGREGATE iforest_squares(v numeric) (
	SFUNC = iforest_squares_add, STYPE = numeric, INITCOND = '0', COMBINEFUNC = numeric_add, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_squares(numeric) IS 'the sum of the squares of v; 0 of none';
CREATE FUNCTION iforest_variance(n bigint, sum numeric, squares numeric, is_sample boolean, is_deviation boolean) RETURNS numeric
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION iforest_variance(bigint, numeric, numeric, boolean, boolean) IS 'the variance of n numbers, or the standard deviation, from their sum and the sum of their squares';
