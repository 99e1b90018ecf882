"""iforest: range-aggregate indexes for trace tables in SQLite.

    import sqlite3, iforest
    db = sqlite3.connect('spans.db')
    iforest.load(db)
    db.execute('CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur, by=(track))')
    db.execute('SELECT bucket, max_dur, max_dur_id FROM spans_if(?, ?, 1920)', (t0, t1))
"""
import os
import sys

__all__ = ['load', 'loadable_path']


def loadable_path():
    """The path to give to load_extension(), without the ending."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), 'iforest')


def load(db):
    """Loads iforest into a connection of sqlite3, pysqlite3 or apsw.

    Raises NotSupportedError where Python's sqlite3 was built without extensions, as pyenv and macOS' own have it.
    """
    enable = getattr(db, 'enable_load_extension', None) or getattr(db, 'enableloadextension', None)
    if enable is None:
        import sqlite3
        raise sqlite3.NotSupportedError(
            f'the sqlite3 module of this Python ({sys.executable}) was built without load_extension(). Use a Python that has it '
            '(those of Linux distributions, of Homebrew, and of python.org for Windows do), or the packages pysqlite3 or apsw')
    enable(True)
    try:
        (getattr(db, 'load_extension', None) or db.loadextension)(loadable_path())
    finally:
        enable(False)
