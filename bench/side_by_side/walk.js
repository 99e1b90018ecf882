/* walk.js -- a walk through a timeline as a person takes it: frames that zoom in to what the pointer is at, pan, scroll from
 * track to track and zoom out. A frame is 16 tracks of 1920 pixels: the longest duration and the sum of durations of each. */
'use strict';

const FRAMES = 300, EVERY = 30, PIXELS = 1920, TRACKS = 32, SHOWN = 16;
const ZOOM = 0.8, SHORTEST = 1e-5;         /* of a step; of all time */
const MOST_STEPS = 12, PAN = 0.12;         /* of one movement; of what is shown */
const MOVES = ['in', 'in', 'in', 'pan', 'pan', 'scroll', 'out', 'out'];

/* Numbers in [0, 1), the same on every machine (the least significant bits of "minimal standard" are good enough here). */
function randomNumbers(seed) {
	return () => {
		seed = seed * 48271 % 2147483647;
		return seed / 2147483647;
	};
}

/* The frames: { from, width } as parts of all time, and the number of the first track that is shown. */
function walk() {
	const random = randomNumbers(47514), frames = [{ from: 0, width: 1, track: 0 }];
	let { from, width, track } = frames[0];

	while (frames.length < FRAMES) {
		const move = MOVES[Math.floor(random() * MOVES.length)], steps = 2 + Math.floor(random() * MOST_STEPS);
		const pointer = random(), direction = random() < 0.5 ? -1 : 1;

		for (let step = 0; step < steps && frames.length < FRAMES; step++) {
			const before = width;

			if (move === 'in')
				width = Math.max(SHORTEST, width * ZOOM);
			else if (move === 'out')
				width = Math.min(1, width / ZOOM);
			else if (move === 'scroll')
				track = Math.min(TRACKS - SHOWN, Math.max(0, track + direction));
			from += pointer * (before - width) + (move === 'pan' ? direction * PAN * width : 0);
			from = Math.min(1 - width, Math.max(0, from));
			frames.push({ from, width, track });
		}
	}
	return frames;
}

/* A frame over rows that end at `end`: bounds that lie whole pixels apart. */
function windowOf({ from, width, track }, end) {
	const pixel = Math.max(1, Math.floor(end * width / PIXELS)), t0 = Math.floor(end * from);
	const names = Array.from({ length: SHOWN }, (_, i) => `'track ${track + i}'`).join(', ');

	return { t0, t1: t0 + pixel * PIXELS, pixel, tracks: `track IN (${names})` };
}

const plain = divide => w => `SELECT track, (ts - ${w.t0}) ${divide} ${w.pixel}, max(dur), sum(dur) FROM spans ` +
	`WHERE ts >= ${w.t0} AND ts < ${w.t1} AND ${w.tracks} GROUP BY 1, 2`;
const indexed = w => `SELECT track, bucket, max_dur, sum_dur FROM spans_by(${w.t0}, ${w.t1}, ${PIXELS}) WHERE ${w.tracks}`;

/* How a system is asked, and whether for all frames; others take minutes for some, and are asked for every 30th. */
const ASKED = {
	'SQLite, covering indexes': { sql: plain('/') },
	'SQLite, iforest': { sql: indexed, all: true },
	'PostgreSQL, parallel scan': { sql: plain('/') },
	'PostgreSQL, BRIN': { sql: plain('/') },
	'PostgreSQL, covering B-trees': { sql: plain('/') },
	'PostgreSQL, iforest': { sql: plain('/'), all: true },
	'DuckDB, one core': { sql: plain('//'), all: true },
	'DuckDB, all cores': { sql: plain('//'), all: true },
};
const SOME = `walk: every ${EVERY}th frame`, ALL = `walk: ${FRAMES} frames`;

/* The works of a system, in order. */
function walkWorks({ name }) {
	const works = ASKED[name] ? [SOME, ...(ASKED[name].all ? [ALL] : [])] : [];

	return works.flatMap(work => [work, `${work} p95`]);
}

/* The commands (driver.h) of those that are not done. */
function walkCommands(system, { end }, isDone) {
	const frames = walk(), ask = (work, frame) => ['frame', work, ASKED[system.name].sql(windowOf(frame, end))];

	return walkWorks(system).filter(work => !work.endsWith('p95') && !isDone(work))
		.flatMap(work => frames.filter((_, i) => work === ALL || i % EVERY === 0).map(frame => ask(work, frame)));
}

module.exports = { walk, walkWorks, walkCommands };
