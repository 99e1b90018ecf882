/* rollup.js -- a table of counts, sums and maxima kept by hand for each minute and track, beside a covering index:
 * minutes(minute, track, n, total, longest), a minute being named by its first moment. It answers whole minutes exactly. What
 * else is asked is answered by the minutes that begin in the window (`rounded`: not exact), or by those that lie inside and a
 * scan of both ends (`exact`). The minute is 1/1440 of all time. */
'use strict';
const { minuteOf, windowsOf } = require('./questions.js');

const figures = 'sum(n), sum(total), max(longest)';
const within = w => `minute >= ${w.t0} AND minute < ${w.t1}`;
const bucket = w => `(minute - ${w.t0}) / ${w.bucket}`;

/* ---- the table ---- */

const COLUMNS = 'minute, track, n, total, longest';

const grouped = (minute, condition) => `SELECT ts / ${minute} * ${minute}, track, count(*), sum(dur), max(dur) FROM spans
	WHERE ${condition} GROUP BY 1, 2`;

function buildRollup(data) {
	return [`CREATE TABLE minutes(minute bigint, track text, n bigint, total bigint, longest bigint,
		PRIMARY KEY (track, minute))`,
		`INSERT INTO minutes(${COLUMNS}) ${grouped(minuteOf(data), 'true')}`,
		'CREATE INDEX minutes_minute ON minutes(minute)'];
}

/* Takes in the rows that were appended, those from the end of all time on; to be done in their transaction. */
function followRollup(data) {
	const add = column => `${column} = minutes.${column} + excluded.${column}`;

	return `INSERT INTO minutes(${COLUMNS}) ${grouped(minuteOf(data), `ts >= ${data.end}`)} ON CONFLICT (track, minute) DO UPDATE
		SET ${add('n')}, ${add('total')},
			longest = CASE WHEN excluded.longest > minutes.longest THEN excluded.longest ELSE minutes.longest END`;
}

/* ---- answers ---- */

const rounded = {
	whole: () => `SELECT ${figures} FROM minutes`,
	window: w => `SELECT ${figures} FROM minutes WHERE ${within(w)}`,
	buckets: w => `SELECT ${bucket(w)}, ${figures} FROM minutes WHERE ${within(w)} GROUP BY 1`,
	track: w => `SELECT ${figures} FROM minutes WHERE track = ${w.track} AND ${within(w)} GROUP BY track`,
	trackBuckets: w => `SELECT ${bucket(w)}, ${figures} FROM minutes WHERE track = ${w.track} AND ${within(w)} GROUP BY 1`,
	tracks: w => `SELECT track, ${figures} FROM minutes WHERE ${within(w)} GROUP BY 1`,
	tracksBuckets: w => `SELECT track, ${bucket(w)}, ${figures} FROM minutes WHERE ${within(w)} GROUP BY 1, 2`,
};

/* The minutes inside, and the rows at both ends. */
function pieces(w, group, condition) {
	const first = Math.ceil(w.t0 / w.minute) * w.minute, last = Math.floor(w.t1 / w.minute) * w.minute;
	const by = group ? [`${group},`, ` GROUP BY ${group}`] : ['', ''];
	const rows = (from, to) => `SELECT ${by[0]} count(*) AS n, sum(dur) AS total, max(dur) AS longest FROM spans
		WHERE ${condition}ts >= ${from} AND ts < ${to}${by[1]}`;

	if (first >= last)
		return rows(w.t0, w.t1);
	return [`SELECT ${by[0]} n, total, longest FROM minutes WHERE ${condition}minute >= ${first} AND minute < ${last}`,
		rows(w.t0, first), rows(last, w.t1)].join(' UNION ALL ');
}

const exact = {
	window: w => `SELECT ${figures} FROM (${pieces(w, '', '')}) AS p`,
	track: w => `SELECT ${figures} FROM (${pieces(w, 'track', `track = ${w.track} AND `)}) AS p GROUP BY track`,
	tracks: w => `SELECT track, ${figures} FROM (${pieces(w, 'track', '')}) AS p GROUP BY 1`,
};

/* ---- how wrong the rounded answers are ---- */

const PARTS = [0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001], TRIED = 15;
const errorName = (part, which) => `error of the sum in ${Number((100 * part).toPrecision(3))} % ${which}`;

/* The relative error of the sum in windows at many places, in percent: the median and the largest. */
function errorSizes(data) {
	const sum = (column, table, condition) => `(SELECT sum(${column}) FROM ${table} WHERE ${condition})`;
	const error = w => `SELECT abs(100.0 * coalesce(${sum('total', 'minutes', within(w))}, 0) /
		nullif(${sum('dur', 'spans', `ts >= ${w.t0} AND ts < ${w.t1}`)}, 0) - 100) AS e`;
	const errors = part => windowsOf(data, part, TRIED).map(error).join(' UNION ALL ');

	return Object.fromEntries(PARTS.flatMap(part => [
		[errorName(part, 'median'),
			`SELECT coalesce(e, 0) FROM (${errors(part)}) AS p ORDER BY 1 LIMIT 1 OFFSET ${TRIED >> 1}`],
		[errorName(part, 'largest'), `SELECT coalesce(max(e), 0) FROM (${errors(part)}) AS p`],
	]));
}

module.exports = { buildRollup, followRollup, rounded, exact, errorSizes, errorName, PARTS };
