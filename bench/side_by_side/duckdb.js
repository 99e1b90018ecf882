/* duckdb.js -- the driver of DuckDB: node duckdb.js DATABASE THREADS; the commands and what is printed are those of driver.h.
 * Rows are loaded by read_csv. Asking ends when all chunks of the result are there, as columns: no cell is made a value of
 * JavaScript meanwhile. */
'use strict';
const readline = require('readline');
const { DuckDBInstance } = require('@duckdb/node-api');

const FEWEST_TIMES = 3, ROUNDS = 31, ENOUGH_MS = 1000;
const BASES = [2166136261, 3735928559], PRIME = 16777619;
const LOAD = path => `INSERT INTO spans SELECT * FROM read_csv('${path.replaceAll("'", "''")}', header = false,
	columns = {'id': 'BIGINT', 'ts': 'BIGINT', 'dur': 'BIGINT', 'track': 'VARCHAR'})`;

const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

function newAnswer() {
	return { sums: [0, 0], nRows: 0, number: 0 };
}

function addRow(answer, cells) {
	const row = [0, 0];

	for (const cell of cells) {
		const text = cell === null ? '' : String(cell);

		for (const byte of Buffer.from(text + '|'))
			for (let i = 0; i < 2; i++)
				row[i] = Math.imul((row[i] || BASES[i]) ^ byte, PRIME) >>> 0;
		answer.number = Number(text);
	}
	for (let i = 0; i < 2; i++)
		answer.sums[i] = (answer.sums[i] + row[i]) >>> 0;
	answer.nRows++;
}

function tell(work, answer, number, ms, nTimes) {
	const hash = answer.nRows > 0 ? answer.sums.map(sum => sum.toString(16).padStart(8, '0')).join('') : '';

	if (work !== '-')
		console.log(`${work},${answer.nRows},${Math.round(number)},${ms.toFixed(4)},${nTimes},${hash}`);
}

async function main(path, threads) {
	const instance = await DuckDBInstance.create(path, threads === 'all' ? {} : { threads });
	const connection = await instance.connect();
	let asked = { work: null, sql: [] };

	async function look(sql, answer) {
		for (const row of (await connection.runAndReadAll(sql)).getRows())
			addRow(answer, row);
	}

	async function askAll() {
		const answer = newAnswer(), times = [], began = nowMs();

		if (!asked.work)
			return;
		for (const sql of asked.sql)
			await look(sql, answer);
		for (let round = 0; round < ROUNDS; round++)
			for (const sql of asked.sql) {
				if (times.length >= FEWEST_TIMES && nowMs() - began >= ENOUGH_MS)
					continue;
				const start = nowMs();
				await (await connection.run(sql)).fetchAllChunks();
				times.push(nowMs() - start);
			}
		times.sort((a, b) => a - b);
		tell(asked.work, answer, 0, times[times.length >> 1], times.length);
		asked = { work: null, sql: [] };
	}

	for await (const line of readline.createInterface({ input: process.stdin })) {
		const [command, work, argument] = line.split('\t'), answer = newAnswer();

		if (command !== 'ask' || work !== asked.work)
			await askAll();
		const start = nowMs();
		if (command === 'ask') {
			asked.work = work;
			asked.sql.push(argument);
		} else if (command === 'size') {
			await look(argument, answer);
			tell(work, newAnswer(), answer.number, 0, 1);
		} else if (command === 'load' || command === 'do') {
			await connection.run(command === 'do' ? argument : LOAD(argument));
			tell(work, answer, 0, nowMs() - start, 1);
		} else {
			throw new Error(`${command}: no such command`);
		}
	}
	await askAll();
	connection.closeSync();
	instance.closeSync();
}

main(process.argv[2], process.argv[3]).catch(error => {
	console.error(error.message);
	process.exit(1);
});
