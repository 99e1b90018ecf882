/* systems.js -- the systems: how each is set up, and the commands (driver.h) by which it does its works. */
'use strict';
const { works, namedRows, asked } = require('./questions.js');
const rollup = require('./rollup.js');
const { walkWorks, walkCommands } = require('./walk.js');
const { dashboardWorks, dashboardCommands } = require('./dashboards.js');

const APPENDED_ROWS = 10000;
const TABLE = 'CREATE TABLE spans(id bigint, ts bigint, dur bigint, track text)';
const NAMED = 'CREATE TABLE named(id bigint, ts bigint, dur bigint, name text)';
const withKey = sql => sql.replace('id bigint', 'id INTEGER PRIMARY KEY');

/* In one transaction: rows as the first ones, after the last one. The first ones lie in a table of their own, as finding them
 * again may take longer than what is measured. */
const FIRST_ROWS = `CREATE TABLE first_rows AS SELECT id, ts, dur, track FROM spans WHERE id <= ${APPENDED_ROWS}`;
const appendRows = ({ rows, end }) => `INSERT INTO spans(id, ts, dur, track)
	SELECT id + ${rows}, ts + ${end}, dur, track FROM first_rows`;

/* What a system is:
 *
 *   name, driver, more     the program, and what it is given besides the database
 *   prepare, build(data)   SQL before loading; after it, as the work `build`
 *   sizes(data)            numbers: a work each
 *   named                  SQL that makes the table of many names, and SQL that builds what stands over it; or nothing
 *   phases                 what the same database is asked, one after the other: `name` is added to the system's, `after` is
 *                          what is done before, `sql` how it is asked, `works` what, where not all. `rounds`: what is not
 *                          asked of whole minutes gets no exact answer. The last has no name; sizes, names and several
 *                          clients are its
 *   beforeAppend           SQL; or nothing
 *   append(data)           SQL
 *   opening                SQL after which a connection has read what it does not read again; or nothing
 */

/* ---- SQLite ---- */

const SQLITE_SIZE = names => `SELECT sum(pgsize) FROM dbstat WHERE name ${names}`;
const SQLITE_SETTINGS = ['PRAGMA journal_mode = WAL', 'PRAGMA synchronous = NORMAL', 'PRAGMA cache_size = -1000000'];

function sqliteSystem(name, sql, build, more) {
	return {
		name, driver: 'sqlite', prepare: [...SQLITE_SETTINGS, withKey(TABLE)], build: () => build,
		phases: [{ after: [], sql }],
		sizes: () => ({
			'size of the table': SQLITE_SIZE("= 'spans'"),
			'size of indexes': SQLITE_SIZE("NOT IN ('spans', 'sqlite_schema')"),
		}),
		beforeAppend: [FIRST_ROWS], append: appendRows, ...more,
	};
}

const sqliteNames = (build, opening = []) => ({ named: { table: withKey(NAMED), build }, opening });

const openIndex = name => `SELECT count FROM ${name}(0, 0)`;
const INDEX_BY_TRACK = 'CREATE VIRTUAL TABLE spans_by USING iforest(content=spans, time=ts, duration=dur, by=track)';

/* ---- PostgreSQL ---- */

/* What is asked just after loading; all is after VACUUM. */
const FRESH_WORKS = ['whole', 'window 10 %', 'window 1 %', '1920 buckets', 'one track 1 %', 'each track 10 %',
	'each track 1920 buckets', 'top 10 of 1 %'];

function postgresSystem(name, sql, build, more) {
	return {
		name, driver: 'postgres', build: () => build, beforeAppend: [FIRST_ROWS], append: appendRows,
		prepare: ['CREATE EXTENSION iforest', TABLE, "SET maintenance_work_mem = '1GB'", "SET work_mem = '1GB'",
			'SET jit = off'],
		phases: [{ name: 'fresh', after: ['ANALYZE'], sql, works: FRESH_WORKS },
			{ after: ['VACUUM (FREEZE, ANALYZE)', 'CHECKPOINT'], sql }],
		sizes: () => ({
			'size of the table': "SELECT pg_table_size('spans')",
			'size of indexes': "SELECT pg_indexes_size('spans')",
		}),
		...more,
	};
}

const postgresNames = build => ({ named: { table: NAMED, build } });

/* ---- roll-up tables, in either ---- */

