"""Runs SQL by the wheel iforest in Python's sqlite3, and prints rows."""
import sqlite3
import sys

import iforest

setup, query = sys.stdin.read().split('\n\n')
db = sqlite3.connect(':memory:')
iforest.load(db)
db.executescript(setup)
for row in db.execute(query):
    print(*row, sep='|')
