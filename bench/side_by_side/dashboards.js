/* dashboards.js -- a dashboard of ten panels, which many clients refresh at once, and rows that are appended meanwhile. The SQL
 * is what Grafana makes of its macros: $__unixEpochNanoFilter(ts) of the last hundredth of the time, and
 * $__unixEpochGroup(ts, width). $from and $to are written by the driver (clients.h): what is shown moves on with the rows. */
'use strict';

const RANGE = 0.01, INTERVALS = 200;       /* of all time; of what is shown */
const CLIENTS = 8, ROWS_BETWEEN_FLUSHES = 100000, MOST_SCANNED_ROWS = 2e7;

/* ---- the panels ---- */

/* Rows of the time, or numbers of one row: in every system the same columns. `interval` is in nanoseconds. */
function plainPanels({ interval, range }, group) {
	const figures = 'count(*), sum(dur), avg(dur), max(dur)', shown = 'ts >= $from AND ts <= $to';
	const time = width => `${group(width)} AS "time"`;

	return {
		'rate and mean': `SELECT ${time(interval)}, count(*) AS "spans", avg(dur) AS "mean" FROM spans WHERE ${shown} ` +
			'GROUP BY 1 ORDER BY 1',
		'busy by track': `SELECT ${time(4 * interval)}, track AS metric, sum(dur) AS "busy" FROM spans WHERE ${shown} ` +
			'GROUP BY 1, 2 ORDER BY 1, 2',
		'longest of two tracks': `SELECT ${time(interval)}, max(dur) AS "longest", count(*) AS "spans" FROM spans ` +
			`WHERE ${shown} AND track IN ('track 3', 'track 7') GROUP BY 1 ORDER BY 1`,
		'numbers': `SELECT ${figures} FROM spans WHERE ${shown}`,
		'numbers before': `SELECT ${figures} FROM spans WHERE ts >= $from - ${range} AND ts < $from`,
		'busiest tracks': `SELECT track, count(*) AS "spans", sum(dur) AS "busy", avg(dur) AS "mean" FROM spans ` +
			`WHERE ${shown} GROUP BY track ORDER BY "busy" DESC, track LIMIT 5`,
		'last value': `SELECT ts AS "time", dur FROM spans WHERE ${shown} AND track = 'track 5' ` +
			'ORDER BY ts DESC, id DESC LIMIT 1',
		'heat map': `SELECT ${time(8 * interval)}, track AS metric, sum(dur) * 100.0 / ${8 * interval} AS "percent" ` +
			`FROM spans WHERE ${shown} GROUP BY 1, 2 ORDER BY 1, 2`,
		'variable': `SELECT DISTINCT track FROM spans WHERE ${shown} ORDER BY 1`,
		'annotations': `SELECT ts AS "time", ts + dur AS "timeend", dur AS "text" FROM spans WHERE ${shown} ` +
			'ORDER BY dur DESC, ts, id LIMIT 10',
	};
}

/* Of the index's tables in SQLite. */
function indexedPanels({ interval, range }) {
	const figures = 'count, sum_dur, avg_dur, max_dur', shown = '($from, $to + 1)';
	const inSteps = (width, index) => `${index}${shown} WHERE step = ${width}`;

	return {
		'rate and mean': `SELECT bucket_start, count, avg_dur FROM ${inSteps(interval, 'spans_if')} ORDER BY 1`,
		'busy by track': `SELECT bucket_start, track, sum_dur FROM ${inSteps(4 * interval, 'spans_by')} ORDER BY 1, 2`,
		'longest of two tracks': `SELECT bucket_start, max(max_dur), sum(count) FROM ${inSteps(interval, 'spans_by')} ` +
			`AND track IN ('track 3', 'track 7') GROUP BY 1 ORDER BY 1`,
		'numbers': `SELECT ${figures} FROM spans_if${shown}`,
		'numbers before': `SELECT ${figures} FROM spans_if($from - ${range}, $from)`,
		'busiest tracks': `SELECT track, count, sum_dur, avg_dur FROM spans_by${shown} ORDER BY sum_dur DESC, track LIMIT 5`,
		'last value': `SELECT last_ts, last_dur FROM spans_by${shown} WHERE track = 'track 5'`,
		'heat map': `SELECT bucket_start, track, sum_dur * 100.0 / ${8 * interval} ` +
			`FROM ${inSteps(8 * interval, 'spans_by')} ORDER BY 1, 2`,
		'variable': `SELECT track FROM spans_by${shown} ORDER BY 1`,
		'annotations': `SELECT ts, ts + dur, dur FROM spans_rows WHERE ts >= $from AND ts <= $to ` +
			'ORDER BY dur DESC, ts, id LIMIT 10',
	};
}

/* ---- the systems ---- */

