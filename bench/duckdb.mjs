// What bench/duckdb.sh asks: duckdb.mjs PACKAGES FOLDER ROWS.
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";

const [packages, folder, text] = process.argv.slice(2);
const rows = Number(text), end = rows * 10, rounds = Number(process.env.ROUNDS ?? 5);
const { DuckDBInstance } = createRequire(`${packages}/`)("@duckdb/node-api");
const bounds = Array.from({ length: 46 }, (_, i) => (4 + (i % 4)) * 2 ** (8 + Math.floor(i / 4)));
const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];

// The same rows in both, by integers alone. Durations are spread over some powers of two.
const columns = (x) => `${x} AS id, ${x} % 8 AS series, ${x} * 10 AS ts, (${x} * 7919 % 1000003) * (${x} % 17 + 1) AS dur, ${x} * ${x} % 100003 AS who`;

// ---- SQLite, by its shell: the times of one process, and rows as arrays ----

const database = `${folder}/d.db`;
const sqlite = (sql) => execFileSync("sqlite3", [database], { input: `.load ${process.env.BUILD}/iforest\n${sql}`, encoding: "utf8", maxBuffer: 1 << 28 });

function askSqlite(sql) {
  const out = sqlite(`SELECT count(*) FROM d_if;\n${sql};\n.output /dev/null\n.timer on\n${`${sql};\n`.repeat(rounds)}.output\n`);
  const times = [...out.matchAll(/^Run Time: real ([0-9.]+) user ([0-9.]+) sys ([0-9.]+)/gm)].map(([, real, user, sys]) =>
    real < 0.005 ? 1000 * (Number(user) + Number(sys)) : 1000 * real,
  );
  const lines = out.split("\n").filter((line) => line && !line.startsWith("Run Time"));
  return { time: median(times.slice(-rounds)), rows: lines.slice(1).map((line) => line.split("|").map(Number)) };
}

sqlite(`PRAGMA synchronous = off; CREATE TABLE d(id INTEGER PRIMARY KEY, series INTEGER, ts INTEGER, dur INTEGER, who INTEGER);
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ${rows}) INSERT INTO d SELECT ${columns("x")} FROM n;
CREATE VIRTUAL TABLE d_if USING iforest(content=d, time=ts, duration=dur, sketch=dur, distinct=who);
CREATE VIRTUAL TABLE d_series_if USING iforest(content=d, time=ts, value=dur, by=series);`);

// ---- DuckDB ----

const instance = await DuckDBInstance.create(":memory:", { threads: process.env.THREADS ?? "2" });
const connection = await instance.connect();
await connection.run(`CREATE TABLE d AS SELECT ${columns("x")} FROM range(1, ${rows + 1}) AS t(x)`);

async function askDuck(sql) {
  const times = [];
  let answer;
  for (let round = 0; round <= rounds; round++) {
    const start = process.hrtime.bigint();
    answer = await (await connection.runAndReadAll(sql)).getRows();
    if (round > 0) times.push(Number(process.hrtime.bigint() - start) / 1e6);
  }
  return { time: median(times), rows: answer.map((row) => row.map(Number)) };
}

// ---- questions ----

function report(name, theirs, ours, verdict) {
  const ratio = (theirs.time / Math.max(ours.time, 0.001)).toPrecision(3);
  console.log(`${name.padEnd(46)} DuckDB ${theirs.time.toFixed(2).padStart(9)} ms   iforest ${ours.time.toFixed(2).padStart(9)} ms   ratio ${ratio.padStart(6)}   ${verdict}`);
  if (verdict.startsWith("DIFFER")) process.exitCode = 1;
}

const same = (a, b) => (JSON.stringify(a) === JSON.stringify(b) ? "the same" : "DIFFERENT");

