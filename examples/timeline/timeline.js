// timeline.js -- draws what the server says of the window in view, a pixel a bucket.
//
// A frame is asked for whenever the view changes, one at a time; until it comes the last one is drawn where it belongs now, so that
// panning and zooming are smooth however long an answer takes. Times are nanoseconds from the beginning of the trace.
'use strict';

const LABEL_WIDTH = 150, BAR_HEIGHT = 22, AXIS_HEIGHT = 18, LANE_HEIGHT = 18, SHORTEST_WINDOW = 50;
const canvas = document.getElementById('canvas'), context = canvas.getContext('2d');
const tip = document.getElementById('tip');
const view = { t0: 0, t1: 1, lane: 0 };         // what is to be seen
const times = [];                               // of the last frames: from the question to the picture, in ms
let trace = null, frame = null;                 // of the server: the trace; the last frame, with the view it was asked for
let isAsking = false, isStale = true;
let pointer = null, hovered = null;
let scrolled = 0;                               // by the wheel, in pixels, and not yet by a lane

// ---- the server ----

async function getTrace() {
	trace = await (await fetch('trace')).json();
	showAll();
}

// The layout stands in server.c.
function readFrame(buffer, asked) {
	const [n, nameBytes] = new Uint32Array(buffer, 0, 2);
	const names = new TextDecoder().decode(new Uint8Array(buffer, 8 + 32 * n, nameBytes)).split('\0');
	return {
		...asked, n, names,
		start: new Float64Array(buffer, 8, n),
		end: new Float64Array(buffer, 8 + 8 * n, n),
		id: new Float64Array(buffer, 8 + 16 * n, n),
		laneOf: new Int32Array(buffer, 8 + 24 * n, n),
		name: new Int32Array(buffer, 8 + 28 * n, n),
	};
}

function lanesInView() {
	const fit = Math.ceil((canvas.clientHeight - AXIS_HEIGHT) / LANE_HEIGHT);
	return [view.lane, Math.min(trace.lanes.length, view.lane + fit)];
}

async function ask() {
	if (isAsking || !isStale || !trace)
		return;
	isAsking = true;
	isStale = false;
	const [from, to] = lanesInView();
	const asked = { t0: Math.floor(view.t0), t1: Math.ceil(view.t1), from, to };
	const n = Math.max(1, Math.round(canvas.clientWidth - LABEL_WIDTH));
	const began = performance.now();
	try {
		const answer = await fetch(`frame?t0=${asked.t0}&t1=${asked.t1}&n=${n}&from=${from}&to=${to}`);
		if (!answer.ok)
			throw new Error(await answer.text());
		frame = readFrame(await answer.arrayBuffer(), asked);
		draw();
		if (pointer)
			hover(pointer.x, pointer.y);
		times.push(performance.now() - began);
		if (times.length > 1000)
			times.shift();
		showTimes();
	} catch (error) {
		document.getElementById('frame').textContent = error.message;
	}
	isAsking = false;
	ask();
}

function percentile(sorted, share) {
	return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

function showTimes() {
	const sorted = times.slice(-300).sort((a, b) => a - b);
	document.getElementById('frame').textContent = `frame ${times[times.length - 1].toFixed(1)} ms, p95 ${percentile(sorted, 0.95).toFixed(1)} ms`;
}

// ---- pictures ----

function duration(ns) {
	for (const [unit, size] of [['s', 1e9], ['ms', 1e6], ['µs', 1e3]])
		if (Math.abs(ns) >= size)
			return `${+(ns / size).toPrecision(4)} ${unit}`;
	return `${+ns.toPrecision(4)} ns`;
}

// A moment, with as many digits as tell it from those a step away.
function moment(ns, step) {
	const [unit, size] = [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]].find(([, size]) => Math.abs(ns) >= size || size === 1);
	return `${+(ns / size).toFixed(Math.max(0, Math.ceil(Math.log10(size / step))))} ${unit}`;
}

function xOf(t) {
	return LABEL_WIDTH + (t - view.t0) / (view.t1 - view.t0) * (canvas.clientWidth - LABEL_WIDTH);
}

function tOf(x) {
	return view.t0 + (x - LABEL_WIDTH) / (canvas.clientWidth - LABEL_WIDTH) * (view.t1 - view.t0);
}

