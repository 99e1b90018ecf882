// tour_worker.js -- behind the tour: a database in memory, and what is asked of it.
import { iforest } from './index.js';

const opened = iforest().then(sqlite => sqlite.open());

onmessage = async ({ data: { number, sql } }) => {
	try {
		const db = await opened, began = performance.now(), tables = db.show(sql);
		postMessage({ number, tables, ms: performance.now() - began });
	} catch (error) {
		postMessage({ number, error: error.message });
	}
};
