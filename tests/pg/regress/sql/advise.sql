-- iforest_advise(): an index is proposed if the planner would take it, and it does when it is made.
CREATE TABLE advised(id bigint NOT NULL, gone integer, ts timestamptz NOT NULL, service text, "Status" text, host integer, dur bigint, cost numeric(12, 2), x double precision, note text, attrs jsonb, big numeric);
ALTER TABLE advised DROP gone;
SELECT setseed(0.5);
INSERT INTO advised SELECT i, timestamptz '2024-03-01' + i * interval '1 minute' + random() * interval '1 minute', 's' || i % 5, CASE i % 3 WHEN 0 THEN 'ok' ELSE 'error' END, i % 900, 1000 * exp(3 * random()), i % 100 / 10.0, random(), 'note ' || i, '{}', i
	FROM generate_series(1, 100000) i;
VACUUM ANALYZE advised;
\pset null -
\pset format unaligned

-- Makes what is proposed, and says whether the query is answered by it, how the size was estimated, and whether the cost came true.
CREATE FUNCTION made(queries text[]) RETURNS TABLE(n integer, proposed text, gains boolean, why text, is_taken boolean, is_size_right boolean, is_cost_right boolean)
LANGUAGE plpgsql AS $$
DECLARE
	advice record;
	proposal text;
	name text;
	cost_made double precision;
BEGIN
	CREATE TEMPORARY TABLE advices AS SELECT * FROM iforest_advise(queries);
	CREATE TEMPORARY TABLE indexes AS SELECT statement, NULL::regclass AS index FROM advices WHERE statement IS NOT NULL GROUP BY 1;
	FOR proposal IN SELECT statement FROM indexes ORDER BY 1 LOOP
		SELECT 'made_' || count(index) INTO name FROM indexes;
		EXECUTE replace(proposal, 'INDEX ON', 'INDEX ' || name || ' ON');
		UPDATE indexes SET index = name::regclass WHERE statement = proposal;
	END LOOP;
	FOR advice IN SELECT * FROM advices LEFT JOIN indexes USING (statement) ORDER BY query, statement LOOP
		n := advice.query; proposed := advice.statement; gains := advice.gain > 1; why := advice.reason;
		is_taken := NULL; is_size_right := NULL; is_cost_right := NULL;
		IF advice.index IS NOT NULL THEN
			SELECT bool_or(e.taken) INTO is_taken FROM iforest_explain(queries[n]) e WHERE e.index = advice.index;
			is_size_right := pg_relation_size(advice.index) BETWEEN advice.bytes / 3 AND advice.bytes * 2;
			EXECUTE 'EXPLAIN (FORMAT json) ' || queries[n] INTO proposal;
			cost_made := (proposal::json -> 0 -> 'Plan' ->> 'Total Cost')::float8;
			is_cost_right := cost_made BETWEEN advice.cost_with / 3 - 10 AND advice.cost_with * 3 + 10;
		END IF;
		RETURN NEXT;
	END LOOP;
	FOR name IN SELECT index::text FROM indexes LOOP
		EXECUTE 'DROP INDEX ' || name;
	END LOOP;
	DROP TABLE advices, indexes;
END $$;

