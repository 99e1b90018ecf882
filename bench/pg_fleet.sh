#!/bin/sh
# What a fleet gains: spans of 12 services over three shards, asked through postgres_fdw, from the shards' indexes and by their
# best plain plans (covering B-trees; parallel or not). The shards are databases of one server; each question is planned, too.
#
#     sh bench/pg_fleet.sh [ROWS]     1 500 000 a shard by default
set -eu
rows=${1:-${ROWS:-1500000}}
[ -e "${BUILD:-build}/pg/iforest.so" ] || { echo "pg_fleet: skipped, no ${BUILD:-build}/pg/iforest.so (make pg)"; exit 0; }
if [ -z "${IFOREST_FLEET:-}" ]; then
	echo "machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, $(uname -sr)"
	exec env IFOREST_FLEET=1 CLUSTER_SETTINGS='shared_buffers = 1GB
max_wal_size = 8GB
autovacuum = off' tests/pg/cluster.sh run sh "$0" "$rows"
fi

sql() { psql -X -q -v ON_ERROR_STOP=1 -d "$@"; }

columns='service text, ts timestamptz, dur bigint, name text'
sql postgres -c 'CREATE DATABASE front' -c 'SELECT version()' -A -t
sql front -c "CREATE EXTENSION postgres_fdw; CREATE TABLE spans($columns) PARTITION BY LIST (service)"
for shard in 1 2 3; do
	sql postgres -c "CREATE DATABASE shard_$shard"
	sql "shard_$shard" <<-END
		CREATE EXTENSION iforest;
		CREATE TABLE spans($columns);
		INSERT INTO spans SELECT 'service ' || $shard * 4 - i % 4, '2024-03-01 00:00 UTC'::timestamptz + i * (interval '30 days' / $rows) + (hashint8(i) & 1023) * interval '1 millisecond', hashint8(i + 99) & 131071, 'span'
			FROM generate_series(0, $rows - 1) i;
		CREATE INDEX spans_if ON spans USING iforest (service, ts) INCLUDE (dur) WITH (duration = 'dur');
		CREATE INDEX ON spans (service, ts) INCLUDE (dur);
		CREATE INDEX ON spans (ts) INCLUDE (service, dur);
		VACUUM ANALYZE spans;
	END
	sql front <<-END
		CREATE SERVER shard_$shard FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$PGHOST', dbname 'shard_$shard', use_remote_estimate 'true');
		CREATE USER MAPPING FOR CURRENT_USER SERVER shard_$shard OPTIONS (user '$PGUSER');
		CREATE FOREIGN TABLE spans_$shard PARTITION OF spans
			FOR VALUES IN ('service $((shard * 4))', 'service $((shard * 4 - 1))', 'service $((shard * 4 - 2))', 'service $((shard * 4 - 3))')
			SERVER shard_$shard OPTIONS (table_name 'spans', fetch_size '10000');
	END
done
sql front <<-'END'
	CREATE TABLE questions(number integer, title text, question text);
	INSERT INTO questions VALUES
		(1, 'count, sum, max by service, all of it', $$SELECT service, count(*), sum(dur), max(dur) FROM spans GROUP BY 1$$),
		(2, 'the same by hour, all of it', $$SELECT service, date_bin('1 hour', ts, '2000-01-01 00:00 UTC'), count(*), sum(dur), max(dur) FROM spans GROUP BY 1, 2$$),
		(3, 'the same by minute, a window of 1 %', $$SELECT service, date_bin('1 minute', ts, '2000-01-01 00:00 UTC'), count(*), sum(dur), max(dur) FROM spans
			WHERE ts >= '2024-03-10 00:00 UTC' AND ts < '2024-03-10 07:12 UTC' GROUP BY 1, 2$$),
		(4, 'by service, a window of 1 %', $$SELECT service, count(*), sum(dur), max(dur) FROM spans
			WHERE ts >= '2024-03-10 00:00 UTC' AND ts < '2024-03-10 07:12 UTC' GROUP BY 1$$),
		(5, 'one service by hour, all of it', $$SELECT service, date_bin('1 hour', ts, '2000-01-01 00:00 UTC'), count(*), sum(dur), max(dur) FROM spans WHERE service = 'service 5' GROUP BY 1, 2$$),
		(6, 'by hour, services added up above', $$SELECT bin, sum(n), sum(total), max(longest) FROM (SELECT service, date_bin('1 hour', ts, '2000-01-01 00:00 UTC') AS bin, count(*) AS n,
			sum(dur) AS total, max(dur) AS longest FROM spans GROUP BY 1, 2) of_shards GROUP BY bin$$),
		(7, 'the same without the service: rows are sent (1 %)', $$SELECT date_bin('1 hour', ts, '2000-01-01 00:00 UTC'), count(*), sum(dur), max(dur) FROM spans
			WHERE ts >= '2024-03-10 00:00 UTC' AND ts < '2024-03-10 07:12 UTC' GROUP BY 1$$);
	CREATE TABLE answers(by_index boolean, number integer, n_rows bigint, digest text, milliseconds float8);
	-- the median of several runs, and what came
	CREATE FUNCTION ask(by_index boolean, asked integer, question text, rounds integer) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		times float8[];
		started timestamptz;
		row record;
		digest text := '';
		n bigint;
	BEGIN
		FOR i IN 0..rounds LOOP
			started := clock_timestamp();
			n := 0;
			FOR row IN EXECUTE question LOOP
				n := n + 1;
			END LOOP;
			times := times || CASE WHEN i > 0 THEN extract(epoch FROM clock_timestamp() - started)::float8 * 1000 END;
		END LOOP;
		EXECUTE format('SELECT md5(string_agg(q::text, '','' ORDER BY q::text)) FROM (%s) q', question) INTO digest;
		INSERT INTO answers SELECT by_index, asked, n, digest, percentile_cont(0.5) WITHIN GROUP (ORDER BY t) FROM unnest(times) t;
	END $$;
END
ask() {
	for shard in 1 2 3; do sql postgres -c "ALTER DATABASE shard_$shard SET iforest.enable = $1"; done
	sql front -c 'SET enable_partitionwise_aggregate = on' \
		-c "SELECT ask($1, number, question, CASE WHEN $1 THEN 9 ELSE 3 END) FROM questions ORDER BY number" >/dev/null
}
ask true
ask false
echo "$rows rows on each of 3 shards, 4 services each; medians in milliseconds, planning included"
sql front -A -F ' | ' -P footer=off -c "SELECT title, n_rows AS rows, round(plain.milliseconds::numeric, 1) AS plain, round(mine.milliseconds::numeric, 1) AS iforest,
	round((plain.milliseconds / mine.milliseconds)::numeric, 1) AS ratio, CASE WHEN plain.digest = mine.digest THEN 'same' ELSE 'DIFFERENT' END AS answers
	FROM answers plain JOIN answers mine USING (number, n_rows) JOIN questions USING (number) WHERE mine.by_index AND NOT plain.by_index ORDER BY number"
echo "sizes of a shard: $(sql shard_1 -A -t -c "SELECT string_agg(indexrelid::regclass || ' ' || pg_size_pretty(pg_relation_size(indexrelid)), ', ' ORDER BY pg_relation_size(indexrelid)) FROM pg_index WHERE indrelid = 'spans'::regclass")"
