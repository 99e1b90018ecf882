// tests/dist/node_sqlite.mjs -- The package in node:sqlite, with times that are no JavaScript numbers.
import assert from 'node:assert';
import { DatabaseSync } from 'node:sqlite';
import { load } from 'iforest';

const db = new DatabaseSync(':memory:', { allowExtension: true });
load(db);
db.exec(`CREATE TABLE spans(id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER);
	INSERT INTO spans(ts, dur) VALUES (1732367000123456789, 5), (1732367000123456790, 7);
	CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur)`);
const query = db.prepare('SELECT count, sum_dur, last_ts FROM spans_if(?, ?)');
assert.throws(() => query.get(1732367000123456789n, 1732367000123456791n), { code: 'ERR_OUT_OF_RANGE' });
query.setReadBigInts(true);
assert.deepEqual({ ...query.get(1732367000123456790n, 1732367000123456791n) }, { count: 1n, sum_dur: 7n, last_ts: 1732367000123456790n });
