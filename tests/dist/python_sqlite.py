"""The wheel in Python's sqlite3, and what it says where that has no load_extension()."""
import sqlite3

import iforest

db = sqlite3.connect(':memory:')
iforest.load(db)
db.executescript('''CREATE TABLE spans(id INTEGER PRIMARY KEY, ts INTEGER, dur INTEGER);
    INSERT INTO spans(ts, dur) VALUES (1732367000123456789, 5), (1732367000123456790, 7);
    CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur)''')
answer = db.execute('SELECT count, sum_dur, last_ts FROM spans_if(?, ?)', (1732367000123456790, 1732367000123456791)).fetchall()
assert answer == [(1, 7, 1732367000123456790)], answer
try:
    db.load_extension(iforest.loadable_path())
    raise SystemExit('extensions can still be loaded')
except sqlite3.OperationalError:
    pass
try:
    iforest.load(object())
    raise SystemExit('a connection without load_extension() was taken')
except sqlite3.NotSupportedError as error:
    assert 'apsw' in str(error), error
