"""The panels of this folder's files, and what each tool makes of their SQL before the database sees it.

Every expansion names the source or the documents of the tool that it follows.
"""
import datetime
import decimal
import json
import os
import re
import sqlite3
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = ('grafana', 'metabase', 'superset', 'datasette')


def need_python(*modules):
    """Goes on in the system's Python if this one loads no extensions into SQLite or lacks a module; '' or what is missing."""
    missing = [] if hasattr(sqlite3.Connection, 'enable_load_extension') else ['a sqlite3 that loads extensions']
    for module in modules:
        try:
            __import__(module)
        except ImportError:
            missing.append(module)
    if missing and sys.executable != '/usr/bin/python3' and os.access('/usr/bin/python3', os.X_OK):
        os.execv('/usr/bin/python3', ['/usr/bin/python3'] + sys.argv)
    return 'Python has no ' + ' and no '.join(missing) if missing else ''


class Panel:
    """One panel: its tool, the name of its picture, title, SQL as it stands in the file, and how it is drawn."""

    def __init__(self, tool, name, title, sql, chart):
        self.tool, self.name, self.title, self.sql, self.chart = tool, name, title, sql, chart


def read(*path):
    with open(os.path.join(HERE, *path), encoding='utf-8') as file:
        return file.read()


def chart_of(text):
    """The settings in 'chart: line | x: time | y: a, b'."""
    return {key.strip().lower(): value.strip() for key, _, value in (part.partition(':') for part in text.split('|'))}


# ---- the files ----

def grafana_panels():
    """The panels of a dashboard, and its variable `service`."""
    dashboard = json.loads(read('grafana', 'spans.json'))
    for panel in dashboard['panels']:
        defaults = panel['fieldConfig']['defaults']
        chart = {'chart': {'timeseries': 'line'}.get(panel['type'], panel['type']), 'x': 'time', 'unit': defaults.get('unit', ''),
                 'scale': defaults.get('custom', {}).get('scaleDistribution', {}).get('type', '')}
        for override in panel['fieldConfig']['overrides']:
            chart['unit of ' + override['matcher']['options']] = override['properties'][0]['value']
        yield Panel('grafana', 'grafana_' + panel['title'].lower().replace(' ', '_'), panel['title'], panel['targets'][0]['rawSql'], chart)
    for variable in dashboard['templating']['list']:
        if variable['type'] == 'query':
            yield Panel('grafana', '', variable['label'], variable['query'], {})


def file_panels(tool):
    for name in sorted(os.listdir(os.path.join(HERE, tool))):
        sql = read(tool, name)
        title, chart = re.match(r'-- (.*?)(?::.*)?\n-- (.*)\n', sql).groups()
        yield Panel(tool, f'{tool}_{name[:-4]}', title, sql, chart_of(chart))


def datasette_panels():
    import yaml
    for name, query in yaml.safe_load(read('datasette', 'metadata.yaml'))['databases']['spans']['queries'].items():
        panel = Panel('datasette', 'datasette_' + name, query['title'], query['sql'], chart_of(query['description'].split('. ')[-1]))
        panel.parameters = query['params']
        yield panel


def panels():
    yield from grafana_panels()
    yield from file_panels('metabase')
    yield from file_panels('superset')
    yield from datasette_panels()


# ---- Grafana ----

# gtime.ParseInterval of grafana-plugin-sdk-go; a year or a month is no interval that Grafana makes of a time range below years
UNITS = {'ms': 0.001, 's': 1, 'm': 60, 'h': 3600, 'd': 86400}


def interval_seconds(text):
    number, unit = re.fullmatch(r'(\d+)(ms|[smhd])', text.strip('\'"')).groups()
    return int(number) * UNITS[unit]


def go_number(value):
    """A number as Go's %v writes a float64: the fewest digits, with an exponent from a million on."""
    exact = decimal.Decimal(repr(float(value))).normalize()
    if exact < 10**6:
        return f'{exact:f}'
    mantissa, exponent = f'{exact:e}'.split('e')
    return f'{mantissa}e{int(exponent):+03d}'


def rfc3339(time):
    """Go's time.RFC3339Nano, of UTC: without the zeros at the end of a fraction."""
    text = time.astimezone(datetime.timezone.utc).strftime('%Y-%m-%dT%H:%M:%S')
    return text + (f'.{time.microsecond:06d}'.rstrip('0') if time.microsecond else '') + 'Z'


