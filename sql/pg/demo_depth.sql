-- Adds to the table spans, as trace2pg makes it, the column depth: how many spans of the same track are open when one starts.
-- docs/traces.md has the rule.

CREATE FUNCTION pg_temp.depths() RETURNS TABLE(id bigint, depth integer) LANGUAGE plpgsql AS $$
DECLARE
	span record;
	track text;
	ends bigint[];
BEGIN
	depth := 0;
	FOR span IN SELECT s.id, s.track, s.ts, s.dur FROM spans s ORDER BY s.track, s.ts, s.dur DESC, s.id LOOP
		IF span.track IS DISTINCT FROM track THEN
			track := span.track;
			depth := 0;
		END IF;
		WHILE depth > 0 AND ends[depth] <= span.ts LOOP
			depth := depth - 1;
		END LOOP;
		id := span.id;
		RETURN NEXT;
		depth := depth + 1;
		ends[depth] := span.ts + span.dur;
	END LOOP;
END $$;

ALTER TABLE spans ADD depth integer;
UPDATE spans SET depth = d.depth FROM pg_temp.depths() d WHERE d.id = spans.id;
VACUUM (FULL) spans;
VACUUM (ANALYZE) spans;    -- FULL alone leaves no page marked as all-visible
