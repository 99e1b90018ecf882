-- complain if this is fed to psql instead of ALTER EXTENSION
\echo Use "ALTER EXTENSION iforest UPDATE TO '1.2'" to load this file. \quit

-- ---- the row of the first value ----

CREATE AGGREGATE iforest_first_row(v anyelement, ts anycompatible, ctid tid) (
	SFUNC = iforest_row_first_add, STYPE = internal, FINALFUNC = iforest_row_ctid, COMBINEFUNC = iforest_row_first_combine,
	SERIALFUNC = iforest_row_serialize, DESERIALFUNC = iforest_row_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE iforest_first_row(anyelement, anycompatible, tid) IS 'ctid of the earliest row that has a v; at equal times the lowest';
