/* summary.js -- the main works of the main systems in one table, beside this index: of SQLite and PostgreSQL their own, of all
 * else SQLite's. */
'use strict';
const { isNumber, text } = require('./results.js');

const OURS = ['SQLite, iforest', 'PostgreSQL, iforest'];

/* Columns: a title, the systems of which the fastest counts (of sizes the last), and the index that it is divided by. */
const COLUMNS = [
	{ title: 'SQLite, covering indexes', of: ['SQLite, covering indexes'], over: OURS[0] },
	{ title: OURS[0], of: [OURS[0]] },
	{ title: 'PostgreSQL, best of scan, BRIN, B-trees',
		of: ['PostgreSQL, parallel scan', 'PostgreSQL, BRIN', 'PostgreSQL, covering B-trees'], over: OURS[1] },
	{ title: OURS[1], of: [OURS[1]] },
	{ title: 'PostgreSQL, roll-up and scanned ends', over: OURS[1],
		of: ['PostgreSQL, roll-up by the minute, ends scanned'] },
	{ title: 'DuckDB, all cores', of: ['DuckDB, all cores'], over: OURS[0] },
	{ title: 'forest in memory', of: ['forest in memory'], over: OURS[0] },
];
const WORKS = ['whole', 'window 10 %', 'window 1 %', 'window 0.001 %', '1920 buckets', '1920 buckets of 1 %', 'one track 1 %',
	'each track 10 %', 'each track 1920 buckets', 'top 10 of 1 %', 'overlap 1 %', 'one of 10^5 names 10 %',
	'each of 10^5 names 10 %', 'walk: every 30th frame', '8 clients: refresh', '8 clients while appending: refresh',
	'append 10000 rows', 'size of indexes'];

/* Those that plots show. */
const MAIN_SYSTEMS = ['SQLite, covering indexes', 'SQLite, iforest', 'PostgreSQL, parallel scan',
	'PostgreSQL, covering B-trees', 'PostgreSQL, iforest', 'DuckDB, all cores', 'forest in memory'];
const MAIN_WORKS = WORKS.slice(0, 13);

const measureOf = result => isNumber(result) ? result.number : result.milliseconds;

function ratio(result, ours) {
	const times = measureOf(result) / measureOf(ours);

	return `${Number(times.toPrecision(2))}x`;
}

/* The lines of a table in Markdown; none if there is no such system. Works that nobody did, or whose answers differ, are left
 * out. */
function summary(results, differing) {
	const find = (work, systems) => {
		const found = results.filter(result => result.work === work && systems.includes(result.system));

		return found.length > 0 && isNumber(found[0]) ? found.at(-1) : found.sort((a, b) => measureOf(a) - measureOf(b))[0];
	};
	const columns = COLUMNS.filter(({ of }) => results.some(result => of.includes(result.system)));
	const cell = (work, { of, over }) => {
		const result = find(work, of), ours = over && find(work, [over]);

		return text(result) + (result && ours ? ` (**${ratio(result, ours)}**)` : '');
	};
	const works = WORKS.filter(work => !differing.includes(work) && columns.some(({ of }) => find(work, of)));

	return columns.length === 0 ? [] : [
		`| | ${columns.map(({ title }) => title).join(' | ')} |`, `|---|${columns.map(() => '---|').join('')}`,
		...works.map(work => `| ${work} | ${columns.map(column => cell(work, column)).join(' | ')} |`)];
}

module.exports = { summary, MAIN_SYSTEMS, MAIN_WORKS };
