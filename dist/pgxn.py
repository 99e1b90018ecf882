#!/usr/bin/env python3
"""Writes the zip that PGXN takes, of the sources that git knows: iforest-VERSION.zip in FOLDER.

    dist/pgxn.py FOLDER

It has what the extension needs and no more. Its META.json has the version of sql/pg/iforest.control, made three numbers, as PGXN
asks for; `make` at its top is pg_ext/Makefile. The same sources give the same bytes: files are in order and have the time of the
last commit, or that of SOURCE_DATE_EPOCH.
"""
import json
import os
import re
import subprocess
import sys
import time
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PARTS = ['core', 'pg_ext', 'sql/pg', 'tests/pg/regress', 'docs/postgres*.md', 'docs/choosing.md', 'docs/install.md', 'CHANGELOG.md', 'LICENSE',
         'README.md']
MAKEFILE = '# The extension, built by PostgreSQL\'s own tools: make, make install, make installcheck.\ninclude pg_ext/Makefile\n'


def git(*arguments):
    return subprocess.run(['git', '-C', ROOT, *arguments], check=True, capture_output=True, text=True).stdout


def bytes_of(path):
    with open(os.path.join(ROOT, path), 'rb') as file:
        return file.read()


def version():
    numbers = re.search(r"^default_version = '(.*)'", bytes_of('sql/pg/iforest.control').decode(), re.M).group(1).split('.')
    return '.'.join((numbers + ['0', '0'])[:3])


def meta():
    return {
        'name': 'iforest',
        'abstract': 'Range-aggregate index: any time window in logarithmic time',
        'description': 'An index access method for tables of spans or samples: a count, a sum, an extreme, a mean or a percentile over any '
                       'window of time is answered in logarithmic time, exactly, by ordinary SQL that stays as it is.',
        'version': version(),
        'maintainer': 'the iforest developers <maintainers@iforest.invalid>',
        'license': 'mit',
        'release_status': 'stable',
        'provides': {'iforest': {'abstract': 'Range-aggregate index access method', 'file': 'sql/pg/iforest--1.0.sql', 'docfile': 'docs/postgres.md',
                                 'version': version()}},
        'prereqs': {'runtime': {'requires': {'PostgreSQL': '15.0.0'}}},
        'tags': ['index', 'access method', 'aggregate', 'time series', 'trace', 'spans', 'percentile'],
        'meta-spec': {'version': '1.0.0'},
    }


def files():
    """Pairs of a path in the zip and its bytes."""
    yield 'META.json', (json.dumps(meta(), indent=2) + '\n').encode()
    yield 'Makefile', MAKEFILE.encode()
    for path in git('ls-files', '-z', '--', *PARTS).split('\0'):
        if path and os.path.exists(os.path.join(ROOT, path)):
            yield path, bytes_of(path)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    epoch = int(os.environ.get('SOURCE_DATE_EPOCH') or git('log', '-1', '--format=%ct'))
    name = f'iforest-{version()}'
    os.makedirs(sys.argv[1], exist_ok=True)
    with zipfile.ZipFile(os.path.join(sys.argv[1], name + '.zip'), 'w', zipfile.ZIP_DEFLATED) as archive:
        for path, content in sorted(files()):
            entry = zipfile.ZipInfo(f'{name}/{path}', time.gmtime(epoch)[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, content)


main()