const plainIn = group => shape => plainPanels(shape, group);
const ONE_TRACK = "SELECT count(*), sum(dur), max(dur) FROM spans WHERE track = 'track 7'";

/* `begin`: of each connection; `upkeep`: what who appends does every so often. After all, the answer of `first` is that of the
 * last of `same`, for which rows are read. */
const SQLITE = {
	panels: plainIn(width => `ts / ${width} * ${width}`),
	begin: ['PRAGMA synchronous = NORMAL', 'PRAGMA cache_size = -64000'],
	first: ONE_TRACK,
	same: [ONE_TRACK.replace('spans', 'spans NOT INDEXED')],
};
const POSTGRES = {
	panels: plainIn(width => `floor((ts)/${width})*${width}`),
	prepare: ['ALTER SYSTEM SET autovacuum = on', 'SELECT pg_reload_conf()'],
	begin: ['SET jit = off'],
	first: ONE_TRACK,
	same: ['SET iforest.enable = off', 'SET enable_indexscan = off', 'SET enable_bitmapscan = off',
		'SET enable_indexonlyscan = off', ONE_TRACK],
};
const DUCKDB = {
	panels: plainIn(width => `ts // ${width} * ${width}`),
	first: 'SELECT count(*) FROM spans',
	same: ['SELECT max(id) FROM spans'],
};
const SYSTEMS = {
	'SQLite, covering indexes': SQLITE,
	'SQLite, iforest': {
		...SQLITE,
		panels: indexedPanels,
		upkeep: ["INSERT INTO spans_if(spans_if) VALUES('flush')", "INSERT INTO spans_by(spans_by) VALUES('flush')"],
		first: "SELECT count, sum_dur, max_dur FROM spans_by WHERE track = 'track 7'",
	},
	'PostgreSQL, parallel scan': { ...POSTGRES, scans: true },
	'PostgreSQL, BRIN': POSTGRES,
	'PostgreSQL, covering B-trees': POSTGRES,
	'PostgreSQL, iforest': POSTGRES,
	'DuckDB, one core': DUCKDB,
	'DuckDB, all cores': DUCKDB,
};

/* ---- works ---- */

const PANEL_NAMES = Object.keys(indexedPanels({ interval: 1, range: 1 }));
const ALONE = `${CLIENTS} clients`, APPENDING = 'appending', BOTH = `${CLIENTS} clients while appending`;
const ofClients = work => ['refreshes a second', 'refresh', 'refresh p95'].map(what => `${work}: ${what}`);
const appended = work => `${work}: rows a second`;

/* The works of a system over some rows, in order. Rows that come late are not appended in the order of time; where each of 80
 * panels at once reads the whole of a large table, that takes half an hour. */
function dashboardWorks({ name }, { order, rows }) {
	if (!SYSTEMS[name] || order !== 'in order' || (SYSTEMS[name].scans && rows > MOST_SCANNED_ROWS))
		return [];
	return [...PANEL_NAMES.map(panel => `panel: ${panel}`), ...ofClients(ALONE), appended(APPENDING), ...ofClients(BOTH),
		appended(BOTH)];
}

/* The commands (clients.h) of those that are not done. They append rows: nothing else may be asked after them. */
function dashboardCommands(system, data, isDone) {
	if (dashboardWorks(system, data).every(isDone))
		return [];
	const { panels: panelsOf, prepare = [], begin = [], upkeep = [], first, same } = SYSTEMS[system.name];
	const range = Math.floor(data.end * RANGE), interval = Math.max(1, Math.floor(range / INTERVALS));
	const panels = Object.entries(panelsOf({ interval, range }));
	const clients = [[ALONE, CLIENTS, 0], [APPENDING, 0, 1], [BOTH, CLIENTS, 1]]
		.filter(([work]) => !isDone(appended(work)) && !isDone(ofClients(work)[0]));

	return [
		...prepare.map(sql => ['do', '-', sql]),
		['next', 'id', 'SELECT max(id) + 1 FROM spans'],
		['next', 'ts', 'SELECT max(ts) + 1 FROM spans'],
		['next', 'gap', Math.max(1, Math.round(data.end / data.rows))],
		['next', 'range', range],
		...panels.filter(([name]) => !isDone(`panel: ${name}`)).map(([name, sql]) => ['ask', `panel: ${name}`, sql]),
		...begin.map(sql => ['connect', '-', sql]),
		...panels.map(([, sql]) => ['panel', '-', sql]),
		...upkeep.map(sql => ['upkeep', ROWS_BETWEEN_FLUSHES, sql]),
		...clients.map(([work, number, appends]) => ['clients', work, `${number} ${data.seconds} ${appends}`]),
		['first', '-', first],
		...same.slice(0, -1).map(sql => ['do', '-', sql]),
		['same', '-', same[same.length - 1]],
	];
}

module.exports = { dashboardWorks, dashboardCommands };
