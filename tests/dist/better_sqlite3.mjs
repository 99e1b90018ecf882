// tests/dist/better_sqlite3.mjs -- The package in better-sqlite3, with times that are no JavaScript numbers.
import assert from 'node:assert';
import Database from 'better-sqlite3';
import { getLoadablePath } from 'iforest';

const db = new Database(':memory:');
db.loadExtension(getLoadablePath());
db.exec(`CREATE TABLE spans(id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER);
	INSERT INTO spans(ts, dur) VALUES (1732367000123456789, 5), (1732367000123456790, 7);
	CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur)`);
const query = db.prepare('SELECT count, sum_dur, last_ts FROM spans_if(?, ?)');
assert.equal(query.get(1732367000123456789n, 1732367000123456791n).last_ts, 1732367000123456800);
assert.deepEqual(query.safeIntegers().get(1732367000123456790n, 1732367000123456791n), { count: 1n, sum_dur: 7n, last_ts: 1732367000123456790n });
