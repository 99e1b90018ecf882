/* questions.js -- the common list of questions, and the systems: how each is set up, and how it is asked. Rows are
 * spans(id, ts, dur, track). */
'use strict';
const { walkWorks, walkCommands } = require('./walk.js');
const { dashboardWorks, dashboardCommands } = require('./dashboards.js');

const BUCKETS = 1920;

/* ---- the questions: numbers only, the same for every system ---- */

/* Each work: its name, what is asked, and the windows that it is asked of: a part of all time from the time of some row on, as
 * whole numbers of buckets. None is empty: where plain SQL gives a row without sums, an index gives none. */
function works({ end, times }) {
	const bucket = Math.ceil(end / BUCKETS), whole = [{ t0: 0, t1: bucket * BUCKETS, bucket }];
	let next = 0;
	const at = (n, part) => Array.from({ length: n }, () => {
		const width = Math.max(1, Math.floor(end * part / BUCKETS)) * BUCKETS;
		const t0 = Math.min(times[next++ % times.length], end - width);

		return { t0, t1: t0 + width, bucket: width / BUCKETS };
	});

	return [
		{ name: 'whole', ask: 'whole', at: whole },
		{ name: 'window 10 %', ask: 'window', at: at(9, 0.1) },
		{ name: 'window 1 %', ask: 'window', at: at(9, 0.01) },
		{ name: 'window 0.001 %', ask: 'window', at: at(9, 0.00001) },
		{ name: '1920 buckets', ask: 'buckets', at: whole },
		{ name: '1920 buckets of 1 %', ask: 'buckets', at: at(9, 0.01) },
		{ name: 'one track 1 %', ask: 'track', at: at(9, 0.01) },
		{ name: 'one track 1920 buckets', ask: 'trackBuckets', at: whole },
		{ name: '32 tracks 10 %', ask: 'tracks', at: at(9, 0.1) },
		{ name: '32 tracks 1920 buckets', ask: 'tracksBuckets', at: whole },
		{ name: 'top 10', ask: 'top', at: whole },
		{ name: 'top 10 of 1 %', ask: 'top', at: at(9, 0.01) },
		{ name: 'overlap 1 %', ask: 'overlap', at: at(9, 0.01) },
	];
}

/* ---- how plain SQL asks ---- */

function plainSql(dialect) {
	const figures = 'count(*), sum(dur), max(dur)', within = w => `ts >= ${w.t0} AND ts < ${w.t1}`;
	const seventh = w => `track = 'track 7' AND ${within(w)}`;
	const bucket = w => `(ts - ${w.t0}) ${dialect.divide} ${w.bucket}`;
	const reaches = w => `ts < ${w.t1} AND ts + dur > ${w.t0}`;
	const inside = w => `sum(${dialect.least}(ts + dur, ${w.t1}) - ${dialect.greatest}(ts, ${w.t0}))`;

	return {
		whole: () => `SELECT ${figures} FROM spans`,
		window: w => `SELECT ${figures} FROM spans WHERE ${within(w)}`,
		buckets: w => `SELECT ${bucket(w)}, ${figures} FROM spans WHERE ${within(w)} GROUP BY 1`,
		track: w => `SELECT track, ${figures} FROM spans WHERE ${seventh(w)} GROUP BY 1`,
		trackBuckets: w => `SELECT ${bucket(w)}, ${figures} FROM spans WHERE ${seventh(w)} GROUP BY 1`,
		tracks: w => `SELECT track, ${figures} FROM spans WHERE ${within(w)} GROUP BY 1`,
		tracksBuckets: w => `SELECT track, ${bucket(w)}, ${figures} FROM spans WHERE ${within(w)} GROUP BY 1, 2`,
		top: w => `SELECT id, ts, dur FROM spans WHERE ${within(w)} ORDER BY dur DESC, ts, id LIMIT 10`,
		overlap: w => `SELECT count(*), ${inside(w)} FROM spans WHERE ${reaches(w)}`,
	};
}

const sqlite = plainSql({ divide: '/', least: 'min', greatest: 'max' });
const postgres = plainSql({ divide: '/', least: 'least', greatest: 'greatest' });
const duckdb = plainSql({ divide: '//', least: 'least', greatest: 'greatest' });

const BUCKETED = w => `(${w.t0}, ${w.t1}, ${BUCKETS})`;
const sqliteIndexed = {
	whole: () => 'SELECT count, sum_dur, max_dur FROM spans_if',
	window: w => `SELECT count, sum_dur, max_dur FROM spans_if(${w.t0}, ${w.t1})`,
	buckets: w => `SELECT bucket, count, sum_dur, max_dur FROM spans_if${BUCKETED(w)}`,
	track: w => `SELECT track, count, sum_dur, max_dur FROM spans_by(${w.t0}, ${w.t1}) WHERE track = 'track 7'`,
	trackBuckets: w => `SELECT bucket, count, sum_dur, max_dur FROM spans_by${BUCKETED(w)} WHERE track = 'track 7'`,
	tracks: w => `SELECT track, count, sum_dur, max_dur FROM spans_by(${w.t0}, ${w.t1})`,
	tracksBuckets: w => `SELECT track, bucket, count, sum_dur, max_dur FROM spans_by${BUCKETED(w)}`,
	top: w => `SELECT id, ts, dur FROM spans_rows WHERE ts >= ${w.t0} AND ts < ${w.t1} ORDER BY dur DESC, ts, id LIMIT 10`,
	overlap: w => `SELECT overlaps, clipped_dur FROM spans_overlap(${w.t0}, ${w.t1})`,
};
const postgresIndexed = {
	...postgres,
	overlap: w => `SELECT count, clipped_dur FROM spans_if_overlap(${w.t0}, ${w.t1})`,
};

