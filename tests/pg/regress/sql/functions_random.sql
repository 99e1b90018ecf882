-- Random questions of the functions of an index and of aggregates of a row, over rows that come and go: from the index the same as
-- by scanning. A difference is shown with its question; another seed: SELECT setseed(...).
SET client_min_messages = warning;
SELECT setseed(0.25);
CREATE TABLE fr(track integer, ts bigint, dur integer, r float8);
CREATE INDEX fr_if ON fr USING iforest (track, ts) INCLUDE (dur, r) WITH (duration = 'dur', pending_pages = 2);
CREATE INDEX fr_all ON fr USING iforest (ts) INCLUDE (dur, r) WITH (duration = 'dur', pending_pages = 2);
SELECT cardinality(iforest_create_functions('fr_if')), cardinality(iforest_create_functions('fr_all'));

-- Reals are eighths, whose sums are the same in any order. Now and then times reach to the ends of bigint.
CREATE FUNCTION fr_change(reach bigint) RETURNS void LANGUAGE sql AS $$
	DELETE FROM fr WHERE random() < 0.1;
	INSERT INTO fr SELECT CASE WHEN random() > 0.05 THEN (random() * 3)::integer END,
		CASE WHEN random() < 0.03 THEN NULL WHEN random() < 0.01 THEN 9223372036854775807 WHEN random() < 0.01 THEN -9223372036854775808
			ELSE ((random() - 0.3) * reach)::bigint END,
		CASE WHEN random() > 0.1 THEN (random() * 50 - 5)::integer END,
		CASE WHEN random() < 0.1 THEN NULL WHEN random() < 0.05 THEN 'NaN' WHEN random() < 0.03 THEN 'infinity' ELSE floor(random() * 80) / 8 END
	FROM generate_series(1, (random() * 400)::integer) $$;
CREATE FUNCTION fr_time(reach bigint) RETURNS bigint LANGUAGE sql AS $$ SELECT ((random() - 0.4) * reach)::bigint $$;
CREATE FUNCTION fr_question(reach bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	t0 bigint := fr_time(reach);
	t1 bigint := fr_time(reach);
	step bigint := 1 + reach / 20 + (random() * reach / 20)::bigint;
	fill text := (ARRAY[', fill => ''zero''', ', fill => ''last''', ', fill => ''linear''', '', '', ''])[1 + floor(random() * 6)];
BEGIN
	IF random() < 0.3 THEN
		RETURN format('SELECT track, ts / %s, iforest_first(dur, ts, ctid), iforest_last(dur, ts, ctid), iforest_first(r, ts, ctid), iforest_last(r, ts, ctid),
			iforest_max_row(r, ts, ctid), iforest_min_row(r, ts, ctid), iforest_max_row(dur, ts, ctid), count(*), max(r)
			FROM fr WHERE dur BETWEEN %s AND %s %s GROUP BY 1, 2', 1 + reach / 10, (random() * 30)::integer, 20 + (random() * 30)::integer,
			CASE WHEN random() < 0.5 THEN format('AND ts > %s', t0) ELSE '' END);
	END IF;
	RETURN format('SELECT * FROM %s(%s)', (ARRAY['fr_if', 'fr_all'])[1 + floor(random() * 2)], (ARRAY['', format('%s, %s%s', t0, t1, fill),
		format('%s, %s, %s%s', t0, t1, 1 + (random() * random() * 40)::bigint, fill),
		format('%s, %s, step => %s, origin => %s%s', t0, t1, step, fr_time(reach), fill),
		format('t0 => %s%s', t0, fill), format('t1 => %s%s', t1, fill), format('t1 => %s, step => %s', t1, step)])[1 + floor(random() * 7)]);
END $$;
CREATE FUNCTION fr_answer(question text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE format('SELECT string_agg(x::text, chr(10) ORDER BY x::text) FROM (%s) x', question) INTO answer;
	RETURN answer;
END $$;
CREATE PROCEDURE fr_ask(rounds integer, INOUT from_index integer DEFAULT 0, INOUT different text DEFAULT '') LANGUAGE plpgsql AS $$
DECLARE
	question text;
	answer text;
	line text;
	reach bigint;
BEGIN
	FOR round IN 0 .. rounds - 1 LOOP
		IF round % 20 = 0 THEN
			reach := (ARRAY[300, 100000, 9000000000000000000])[1 + round / 20 % 3];
			PERFORM fr_change(reach);
			COMMIT;
		END IF;
		question := fr_question(reach);
		SET LOCAL cpu_tuple_cost = 1000;
		SET LOCAL iforest.enable = on;
		FOR line IN EXECUTE 'EXPLAIN ' || question LOOP
			from_index := from_index + (line ~ 'IForestAggregate')::integer;
		END LOOP;
		answer := fr_answer(question);
		SET LOCAL iforest.enable = off;
		IF answer IS DISTINCT FROM fr_answer(question) THEN
			different := different || question || E';\n';
		END IF;
	END LOOP;
	from_index := (from_index > rounds / 2)::integer;
END $$;
CALL fr_ask(160);
SELECT count(*) > 500 AS rows FROM fr;
DROP TABLE fr;
DROP PROCEDURE fr_ask;
DROP FUNCTION fr_answer, fr_question, fr_time, fr_change;