function yOf(lane) {
	return AXIS_HEIGHT + (lane - view.lane) * LANE_HEIGHT;
}

// One colour a name; spans too narrow for one are coloured by themselves.
function colour(text) {
	let hash = 0;
	for (let i = 0; i < text.length; i++)
		hash = Math.imul(hash, 31) + text.charCodeAt(i) | 0;
	return `hsl(${(hash >>> 0) % 360} 45% 72%)`;
}

// The narrow ones, of which there may be one a pixel and lane: those that touch are filled at once. They come lane by lane, in order.
function drawNarrow(width) {
	const { n, start, end, name, laneOf } = frame, scale = (width - LABEL_WIDTH) / (view.t1 - view.t0);
	let lane = -1, from = 0, to = 0;
	const fill = () => {
		if (to > from)
			context.fillRect(from, yOf(lane), to - from, LANE_HEIGHT - 2);
	};
	context.fillStyle = '#9aa7b5';
	for (let s = 0; s < n; s++) {
		if (name[s] >= 0)
			continue;
		const begin = LABEL_WIDTH + (start[s] - view.t0) * scale, left = Math.max(LABEL_WIDTH, begin);
		const right = Math.min(width, Math.max(begin + 1, LABEL_WIDTH + (end[s] - view.t0) * scale));
		if (left >= right)
			continue;
		if (laneOf[s] !== lane || left > to + 0.5) {
			fill();
			lane = laneOf[s];
			from = to = left;
		}
		to = Math.max(to, right);
	}
	fill();
}

function drawNamed(s, right) {
	const begin = xOf(frame.start[s]), left = Math.max(LABEL_WIDTH, begin);
	const width = Math.min(right, Math.max(begin + 1, xOf(frame.end[s]))) - left;
	if (width <= 0)
		return;
	const label = frame.names[frame.name[s]];
	const y = yOf(frame.laneOf[s]);
	context.fillStyle = colour(label);
	context.fillRect(left, y, width, LANE_HEIGHT - 2);
	if (width < 20)
		return;
	context.save();
	context.beginPath();
	context.rect(left, y, width - 2, LANE_HEIGHT);
	context.clip();
	context.fillStyle = '#222';
	context.fillText(label, left + 3, y + 12);
	context.restore();
}

function drawAxis(width) {
	const rough = (view.t1 - view.t0) / Math.max(1, (width - LABEL_WIDTH) / 110);
	const power = 10 ** Math.floor(Math.log10(rough));
	const step = power * [1, 2, 5, 10].find(factor => factor * power >= rough);
	context.fillStyle = '#777';
	for (let t = Math.ceil(view.t0 / step) * step; t < view.t1; t += step) {
		context.fillRect(Math.round(xOf(t)), 0, 1, AXIS_HEIGHT);
		context.fillText(moment(t, step), xOf(t) + 3, 12);
	}
}

function drawLabels(height) {
	const [from, to] = lanesInView();
	context.fillStyle = '#f7f7f5';
	context.fillRect(0, AXIS_HEIGHT, LABEL_WIDTH - 4, height);
	for (let lane = from; lane < to; lane++) {
		const [track, depth] = trace.lanes[lane];
		const isFirst = lane === from || trace.lanes[lane - 1][0] !== track;
		context.fillStyle = isFirst ? '#222' : '#aaa';
		context.fillText(isFirst ? track : String(depth), isFirst ? 6 : LABEL_WIDTH - 20, yOf(lane) + 12, LABEL_WIDTH - 14);
	}
}

function draw() {
	const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.clearRect(0, 0, width, height);
	context.font = '11px system-ui, sans-serif';
	if (frame)
		drawNarrow(width);
	for (let s = 0; frame && s < frame.n; s++)
		if (frame.name[s] >= 0)
			drawNamed(s, width);
	if (trace) {
		drawAxis(width);
		drawLabels(height);
		document.getElementById('window').textContent = duration(view.t1 - view.t0);
		document.getElementById('where').textContent = `from ${moment(view.t0, (view.t1 - view.t0) / 1000)}; ? for help`;
	}
}

// ---- what is under the pointer ----

