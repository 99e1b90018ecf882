-- What the catalogs say of the access method.
SELECT amname, amtype FROM pg_am WHERE amname = 'iforest';
SELECT property, pg_indexam_has_property(oid, property) AS has
FROM pg_am, unnest('{can_order, can_unique, can_multi_col, can_exclude, can_include}'::text[]) property WHERE amname = 'iforest';

-- Every operator class is whole in its own words.
SELECT count(*) > 0 AS some, count(*) FILTER (WHERE amvalidate(c.oid)) = count(*) AS all_valid
FROM pg_opclass c JOIN pg_am a ON a.oid = c.opcmethod WHERE amname = 'iforest';

-- Types of which a column needs no operator class to be named; each once.
SELECT opcintype::regtype AS type, count(*) FROM pg_opclass c JOIN pg_am a ON a.oid = c.opcmethod
WHERE amname = 'iforest' AND opcdefault GROUP BY opcintype ORDER BY opcintype::regtype::text COLLATE "C";

-- An operator has the strategy that it has in a B-tree, in a family where its types compare.
SELECT o.amopopr::regoperator AS operator, o.amopstrategy FROM pg_amop o JOIN pg_am a ON a.oid = o.amopmethod
WHERE amname = 'iforest' AND NOT EXISTS (SELECT FROM pg_amop b JOIN pg_am m ON m.oid = b.amopmethod
	WHERE m.amname = 'btree' AND b.amopopr = o.amopopr AND b.amopstrategy = o.amopstrategy AND o.amoppurpose = 's');

-- Every pair of types that a family compares has all five operators.
SELECT amopfamily, amoplefttype::regtype, amoprighttype::regtype, array_agg(amopstrategy ORDER BY amopstrategy)
FROM pg_amop o JOIN pg_am a ON a.oid = o.amopmethod WHERE amname = 'iforest'
GROUP BY 1, 2, 3 HAVING array_agg(amopstrategy ORDER BY amopstrategy) <> '{1,2,3,4,5}';

-- Pairs of different types.
SELECT amoplefttype::regtype AS stored, amoprighttype::regtype AS asked FROM pg_amop o JOIN pg_am a ON a.oid = o.amopmethod
WHERE amname = 'iforest' AND amopstrategy = 3 AND amoplefttype <> amoprighttype ORDER BY amoplefttype::regtype::text COLLATE "C", amoprighttype::regtype::text COLLATE "C";

-- Columns of an index.
CREATE TABLE told(a text, ts timestamptz, v integer);
CREATE INDEX told_if ON told USING iforest (a, ts) INCLUDE (v);
SELECT property, pg_index_has_property('told_if', property) AS index FROM unnest('{clusterable, index_scan, bitmap_scan, backward_scan}'::text[]) property;
SELECT property, pg_index_column_has_property('told_if', 1, property) AS by, pg_index_column_has_property('told_if', 2, property) AS time,
	pg_index_column_has_property('told_if', 3, property) AS value
FROM unnest('{asc, desc, nulls_first, nulls_last, orderable, distance_orderable, returnable, search_array, search_nulls}'::text[]) property;
SELECT pg_get_indexdef('told_if'::regclass);
DROP TABLE told;

-- Classes of one's own: a by column needs one whose equal values are the same, and the time one of the type's own order.
CREATE OPERATOR CLASS own_numeric_ops FOR TYPE numeric USING iforest AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 numeric_cmp(numeric, numeric);
CREATE OPERATOR CLASS own_integer_ops FOR TYPE integer USING iforest AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 btint4cmp(integer, integer);
CREATE OPERATOR CLASS own_backward_ops FOR TYPE integer USING iforest AS OPERATOR 1 >, OPERATOR 2 >=, OPERATOR 3 =, OPERATOR 4 <=, OPERATOR 5 <,
	FUNCTION 1 btint4cmp(integer, integer);
SELECT opcname, amvalidate(oid) FROM pg_opclass WHERE opcname ~ '^own_' ORDER BY opcname;
CREATE TABLE owned(n numeric, k integer, ts integer, v integer) PARTITION BY LIST (k);
CREATE TABLE owned_1 PARTITION OF owned FOR VALUES IN (1);
CREATE TABLE owned_2 PARTITION OF owned FOR VALUES IN (2);
SELECT statement, refusal(statement) FROM (VALUES
	('CREATE INDEX ON owned_1 USING iforest (n own_numeric_ops, ts)'),
	('CREATE INDEX ON owned_1 USING iforest (k own_backward_ops, ts)'),
	('CREATE INDEX ON owned_1 USING iforest (k, ts own_backward_ops)')) v(statement);
-- Partitions that are not asked with the same operators are not alike.
CREATE INDEX ON owned_1 USING iforest (ts) INCLUDE (v);
CREATE INDEX ON owned_2 USING iforest (ts own_integer_ops) INCLUDE (v);
INSERT INTO owned SELECT 1, 1 + i % 2, i, i FROM generate_series(1, 20000) i;
VACUUM ANALYZE owned;
SET iforest.explain_decline = on;
SELECT count(*), sum(v) FROM owned WHERE ts <= 50::bigint;
RESET iforest.explain_decline;
EXPLAIN (COSTS OFF) SELECT count(*), sum(v) FROM owned_2 WHERE ts BETWEEN 4000 AND 12000;
SELECT count(*), sum(v) FROM owned_2 WHERE ts BETWEEN 4000 AND 12000;
DROP TABLE owned;
DROP OPERATOR FAMILY own_numeric_ops USING iforest;
DROP OPERATOR FAMILY own_integer_ops USING iforest;
DROP OPERATOR FAMILY own_backward_ops USING iforest;

-- The orders of key columns are cached, and found out again when an operator family was created.
CREATE TABLE told_again(s text, ts bigint);
INSERT INTO told_again SELECT 's' || i % 10, i FROM generate_series(1, 20000) i;
CREATE INDEX told_again_if ON told_again USING iforest (s, ts);
VACUUM ANALYZE told_again;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM told_again WHERE s = 's3' ORDER BY ts LIMIT 3;
EXPLAIN (COSTS OFF) SELECT * FROM told_again WHERE s = 's3' ORDER BY ts LIMIT 3;
CREATE OPERATOR FAMILY told_ops USING btree;
EXPLAIN (COSTS OFF) SELECT * FROM told_again WHERE s = 's3' ORDER BY ts LIMIT 3;
DROP OPERATOR FAMILY told_ops USING btree;
DROP TABLE told_again;
