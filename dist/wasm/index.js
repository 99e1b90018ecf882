// dist/wasm/index.js -- SQLite with iforest and the readers of traces in JavaScript: databases in memory, in a browser, a worker or node.
import createModule from './module.js';

async function readModule() {
	const url = new URL('./iforest.wasm', import.meta.url);
	if (url.protocol !== 'file:')
		return (await fetch(url)).arrayBuffer();
	const { readFile } = await import('node:fs/promises');
	return readFile(url);
}

const TRACES = '/traces'; // a folder of their own: whatever a trace is called, it is none of the databases and their journals
const ROW = 100, DONE = 101, READ_WRITE_CREATE = 6, COPIED = -1;
const INTEGER = 1, REAL = 2, TEXT = 3, BLOB = 4;

class Database {
	#module;
	#db;
	#path;
	#said;

	constructor(module, said, path, bytes) {
		this.#module = module;
		this.#said = said;
		this.#path = path;
		if (bytes) {
			const copy = Uint8Array.from(bytes);
			/* here is no memory to share with other processes, as the write-ahead log needs */
			if (copy.length > 20 && copy[18] === 2)
				copy[18] = copy[19] = 1;
			module.FS.writeFile(path, copy);
		}
		this.#db = this.#withMemory(4, place => this.#withText(path, name => {
			const status = module._sqlite3_open_v2(name, place, READ_WRITE_CREATE, 0), db = this.#word(place);
			if (status !== 0)
				throw new Error(module.UTF8ToString(module._sqlite3_errmsg(db)));
			return db;
		}));
	}

	/** The rows of the last of these statements, an object each. Parameters are for a single statement. */
	query(sql, parameters = []) {
		let rows = [];
		this.#each(sql, statement => {
			const names = this.#names(statement);
			rows = this.#run(statement, parameters, () => Object.fromEntries(names.map((name, i) => [name, this.#value(statement, i)])));
		});
		return rows;
	}

	/** What each of these statements gives that has columns: their names, and rows of texts as SQLite writes them; NULL is null. */
	show(sql) {
		const tables = [];
		this.#each(sql, statement => {
			const columns = this.#names(statement), rows = this.#run(statement, [], () => columns.map((_, i) => this.#shown(statement, i)));
			if (columns.length)
				tables.push({ columns, rows });
		});
		return tables;
	}

	/** Loads a trace as trace2sqlite does, with its indexes. Returns what that prints: the numbers of what was loaded, and what was left out. */
	loadTrace(name, bytes) {
		const { FS } = this.#module, file = name.replace(/[/\0]/g, '_'), path = `${TRACES}/${/^\.{0,2}$/.test(file) ? 'trace' : file}`;
		FS.writeFile(path, bytes);
		this.#said.length = 0;
		this.#module._wasm_start();
		const status = this.#module.callMain([this.#path, path]), said = this.#said.join('\n').replaceAll(`${TRACES}/`, '');
		FS.unlink(path);
		if (status !== 0)
			throw new Error(said);
		return said;
	}

	/** The database as a file. */
	bytes() {
		return this.#module.FS.readFile(this.#path);
	}

	close() {
		this.#module._sqlite3_close_v2(this.#db);
		if (this.#module.FS.analyzePath(this.#path).exists)
			this.#module.FS.unlink(this.#path);
		this.#db = 0;
	}

	#fail() {
		throw new Error(this.#module.UTF8ToString(this.#module._sqlite3_errmsg(this.#db)));
	}

	#word(at) {
		return new DataView(this.#module.HEAPU8.buffer).getUint32(at, true);
	}

	#withMemory(n, use) {
		const at = this.#module._malloc(n);
		try {
			return use(at);
		} finally {
			this.#module._free(at);
		}
	}

	#withText(text, use) {
		const n = this.#module.lengthBytesUTF8(text) + 1;
		return this.#withMemory(n, at => {
			this.#module.stringToUTF8(text, at, n);
			return use(at);
		});
	}

	#each(sql, use) {
		this.#withText(sql, start => this.#withMemory(8, place => {
			let at = start;
			while (this.#module.HEAPU8[at] !== 0) {
				if (this.#module._sqlite3_prepare_v2(this.#db, at, -1, place, place + 4) !== 0)
					this.#fail();
				const statement = this.#word(place);
				at = this.#word(place + 4);
				if (statement !== 0)
					use(statement);
			}
		}));
	}

	#names(statement) {
		const module = this.#module;
		return Array.from({ length: module._sqlite3_column_count(statement) }, (_, i) => module.UTF8ToString(module._sqlite3_column_name(statement, i)));
	}

	/* Ends the statement. */
	#run(statement, parameters, read) {
		const module = this.#module, rows = [];
		let status;
		try {
			parameters.forEach((value, i) => this.#bind(statement, i + 1, value));
			while ((status = module._sqlite3_step(statement)) === ROW)
				rows.push(read());
			if (status !== DONE)
				this.#fail();
		} finally {
			module._sqlite3_finalize(statement);
		}
		return rows;
	}

	#bind(statement, i, value) {
		const module = this.#module;
		let status;
		if (value === null || value === undefined)
			status = module._sqlite3_bind_null(statement, i);
		else if (typeof value === 'bigint' || Number.isSafeInteger(value))
			status = module._sqlite3_bind_int64(statement, i, BigInt(value));
		else if (typeof value === 'number')
			status = module._sqlite3_bind_double(statement, i, value);
		else if (typeof value === 'string')
			status = this.#withText(value, at => module._sqlite3_bind_text(statement, i, at, module.lengthBytesUTF8(value), COPIED));
		else if (value instanceof Uint8Array)
			status = this.#withMemory(value.length + 1, at => {
				module.HEAPU8.set(value, at);
				return module._sqlite3_bind_blob(statement, i, at, value.length, COPIED);
			});
		else
			throw new TypeError(`no SQL value: ${typeof value}`);
		if (status !== 0)
			this.#fail();
	}

	#text(statement, i) {
		const module = this.#module, at = module._sqlite3_column_text(statement, i), n = module._sqlite3_column_bytes(statement, i);
		return new TextDecoder().decode(module.HEAPU8.subarray(at, at + n));
	}

	#shown(statement, i) {
		const value = this.#value(statement, i);
		if (value instanceof Uint8Array)
			return `x'${Array.from(value, byte => byte.toString(16).padStart(2, '0')).join('')}'`;
		return value === null ? null : this.#text(statement, i);
	}

	#value(statement, i) {
		const module = this.#module;
		switch (module._sqlite3_column_type(statement, i)) {
		case INTEGER: {
			const value = module._sqlite3_column_int64(statement, i), number = Number(value);
			return Number.isSafeInteger(number) ? number : value;
		}
		case REAL:
			return module._sqlite3_column_double(statement, i);
		case TEXT:
			return this.#text(statement, i);
		case BLOB: {
			const at = module._sqlite3_column_blob(statement, i), n = module._sqlite3_column_bytes(statement, i);
			return module.HEAPU8.slice(at, at + n);
		}
		default:
			return null;
		}
	}
}

/** Starts the module. Its bytes are read from beside this file unless they are given. */
export async function iforest(wasmBinary) {
	const said = [], say = line => said.push(line);
	const module = await createModule({ wasmBinary: wasmBinary ?? await readModule(), print: say, printErr: say });
	let nOpened = 0;
	if (module._wasm_start() !== 0)
		throw new Error('iforest: out of memory');
	module.FS.mkdir(TRACES);
	return { open: bytes => new Database(module, said, `/database${++nOpened}.db`, bytes) };
}
