/* rows.js -- the rows that all systems load: files of CSV, made once (rows.h), the end of their times, and the times of
 * some. */
'use strict';
const fs = require('fs');
const path = require('path');
const { spawn, spawnSync } = require('child_process');

const RECORDED = 'recorded traces';
const LATE = { 'in order': 0, '1 % late': 10 }; /* of 1000 rows */
const ORDERS = [...Object.keys(LATE), RECORDED];

/* The traces in the folder that IFOREST_TRACES names. */
function traces() {
	const folder = process.env.IFOREST_TRACES;

	if (!folder || !fs.existsSync(folder))
		return [];
	return fs.readdirSync(folder).filter(name => /\.json(\.gz)?$/.test(name) && !name.includes('expected')).sort()
		.map(name => path.join(folder, name));
}

/* Why there are no such rows; nothing if there are. */
const missing = order => order === RECORDED && traces().length === 0 ?
	'there are no traces: let IFOREST_TRACES name a folder of .json or .json.gz files' : '';

function makerOf(folder, rows, order, prefix) {
	return order === RECORDED ? [path.join(folder, 'traces'), String(rows), ...traces()] :
		[path.join(folder, 'spans'), String(rows), String(LATE[order]), prefix];
}

/* Runs the program with its rows to `file`; what it says of them. */
function make([program, ...args], file) {
	const made = spawnSync(program, args, { stdio: ['ignore', fs.openSync(file, 'w'), 'pipe'] });

	if (made.status !== 0)
		throw new Error(`${program}: ${made.stderr}`);
	return made.stderr;
}

function described(text, data) {
	const [track, end, ...times] = text.trim().split('\n');

	return { ...data, track, end: Number(end), times: times.map(Number) };
}

function makeRows(folder, rows, order) {
	const file = path.join(folder, `spans_${rows}_${order.replace(/\W+/g, '_')}.csv`), about = `${file}.about`;

	if (!fs.existsSync(about))
		fs.writeFileSync(about, make(makerOf(folder, rows, order, 'track '), file));
	return described(fs.readFileSync(about, 'utf8'), { path: path.resolve(file), rows, order });
}

/* Rows that are made while they are loaded, through a pipe: `start` gives the process, before each load. Tracks are numbers. */
function streamRows(folder, rows, order) {
	const file = path.join(folder, 'rows.pipe'), maker = makerOf(folder, rows, order, '');
	const start = () => {
		fs.rmSync(file, { force: true });
		spawnSync('mkfifo', [file]);
		return spawn('sh', ['-c', 'exec "$@" 2>/dev/null >"$0"', file, ...maker], { stdio: 'ignore' });
	};

	return described(make([...maker, 'times'], '/dev/null').toString(), { path: path.resolve(file), rows, order, start });
}

module.exports = { ORDERS, RECORDED, missing, makeRows, streamRows };
