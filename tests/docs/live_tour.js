// live_tour.js -- presses the buttons of the tour, and leaves what it says in the page's element `report`. live.sh puts it into the page.
'use strict';

const boxes = [...document.querySelectorAll('.tour-question')];

function lineOf(box) {
	return box.nextElementSibling;
}

function answerOf(box) {
	return lineOf(box).nextElementSibling;
}

function press(line, name) {
	[...line.querySelectorAll('button')].find(({ textContent }) => textContent === name).click();
}

// What stands beside the button once there is an answer, which it does not before.
async function run(box) {
	lineOf(box).querySelector('span').textContent = 'asked';
	press(lineOf(box), 'Run');
	while (/^(asked|running)$/.test(lineOf(box).querySelector('span').textContent))
		await new Promise(resolve => setTimeout(resolve, 5));
}

function linesOf(box) {
	const error = answerOf(box).querySelector('.tour-error');
	return error ? [error.textContent] : [...answerOf(box).querySelectorAll('tr')].map(row => [...row.cells].map(cell => cell.textContent).join(' | '));
}

async function report() {
	const lines = [];
	for (const box of boxes) {
		await run(box);
		lines.push(...linesOf(box));
	}
	lines.push(`then: what was expected ${answerOf(boxes[6]).nextElementSibling.checkVisibility() ? 'IS STILL THERE' : 'is gone'}`);
	press(boxes[0].previousElementSibling, 'Start over');
	await run(boxes[5]);
	lines.push(...[boxes[1], boxes[4]].map(box => `then: ${linesOf(box).length - 1} rows before it`), ...linesOf(boxes[5]).map(line => `then: ${line}`));
	lines.push(`then: ${lineOf(boxes[6]).textContent} ${answerOf(boxes[6]).nextElementSibling.checkVisibility() ? 'and is there' : 'AND IS NOT THERE'}`);
	for (const sql of ['SELECT count(*) AS n FROM spans WHERE dur > 20', 'SELECT nothing']) {
		boxes[2].value = sql;
		await run(boxes[2]);
		lines.push(...linesOf(boxes[2]).map(line => `then: ${line}`));
	}
	/* begun and stopped at once: each box is as it was, and none says that it was stopped */
	press(boxes[0].previousElementSibling, 'Run all');
	press(boxes[0].previousElementSibling, 'Start over');
	await new Promise(resolve => setTimeout(resolve, 100));
	lines.push(`then: ${boxes.filter(box => answerOf(box).textContent !== '').length} boxes with an answer after stopping, ${lineOf(boxes[6]).textContent}`);
	return lines;
}

report().then(lines => leaveReport(lines.join('\n')), error => leaveReport(String(error.stack)));
