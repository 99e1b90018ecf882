/* questions.js -- the common list of questions, and how each system is asked them. Rows are spans(id, ts, dur, track), and
 * named(id, ts, dur, name), some of the same rows under 10^5 names. */
'use strict';

const BUCKETS = 1920, MINUTES = 1440, PLACES = 5;
const NAMES = 100000, MOST_NAMED = 2000000;

/* ---- the questions: numbers only, the same for every system ---- */

/* The slots of a roll-up table: as if all time were a day. */
const minuteOf = ({ end }) => Math.ceil(end / MINUTES);

/* n buckets over [t0, t0 + n * bucket), and the names that a question may need. */
function windowOf(data, t0, n, bucket) {
	return { t0, t1: t0 + n * bucket, n, bucket, minute: minuteOf(data), track: data.track };
}

/* `count` windows of a part of all time, from the time of some row on; `skip` of these times are passed over. */
function windowsOf(data, part, count, skip = 0) {
	const bucket = Math.max(1, Math.floor(data.end * part / BUCKETS));

	return Array.from({ length: count }, (_, i) => {
		const t0 = Math.min(data.times[(skip + i) % data.times.length], data.end - bucket * BUCKETS);

		return windowOf(data, t0, BUCKETS, bucket);
	});
}

/* Each work: its name, what is asked, and the windows that it is asked of, as whole numbers of buckets. No window is empty:
 * where plain SQL gives a row without sums, an index gives none. `whole`: of whole minutes, which a roll-up table answers
 * exactly; `named`: of the table of many names, which has enough rows from 10^6 on. */
function works(data) {
	const minute = minuteOf(data), everything = [windowOf(data, 0, BUCKETS, Math.ceil(data.end / BUCKETS))];
	const minutes = [windowOf(data, 0, MINUTES, minute)];
	let skip = 0;
	const at = part => windowsOf(data, part, PLACES, (skip += PLACES) - PLACES);
	const wholeMinutes = part => at(part).map(({ t0 }) =>
		windowOf(data, Math.floor(t0 / minute) * minute, Math.floor(MINUTES * part), minute));

	return [
		{ name: 'nothing', ask: 'nothing', at: everything, whole: true },
		{ name: 'whole', ask: 'whole', at: everything, whole: true },
		{ name: 'window 10 %', ask: 'window', at: at(0.1) },
		{ name: 'window 1 %', ask: 'window', at: at(0.01) },
		{ name: 'window 0.001 %', ask: 'window', at: at(0.00001) },
		{ name: 'whole minutes 10 %', ask: 'window', at: wholeMinutes(0.1), whole: true },
		{ name: 'each minute', ask: 'buckets', at: minutes, whole: true },
		{ name: '1920 buckets', ask: 'buckets', at: everything },
		{ name: '1920 buckets of 1 %', ask: 'buckets', at: at(0.01) },
		{ name: 'one track 1 %', ask: 'track', at: at(0.01) },
		{ name: 'one track 1920 buckets', ask: 'trackBuckets', at: everything },
		{ name: 'each track 10 %', ask: 'tracks', at: at(0.1) },
		{ name: 'each track whole minutes 10 %', ask: 'tracks', at: wholeMinutes(0.1), whole: true },
		{ name: 'each track 1920 buckets', ask: 'tracksBuckets', at: everything },
		{ name: 'top 10', ask: 'top', at: everything },
		{ name: 'top 10 of 1 %', ask: 'top', at: at(0.01) },
		{ name: 'overlap 1 %', ask: 'overlap', at: at(0.01) },
		{ name: 'frame of 16 tracks', ask: 'frame', at: everything },
		{ name: 'frame of 16 tracks 10 %', ask: 'frame', at: at(0.1) },
		{ name: 'frame of 16 tracks 1 %', ask: 'frame', at: at(0.01) },
		...(data.rows < 10 * NAMES ? [] : [
			{ name: 'one of 10^5 names 10 %', ask: 'oneName', at: at(0.1), named: true },
			{ name: 'each of 10^5 names 10 %', ask: 'eachName', at: at(0.1), named: true },
			{ name: 'all 10^5 names 10 %', ask: 'allNames', at: at(0.1), named: true },
		]),
	];
}

/* ---- how plain SQL asks ---- */

const figures = 'count(*), sum(dur), max(dur)';
const within = w => `ts >= ${w.t0} AND ts < ${w.t1}`;

