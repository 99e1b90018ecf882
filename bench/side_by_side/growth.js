/* growth.js -- how time, pages read and bytes a row grow with the number of rows, of rows in order: exponents, and what
 * growth.gp draws. */
'use strict';
const { unique } = require('./results.js');
const { MAIN_SYSTEMS, MAIN_WORKS } = require('./summary.js');

/* Are there enough numbers of rows? */
const grows = results => unique(results.filter(({ order }) => order === 'in order').map(({ rows }) => rows)).length >= 3;

const answered = ({ answer, milliseconds }) => answer !== '' && milliseconds > 0;

/* What grows: the results that measure it, the work that they are of, and the measure. */
const MEASURES = [
	{ name: 'time', label: 'ms', is: answered, work: ({ work }) => work, value: ({ milliseconds }) => milliseconds },
	{ name: 'pages', label: 'pages', is: ({ work, number }) => work.startsWith('pages: ') && number > 0,
		work: ({ work }) => work.slice('pages: '.length), value: ({ number }) => number },
	{ name: 'bytes', label: 'bytes a row', is: ({ work, number }) => work.startsWith('size') && number > 0,
		work: ({ work }) => work, value: ({ number, rows }) => number / rows },
];

/* The slope of the line through the logarithms by least squares; nothing for fewer than three numbers of rows. */
function exponent(points) {
	const logs = points.map(({ rows, value }) => [Math.log(rows), Math.log(value)]), n = logs.length;
	const mean = i => logs.reduce((sum, log) => sum + log[i], 0) / n, mx = mean(0), my = mean(1);
	const sums = logs.reduce(([xy, xx], [x, y]) => [xy + (x - mx) * (y - my), xx + (x - mx) ** 2], [0, 0]);

	return n < 3 ? undefined : sums[0] / sums[1];
}

/* The points of a measure by work and system. */
function curves(results, { is, work, value }) {
	const inOrder = results.filter(({ order, system }) => order === 'in order' && MAIN_SYSTEMS.includes(system));
	const some = inOrder.filter(is);
	const works = unique(some.map(work)).filter(name => (MAIN_WORKS.includes(name) || name.startsWith('size')) &&
		grows(some.filter(result => work(result) === name)));
	const points = (name, system) => some.filter(result => work(result) === name && result.system === system)
		.map(result => ({ rows: result.rows, value: value(result) })).sort((a, b) => a.rows - b.rows);

	return { works, systems: MAIN_SYSTEMS.filter(name => some.some(({ system }) => system === name)), points };
}

function exponents(results, measure) {
	const { works, systems, points } = curves(results, measure);
	const cell = (work, system) => exponent(points(work, system))?.toFixed(2) ?? '';
	const lines = works.map(work => [work, ...systems.map(system => cell(work, system))]);

	return [['', ...systems], ['---', ...systems.map(() => '---')], ...lines]
		.map(line => `| ${line.join(' | ')} |`).join('\n');
}

/* A file for gnuplot: a block a work, named by its first line; a line a number of rows, a column a system. */
function plotData(results, measure) {
	const { works, systems, points } = curves(results, measure);
	const line = (work, rows) => [rows, ...systems.map(system =>
		points(work, system).find(point => point.rows === rows)?.value ?? 'NaN')];
	const block = work => [[work, ...systems].map(name => `"${name}"`),
		...unique(systems.flatMap(system => points(work, system).map(point => point.rows))).sort((a, b) => a - b)
			.map(rows => line(work, rows))].map(cells => cells.join('\t')).join('\n');

	return { text: works.map(block).join('\n\n\n') + '\n', works: works.length, systems: systems.length };
}

module.exports = { MEASURES, grows, exponents, plotData };
