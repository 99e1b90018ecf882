// file.js -- what the page asks is asked of a worker that has made a database of a file: dropped, or chosen. Nothing leaves the machine.
'use strict';

const bar = document.getElementById('bar'), opened = element('span'), chooser = element('input'), start = element('div', undefined, 'start'), told = element('p');
const waiting = new Map();                      // questions by number: who waits for the answer
let worker = null, nAsked = 0;
let openedIn = null;                            // how long the last file took, in ms

function request(address) {
	/* a worker hears nothing while it works, and its questions end by themselves */
	if (address === 'stop')
		return Promise.resolve(new Response('{}'));
	return new Promise(resolve => {
		waiting.set(++nAsked, resolve);
		worker.postMessage({ number: nAsked, address });
	});
}

function hear(data, file, began) {
	if (data.progress) {
		const { what, n, of, rows } = data.progress;
		told.textContent = `${file.name}: ${what}${of && n ? ` ${Math.floor(100 * Math.min(1, n / of))} %, ${amount(rows)} rows` : ''}`;
	} else if (data.error !== undefined) {
		told.textContent = data.error;
	} else if (data.isOpen) {
		openedIn = performance.now() - began;
		start.style.display = 'none';
		opened.textContent = `${file.name}, opened in ${(openedIn / 1000).toFixed(1)} s`;
		getTrace().catch(error => { told.textContent = error.message; start.style.display = 'block'; });
	} else {
		waiting.get(data.number)(new Response(data.body, { status: data.status, headers: { 'Content-Type': data.type } }));
		waiting.delete(data.number);
	}
}

function bytesWithin(id) {
	return Uint8Array.from(atob(document.getElementById(id).textContent), letter => letter.charCodeAt(0));
}

// The worker has died: who waits is told, and so is the person.
function fail(message) {
	told.textContent = message;
	start.style.display = 'block';
	for (const resolve of waiting.values())
		resolve(new Response(message, { status: 500 }));
	waiting.clear();
}

// Another file takes the place of the one before, whose worker goes with all that it has.
function openFile(file) {
	const began = performance.now(), code = document.getElementById('worker').textContent;
	if (worker)
		worker.terminate();
	waiting.clear();
	trace = frame = arrows = null;
	isAsking = false;
	view.row = 0;
	closePanels();
	draw();
	opened.textContent = '';
	told.textContent = file.name;
	document.title = `${file.name} - timeline`;
	start.style.display = 'block';
	worker = new Worker(URL.createObjectURL(new Blob([code], { type: 'text/javascript' })));
	worker.onmessage = ({ data }) => hear(data, file, began);
	worker.onerror = event => fail(event.message || 'the worker behind this page has stopped; open the file again');
	worker.onmessageerror = () => fail('the worker behind this page sent what the page cannot read; open the file again');
	worker.postMessage({ file, wasmBinary: bytesWithin('module') });
}

chooser.type = 'file';
chooser.id = 'file';
chooser.addEventListener('change', () => chooser.files.length && openFile(chooser.files[0]));
for (const name of ['dragover', 'drop'])
	window.addEventListener(name, event => event.preventDefault());
window.addEventListener('drop', event => event.dataTransfer.files.length && openFile(event.dataTransfer.files[0]));
start.append(element('h2', 'Drop a trace here'),
	element('p', 'Chrome JSON, Perfetto, OpenTelemetry (OTLP), Spall, plain or gzip; or a database that trace2sqlite has made. It stays on this machine.'), chooser, told);
document.body.append(start);
bar.insertBefore(opened, document.getElementById('flows'));
document.getElementById('stop').remove();

const bundled = document.getElementById('trace');
if (bundled)
	openFile(new File([bytesWithin('trace')], bundled.dataset.name));
