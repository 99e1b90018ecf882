-- The functions that look into an index, what they say, and who may ask.
CREATE TABLE seen(who text, ts timestamptz, dur integer, w float8);
INSERT INTO seen SELECT CASE WHEN i % 50 > 0 THEN 'series ' || i % 3 END, CASE WHEN i % 10 > 0 THEN to_timestamp(i) END, CASE WHEN i % 7 > 0 THEN i END, i / 2.0
FROM generate_series(1, 3000) i;
CREATE INDEX seen_if ON seen USING iforest (who, ts) INCLUDE (dur, w) WITH (duration = 'dur', background_merge = off);
INSERT INTO seen VALUES ('series 0', '2000-01-01 00:00:00+00', 5, 2.5), (NULL, NULL, NULL, NULL);

SELECT format_version, value_columns, runs, levels >= 1 AS levels, leaf_pages > 1 AS leaf_pages, node_pages >= 1 AS node_pages, entries, removed, pending_entries,
	pending_pages >= 1 AS pending_pages, series, total_pages * current_setting('block_size')::integer = pg_relation_size('seen_if') AS total_pages,
	bytes_per_entry BETWEEN 4 AND 60 AS bytes_per_entry, removal_epoch
FROM iforest_stats('seen_if');
SELECT sum(r.leaf_pages) = max(s.leaf_pages) AS leaf_pages, sum(r.node_pages) = max(s.node_pages) AS node_pages, sum(r.entries) = max(s.entries) AS entries,
	sum(r.removed) = max(s.removed) AS removed, count(*) = max(s.runs) AS runs, count(DISTINCT run_id) = count(*) AS run_ids, max(r.levels) = max(s.levels) AS levels,
	bool_or(removal_in_progress) AS removing, min(first_block) AS first_block, max(last_block) = (SELECT max((ctid::text::point)[0]) FROM seen WHERE w <> 2.5) AS last_block
FROM iforest_runs('seen_if') r, iforest_stats('seen_if') s;

-- Page by page: each block has a kind; the leaves of the runs and the pending pages hold every row of the table, once. (A freed page keeps its kind.)
CREATE VIEW pages AS SELECT block, page.* FROM generate_series(0, (SELECT total_pages - 1 FROM iforest_stats('seen_if'))) block, iforest_page('seen_if', block) page;
SELECT count(*) = count(kind) AS each_has_a_kind, count(*) FILTER (WHERE block = 0) AS first, count(DISTINCT kind) >= 4 AS kinds FROM pages;
SELECT (SELECT count(*) FROM pages WHERE kind = 'run' AND level = 0) = leaf_pages AS leaves, (SELECT count(*) FROM pages WHERE kind = 'run' AND level > 0) = node_pages AS nodes,
	(SELECT count(*) FROM pages WHERE kind = 'pending') = pending_pages AS pending,
	(SELECT sum(p.entries) FROM pages p WHERE kind = 'run' AND level = 0) = entries AS entries
FROM iforest_stats('seen_if');
CREATE VIEW entries AS SELECT block, kind, entry.* FROM pages, iforest_entries('seen_if', block) entry WHERE kind = 'pending' AND (SELECT pending_pages > 0 FROM iforest_stats('seen_if')) OR kind = 'run' AND level = 0 AND owner IN (SELECT born FROM iforest_runs('seen_if'));
SELECT count(*), count(DISTINCT tid), count(*) FILTER (WHERE ts_key IS NULL) AS timeless, bool_or(is_removed) AS removed, count(DISTINCT series) AS series FROM entries;
SELECT count(*) AS wrong FROM (SELECT ctid AS tid, * FROM seen) r FULL JOIN entries e USING (tid)
WHERE r.tid IS NULL OR e.tid IS NULL OR ts IS DISTINCT FROM timestamptz '2000-01-01 00:00:00+00' + e.ts_key * interval '1 us' OR value_keys[1] IS DISTINCT FROM dur;
SELECT count(*) AS series_of_several FROM (SELECT series FROM entries e JOIN seen r ON r.ctid = e.tid GROUP BY series HAVING count(DISTINCT coalesce(who, '')) > 1) s;
DELETE FROM seen WHERE dur = 8;
VACUUM (INDEX_CLEANUP on) seen;
SELECT count(*) FILTER (WHERE is_removed) = (SELECT removed FROM iforest_stats('seen_if')) AS removed, count(*) FILTER (WHERE NOT is_removed) = (SELECT count(*) FROM seen) AS left
FROM entries;

