/* report.js -- the results as a page, a CSV file and what plot.gp draws. Only works whose answers agree among all systems show
 * times. */
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');
const { spawnSync } = require('child_process');

const HEADER = 'system,order,rows,work,answer_rows,number,milliseconds,times,answer\n';

function readResults(csv) {
	return fs.readFileSync(csv, 'utf8').trim().split('\n').slice(1).map(line => {
		const [, system, rest] = line.match(/^"([^"]*)",(.*)$/);
		const [order, rows, work, answerRows, number, milliseconds, times, answer] = rest.split(',');

		return { system, order, rows: Number(rows), work, answerRows: Number(answerRows), number: Number(number),
			milliseconds: Number(milliseconds), times: Number(times), answer };
	});
}

const unique = list => [...new Set(list)];

/* Three digits. */
function threeDigits(number) {
	return number >= 100 ? number.toFixed(0) : Number(number.toPrecision(3)).toString();
}

function duration(ms) {
	if (ms >= 1000)
		return `${threeDigits(ms / 1000)} s`;
	return ms >= 1 ? `${threeDigits(ms)} ms` : `${threeDigits(ms * 1000)} µs`;
}

function cell(result) {
	if (!result)
		return '';
	if (result.work.startsWith('size'))
		return `${threeDigits(result.number / result.rows)} bytes a row`;
	return result.work.endsWith('a second') ? threeDigits(result.number) : duration(result.milliseconds);
}

/* The table of one size and order: a line a work, a column a system. Works whose answers differ are named in `differ`. */
function table(results, differ) {
	const systems = unique(results.map(result => result.system)), lines = [];

	lines.push(`| | ${systems.join(' | ')} |`, `|---|${systems.map(() => '---|').join('')}`);
	for (const work of unique(results.map(result => result.work))) {
		const row = results.filter(result => result.work === work), answers = unique(row.map(result => result.answer));

		if (answers.length > 1) {
			differ.push(`${work}, ${row[0].rows} rows ${row[0].order}: ` +
				row.map(result => `${result.system} ${result.answer}`).join('; '));
			lines.push(`| ${work} | ${systems.map(() => 'answers differ').join(' | ')} |`);
		} else {
			const cells = systems.map(system => cell(row.find(result => result.system === system)));

			lines.push(`| ${work} | ${cells.join(' | ')} |`);
		}
	}
	return lines.join('\n');
}

/* A file for gnuplot: a line a work, a column a system, milliseconds. */
function plotData(results) {
	const timed = results.filter(result => result.answer !== ''), systems = unique(timed.map(result => result.system));
	const find = (work, system) => timed.find(result => result.work === work && result.system === system);
	const lines = [['work', ...systems].map(name => `"${name}"`)];

	for (const work of unique(timed.map(result => result.work)))
		lines.push([`"${work}"`, ...systems.map(system => find(work, system)?.milliseconds ?? 'NaN')]);
	return lines.map(line => line.join('\t') + '\n').join('');
}

function machine() {
	const cpus = os.cpus();

	return `${cpus[0].model}, ${cpus.length} cores, ${Math.round(os.totalmem() / 1048576)} MB, ` +
		`${os.type()} ${os.release()}`;
}

/* Draws the results, if gnuplot is there. Returns whether it is. */
function plot(results, data, picture) {
	const n = unique(results.map(result => result.system)).length;

	fs.writeFileSync(data, plotData(results));
	return spawnSync('gnuplot', ['-e', `data='${data}'; picture='${picture}'; n=${n}`, path.join(__dirname, 'plot.gp')],
		{ stdio: ['ignore', 'ignore', 'inherit'] }).status === 0;
}

/* Returns whether all answers agree. */
function writeReport(csv, folder, size) {
	const results = readResults(csv), day = new Date().toISOString().slice(0, 10);
	const base = path.join(folder, `${day}_${size}`);
	const differ = [], parts = [`# Side by side, ${size}, ${day}`,
		`${machine()}. Medians, as a client sees them; load when this was written: ${os.loadavg()[0].toFixed(1)}. ` +
		'What is measured, and how: [README](../README.md#side-by-side).'];

	fs.mkdirSync(folder, { recursive: true });
	fs.copyFileSync(csv, `${base}.csv`);
	for (const rows of unique(results.map(result => result.rows)))
		for (const order of unique(results.map(result => result.order))) {
			const some = results.filter(result => result.rows === rows && result.order === order);
			const picture = `${base}_${rows}_${order.replace(/\W+/g, '_')}.svg`;

			parts.push(`## ${rows} rows, ${order}`, table(some, differ));
			if (plot(some, `${csv}.plot`, picture))
				parts.push(`![milliseconds, logarithmic](${path.basename(picture)})`);
		}
	if (differ.length > 0)
		parts.push('## Answers that differ', differ.map(line => `- ${line}`).join('\n'));
	fs.writeFileSync(`${base}.md`, parts.join('\n\n') + '\n');
	console.log(`${base}.md${differ.length > 0 ? `: ANSWERS DIFFER\n${differ.join('\n')}` : ''}`);
	return differ.length === 0;
}

module.exports = { HEADER, readResults, writeReport };
