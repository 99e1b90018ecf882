/* duckdb_clients.js -- what clients.h says, of DuckDB: all clients are connections of one instance, and who appends uses its
 * appender. */
'use strict';

process.env.UV_THREADPOOL_SIZE = '16'; /* questions that run at once; read at the first of them */

const ROWS_A_TRANSACTION = 1000, TRACKS = 32;

const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

/* The part of the times, which are sorted, that is below. */
function quantile(times, q) {
	times.sort((a, b) => a - b);
	return times.length > 0 ? times[Math.round(q * (times.length - 1))] : 0;
}

/* The clients of an instance. `numberOf` gives the number that a question gives, `tell` prints a line: a name, a number, ms and
 * how many times. */
function newClients(instance, numberOf, tell) {
	const panels = [], next = { id: 0, ts: 0, gap: 0, range: 0 };

	const expand = (question, to = next.ts) => question.replaceAll('$from', to - next.range).replaceAll('$to', to);

	async function refresh(connection) {
		const to = next.ts;

		for (const panel of panels)
			await (await connection.run(expand(panel, to))).fetchAllChunks();
	}

	async function refreshUntil(connection, until, times) {
		for (let start = nowMs(); start < until; start = nowMs()) {
			await refresh(connection);
			times.push(nowMs() - start);
		}
	}

	function appendRows(appender) {
		for (let i = 0; i < ROWS_A_TRANSACTION; i++, next.id++, next.ts += next.gap) {
			appender.appendBigInt(BigInt(next.id));
			appender.appendBigInt(BigInt(next.ts));
			appender.appendBigInt(BigInt(next.id * 7919 % 1000));
			appender.appendVarchar(`track ${next.id % TRACKS}`);
			appender.endRow();
		}
		appender.flushSync();
	}

	async function run(work, nClients, seconds, appends) {
		const connections = [], times = [];
		let refreshing = nClients > 0, nAppended = 0, appendingMs = 0;

		for (let i = 0; i < nClients + 1; i++)
			connections.push(await instance.connect());
		const writer = connections.pop(), appender = appends ? await writer.createAppender('spans') : null;
		await Promise.all(connections.map(refresh));
		const start = nowMs(), until = start + seconds * 1000;
		const appending = async () => {
			for (; appends && (nowMs() < until || refreshing); nAppended += ROWS_A_TRANSACTION) {
				appendRows(appender);
				await new Promise(setImmediate);
			}
			appendingMs = nowMs() - start;
		};

		const appended = appending();
		await Promise.all(connections.map(connection => refreshUntil(connection, until, times)));
		const refreshingMs = nowMs() - start;
		refreshing = false;
		await appended;
		appender?.closeSync();
		[...connections, writer].forEach(connection => connection.closeSync());
		if (nClients > 0) {
			tell(`${work}: refreshes a second`, times.length / refreshingMs * 1000, 0, times.length);
			tell(`${work}: refresh`, 0, quantile(times, 0.5), times.length);
			tell(`${work}: refresh p95`, 0, quantile(times, 0.95), times.length);
		}
		if (appends)
			tell(`${work}: rows a second`, nAppended / appendingMs * 1000, 0, nAppended / ROWS_A_TRANSACTION);
	}

	/* Returns whether it is a command of theirs. */
	async function obey(command, work, argument) {
		if (command === 'panel')
			panels.push(argument);
		else if (command === 'next')
			next[work] = work === 'id' || work === 'ts' ? await numberOf(argument) : Number(argument);
		else if (command === 'clients')
			await run(work, ...argument.split(' ').map(Number));
		else
			return false;
		return true;
	}

	return { expand, obey };
}

module.exports = { newClients, nowMs, quantile };
