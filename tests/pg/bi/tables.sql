-- The tables of the queries beside this file; each loading makes the same rows, but for recent_spans. Times lie all over 2024 and thickly around
-- changes of the clock: in America (10 March, 3 November) and on Lord Howe Island (7 April, 6 October). Every fifth lies on a quarter of an
-- hour, some a microsecond before. By columns, times and values may be NULL; id is not. Reals are quarters: their sums are exact in any order.

CREATE FUNCTION spread(i bigint, salt bigint, n bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
	'SELECT ((i * 2654435761 + salt * 40503) % 4294967291 * 48271 % 2147483647) % n';

-- the i-th moment of :rows
CREATE FUNCTION moment(i bigint) RETURNS timestamptz LANGUAGE sql STABLE SET TimeZone = 'UTC' AS $$
	SELECT CASE WHEN i % 97 = 0 THEN NULL
		WHEN i % 5 = 0 THEN date_bin('15 minutes', at, '2024-01-01') - CASE WHEN i % 7 = 0 THEN interval '1 microsecond' ELSE '0' END
		ELSE at END
	FROM (SELECT CASE WHEN i <= :rows / 4 THEN '2024-01-01'::timestamptz + spread(i, 1, 366 * 24 * 3600) * interval '1 second'
			ELSE (ARRAY['2024-03-10 06:00', '2024-04-06 15:00', '2024-10-05 15:30', '2024-11-03 05:30'])[1 + i % 4]::timestamptz
				+ (spread(i, 2, 72 * 3600 * 1000) - 36 * 3600 * 1000) * interval '1 millisecond' END
		+ spread(i, 3, 1000) * interval '1 microsecond' AS at) AS moments
$$;

CREATE TABLE spans(id bigint NOT NULL, ts timestamptz, service text, status text, dur bigint, amount numeric(12, 2), x double precision, note text);
INSERT INTO spans
SELECT i, moment(i),
	(ARRAY['api', 'api', 'api', 'auth', 'auth', 'cart', 'female', 'Male', '', NULL])[1 + spread(i, 4, 10)],
	(ARRAY['ok', 'ok', 'ok', 'ok', 'error', 'timeout', NULL])[1 + spread(i, 5, 7)],
	CASE WHEN i % 19 <> 0 THEN spread(i, 6, 1000000) - 1000 END,
	CASE WHEN i % 23 <> 0 THEN (spread(i, 7, 2000000) - 500000) / 100.0 END,
	CASE WHEN i % 29 <> 0 THEN (spread(i, 8, 40000) - 10000) / 4.0 END,
	'note ' || i % 10
FROM generate_series(1, :rows) AS i;

CREATE TABLE local_spans(LIKE spans INCLUDING ALL);
ALTER TABLE local_spans ALTER ts TYPE timestamp;
INSERT INTO local_spans SELECT id, ts AT TIME ZONE 'UTC', service, status, dur, amount, x, note FROM spans;

-- nanoseconds of the Unix epoch, many of them just before or at a second; and some around 0
CREATE TABLE ns_spans(LIKE spans INCLUDING ALL);
ALTER TABLE ns_spans DROP ts, ADD ts_ns bigint;
INSERT INTO ns_spans
SELECT id, service, status, dur, amount, x, note,
	CASE WHEN id % 16 = 3 THEN (spread(id, 9, 7200000) - 3600000) * 1000000
		WHEN id % 16 = 4 THEN (extract(epoch FROM date_trunc('minute', ts)) * 1000000000)::bigint - (ARRAY[0, 1, 100, 300, 500])[1 + id % 5]
		ELSE (extract(epoch FROM ts) * 1000000000)::bigint + spread(id, 10, 1000) END
FROM spans;

CREATE TABLE parted_spans(LIKE spans INCLUDING ALL) PARTITION BY RANGE (ts);
ALTER TABLE parted_spans ALTER ts SET NOT NULL;
CREATE TABLE parted_spans_other PARTITION OF parted_spans DEFAULT;
DO $$ BEGIN
	SET LOCAL TimeZone = 'UTC';
	FOR month IN 2 .. 11 LOOP
		EXECUTE format('CREATE TABLE parted_spans_%s PARTITION OF parted_spans FOR VALUES FROM (%L) TO (%L) %s', month,
			make_timestamptz(2024, month, 1, 0, 0, 0), make_timestamptz(2024, month + 1, 1, 0, 0, 0),
			CASE WHEN month = 3 THEN 'PARTITION BY RANGE (ts)' END);
	END LOOP;
	CREATE TABLE parted_spans_3_other PARTITION OF parted_spans_3 DEFAULT;
	FOR day IN 8 .. 12 LOOP
		EXECUTE format('CREATE TABLE parted_spans_3_%s PARTITION OF parted_spans_3 FOR VALUES FROM (%L) TO (%L)', day,
			make_timestamptz(2024, 3, day, 0, 0, 0), make_timestamptz(2024, 3, day + 1, 0, 0, 0));
	END LOOP;
END $$;
INSERT INTO parted_spans SELECT * FROM spans WHERE ts IS NOT NULL;

-- dimensions: what more is known of services and statuses; some have none, and some several tags
CREATE TABLE owners(service text PRIMARY KEY, team text, region text, weight int NOT NULL);
INSERT INTO owners VALUES ('api', 'front', 'eu', 1), ('auth', 'front', NULL, 2), ('cart', 'back', 'eu', 3), ('male', NULL, 'us', 4), ('', 'back', 'us', 5), ('nobody', 'none', 'us', 0);
CREATE TABLE states(status text, label text);
INSERT INTO states VALUES ('ok', 'good'), ('error', 'bad'), ('timeout', 'bad');
CREATE TABLE regions(region text UNIQUE, continent text);
INSERT INTO regions VALUES ('eu', 'Europe'), ('us', 'America');
CREATE TABLE tags(service text, tag text);
INSERT INTO tags VALUES ('api', 'edge'), ('api', 'public'), ('cart', 'shop'), ('cart', 'public'), ('cart', 'public'), (NULL, 'none');

-- the last 40 days and the next, as seen from now
CREATE TABLE recent_spans(LIKE spans INCLUDING ALL);
INSERT INTO recent_spans
SELECT id, now() + interval '1 day' - CASE WHEN id % 2 = 0 THEN spread(id, 11, 41 * 24 * 3600) ELSE spread(id, 11, 100000) END * interval '1 second',
	service, status, dur, amount, x, note FROM spans;

-- of few depths and codes, which the indexes have as values
CREATE TABLE deep_spans(LIKE spans INCLUDING ALL);
ALTER TABLE deep_spans ADD depth int, ADD code smallint;
INSERT INTO deep_spans SELECT id, ts, service, status, dur, amount, x, note, CASE WHEN id % 31 <> 0 THEN spread(id, 12, 8) END, (ARRAY[200, 200, 204, 404, 500, NULL])[1 + spread(id, 13, 6)] FROM spans;

-- times at the ends of their type
CREATE TABLE odd_spans(LIKE spans INCLUDING ALL);
INSERT INTO odd_spans
SELECT id, (ARRAY['infinity', '-infinity', '4713-01-01 00:00 BC', '0001-01-01 00:00 BC', '1883-11-18 17:00', '1969-12-31 23:59:59.999999',
		'294276-12-31 00:00', '1582-10-15'])[1 + id % 8]::timestamptz + CASE WHEN id % 8 >= 2 THEN id % 1000 ELSE 0 END * interval '1 minute',
	service, status, dur, amount, x, note FROM spans WHERE id <= :rows / 6;

-- what sites have beside their tables
CREATE FUNCTION time_bucket(width interval, ts timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS
	$$ SELECT date_bin(width, ts, '2000-01-03 00:00:00+00') $$;
CREATE VIEW spans_by_hour AS SELECT id, ts, date_trunc('hour', ts) AS ts_hour, service, status, dur, amount, x FROM spans;

-- ids that the planner knows to differ
CREATE UNIQUE INDEX spans_id ON spans (id);
CREATE UNIQUE INDEX local_spans_id ON local_spans (id);

-- sums of squares are kept of what they can be kept of, but for recent_spans and odd_spans; bounds of spans and parted_spans
CREATE INDEX spans_if ON spans USING iforest (service, status, ts) INCLUDE (dur, amount, x) WITH (variance = 'dur, amount', histogram = 'dur(99999, 499999, 900000)');
CREATE INDEX spans_time_if ON spans USING iforest (ts) INCLUDE (dur, amount, x) WITH (variance = 'dur, amount', histogram = 'dur(99999, 499999, 900000)');
CREATE INDEX local_spans_if ON local_spans USING iforest (service, status, ts) INCLUDE (dur, amount, x) WITH (variance = 'dur, amount');
CREATE INDEX local_spans_time_if ON local_spans USING iforest (ts) INCLUDE (dur, amount, x) WITH (variance = 'dur, amount');
CREATE INDEX ns_spans_if ON ns_spans USING iforest (service, status, ts_ns) INCLUDE (dur, amount, x) WITH (variance = 'dur, amount');
CREATE INDEX ns_spans_time_if ON ns_spans USING iforest (ts_ns) INCLUDE (dur, amount, x) WITH (variance = 'dur, amount');
CREATE INDEX parted_spans_if ON parted_spans USING iforest (service, status, ts) INCLUDE (dur, amount, x) WITH (variance = 'dur, amount', histogram = 'dur(99999, 499999, 900000)');
CREATE INDEX parted_spans_time_if ON parted_spans USING iforest (ts) INCLUDE (dur, amount, x) WITH (variance = 'dur, amount', histogram = 'dur(99999, 499999, 900000)');
CREATE INDEX recent_spans_if ON recent_spans USING iforest (service, status, ts) INCLUDE (dur, amount, x);
CREATE INDEX recent_spans_time_if ON recent_spans USING iforest (ts) INCLUDE (dur, amount, x);
CREATE INDEX deep_spans_if ON deep_spans USING iforest (service, ts) INCLUDE (dur, amount, x, depth, code);
CREATE INDEX deep_spans_time_if ON deep_spans USING iforest (ts) INCLUDE (dur, amount, x, depth, code);
CREATE INDEX odd_spans_if ON odd_spans USING iforest (service, status, ts) INCLUDE (dur, amount, x);
