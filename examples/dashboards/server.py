"""Answers of the PostgreSQL server that PGHOST and its like lead to, by psql, with the types of their columns."""
import csv
import subprocess

PARTS = 'next part of the answer'
NULL = '\\N'


class Answer:
    def __init__(self, columns, types, rows):
        self.columns, self.types, self.rows = columns, types, rows


def psql(script, database, *options):
    done = subprocess.run(['psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', database, *options], input=script, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr + script)
    return done.stdout


def ask(database, sql, settings='', prepare=None, explain=False):
    """The answer to one statement after `settings`, or the lines of its plan.

    `prepare` is a pair of types and values: the statement is prepared with the types, and executed with the values.
    """
    sql = sql.rstrip().rstrip(';')
    if prepare:
        types, values = prepare
        settings += f'; PREPARE question({", ".join(types)}) AS {sql}'
        sql = 'EXECUTE question(' + ', '.join("'" + value.replace("'", "''") + "'" for value in values) + ')'
    script = f"SET TimeZone = 'UTC';\n{settings};\n\\pset format csv\n\\pset null '{NULL}'\n"
    if explain:
        return psql(f'{script}\\pset tuples_only on\nEXPLAIN (COSTS OFF) {sql};\n', database).replace('"', '').splitlines()
    described, _, answered = psql(f"{script}{sql}\n\\gdesc\n\\echo '{PARTS}'\n{sql};\n", database).partition(PARTS + '\n')
    names = list(csv.reader(described.splitlines()))[1:]
    rows = list(csv.reader(answered.splitlines(keepends=True)))[1:]
    return Answer([name for name, _ in names], [kind for _, kind in names], [[None if value == NULL else value for value in row] for row in rows])
