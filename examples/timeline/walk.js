// walk.js -- replays a walk through the trace by the page's own keys and wheel, as a hand does it, and leaves a report in the page.
// tests/examples/timeline.sh puts it into the page and reads the report. Nothing here is random, so each walk is the same.
'use strict';

// 300 moves: into the middle, along, out, to the left and into a corner, up and down rows, back to the whole.
const MOVES = [
	...Array(40).fill('w'), ...Array(40).fill('d'), ...Array(30).fill('s'), ...Array(30).fill('a'), ...Array(30).fill('w'),
	...Array(20).fill('ArrowRight'), ...Array(10).fill('ArrowDown'), ...Array(10).fill('ArrowUp'), ...Array(20).fill('wheel in'),
	...Array(20).fill('wheel right'), ...Array(40).fill('wheel out'), ...Array(9).fill('a'), '0',
];

function picture() {
	return new Promise(resolve => requestAnimationFrame(resolve));
}

async function settled() {
	while (isAsking || isStale)
		await new Promise(resolve => setTimeout(resolve, 1));
}

function move(name) {
	const x = LABEL_WIDTH + (canvas.clientWidth - LABEL_WIDTH) * 0.6, y = BAR_HEIGHT + 40;
	const wheel = { 'wheel in': { deltaY: -100, ctrlKey: true }, 'wheel out': { deltaY: 100, ctrlKey: true }, 'wheel right': { deltaX: 120 } }[name];
	if (wheel)
		canvas.dispatchEvent(new WheelEvent('wheel', { ...wheel, clientX: x, clientY: y, bubbles: true, cancelable: true }));
	else
		window.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true }));
}

// The picture must show each label where the page says its span is, and the pointer must find that span there.
async function checkLabels() {
	const found = [], { start, end, id, name, row: rowOf } = frame.spans;
	for (let s = 0; s < frame.n && found.length < 20; s++) {
		const left = Math.max(xOf(start[s]), LABEL_WIDTH), right = Math.min(xOf(end[s]), canvas.clientWidth);
		if (name[s] < 0 || right - left < 40 || yOf(rowOf[s] + 1) > canvas.clientHeight)
			continue;
		const x = (left + right) / 2, y = yOf(rowOf[s]) + LANE_HEIGHT / 2;
		const ratio = window.devicePixelRatio || 1;
		const inside = context.getImageData((left + 1) * ratio, (y + LANE_HEIGHT / 2 - 3) * ratio, 1, 1).data;
		tip.style.display = 'none';
		hovered = null;
		await hover(x, y);
		found.push({
			label: frame.names[name[s]], hover: tip.firstChild ? tip.firstChild.textContent : null,
			isDrawn: inside[3] === 255, isShown: tip.style.display === 'block', id: id[s],
		});
	}
	return found;
}

// What the last picture has in the column of pixels beside the rows' names.
function isEmptyAtLeft() {
	const ratio = window.devicePixelRatio || 1;
	const pixels = context.getImageData(LABEL_WIDTH * ratio, AXIS_HEIGHT * ratio, 2, (canvas.clientHeight - AXIS_HEIGHT) * ratio).data;
	return pixels.every(value => value === 0);
}

// The labels of the axis, as they are drawn.
function axis() {
	const labels = [], fillText = context.fillText;
	context.fillText = (text, x, y) => y === 12 && labels.push(text);
	draw();
	context.fillText = fillText;
	draw();
	return labels;
}

// At the ends of what can be shown.
async function checkLimits() {
	showAll();
	await settled();
	Object.assign(view, { t0: trace.length * 1.2, t1: trace.length * 1.4 });
	draw();
	const limits = { isEmptyBehindTheEnd: isEmptyAtLeft() };
	show(trace.length / 3, trace.length / 3 + SHORTEST_WINDOW);
	const t0 = view.t0, labels = axis();
	move('w');
	limits.staysAtDeepestZoom = view.t0 === t0;
	limits.axisTellsMomentsApart = labels.length > 2 && new Set(labels).size === labels.length;
	const height = window.innerHeight;
	window.innerHeight = 200;
	resize();
	for (let i = 0; i < 10; i++)
		canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: 2, bubbles: true, cancelable: true }));
	limits.touchpadScrollsByPixels = view.row === 1;
	for (let i = 0; i < trace.rows.length; i++)
		move('ArrowDown');
	limits.lastRowIsWhole = yOf(trace.rows.length) <= canvas.clientHeight;
	window.innerHeight = height;
	resize();
	const bottom = yOf(trace.rows.length);
	limits.firstRowsComeBack = bottom <= canvas.clientHeight && (view.row === 0 || bottom + heightOf(trace.rows[view.row - 1]) > canvas.clientHeight);
	tip.style.display = 'none';
	showAll();
	await settled();
	return limits;
}

async function walk() {
	await settled();
	times.length = 0;
	const spans = [];
	let labels = [];
	for (let m = 0; m < MOVES.length; m++) {
		move(MOVES[m]);
		await settled();
		await picture();
		spans.push(frame.n);
		if (m % 50 === 49)
			labels = labels.concat(await checkLabels());
	}
	const sorted = times.slice().sort((a, b) => a - b);
	const report = {
		moves: MOVES.length, frames: times.length, median_ms: percentile(sorted, 0.5), p95_ms: percentile(sorted, 0.95), most_ms: sorted[sorted.length - 1],
		spans: spans.reduce((a, b) => a + b, 0) / spans.length, labels,
		limits: await checkLimits(),
	};
	return report;
}

function leave(report) {
	const element = document.createElement('pre');
	element.id = 'report';
	element.hidden = true;
	element.textContent = JSON.stringify(report);
	document.body.append(element);
}

walk().then(leave, error => leave({ error: String(error) }));
