/* clients_table.js -- the walk, the dashboards and the rows appended of all systems, in one table: a line a system. */
'use strict';
const { text } = require('./results.js');

const COLUMNS = {
	'frame of a walk, every 30th': 'walk: every 30th frame',
	'the longest of these': 'walk: every 30th frame p95',
	'all 300 frames': 'walk: 300 frames',
	'95 % of them': 'walk: 300 frames p95',
	'8 clients: dashboards a second': '8 clients: refreshes a second',
	'a dashboard': '8 clients: refresh',
	'95 % of dashboards': '8 clients: refresh p95',
	'appending alone, rows a second': 'appending: rows a second',
	'appending while 8 clients refresh, rows a second': '8 clients while appending: rows a second',
	'dashboards a second meanwhile': '8 clients while appending: refreshes a second',
	'a dashboard meanwhile': '8 clients while appending: refresh',
	'95 % meanwhile': '8 clients while appending: refresh p95',
};

/* In Markdown; nothing if no system did any of it. */
function clientsTable(results) {
	const works = Object.values(COLUMNS), done = results.filter(({ work }) => works.includes(work));
	const systems = [...new Set(done.map(({ system }) => system))];
	const cell = (system, work) => text(done.find(result => result.system === system && result.work === work));

	if (done.length === 0)
		return '';
	return [['', ...Object.keys(COLUMNS)], ['', ...works.map(() => '')].map(() => '---'),
		...systems.map(system => [system, ...works.map(work => cell(system, work))])]
		.map(cells => `| ${cells.join(' | ')} |`).join('\n');
}

module.exports = { clientsTable };
