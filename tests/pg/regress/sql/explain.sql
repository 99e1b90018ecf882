-- iforest_explain(): a row for each index that was considered at a level, and whether the plan has it; and iforest.log_decline.
CREATE TABLE asked(ts timestamptz NOT NULL, service text, dur bigint, note text);
INSERT INTO asked SELECT timestamptz '2024-03-01' + i * interval '1 minute', 'service ' || i % 5, i * 7919 % 1000, 'note' FROM generate_series(1, 50000) i;
CREATE INDEX asked_if ON asked USING iforest (service, ts) INCLUDE (dur);
CREATE INDEX asked_time_if ON asked USING iforest (ts) INCLUDE (dur);
VACUUM ANALYZE asked;
\pset null -
CREATE FUNCTION told(query text) RETURNS TABLE(level text, relation regclass, index regclass, taken boolean, node text, reason text, has_cost boolean, is_cheaper boolean)
	LANGUAGE sql AS 'SELECT level, relation, index, taken, node, reason, cost IS NOT NULL, cost < cost_without FROM iforest_explain(query)';

-- Answered by one index, and why not by the other.
SELECT * FROM told('SELECT service, count(*), max(dur) FROM asked GROUP BY 1');
SELECT * FROM told('SELECT count(*) FROM asked');
SELECT * FROM told('SELECT count(note) FROM asked');

-- The largest, the first of each, an ordinary scan; and none of these.
SELECT * FROM told('SELECT * FROM asked WHERE ts > ''2024-03-05'' ORDER BY dur DESC LIMIT 5');
SELECT * FROM told('SELECT DISTINCT ON (service) * FROM asked ORDER BY service, ts DESC');
SELECT * FROM told('SELECT DISTINCT ON (note) * FROM asked ORDER BY note, ts DESC');
SELECT * FROM told('SELECT * FROM asked WHERE ts > ''2024-03-05'' AND ts < ''2024-03-05 01:00''');
SELECT * FROM told('SELECT * FROM asked ORDER BY note LIMIT 5');
SELECT * FROM told('SELECT count(*) FROM asked a JOIN asked b USING (ts)');
SELECT * FROM told('SELECT 1');

-- Few rows are read by an ordinary scan.
SELECT * FROM told('SELECT count(*) FROM asked WHERE ts > ''2024-03-05'' AND ts < ''2024-03-05 00:03''');

