// timeline.js -- asks what is in view, a pixel a bucket, and follows keys, wheel and pointer. picture.js draws it.
//
// A frame is asked for whenever the view changes, one at a time; until it comes the last one is drawn where it belongs now, so that
// panning and zooming are smooth however long an answer takes. Times are nanoseconds from the beginning of the trace. What is asked goes
// through request(), which is that of server.js, or of static/file.js where there is no server; they also begin, by getTrace().
'use strict';

const SHORTEST_WINDOW = 50;
const tip = document.getElementById('tip');
const view = { t0: 0, t1: 1, row: 0 };          // what is to be seen; the row is the topmost
const times = [];                               // of the last frames: from the question to the picture, in ms
let trace = null, frame = null;                 // as answers.h has them: the trace; the last frame, with the view it was asked for
let arrows = null, hasArrows = true;            // flows of the last frame; are they shown?
let selected = null;                            // a span or an instant, with its place and flows
let isAsking = false, isStale = true;
let pointer = null, pressed = null, hovered = null;
let scrolled = 0;                               // by the wheel, in pixels, and not yet by a row

// ---- answers ----

async function getTrace() {
	trace = await (await requestOrThrow('trace')).json();
	trace.rows = trace.rows.map(([kind, level, label, title, depth, hasSpans, least, most, unit]) => ({ kind, level, label, title, depth, hasSpans, least, most, unit }));
	trace.tops = [0];
	for (const row of trace.rows)
		trace.tops.push(trace.tops[trace.tops.length - 1] + heightOf(row));
	showLeftOut();
	showPart(...trace.busy);
}

// The arrays stand in frames.h.
function readFrame(buffer, asked) {
	const sizes = new Uint32Array(buffer, 0, 16), kinds = [...Array(9).fill(Float64Array), ...Array(6).fill(Int32Array), Uint8Array];
	let at = 4 * sizes.length;
	const arrays = kinds.map((kind, i) => {
		const array = new kind(buffer, at, sizes[i] / kind.BYTES_PER_ELEMENT);
		at += sizes[i];
		return array;
	});
	const [start, end, id, instantTime, instantId, time, least, most, last, row, name, instantRow, count, instantName, sampleRow, names] = arrays;
	return {
		...asked, n: start.length, names: new TextDecoder().decode(names).split('\0'),
		spans: { start, end, id, row, name },
		instants: { time: instantTime, id: instantId, row: instantRow, count, name: instantName },
		samples: { time, least, most, last, row: sampleRow },
	};
}

function rowsInView() {
	return [view.row, Math.min(trace.rows.length, rowAt(canvas.clientHeight) + 1)];
}

async function requestOrThrow(address) {
	const answer = await request(address);
	if (!answer.ok)
		throw new Error(await answer.text());
	return answer;
}

async function ask() {
	if (isAsking || !isStale || !trace)
		return;
	isAsking = true;
	isStale = false;
	const [from, to] = rowsInView();
	const asked = { t0: Math.floor(view.t0), t1: Math.ceil(view.t1), from, to }, where = new URLSearchParams(asked);
	const n = Math.max(1, Math.round(canvas.clientWidth - LABEL_WIDTH));
	const began = performance.now();
	try {
		frame = readFrame(await (await requestOrThrow(`frame?${where}&n=${n}`)).arrayBuffer(), asked);
		draw();
		if (pointer)
			hover(pointer.x, pointer.y);
		times.push(performance.now() - began);
		if (times.length > 1000)
			times.shift();
		showTimes();
		/* arrows may come later than the picture */
		if (hasArrows && !isStale)
			await askArrows(where);
	} catch (error) {
		document.getElementById('frame').textContent = error.message;
	}
	isAsking = false;
	ask();
}

async function askArrows(where) {
	arrows = await (await requestOrThrow(`arrows?${where}`)).json();
	const n = arrows.arrows.length;
	document.getElementById('flows').textContent = !n ? '' : `${n} flow${n === 1 ? '' : 's'}${arrows.all ? '' : ' of more'}`;
	draw();
}

