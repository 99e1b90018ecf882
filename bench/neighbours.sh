#!/bin/sh
# Spans in tables of four kinds, each in a PostgreSQL server of its own: with an index of this extension, with covering B-trees, as a compressed
# hypertable of TimescaleDB with a continuous aggregate, and as a columnar table of Citus. Bytes, time to load, and questions; answers are compared.
#
#     PG_CONFIG=... sh bench/neighbours.sh [ROWS]        3 000 000 by default
#
# A kind whose extension the server of PG_CONFIG does not have is skipped, and said so. All are loaded by COPY of one file in the order of time, indexes before; then
# chunks are compressed and the aggregate refreshed, and all is vacuumed. Medians of ROUNDS (5), after a first one, in milliseconds; parallel plans as the server has them. KINDS="iforest columnar"
# leaves others out.
set -eu
export LC_ALL=C TZ=UTC
build=${BUILD:-build}
rows=${ROWS:-3000000}
origin="'2024-03-01 00:00 UTC'::timestamptz"

ask() { psql -X -q -A -t -F '|' -v ON_ERROR_STOP=1 "$@"; }

# one file of spans of 24 services over four days, every fiftieth without a duration
rows_are_made() {
	ask -c "COPY (SELECT i, 'service ' || i % 24, $origin + (i * 345600000 / $rows) * interval '1 millisecond', CASE WHEN i % 50 > 0 THEN (hashint8(i) & 131071)::bigint END, 'span ' || i % 7
		FROM generate_series(0::bigint, $rows - 1) i) TO STDOUT" >"$folder/rows"
}

# title|query|the same of the continuous aggregate, if minutes can answer it
questions() {
	hour="date_bin('1 hour', ts, $origin)" minutes="date_bin('3 minutes', ts, $origin)" sums='count(*), sum(dur), max(dur)' of_sums='sum(n)::bigint, sum(total), max(longest)'
	window="ts >= $origin + interval '30 hours' AND ts < $origin + interval '34 hours'"
	odd="ts >= $origin + interval '30:00:12.3' AND ts < $origin + interval '34:00:12.3'"
	short="ts >= $origin + interval '31 hours' AND ts < $origin + interval '31:10'"
	while IFS='|' read -r title keys where groups; do
		echo "$title|SELECT $keys$sums FROM spans WHERE $where $groups|SELECT $keys$of_sums FROM minutes WHERE $where $groups"
	done <<-END
		whole table||true|
		by service|service, |true|GROUP BY 1 ORDER BY 1
		by hour|$hour, |true|GROUP BY 1 ORDER BY 1
		by service and hour|service, $hour, |true|GROUP BY 1, 2 ORDER BY 1, 2
		1920 buckets of four days|$minutes, |true|GROUP BY 1 ORDER BY 1
		one service by hour|$hour, |service = 'service 5'|GROUP BY 1 ORDER BY 1
		a window of 4 hours||$window|
		10 minutes by service|service, |$short|GROUP BY 1 ORDER BY 1
	END
	echo "a window of 4 hours, not of whole minutes|SELECT $sums FROM spans WHERE $odd|"
	echo "1920 buckets of 4 hours|SELECT date_bin('7.5 seconds', ts, $origin), $sums FROM spans WHERE $window GROUP BY 1 ORDER BY 1|"
	echo "the last row of a service|SELECT id, ts, dur FROM spans WHERE service = 'service 7' ORDER BY ts DESC LIMIT 1|"
	echo "the ten longest|SELECT id, dur FROM spans WHERE dur IS NOT NULL ORDER BY dur DESC, id LIMIT 10|"
}

