#!/usr/bin/env python3
# The first question of a fresh process over files of which no page is in memory; bench/cold.sh starts it.
#
#     bench/cold.py FOLDER ROWS [PACKAGES]        PACKAGES: the folder with DuckDB's npm package; without it DuckDB is left out
#
# Spans of 16 tracks come in the order of time, a microsecond apart. SQLite has all indexes in one file; PostgreSQL has two databases, one with B-trees and one with
# iforest indexes. Before each question the system's files are written to disk and evicted from the page cache, one by one (posix_fadvise), and the server is
# started anew. What has no index of its own is asked at most once, and not at all where it would read more than MOST_SCANNED rows.
import bisect
import itertools
import os
import sqlite3
import statistics
import struct
import subprocess
import sys
import time

folder, rows = sys.argv[1], int(sys.argv[2])
packages = sys.argv[3] if len(sys.argv) > 3 else None
build = os.environ.get('BUILD', 'build')
rounds = int(os.environ.get('ROUNDS', '5'))
wanted = os.environ.get('SYSTEMS', 'SQLite PostgreSQL DuckDB').split()
reference = os.environ.get('REFERENCE')
MOST_SCANNED = 2e7
ask_program, extension = f'{build}/bench/cold', f'{build}/iforest'
database, duck = f'{folder}/cold_{rows}.db', f'{folder}/cold_{rows}.duckdb'

# ---- the spans ----

# of number i: shifts and masks alone, the same in all three
SPAN = ('i AS id, i * 1000 + ((i * 40503) & 1023) AS ts, ((i * 2246822519) >> 3) & ((CAST(1 AS bigint) << CAST(((i * 3266489917) >> 5) % 24 AS int)) - 1) AS dur, '
        '((i * 2654435761) >> 7) & 15 AS track')
COLUMNS = 'id BIGINT PRIMARY KEY, ts BIGINT, dur BIGINT, track BIGINT'
UNLOGGED = ['PRAGMA journal_mode = OFF', 'PRAGMA synchronous = OFF', 'PRAGMA cache_size = -200000']


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f'cold: {command[0]} failed')
    return done.stdout


def make_sqlite():
    if os.path.exists(database):
        return
    numbers = f'WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < {rows})'
    run(ask_program, 'sqlite', database, extension, *UNLOGGED, f'CREATE TABLE spans({COLUMNS.replace("id BIGINT", "id INTEGER")})',
        f'INSERT INTO spans {numbers} SELECT {SPAN} FROM g',
        'CREATE VIRTUAL TABLE spans_by USING iforest(content=spans, time=ts, duration=dur, by=track)',
        'CREATE VIRTUAL TABLE spans_if USING iforest(content=spans, time=ts, duration=dur)', 'CREATE VIRTUAL TABLE spans_rows USING iforest_rows(spans_if)',
        'CREATE INDEX spans_ts ON spans(ts, dur)', 'CREATE INDEX spans_track ON spans(track, ts, dur)')


def make_postgres():
    for name in 'plain', 'ours':
        os.environ['PGDATABASE'] = 'postgres'
        run(ask_program, 'postgres', f'CREATE DATABASE {name}')
        os.environ['PGDATABASE'] = name
        index = ('CREATE INDEX ON spans (ts) INCLUDE (dur)', 'CREATE INDEX ON spans (track, ts) INCLUDE (dur)') if name == 'plain' else (
            'CREATE EXTENSION iforest', 'CREATE INDEX ON spans USING iforest (ts) INCLUDE (dur)', 'CREATE INDEX ON spans USING iforest (track, ts) INCLUDE (dur)')
        run(ask_program, 'postgres', f'CREATE TABLE spans({COLUMNS.replace(" PRIMARY KEY", "")})',
            f'INSERT INTO spans SELECT {SPAN} FROM generate_series(CAST(1 AS bigint), {rows}) i', "SET maintenance_work_mem = '256MB'", *index,
            'VACUUM (FREEZE, ANALYZE) spans')
    run(ask_program, 'postgres', 'CHECKPOINT')


