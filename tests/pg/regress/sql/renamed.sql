-- Parameters that name a column follow when it is renamed: so a dump can be loaded, and partitions be made.
CREATE FUNCTION named_by(indexes text) RETURNS TABLE(index name, parameters text[]) LANGUAGE SQL AS $$
	SELECT relname, reloptions FROM pg_class WHERE relkind IN ('i', 'I') AND relname ~ indexes ORDER BY 1 $$;

CREATE TABLE rn(id integer, who text, ts bigint, dur bigint, fin bigint, "Odd Name" integer);
INSERT INTO rn SELECT i, 'w' || i % 3, i, i % 7, i + i % 7, i % 5 FROM generate_series(1, 2000) i;
CREATE INDEX rn_if ON rn USING iforest (who, ts) INCLUDE (dur, "Odd Name") WITH (pending_pages = 2, duration = 'dur', variance = 'DUR, "Odd Name"', sketch = 'dur');
CREATE INDEX rn_end_if ON rn USING iforest (ts) INCLUDE (fin, dur) WITH ("end" = 'fin');
CREATE INDEX rn_btree ON rn (who, ts) INCLUDE (dur) WITH (fillfactor = 70);
\c -
-- the first that this session does
ALTER TABLE rn RENAME dur TO took;
SELECT * FROM named_by('^rn');
ALTER TABLE rn RENAME "Odd Name" TO "order";
ALTER TABLE rn RENAME COLUMN took TO "Took, it";
ALTER TABLE rn RENAME fin TO "End";
SELECT * FROM named_by('^rn');
SELECT pg_get_indexdef('rn_if'::regclass), pg_get_indexdef('rn_end_if'::regclass);
-- what is renamed otherwise leaves them alone
ALTER TABLE rn RENAME who TO service;
ALTER TABLE rn RENAME id TO dur;
ALTER INDEX rn_btree RENAME TO rn_other;
ALTER TABLE IF EXISTS rn_nowhere RENAME dur TO took;
ALTER TABLE rn_end_if RENAME fin TO other;
SELECT * FROM named_by('^rn_(end_)?if');
REINDEX TABLE rn;
SELECT iforest_check('rn_if', true), iforest_check('rn_end_if', true);
BEGIN;
ALTER TABLE rn RENAME "Took, it" TO gone;
ROLLBACK;
SELECT * FROM named_by('^rn_if');
-- names go round
BEGIN;
ALTER TABLE rn RENAME "Took, it" TO c;
ALTER TABLE rn RENAME "order" TO "Took, it";
ALTER TABLE rn RENAME c TO "order";
REINDEX INDEX rn_if;
SELECT * FROM named_by('^rn_if');
ROLLBACK;
-- who owns the table renames, and whoever replicates what others do
CREATE ROLE rn_owner;
ALTER TABLE rn OWNER TO rn_owner;
GRANT CREATE ON SCHEMA public TO rn_owner;
SET ROLE rn_owner;
ALTER TABLE rn RENAME "Took, it" TO took;
RESET ROLE;
SET session_replication_role = replica;
ALTER TABLE rn RENAME took TO dur_again;
RESET session_replication_role;
SELECT * FROM named_by('^rn_if');
REVOKE CREATE ON SCHEMA public FROM rn_owner;
DROP TABLE rn;
DROP ROLE rn_owner;

-- Partitions, also of partitions, and those that are yet to be.
CREATE TABLE rn_parts(who text, ts bigint, dur bigint) PARTITION BY RANGE (ts);
CREATE INDEX rn_parts_if ON rn_parts USING iforest (who, ts) INCLUDE (dur) WITH (duration = 'dur', sketch = 'dur');
CREATE TABLE rn_1 PARTITION OF rn_parts FOR VALUES FROM (0) TO (100);
CREATE TABLE rn_2 PARTITION OF rn_parts FOR VALUES FROM (100) TO (200) PARTITION BY LIST (who);
CREATE TABLE rn_2a PARTITION OF rn_2 FOR VALUES IN ('a');
ALTER TABLE rn_parts RENAME dur TO lasted;
CREATE TABLE rn_2b PARTITION OF rn_2 FOR VALUES IN ('b');
CREATE TABLE rn_3 PARTITION OF rn_parts FOR VALUES FROM (200) TO (300);
SELECT * FROM named_by('^rn_');
INSERT INTO rn_parts SELECT CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END, i, i % 9 FROM generate_series(0, 299) i;
SELECT cardinality(iforest_create_functions('rn_parts_if'));
SELECT who, count, clipped_lasted, longest_lasted FROM rn_parts_if_overlap(90, 210) ORDER BY 1;
DROP TABLE rn_parts;

-- Tables that inherit, and materialized views.
CREATE TABLE rn_top(ts bigint, dur bigint);
CREATE TABLE rn_below(more text) INHERITS (rn_top);
CREATE INDEX rn_below_if ON rn_below USING iforest (ts) INCLUDE (dur) WITH (duration = 'dur');
ALTER TABLE rn_top RENAME dur TO lasted;
CREATE MATERIALIZED VIEW rn_view AS SELECT 1::bigint AS ts, 2::bigint AS dur;
CREATE INDEX rn_view_if ON rn_view USING iforest (ts) INCLUDE (dur) WITH (duration = 'dur');
ALTER MATERIALIZED VIEW rn_view RENAME dur TO lasted;
SELECT * FROM named_by('^rn_');
REFRESH MATERIALIZED VIEW rn_view;
DROP MATERIALIZED VIEW rn_view;
DROP TABLE rn_top CASCADE;

-- Where it is switched off the parameter keeps its old name, says so at the next build, and can be set anew.
CREATE TABLE rn(ts bigint, dur bigint);
INSERT INTO rn VALUES (100, 1), (200, 2);
CREATE INDEX rn_if ON rn USING iforest (ts) INCLUDE (dur) WITH (duration = 'dur');
ALTER EVENT TRIGGER iforest_rename DISABLE;
ALTER TABLE rn RENAME COLUMN dur TO lasted;
ALTER EVENT TRIGGER iforest_rename ENABLE ALWAYS;
SELECT refusal('REINDEX INDEX rn_if');
ALTER INDEX rn_if SET (duration = 'lasted');
REINDEX INDEX rn_if;
SELECT refusal('SELECT iforest_follow_rename()');
DROP TABLE rn;
DROP FUNCTION named_by;
