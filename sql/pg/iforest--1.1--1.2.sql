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
