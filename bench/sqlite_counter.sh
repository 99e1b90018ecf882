#!/bin/sh
# Mean over time, increase and resets of a counter in SQLite: an index that keeps pieces of counters (counter=...) beside one that keeps
# none and reads every sample; the same answers, windows of a million samples and buckets of them. ROWS=100000 for a shorter run.
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
ROWS=${ROWS:-1000000}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM
test -f "$BUILD/iforest.so" || make -s "$BUILD/iforest.so"
shell() { sqlite3 -batch -cmd ".load $BUILD/iforest.so" "$folder/counter.db" "$@"; }

shell >/dev/null <<SQL
PRAGMA cache_size = -200000;
CREATE TABLE samples(id INTEGER PRIMARY KEY, ts INTEGER, v INTEGER);
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < $ROWS)
  INSERT INTO samples SELECT x, x * 1000 + abs(random() % 1000), x % 5000 * 100 + abs(random() % 100) FROM n;
CREATE VIRTUAL TABLE plain_if USING iforest(content=samples, time=ts, value=v);
CREATE VIRTUAL TABLE kept_if USING iforest(content=samples, time=ts, value=v, counter=v);
CREATE VIRTUAL TABLE plain USING iforest_counter(plain_if);
CREATE VIRTUAL TABLE kept USING iforest_counter(kept_if);
SQL

# What a question gives, all of it, and the milliseconds of CPU time for each of its repetitions. $1 table, $2 repetitions, $3 buckets
ask() {
	shell <<SQL | tee "$folder/answers.$1" >/dev/null
PRAGMA cache_size = -200000;
SELECT count(*) FROM $1(0, $ROWS * 1001);
WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 3)
  SELECT sum(increase_v), sum(resets_v), round(sum(twa_v), 3) FROM r CROSS JOIN $1 AS c WHERE c.t0 = i * 12345 AND c.t1 = $ROWS * 1000 - i * 23456 AND c.n = $3;
SQL
	shell <<SQL | awk -v n="$2" '/Run Time/ { cpu = $6 + $8 } END { printf "%.4f\n", cpu * 1000 / n }'
PRAGMA cache_size = -200000;
SELECT count(twa_v) FROM $1(0, $ROWS * 1001);
.timer on
WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < $2)
  SELECT sum(increase_v), sum(resets_v), sum(twa_v) FROM r CROSS JOIN $1 AS c WHERE c.t0 = i * 12345 AND c.t1 = $ROWS * 1000 - i * 23456 AND c.n = $3;
SQL
}

uname -sm
shell "SELECT 'SQLite ' || sqlite_version() || ', $ROWS samples'"
shell "SELECT printf('%.2f bytes a sample in pages, %.3f in pieces', (SELECT sum(length(bytes)) FROM kept_if_page) * 1.0 / $ROWS,
  (SELECT sum(length(bytes)) FROM kept_if_piece) * 1.0 / $ROWS)"
printf '%-14s %16s %16s %10s\n' 'a window in' 'samples, ms CPU' 'pieces, ms CPU' ''
for buckets in 1 10 100 1000; do
	plain=$(ask plain 10 $buckets)
	kept=$(ask kept $((buckets < 100 ? 500 / buckets : 10)) $buckets)
	cmp -s "$folder/answers.plain" "$folder/answers.kept" || { echo "the answers differ"; exit 1; }
	echo "$buckets $plain $kept" | awk '{ printf "%-14s %16s %16s %9.1fx\n", $1 " buckets", $2, $3, $2 / $3 }'
done