def make_duckdb():
    if not os.path.exists(duck):
        run('node', 'bench/cold.mjs', packages, duck, f'CREATE TABLE spans({COLUMNS.replace(" PRIMARY KEY", "")})', f'INSERT INTO spans SELECT {SPAN} FROM range(1, {rows} + 1) AS g(i)', 'CHECKPOINT')


# ---- the questions ----

end = (rows + 2) * 1000
WIDE, NARROW = -(-end // 1920), max(1, end // 192000)
MIDDLE = end // 2 // (NARROW * 1920) * (NARROW * 1920)


def panels(t0, t1):
    """Ten panels over a window: what plain SQL asks, and what the tables of an index in SQLite are asked."""
    step = (t1 - t0) // 200
    window, table = f'ts >= {t0} AND ts < {t1}', f'({t0}, {t1})'

    def floor(width):
        return f'ts / {width} * {width}'

    return [(f'SELECT {floor(step)}, count(*), sum(dur) FROM spans WHERE {window} GROUP BY 1', f'SELECT bucket_start, count, sum_dur FROM spans_if{table} WHERE step = {step}'),
            (f'SELECT {floor(4 * step)}, track, sum(dur) FROM spans WHERE {window} GROUP BY 1, 2', f'SELECT bucket_start, track, sum_dur FROM spans_by{table} WHERE step = {4 * step}'),
            (f'SELECT {floor(step)}, max(dur), count(*) FROM spans WHERE {window} AND track IN (3, 7) GROUP BY 1',
             f'SELECT bucket_start, max(max_dur), sum(count) FROM spans_by{table} WHERE step = {step} AND track IN (3, 7) GROUP BY 1'),
            (f'SELECT count(*), sum(dur), max(dur) FROM spans WHERE {window}', f'SELECT count, sum_dur, max_dur FROM spans_if{table}'),
            (f'SELECT count(*), sum(dur), max(dur) FROM spans WHERE ts >= {2 * t0 - t1} AND ts < {t0}', f'SELECT count, sum_dur, max_dur FROM spans_if({2 * t0 - t1}, {t0})'),
            (f'SELECT track, count(*), sum(dur) FROM spans WHERE {window} GROUP BY track ORDER BY 3 DESC, 1 LIMIT 5',
             f'SELECT track, count, sum_dur FROM spans_by{table} ORDER BY 3 DESC, 1 LIMIT 5'),
            (f'SELECT ts, dur FROM spans WHERE {window} AND track = 5 ORDER BY ts DESC LIMIT 1', f'SELECT last_ts, last_dur FROM spans_by{table} WHERE track = 5'),
            (f'SELECT {floor(8 * step)}, track, sum(dur), count(*) FROM spans WHERE {window} GROUP BY 1, 2',
             f'SELECT bucket_start, track, sum_dur, count FROM spans_by{table} WHERE step = {8 * step}'),
            (f'SELECT DISTINCT track FROM spans WHERE {window}', f'SELECT track FROM spans_by{table}'),
            (f'SELECT ts, dur FROM spans WHERE {window} ORDER BY dur DESC, ts, id LIMIT 10', f'SELECT ts, dur FROM spans_rows WHERE ts >= {t0} AND ts < {t1} ORDER BY dur DESC, ts, id LIMIT 10')]


def one(where, table):
    return [(f'SELECT count(*), sum(dur), max(dur) FROM spans {where}', f'SELECT count, sum_dur, max_dur FROM {table}')]


def buckets(width, t0, is_by, columns=('count(*), sum(dur), max(dur)', 'count, sum_dur, max_dur')):
    t1, track, table = t0 + 1920 * width, 'track, ' if is_by else '', 'spans_by' if is_by else 'spans_if'
    return [(f'SELECT {track}ts / {width} * {width}, {columns[0]} FROM spans WHERE ts >= {t0} AND ts < {t1} GROUP BY 1{", 2" if is_by else ""}',
             f'SELECT {track}bucket_start, {columns[1]} FROM {table}({t0}, {t1}) WHERE step = {width}')]


LONGEST = ('max(dur)', 'max_dur')
window = (MIDDLE, MIDDLE + 1920 * NARROW)
shown = f'WHERE ts >= {window[0]} AND ts < {window[1]}'
# name, statements, how many rows plain SQL reads, the index's table and the ends of its buckets
QUESTIONS = [('a row by its id', [(f'SELECT dur FROM spans WHERE id = {rows // 2}',) * 2], 1, None),
             ('window of 1 %', one(shown, f'spans_if({window[0]}, {window[1]})'), rows / 100, ('spans_if', window)),
             ('one track, window of 1 %', one(shown + ' AND track = 7', f'spans_by({window[0]}, {window[1]}) WHERE track = 7'), rows / 1600, None),
             ('1920 buckets', buckets(WIDE, 0, False), rows, ('spans_if', range(0, 1921 * WIDE, WIDE))),
             ('1920 buckets of 1 %', buckets(NARROW, MIDDLE, False), rows / 100, ('spans_if', range(MIDDLE, window[1] + 1, NARROW))),
             ('frame, sums', buckets(WIDE, 0, True), rows, ('spans_by', range(0, 1921 * WIDE, WIDE))),
             ('frame, longest', buckets(WIDE, 0, True, LONGEST), rows, None),
             ('frame of 1 %, sums', buckets(NARROW, MIDDLE, True), rows / 100, ('spans_by', range(MIDDLE, window[1] + 1, NARROW))),
             ('frame of 1 %, longest', buckets(NARROW, MIDDLE, True, LONGEST), rows / 100, None),
             ('dashboard of ten panels', panels(*window), rows / 10, None)]


# ---- the least possible ----

def rows_of(sql):
    """Rows of integers, by SQLite's shell: a module of Python may not be able to load an extension."""
    done = subprocess.run(['sqlite3', '-readonly', database], input=f'.load {extension}\n{sql};\n', stdout=subprocess.PIPE, text=True, check=True)
    return [[int(cell) for cell in line.split('|')] for line in done.stdout.splitlines()]


def leaf_starts(table):
    """The rank of the first entry of each leaf page, the fan-out and the number of levels, by the headers of all pages."""
    db = sqlite3.connect(database)
    entries, fanout, top = {}, 0, 0
    for header, in db.execute(f'SELECT substr(bytes, 1, 32) FROM {table}_page WHERE id > 0'):
        number, _, level, _, n_items, n_entries = struct.unpack_from('<IHBBHH', header, 16)
        if level == 0:
            entries[number] = n_entries
        else:
            fanout, top = max(fanout, n_items), max(top, level)
    db.close()
    return [0, *itertools.accumulate(entries[number] for number in range(len(entries)))], fanout, top


def least_pages(table, ends):
    """Pages of the index from the top to each leaf page that an end of a bucket cuts; the root is in the manifest. Of an index of one run."""
    starts, fanout, top = leaf_starts(table)
    by = 'track' if table == 'spans_by' else '0'
    before = dict(rows_of(f'SELECT {by}, count FROM {table} WHERE t1 = {ends[0]}'))
    sizes = rows_of(f'SELECT {by}, bucket_start, count FROM {table}({ends[0]}, {ends[-1]}) WHERE step = {ends[1] - ends[0]} AND origin = {ends[0]} ORDER BY 1, 2')
    need, first = set(), 0
    for track, total in rows_of(f'SELECT {by}, count FROM {table} ORDER BY 1'):
        ranks = [before.get(track, 0), *(size for of, _, size in sizes if of == track)]
        for rank in itertools.accumulate(ranks, initial=first):
            number = bisect.bisect_right(starts, rank) - 1
            if rank in (first, first + total) or starts[number] == rank:
                continue
            for level in range(top + 1):
                need.add((level, number))
                number //= fanout
        first += total
    return len(need)


# ---- asking ----

def evict(*paths):
    for path in paths:
        for file in [path] if os.path.isfile(path) else [os.path.join(at, name) for at, _, names in os.walk(path) for name in names]:
            try:
                handle = os.open(file, os.O_RDONLY)
            except OSError:  # a socket, or a file that is gone
                continue
            os.fsync(handle)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(handle)


def pg_ctl(*what):
    unprivileged = ['setpriv', '--reuid=nobody', '--regid=nogroup', '--clear-groups'] if os.geteuid() == 0 else []
    cluster = os.environ['PGHOST']
    subprocess.run([*unprivileged, 'pg_ctl', '-D', f'{cluster}/data', '-l', f'{cluster}/server.log', '-w', '-s', *what], check=True, cwd=cluster)


def ask(system, name):
    statements = dict((q[0], q[1]) for q in QUESTIONS)[name]
    plain, ours = [s[0] for s in statements], [s[1] for s in statements]
    if system.startswith('SQLite'):
        evict(database)
        before = ['PRAGMA threads = 1'] if 'a thread' in system else []
        library = reference if system == 'SQLite, index before' else extension
        return run(ask_program, 'sqlite', database, *(['', *plain] if system == 'SQLite, covering' else [library, *before, *ours])).split()
    if system == 'DuckDB':
        evict(duck)
        return run('node', 'bench/cold.mjs', packages, duck, *[q.replace(' / ', ' // ') for q in plain]).split()
    pg_ctl('-m', 'fast', 'stop')
    data = os.environ['PGHOST'] + '/data'
    evict(data)
    pg_ctl('start')
    os.environ['PGDATABASE'] = 'ours' if system.startswith('PostgreSQL, index') else 'plain'
    evict(f'{data}/base')
    before = ['SET effective_io_concurrency = 0'] if 'not ahead' in system else []
    return run(ask_program, 'postgres', *before, *plain).split()


systems = []
if 'SQLite' in wanted:
    make_sqlite()
    systems += ['SQLite, covering', *(['SQLite, index before'] if reference else []), 'SQLite, index', 'SQLite, index, a thread']
if 'PostgreSQL' in wanted:
    make_postgres()
    systems += ['PostgreSQL, B-trees', 'PostgreSQL, index, not ahead', 'PostgreSQL, index']
if 'DuckDB' in wanted and packages:
    make_duckdb()
    systems.append('DuckDB')

parts = os.environ.get('PARTS')
for name, _, n_scanned, cuts in QUESTIONS:
    if parts and name not in parts.split(';'):
        continue
    least = least_pages(*cuts) if cuts and 'SQLite' in wanted else None
    print(f'\n{name}' + (f'; at least {least} pages of the index in SQLite' if least is not None else ''))
    print(f'  {"":26} {"median ms":>11} {"least ms":>11} {"KiB read":>11} {"reads":>9} {"waits":>9} {"SQLite pages":>13} {"peak KiB":>10} {"rows":>8}', flush=True)
    checks = set()
    for system in systems:
        is_scan = 'index' not in system
        # of the others' tables the id is no key
        if is_scan and n_scanned > MOST_SCANNED or n_scanned == 1 and not system.startswith('SQLite'):
            continue
        n = 1 if is_scan and n_scanned > 2e6 else rounds
        asked = [ask(system, name) for _ in range(n)]
        times = [float(a[0]) for a in asked]
        middle = sorted(asked, key=lambda a: float(a[0]))[len(asked) // 2]
        checks.add((middle[1], middle[2]))
        print(f'  {system:26} {statistics.median(times):11.2f} {min(times):11.2f} {middle[3]:>11} {middle[4]:>9} {middle[5]:>9} {middle[6] if middle[6] != "-1" else "":>13} {middle[7]:>10} {middle[1]:>8}',
              flush=True)
    if len(checks) > 1:
        print('  ANSWERS DIFFER')
        sys.exit(1)
