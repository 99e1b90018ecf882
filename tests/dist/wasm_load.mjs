// tests/dist/wasm_load.mjs -- Loads a trace by the WebAssembly module in node:  node wasm_load.mjs FOLDER TRACE DATABASE
import assert from 'node:assert';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, trace, database] = process.argv.slice(2);
const { iforest } = await import(pathToFileURL(resolve(folder, 'index.js')));
const sqlite = await iforest(), db = sqlite.open(), bytes = readFileSync(trace);

/* what cannot be read leaves nothing, and the next one is loaded all the same */
assert.throws(() => db.loadTrace('none.json', new Uint8Array([123, 34, 97])), /nothing was loaded/);
assert.match(db.loadTrace(basename(trace), bytes), /indexed with iforest/);
/* whatever it is called: not the database in which it is loaded, nor its journal */
for (const [i, called] of ['#', '#-journal', '#-wal', '../#', '..', '', 'a/b', 'a\0b', '-', '--replace'].entries()) {
	const other = sqlite.open(), name = called.replace('#', `database${i + 2}.db`);
	other.query('CREATE TABLE precious(x); INSERT INTO precious VALUES (1)');
	assert.match(other.loadTrace(name, bytes), /indexed with iforest/, name);
	assert.deepEqual(other.query('SELECT count(*) AS n FROM precious'), [{ n: 1 }], name);
	other.close();
}
assert.throws(() => db.query("SELECT missing"), /no such column: missing/);
assert.deepEqual(db.query('SELECT ?1 + 1 AS a, ?2 AS b, ?3 AS c, ?4 AS d, ?5 AS e, -9223372036854775807 AS f', [2, 9007199254740993n, 'ü\0x', null, new Uint8Array([1, 0, 2])]),
	[{ a: 3, b: 9007199254740993n, c: 'ü\0x', d: null, e: new Uint8Array([1, 0, 2]), f: -9223372036854775807n }]);
assert.deepEqual(db.show("SELECT 1.0 AS a, NULL AS a, x'00ff' AS c, 9007199254740993 AS d; CREATE TEMP TABLE empty(x); SELECT x FROM empty"),
	[{ columns: ['a', 'a', 'c', 'd'], rows: [['1.0', null, "x'00ff'", '9007199254740993']] }, { columns: ['x'], rows: [] }]);
const [{ n }] = db.query('SELECT count(*) AS n FROM spans');
writeFileSync(database, db.bytes());
db.close();
const again = sqlite.open(readFileSync(database));
assert.deepEqual(again.query("INSERT INTO spans_if(spans_if) VALUES('integrity-check'); SELECT count(*) AS n FROM spans"), [{ n }]);
again.close();
