-- Expressions of the time that are cut into few buckets, and those that are not: what is read, what is estimated, and which plan that gives at default costs.
SET TimeZone = 'America/New_York';
SET DateStyle = ISO;
CREATE TABLE timed AS SELECT timestamptz '2023-01-01 00:00' + i * interval '11 min' AS ts, timestamp '2023-01-01' + i * interval '11 min' AS local,
	1672531200000000000 + i * 660000000000 AS ns, (ARRAY['api', 'db', 'web'])[1 + i % 3] AS service, i % 1000 AS n, (i % 900 / 10.0)::numeric(9, 2) AS price
	FROM generate_series(0, 59999) i;
CREATE INDEX timed_if ON timed USING iforest (service, ts) INCLUDE (n, price);
CREATE INDEX timed_ts_if ON timed USING iforest (ts) INCLUDE (n, price);
CREATE INDEX timed_local_if ON timed USING iforest (local) INCLUDE (n);
CREATE INDEX timed_ns_if ON timed USING iforest (ns) INCLUDE (n);
VACUUM ANALYZE timed;

-- Is the index taken, with at most so many buckets, and the estimate of groups within a factor of five of the rows? Are rows the same?
CREATE FUNCTION cut(question text, most integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	gather text := format('SELECT array_agg(answer::text ORDER BY answer::text) FROM (%s) answer', question);
	expected text[];
	actual text[];
	plan json;
	answer text;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || question INTO plan;
	plan := plan #> '{0,Plan}';
	IF plan ->> 'Custom Plan Provider' = 'IForestAggregate' THEN
		answer := format('%s, %s, groups %s', plan ->> 'Bucket Method',
			CASE WHEN (plan ->> 'Buckets')::integer <= most THEN 'few' ELSE (plan ->> 'Buckets') || ' buckets' END,
			CASE WHEN (plan ->> 'Plan Rows')::float8 BETWEEN (plan ->> 'Actual Rows')::float8 / 5 AND (plan ->> 'Actual Rows')::float8 * 5 + 5 THEN 'as estimated'
				ELSE 'estimated as ' || (plan ->> 'Plan Rows') END);
	ELSE
		answer := 'another plan';
	END IF;
	EXECUTE gather INTO actual;
	PERFORM set_config('iforest.enable', 'off', true);
	EXECUTE gather INTO expected;
	PERFORM set_config('iforest.enable', 'on', true);
	RETURN answer || CASE WHEN actual IS NOT DISTINCT FROM expected THEN ', the same' ELSE ', different' END;
END $$;

-- ---- months ----
SELECT cut('SELECT date_trunc(''day'', ts + interval ''1 year''), count(*), sum(n) FROM timed GROUP BY 1', 470);
SELECT cut('SELECT date_trunc(''month'', ts - interval ''1 month''), count(*) FROM timed GROUP BY 1', 70);
SELECT cut('SELECT date_trunc(''month'', local + interval ''1 month -1 day 5 hours''), count(*) FROM timed GROUP BY 1', 150);
SELECT cut('SELECT extract(year FROM ts + 11 * interval ''1 month''), count(*) FROM timed GROUP BY 1', 80);
SELECT cut('SELECT date_trunc(''day'', local::date + interval ''1 month''), count(*) FROM timed GROUP BY 1', 460);
SELECT cut('SELECT date_trunc(''hour'', ts + interval ''1 month 3 hours''), min(ts), max(ts) FROM timed GROUP BY 1', 12000);
PREPARE months_ago(interval) AS SELECT date_trunc('month', local - $1) AS month, count(*) FROM timed GROUP BY 1 ORDER BY 1 LIMIT 2;
EXECUTE months_ago('1 month');
DEALLOCATE months_ago;

-- ---- what hangs on the day ----
SELECT cut('SELECT date_trunc(''day'', ts - interval ''1 day'' * extract(dow FROM ts)::integer)::date, count(*) FROM timed GROUP BY 1', 510);
-- groups: each day is thought to have its own
SELECT cut('SELECT floor(extract(epoch FROM ts - date_trunc(''day'', ts)) / 21600), count(*) FROM timed GROUP BY 1', 2000);
SELECT cut('SELECT count(*), min(ts) FROM timed WHERE ts::time BETWEEN ''22:15'' AND ''23:45:30''', 1400);
SELECT cut('SELECT floor(extract(julian FROM ts)), count(*) FROM timed GROUP BY 1', 470);
SELECT cut('SELECT count(ts::time), count(ts - CASE WHEN extract(dow FROM ts) > 3 THEN interval ''1 day'' END) FROM timed WHERE service = ''db''', 470);

-- ---- multiples of an interval ----
SELECT cut('SELECT date_trunc(''day'', timestamp ''epoch'' + (ns / 1000000000) * interval ''1 second''), count(*) FROM timed GROUP BY 1', 470);
SELECT cut('SELECT date_bin(''1 day'', timestamptz ''epoch'' + ns / 1000 * interval ''1 microsecond'', ''2000-01-01''), count(*) FROM timed GROUP BY 1', 470);
SELECT cut('SELECT date_trunc(''day'', timestamp ''epoch'' - (ns / 1000000000) * interval ''1 second''), count(*) FROM timed GROUP BY 1', 470);

-- ---- what depends on the order alone ----
SELECT cut('SELECT count(*), sum(n) FROM timed WHERE ts <@ tstzrange(''2023-03-01'', ''2023-05-01'')', 5);
SELECT cut('SELECT count(*), sum(n) FROM timed WHERE (ts, ts) OVERLAPS (timestamptz ''2023-03-01'', timestamptz ''2023-05-01'')', 5);
SELECT cut('SELECT count(*), sum(n) FROM timed WHERE (service, ts) > (''db'', ''2023-05-01'')', 8);
SELECT cut('SELECT count(*), sum(n) FROM timed WHERE coalesce(ts, ''2023-04-01'') >= ''2023-03-01'' AND least(ts, ''2023-06-01'') < ''2023-05-01''', 5);
SELECT cut('SELECT count(*), sum(n) FROM timed WHERE ts > ALL (''{2023-03-01,2023-04-01}''::timestamptz[]) AND ts < ANY (''{2023-05-01,2023-06-01}''::timestamptz[])', 5);
SELECT cut('SELECT greatest(date_trunc(''month'', ts), ''2023-06-01''), count(*) FROM timed GROUP BY 1', 50);
-- where the time is NULL, they are not
INSERT INTO timed(service, n) SELECT 'db', 7 FROM generate_series(1, 10);
SELECT cut('SELECT count(coalesce(ts, ''2023-04-01'')), max(greatest(ts, ''2025-01-01'')), min(coalesce(ts, ''2020-01-01'')) FROM timed', 100000);
SELECT cut('SELECT coalesce(date_trunc(''month'', ts), ''2023-06-01''), service, count(*) FROM timed GROUP BY 1, 2', 100);
SELECT cut('SELECT count(*), sum(n) FROM timed WHERE coalesce(n, 10) > 900', 5);

-- ---- each time by itself: another plan ----
SELECT cut('SELECT ns % 7, count(*) FROM timed GROUP BY 1', 0);
SELECT cut('SELECT count(*) FROM timed WHERE ts::text LIKE ''2023-03-1%''', 0);
SET iforest.explain_decline = on;
EXPLAIN (COSTS OFF) SELECT ns % 7, count(*) FROM timed GROUP BY 1;
RESET iforest.explain_decline;

-- ---- bounds of another type ----
SELECT cut('SELECT date_trunc(''day'', local), count(*) FROM timed WHERE local >= ''2023-03-10 00:00Z''::timestamptz AND local < ''2023-06-12 12:00Z''::timestamptz GROUP BY 1', 100);

-- ---- casts that cannot fail ----
SELECT cut('SELECT count(*), sum(n) FROM timed WHERE price > 80.5::float8', 1);
SELECT cut('SELECT count(*), sum(n) FROM timed WHERE price < 3.3::float4', 1);
SELECT cut('SELECT count(*), sum(n) FROM timed WHERE price::bigint = 80', 1);
SELECT cut('SELECT count(*), sum(n) FROM timed WHERE round(price) >= 85', 1);
SELECT cut('SELECT count(*), sum(n) FROM timed WHERE n > 900.5::float8 AND n::float4 < 950', 1);
PREPARE dearer(float8) AS SELECT count(*) FROM timed WHERE price > $1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE dearer(85.05);
EXECUTE dearer(85.05);
DEALLOCATE dearer;
RESET plan_cache_mode;
SET iforest.explain_decline = on;
-- an integer of up to seven digits may be too large for two bytes
EXPLAIN (COSTS OFF) SELECT count(*) FROM timed WHERE price::smallint > 80;
RESET iforest.explain_decline;

-- ---- days and hours are added where clocks are put forward ----
CREATE TABLE night AS SELECT timestamptz '2024-03-09 07:00Z' + i * interval '1 second' AS ts FROM generate_series(0, 29999) i;
CREATE INDEX night_if ON night USING iforest (ts);
VACUUM ANALYZE night;
SELECT cut('SELECT date_bin(''40 min'', ts + interval ''1 day 3 hours'', ''2024-03-10 10:00Z''), count(*) FROM night GROUP BY 1', 30);
SELECT cut('SELECT date_bin(''40 min'', ts - interval ''-1 day -3 hours'', ''2024-03-10 10:00Z''), count(*) FROM night GROUP BY 1', 30);

-- ---- beside a covering B-tree: buckets of some rows are taken from the index, those of a row each are not ----
CREATE TABLE dense AS SELECT timestamptz '2024-03-01 00:00Z' + i * interval '1 second' AS ts, (ARRAY['api', 'db', 'web'])[1 + i % 3] AS service, i % 1000 AS n FROM generate_series(0, 99999) i;
CREATE INDEX dense_if ON dense USING iforest (service, ts) INCLUDE (n);
CREATE INDEX dense_ts ON dense (ts) INCLUDE (n);
VACUUM ANALYZE dense;
SELECT cut('SELECT date_bin(''9 s'', ts, ''2000-01-01 00:00Z''), count(*), max(n) FROM dense WHERE ts >= ''2024-03-01 04:00Z'' AND ts < ''2024-03-01 08:00Z'' GROUP BY 1', 4810);
SELECT cut('SELECT date_bin(''2 s'', ts, ''2000-01-01 00:00Z''), count(*), max(n) FROM dense WHERE ts >= ''2024-03-01 04:00Z'' AND ts < ''2024-03-01 08:00Z'' GROUP BY 1', 0);
-- ---- floating-point times, whose keys are no measure of how far apart they are ----
CREATE TABLE seconds AS SELECT (i - 2000) * 0.26::float8 AS ts, i % 1000 AS n FROM generate_series(0, 99999) i;
CREATE INDEX seconds_if ON seconds USING iforest (ts) INCLUDE (n);
VACUUM ANALYZE seconds;
SELECT cut('SELECT floor(ts / 1000), count(*), sum(n) FROM seconds GROUP BY 1', 40);
SELECT cut('SELECT floor(ts), count(*), sum(n) FROM seconds WHERE ts < 100 GROUP BY 1', 700);
SELECT cut('SELECT floor(ts / 50), count(*), sum(n) FROM seconds WHERE ts BETWEEN 20000 AND 20999 GROUP BY 1', 30);
DROP TABLE timed, night, dense, seconds;
DROP FUNCTION cut;
