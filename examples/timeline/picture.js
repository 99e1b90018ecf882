// picture.js -- draws the last frame where it belongs in the view of now: rows and their names, spans, instants, counters, flows.
'use strict';

const LABEL_WIDTH = 220, BAR_HEIGHT = 24, AXIS_HEIGHT = 18, LANE_HEIGHT = 18, HEADING_HEIGHT = 20, COUNTER_HEIGHT = 38, INDENT = 10;
const HEADING = 0, SPANS = 1, COUNTER = 2;      // kinds of rows
const canvas = document.getElementById('canvas'), context = canvas.getContext('2d');
const fitted = new Map();                       // texts that were cut, by text and width

// ---- words ----

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

function amount(value) {
	for (const [unit, size] of [['T', 1e12], ['G', 1e9], ['M', 1e6], ['k', 1e3]])
		if (Math.abs(value) >= size)
			return `${+(value / size).toPrecision(4)} ${unit}`;
	return String(+value.toPrecision(4));
}

// Two amounts, with as many digits as tell them apart.
function range(least, most) {
	const isTold = least === most || amount(least) !== amount(most);
	return isTold ? `${amount(least)} to ${amount(most)}` : `${+least.toPrecision(10)} to ${+most.toPrecision(10)}`;
}

// As much of a text as fits, in the font that is set.
function fit(text, width) {
	const key = `${context.font} ${width} ${text}`;
	let short = fitted.get(key);
	if (short !== undefined)
		return short;
	short = text.slice(0, 400);
	if (context.measureText(short).width > width || short.length < text.length) {
		let from = 0, to = short.length;
		while (from < to) {
			const middle = (from + to + 1) >> 1;
			if (context.measureText(`${text.slice(0, middle)}…`).width <= width)
				from = middle;
			else
				to = middle - 1;
		}
		short = from > 0 ? `${text.slice(0, from)}…` : '';
	}
	if (fitted.size > 5000)
		fitted.clear();
	fitted.set(key, short);
	return short;
}

// ---- places ----

function xOf(t) {
	return LABEL_WIDTH + (t - view.t0) / (view.t1 - view.t0) * (canvas.clientWidth - LABEL_WIDTH);
}

function tOf(x) {
	return view.t0 + (x - LABEL_WIDTH) / (canvas.clientWidth - LABEL_WIDTH) * (view.t1 - view.t0);
}

function yOf(row) {
	return AXIS_HEIGHT + trace.tops[row] - trace.tops[view.row];
}

// The row at a height; trace.rows.length behind the last one.
function rowAt(y) {
	let row = view.row;
	while (row < trace.rows.length && yOf(row + 1) <= y)
		row++;
	return y < AXIS_HEIGHT ? -1 : row;
}

function heightOf(row) {
	return { [HEADING]: HEADING_HEIGHT, [SPANS]: LANE_HEIGHT, [COUNTER]: COUNTER_HEIGHT }[row.kind];
}

// ---- spans ----

// One colour a name; spans too narrow for one are grey.
function colour(text) {
	let hash = 0;
	for (let i = 0; i < text.length; i++)
		hash = Math.imul(hash, 31) + text.charCodeAt(i) | 0;
	return `hsl(${(hash >>> 0) % 360} 45% 72%)`;
}

// The narrow ones, of which there may be one a pixel and row: those that touch are filled at once. They come row by row, in order.
// What takes no time is a line.
function drawNarrow(width) {
	const { start, end, name, row: rowOf } = frame.spans, scale = (width - LABEL_WIDTH) / (view.t1 - view.t0);
	const points = [];
	let row = -1, from = 0, to = 0;
	const fill = () => {
		if (to > from)
			context.fillRect(from, yOf(row), to - from, LANE_HEIGHT - 2);
	};
	context.fillStyle = '#9aa7b5';
	for (let s = 0; s < frame.n; s++) {
		if (name[s] >= 0)
			continue;
		const begin = LABEL_WIDTH + (start[s] - view.t0) * scale, left = Math.max(LABEL_WIDTH, begin);
		const right = Math.min(width, Math.max(begin + 1, LABEL_WIDTH + (end[s] - view.t0) * scale));
		if (left >= right)
			continue;
		if (start[s] === end[s])
			points.push(left, rowOf[s]);
		if (rowOf[s] !== row || left > to + 0.5 || left < from) {
			fill();
			row = rowOf[s];
			from = to = left;
		}
		to = Math.max(to, right);
	}
	fill();
	context.fillStyle = '#4d5b6a';
	for (let i = 0; i < points.length; i += 2)
		context.fillRect(points[i] - 0.5, yOf(points[i + 1]), 2, LANE_HEIGHT - 2);
}

