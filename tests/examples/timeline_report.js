// timeline_report.js -- what the page shows of a small trace, line by line, and whether it is drawn where the page says. timeline.sh puts it
// into the page and compares the lines with those that it expects.
'use strict';

function nextPicture() {
	return new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)));
}

async function isSettled() {
	while (!trace || isAsking || isStale)
		await new Promise(resolve => setTimeout(resolve, 1));
}

// Red, green and blue of the picture at a place.
function pixel(x, y) {
	const ratio = window.devicePixelRatio || 1;
	return [...context.getImageData(Math.round(x * ratio), Math.round(y * ratio), 1, 1).data.slice(0, 3)];
}

function isColoured(x, y) {
	const [red, green, blue] = pixel(x, y);
	return red + green + blue > 0 && Math.min(red, green, blue) < 250;
}

// A name, and how much longer it is where it is very long.
function short(text) {
	return text.length > 60 ? `${text.slice(0, 3)} (${text.length})` : text;
}

function rowName(row) {
	return row < 0 ? 'nowhere' : `${short(nameOf(row).label)}/${trace.rows[row].depth}`;
}

function rowLines() {
	return trace.rows.map(({ kind, level, label, depth, least, most, unit }) =>
		`${'  '.repeat(level)}${label === null ? '-' : short(label)}` + ['', ` ${depth}`, ` ${least} ${most} ${unit}`][kind]);
}

function spanLines() {
	const { start, end, row, name } = frame.spans, lines = [];
	for (let s = 0; s < frame.n; s++) {
		const y = yOf(row[s]) + LANE_HEIGHT - 4, x = end[s] > start[s] ? (xOf(start[s]) + Math.min(xOf(end[s]), canvas.clientWidth)) / 2 : xOf(start[s]);
		const isDrawn = isColoured(end[s] === Infinity ? xOf(start[s]) + 10 : x, y);
		lines.push(`span ${start[s]} ${end[s]} on ${rowName(row[s])}: ${name[s] < 0 ? '' : short(frame.names[name[s]])}${isDrawn ? '' : ' IS NOT DRAWN'}`);
	}
	return lines.sort();
}

async function tipAt(x, y) {
	hovered = null;
	tip.style.display = 'none';
	await hover(x, y);
	return tip.style.display === 'block' ? short(tip.firstChild.textContent) : 'NO TIP';
}

async function instantLines() {
	const { time, row, name } = frame.instants, lines = [];
	for (let i = 0; i < time.length; i++) {
		const x = xOf(time[i]), y = yOf(row[i]) + (trace.rows[row[i]].hasSpans ? 1 : LANE_HEIGHT / 2 - 1), [red, green] = pixel(x, y);
		lines.push(`instant ${time[i]} on ${rowName(row[i])}: ${await tipAt(x, y)}${name[i] < 0 ? '' : ', named'}${red > green + 60 ? '' : ' IS NOT DRAWN'}`);
	}
	return lines.sort();
}

// A counter is where its band ends, so one of pixels from the bottom up.
function sampleLines() {
	const { time, last, row } = frame.samples;
	return [...time].map((at, i) => {
		const bottom = yOf(row[i]) + COUNTER_HEIGHT - 4, x = xOf(at) + 5;
		let height = 0;
		while (height < COUNTER_HEIGHT && isColoured(x, bottom - height))
			height++;
		return `sample ${last[i]} on ${short(trace.rows[row[i]].label)}${height > 1 ? '' : ' IS NOT DRAWN'}`;
	});
}

async function flowLines() {
	return arrows.arrows.map(arrow => {
		const [, from, fromRow, to, toRow] = arrow, x = xOf(to) - 4, y = yOf(toRow) + LANE_HEIGHT / 2 - 1, shown = pixel(x, y);
		hasArrows = false;
		draw();
		const without = pixel(x, y);
		hasArrows = true;
		draw();
		return `flow ${from} ${rowName(fromRow)} to ${to} ${rowName(toRow)}${String(shown) !== String(without) ? '' : ' IS NOT DRAWN'}`;
	});
}

async function detailLines() {
	const s = [...frame.spans.name].findIndex(name => name >= 0), { start, end, row } = frame.spans;
	const right = Math.min(end[s], trace.length);
	await select((xOf(start[s]) + xOf(right)) / 2, yOf(row[s]) + LANE_HEIGHT - 4);
	const panel = document.getElementById('details'), cells = [...panel.querySelectorAll('td')].map(cell => cell.textContent);
	const line = `details of ${short(panel.querySelector('h2').textContent)}: dur ${cells[cells.indexOf('dur') + 1]}, ${(selected.arrows || []).length} flows`;
	closePanels();
	return [line];
}

async function clickRun(sql) {
	question.value = sql;
	document.getElementById('run').click();
	while (state.textContent === 'asking')
		await new Promise(resolve => setTimeout(resolve, 5));
	const cells = [...document.querySelectorAll('#answer td')];
	return `${state.className || 'answer'}: ${cells.map(cell => short(cell.textContent)).join('|') || state.textContent}`;
}

async function boxLines() {
	const before = canvas.clientHeight, lines = [];
	toggleBox();
	lines.push(`the picture is ${canvas.clientHeight < before && canvas.clientHeight + box.offsetHeight <= window.innerHeight ? 'above' : 'UNDER'} the box`);
	lines.push(await clickRun('SELECT count(*) AS n, :t0 < :t1 FROM spans'));
	lines.push(await clickRun('SELECT name FROM spans ORDER BY id LIMIT 1'));
	lines.push(await clickRun('DELETE FROM spans'));
	lines.push(await clickRun('SELECT nothing'));
	await clickRun('SELECT ts, dur FROM spans WHERE dur > 0 ORDER BY id LIMIT 1');
	document.querySelector('#answer tr.place').click();
	const [start, end] = [frame.spans.start, frame.spans.end].map(array => array[[...frame.spans.id].indexOf(1)]);
	lines.push(`a click on a row ${view.t0 <= start && view.t1 >= end && view.t1 - view.t0 < 2 * (end - start) ? 'shows it' : 'DOES NOT SHOW IT'}`);
	toggleBox();
	showAll();
	await isSettled();
	return lines;
}

function leftOutLines() {
	const button = document.getElementById('open-left-out'), panel = document.getElementById('left-out');
	button.click();
	const cells = [...panel.querySelectorAll('td')].map(cell => cell.textContent);
	button.click();
	return [`${button.textContent}: ${cells.join(' ')}`];
}

async function reportLines() {
	await isSettled();
	await nextPicture();
	const lines = [...rowLines(), ...spanLines(), ...await instantLines(), ...sampleLines(), ...await flowLines(), ...await detailLines(), ...leftOutLines(), ...await boxLines()];
	if (window.hurt || document.images.length || document.querySelector('#answer script, .panel script'))
		lines.push('A NAME WAS TAKEN FOR MARKUP');
	return lines;
}

reportLines().then(lines => leaveReport(lines.join('\n')), error => leaveReport(String(error.stack)));
