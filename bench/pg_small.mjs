// The questions of bench/pg_small.sh over many series, asked of DuckDB on two threads: pg_small.mjs PACKAGES ROWS, with labels and questions on
// its standard input. What is timed is from the SQL to the last chunk of columns.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [packages, rows] = process.argv.slice(2);
const { DuckDBInstance } = createRequire(`${packages}/`)("@duckdb/node-api");
const instance = await DuckDBInstance.create(":memory:", { threads: process.env.THREADS ?? "2" });
const connection = await instance.connect();
// the same rows as load() of pg_small.c makes
await connection.run(`CREATE TABLE many AS SELECT i AS id, i * 1000 + i * 7919 % 1000 AS ts, (i * 2246822519 >> 3) & ((1 << ((i * 3266489917 >> 5) % 24)) - 1) AS dur,
  'name ' || i * 48271 % 100000 AS name, 'name ' || i * 48271 % 65536 AS other FROM range(${rows}) AS t(i)`);

console.log(`\n${"DuckDB, microseconds, medians".padEnd(42)}`);
for (const line of readFileSync(0, "utf8").trim().split("\n")) {
  const [label, sql] = line.split("\t");
  if (!/each|greatest/.test(label)) continue;
  const times = [];
  for (let round = 0; round < 12; round++) {
    const start = process.hrtime.bigint();
    const result = await connection.run(sql);
    while ((await result.fetchChunk())?.rowCount > 0);
    if (round > 0) times.push(Number(process.hrtime.bigint() - start) / 1e3);
  }
  console.log(`${label.padEnd(42)} ${times.sort((a, b) => a - b)[times.length >> 1].toFixed(0).padStart(9)}`);
}