function spanAt(x, y) {
	const lane = view.lane + Math.floor((y - AXIS_HEIGHT) / LANE_HEIGHT);
	let best = -1;
	for (let s = 0; frame && s < frame.n; s++)
		if (frame.laneOf[s] === lane && x >= xOf(frame.start[s]) - 0.5 && x < Math.max(xOf(frame.end[s]), xOf(frame.start[s]) + 1) + 0.5)
			best = best < 0 || frame.end[s] - frame.start[s] > frame.end[best] - frame.start[best] ? s : best;
	return x < LABEL_WIDTH ? -1 : best;
}

async function hover(x, y) {
	const s = spanAt(x, y), id = s < 0 ? null : frame.id[s];
	if (id !== null && id === hovered)
		return placeTip(x, y);
	hovered = id;
	tip.style.display = 'none';
	if (id === null)
		return;
	const answer = await fetch(`span?id=${id}`);
	if (!answer.ok || id !== hovered)
		return;
	const span = await answer.json();
	tip.replaceChildren(span.name ?? '(no name)', document.createElement('br'));
	const small = document.createElement('small');
	small.textContent = `${span.dur < 0 ? 'unfinished' : duration(span.dur ?? 0)}, from ${moment(span.ts, 1)}, ${span.track}, depth ${span.depth}, id ${id}`;
	tip.append(small);
	tip.style.display = 'block';
	placeTip(x, y);
}

function placeTip(x, y) {
	tip.style.left = `${Math.min(x + 12, window.innerWidth - tip.offsetWidth - 4)}px`;
	tip.style.top = `${Math.min(y + BAR_HEIGHT + 14, window.innerHeight - tip.offsetHeight - 4)}px`;
}

// ---- moving ----

// Never beyond half a trace on either side.
function show(t0, t1) {
	const margin = trace.length / 2, least = -margin, most = trace.length + margin;
	const length = Math.min(most - least, Math.max(SHORTEST_WINDOW, t1 - t0));
	view.t0 = Math.min(Math.max(t0, least), most - length);
	view.t1 = view.t0 + length;
	isStale = true;
	draw();
	ask();
}

function showAll() {
	show(-trace.length * 0.01, trace.length * 1.01);
}

function zoom(factor, x) {
	const t = tOf(x), least = SHORTEST_WINDOW / (view.t1 - view.t0), by = Math.max(factor, Math.min(1, least));
	show(t - (t - view.t0) * by, t + (view.t1 - t) * by);
}

function pan(share) {
	const by = share * (view.t1 - view.t0);
	show(view.t0 + by, view.t1 + by);
}

function scroll(by) {
	const fit = Math.floor((canvas.clientHeight - AXIS_HEIGHT) / LANE_HEIGHT);
	view.lane = Math.max(0, Math.min(view.lane + by, trace.lanes.length - fit));
	show(view.t0, view.t1);
}

function fitSpan(x, y) {
	const s = spanAt(x, y);
	if (s < 0)
		return;
	const middle = (frame.start[s] + frame.end[s]) / 2, length = Math.max(SHORTEST_WINDOW, 1.2 * (frame.end[s] - frame.start[s]));
	show(middle - length / 2, middle + length / 2);
}

const keys = {
	w: x => zoom(0.7, x), s: x => zoom(1 / 0.7, x), a: () => pan(-0.15), d: () => pan(0.15),
	arrowleft: () => pan(-0.15), arrowright: () => pan(0.15), arrowup: () => scroll(-1), arrowdown: () => scroll(1),
	f: (x, y) => fitSpan(x, y), 0: () => showAll(),
	'?': () => { const help = document.getElementById('help'); help.style.display = help.style.display === 'block' ? 'none' : 'block'; },
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
		const lanes = Math.trunc(scrolled / LANE_HEIGHT);
		scrolled -= lanes * LANE_HEIGHT;
		if (lanes)
			scroll(lanes);
	}
}, { passive: false });

canvas.addEventListener('pointerdown', event => canvas.setPointerCapture(event.pointerId));
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
	const ratio = window.devicePixelRatio || 1;
	canvas.style.marginTop = `${BAR_HEIGHT}px`;
	canvas.style.width = `${window.innerWidth}px`;
	canvas.style.height = `${window.innerHeight - BAR_HEIGHT}px`;
	canvas.width = window.innerWidth * ratio;
	canvas.height = (window.innerHeight - BAR_HEIGHT) * ratio;
	if (trace)
		scroll(0);
}

window.addEventListener('resize', resize);
resize();
getTrace();
