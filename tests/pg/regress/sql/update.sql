-- An older version of the extension, with indexes and functions of indexes, works with the library of today, and is brought up to date:
-- then the catalogs have what a fresh installation has.
\set VERBOSITY terse
SELECT extversion AS newest FROM pg_extension WHERE extname = 'iforest' \gset
SELECT source AS version, path FROM pg_extension_update_paths('iforest') WHERE target = :'newest' ORDER BY 1;

-- Each object of the extension, with all that its catalogs say of it but OIDs.
CREATE FUNCTION catalog_of_iforest() RETURNS TABLE(object text, says text) LANGUAGE SQL AS $$
	WITH member AS (
		SELECT classid, objid FROM pg_depend
		WHERE refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'iforest') AND deptype = 'e'),
	says AS (
		SELECT 'pg_proc'::regclass AS classid, oid AS objid, concat_ws(' ', pg_get_function_arguments(oid), pg_get_function_result(oid), prokind, prosrc,
			probin, provolatile, proparallel, proisstrict, proleakproof, procost, prorows, proargnames, proacl) AS says
		FROM pg_proc
		UNION ALL
		SELECT 'pg_proc'::regclass, aggfnoid, concat_ws(' ', aggkind, aggnumdirectargs, aggtransfn::regprocedure, aggfinalfn::regproc, aggcombinefn::regproc,
			aggserialfn::regproc, aggdeserialfn::regproc, aggmtransfn::regproc, aggminvtransfn::regproc, aggmfinalfn::regproc, aggfinalextra,
			aggmfinalextra, aggfinalmodify, aggmfinalmodify, aggsortop, aggtranstype::regtype, aggtransspace, aggmtranstype::regtype, aggmtransspace,
			agginitval, aggminitval)
		FROM pg_aggregate
		UNION ALL
		SELECT 'pg_opfamily'::regclass, amopfamily, concat_ws(' ', amopstrategy, amopopr::regoperator, amoppurpose) FROM pg_amop
		UNION ALL
		SELECT 'pg_opfamily'::regclass, amprocfamily, concat_ws(' ', amprocnum, amproclefttype::regtype, amprocrighttype::regtype, amproc::regprocedure)
		FROM pg_amproc
		UNION ALL
		SELECT 'pg_event_trigger'::regclass, oid, concat_ws(' ', evtevent, evtfoid::regprocedure, evtenabled, evttags) FROM pg_event_trigger
		UNION ALL
		SELECT classid, objid, 'comment ' || coalesce(obj_description(objid, classid::regclass::name), 'none') FROM member)
	SELECT pg_describe_object(classid, objid, 0), s.says FROM member JOIN says s USING (classid, objid) $$;

BEGIN;
DROP EXTENSION iforest;
CREATE EXTENSION iforest;
CREATE TEMP TABLE fresh AS SELECT * FROM catalog_of_iforest();
SELECT count(*) > 300 AS there_is_something, count(DISTINCT object) > 80 AS of_many_objects FROM fresh;
DROP EXTENSION iforest;
CREATE EXTENSION iforest VERSION '1.0';
SELECT extversion FROM pg_extension WHERE extname = 'iforest';
SELECT count(*) > 20 AS has_less FROM (SELECT * FROM fresh EXCEPT ALL SELECT * FROM catalog_of_iforest()) f;

-- What is made with it works,
CREATE TABLE old_spans(track text, ts bigint, dur bigint);
INSERT INTO old_spans SELECT 'track ' || i % 7, i, i % 1000 FROM generate_series(1, 50000) i;
CREATE INDEX old_spans_if ON old_spans USING iforest (track, ts) INCLUDE (dur) WITH (duration = 'dur');
ANALYZE old_spans;
SELECT unnest(iforest_create_functions('old_spans_if'));
CREATE VIEW old_sums AS SELECT track, count(*) AS n, sum(dur) AS total, iforest_max_row(dur, ts, ctid) AS longest FROM old_spans WHERE ts >= 100 GROUP BY 1;
CREATE FUNCTION plan_of(question text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	EXECUTE 'EXPLAIN (COSTS OFF) ' || question INTO line;
	RETURN line;
END $$;
SELECT plan_of('SELECT * FROM old_sums'), plan_of('SELECT * FROM old_spans_if(0, 50001)');
CREATE TEMP TABLE answers_before AS SELECT * FROM old_sums;
CREATE TEMP TABLE windows_before AS SELECT * FROM old_spans_if(0, 50001, 4);
SAVEPOINT without_sketches;
SELECT iforest_sketch(dur) FROM old_spans;
ROLLBACK TO without_sketches;

-- and goes on working.
ALTER EXTENSION iforest UPDATE;
SELECT extversion = :'newest' AS is_newest FROM pg_extension WHERE extname = 'iforest';
(SELECT 'fresh only' AS which, * FROM (SELECT * FROM fresh EXCEPT ALL SELECT * FROM catalog_of_iforest()) f)
UNION ALL (SELECT 'updated only', * FROM (SELECT * FROM catalog_of_iforest() EXCEPT ALL SELECT * FROM fresh) u);
SELECT plan_of('SELECT * FROM old_sums'), plan_of('SELECT * FROM old_spans_if(0, 50001)');
SELECT count(*) AS differ FROM (TABLE answers_before EXCEPT ALL TABLE old_sums) d;
SELECT count(*) AS differ FROM (TABLE windows_before EXCEPT ALL SELECT * FROM old_spans_if(0, 50001, 4)) d;
SELECT count(*) AS groups FROM answers_before;
INSERT INTO old_spans SELECT 'track ' || i % 7, i, i % 1000 FROM generate_series(50001, 51000) i;
SELECT iforest_check('old_spans_if', true);
SELECT iforest_sketch_count(iforest_sketch(dur)) FROM old_spans;
SELECT pg_get_functiondef(oid) ~ 'iforest_overlap_spans' AS is_read_from_index FROM pg_proc WHERE proname = 'old_spans_if_overlap';
CREATE TEMP TABLE overlaps_before AS SELECT * FROM old_spans_if_overlap(100, 40000, 5);
-- as after a dump: functions that lost their tie, of which one has got another argument
DELETE FROM pg_depend WHERE refobjid = 'old_spans_if'::regclass AND deptype = 'a' AND classid = 'pg_proc'::regclass;
SELECT cardinality(iforest_create_functions('old_spans_if')) AS functions_made_again;
SELECT pg_get_functiondef(oid) ~ 'iforest_overlap_spans' AS is_read_from_index FROM pg_proc WHERE proname = 'old_spans_if_overlap';
SELECT count(*) AS differ FROM (TABLE overlaps_before EXCEPT ALL SELECT * FROM old_spans_if_overlap(100, 40000, 5)) d;
DROP INDEX old_spans_if;
SELECT count(*) AS functions_left FROM pg_proc WHERE proname ~ '^old_spans_if';
ROLLBACK;
SELECT extversion = :'newest' AS is_newest FROM pg_extension WHERE extname = 'iforest';
ALTER EXTENSION iforest UPDATE TO '1.0';
DROP FUNCTION catalog_of_iforest;
