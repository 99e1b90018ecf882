#!/usr/bin/env python3
"""Perfetto's own tests of its importers, over what trace2sqlite loads (`make check-perfetto`; tests/README.md).

    tests/trace/perfetto_suite.py TRACE2SQLITE PERFETTO [TEST...]      PERFETTO: a folder of Perfetto's sources

Each test is a trace, a query and the table that it gives in Perfetto's trace processor. The tests are imported as they stand, protoc
encodes their traces, TRACE2SQLITE loads them, and the query runs over views that are named as the processor's tables
(perfetto_suite.sql). perfetto_suite.known lists the tests that differ or do not apply, with the reason. A test that is listed and
equal is a failure, and so is one that is neither, or is to differ and cannot run. Of tests that are named, what is expected and what
came is printed.
"""
import collections
import csv
import itertools
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import perfetto_stubs

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = ['track_event', 'json', 'parsing', 'atrace']
MESSAGES = ['perfetto/trace/trace.proto', 'perfetto/trace/test_extensions.proto', 'third_party/chromium/chrome_track_event.proto']
MODULES = ['slices.with_context']  # of the processor's SQL library: those whose views are among ours
VERDICTS = ['equal', 'differs', 'does not apply']


class CannotRun(Exception):
    """A test asks for what is not there; says what."""


def text_of(path):
    try:
        with open(path, encoding='utf-8') as file:
            return file.read()
    except FileNotFoundError as error:
        raise CannotRun('no file %s' % os.path.basename(path)) from error


def text_of_script(perfetto, path):
    try:
        return perfetto_stubs.text_of_script(perfetto, path)
    except Exception as error:  # whatever it asks of protobuf beyond the stub
        raise CannotRun('%s: %s' % (os.path.basename(path), error)) from error


def kind_of(record):
    return type(record).__name__


class Suite:
    def __init__(self, trace2sqlite, perfetto, work):
        self.trace2sqlite, self.perfetto, self.work = trace2sqlite, perfetto, work
        self.messages = os.path.join(work, 'messages')
        self.views = text_of(os.path.join(HERE, 'perfetto_suite.sql'))
        subprocess.run(['protoc', '-I', perfetto, '--include_imports', '--descriptor_set_out=' + self.messages] +
                       [os.path.join(perfetto, 'protos', name) for name in MESSAGES], check=True)

    def path_beside(self, folder, name):
        return os.path.join(self.perfetto, perfetto_stubs.DIFF_TESTS, folder, name)

    def encoded(self, text):
        done = subprocess.run(['protoc', '--descriptor_set_in=' + self.messages, '--encode=perfetto.protos.Trace'], input=text.encode(),
                              capture_output=True)
        if done.returncode:
            raise CannotRun('protoc: ' + done.stderr.decode().strip())
        return done.stdout

    def bytes_of(self, folder, trace):
        """The trace file of a test."""
        kind, content = kind_of(trace), trace.values[0] if trace.values else ''
        if kind == 'TextProto':
            return self.encoded(content)
        if kind in ('Json', 'RawText', 'Systrace'):
            return content.encode()
        if kind == 'Path' and content.endswith('.py'):
            return self.encoded(text_of_script(self.perfetto, self.path_beside(folder, content)))
        if kind == 'Path':
            text = text_of(self.path_beside(folder, content))
            return self.encoded(text) if content.endswith('.textproto') else text.encode()
        raise CannotRun('a trace of kind %s %s' % (kind, content))

    def load(self, data):
        """The database of a trace, with the views."""
        trace, database = os.path.join(self.work, 'trace'), os.path.join(self.work, 'trace.db')
        for suffix in ('', '-journal'):
            if os.path.exists(database + suffix):
                os.remove(database + suffix)
        with open(trace, 'wb') as file:
            file.write(data)
        done = subprocess.run([self.trace2sqlite, '--no-index', database, trace], capture_output=True, text=True)
        if done.returncode:
            raise CannotRun(done.stderr.strip().replace(self.work + '/', ''))
        connection = sqlite3.connect(database)
        connection.executescript('CREATE TEMP TABLE format(name);' + self.views)
        connection.execute('INSERT INTO format VALUES (?)', re.search(r'\((.*?)\):', done.stdout).groups())
        connection.create_function('extract_arg', 2, lambda arg_set_id, key: argument(connection, arg_set_id, key))
        return connection

    def query(self, folder, test):
        query = test['query']
        if kind_of(query) == 'Path':
            return text_of(self.path_beside(folder, query.values[0]))
        if not isinstance(query, str):
            raise CannotRun('a query of kind ' + kind_of(query))
        return query

    def answer(self, folder, test, query):
        """The lines that a query gives over a test's trace."""
        if 'trace_modifier' in test:
            raise CannotRun('a trace that is changed before it is read')
        connection = self.load(self.bytes_of(folder, test['trace']))
        try:
            check_statistics(connection, query)
            return lines_of_query(connection, without_modules(query))
        except sqlite3.Error as error:
            raise CannotRun(str(error)) from error
        finally:
            connection.close()

    def expected(self, folder, test):
        out = test['out']
        if kind_of(out) not in ('Csv', 'Path'):
            raise CannotRun('an answer of kind ' + kind_of(out))
        text = text_of(self.path_beside(folder, out.values[0])) if kind_of(out) == 'Path' else out.values[0]
        return [line.strip() for line in text.strip().split('\n')]

    def compare(self, folder, test):
        """Whether a test is equal, differs or cannot run; and in what, or why."""
        try:
            query = self.query(folder, test)
            expected, answer = self.expected(folder, test), self.answer(folder, test, query)
        except CannotRun as reason:
            return 'cannot run', str(reason)
        if is_same(expected, answer, query):
            return 'equal', 'equal'
        return 'differs', 'expected:\n    %s\n  came:\n    %s' % ('\n    '.join(expected), '\n    '.join(answer))


