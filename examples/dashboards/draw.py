#!/usr/bin/env python3
"""Draws each panel once, from its answers over the spans of sample_postgres.sql and sample_sqlite.sql: draw.py FOLDER

Needs a server with the extension, as PGHOST and its like say, in which it makes a database that it drops at the end, and $BUILD/iforest.so
(default build). `make dashboards` gives it one of its own. The same sources give the same bytes.
"""
import contextlib
import datetime
import io
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import chart  # pylint: disable=wrong-import-position
import panels  # pylint: disable=wrong-import-position
import server  # pylint: disable=wrong-import-position

DATABASE = 'iforest_dashboards'
FIRST = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
LAST = FIRST + datetime.timedelta(hours=6)
SERVICES = ['checkout', 'gateway', 'payments', 'search']
EXTENSION = os.path.abspath(os.path.join(os.environ.get('BUILD', 'build'), 'iforest'))


@contextlib.contextmanager
def samples():
    """The path of the SQLite file with the sample; the database with it is there meanwhile."""
    subprocess.run(['createdb', DATABASE], check=True)
    try:
        server.psql(panels.read('sample_postgres.sql'), DATABASE, '-v', f"until='{LAST:%Y-%m-%d %H:%M}Z'")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'spans.db')
            subprocess.run(['sqlite3', '-batch', '-bail', '-init', '/dev/null', '-cmd', f".load '{EXTENSION}'", path],
                           input=panels.read('sample_sqlite.sql'), text=True, check=True)
            yield path
    finally:
        subprocess.run(['dropdb', DATABASE], check=True)


def question(panel, first=FIRST, last=LAST, services=None, interval='5m'):
    """What the panel's tool sends to PostgreSQL: SQL, and for a prepared statement its types and values."""
    services = SERVICES if services is None else services
    if panel.tool == 'grafana':
        return panels.grafana(panel.sql, first, last, interval, services), None
    if panel.tool == 'superset':
        return panels.superset_chart(panel, first, last, services), None
    sql, *prepare = panels.metabase(panel.sql, {'from': first.date(), 'to': max(last.date(), first.date() + datetime.timedelta(days=1)),
                                                'service': services[0] if len(services) == 1 else None})
    return sql, prepare


def answer_of(panel, sqlite):
    """Columns and rows of texts, from either engine."""
    if panel.tool == 'datasette':
        with contextlib.closing(panels.datasette_connection(sqlite, EXTENSION)) as connection:
            cursor = connection.execute(panel.sql, panels.datasette_arguments(panel, {}))
            return [column[0] for column in cursor.description], [[None if value is None else str(value) for value in row] for row in cursor]
    sql, prepare = question(panel)
    answer = server.ask(DATABASE, sql, prepare=prepare)
    return answer.columns, answer.rows


def draw(panel, columns, rows):
    how = panel.chart
    title = f'{panel.title} (drawn from the query of {panel.tool.capitalize()})'
    if how['chart'] == 'table':
        return chart.table(title, columns, rows[:10], {key[8:]: value for key, value in how.items() if key.startswith('unit of ')})
    x = how['x']
    series = how.get('series') or ('metric' if 'metric' in columns else None)
    values = [how['metric']] if 'metric' in how else how['y'].split(', ') if 'y' in how else [name for name in columns if name not in (x, series)]
    found = chart.series_of(columns, rows, x, series, values)
    unit = how.get('unit', '')
    if series and len(values) == 1 and how['chart'] == 'line':
        title = f'{panel.title}: {values[0]} (drawn from the query of {panel.tool.capitalize()})'
    if how['chart'] == 'heatmap':
        if series:
            found = {chart.shown(float(name), 'µs') if name != '2147483647' else '+Inf': found[name] for name in sorted(found, key=float)}
        return chart.heatmap(title, found)
    if how['chart'] == 'area':
        return chart.areas(title, found, unit)
    return chart.lines(title, found, unit, how.get('scale') == 'log')


def run_notebook():
    """The names that the notebook's cells leave, and what each has printed."""
    names, printed = {}, []
    os.environ['IFOREST'] = EXTENSION
    folder = os.getcwd()
    os.chdir(os.path.join(panels.HERE, 'jupyter'))
    try:
        for source, _ in panels.notebook_cells():
            with contextlib.redirect_stdout(io.StringIO()) as text:
                exec(compile(source, 'spans.ipynb', 'exec'), names)  # pylint: disable=exec-used
            printed.append(text.getvalue())
    finally:
        os.chdir(folder)
    return names, printed


def notebook_pictures(names):
    """What the notebook draws by matplotlib, and its percentiles."""
    def texts(rows):
        return [[str(value) for value in row] for row in rows]
    bands = [chart.shown(bound, 'µs') for bound in names['bounds']] + ['more']
    yield 'jupyter_rate', chart.lines('Spans a second (Jupyter)', chart.series_of(
        ['time', 'service', 'per_second', 'errors'], texts(names['rate']), 'time', 'service', ['per_second']), 'reqps')
    yield 'jupyter_duration', chart.lines('Duration (Jupyter)', chart.series_of(
        ['time', 'p50', 'p95', 'p99'], texts(names['duration']), 'time', None, ['p50', 'p95', 'p99']), 'µs', True)
    yield 'jupyter_heatmap', chart.heatmap('Latency heatmap (Jupyter)', chart.series_of(
        ['time'] + bands, texts(names['heatmap']), 'time', None, bands))


def pictures(sqlite):
    """Pairs of a name and an SVG."""
    for panel in panels.panels():
        if panel.name:
            yield panel.name, draw(panel, *answer_of(panel, sqlite))
    sys.modules.setdefault('matplotlib', None)  # the notebook is to open no window
    yield from notebook_pictures(run_notebook()[0])


def main(folder):
    with samples() as sqlite:
        for name, svg in pictures(sqlite):
            with open(os.path.join(folder, name + '.svg'), 'w', encoding='utf-8') as file:
                file.write(svg)


if __name__ == '__main__':
    lacks = panels.need_python('yaml', 'jinja2')
    sys.exit(lacks or main(sys.argv[1]))
