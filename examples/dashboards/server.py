"""Answers of the PostgreSQL server that PGHOST and its like lead to, by psql, with the types of their columns."""
import csv
import subprocess

PARTS = 'next part of the answer'
NULL = '\\N'


class Answer:
    """Names and types of columns, rows of texts (None for NULL), and the plan without costs."""

    def __init__(self, columns, types, rows, plan):
        self.columns, self.types, self.rows, self.plan = columns, types, rows, plan


def psql(script, database, *options):
    done = subprocess.run(['psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', database, *options], input=script, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr + script)
    return done.stdout


def ask(database, sql, settings='', prepare=None):
    """The answer to one statement after `settings`.

    `prepare` is a pair of types and values: the statement is prepared with the types, and executed with the values.
    """
    sql = sql.rstrip().rstrip(';')
    if prepare:
        types, values = prepare
        settings += f'; PREPARE question({", ".join(types)}) AS {sql}'
        sql = 'EXECUTE question(' + ', '.join("'" + value.replace("'", "''") + "'" for value in values) + ')'
    script = (f"SET TimeZone = 'UTC';\n{settings};\n\\pset format csv\n\\pset null '{NULL}'\n{sql}\n\\gdesc\n\\echo '{PARTS}'\n{sql};\n"
              f"\\echo '{PARTS}'\nEXPLAIN (COSTS OFF) {sql};\n")
    described, answered, plan = (list(csv.reader(part.splitlines(keepends=True)))[1:] for part in psql(script, database).split(PARTS + '\n'))
    return Answer([name for name, _ in described], [kind for _, kind in described], [[None if value == NULL else value for value in row] for row in answered],
                  '\n'.join(line for line, in plan))