/* The root mean square and the greatest of relative differences of the last column. */
function near(estimates, exact, most) {
  const errors = estimates.map((row, i) => Math.abs(row.at(-1) / exact[i].at(-1) - 1));
  const rms = Math.sqrt(errors.reduce((sum, error) => sum + error * error, 0) / errors.length);
  const greatest = Math.max(...errors);
  return `${greatest <= most && estimates.length === exact.length ? "" : "DIFFERENT: "}rms ${(100 * rms).toFixed(2)} %, at most ${(100 * greatest).toFixed(2)} %`;
}

const bucket = `ts * 112 // ${end}`;
const window = `ts >= 0 AND ts < ${end}`;
const cases = bounds.map((bound) => `count(*) FILTER (WHERE dur < ${bound})`).join(", ");
const cells = await askDuck(`SELECT ${bucket} AS bucket, ${cases}, count(*) FROM d WHERE ${window} GROUP BY 1 ORDER BY 1`);
// By the bits of the duration, since the bounds are four to each power of two; this is the faster way.
const power = "floor(log2(dur))::BIGINT";
const cell = `CASE WHEN dur < 1024 THEN 0 ELSE least(4 * (${power} - 10) + ((dur >> (${power} - 2)) & 3) + 1, 46) END`;
const binned = await askDuck(`SELECT ${bucket} AS bucket, ${cell} AS cell, count(*) FROM d WHERE ${window} GROUP BY 1, 2 ORDER BY 1, 2`);
const heatmap = askSqlite(`SELECT bucket, h.count FROM d_if(0, ${end}, 112), iforest_histogram(sketch_dur, '[${bounds.join(",")}]') AS h ORDER BY bucket, lower`);
const sums = [];
for (let b = 0; b < 112; b++) {
  let sum = 0;
  sums.push([b, ...heatmap.rows.slice(b * 47, b * 47 + 47).map((row) => (sum += row[1]))]);
}
const filled = heatmap.rows.map((row, i) => [row[0], i % 47, row[1]]).filter((row) => row[2] > 0);
report("heatmap, 112 x 47 cells", binned, heatmap, same([sums, filled], [cells.rows, binned.rows]));

const last = await askDuck("SELECT series, max(ts), arg_max(dur, ts) FROM d GROUP BY 1 ORDER BY 1");
const newest = askSqlite("SELECT series, last_ts, last_dur FROM d_series_if ORDER BY series");
report("last row of each of 8 series", last, newest, same(last.rows, newest.rows));

for (const [name, by, sql] of [["of one window", "", `d_if(${end / 20}, ${end - end / 20})`], ["of 112 buckets", `${bucket} AS bucket, `, `d_if(0, ${end}, 112)`]]) {
  const where = by ? window : `ts >= ${end / 20} AND ts < ${end - end / 20}`, group = by ? "GROUP BY 1 ORDER BY 1" : "", first = by ? "bucket, " : "";
  const users = await askDuck(`SELECT ${by}count(DISTINCT who) FROM d WHERE ${where} ${group}`);
  const about = await askDuck(`SELECT ${by}approx_count_distinct(who) FROM d WHERE ${where} ${group}`);
  const ours = askSqlite(`SELECT ${first}iforest_distinct_count(distinct_who) FROM ${sql}`);
  report(`different values ${name}, exactly`, users, ours, `ours: ${near(ours.rows, users.rows, 0.0975)}`);
  report(`different values ${name}, about`, about, ours, `DuckDB: ${near(about.rows, users.rows, 1)}`);
  const p99 = await askDuck(`SELECT ${by}quantile_disc(dur, 0.99) FROM d WHERE ${where} ${group}`);
  const rough = await askDuck(`SELECT ${by}approx_quantile(dur, 0.99) FROM d WHERE ${where} ${group}`);
  const sketched = askSqlite(`SELECT ${first}iforest_quantile(sketch_dur, 0.99, min_dur, max_dur) FROM ${sql}`);
  report(`99th percentile ${name}, exactly`, p99, sketched, `ours: ${near(sketched.rows, p99.rows, 1 / 127)}`);
  report(`99th percentile ${name}, about`, rough, sketched, `DuckDB: ${near(rough.rows, p99.rows, 1)}`);
}
