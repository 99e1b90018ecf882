#!/usr/bin/env python3
"""Dashboards: each panel's SQL, as its tool sends it, with the index and without, and each picture. In TAP's words; run by dashboards.sh.

The SQL is that of the files in examples/dashboards; panels.py there says what each tool makes of it. PostgreSQL's answers are compared with
those of `iforest.enable = off`, SQLite's with plain SQL over the table. Where the index must be seen in the plan, docs/dashboards.md says.
"""
import contextlib
import datetime
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'examples', 'dashboards'))
sys.dont_write_bytecode = True

import draw  # pylint: disable=wrong-import-position
import panels  # pylint: disable=wrong-import-position
import server  # pylint: disable=wrong-import-position

ON, OFF = '', 'SET iforest.enable = off'
MOST_BYTES, MOST_BYTES_IN_ALL = 60000, 400000


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding='utf-8') as file:
        return file.read()


def equal(actual, expected, what):
    if actual != expected:
        raise AssertionError(f'{what}:\n{str(actual)[:1500]}\ninstead of\n{str(expected)[:1500]}')


def true(condition, what):
    if not condition:
        raise AssertionError(what)


# ---- the documents: which part of the plan is the index's ----

def documented_plans():
    """{name of a picture, or what a row is called: what its plan must have}, by the last cells of the tables in docs/dashboards.md."""
    plans = {}
    for row in re.findall(r'^\| (.*) \|$', text_of('docs', 'dashboards.md'), flags=re.M):
        cells = row.split(' | ')
        picture = re.search(r'pictures/(\w+)\.svg', cells[0])
        plans[picture[1] if picture else cells[0]] = re.findall(r'`(\w+)`', cells[-1])
    return plans


# ---- Grafana, Metabase and Superset ----

ZONE = datetime.timezone.utc
# arguments of draw.question: all of the sample; a window with cut ends, finer buckets and one service; a name to be quoted
VARIANTS = ({}, {'first': datetime.datetime(2026, 1, 1, 0, 7, 13, 500000, ZONE), 'last': datetime.datetime(2026, 1, 1, 4, 58, 1, 250000, ZONE),
                 'services': ['payments'], 'interval': '1m'},
            {'services': ["o'k", 'search', 'checkout'], 'interval': '1h'})


def answers_hold(panel, plans):
    """The panel's answers are those without the index, and the index is in its plan."""
    for variant in VARIANTS:
        sql, prepare = draw.question(panel, **variant)
        actual, expected = (server.ask(draw.DATABASE, sql, setting, prepare) for setting in (ON, OFF))
        true(expected.rows, 'no rows: ' + sql)
        equal(list(zip(actual.columns, actual.types)), list(zip(expected.columns, expected.types)), 'columns of ' + sql)
        equal(actual.rows, expected.rows, 'rows of ' + sql)
        wanted = plans.get(panel.name or panel.title)
        true(wanted, f'docs/dashboards.md has no row of {panel.name or panel.title}')
        for part in wanted:
            true(part in actual.plan, f'{part} is not in the plan of {sql}\n{actual.plan}')
            # the arm of spans_if_overlap that reads the index stays in the plan, and does not run
            true(part not in expected.plan or part == 'iforest_overlap_spans', f'{part} is in the plan without the index of {sql}\n{expected.plan}')


def macros_are_those_of_the_bi_suite():
    """tests/pg/bi/grafana.sql has the texts that Grafana sends."""
    sent = text_of('tests', 'pg', 'bi', 'grafana.sql')
    first, last = datetime.datetime(2024, 11, 3, tzinfo=ZONE), datetime.datetime(2024, 11, 3, 18, 5, 0, 500000, ZONE)
    for macro in ("$__timeGroupAlias(ts,1m)", "$__timeGroupAlias(ts,'5m')", "$__timeGroupAlias(ts, '20ms')", '$__timeGroup(ts,$__interval)',
                  '$__timeFilter(ts)', "service IN ($service)"):
        expanded = panels.grafana(macro, first, last, '1h', ['api', 'auth', 'cart'])
        true(expanded in sent, f'{macro} becomes {expanded}, which is not in tests/pg/bi/grafana.sql')
    equal(panels.grafana('$__from $__to $__interval_ms', first, last, '30s', []), '1730592000000 1730657100500 30000', 'variables')
    equal(panels.go_number(12 * 86400), '1.0368e+06', 'twelve days')


def optional_clauses_are_left_out():
    sql = 'SELECT 1 WHERE a = {{a}} [[AND b = {{b}}]]'
    equal(panels.metabase(sql, {'a': 'x', 'b': None}), ('SELECT 1 WHERE a = $1 ', ['varchar'], ['x']), 'without b')
    equal(panels.metabase(sql, {'a': 'x', 'b': 'y'}), ('SELECT 1 WHERE a = $1 AND b = $2', ['varchar'] * 2, ['x', 'y']), 'with b')