/* ---- the systems ---- */

const TABLE = 'CREATE TABLE spans(id bigint, ts bigint, dur bigint, track text)';
const SQLITE_SIZE = names => `SELECT sum(pgsize) FROM dbstat WHERE name ${names}`;
const APPENDED_ROWS = 10000;
/* In one transaction: rows as the first ones, after the last one. */
const APPEND = (n, end) => `INSERT INTO spans(id, ts, dur, track)
	SELECT id + ${n}, ts + ${end}, dur, track FROM spans WHERE id <= ${APPENDED_ROWS}`.replaceAll(/\s+/g, ' ');

/* `prepare` is done before loading, `build` after it; `sizes` are those of the table and of what was built. */
function sqliteSystem(name, sql, build) {
	return {
		name, driver: 'sqlite', sql, build,
		prepare: ['PRAGMA journal_mode = WAL', 'PRAGMA synchronous = NORMAL', 'PRAGMA cache_size = -1000000',
			TABLE.replace('id bigint', 'id INTEGER PRIMARY KEY')],
		after: [],
		sizes: {
			'size of the table': SQLITE_SIZE("= 'spans'"),
			'size of indexes': SQLITE_SIZE("NOT IN ('spans', 'sqlite_schema')"),
		},
	};
}

function postgresSystem(name, sql, build, after = []) {
	return {
		name, driver: 'postgres', sql, build,
		prepare: ['CREATE EXTENSION iforest', TABLE, "SET maintenance_work_mem = '1GB'", "SET work_mem = '1GB'",
			'SET jit = off'],
		after: ['VACUUM (FREEZE, ANALYZE) spans', 'CHECKPOINT', ...after],
		sizes: {
			'size of the table': "SELECT pg_table_size('spans')",
			'size of indexes': "SELECT pg_indexes_size('spans')",
		},
	};
}

function duckdbSystem(name, threads) {
	return {
		name, driver: 'duckdb', threads, sql: duckdb, build: [], prepare: [TABLE], after: ['CHECKPOINT'],
		sizes: { 'size of the table': 'SELECT used_blocks * block_size FROM pragma_database_size()' },
	};
}

const systems = [
	sqliteSystem('SQLite, covering indexes', sqlite,
		['CREATE INDEX spans_ts ON spans(ts, dur)', 'CREATE INDEX spans_track ON spans(track, ts, dur)', 'ANALYZE']),
	sqliteSystem('SQLite, iforest', sqliteIndexed,
		['CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur)',
			'CREATE VIRTUAL TABLE spans_by USING iforest(content=spans, time=ts, duration=dur, by=track)',
			'CREATE VIRTUAL TABLE spans_rows USING iforest_rows(spans_if)',
			'CREATE VIRTUAL TABLE spans_overlap USING iforest_overlap(spans_if)']),
	postgresSystem('PostgreSQL, parallel scan', postgres, []),
	postgresSystem('PostgreSQL, BRIN', postgres, ['CREATE INDEX spans_brin ON spans USING brin (ts)']),
	postgresSystem('PostgreSQL, covering B-trees', postgres,
		['CREATE INDEX spans_ts ON spans(ts) INCLUDE (dur)',
			'CREATE INDEX spans_track ON spans(track, ts) INCLUDE (dur)']),
	postgresSystem('PostgreSQL, iforest', postgresIndexed,
		["CREATE INDEX spans_if ON spans USING iforest (ts) INCLUDE (dur) WITH (duration = 'dur')",
			'CREATE INDEX spans_by ON spans USING iforest (track, ts) INCLUDE (dur)'],
		["SELECT iforest_create_functions('spans_if')"]),
	duckdbSystem('DuckDB, one core', '1'),
	duckdbSystem('DuckDB, all cores', 'all'),
];

/* The commands (driver.h) by which a system does all works that `isDone` does not name; the modules lie in `build`. */
function commands(system, data, build, isDone) {
	const unless = work => isDone(work) ? '-' : work;
	const connecting = system.driver === 'sqlite' ? [`SELECT load_extension('${build}/iforest')`] : [];

	return [
		...connecting.map(sql => ['do', '-', sql]),
		...system.prepare.map(sql => ['do', '-', sql]),
		['load', unless('load'), data.path],
		...(system.build.length > 0 ? [['do', unless('build'), system.build.join('; ')]] : []),
		...system.after.map(sql => ['do', '-', sql]),
		...Object.entries(system.sizes).map(([work, sql]) => ['size', unless(work), sql]),
		...works(data).filter(work => !isDone(work.name))
			.flatMap(work => work.at.map(w => ['ask', work.name, system.sql[work.ask](w)])),
		...walkCommands(system, data, isDone),
		['do', unless(`append ${APPENDED_ROWS} rows`), APPEND(data.rows, data.end)],
		...(isDone('whole after appending') ? [] : [['ask', 'whole after appending', system.sql.whole()]]),
		...dashboardCommands(system, data, connecting, isDone),
	].map(fields => fields.join('\t'));
}

/* All works of a system over some rows, in order. */
function workNames(system, data) {
	return ['load', ...(system.build.length > 0 ? ['build'] : []), ...Object.keys(system.sizes),
		...works({ end: 0, times: [] }).map(work => work.name),
		...walkWorks(system), `append ${APPENDED_ROWS} rows`, 'whole after appending', ...dashboardWorks(system, data)];
}

module.exports = { systems, commands, workNames };