-- One query each: groups, values, conditions, the largest, the first of each, parameters of the index.
SELECT * FROM made('{"SELECT service, count(*), max(dur) FROM advised GROUP BY 1"}');
SELECT * FROM made('{"SELECT date_trunc(''hour'', ts), sum(cost), count(id) FROM advised WHERE ts >= ''2024-03-05'' AND \"Status\" = ''ok'' GROUP BY 1"}');
SELECT * FROM made('{"SELECT count(*) FROM advised WHERE dur > 500 AND ts > ''2024-03-05''"}');
SELECT * FROM made('{"SELECT * FROM advised WHERE ts > ''2024-03-05'' ORDER BY dur DESC LIMIT 5"}');
SELECT * FROM made('{"SELECT DISTINCT ON (service) * FROM advised ORDER BY service, ts DESC"}');
SELECT * FROM made('{"SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY service ORDER BY ts DESC) AS n FROM advised) q WHERE n <= 2"}');
SELECT * FROM made('{"SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY service ORDER BY dur DESC) AS n FROM advised) q WHERE n <= 2"}');
SELECT * FROM made('{"SELECT DISTINCT service FROM advised"}');
SELECT * FROM made('{"SELECT stddev(dur), variance(cost), avg(x) FROM advised"}');
SELECT * FROM made('{"SELECT count(*) FILTER (WHERE dur >= 500), count(*) FILTER (WHERE dur < 100), sum(CASE WHEN 250 < dur THEN 1 END) FROM advised"}');
SELECT * FROM made('{"SELECT width_bucket(dur, ARRAY[101, 501]), count(*) FROM advised GROUP BY 1"}');
SELECT * FROM made('{"SELECT corr(dur, host) FROM advised"}');
SELECT * FROM made('{"SELECT count(*) FROM advised WHERE ts > ''2024-03-05'' AND ts < ''2024-03-05 00:05''"}');
SELECT * FROM made('{"SELECT count(DISTINCT service) FROM (SELECT * FROM advised OFFSET 0) q"}');
SELECT * FROM made('{"WITH a AS MATERIALIZED (SELECT service, sum(dur) FROM advised GROUP BY 1) SELECT *, (SELECT count(*) FROM advised WHERE host = 7) FROM a"}');

-- A join: what the others are joined on is a by column of the largest table.
CREATE TABLE owner_of(service text PRIMARY KEY, team text);
INSERT INTO owner_of SELECT DISTINCT service, 'team ' || length(service) FROM advised WHERE service IS NOT NULL;
ANALYZE owner_of;
SELECT * FROM made('{"SELECT team, sum(dur) FROM advised JOIN owner_of USING (service) GROUP BY 1", "SELECT count(*) FROM owner_of o, advised a WHERE o.service = a.service AND team <> ''x''", "SELECT count(*) FROM advised WHERE service IN (SELECT service FROM owner_of)", "SELECT n, max(dur) FROM (VALUES (1, 2), (2, 3)) v(host, n) JOIN advised USING (host) WHERE ts > ''2024-03-02'' GROUP BY n"}');
DROP TABLE owner_of;
-- Several: one index for all, but for what it would have too many series for.
SELECT * FROM made('{SELECT service\, count(*) FROM advised GROUP BY 1, "SELECT max(dur) FROM advised WHERE \"Status\" = ''ok'' AND ts > ''2024-03-05''", SELECT sum(cost) FROM advised, SELECT min(x)\, host FROM advised GROUP BY host, NULL, SELECT count(*) FROM nowhere}');

-- Not: series, types, joins, expressions; what is answered already; no query, and no table.
SELECT query, relation, statement, reason FROM iforest_advise('{SELECT note\, count(*) FROM advised GROUP BY 1, SELECT attrs\, count(*) FROM advised GROUP BY 1, SELECT sum(big) FROM advised,
	SELECT count(*) FROM advised a JOIN advised b USING (ts), SELECT sum(dur * host) FROM advised, SELECT corr(dur\, cost) FROM advised, SELECT * FROM advised WHERE id = 1, VACUUM, SELECT 1, SELECT FROM, SELECT count(*) FROM pg_class}'::text[]);
CREATE INDEX advised_if ON advised USING iforest (service, ts) INCLUDE (dur);
SELECT query, relation, statement, reason FROM iforest_advise('SELECT service, sum(dur) FROM advised GROUP BY 1');
DROP INDEX advised_if;
CREATE TABLE advised_timeless(a integer, b text);
SELECT relation, statement, reason FROM iforest_advise('SELECT b, sum(a) FROM advised_timeless GROUP BY 1');
ALTER TABLE advised_timeless DROP a;
SELECT relation, statement, reason FROM iforest_advise('SELECT b, count(*) FROM advised_timeless GROUP BY 1');
-- Without a time among the columns, a number may stand for it.
CREATE TABLE advised_numbers(n bigint PRIMARY KEY, b text);
INSERT INTO advised_numbers SELECT i * 1000 + (hashint8(i) & 511), 'b' || i % 5 FROM generate_series(1, 100000) i;
VACUUM ANALYZE advised_numbers;
SELECT * FROM made('{"SELECT b, count(*) FROM advised_numbers GROUP BY 1"}');
DROP TABLE advised_numbers;