function withRollup(system) {
	const [index] = system.build(), follow = data => rollup.followRollup(data);
	const { after } = system.phases.at(-1);

	return {
		...system, named: null,
		build: data => [index, ...rollup.buildRollup(data)],
		phases: [{ name: 'ends scanned', after, sql: rollup.exact }, { after: [], sql: rollup.rounded, rounds: true }],
		append: data => `BEGIN; ${appendRows(data)}; ${follow(data)}; COMMIT`,
	};
}

const sqliteRollup = withRollup(sqliteSystem('SQLite, roll-up by the minute', null,
	['CREATE INDEX spans_ts ON spans(ts, dur, track)']));
const postgresRollup = withRollup(postgresSystem('PostgreSQL, roll-up by the minute', null,
	['CREATE INDEX spans_ts ON spans(ts) INCLUDE (dur, track)'], {
		sizes: data => ({
			'size of the table': "SELECT pg_table_size('spans')",
			'size of indexes': "SELECT pg_indexes_size('spans') + pg_total_relation_size('minutes')",
			...rollup.errorSizes(data),
		}),
	}));

/* ---- all ---- */

function duckdbSystem(name, threads) {
	return {
		name, driver: 'duckdb', more: [threads], prepare: [TABLE], build: () => ['CHECKPOINT'],
		beforeAppend: [FIRST_ROWS], append: appendRows,
		sizes: () => ({ 'size of the table': 'SELECT used_blocks * block_size FROM pragma_database_size()' }),
		named: { table: NAMED, build: [] },
		phases: [{ after: ['CHECKPOINT'], sql: asked.duckdb }],
	};
}

const forest = {
	name: 'forest in memory', driver: 'forest', prepare: [], build: () => ['build'],
	sizes: () => ({ 'size of the table': 'rows', 'size of indexes': 'forests' }),
	phases: [{ after: [], sql: asked.forest }],
	append: ({ end }) => `append ${APPENDED_ROWS} ${end}`,
};

const systems = [
	sqliteSystem('SQLite, covering indexes', asked.sqlite,
		['CREATE INDEX spans_ts ON spans(ts, dur)', 'CREATE INDEX spans_track ON spans(track, ts, dur)', 'ANALYZE'],
		sqliteNames(['CREATE INDEX named_name ON named(name, ts, dur)', 'ANALYZE named'])),
	sqliteRollup,
	sqliteSystem('SQLite, iforest', asked.sqliteIndexed,
		['CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur)', INDEX_BY_TRACK,
			'CREATE VIRTUAL TABLE spans_rows USING iforest_rows(spans_if)',
			'CREATE VIRTUAL TABLE spans_overlap USING iforest_overlap(spans_if)'],
		sqliteNames(['CREATE VIRTUAL TABLE named_by USING iforest(content=named, time=ts, duration=dur, by=name)',
			'CREATE VIRTUAL TABLE named_all USING iforest_fold(named_by)'],
		[openIndex('spans_if'), openIndex('spans_by'), 'SELECT id FROM spans_rows WHERE ts >= 0 AND ts < 0',
			'SELECT overlaps FROM spans_overlap(0, 0)'])),
	postgresSystem('PostgreSQL, parallel scan', asked.postgres, [], postgresNames([])),
	postgresSystem('PostgreSQL, BRIN', asked.postgres, ['CREATE INDEX spans_brin ON spans USING brin (ts)']),
	postgresSystem('PostgreSQL, covering B-trees', asked.postgres,
		['CREATE INDEX spans_ts ON spans(ts) INCLUDE (dur)',
			'CREATE INDEX spans_track ON spans(track, ts) INCLUDE (dur)'],
		postgresNames(['CREATE INDEX named_name ON named(name, ts) INCLUDE (dur)'])),
	postgresRollup,
	postgresSystem('PostgreSQL, iforest', asked.postgresIndexed,
		["CREATE INDEX spans_if ON spans USING iforest (ts) INCLUDE (dur) WITH (duration = 'dur')",
			'CREATE INDEX spans_by ON spans USING iforest (track, ts) INCLUDE (dur)',
			"SELECT iforest_create_functions('spans_if')"],
		postgresNames(['CREATE INDEX named_by ON named USING iforest (name, ts) INCLUDE (dur)'])),
	duckdbSystem('DuckDB, one core', '1'),
	duckdbSystem('DuckDB, all cores', 'all'),
	forest,
];

