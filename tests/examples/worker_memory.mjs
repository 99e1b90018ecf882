// worker_memory.mjs -- the worker behind the page, over a memory that grows in each call, as WebAssembly's does: each request has an answer, and
// no view of the memory from before a call is read after it. TAP, of which timeline.sh has the result.
import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';

const memory = new WebAssembly.Memory({ initial: 1, maximum: 200 });
const answers = [], encoder = new TextEncoder();
let nextAt = 1024, fails = null;

// Growing detaches the buffer of all views of before.
function grow() {
	memory.grow(1);
}

function place(bytes) {
	const at = nextAt;
	nextAt += bytes.length + 8 & ~7;
	new Uint8Array(memory.buffer).set(bytes, at);
	return at;
}

const module = {
	get HEAPU8() { return new Uint8Array(memory.buffer); },
	lengthBytesUTF8: text => encoder.encode(text).length,
	stringToUTF8: (text, at) => new Uint8Array(memory.buffer).set([...encoder.encode(text), 0], at),
	UTF8ToString: at => { const bytes = new Uint8Array(memory.buffer, at); return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0))); },
	_malloc: n => { grow(); return place(new Uint8Array(n)); },
	_free: grow,
	_timeline_get() {
		grow();
		if (fails)
			throw fails;
		const body = place(encoder.encode('the answer')), type = place(encoder.encode('text/plain\0'));
		return place(new Uint8Array(new Uint32Array([200, type, body, 10]).buffer));
	},
};
const context = { postMessage: message => answers.push(message), TextDecoder, TextEncoder, URLSearchParams, Uint32Array, console, onmessage: null };
runInNewContext(`${readFileSync('examples/timeline/static/worker.js', 'utf8')}; this.setModule = value => { module = value; };`, context);
context.setModule(module);

async function answerTo(number, error) {
	fails = error;
	await context.onmessage({ data: { number, address: 'frame?t0=0&t1=9' } });
	const { number: of, status, body } = answers.pop() || {};
	return `${of} ${status} ${body ? new TextDecoder().decode(body) : ''}`;
}

const seen = [await answerTo(1, null), await answerTo(2, new Error('Aborted(OOM)')), await answerTo(3, new Error('a fault')), await answerTo(4, null)];
const expected = ['1 200 the answer', '2 500 the browser has not enough memory for this file (Aborted(OOM)); examples/timeline/timeline.sh shows it by a server', '3 500 a fault', '4 200 the answer'];
if (JSON.stringify(seen) !== JSON.stringify(expected)) {
	console.log(JSON.stringify(seen));
	process.exit(1);
}