-- Levels: a CTE, subqueries within one another, subselects, arms of a UNION ALL, and what a view hides.
SELECT * FROM told('WITH c AS MATERIALIZED (SELECT service, sum(dur) FROM asked GROUP BY 1)
	SELECT (SELECT count(*) FROM asked), c.* FROM c JOIN (SELECT service, count(note) FROM asked GROUP BY 1) d USING (service)') WHERE index = 'asked_if'::regclass;
SELECT * FROM told('SELECT count(*) FROM (SELECT n FROM (SELECT service, count(*) AS n FROM asked GROUP BY 1 OFFSET 0) a OFFSET 1) b') WHERE index = 'asked_if'::regclass;
SELECT * FROM told('SELECT 1, count(*) FROM asked UNION ALL SELECT 2, count(*) FROM asked WHERE note = ''x''') WHERE index = 'asked_if'::regclass;
CREATE VIEW asked_by_service AS SELECT service, count(*) FROM asked GROUP BY 1;
SELECT * FROM told('SELECT * FROM asked_by_service') WHERE taken;
SELECT * FROM told('SELECT max(dur) FROM asked') WHERE taken;

-- A partitioned table has one index for all partitions.
CREATE TABLE asked_parts(LIKE asked) PARTITION BY RANGE (ts);
CREATE TABLE asked_part_1 PARTITION OF asked_parts FOR VALUES FROM (MINVALUE) TO ('2024-03-15');
CREATE TABLE asked_part_2 PARTITION OF asked_parts FOR VALUES FROM ('2024-03-15') TO (MAXVALUE);
INSERT INTO asked_parts SELECT * FROM asked;
CREATE INDEX asked_parts_if ON asked_parts USING iforest (service, ts) INCLUDE (dur);
VACUUM ANALYZE asked_parts;
SELECT * FROM told('SELECT sum(dur) FROM asked_parts');
SELECT * FROM told('SELECT sum(length(note)) FROM asked_parts');
SELECT * FROM told('SELECT DISTINCT ON (service) * FROM asked_parts ORDER BY service, ts DESC');

-- Parameters have no values; INSERT ... SELECT is a query as well; nothing is run.
SELECT * FROM told('SELECT count(*) FROM asked WHERE ts > $1 AND service = $2') WHERE taken;
SELECT * FROM told('INSERT INTO asked(ts, dur) SELECT max(ts), sum(dur) FROM asked GROUP BY service') WHERE taken;
SELECT count(*) FROM asked;
SELECT * FROM told(NULL);

-- With a setting of the session.
SET iforest.enable = off;
SELECT * FROM told('SELECT count(*) FROM asked');
RESET iforest.enable;

-- Other plans are told how many groups there are: the planner takes each time for a group.
CREATE INDEX asked_plain ON asked(ts) INCLUDE (dur);
VACUUM asked;
CREATE FUNCTION groups_of(query text) RETURNS TABLE(node text, are_few boolean) LANGUAGE plpgsql AS $$
	DECLARE plan json;
	BEGIN
		EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
		RETURN QUERY SELECT plan->0->'Plan'->>'Node Type', (plan->0->'Plan'->>'Plan Rows')::float8 BETWEEN 10 AND 40;
	END $$;
SELECT * FROM groups_of($$SELECT iforest_bucket(ts, '2024-03-05'::timestamptz, '2024-03-05 03:00', 20), max(dur) FROM asked WHERE ts >= '2024-03-05' AND ts < '2024-03-05 03:00' GROUP BY 1$$);
SET iforest.enable = off;
SELECT * FROM groups_of($$SELECT iforest_bucket(ts, '2024-03-05'::timestamptz, '2024-03-05 03:00', 20), max(dur) FROM asked WHERE ts >= '2024-03-05' AND ts < '2024-03-05 03:00' GROUP BY 1$$);
RESET iforest.enable;
DROP INDEX asked_plain;
DROP FUNCTION groups_of;

-- A materialised view is answered as a table is.
CREATE MATERIALIZED VIEW asked_again AS SELECT * FROM asked;
CREATE INDEX asked_again_if ON asked_again USING iforest (service, ts) INCLUDE (dur);
VACUUM ANALYZE asked_again;
SELECT * FROM told('SELECT service, sum(dur) FROM asked_again GROUP BY 1');
SELECT * FROM told('SELECT DISTINCT ON (service) service, ts FROM asked_again ORDER BY service, ts DESC');
REFRESH MATERIALIZED VIEW asked_again;
SELECT (SELECT sum(dur) FROM asked_again) = (SELECT sum(dur) FROM asked) AS is_equal;
DROP MATERIALIZED VIEW asked_again;

-- What planning itself evaluates is not reported.
CREATE FUNCTION rows_asked() RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT count(*) FROM asked';
SELECT * FROM told('SELECT rows_asked()');
SELECT * FROM told('SELECT count(*) FROM asked WHERE dur < rows_asked()') WHERE index = 'asked_if'::regclass;
DROP FUNCTION rows_asked;

-- Not a query, or not one; and what EXPLAIN needs is needed.
SELECT * FROM told('SELECT nothing FROM asked');
SELECT * FROM told('VACUUM asked');
SELECT * FROM told('SELECT 1; SELECT 2');
SELECT * FROM told('');
CREATE ROLE stranger_to_asked;
SET ROLE stranger_to_asked;
SELECT * FROM iforest_explain('SELECT count(*) FROM asked');
SET iforest.log_decline = on;
RESET ROLE;
DROP ROLE stranger_to_asked;

-- The log's lines; of a query that is only explained here there are none.
SET client_min_messages = log;
SET iforest.log_decline = on;
SELECT count(note) FROM asked;
SELECT count(*) FROM asked;
SELECT reason FROM iforest_explain('SELECT count(note) FROM asked');
SET iforest.explain_decline = on;
SELECT count(note) FROM asked_parts;
RESET iforest.explain_decline; RESET iforest.log_decline; RESET client_min_messages;
DROP VIEW asked_by_service;
DROP FUNCTION told;
DROP TABLE asked, asked_parts;