-- What they refuse.
CREATE INDEX seen_btree ON seen(ts);
CREATE FUNCTION refusals() RETURNS TABLE(statement text, answer text) LANGUAGE sql AS $$
	SELECT statement, refusal(statement) FROM unnest(ARRAY[
		'SELECT iforest_merge(''seen_btree'')', 'SELECT iforest_check(''seen_btree'')', 'SELECT * FROM iforest_stats(''seen_btree'')',
		'SELECT * FROM iforest_runs(''seen_btree'')', 'SELECT * FROM iforest_page(''seen_btree'', 0)', 'SELECT * FROM iforest_entries(''seen_btree'', 1)',
		'SELECT iforest_merge(''seen'')', 'SELECT * FROM iforest_stats(''seen'')', 'SELECT * FROM iforest_stats(''pg_class'')',
		'SELECT * FROM iforest_stats(''no_such'')', 'SELECT * FROM iforest_stats(0)',
		'SELECT * FROM iforest_page(''seen_if'', -1)', 'SELECT * FROM iforest_page(''seen_if'', 4294967295)', 'SELECT * FROM iforest_page(''seen_if'', 100000)',
		'SELECT * FROM iforest_page(''seen_if'', 9223372036854775807)', 'SELECT * FROM iforest_entries(''seen_if'', 0)']) statement
$$;
SELECT * FROM refusals();
SELECT iforest_stats(NULL) IS NULL AS stats, iforest_merge(NULL) IS NULL AS merge, (SELECT count(*) FROM iforest_runs(NULL)) AS runs;

-- Who may ask: monitoring roles for figures, the owner for a merge, superusers for bytes and checks, and to whom they grant it.
CREATE ROLE iforest_reader;
CREATE ROLE iforest_owner;
CREATE ROLE iforest_monitor IN ROLE pg_stat_scan_tables;
GRANT SELECT ON seen TO iforest_reader, iforest_monitor;
CREATE FUNCTION verdicts() RETURNS TABLE(statement text, verdict text) LANGUAGE sql AS $$
	SELECT statement, left(refusal(statement), 30) FROM unnest(ARRAY[
		'SELECT * FROM seen WHERE ts = now() OR who = ''series 1''', 'SELECT iforest_stats(''seen_if'')', 'SELECT iforest_runs(''seen_if'')',
		'SELECT iforest_merge(''seen_if'')', 'SELECT iforest_check(''seen_if'')', 'SELECT iforest_page(''seen_if'', 0)', 'SELECT iforest_entries(''seen_if'', 1)']) statement
$$;
SET ROLE iforest_reader;
SELECT * FROM verdicts();
RESET ROLE;
SET ROLE iforest_monitor;
SELECT * FROM verdicts();
RESET ROLE;
ALTER TABLE seen OWNER TO iforest_owner;
SET ROLE iforest_owner;
SELECT * FROM verdicts();
RESET ROLE;
GRANT EXECUTE ON FUNCTION iforest_check TO iforest_owner;
SET ROLE iforest_owner;
SELECT refusal('SELECT iforest_check(''seen_if'')');
RESET ROLE;
BEGIN READ ONLY;
SELECT count(*) FROM iforest_stats('seen_if');
SELECT iforest_check('seen_if');
SELECT iforest_merge('seen_if') >= 1 AS merged;
ROLLBACK;
DROP TABLE seen CASCADE;
REVOKE EXECUTE ON FUNCTION iforest_check FROM iforest_owner;
DROP ROLE iforest_reader, iforest_monitor, iforest_owner;
DROP FUNCTION refusals, verdicts;

-- Whatever the search_path says, an index works with its own operators.
CREATE SCHEMA hostile;
CREATE FUNCTION hostile.int4eq(integer, integer) RETURNS boolean LANGUAGE sql AS 'SELECT 1 / 0 = 1';
CREATE OPERATOR hostile.= (FUNCTION = hostile.int4eq, LEFTARG = integer, RIGHTARG = integer);
CREATE TABLE hostile.t(who integer, ts integer);
CREATE INDEX t_if ON hostile.t USING iforest (who, ts);
SET search_path = hostile, pg_catalog, public;
INSERT INTO t SELECT i % 3, i FROM generate_series(1, 1000) i;
SELECT public.iforest_merge('hostile.t_if', true);
SELECT public.iforest_check('hostile.t_if', true);
RESET search_path;
SELECT question, a.* FROM (VALUES ('SELECT * FROM hostile.t WHERE who = 1 AND ts < 10')) v(question), answers(question) a;
DROP SCHEMA hostile CASCADE;
