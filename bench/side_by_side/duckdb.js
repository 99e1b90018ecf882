/* duckdb.js -- the driver of DuckDB: node duckdb.js DATABASE THREADS; the commands and what is printed are those of driver.h.
 * Rows are loaded by read_csv. Asking ends when all chunks of the result are there, as columns: no cell is made a value of
 * JavaScript meanwhile. */
'use strict';
const readline = require('readline');
const { newClients, nowMs, quantile } = require('./duckdb_clients.js');
const { DuckDBInstance } = require('@duckdb/node-api');

const FEWEST_TIMES = 3, ROUNDS = 31, MOST_ROUNDS = 2001, FEWEST_MS = 500, ENOUGH_MS = 1000, SLOW_MS = 2000; /* as in driver.c */
const BASES = [2166136261, 3735928559], PRIME = 16777619, NO_HALF = 1.23456e-4; /* as in driver.c */
const LOAD = path => `INSERT INTO spans SELECT * FROM read_csv('${path.replaceAll("'", "''")}', header = false,
	columns = {'id': 'BIGINT', 'ts': 'BIGINT', 'dur': 'BIGINT', 'track': 'VARCHAR'})`;

function newAnswer() {
	return { sums: [0, 0], nRows: 0, number: 0 };
}

/* The text of a cell; a number with a fraction has three decimals. */
function textOf(cell) {
	if (cell === null)
		return '';
	return typeof cell === 'number' ? (cell + NO_HALF).toFixed(3).replace(/\.000$/, '') : String(cell);
}

function addRow(answer, cells) {
	const row = [0, 0];

	for (const cell of cells) {
		const text = textOf(cell);

		for (const byte of Buffer.from(text + '|'))
			for (let i = 0; i < 2; i++)
				row[i] = Math.imul((row[i] || BASES[i]) ^ byte, PRIME) >>> 0;
		answer.number = Number(text);
	}
	for (let i = 0; i < 2; i++)
		answer.sums[i] = (answer.sums[i] + row[i]) >>> 0;
	answer.nRows++;
}

const hashOf = answer => answer.nRows > 0 ? answer.sums.map(sum => sum.toString(16).padStart(8, '0')).join('') : '';

function tell(work, answer, number, ms, nTimes) {
	if (work !== '-')
		console.log(`${work},${answer.nRows},${number.toFixed(3)},${ms.toFixed(6)},${nTimes},${hashOf(answer)}`);
}

/* What asks by a connection. */
function newAsker(connection) {
	let asked = { work: null, sql: [], once: false };

	async function look(sql, answer = newAnswer()) {
		for (const row of (await connection.runAndReadAll(sql)).getRows())
			addRow(answer, row);
		return answer;
	}

	async function askAll() {
		const { work, sql: questions, once } = asked, answer = newAnswer(), first = [], more = [], began = nowMs();

		if (!work)
			return;
		for (const sql of questions) {
			const start = nowMs();
			await look(sql, answer);
			first.push(nowMs() - start);
		}
		const answered = nowMs(), isSlow = answered - began > SLOW_MS * (once ? questions.length : 1);
		let isDone = isSlow;
		for (let round = 1; !isDone; round++) {
			for (const sql of questions) {
				if (!once && more.length >= FEWEST_TIMES && nowMs() - answered >= ENOUGH_MS)
					continue;
				const start = nowMs();
				await (await connection.run(sql)).fetchAllChunks();
				more.push(nowMs() - start);
			}
			const taken = nowMs() - answered;
			isDone = once || round === MOST_ROUNDS || (more.length >= FEWEST_TIMES && taken >= ENOUGH_MS) ||
				(round >= ROUNDS && taken >= FEWEST_MS);
		}
		const times = isSlow ? first : more;
		tell(work, answer, 0, quantile(times, 0.5), times.length);
		if (once)
			tell(`${work} p95`, newAnswer(), 0, quantile(times, 0.95), times.length);
		asked = { work: null, sql: [], once: false };
	}

	/* Takes a question of a work, after those of another have been asked. */
	async function take(work, sql, once) {
		if (work !== asked.work)
			await askAll();
		asked = { work, sql: [...asked.sql, sql], once };
	}

	return { look, askAll, take };
}

async function main(path, threads) {
	const instance = await DuckDBInstance.create(path, threads === 'all' ? {} : { threads });
	const connection = await instance.connect();
	const { look, askAll, take } = newAsker(connection);
	const numberOf = async sql => (await look(sql)).number;
	const clients = newClients(instance, numberOf, (work, number, ms, n) => tell(work, newAnswer(), number, ms, n));
	let first = newAnswer();

	for await (const line of readline.createInterface({ input: process.stdin })) {
		const [command, work, argument] = line.split('\t');

		if (command === 'ask' || command === 'frame') {
			await take(work, clients.expand(argument), command === 'frame');
			continue;
		}
		await askAll();
		const start = nowMs();
		if (command === 'size') {
			tell(work, newAnswer(), await numberOf(argument), 0, 1);
		} else if (command === 'load' || command === 'do') {
			await connection.run(command === 'do' ? argument : LOAD(argument));
			tell(work, newAnswer(), 0, nowMs() - start, 1);
		} else if (command === 'first') {
			first = await look(clients.expand(argument));
		} else if (command === 'same') {
			if (hashOf(await look(clients.expand(argument))) !== hashOf(first))
				throw new Error(`${argument}: the answer is not that of the question before`);
		} else if (!await clients.obey(command, work, argument)) {
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
