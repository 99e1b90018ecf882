// worker.js -- behind the page: makes a database of a file, and answers what is asked about it. worker.c is compiled into what stands before.
'use strict';

let module = null;

// The memory of C: a text there, to be freed.
function textOf(text) {
	const n = module.lengthBytesUTF8(text) + 1, at = module._malloc(n);
	module.stringToUTF8(text, at, n);
	return at;
}

async function isDatabase(file) {
	return new TextDecoder().decode(await file.slice(0, 15).arrayBuffer()) === 'SQLite format 3';
}

// The file stays where it is, and is read as it is needed. A trace becomes a database in memory; a database is read as it is, of which
// nobody else may write meanwhile.
async function open({ file, wasmBinary }) {
	const said = [], path = `/file/${file.name}`, uri = `file:${encodeURI(path).replaceAll('?', '%3f').replaceAll('#', '%23')}?immutable=1`;
	module = await createModule({
		wasmBinary, print() {}, printErr: line => said.push(line.replaceAll(uri, file.name).replaceAll('/file/', '')),
		onProgress: (what, n, of, rows) => postMessage({ progress: { what, n, of, rows } }),
	});
	module.FS.mkdir('/file');
	module.FS.mount(module.WORKERFS, { blobs: [{ name: file.name, data: file }] }, '/file');
	module._wasm_start();
	const isMade = !await isDatabase(file);
	if (isMade && module.callMain(['/trace.db', path]) !== 0)
		throw new Error(said.join('\n'));
	const at = textOf(isMade ? '/trace.db' : uri);
	if (!module._timeline_open(at))
		throw new Error(said.join('\n'));
	module._free(at);
}

function answer(address) {
	const [path, query] = address.split('?'), words = [...new URLSearchParams(query)].map(([name, value]) => `${name}\0${value}\0`);
	const [pathAt, wordsAt] = [textOf(`/${path}`), textOf(words.join(''))];
	const answerAt = module._timeline_get(pathAt, wordsAt);
	/* only now: where a call makes the memory grow, its buffer from before is detached */
	const [status, type, at, n] = new Uint32Array(module.HEAPU8.buffer, answerAt, 4);
	module._free(pathAt);
	module._free(wordsAt);
	return { status, type: module.UTF8ToString(type), body: module.HEAPU8.slice(at, at + n).buffer };
}

// What a person can do about an error. Once memory has run out, no call works any more.
function messageOf(error) {
	const message = String(error.message || error);
	return /OOM|memory/i.test(message) ? `the browser has not enough memory for this file (${message}); examples/timeline/timeline.sh shows it by a server` : message;
}

function failure(error) {
	return { status: 500, type: 'text/plain', body: new TextEncoder().encode(messageOf(error)).buffer };
}

// Every request has an answer, whatever happens in between.
onmessage = async ({ data }) => {
	if (data.file) {
		await open(data).then(() => postMessage({ isOpen: true }), error => postMessage({ error: messageOf(error) }));
		return;
	}
	let told;
	try {
		told = answer(data.address);
	} catch (error) {
		told = failure(error);
	}
	postMessage({ number: data.number, ...told }, [told.body]);
};