def grafana(sql, first, last, interval, services):
    """The SQL that Grafana sends for a time range, an interval such as 5m, and the chosen values of the variable."""
    epoch_ms = [str(int(time.timestamp() * 1000)) for time in (first, last)]
    seconds = interval_seconds(interval)
    # packages/grafana-sql, SqlDatasource.interpolateVariable: values of a variable with several are quoted, and joined by commas
    sql = re.sub(r'\$service\b', lambda _: ','.join("'" + service.replace("'", "''") + "'" for service in services), sql)
    # public/app/features/templating, the built-in variables: milliseconds since 1970
    sql = re.sub(r'\$__from\b', epoch_ms[0], re.sub(r'\$__to\b', epoch_ms[1], sql))
    # pkg/tsdb/grafana-postgresql-datasource/sqleng/sql_engine.go, Interpolate: in this order
    sql = sql.replace('$__interval_ms', str(round(seconds * 1000))).replace('$__interval', interval)

    def macro(match):
        # pkg/tsdb/grafana-postgresql-datasource/macros.go, evaluateMacro
        name, arguments = match[1], [argument.strip(' ') for argument in match[2].split(',')]
        if name == '__timeFilter':
            return f"{arguments[0]} BETWEEN '{rfc3339(first)}' AND '{rfc3339(last)}'"
        if name in ('__timeFrom', '__timeTo'):
            return f"'{rfc3339(first if name == '__timeFrom' else last)}'"
        if name in ('__timeGroup', '__timeGroupAlias'):
            width = go_number(interval_seconds(arguments[1]))
            return f'floor(extract(epoch from {arguments[0]})/{width})*{width}' + (' AS "time"' if name == '__timeGroupAlias' else '')
        raise ValueError('unknown macro ' + name)
    return re.sub(r'\$([_a-zA-Z0-9]+)\(([^)]*)\)', macro, sql)


# ---- Metabase ----

def metabase(sql, values):
    """The statement that Metabase prepares, and its arguments: metabase/metabase, driver/sql/parameters/substitute.clj.

    An optional clause without a value is left out; a value is an argument: of the widget Date a date, of Text a varchar.
    """
    def optional(match):
        return match[1] if all(values.get(name) is not None for name in re.findall(r'\{\{(\w+)\}\}', match[1])) else ''

    arguments = []

    def argument(match):
        arguments.append(values[match[1]])
        return f'${len(arguments)}'
    sql = re.sub(r'\{\{(\w+)\}\}', argument, re.sub(r'\[\[(.*?)\]\]', optional, sql, flags=re.S))
    types = ['date' if isinstance(value, datetime.date) else 'varchar' for value in arguments]
    return sql, types, [str(value) for value in arguments]


# ---- Superset ----

def superset(sql, services, **times):
    """What Superset makes of a template: superset/jinja_context.py, and template_kwargs in superset/models/helpers.py.

    `times` are from_dttm and to_dttm, times or None; SQL Lab has neither.
    """
    import jinja2.sandbox
    environment = jinja2.sandbox.SandboxedEnvironment(undefined=jinja2.DebugUndefined)
    # WhereInMacro: literals of the database's dialect
    environment.filters['where_in'] = lambda values: '(' + ', '.join("'" + value.replace("'", "''") + "'" for value in values) + ')'
    return environment.from_string(sql).render(
        filter_values=lambda column: {'service': services}[column],
        **{name: time.replace(tzinfo=None).isoformat() if time else None for name, time in times.items()})


def superset_chart(panel, first, last, services):
    """The query of a chart over the dataset, as in tests/pg/bi/superset.sql; of a table the dataset's columns."""
    inner = superset(panel.sql, services, from_dttm=first, to_dttm=last)
    if panel.chart['chart'] == 'table':
        return ('SELECT time AS time, service AS service, name AS name, status AS status, dur AS dur FROM (\n' + inner +
                '\n) AS virtual_table ORDER BY dur DESC, time ASC LIMIT 20')
    bounds = ' AND '.join(f"time {sign} TO_TIMESTAMP('{time:%Y-%m-%d %H:%M:%S.%f}', 'YYYY-MM-DD HH24:MI:SS.US')"
                          for sign, time in (('>=', first), ('<', last)) if time)
    series, metric = panel.chart['series'], panel.chart['metric']
    return (f'SELECT time AS time, {series} AS {series}, {metric} AS "{metric}" FROM (\n{inner}\n) AS virtual_table'
            f'{" WHERE " + bounds if bounds else ""} GROUP BY time, {series} ORDER BY 1, 2 LIMIT 10000')


# ---- Jupyter ----

def notebook_cells():
    """The code of the notebook's cells, each with the text that it has printed."""
    for cell in json.loads(read('jupyter', 'spans.ipynb'))['cells']:
        if cell['cell_type'] == 'code':
            yield ''.join(cell['source']), ''.join(''.join(output['text']) for output in cell['outputs'])


# ---- Datasette ----

def datasette_connection(path, extension):
    """As Datasette opens a file: datasette/database.py, connect; datasette/app.py, _prepare_connection."""
    connection = sqlite3.connect(f'file:{path}?mode=ro', uri=True, check_same_thread=False)
    connection.enable_load_extension(True)
    connection.execute('SELECT load_extension(?)', [extension])
    return connection


def datasette_arguments(panel, values):
    """datasette/views: what is asked for in the address, as texts; what is not is ''."""
    return {name: str(values.get(name, '')) for name in panel.parameters}
