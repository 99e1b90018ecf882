// Asks DuckDB as the first of a fresh process, for bench/cold.py: cold.mjs PACKAGES DATABASE SQL... prints the line that bench/cold.c prints.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [packages, database, ...questions] = process.argv.slice(2);
const { DuckDBInstance } = createRequire(`${packages}/`)("@duckdb/node-api");
const number = (file, name) => Number(new RegExp(`^${name}\\s*([0-9]+)`, "m").exec(readFileSync(`/proc/self/${file}`, "utf8"))[1]);
const u64 = (x) => BigInt.asUintN(64, x);


const waits = number("status", "voluntary_ctxt_switches:"), kib = number("io", "read_bytes:") / 1024, reads = number("io", "syscr:");
const start = process.hrtime.bigint();
const instance = await DuckDBInstance.create(database, { threads: process.env.THREADS ?? "2" });
const connection = await instance.connect();
const answers = [];
for (const question of questions) answers.push(await (await connection.runAndReadAll(question)).getRows());
const ms = Number(process.hrtime.bigint() - start) / 1e6;
const kibRead = number("io", "read_bytes:") / 1024 - kib, readsDone = number("io", "syscr:") - reads, waited = number("status", "voluntary_ctxt_switches:") - waits, peak = number("status", "VmHWM:");

let rows = 0, check = 0n;
for (const answer of answers)
  for (const cells of answer) {
    let row = 1n;
    for (const cell of cells) row = u64((row ^ u64(BigInt(cell ?? 0))) * 0x9e3779b97f4a7c15n);
    check = u64(check + (row ^ (row >> 32n)));
    rows++;
  }
console.log(`${ms.toFixed(3)} ${rows} ${check} ${Math.round(kibRead)} ${readsDone} ${waited} -1 ${peak}`);