// One that was never closed fades away.
function fading(from, to, label) {
	const gradient = context.createLinearGradient(from, 0, to, 0);
	gradient.addColorStop(0, colour(label));
	gradient.addColorStop(1, '#fff');
	return gradient;
}

function drawNamed(s, right) {
	const { start, end, name, row } = frame.spans;
	const begin = xOf(start[s]), left = Math.max(LABEL_WIDTH, begin);
	const width = Math.min(right, Math.max(begin + 1, xOf(end[s]))) - left;
	if (width <= 0)
		return;
	const label = frame.names[name[s]], y = yOf(row[s]);
	context.fillStyle = end[s] === Infinity ? fading(left, right, label) : colour(label);
	context.fillRect(left, y, width, LANE_HEIGHT - 2);
	if (width < 20)
		return;
	context.fillStyle = '#222';
	context.fillText(fit(label, Math.floor(width - 5)), left + 3, y + 12);
}

function drawSelected(width) {
	if (!selected || selected.kind !== 'span' || selected.row < 0)
		return;
	const left = Math.max(LABEL_WIDTH, xOf(selected.start)), right = Math.min(width, Math.max(xOf(selected.end), xOf(selected.start) + 2));
	context.strokeStyle = '#222';
	context.lineWidth = 1.5;
	if (right > left)
		context.strokeRect(left, yOf(selected.row) + 0.5, right - left, LANE_HEIGHT - 3);
	context.lineWidth = 1;
}

// ---- instants ----

// Above spans a mark that hangs from the top, which is a line where they crowd; on a row of its own one with a name.
function drawInstants(width) {
	const { time, row, name } = frame.instants;
	let marked = -Infinity;
	for (let i = 0; i < time.length; i++) {
		const x = xOf(time[i]), y = yOf(row[i]), hasName = name[i] >= 0, middle = y + LANE_HEIGHT / 2 - 1;
		if (x < LABEL_WIDTH || x > width)
			continue;
		context.fillStyle = '#b3261e';
		if (i > 0 && row[i - 1] === row[i] && x - marked >= 0 && x - marked < 8) {
			context.fillRect(x - 0.5, y - 1, 1, 4);
			continue;
		}
		marked = x;
		context.beginPath();
		if (trace.rows[row[i]].hasSpans) {
			context.moveTo(x - 3.5, y - 1);
			context.lineTo(x + 3.5, y - 1);
			context.lineTo(x, y + 6);
		} else {
			context.moveTo(x, middle - 4.5);
			context.lineTo(x + 4.5, middle);
			context.lineTo(x, middle + 4.5);
			context.lineTo(x - 4.5, middle);
		}
		context.fill();
		if (!hasName)
			continue;
		let next = width;
		if (i + 1 < time.length && row[i + 1] === row[i])
			next = Math.min(width, xOf(time[i + 1]));
		context.fillStyle = '#555';
		if (next - x > 40)
			context.fillText(fit(frame.names[name[i]], Math.floor(next - x - 14)), x + 7, y + 12);
	}
}

// ---- counters ----

// Between which values a counter is drawn: from zero on, unless it hardly changes.
function rangeOf(row) {
	const isFlat = row.least > 0 && row.most - row.least < 0.3 * row.most;
	const low = isFlat ? row.least - (row.most - row.least) * 0.1 : Math.min(0, row.least), high = Math.max(row.most, isFlat ? low : 0);
	return [low, high > low ? high : low + 1];
}

function drawCounters(width) {
	const { time, least, most, last, row } = frame.samples;
	for (let i = 0; i < time.length; i++) {
		const [low, high] = rangeOf(trace.rows[row[i]]);
		const bottom = yOf(row[i]) + COUNTER_HEIGHT - 3, scale = (COUNTER_HEIGHT - 6) / (high - low);
		const isLast = i + 1 === time.length || row[i + 1] !== row[i];
		const left = Math.max(LABEL_WIDTH, xOf(time[i])), right = Math.min(width, xOf(isLast ? frame.t1 : time[i + 1]));
		const heightAt = value => (value - low) * scale, zero = heightAt(Math.max(low, Math.min(0, high)));
		if (right <= left)
			continue;
		const height = heightAt(last[i]);
		context.fillStyle = '#d3e2f2';
		context.fillRect(left, bottom - Math.max(height, zero), right - left, Math.abs(height - zero));
		context.fillStyle = '#3b6ea5';
		context.fillRect(left, bottom - height - 0.5, right - left, 1);
		context.fillRect(left, bottom - heightAt(most[i]) - 0.5, 1, (most[i] - least[i]) * scale + 1);
	}
}

