// box.js -- what stands beside the picture: the box for SQL, all that is known of a span, and what was left out.
//
// Names and answers are foreign text, and never become more than text in the page.
'use strict';

const box = document.getElementById('box'), question = document.getElementById('question'), state = document.getElementById('state');
const EXAMPLE = `-- Of the window in view (:t0, :t1), at most 1000 rows in 10 seconds. Tables: docs/trace2sqlite.md
SELECT name, count(*) AS n, sum(dur) AS sum_dur, max(dur) AS max_dur FROM spans
WHERE ts >= :t0 AND ts < :t1 AND dur >= 0 GROUP BY name ORDER BY sum_dur DESC LIMIT 100`;

// ---- questions ----

// Of the trace's own clock: beyond 2^53 only BigInt has every nanosecond.
function absolute(t) {
	return String(BigInt(trace.base) + BigInt(Math.floor(t)));
}

// The answer to a question, or an error that says why there is none.
async function askSql(sql) {
	const [t0, t1] = [view.t0, view.t1].map(absolute);
	const answer = await request(`sql?${new URLSearchParams({ q: sql, t0, t1 })}`);
	if (!answer.ok)
		throw new Error(await answer.text() || `the answer was ${answer.status}`);
	return answer.json();
}

function element(name, text, className) {
	const made = document.createElement(name);
	if (text !== undefined)
		made.textContent = text;
	if (className)
		made.className = className;
	return made;
}

// A row with a time can be shown in the picture.
function showPlace(columns, row) {
	const integer = name => {
		const column = columns.indexOf(name);
		return column >= 0 && row[0][column] === 'i' ? BigInt(row[column + 1]) : null;
	};
	const ts = integer('ts'), dur = integer('dur');
	if (ts === null)
		return;
	const start = Number(ts - BigInt(trace.base)), length = Number(dur ?? 0n) > 0 ? Number(dur) * 1.4 : view.t1 - view.t0;
	show(start + Math.max(0, Number(dur ?? 0n)) / 2 - length / 2, start + Math.max(0, Number(dur ?? 0n)) / 2 + length / 2);
}

function tableOf(answer) {
	const table = element('table'), head = element('tr'), hasTime = answer.columns.includes('ts');
	for (const column of answer.columns)
		head.append(element('th', column));
	table.append(head);
	for (const row of answer.rows) {
		const line = element('tr', undefined, hasTime ? 'place' : '');
		for (let i = 0; i < answer.columns.length; i++) {
			const cell = element('td', row[0][i] === 'n' ? 'NULL' : row[i + 1], row[0][i]);
			if (row[i + 1].length > 60)
				cell.title = row[i + 1].slice(0, 2000);
			line.append(cell);
		}
		if (hasTime)
			line.addEventListener('click', () => showPlace(answer.columns, row));
		table.append(line);
	}
	return table;
}

let asked = 0;                                  // which question is the last one

async function run() {
	const number = ++asked, place = document.getElementById('answer');
	state.className = '';
	state.textContent = 'asking';
	try {
		await stop();
		const answer = await askSql(question.value);
		if (number !== asked)
			return;
		place.replaceChildren(tableOf(answer));
		state.textContent = `${answer.is_cut ? 'the first ' : ''}${answer.rows.length} row${answer.rows.length === 1 ? '' : 's'}, ${answer.ms} ms`;
	} catch (error) {
		if (number !== asked)
			return;
		place.replaceChildren();
		state.className = 'error';
		state.textContent = error.message;
	}
}

function stop() {
	return request('stop');
}

function toggleBox() {
	const isOpen = box.style.display === 'flex';
	box.style.display = isOpen ? 'none' : 'flex';
	resize();
	if (isOpen)
		canvas.focus();
	else
		question.focus();
}

// ---- panels ----

function openPanel(panel, title, rows) {
	const close = element('button', '×', 'close'), table = element('table');
	close.addEventListener('click', () => { panel.style.display = 'none'; });
	for (const cells of rows) {
		const line = element('tr');
		for (const cell of cells)
			line.append(element('td', cell));
		table.append(line);
	}
	panel.replaceChildren(close, element('h2', title), table);
	panel.style.display = 'block';
}

function isOpen(panel) {
	return panel.style.display === 'block';
}

function closePanels() {
	for (const panel of document.querySelectorAll('.panel'))
		panel.style.display = 'none';
	if (selected) {
		selected = null;
		draw();
	}
}

// All columns of a row that are not empty.
async function openDetails(table, id) {
	const panel = document.getElementById('details');
	try {
		const answer = await askSql(`SELECT * FROM ${table} WHERE id = ${id}`);
		if (!answer.rows.length)
			return;
		const row = answer.rows[0], rows = [];
		answer.columns.forEach((column, i) => {
			if (row[0][i] !== 'n' && row[i + 1] !== '')
				rows.push([column, row[i + 1]]);
		});
		openPanel(panel, row[answer.columns.indexOf('name') + 1] || '(no name)', rows);
	} catch (error) {
		openPanel(panel, error.message, []);
	}
}

function nLeftOut(finding) {
	return trace.left_out.reduce((sum, line) => sum + (line[0] === finding ? line[2] : 0), 0);
}

function showLeftOut() {
	const parts = ['left out', 'mended'].filter(nLeftOut).map(finding => `${amount(nLeftOut(finding))} ${finding}`);
	document.getElementById('open-left-out').textContent = parts.length ? parts.join(', ') : 'nothing left out';
}

function toggleLeftOut() {
	const panel = document.getElementById('left-out');
	if (isOpen(panel))
		panel.style.display = 'none';
	else
		openPanel(panel, trace.left_out.length ? 'Events that are not in the picture, and what was mended to read the rest' : 'Everything in the file that was read is here',
			trace.left_out.map(([finding, what, n]) => [finding, String(n), what]));
}

question.value = EXAMPLE;
question.addEventListener('keydown', event => {
	event.stopPropagation();
	if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
		run();
	else if (event.key === 'Escape')
		toggleBox();
});
document.getElementById('run').addEventListener('click', run);
document.getElementById('stop').addEventListener('click', stop);
document.getElementById('open-box').addEventListener('click', toggleBox);
document.getElementById('open-left-out').addEventListener('click', () => trace && toggleLeftOut());
