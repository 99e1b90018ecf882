/* results.js -- the results as they are kept, a line each, and as texts. */
'use strict';
const fs = require('fs');
const { rounds } = require('./systems.js');

const HEADER = 'system,order,rows,work,answer_rows,number,milliseconds,times,answer\n';

/* `rounded`: not exact, and no answer to be compared. */
function readResults(csv) {
	return fs.readFileSync(csv, 'utf8').trim().split('\n').slice(1).map(line => {
		const [, system, rest] = line.match(/^"([^"]*)",(.*)$/);
		const [order, rows, work, answerRows, number, milliseconds, times, answer] = rest.split(',');

		return { system, order, rows: Number(rows), work, answerRows: Number(answerRows), number: Number(number),
			milliseconds: Number(milliseconds), times: Number(times), answer, rounded: rounds(system, work) };
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

const isNumber = ({ work }) => /^(size|pages:|error) ?/.test(work) || work.endsWith('a second');

function text(result) {
	if (!result)
		return '';
	if (result.work.startsWith('size'))
		return `${threeDigits(result.number / result.rows)} bytes a row`;
	if (isNumber(result))
		return threeDigits(result.number) + (result.work.startsWith('error') ? ' %' : '');
	return (result.rounded ? '~' : '') + duration(result.milliseconds);
}

/* Of some rows in an order: the works in which systems do not agree, each with what they answer. */
function differences(results) {
	const asked = results.filter(({ rounded, work }) => !rounded && !work.startsWith('pages:'));

	return unique(asked.map(({ work }) => work))
		.map(work => ({ work, answers: asked.filter(result => result.work === work) }))
		.filter(({ answers }) => unique(answers.map(({ answer }) => answer)).length > 1);
}

module.exports = { HEADER, readResults, unique, threeDigits, isNumber, text, differences };