// ---- flows ----

function drawArrow([, from, fromRow, to, toRow]) {
	if (fromRow < 0 || toRow < 0)
		return;
	const x0 = xOf(from), y0 = yOf(fromRow) + LANE_HEIGHT / 2 - 1, x1 = xOf(to), y1 = yOf(toRow) + LANE_HEIGHT / 2 - 1;
	const bend = Math.min(80, Math.max(12, Math.abs(x1 - x0) / 2));
	context.beginPath();
	context.moveTo(x0, y0);
	context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
	context.stroke();
	context.beginPath();
	context.moveTo(x1, y1);
	context.lineTo(x1 - 6, y1 - 3);
	context.lineTo(x1 - 6, y1 + 3);
	context.fill();
}

function drawArrows(width, height) {
	context.save();
	context.beginPath();
	context.rect(LABEL_WIDTH, AXIS_HEIGHT, width, height);
	context.clip();
	/* many are to be looked through */
	context.strokeStyle = context.fillStyle = arrows && arrows.arrows.length > 60 ? '#6a3d9a50' : '#6a3d9aa0';
	if (hasArrows && arrows)
		arrows.arrows.forEach(drawArrow);
	context.strokeStyle = context.fillStyle = '#4a148c';
	context.lineWidth = 1.5;
	if (selected && selected.arrows)
		selected.arrows.forEach(drawArrow);
	context.restore();
}

// ---- rows ----

function drawHeadings(width, from, to) {
	context.fillStyle = '#eceae4';
	for (let row = from; row < to; row++)
		if (trace.rows[row].kind === HEADING)
			context.fillRect(0, yOf(row), width, HEADING_HEIGHT - 2);
}

function drawLabel(row, isFirst) {
	const { kind, level, label, depth, least, most, unit } = trace.rows[row];
	const x = 6 + INDENT * level, y = yOf(row), name = isFirst && label === null ? nameOf(row).label : label;
	if (kind === HEADING)
		context.font = 'bold 11px system-ui, sans-serif';
	if (name !== null) {
		context.fillStyle = '#222';
		context.fillText(fit(name, LABEL_WIDTH - x - (kind === SPANS ? 26 : 8)), x, y + 12);
	}
	context.font = '11px system-ui, sans-serif';
	context.fillStyle = '#999';
	if (kind === SPANS && depth > 0)
		context.fillText(String(depth), LABEL_WIDTH - 20, y + 12);
	else if (kind === COUNTER)
		context.fillText(fit(`${range(least, most)}${unit ? ` ${unit}` : ''}`, LABEL_WIDTH - x - 8), x, y + 27);
}

// The row that bears the name of this one: of the rows of a track the first.
function nameOf(row) {
	while (row > 0 && trace.rows[row].label === null)
		row--;
	return trace.rows[row];
}

function drawLabels(height, from, to) {
	context.fillStyle = '#f7f7f5';
	context.fillRect(0, AXIS_HEIGHT, LABEL_WIDTH - 4, height);
	drawHeadings(LABEL_WIDTH - 4, from, to);
	for (let row = from; row < to; row++)
		drawLabel(row, row === from);
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

function drawFrame(width, height) {
	drawNarrow(width);
	for (let s = 0; s < frame.n; s++)
		if (frame.spans.name[s] >= 0)
			drawNamed(s, width);
	drawCounters(width);
	drawInstants(width);
	drawSelected(width);
	drawArrows(width, height);
}

function draw() {
	const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.clearRect(0, 0, width, height);
	context.font = '11px system-ui, sans-serif';
	if (!trace)
		return;
	const [from, to] = rowsInView();
	drawHeadings(width, from, to);
	if (frame)
		drawFrame(width, height);
	context.clearRect(0, 0, width, AXIS_HEIGHT);
	drawAxis(width);
	drawLabels(height, from, to);
	document.getElementById('window').textContent = duration(view.t1 - view.t0);
	document.getElementById('where').textContent = `from ${moment(view.t0, (view.t1 - view.t0) / 1000)}${view.t1 - view.t0 < trace.length ? `, of ${moment(trace.length, (view.t1 - view.t0) / 1000)} in all (key 0)` : ''}; ? for help`;
}
