// tests/dist/bun_sqlite.mjs -- The package in bun:sqlite, with times that are no JavaScript numbers.
import assert from 'node:assert';
import { Database } from 'bun:sqlite';
import { getLoadablePath } from 'iforest';

const db = new Database(':memory:', { safeIntegers: true });
db.loadExtension(getLoadablePath());
db.exec('CREATE TABLE spans(id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER)');
db.exec('INSERT INTO spans(ts, dur) VALUES (1732367000123456789, 5), (1732367000123456790, 7)');
db.exec('CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur)');
const row = db.query('SELECT count, sum_dur, last_ts FROM spans_if(?, ?)').get(1732367000123456790n, 1732367000123456791n);
assert.deepEqual({ ...row }, { count: 1n, sum_dur: 7n, last_ts: 1732367000123456790n });