function plainSql({ divide, least, greatest }) {
	const bucket = w => `(ts - ${w.t0}) ${divide} ${w.bucket}`, one = w => `track = ${w.track} AND ${within(w)}`;
	const reaches = w => `ts < ${w.t1} AND (ts + dur > ${w.t0} OR (dur <= 0 AND ts >= ${w.t0}))`;
	const inside = w => `${least}(ts + dur, ${w.t1}) - ${greatest}(ts, ${w.t0})`;

	return {
		nothing: () => 'SELECT 1',
		whole: () => `SELECT ${figures} FROM spans`,
		window: w => `SELECT ${figures} FROM spans WHERE ${within(w)}`,
		buckets: w => `SELECT ${bucket(w)}, ${figures} FROM spans WHERE ${within(w)} GROUP BY 1`,
		track: w => `SELECT ${figures} FROM spans WHERE ${one(w)} GROUP BY track`,
		trackBuckets: w => `SELECT ${bucket(w)}, ${figures} FROM spans WHERE ${one(w)} GROUP BY 1`,
		tracks: w => `SELECT track, ${figures} FROM spans WHERE ${within(w)} GROUP BY 1`,
		tracksBuckets: w => `SELECT track, ${bucket(w)}, ${figures} FROM spans WHERE ${within(w)} GROUP BY 1, 2`,
		top: w => `SELECT id, ts, dur FROM spans WHERE ${within(w)} ORDER BY dur DESC, ts, id LIMIT 10`,
		overlap: w => `SELECT count(*), sum(${inside(w)}) FROM spans WHERE ${reaches(w)}`,
		oneName: w => `SELECT ${figures} FROM named WHERE name = 'name 7' AND ${within(w)} GROUP BY name`,
		eachName: w => `SELECT name, ${figures} FROM named WHERE ${within(w)} GROUP BY 1`,
		allNames: w => `SELECT ${figures} FROM named WHERE ${within(w)}`,
	};
}

const sqlite = plainSql({ divide: '/', least: 'min', greatest: 'max' });
const postgres = plainSql({ divide: '/', least: 'least', greatest: 'greatest' });
const duckdb = plainSql({ divide: '//', least: 'least', greatest: 'greatest' });

/* ---- how the indexes, and the forest in memory (forest.c), are asked ---- */

const sums = 'count, sum_dur, max_dur';
const window = w => `(${w.t0}, ${w.t1})`, buckets = w => `(${w.t0}, ${w.t1}, ${w.n})`;

const sqliteIndexed = {
	nothing: sqlite.nothing,
	whole: () => `SELECT ${sums} FROM spans_if`,
	window: w => `SELECT ${sums} FROM spans_if${window(w)}`,
	buckets: w => `SELECT bucket, ${sums} FROM spans_if${buckets(w)}`,
	track: w => `SELECT ${sums} FROM spans_by${window(w)} WHERE track = ${w.track}`,
	trackBuckets: w => `SELECT bucket, ${sums} FROM spans_by${buckets(w)} WHERE track = ${w.track}`,
	tracks: w => `SELECT track, ${sums} FROM spans_by${window(w)}`,
	tracksBuckets: w => `SELECT track, bucket, ${sums} FROM spans_by${buckets(w)}`,
	top: w => `SELECT id, ts, dur FROM spans_rows WHERE ${within(w)} ORDER BY dur DESC, ts, id LIMIT 10`,
	overlap: w => `SELECT overlaps, clipped_dur FROM spans_overlap${window(w)}`,
	oneName: w => `SELECT ${sums} FROM named_by${window(w)} WHERE name = 'name 7'`,
	eachName: w => `SELECT name, ${sums} FROM named_by${window(w)}`,
	allNames: w => `SELECT ${sums} FROM named_all${window(w)}`,
};
/* With an index by track alone, whose tracks are numbers. */
const sqliteByTrack = {
	whole: () => `SELECT ${sums} FROM spans_all`,
	window: w => `SELECT ${sums} FROM spans_all${window(w)}`,
	buckets: w => `SELECT bucket, ${sums} FROM spans_all${buckets(w)}`,
	track: sqliteIndexed.track,
	trackBuckets: sqliteIndexed.trackBuckets,
	tracks: sqliteIndexed.tracks,
	tracksBuckets: sqliteIndexed.tracksBuckets,
	frame: w => `SELECT track, bucket, max_dur, max_dur_id FROM spans_by${buckets(w)} WHERE track < 16`,
};
const postgresIndexed = {
	...postgres,
	overlap: w => `SELECT count, clipped_dur FROM spans_if_overlap${window(w)}`,
};

const inMemory = w => `0 ${w.t0} ${w.t1}`, inBuckets = w => `${w.n} ${w.t0} ${w.t1}`;
const one = w => `one ${w.track.replaceAll("'", '')}`;
const forest = {
	whole: () => '0 -9223372036854775808 9223372036854775807 all',
	window: w => `${inMemory(w)} all`,
	buckets: w => `${inBuckets(w)} all`,
	track: w => `${inMemory(w)} ${one(w)}`,
	trackBuckets: w => `${inBuckets(w)} ${one(w)}`,
	tracks: w => `${inMemory(w)} each`,
	tracksBuckets: w => `${inBuckets(w)} each`,
};

/* ---- the table of many names ---- */

/* Some of the rows, over all time; each name comes about as often. */
function namedRows({ rows }) {
	const every = Math.ceil(rows / MOST_NAMED), divided = every > 1 ? `CAST(id / ${every} AS bigint)` : 'id';

	return `SELECT id, ts, dur, 'name ' || (${divided} * 48271 % ${NAMES}) FROM spans WHERE id % ${every} = 0`;
}

const asked = { sqlite, postgres, duckdb, sqliteIndexed, sqliteByTrack, postgresIndexed, forest };

module.exports = { works, windowsOf, minuteOf, namedRows, asked };
