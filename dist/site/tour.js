// tour.js -- the tour in the page: its SQL in boxes that run. SQLite with iforest is in a worker, with a database in memory.
const examples = [...document.querySelectorAll('pre > code.language-sql')].map(prepare);
const waiting = new Map();                      // questions by number: who waits for the answer
let worker = null, nAsked = 0;

function element(name, text, className) {
	const made = document.createElement(name);
	made.textContent = text ?? '';
	if (className)
		made.className = className;
	return made;
}

function button(text, press) {
	const made = element('button', text, 'md-button');
	made.type = 'button';
	made.addEventListener('click', press);
	return made;
}

// An example becomes a box; what is said below it stays until there is an answer.
function prepare(code, number) {
	const block = code.parentElement, sql = code.textContent.trimEnd(), box = document.createElement('textarea'), line = element('div', '', 'tour-line');
	const expected = block.nextElementSibling?.querySelector('code.language-text') ? block.nextElementSibling : null, answer = element('div', '', 'tour-answer');
	const example = { sql, box, answer, expected, said: element('span', expected ? 'expected answer:' : ''), isDone: false };
	box.className = 'tour-question';
	box.spellcheck = false;
	box.setAttribute('aria-label', 'SQL');
	box.addEventListener('input', () => fit(box));
	box.addEventListener('keydown', event => {
		if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
			runUpTo(number);
	});
	line.append(button('Run', () => runUpTo(number)), example.said);
	block.replaceWith(box, line, answer);
	restore(example);
	return example;
}

function fit(box) {
	box.style.height = 'auto';
	box.style.height = `${box.scrollHeight + 2}px`;
}

function restore(example) {
	example.box.value = example.sql;
	example.isDone = false;
	example.answer.replaceChildren();
	example.said.textContent = example.expected ? 'expected answer:' : '';
	if (example.expected)
		example.expected.style.display = '';
	fit(example.box);
}

function start() {
	worker?.terminate();
	waiting.forEach(tell => tell(null));    /* whoever waited has begun again */
	waiting.clear();
	worker = new Worker(new URL('tour_worker.js', import.meta.url), { type: 'module' });
	worker.onmessage = ({ data }) => {
		waiting.get(data.number)(data);
		waiting.delete(data.number);
	};
	worker.onerror = () => waiting.forEach(tell => tell({ error: 'the WebAssembly module does not start here: open the page by a web server, not as a file' }));
}

function ask(sql) {
	return new Promise(resolve => {
		waiting.set(++nAsked, resolve);
		worker.postMessage({ number: nAsked, sql });
	});
}

function tableOf({ columns, rows }) {
	const table = element('table'), head = table.createTHead().insertRow();
	head.append(...columns.map(name => element('th', name)));
	for (const row of rows) {
		const line = table.insertRow();
		line.append(...row.map(value => element('td', value ?? 'NULL', value === null ? 'tour-null' : /^-?\d/.test(value) ? 'tour-number' : '')));
	}
	return table;
}

function show(example, { tables, ms, error }) {
	example.isDone = error === undefined;
	if (example.expected)
		example.expected.style.display = 'none';
	example.answer.replaceChildren(...(error === undefined ? tables.filter(({ rows }) => rows.length).map(tableOf) : [element('p', error, 'tour-error')]));
	example.said.textContent = error !== undefined ? '' : `${tables.length ? `${tables.reduce((n, { rows }) => n + rows.length, 0)} rows` : 'done'}, ${ms.toFixed(1)} ms, in this page`;
	return example.isDone;
}

// What comes before an example has to be done before it: its tables are made there.
async function runUpTo(last) {
	examples[last].isDone = false;
	for (const example of examples.slice(0, last + 1)) {
		if (example.isDone)
			continue;
		example.said.textContent = 'running';
		const answer = await ask(example.box.value);
		if (!answer || !show(example, answer))
			return;
	}
}

function startOver() {
	examples.forEach(restore);
	start();
}

const line = element('div', '', 'tour-line');
line.append(button('Run all', () => runUpTo(examples.length - 1)), button('Start over', startOver));
examples[0].box.before(line);
start();
