// tests/dist/readme.mjs -- Runs SQL by the package iforest in node:sqlite, or with the argument wasm by iforest-wasm, and prints rows.
import { readFileSync } from 'node:fs';

const [setup, query] = readFileSync(0, 'utf8').split('\n\n');
let rows;
if (process.argv[2] === 'wasm') {
	const { iforest } = await import('iforest-wasm');
	const db = (await iforest()).open();
	db.query(setup);
	rows = db.query(query);
} else {
	const { DatabaseSync } = await import('node:sqlite');
	const { load } = await import('iforest');
	const db = new DatabaseSync(':memory:', { allowExtension: true });
	load(db);
	db.exec(setup);
	rows = db.prepare(query).all();
}
for (const row of rows)
	console.log(Object.values(row).join('|'));