def datasets_work_without_a_filter():
    """Superset asks a dataset for its columns with no time range and no filter set; SQL Lab knows no time range."""
    for panel in panels.file_panels('superset'):
        sql = panels.superset(panel.sql, [], from_dttm=None, to_dttm=None)
        equal(panels.superset(panel.sql, []), sql, 'in SQL Lab')
        true('{' not in sql and 'None' not in sql, sql)
        actual, expected = (server.ask(draw.DATABASE, f'SELECT * FROM (\n{sql}\n) AS virtual_table ORDER BY 1, 2, 3', setting) for setting in (ON, OFF))
        equal((actual.columns, actual.types, actual.rows), (expected.columns, expected.types, expected.rows), sql)


def the_dashboard_is_whole():
    """What Grafana would complain of, or show badly."""
    import yaml
    dashboard = json.loads(text_of('examples', 'dashboards', 'grafana', 'spans.json'))
    taken = set()
    for panel in dashboard['panels']:
        at = panel['gridPos']
        cells = {(x, y) for x in range(at['x'], at['x'] + at['w']) for y in range(at['y'], at['y'] + at['h'])}
        true(not cells & taken and at['x'] + at['w'] <= 24, panel['title'] + ' lies over another panel, or beyond the edge')
        taken |= cells
        equal([target['datasource'] for target in panel['targets']], [panel['datasource']], 'data source of ' + panel['title'])
        equal(panel['datasource']['uid'], '${datasource}', 'data source of ' + panel['title'])
    equal(len({panel['id'] for panel in dashboard['panels']}), len(dashboard['panels']), 'ids')
    source = yaml.safe_load(text_of('examples', 'dashboards', 'grafana', 'provisioning', 'datasources', 'iforest.yaml'))['datasources'][0]
    equal({variable['query'] for variable in dashboard['templating']['list'] if variable['type'] == 'datasource'}, {source['type']}, 'type of source')
    provider = yaml.safe_load(text_of('examples', 'dashboards', 'grafana', 'provisioning', 'dashboards', 'iforest.yaml'))['providers'][0]
    equal((provider['type'], list(provider['options'])), ('file', ['path']), 'provider')


def statements_of_the_page_hold():
    """The page's table and index are the sample's, and the role that it makes may ask what Grafana asks."""
    table, role = re.findall(r'^```sql postgres\n(.*?)^```', text_of('docs', 'dashboards.md'), flags=re.M | re.S)
    shape = ("SELECT indexdef FROM pg_indexes WHERE indexname = 'spans_if' UNION ALL SELECT proname FROM pg_proc WHERE proname LIKE 'spans\\_if%' UNION ALL "
             "SELECT column_name || ' ' || data_type FROM information_schema.columns WHERE table_name = 'spans' ORDER BY 1")
    page = draw.DATABASE + '_page'
    subprocess.run(['createdb', page], check=True)
    try:
        server.psql('CREATE EXTENSION iforest;' + table, page)
        equal(server.ask(page, shape).rows, server.ask(draw.DATABASE, shape).rows, 'table and index')
    finally:
        subprocess.run(['dropdb', page], check=True)
    server.psql(role, draw.DATABASE)
    try:
        for panel in panels.grafana_panels():
            sql, _ = draw.question(panel)
            actual, expected = (server.ask(draw.DATABASE, sql, setting) for setting in ('SET ROLE grafana_reader', ON))
            equal((actual.rows, actual.plan), (expected.rows, expected.plan), 'to grafana_reader, ' + sql)
    finally:
        server.psql('DROP OWNED BY grafana_reader; DROP ROLE grafana_reader', draw.DATABASE)


# ---- Datasette ----

WINDOW = """ts >= coalesce(unixepoch(nullif(:from, '')) * 1000000, 0) AND ts < coalesce(unixepoch(nullif(:to, '')) * 1000000, 1 << 60)
  AND (:service = '' OR service = :service)"""
