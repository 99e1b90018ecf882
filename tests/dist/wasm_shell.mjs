// tests/dist/wasm_shell.mjs -- Smallest SQLite shell that the guided tour needs, over the WebAssembly module in node, as host.c is over others.
//
//   node wasm_shell.mjs FOLDER <sql/sqlite/tour.sql     FOLDER has index.js
//
// Rows are printed as `.mode list` does. It knows .print; the other commands of the tour are what it does anyway.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const { iforest } = await import(pathToFileURL(resolve(process.argv[2], 'index.js')));
const db = (await iforest()).open();

// As SQLite writes it as text, which JavaScript would write in another way.
function show(sql) {
	const rows = db.query(sql);
	if (!rows.length)
		return;
	console.log(Object.keys(rows[0]).join(' | '));
	for (const row of rows)
		console.log(Object.values(row).map(value => value === null ? 'NULL' : typeof value === 'number' && !Number.isInteger(value)
			? db.query('SELECT CAST(? AS TEXT) AS t', [value])[0].t : String(value)).join(' | '));
}

let sql = '';
for (const line of readFileSync(0, 'utf8').split('\n')) {
	if (line.startsWith('.')) {
		if (line.startsWith('.print'))
			console.log(line.slice(6).replace(/^[ "]+/, '').replace(/"+$/, ''));
		continue;
	}
	sql += `${line}\n`;
	if (line.trimEnd().endsWith(';')) {
		show(sql);
		sql = '';
	}
}
