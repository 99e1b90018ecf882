-- 300 000 spans behind all others, in transactions of 1000 rows. Each row goes to the end of a chain of pending pages; a chain that is long
-- enough is made into a run, and runs are merged, by this session or by a background worker.
DO $$
DECLARE
	last bigint := (SELECT max(ts) FROM spans);
BEGIN
	FOR batch IN 0 .. 299 LOOP
		INSERT INTO spans(ts, dur, track, depth, name)
		SELECT last + (batch * 1000 + i) * 1000, 900, 'worker ' || to_char(i % 32, 'FM00'), 0, 'late'
		FROM generate_series(1, 1000) AS i;
		COMMIT;
	END LOOP;
END $$;