function percentile(sorted, share) {
	return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

function showTimes() {
	const sorted = times.slice(-300).sort((a, b) => a - b);
	document.getElementById('frame').textContent = '';
	document.getElementById('times').textContent = `${times[times.length - 1].toFixed(1)} ms, 95 % of the last ${sorted.length} within ${percentile(sorted, 0.95).toFixed(1)} ms`;
}

// ---- what is under the pointer ----

function spanAt(x, y) {
	const row = rowAt(y), { start, end, row: rowOf } = frame ? frame.spans : {};
	let best = -1;
	for (let s = 0; frame && s < frame.n; s++)
		if (rowOf[s] === row && x >= xOf(start[s]) - 0.5 && x < Math.max(xOf(end[s]), xOf(start[s]) + 1) + 0.5)
			best = best < 0 || end[s] - start[s] > end[best] - start[best] ? s : best;
	return x < LABEL_WIDTH ? -1 : best;
}

function instantAt(x, y) {
	const row = rowAt(y), { time, row: rowOf } = frame ? frame.instants : {};
	let best = -1;
	for (let i = 0; frame && x >= LABEL_WIDTH && i < time.length; i++)
		if (rowOf[i] === row && Math.abs(xOf(time[i]) - x) <= 5 && (!trace.rows[row].hasSpans || y < yOf(row) + 8))
			best = best < 0 || Math.abs(xOf(time[i]) - x) < Math.abs(xOf(time[best]) - x) ? i : best;
	return best;
}

// The pixel of a counter.
function sampleAt(x, y) {
	const row = rowAt(y), { time, row: rowOf } = frame ? frame.samples : {};
	let best = -1;
	for (let i = 0; frame && x >= LABEL_WIDTH && i < time.length; i++)
		if (rowOf[i] === row && xOf(time[i]) <= x)
			best = i;
	return best;
}

// What is there, as {key, kind, ...}; null where nothing is.
function thingAt(x, y) {
	const instant = instantAt(x, y), span = instant < 0 ? spanAt(x, y) : -1, row = rowAt(y);
	if (instant >= 0)
		return { key: `instant ${frame.instants.id[instant]}`, kind: 'instant', at: instant, id: frame.instants.id[instant] };
	if (span >= 0)
		return { key: `span ${frame.spans.id[span]}`, kind: 'span', at: span, id: frame.spans.id[span] };
	if (row < 0 || row >= trace.rows.length)
		return null;
	if (x < LABEL_WIDTH)
		return { key: `row ${row}`, kind: 'row', row };
	const sample = trace.rows[row].kind === COUNTER ? sampleAt(x, y) : -1;
	return sample < 0 ? null : { key: `sample ${sample} of ${frame.t0}`, kind: 'sample', at: sample };
}

async function tipOf({ kind, at, id, row }) {
	if (kind === 'row') {
		const { label, title } = nameOf(row);
		return [label, title];
	}
	if (kind === 'sample') {
		const { least, most, last, row } = frame.samples, [from, to, end] = [least[at], most[at], last[at]];
		return [from === to ? String(end) : `${end}, from ${from} to ${to} in this pixel`, `${trace.rows[row[at]].label}, ${trace.rows[row[at]].title}`];
	}
	const answer = await request(`${kind}?id=${id}`);
	if (!answer.ok)
		return null;
	const thing = await answer.json(), name = thing.name || '(no name)', n = kind === 'instant' ? frame.instants.count[at] : 0;
	if (kind === 'instant')
		return [name, `instant at ${moment(thing.ts, 1)}, ${thing.track}, id ${id}${n > 1 ? `; ${n} in this pixel` : ''}`];
	return [name, `${(thing.dur ?? -1) < 0 ? 'never closed' : duration(thing.dur)}, from ${moment(thing.ts, 1)}, ${thing.track}, depth ${thing.depth}, id ${id}`];
}

async function hover(x, y) {
	const thing = thingAt(x, y), key = thing && thing.key;
	if (key !== null && key === hovered)
		return placeTip(x, y);
	hovered = key;
	tip.style.display = 'none';
	if (!thing)
		return;
	const text = await tipOf(thing);
	if (!text || key !== hovered)
		return;
	tip.replaceChildren(text[0].slice(0, 1000), document.createElement('br'), element('small', text[1].slice(0, 1000)));
	tip.style.display = 'block';
	placeTip(x, y);
}

// Shows all that is known of what is there, and its flows.
async function select(x, y) {
	const thing = thingAt(x, y);
	selected = null;
	draw();
	if (!thing || (thing.kind !== 'span' && thing.kind !== 'instant'))
		return closePanels();
	const { start, end, row } = frame.spans, { time, row: rowOf } = frame.instants, isSpan = thing.kind === 'span';
	const chosen = { ...thing, start: isSpan ? start[thing.at] : time[thing.at], end: isSpan ? end[thing.at] : 0, row: isSpan ? row[thing.at] : rowOf[thing.at] };
	selected = chosen;
	draw();
	await openDetails(isSpan ? 'spans' : 'instants', thing.id);
	if (!isSpan)
		return;
	chosen.arrows = (await (await requestOrThrow(`arrows?span=${thing.id}`)).json()).arrows;
	draw();
}

function placeTip(x, y) {
	tip.style.left = `${Math.min(x + 12, window.innerWidth - tip.offsetWidth - 4)}px`;
	tip.style.top = `${Math.min(y + BAR_HEIGHT + 14, window.innerHeight - tip.offsetHeight - 4)}px`;
}

// ---- moving ----

// At least half of what is in view is within the trace.
function show(t0, t1) {
	const length = Math.min(2 * trace.length, Math.max(SHORTEST_WINDOW, t1 - t0));
	view.t0 = Math.min(Math.max(t0, -length / 2), Math.max(-length / 2, trace.length - length / 2));
	view.t1 = view.t0 + length;
	isStale = true;
	draw();
	ask();
}

function showPart(t0, t1) {
	const margin = (t1 - t0) * 0.01;
	show(t0 - margin, t1 + margin);
}

function showAll() {
	showPart(0, trace.length);
}

function zoom(factor, x) {
	const t = tOf(x), least = SHORTEST_WINDOW / (view.t1 - view.t0), by = Math.max(factor, Math.min(1, least));
	show(t - (t - view.t0) * by, t + (view.t1 - t) * by);
}

function pan(share) {
	const by = share * (view.t1 - view.t0);
	show(view.t0 + by, view.t1 + by);
}

// The topmost row that may be: the one with which the last row is whole.
function lowestRow() {
	const space = canvas.clientHeight - AXIS_HEIGHT, bottom = trace.tops[trace.rows.length];
	let row = 0;
	while (row < trace.rows.length - 1 && bottom - trace.tops[row] > space)
		row++;
	return row;
}

function scroll(by) {
	view.row = Math.max(0, Math.min(view.row + by, lowestRow()));
	show(view.t0, view.t1);
}

function fitSpan(x, y) {
	const s = spanAt(x, y);
	if (s < 0)
		return;
	const start = frame.spans.start[s], end = Math.min(frame.spans.end[s], Math.max(trace.length, start));
	const middle = (start + end) / 2, length = Math.max(SHORTEST_WINDOW, 1.2 * (end - start));
	show(middle - length / 2, middle + length / 2);
}

function toggleArrows() {
	hasArrows = !hasArrows;
	arrows = null;
	document.getElementById('flows').textContent = '';
	show(view.t0, view.t1);
}

function toggleHelp() {
	const help = document.getElementById('help');
	help.style.display = isOpen(help) ? 'none' : 'block';
}

const keys = {
	w: x => zoom(0.7, x), s: x => zoom(1 / 0.7, x), a: () => pan(-0.15), d: () => pan(0.15),
	arrowleft: () => pan(-0.15), arrowright: () => pan(0.15), arrowup: () => scroll(-1), arrowdown: () => scroll(1),
	f: (x, y) => fitSpan(x, y), 0: () => showAll(), r: () => toggleArrows(), q: () => toggleBox(), escape: () => closePanels(), '?': () => toggleHelp(),
};

window.addEventListener('keydown', event => {
	const action = keys[event.key.toLowerCase()];
	if (!action || !trace || event.ctrlKey || event.metaKey || event.altKey)
		return;
	event.preventDefault();
	action(pointer ? pointer.x : (LABEL_WIDTH + canvas.clientWidth) / 2, pointer ? pointer.y : AXIS_HEIGHT);
});

canvas.addEventListener('wheel', event => {
	event.preventDefault();
	if (!trace)
		return;
	if (event.ctrlKey || event.metaKey)
		zoom(Math.exp(event.deltaY * 0.002), event.offsetX);
	else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
		pan((event.deltaX || event.deltaY) / 1000);
	else {
		scrolled += event.deltaY;
		const rows = Math.trunc(scrolled / LANE_HEIGHT);
		scrolled -= rows * LANE_HEIGHT;
		if (rows)
			scroll(rows);
	}
}, { passive: false });

canvas.addEventListener('pointerdown', event => {
	canvas.setPointerCapture(event.pointerId);
	canvas.focus();
	pressed = { x: event.offsetX, y: event.offsetY };
});
canvas.addEventListener('pointerup', event => {
	if (trace && pressed && Math.hypot(event.offsetX - pressed.x, event.offsetY - pressed.y) < 3)
		select(event.offsetX, event.offsetY);
	pressed = null;
});
canvas.addEventListener('pointermove', event => {
	if (trace && event.buttons & 1 && pointer) {
		const by = (pointer.x - event.offsetX) / (canvas.clientWidth - LABEL_WIDTH) * (view.t1 - view.t0);
		show(view.t0 + by, view.t1 + by);
	}
	pointer = { x: event.offsetX, y: event.offsetY };
	if (trace && !event.buttons)
		hover(pointer.x, pointer.y);
});
canvas.addEventListener('pointerleave', () => { pointer = null; hovered = null; tip.style.display = 'none'; });
canvas.addEventListener('dblclick', event => fitSpan(event.offsetX, event.offsetY));

function resize() {
	const ratio = window.devicePixelRatio || 1, height = window.innerHeight - BAR_HEIGHT - box.offsetHeight;
	canvas.style.marginTop = `${BAR_HEIGHT}px`;
	canvas.style.width = `${window.innerWidth}px`;
	canvas.style.height = `${height}px`;
	canvas.width = window.innerWidth * ratio;
	canvas.height = height * ratio;
	if (trace)
		scroll(0);
}

window.addEventListener('resize', resize);
resize();