BUCKET = "ts / (coalesce(nullif(:minutes, ''), 5) * 60000000)"
PLAIN_TIME = f"datetime({BUCKET} * (coalesce(nullif(:minutes, ''), 5) * 60000000) / 1000000, 'unixepoch')"
WIDTH = "(coalesce(nullif(:minutes, ''), 5) * 60000000)"
# a percentile without interpolation: that of place ceil(q n)
RANKED = f'SELECT *, {BUCKET} AS b, {PLAIN_TIME} AS time, row_number() OVER w AS place, count(*) OVER (PARTITION BY {BUCKET}, service) AS n FROM spans WHERE {WINDOW}'
PERCENTILE = 'max(iif(place = (n * {0} + 99) / 100, dur, NULL))'
PLAIN = {
    'datasette_rate': f'SELECT {PLAIN_TIME}, service, count(*) * 1e6 / {WIDTH} FROM spans WHERE {WINDOW} GROUP BY {BUCKET}, service ORDER BY {BUCKET}, service',
    'datasette_errors': f"SELECT {PLAIN_TIME}, service, 100.0 * sum(status = 'error') / count(*) FROM spans WHERE {WINDOW} GROUP BY {BUCKET}, service ORDER BY {BUCKET}, service",
    'datasette_duration': f"""SELECT time, service, {', '.join(PERCENTILE.format(q) for q in (50, 95, 99))}, max(dur)
        FROM ({RANKED} WINDOW w AS (PARTITION BY {BUCKET}, service ORDER BY dur)) GROUP BY b, service ORDER BY b, service""",
    'datasette_slowest': f"SELECT datetime(ts / 1000000, 'unixepoch'), service, name, status, dur FROM spans WHERE {WINDOW} ORDER BY dur DESC, ts LIMIT 20",
}
ASKED = ({}, {'from': '2026-01-01 01:10', 'to': '2026-01-01 04:30', 'minutes': 10, 'service': 'payments'})


