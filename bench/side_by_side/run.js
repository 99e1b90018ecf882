/* run.js -- measures what is not measured yet, and writes the report: node run.js SIZE BUILD RESULTS
 *
 * Lines of BUILD/bench/side_by_side/SIZE.csv are kept: a run that was stopped goes on where it was. Each system has a database
 * of its own, which is made for its turn and removed after it. */
'use strict';
const fs = require('fs');
const path = require('path');
const { spawn, spawnSync } = require('child_process');
const readline = require('readline');
const { systems, commands, workNames } = require('./questions.js');
const { HEADER, readResults, writeReport } = require('./report.js');

const SIZES = { short: [1000000], full: [20000000, 100000000] };
const SECONDS = { short: 5, full: 20 }; /* of many clients */
const LATE = { 'in order': 0, '1 % late': 10 }; /* of 1000 rows */

const [size, build, resultsFolder] = process.argv.slice(2);
const folder = path.join(build, 'bench/side_by_side'), csv = path.join(folder, `${size}.csv`);
const shared = `${Math.min(4096, Math.floor(require('os').totalmem() / 3 / 1048576))}MB`;
const CLUSTER_SETTINGS = [`shared_buffers = ${shared}`, 'max_wal_size = 8GB', 'checkpoint_timeout = 1h'].join('\n');

function fail(message) {
	console.error(`side_by_side: ${message}`);
	process.exit(1);
}

/* The rows as CSV, made once, the end of their times, and the times of some. */
function makeRows(rows, order) {
	const file = path.join(folder, `spans_${rows}_${LATE[order]}.csv`), timesFile = `${file}.times`;

	if (!fs.existsSync(timesFile)) {
		const made = spawnSync(path.join(folder, 'spans'), [String(rows), String(LATE[order])],
			{ stdio: ['ignore', fs.openSync(file, 'w'), 'pipe'] });

		if (made.status !== 0)
			fail(`spans: ${made.stderr}`);
		fs.writeFileSync(timesFile, made.stderr);
	}
	const [end, ...times] = fs.readFileSync(timesFile, 'utf8').trim().split('\n').map(Number);

	return { path: path.resolve(file), end, times, rows, order, seconds: SECONDS[size] };
}

/* The program and arguments of a system's driver, over a database in the folder. */
function driverOf(system, database) {
	switch (system.driver) {
	case 'sqlite':
		return [path.join(folder, 'sqlite'), database];
	case 'postgres':
		return ['tests/pg/cluster.sh', 'run', path.join(folder, 'postgres')];
	default:
		return [process.execPath, path.join(__dirname, 'duckdb.js'), database, system.threads];
	}
}

/* Has the system do what is not done; each result is kept as it comes. */
async function measure(system, data, isDone) {
	const database = path.join(folder, 'database'), environment = { ...process.env, BUILD: build, CLUSTER_SETTINGS };
	const clear = () => ['', '-wal', '-shm', '.wal'].forEach(end => fs.rmSync(database + end, { force: true }));
	const [program, ...args] = driverOf(system, database);

	clear();
	const driver = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], env: environment });
	const ended = new Promise(resolve => driver.on('close', resolve));

	driver.stdin.on('error', () => {}); /* the driver says itself why it ended */
	driver.stdin.end(commands(system, data, path.resolve(build), isDone).map(command => command + '\n').join(''));
	for await (const line of readline.createInterface({ input: driver.stdout }))
		if (/^[^,]+,\d+,[\d.]+,[\d.]+,\d+,[0-9a-f]*$/.test(line)) {
			fs.appendFileSync(csv, `"${system.name}",${data.order},${data.rows},${line}\n`);
			console.log(`${system.name}, ${data.rows} rows ${data.order}: ${line}`);
		}
	const code = await ended;
	clear();
	if (code !== 0)
		fail(`the driver of ${system.name} ended with ${code}; what it had measured is kept`);
}

async function main() {
	if (!SIZES[size])
		fail(`the size is ${Object.keys(SIZES).join(' or ')}, not ${size}`);
	if (!fs.existsSync(csv))
		fs.writeFileSync(csv, HEADER);
	for (const rows of SIZES[size])
		for (const order of Object.keys(LATE))
			for (const system of systems) {
				const done = new Set(readResults(csv)
					.filter(result => result.system === system.name && result.order === order && result.rows === rows)
					.map(result => result.work));

				if (system.driver === 'postgres' && !fs.existsSync(path.join(build, 'pg/iforest.so')))
					console.log(`${system.name}: skipped, there is no server to build for`);
				else if (workNames(system, { order }).some(work => !done.has(work)))
					await measure(system, makeRows(rows, order), work => done.has(work));
			}
	process.exitCode = writeReport(csv, resultsFolder, size) ? 0 : 1;
}

main().catch(error => fail(error.stack));
