// What bench/pg_shapes.sh asks: pg_shapes.mjs PACKAGES ROWS, with PGHOST and its like of a cluster of its own.
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { existsSync } from "node:fs";

const [packages, text] = process.argv.slice(2);
const rows = Number(text), end = (rows + 2000) * 1000, rounds = Number(process.env.ROUNDS ?? 5);
const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];

// The same rows in both, by integers alone. Up to a million rows no two durations are equal.
const columns = (x) => `${x} AS id, 's' || ${x} % 12 AS service, CASE WHEN ${x} % 7 = 0 THEN 'error' ELSE 'ok' END AS status, ${x} * 1000 AS ts, ${x} * 7919 % 1000003 AS dur`;

// ---- PostgreSQL, by psql: the times of one session ----

const psql = (sql) => execFileSync("psql", ["-XqAtv", "ON_ERROR_STOP=1"], { input: sql, encoding: "utf8", maxBuffer: 1 << 28 });
const lines = (answer) => answer.split("\n").filter((line) => line).sort();

function askPostgres(settings, sql) {
  const out = psql(`${settings}\n${sql};\n\\echo ===\nEXPLAIN ${sql};\n\\echo ===\n\\timing on\n\\o /dev/null\n${`${sql};\n`.repeat(rounds)}`);
  const [answer, plan, timed] = out.split("===\n");
  return { time: median([...timed.matchAll(/^Time: ([0-9.]+) ms/gm)].map(([, time]) => Number(time))), rows: lines(answer), plan };
}

psql(`SET client_min_messages = warning; CREATE EXTENSION iforest;
CREATE TABLE spans AS SELECT ${columns("x")} FROM generate_series(1, ${rows}::bigint) AS x;
CREATE TABLE older AS SELECT * FROM spans WHERE id <= ${rows / 4};
CREATE TABLE owners(service text PRIMARY KEY, team text NOT NULL);
INSERT INTO owners SELECT 's' || x, 'team ' || x % 4 FROM generate_series(0, 9) AS x;
ALTER TABLE spans ALTER ts SET NOT NULL, ALTER dur SET NOT NULL;
ALTER TABLE older ALTER ts SET NOT NULL, ALTER dur SET NOT NULL;
CREATE INDEX spans_if ON spans USING iforest (service, status, ts) INCLUDE (dur) WITH (sketch = 'dur');
CREATE INDEX older_if ON older USING iforest (service, status, ts) INCLUDE (dur) WITH (sketch = 'dur');
CREATE INDEX spans_ts_if ON spans USING iforest (ts) INCLUDE (dur) WITH (duration = 'dur');
DO $$ BEGIN PERFORM iforest_create_functions('spans_ts_if'); END $$;`);
psql("VACUUM (FREEZE, ANALYZE)");

// ---- DuckDB ----

let connection;
if (existsSync(`${packages}/node_modules/@duckdb/node-api`)) {
  const { DuckDBInstance } = createRequire(`${packages}/`)("@duckdb/node-api");
  connection = await (await DuckDBInstance.create(":memory:", { threads: process.env.THREADS ?? "2" })).connect();
  await connection.run(`CREATE TABLE spans AS SELECT ${columns("x")} FROM range(1, ${rows + 1}) AS t(x)`);
  await connection.run(`CREATE TABLE older AS SELECT * FROM spans WHERE id <= ${rows / 4}`);
  await connection.run("CREATE TABLE owners AS SELECT 's' || x AS service, 'team ' || x % 4 AS team FROM range(0, 10) AS t(x)");
}

async function askDuck(sql) {
  const times = [];
  let answer;
  for (let round = 0; round <= rounds; round++) {
    const start = process.hrtime.bigint();
    answer = await (await connection.runAndReadAll(sql)).getRows();
    if (round > 0) times.push(Number(process.hrtime.bigint() - start) / 1e6);
  }
  return { time: median(times), rows: answer.map((row) => row.map((value) => value ?? "").join("|")).sort() };
}

// ---- questions ----

const same = (a, b) => (JSON.stringify(a) === JSON.stringify(b) ? "the same" : "DIFFERENT");

// The last columns at most 1/127 apart.
const near = (a, b) =>
  a.length === b.length && a.every((row, i) => Math.abs(Number(row.split("|").at(-1)) / Number(b[i].split("|").at(-1)) - 1) <= 1 / 127) ? "within 1/127" : "DIFFERENT";