def argument(connection, arg_set_id, key):
    row = connection.execute('SELECT COALESCE(int_value, real_value, string_value) FROM args WHERE arg_set_id = ? AND key = ?', (arg_set_id, key)).fetchone()
    return row and row[0]


def check_statistics(connection, query):
    """A statistic that nobody counts would be 0, or missing, whatever is expected."""
    counted = [name for name, in connection.execute('SELECT name FROM stats')]
    for name in re.findall(r"'(\w+)'", query) if re.search(r'\bFROM\s+stats\b', query, re.I) else []:
        if name not in counted:
            raise CannotRun('the statistic ' + name)


def without_modules(query):
    def leave_out(found):
        if found.group(1) not in MODULES:
            raise CannotRun('the module ' + found.group(1))
        return ''
    return re.sub(r'INCLUDE\s+PERFETTO\s+MODULE\s+([\w.]+)\s*;', leave_out, query, flags=re.I)


def lines_of_query(connection, query):
    """The last statement's rows as the processor prints them, below the names of the columns."""
    statements = [statement for statement in query.split(';') if statement.strip()]
    for statement in statements[:-1]:
        connection.execute(statement)
    cursor = connection.execute(statements[-1])
    return [','.join('"%s"' % column[0] for column in cursor.description)] + [','.join(map(printed, row)) for row in cursor]


def printed(value):
    if value is None:
        return '"[NULL]"'
    return '%f' % value if isinstance(value, float) else str(value) if isinstance(value, int) else '"%s"' % value