-- Numbers for times: a range is asked of them, or the groups are steps of them. Names that need quotes.
CREATE TABLE "Advised times"("start" bigint, "the track" text, length integer);
INSERT INTO "Advised times" SELECT i * 1000 + 900 * random(), 't' || i % 7, 1000 * random() FROM generate_series(1, 100000) i;
VACUUM ANALYZE "Advised times";
SELECT * FROM made('{"SELECT \"the track\", stddev(length) FROM \"Advised times\" WHERE start >= 0 AND start < 50000000 GROUP BY 1", "SELECT start / 1000000, count(*) FROM \"Advised times\" GROUP BY 1", "SELECT sum(length) FROM \"Advised times\""}');

-- Partitions, of which one has its columns at other numbers.
CREATE TABLE advised_parts(LIKE advised) PARTITION BY RANGE (ts);
CREATE TABLE advised_part_1 PARTITION OF advised_parts FOR VALUES FROM (MINVALUE) TO ('2024-04-01');
CREATE TABLE advised_part_2(gone integer, LIKE advised);
ALTER TABLE advised_part_2 DROP gone;
ALTER TABLE advised_parts ATTACH PARTITION advised_part_2 FOR VALUES FROM ('2024-04-01') TO (MAXVALUE);
INSERT INTO advised_parts SELECT * FROM advised;
VACUUM ANALYZE advised_parts;
SELECT statement, gain > 1 AS gains, reason FROM iforest_advise('SELECT service, avg(dur) FROM advised_parts GROUP BY 1');

-- Arms of a UNION ALL need an index each, and are asked for together.
CREATE TABLE advised_before AS SELECT service, dur AS took, ts - interval '1 year' AS at FROM advised;
VACUUM ANALYZE advised_before;
SELECT relation, statement, gain > 1 AS gains, reason FROM iforest_advise('SELECT service, count(*), sum(dur) FROM (SELECT service, ts, dur FROM advised UNION ALL SELECT service, at, took FROM advised_before) u WHERE ts > ''2023-06-01'' GROUP BY service');
SELECT relation, statement, gain > 1 AS gains, reason FROM iforest_advise('SELECT service, count(*), sum(dur) FROM (SELECT * FROM advised UNION ALL SELECT * FROM advised) u GROUP BY service');
SELECT relation, statement, gain > 1 AS gains, reason FROM iforest_advise('SELECT service, count(*), sum(dur) FROM (SELECT service, dur FROM advised UNION ALL SELECT service, took FROM advised_before WHERE took > 7) u GROUP BY service');
CREATE INDEX advised_if ON advised USING iforest (service, ts) INCLUDE (dur);
CREATE INDEX advised_before_if ON advised_before USING iforest (service, at) INCLUDE (took);
SELECT relation, statement, reason FROM iforest_advise('SELECT service, sum(dur) FROM (SELECT service, dur FROM advised UNION ALL SELECT service, took FROM advised_before) u GROUP BY service');
DROP INDEX advised_if;
DROP TABLE advised_before;

-- As pg_stat_statements has it: parameters have no values.
SELECT statement, gain > 1 AS gains, reason FROM iforest_advise('SELECT service, count(*) FROM advised WHERE ts >= $1 AND ts < $2 AND "Status" = $3 GROUP BY service');

-- Nothing stays behind; nothing is planned with what is not there; who may not read the table is not told.
SELECT count(*) FROM pg_class WHERE relname LIKE 'iforest_would_be%';
SELECT count(*) FROM pg_index WHERE indrelid = 'advised'::regclass;
EXPLAIN (COSTS OFF) SELECT service, sum(dur) FROM advised GROUP BY 1;
CREATE ROLE stranger_to_advised;
SET ROLE stranger_to_advised;
SELECT relation, statement, cost, reason FROM iforest_advise('SELECT service, count(*) FROM advised GROUP BY 1');
RESET ROLE;
DROP ROLE stranger_to_advised;
BEGIN READ ONLY;
SELECT statement, reason FROM iforest_advise('SELECT service, count(*) FROM advised GROUP BY 1');
ROLLBACK;
SELECT count(*) FROM iforest_advise(NULL::text);
DROP FUNCTION made;
DROP TABLE advised, advised_timeless, "Advised times", advised_parts;
