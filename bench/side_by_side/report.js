/* report.js -- the results as a page, a CSV file and plots. Only works whose answers agree among all systems show times. */
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');
const { spawnSync } = require('child_process');
const { readResults, unique, isNumber, text, differences } = require('./results.js');
const { clientsTable } = require('./clients_table.js');
const { summary, MAIN_SYSTEMS, MAIN_WORKS } = require('./summary.js');
const { MEASURES, grows, exponents, plotData } = require('./growth.js');
const { errorName, PARTS } = require('./rollup.js');

/* The table of one size and order: a line a work, a column a system. */
function table(results, differing) {
	const systems = unique(results.map(({ system }) => system));
	const works = unique(results.map(({ work }) => work)).filter(work => !/^(pages:|error)/.test(work));
	const cell = (work, system) => differing.includes(work) ? 'answers differ' :
		text(results.find(result => result.work === work && result.system === system));

	return [`| | ${systems.join(' | ')} |`, `|---|${systems.map(() => '---|').join('')}`,
		...works.map(work => `| ${work} | ${systems.map(system => cell(work, system)).join(' | ')} |`)].join('\n');
}

/* ---- plots ---- */

/* Draws `data` by a script of gnuplot, if that is there; the picture as Markdown, or nothing. */
function plot(script, data, picture, title, variables) {
	const scratch = `${picture}.data`;

	fs.writeFileSync(scratch, data);
	const set = Object.entries({ data: scratch, picture, ...variables })
		.map(([name, value]) => `${name}=${typeof value === 'number' ? value : `'${value}'`}`).join('; ');
	const drawn = spawnSync('gnuplot', ['-e', set, path.join(__dirname, script)],
		{ stdio: ['ignore', 'ignore', 'inherit'] });

	fs.rmSync(scratch);
	return drawn.status === 0 ? [`![${title}](${path.basename(picture)})`] : [];
}

const lines = rows => rows.map(cells => cells.join('\t') + '\n').join('');

/* The main works: a line a work, a column a system, milliseconds. */
function plotTimes(results, picture) {
	const timed = results.filter(({ answer }) => answer !== '');
	const systems = MAIN_SYSTEMS.filter(name => timed.some(({ system }) => system === name));
	const find = (work, system) => timed.find(result => result.work === work && result.system === system);
	const works = MAIN_WORKS.filter(name => timed.some(({ work }) => work === name));

	return systems.length === 0 ? [] : plot('plot.gp', lines([['work', ...systems].map(name => `"${name}"`),
		...works.map(work => [`"${work}"`, ...systems.map(system => find(work, system)?.milliseconds ?? 'NaN')])]),
	picture, 'milliseconds, logarithmic', { n: systems.length });
}

/* ---- parts of the page ---- */

function errorPart(results, base) {
	const numberOf = (part, which) => results.find(({ work }) => work === errorName(part, which))?.number;
	const known = PARTS.map(part => [part, numberOf(part, 'median'), numberOf(part, 'largest')])
		.filter(([, median]) => median !== undefined);

	if (known.length === 0)
		return [];
	return ['The error of a roll-up by the minute, a minute being 1/1440 of all time: of the sum in windows at random ' +
		'places, in percent of the sum.',
	['| window | median | largest |', '|---|---|---|',
		...known.map(([part, median, largest]) => `| ${Number((part * 100).toPrecision(3))} % of all time, ` +
			`${Number((part * 1440).toPrecision(3))} minutes | ${median} % | ${largest} % |`)].join('\n'),
	...plot('error.gp', lines(known.map(([part, median, largest]) => [part * 1440, median, largest])),
		`${base}_rollup_error.svg`, 'the error of a roll-up, logarithmic', {})];
}

function growthPart(results, base) {
	if (!grows(results))
		return [];
	return ['## Growth', 'Fitted exponents over the numbers of rows, by least squares on the logarithms: 1 grows as the ' +
		'rows do, 0 not at all. Pages are those that a new connection asks its engine for.',
	...MEASURES.flatMap(measure => {
		const { text: data, ...counts } = plotData(results, measure);

		return counts.works === 0 ? [] : [`${measure.label}:`, exponents(results, measure),
			...plot('growth.gp', data, `${base}_growth_${measure.name}.svg`, `${measure.name}, logarithmic`,
				{ label: measure.label, ...counts })];
	})];
}

function machine() {
	const cpus = os.cpus();

	return `${cpus[0].model}, ${cpus.length} cores, ${Math.round(os.totalmem() / 1048576)} MB, ` +
		`${os.type()} ${os.release()}`;
}

/* The main works, where there are systems to compare; in a file of its own, too. */
function summaryPart(results, name, differing) {
	const lines = summary(results, differing);

	if (lines.length === 0)
		return [];
	fs.writeFileSync(`${name}_summary.md`, lines.join('\n') + '\n');
	return [lines.join('\n'), ...plotTimes(results, `${name}.svg`)];
}

function clientsPart(results, name) {
	const clients = clientsTable(results);

	if (clients === '')
		return [];
	fs.writeFileSync(`${name}_clients.md`, clients + '\n');
	return ['### The walk, clients, rows that are appended', clients];
}

/* Of some rows in an order. */
function part(results, base, differing) {
	const [{ rows, order }] = results, name = `${base}_${rows}_${order.replace(/\W+/g, '_')}`;

	return [`## ${rows} rows, ${order}`, ...summaryPart(results, name, differing),
		...clientsPart(results, name), '### All works',
		...(results.some(({ rounded }) => rounded) ? ['~: rounded to whole minutes, not exact.'] : []),
		table(results, differing), ...errorPart(results, name)];
}

/* Returns whether all answers agree. `rows`: those that have a part of their own. */
function writeReport(csv, folder, size, rows) {
	const day = new Date().toISOString().slice(0, 10), base = path.join(folder, `${day}_${size}`);
	const results = readResults(csv);
	const keys = unique(results.map(result => JSON.stringify([result.rows, result.order]))).map(key => JSON.parse(key));
	const of = ([n, order]) => results.filter(result => result.rows === n && result.order === order);
	const differing = keys.flatMap(key => differences(of(key)).map(({ work, answers }) =>
		`${work}, ${key.join(' rows ')}: ` + answers.map(({ system, answer }) => `${system} ${answer}`).join('; ')));
	const parts = [`# Side by side, ${size}, ${day}`,
		`${machine()}. Medians, as a client sees them; load when this was written: ${os.loadavg()[0].toFixed(1)}. ` +
		'What is measured, and how: [README](../README.md#side-by-side).'];

	fs.mkdirSync(folder, { recursive: true });
	for (const key of keys.filter(([n]) => rows.includes(n)))
		parts.push(...part(of(key), base, differences(of(key)).map(({ work }) => work)));
	parts.push(...growthPart(results, base));
	if (differing.length > 0)
		parts.push('## Answers that differ', differing.map(line => `- ${line}`).join('\n'));
	fs.writeFileSync(`${base}.md`, parts.join('\n\n') + '\n');
	console.log(`${base}.md${differing.length > 0 ? `: ANSWERS DIFFER\n${differing.join('\n')}` : ''}`);
	return differing.length === 0;
}

module.exports = { writeReport };