/* For so many rows that they fill the disk: one index, and no journal while it is made. */
const billionSystems = [
	sqliteSystem('SQLite, iforest by track', asked.sqliteByTrack,
		[INDEX_BY_TRACK, 'CREATE VIRTUAL TABLE spans_all USING iforest_fold(spans_by)'], {
			opening: [openIndex('spans_by')],
			prepare: ['PRAGMA journal_mode = OFF', 'PRAGMA synchronous = OFF', 'PRAGMA cache_size = -2000000',
				withKey(TABLE).replace('track text', 'track INTEGER')],
		}),
];

/* ---- commands ---- */

const phaseName = (system, phase) => [system.name, ...(phase ? [phase] : [])].join(', ');
const isAskedIn = (system, phase, work) => Boolean(phase.sql[work.ask]) && (phase.works?.includes(work.name) ?? true) &&
	(!work.named || (system.named && !phase.name));
const countsPages = (system, phase, data) =>
	data.order === 'in order' && !phase.name && ['sqlite', 'postgres'].includes(system.driver);

/* Walks and dashboards know the tracks of generated rows, take as long for few, and are half of all time for many. */
const hasClients = data => !data.isGrowth && data.order === 'in order';

/* Works of a system in order: [phase or '', work]. */
function workNames(system, data) {
	const askedNames = phase => works(data).filter(work => isAskedIn(system, phase, work)).flatMap(work =>
		[work.name, ...(countsPages(system, phase, data) ? [`pages: ${work.name}`] : [])]
			.map(name => [phase.name ?? '', name]));

	return [['', 'load'], ...(system.build(data).length > 0 ? [['', 'build']] : []),
		...Object.keys(system.sizes(data)).map(name => ['', name]), ...system.phases.flatMap(askedNames),
		...[...(hasClients(data) ? walkWorks(system) : []), `append ${APPENDED_ROWS} rows`, 'whole after appending',
			...(hasClients(data) ? dashboardWorks(system, data) : [])].map(name => ['', name])];
}

/* The commands by which a system does all works that isDone(phase, work) does not name. A work is told to the driver as
 * WORK|PHASE. */
function commands(system, data, isDone, module) {
	const tell = (phase, work) => isDone(phase, work) ? '-' : `${work}|${phase}`;
	const run = sql => ['do', '-', sql];
	const ask = phase => works(data).filter(work => isAskedIn(system, phase, work)).flatMap(work => [
		...(isDone(phase.name ?? '', work.name) ? [] :
			work.at.map(w => ['ask', `${work.name}|${phase.name ?? ''}`, phase.sql[work.ask](w)])),
		...(!countsPages(system, phase, data) || isDone('', `pages: ${work.name}`) ? [] :
			[['pages', `pages: ${work.name}|`, phase.sql[work.ask](work.at[0])]]),
	]);
	const names = system.named && works(data).some(work => work.named) ?
		[system.named.table, `INSERT INTO named ${namedRows(data)}`, ...system.named.build] : [];
	const connecting = system.driver === 'sqlite' ? [`SELECT load_extension('${module}')`] : [];
	const isWorkDone = work => isDone('', work), { sql } = system.phases.at(-1);

	return [
		...connecting.flatMap(sql => [run(sql), ['connect', '-', sql]]),
		...system.prepare.map(run),
		['load', tell('', 'load'), data.path],
		...(system.build(data).length > 0 ? [['do', tell('', 'build'), system.build(data).join('; ')]] : []),
		...Object.entries(system.sizes(data)).map(([work, size]) => ['size', tell('', work), size]),
		...(system.opening ?? []).map(sql => ['connect', '-', sql]),
		...system.phases.flatMap(phase => [phase.name ? [] : names, phase.after].flat().map(run).concat(ask(phase))),
		...(hasClients(data) ? walkCommands(system, data, isWorkDone) : []),
		...(system.beforeAppend ?? []).map(run),
		['do', tell('', `append ${APPENDED_ROWS} rows`), system.append(data)],
		...(isDone('', 'whole after appending') ? [] : [['ask', 'whole after appending|', sql.whole()]]),
		...(hasClients(data) ? dashboardCommands(system, data, isWorkDone) : []),
	].map(fields => fields.map(field => String(field).replaceAll(/\s+/g, ' ')).join('\t'));
}

/* Systems that round, and the works in which they do not. */
const roundingSystems = systems.flatMap(system =>
	system.phases.filter(phase => phase.rounds).map(phase => phaseName(system, phase.name)));
const ROUNDED = works({ end: 0, times: [], rows: 0 }).filter(({ whole }) => !whole).map(({ name }) => name);
const rounds = (system, work) => roundingSystems.includes(system) && ROUNDED.includes(work);

module.exports = { systems, billionSystems, phaseName, workNames, commands, rounds };