def order_of(query, columns):
    """The columns by which a query orders its rows: None if it does not order them, and all where they cannot be told."""
    at_top = re.sub(r'--[^\n]*|\'[^\']*\'', ' ', query)
    while re.search(r'\([^()]*\)', at_top):
        at_top = re.sub(r'\([^()]*\)', ' ', at_top)
    found = re.search(r'\bORDER\s+BY\b(.*?)(?:\bLIMIT\b.*)?;?\s*$', at_top, re.I | re.S)
    if not found:
        return None
    order = []
    for term in found.group(1).split(','):
        name = re.sub(r'\s+(ASC|DESC)\s*$', '', term.strip(), flags=re.I).split('.')[-1].strip()
        if name.isdigit():
            order.append(int(name) - 1)
        elif columns.count(name) == 1:
            order.append(columns.index(name))
        else:
            return list(range(len(columns)))
    return order


def is_same(expected, answer, query):
    """Whether these are the same rows, in another order only where the query leaves it open."""
    if expected[0] != answer[0]:
        return False
    order = order_of(query, next(csv.reader([expected[0]])))
    if order is None:
        return sorted(expected[1:]) == sorted(answer[1:])

    def key(line):
        fields = next(csv.reader([line]))
        return [fields[column] for column in order]

    def groups(lines):
        return [sorted(group) for _, group in itertools.groupby(lines, key)]
    return groups(expected[1:]) == groups(answer[1:])


def known_tests():
    """Of each test that is listed its verdict and the reason."""
    known = {}
    for line in text_of(os.path.join(HERE, 'perfetto_suite.known')).splitlines():
        if not line.startswith('#'):
            name, verdict, reason = line.split('\t')
            known[name] = verdict, reason
    return known


def print_table(verdicts, reasons):
    print('%-12s' % '' + ''.join('%16s' % verdict for verdict in VERDICTS))
    for folder in FOLDERS + ['all']:
        print('%-12s' % folder + ''.join('%16d' % sum(n for (of, kind), n in verdicts.items() if kind == verdict and folder in (of, 'all'))
                                         for verdict in VERDICTS))
    for verdict in VERDICTS[1:]:
        print('\n%s:' % verdict.capitalize())
        for reason, n in sorted(reasons[verdict].items(), key=lambda item: (-item[1], item[0])):
            print('%6d  %s' % (n, reason))


def run(suite, chosen):
    """The number of failures."""
    known, verdicts, failures = known_tests(), collections.Counter(), []
    reasons = collections.defaultdict(collections.Counter)
    for folder in FOLDERS:
        for name, test in perfetto_stubs.tests_of(suite.perfetto, folder):
            name = folder + '/' + name
            if chosen and name not in chosen:
                continue
            outcome, what = suite.compare(folder, test)
            verdict, reason = known.pop(name, ('equal', ''))
            verdicts[folder, 'equal' if outcome == 'equal' else 'differs' if verdict == 'equal' else verdict] += 1
            if verdict != 'equal':
                reasons[verdict][reason] += 1
            if chosen:
                print('%s: %s' % (name, what))
            if verdict == 'does not apply' and outcome == 'equal':
                failures.append('%s is equal, and should not apply' % name)
            elif verdict in ('equal', 'differs') and outcome != verdict:
                failures.append('%s, which %s: %s' % (name, 'should be equal' if verdict == 'equal' else 'should differ', what))
    if not chosen:
        failures += ['%s stands in perfetto_suite.known, and there is no such test' % name for name in known]
        print_table(verdicts, reasons)
    for failure in failures:
        print('FAILED ' + failure)
    return len(failures)


def main(trace2sqlite, perfetto, *chosen):
    if not os.path.isdir(os.path.join(perfetto, perfetto_stubs.DIFF_TESTS)):
        sys.exit("There are no sources of Perfetto in %s: it has no %s" % (perfetto, perfetto_stubs.DIFF_TESTS))
    if not shutil.which('protoc'):
        sys.exit('There is no protoc: please install it (Debian: protobuf-compiler)')
    with tempfile.TemporaryDirectory(prefix='iforest-perfetto.') as work:
        return 1 if run(Suite(trace2sqlite, perfetto, work), chosen) else 0


if __name__ == '__main__':
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