def busy_by_hand(connection, arguments):
    """Mean and peak of the open spans of each bucket and service, span by span."""
    bounds = {'from': 0, 'to': 1 << 60}
    for name in bounds:
        if arguments[name]:
            bounds[name] = int(datetime.datetime.fromisoformat(arguments[name]).replace(tzinfo=ZONE).timestamp()) * 1000000
    width = int(arguments['minutes'] or 5) * 60000000
    first, end = connection.execute('SELECT min(ts), max(ts) + 1 FROM spans').fetchone()
    t0, t1 = max(bounds['from'], first), min(bounds['to'], end)
    inside, edges = {}, {}
    for service, ts, dur in connection.execute("SELECT service, ts, dur FROM spans WHERE :service = '' OR service = :service", arguments):
        begin, stop = max(ts, t0), min(ts + dur, t1)
        for bucket in range(begin // width, (stop - 1) // width + 1) if begin < stop else ():
            a, b = max(begin, bucket * width), min(stop, (bucket + 1) * width)
            inside[bucket, service] = inside.get((bucket, service), 0) + b - a
            edges.setdefault((bucket, service), []).extend(((a, 1), (b, -1)))
    for bucket, service in sorted(inside):
        most = now = 0
        for _, change in sorted(edges[bucket, service]):
            now += change
            most = max(most, now)
        time = datetime.datetime.fromtimestamp(bucket * width / 1e6, ZONE).strftime('%Y-%m-%d %H:%M:%S')
        yield time, service, inside[bucket, service] / width, most


def close(panel, actual, expected):
    """Equal, of the same types; but percentiles are read from sketches."""
    if panel.name != 'datasette_duration':
        return actual == expected and [[type(v) for v in row] for row in actual] == [[type(v) for v in row] for row in expected]
    return len(actual) == len(expected) and all(
        a[:2] + a[5:] == b[:2] + b[5:] and all(abs(p - q) * 128 <= q for p, q in zip(a[2:5], b[2:5])) for a, b in zip(actual, expected))


def queries_hold(panel, plans, sqlite):
    with contextlib.closing(panels.datasette_connection(sqlite, draw.EXTENSION)) as connection:
        for values in ASKED:
            arguments = panels.datasette_arguments(panel, values)
            actual = connection.execute(panel.sql, arguments).fetchall()
            if panel.name == 'datasette_busy':
                expected = list(busy_by_hand(connection, arguments))
            else:
                expected = connection.execute(PLAIN[panel.name], arguments).fetchall()
            true(expected, 'no rows')
            if not close(panel, actual, expected):
                equal(actual, expected, panel.name)
            plan = '\n'.join(row[3] for row in connection.execute('EXPLAIN QUERY PLAN ' + panel.sql, arguments))
            for part in plans[panel.name]:
                true(re.search(rf'SCAN {part} VIRTUAL TABLE', plan), f'{part} is not in the plan:\n{plan}')
            true(not re.search(r'SCAN (s|spans)$', plan, flags=re.M), 'the table is scanned:\n' + plan)


def datasette_answers(sqlite):
    """Datasette itself gives what its query gives here."""
    for panel in panels.datasette_panels():
        name = panel.name.partition('_')[2]
        said = subprocess.run(['datasette', sqlite, '--metadata', os.path.join(panels.HERE, 'datasette', 'metadata.yaml'), '--load-extension', draw.EXTENSION,
                               '--get', f'/spans/{name}.json?_shape=arrays'], capture_output=True, text=True, check=True).stdout
        with contextlib.closing(panels.datasette_connection(sqlite, draw.EXTENSION)) as connection:
            expected = connection.execute(panel.sql, panels.datasette_arguments(panel, {})).fetchall()
        equal(json.loads(said)['rows'], [list(row) for row in expected], name)


# ---- the notebook, the samples, the pictures ----

def cells_print_what_they_show():
    sys.modules['matplotlib'] = None
    try:
        _, printed = draw.run_notebook()
    finally:
        del sys.modules['matplotlib']
    equal(printed, [shown for _, shown in panels.notebook_cells()], 'what the cells print')
    true('equal\n' in printed, 'no cell compares with plain SQL')


def cells_draw():
    os.environ['MPLBACKEND'] = 'agg'
    draw.run_notebook()


def both_samples_are_the_same(sqlite):
    columns = 'SELECT id, service, name, status, {}, dur FROM spans ORDER BY id'
    rows = server.psql('\\pset format csv\n\\pset tuples_only on\n' + columns.format('(extract(epoch FROM ts) * 1000000)::bigint') + ';\n', draw.DATABASE)
    there = subprocess.run(['sqlite3', '-batch', '-init', '/dev/null', sqlite, columns.format('ts'), '-csv'], capture_output=True, text=True, check=True).stdout
    there = there.replace('\r', '').replace('"', '')
    true(rows.count('\n') > 100000, 'few rows')
    equal(hashlib.sha256(rows.encode()).digest(), hashlib.sha256(there.encode()).digest(), 'rows')


def pictures_are_drawn_again(sqlite):
    folder = os.path.join(panels.HERE, 'pictures')
    drawn = {name + '.svg': svg for name, svg in draw.pictures(sqlite)}
    equal(sorted(os.listdir(folder)), sorted(drawn), 'pictures')
    page = text_of('docs', 'dashboards.md')
    for name, svg in drawn.items():
        equal(text_of('examples', 'dashboards', 'pictures', name), svg, f'{name} (make dashboards draws it)')
        true(len(svg.encode()) < MOST_BYTES, name + ' is large')
        true(f'pictures/{name})' in page, f'docs/dashboards.md does not show {name}')
    true(sum(len(svg.encode()) for svg in drawn.values()) < MOST_BYTES_IN_ALL, 'the pictures are large')


# ---- TAP ----

class Tests:
    def __init__(self):
        self.n = self.n_failed = 0

    def run(self, name, test, *arguments, skip=''):
        self.n += 1
        if skip:
            print(f'ok {self.n} - {name} # SKIP {skip}', flush=True)
            return
        try:
            test(*arguments)
            print(f'ok {self.n} - {name}', flush=True)
        except Exception as error:  # pylint: disable=broad-except
            self.n_failed += 1
            print('# ' + f'{type(error).__name__}: {error}'.replace('\n', '\n# '))
            print(f'not ok {self.n} - {name}', flush=True)


def main():
    tests, plans = Tests(), documented_plans()
    os.chdir(ROOT)
    with draw.samples() as sqlite:
        tests.run('both samples are the same', both_samples_are_the_same, sqlite)
        tests.run('Grafana: macros are those of the bi suite', macros_are_those_of_the_bi_suite)
        tests.run('Grafana: the dashboard is whole', the_dashboard_is_whole)
        tests.run('Metabase: optional clauses are left out', optional_clauses_are_left_out)
        tests.run('Superset: datasets work without a filter', datasets_work_without_a_filter)
        tests.run('statements of the page hold', statements_of_the_page_hold)
        for panel in panels.panels():
            name = f'{panel.tool}: {panel.title}'
            if panel.tool == 'datasette':
                tests.run(name, queries_hold, panel, plans, sqlite)
            else:
                tests.run(name, answers_hold, panel, plans)
        tests.run('Datasette answers', datasette_answers, sqlite, skip='' if shutil.which('datasette') else 'there is no datasette')
        tests.run('Jupyter: cells print what they show', cells_print_what_they_show)
        tests.run('Jupyter: cells draw', cells_draw, skip='' if importlib.util.find_spec('matplotlib') else 'there is no matplotlib')
        tests.run('pictures are drawn again', pictures_are_drawn_again, sqlite)
    print(f'1..{tests.n}')
    return 1 if tests.n_failed else 0


if __name__ == '__main__':
    lacks = panels.need_python('yaml', 'jinja2')
    if lacks:
        print('1..0 # SKIP ' + lacks)
        sys.exit(0)
    sys.exit(main())
