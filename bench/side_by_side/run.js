/* run.js -- measures what is not measured yet, and writes the report: node run.js SIZE BUILD RESULTS
 *
 * Lines of BUILD/bench/side_by_side/SIZE.csv are kept: a run that was stopped goes on where it was. Each system has a database
 * of its own, which is made for its turn and removed after it. The environment names some of it: ROWS=20000000,
 * ORDER='in order', SYSTEMS='SQLite' (a part of their names). */
'use strict';
const fs = require('fs');
const path = require('path');
const { spawn } = require('child_process');
const readline = require('readline');
const { systems, billionSystems, phaseName, commands, workNames } = require('./systems.js');
const { ORDERS, RECORDED, missing, makeRows, streamRows } = require('./rows.js');
const { HEADER, readResults } = require('./results.js');
const { writeReport } = require('./report.js');

/* `rows` in each order (of recorded traces the fewest), `growth` in order only and without several clients, which refresh for
 * so many seconds. */
const SIZES = {
	short: { rows: [1000000], growth: [10000, 100000], seconds: 5 },
	full: { rows: [20000000, 100000000], growth: [100000, 1000000, 10000000], seconds: 20 },
	billion: {
		rows: [1000000000], growth: [], orders: ['in order'], systems: billionSystems, bytesARow: 55, makes: streamRows,
	},
};

const [size, build, resultsFolder] = process.argv.slice(2);
const folder = path.join(build, 'bench/side_by_side'), csv = path.join(folder, `${size}.csv`);
const shared = `${Math.min(4096, Math.floor(require('os').totalmem() / 3 / 1048576))}MB`;
const CLUSTER_SETTINGS = [`shared_buffers = ${shared}`, 'max_wal_size = 8GB', 'checkpoint_timeout = 1h'].join('\n');

function fail(message) {
	console.error(`side_by_side: ${message}`);
	process.exit(1);
}

/* The program and arguments of a system's driver, over a database in the folder. */
function driverOf(system, database) {
	switch (system.driver) {
	case 'postgres':
		return ['tests/pg/cluster.sh', 'run', path.join(folder, 'postgres')];
	case 'duckdb':
		return [process.execPath, path.join(__dirname, 'duckdb.js'), database, ...system.more];
	default:
		return [path.join(folder, system.driver), database];
	}
}

/* A line of a driver as a line of the results; nothing if it is none. */
function resultOf(line, system, data) {
	const [, work, phase, rest] = line.match(/^([^,|]+)(?:\|([^,]*))?(,\d+,[\d.]+,[\d.]+,\d+,[0-9a-f]*)$/) ?? [];

	return work && `"${phaseName(system, phase)}",${data.order},${data.rows},${work}${rest}\n`;
}

/* Has the system do what is not done; each result is kept as it comes. */
async function measure(system, data, isDone) {
	const database = path.join(folder, `${size}.database`), environment = { ...process.env, BUILD: build, CLUSTER_SETTINGS };
	const clear = () => ['', '-wal', '-shm', '-journal', '.wal'].forEach(end => fs.rmSync(database + end, { force: true }));
	const [program, ...args] = driverOf(system, database), began = Date.now();
	const keep = line => {
		const result = resultOf(line, system, data);

		if (result) {
			fs.appendFileSync(csv, result);
			process.stdout.write(result);
		}
	};

	clear();
	const maker = data.start?.();
	const driver = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], env: environment });
	const ended = new Promise(resolve => driver.on('close', resolve));

	driver.stdin.on('error', () => {}); /* the driver says itself why it ended */
	driver.stdin.end(commands(system, data, isDone, path.resolve(build, 'iforest'))
		.map(command => command + '\n').join(''));
	for await (const line of readline.createInterface({ input: driver.stdout }))
		keep(line);
	const code = await ended;
	maker?.kill(); /* a driver that failed has not read the rows */
	clear();
	if (code !== 0)
		fail(`the driver of ${system.name} ended with ${code}; what it had measured is kept`);
	keep(`all that was done,0,0,${Date.now() - began},1,`);
}

/* All works of the systems over so many rows in an order that are not done. */
async function measureAll(rows, order) {
	const { makes = makeRows, systems: some = systems, seconds, growth } = SIZES[size];
	const results = readResults(csv).filter(result => result.rows === rows && result.order === order);
	const isDone = system => (phase, work) =>
		results.some(result => result.system === phaseName(system, phase) && result.work === work);
	let data;

	for (const system of some.filter(({ name }) => name.includes(process.env.SYSTEMS ?? ''))) {
		if (system.driver === 'postgres' && !fs.existsSync(path.join(build, 'pg/iforest.so'))) {
			console.log(`${system.name}: skipped, there is no server to build for`);
			continue;
		}
		data ??= { ...makes(folder, rows, order), seconds, isGrowth: growth.includes(rows) };
		if (!workNames(system, data).every(([phase, work]) => isDone(system)(phase, work)))
			await measure(system, data, isDone(system));
	}
}

function checkDisk(rows) {
	const { bavail, bsize } = fs.statfsSync(folder), needed = rows * (SIZES[size].bytesARow ?? 0);

	if (bavail * bsize < needed)
		fail(`${rows} rows need ${Math.ceil(needed / 1e9)} GB in ${folder} and for temporary files (SQLITE_TMPDIR), ` +
			`and ${Math.floor(bavail * bsize / 1e9)} GB are free`);
}

async function main() {
	if (!SIZES[size])
		fail(`the size is ${Object.keys(SIZES).join(', ')}, not ${size}`);
	const { rows: allRows, growth, orders = ORDERS } = SIZES[size];
	const rowsIn = order => [...growth.filter(() => order === 'in order'), ...allRows]
		.slice(0, order === RECORDED ? 1 : undefined)
		.filter(rows => [String(rows), undefined].includes(process.env.ROWS));

	if (!fs.existsSync(csv))
		fs.writeFileSync(csv, HEADER);
	for (const order of orders.filter(order => [order, undefined].includes(process.env.ORDER)))
		for (const rows of rowsIn(order)) {
			checkDisk(rows);
			if (missing(order))
				console.log(`${order}: skipped, ${missing(order)}`);
			else
				await measureAll(rows, order);
		}
	process.exitCode = writeReport(csv, resultsFolder, size, allRows) ? 0 : 1;
}

main().catch(error => fail(error.stack));