# Prints title|ms|digest of a question.
measure() {
	digest=$(ask -c "$2" | md5sum | cut -c1-12)
	i=0
	while [ $i -le "${ROUNDS:-5}" ]; do echo "$2;"; i=$((i + 1)); done >"$folder/script"
	median=$(ask -c '\timing on' -c '\o /dev/null' -f "$folder/script" | sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' | sed 1d | sort -g | sed -n "$(((${ROUNDS:-5} + 1) / 2))p")
	echo "$1|$median|$digest"
}

elapsed() { echo "$1|$(awk "BEGIN { printf \"%.1f\", ($(date +%s.%N) - $2) }")"; }

# Makes and loads the table of a kind, and asks.
ask_kind() {
	kind=$1 using='' minutes=''
	case $kind in
	columnar) ask -c 'CREATE EXTENSION citus_columnar'; using='USING columnar' ;;
	timescaledb) ask -c 'CREATE EXTENSION timescaledb' 2>/dev/null; minutes=yes ;;
	iforest) ask -c 'CREATE EXTENSION iforest' ;;
	esac
	ask -c "CREATE TABLE spans(id bigint, service text, ts timestamptz NOT NULL, dur bigint, name text) $using"
	case $kind in
	iforest) ask -c "CREATE INDEX ON spans USING iforest (service, ts) INCLUDE (dur) WITH (duration = 'dur')" ;;
	btrees) ask -c 'CREATE INDEX ON spans (service, ts) INCLUDE (dur); CREATE INDEX ON spans (ts) INCLUDE (service, dur)' ;;
	timescaledb)
		ask -c "SELECT create_hypertable('spans', 'ts', chunk_time_interval => interval '1 day')" >/dev/null
		ask -c "ALTER TABLE spans SET (timescaledb.compress, timescaledb.compress_segmentby = 'service', timescaledb.compress_orderby = 'ts')" 2>/dev/null
		;;
	esac
	{
		began=$(date +%s.%N)
		ask -c "\\copy spans FROM '$folder/rows'"
		elapsed 'loaded, s' "$began"
		if [ "$kind" = timescaledb ]; then
			began=$(date +%s.%N)
			ask -c "SELECT compress_chunk(c) FROM show_chunks('spans') c" >/dev/null
			elapsed 'compressed, s' "$began"
			began=$(date +%s.%N)
			ask -c "CREATE MATERIALIZED VIEW minutes WITH (timescaledb.continuous, timescaledb.materialized_only = true) AS
				SELECT service, time_bucket('1 minute', ts) AS ts, count(*) AS n, sum(dur) AS total, max(dur) AS longest FROM spans GROUP BY 1, 2 WITH NO DATA" 2>/dev/null
			ask -c "CALL refresh_continuous_aggregate('minutes', NULL, NULL)"
			elapsed 'continuous aggregate, s' "$began"
		fi
		began=$(date +%s.%N)
		ask -c 'VACUUM ANALYZE'
		elapsed 'VACUUM ANALYZE, s' "$began"
		if [ "$kind" = timescaledb ]; then
			ask -c "SELECT 'table, MB', round(hypertable_size('spans') / 1e6, 1); SELECT 'continuous aggregate, MB', round(hypertable_size(format('%I.%I', materialization_hypertable_schema, materialization_hypertable_name)) / 1e6, 1)
				FROM timescaledb_information.continuous_aggregates"
		else
			ask -c "SELECT 'table, MB', round(pg_table_size('spans') / 1e6, 1); SELECT 'indexes, MB', round(pg_indexes_size('spans') / 1e6, 1)"
		fi
	} >"$folder/$kind.facts"
	# TimescaleDB has a function of its own for buckets, which its plans know better
	own=''
	[ "$kind" != timescaledb ] || own="s/date_bin(\('[^']*'\), ts, [^)]*)/time_bucket(\1, ts)/g"
	questions | sed "$own" | while IFS='|' read -r title query of_minutes; do
		measure "$title" "$query" >>"$folder/$kind.times"
		[ -z "$minutes" ] || [ -z "$of_minutes" ] || measure "$title" "$of_minutes" >>"$folder/minutes.times"
	done
}

if [ "${1:-}" = inside ]; then
	folder=$2
	if [ "$3" = rows ]; then rows_are_made; else ask_kind "$3"; fi
	exit
fi

rows=${1:-$rows}
export ROWS="$rows"
[ -e "$build/pg/iforest.so" ] || { echo "neighbours: skipped, no $build/pg/iforest.so (make pg)"; exit 0; }
folder=$(mktemp -d "${TMPDIR:-/tmp}/iforest-neighbours.XXXXXX")
chmod 755 "$folder"
trap 'rm -rf "$folder"' EXIT INT TERM
echo "machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, $(uname -sr); $("${PG_CONFIG:-pg_config}" --version); $rows rows"
kinds=''
for kind in rows ${KINDS:-iforest btrees timescaledb columnar}; do
	case $kind in timescaledb) library=timescaledb ;; columnar) library=citus_columnar ;; *) library='' ;; esac
	if [ -n "$library" ] && [ ! -e "$("${PG_CONFIG:-pg_config}" --pkglibdir)/$library.so" ]; then
		echo "$kind: skipped, there is no $library.so in $("${PG_CONFIG:-pg_config}" --pkglibdir)"
		continue
	fi
	[ "$kind" = rows ] || kinds="$kinds $kind"
	[ -z "$library" ] || echo "$kind: $library $(sed -n "s/^default_version *= *'\(.*\)'/\1/p" "$("${PG_CONFIG:-pg_config}" --sharedir)/extension/$library.control")"
	CLUSTER_SETTINGS="shared_buffers = 2GB
max_wal_size = 8GB
autovacuum = off
timescaledb.telemetry_level = off
shared_preload_libraries = '$library'" tests/pg/cluster.sh run sh bench/neighbours.sh inside "$folder" $kind
done
for kind in $kinds; do echo "$kind: $(paste -sd, "$folder/$kind.facts" | sed 's/|/ /g; s/,\([^ ]\)/; \1/g')"; done
[ ! -e "$folder/minutes.times" ] || kinds="$kinds minutes"
# a question's line: a time of each kind, "-" where it is not asked, and whether all answers are those of the first
for kind in $kinds; do sed "s/^/$kind|/" "$folder/$kind.times"; done | awk -F '|' -v kinds="${kinds# }" '
	BEGIN { n = split(kinds, of, " "); printf "%-42s", "ms"; for (i = 1; i <= n; i++) printf " %12s", of[i]; print "" }
	$1 == of[1] { titles[++n_titles] = $2; digest[$2] = $4 }
	{ time[$1, $2] = $3; if ($4 != digest[$2]) differs[$2] = 1 }
	END { for (t = 1; t <= n_titles; t++) { printf "%-42s", titles[t]; for (i = 1; i <= n; i++) printf " %12s", (of[i], titles[t]) in time ? time[of[i], titles[t]] : "-"; print titles[t] in differs ? "  DIFFERENT" : "  same" } }'
