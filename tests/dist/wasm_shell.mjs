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

function show(sql) {
	for (const { columns, rows } of db.show(sql))
		for (const row of rows.length ? [columns, ...rows] : [])
			console.log(row.map(value => value ?? 'NULL').join(' | '));
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