/* ours: as the plain one, where that is left out; duck: likewise. */
async function ask(name, plain, { ours, duck, settings = "", compare = same } = {}) {
  const byIndex = askPostgres(settings, ours ?? plain), byPlan = askPostgres("SET iforest.enable = off;", plain);
  const byDuck = connection ? await askDuck(duck ?? plain) : undefined;
  const verdicts = [compare(byIndex.rows, byPlan.rows), ...(byDuck ? [same(byPlan.rows, byDuck.rows)] : [])];
  const times = `plain ${byPlan.time.toFixed(1).padStart(8)}   DuckDB ${(byDuck?.time.toFixed(1) ?? "-").padStart(8)}   iforest ${byIndex.time.toFixed(2).padStart(8)} ms`;
  const isAnswered = ours || byIndex.plan.includes("IForest");
  console.log(`${name.padEnd(40)} ${times}   ${verdicts.join(", ")}${isAnswered ? "" : ", NOT BY THE INDEX"}`);
  if (!isAnswered || verdicts.includes("DIFFERENT")) process.exitCode = 1;
}

console.log(`${rows} rows; medians of ${rounds}; answers compared`);
await ask("ROLLUP (service, status)", "SELECT service, status, count(*), sum(dur) FROM spans GROUP BY ROLLUP (service, status)");
await ask("CUBE (service, status)", "SELECT service, status, count(*), max(dur) FROM spans GROUP BY CUBE (service, status)");
const filters = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => `count(*) FILTER (WHERE dur < ${n * 111111})`).join(", ");
await ask("8 FILTERs on values, by service", `SELECT service, ${filters} FROM spans GROUP BY service`);
const speed = "CASE WHEN dur > 900000 THEN 'slow' WHEN dur > 100000 THEN 'middle' ELSE 'fast' END";
await ask("CASE over a value as group key", `SELECT ${speed} AS speed, service, count(*), sum(dur) FROM spans GROUP BY 1, 2`);
await ask("a dimension's column as group key", "SELECT o.team, count(*), sum(s.dur) FROM spans s JOIN owners o ON o.service = s.service GROUP BY o.team");
await ask("UNION ALL of two tables, by service", "SELECT service, count(*), sum(dur) FROM (SELECT * FROM spans UNION ALL SELECT * FROM older) AS u GROUP BY service");
await ask("count(DISTINCT service), by status", "SELECT status, count(DISTINCT service), count(*) FROM spans GROUP BY status");
await ask("the last row of each service", "SELECT DISTINCT ON (service) service, ts, dur FROM spans ORDER BY service, ts DESC", {
  duck: "SELECT service, max(ts), arg_max(dur, ts) FROM spans GROUP BY service",
});
await ask("the three longest of each service", "SELECT service, dur FROM (SELECT service, dur, rank() OVER (PARTITION BY service ORDER BY dur DESC) AS place FROM spans) AS s WHERE place <= 3");
await ask("totals beside services, by a cross join", "SELECT level, CASE WHEN level = 1 THEN service END AS service, count(*), sum(dur) FROM spans CROSS JOIN (VALUES (0), (1)) AS l(level) GROUP BY 1, 2");
await ask("99th percentile of each service", "SELECT service, percentile_disc(0.99) WITHIN GROUP (ORDER BY dur) FROM spans GROUP BY service", {
  settings: "SET iforest.approximate_percentiles = on;",
  duck: "SELECT service, quantile_disc(dur, 0.99) FROM spans GROUP BY service",
  compare: near,
});
const open = (sum) => `SELECT max(open) FROM (SELECT ${sum} OVER (ORDER BY t, d ROWS UNBOUNDED PRECEDING) AS open FROM (SELECT ts AS t, 1 AS d FROM spans UNION ALL SELECT ts + dur, -1 FROM spans) AS e) AS o`;
await ask("peak overlap of all time", open("sum(d)"), { ours: `SELECT peak FROM spans_ts_if_peak(0, ${end}, 1)` });
const bucket = (divide) => `ts * 1000 ${divide} ${end}`;
const m4 = (divide, first, last, least, greatest) =>
  `SELECT ${bucket(divide)} AS bucket, min(ts), ${first}, ${least}, min(dur), ${greatest}, max(dur), max(ts), ${last} FROM spans GROUP BY 1`;
await ask("M4 of 1000 pixels", m4("/", "(min(ARRAY[ts, dur]))[2]", "(max(ARRAY[ts, dur]))[2]", "(min(ARRAY[dur, ts]))[2]", "(max(ARRAY[dur, ts]))[2]"), {
  ours: `SELECT bucket, first_dur_ts, first_dur, min_dur_ts, min_dur, max_dur_ts, max_dur, last_dur_ts, last_dur FROM spans_ts_if(0, ${end}, 1000) WHERE first_dur_ts IS NOT NULL`,
  duck: m4("//", "arg_min(dur, ts)", "arg_max(dur, ts)", "arg_min(ts, dur)", "arg_max(ts, dur)"),
});
