#!/usr/bin/env python3
"""Packs the SQLite modules as npm packages: iforest, and one for each platform, of which npm installs the one that fits.

    dist/npm.py MODULES FOLDER      MODULES as dist/modules.sh writes them; FOLDER gets iforest-VERSION.tgz, iforest-PLATFORM-VERSION.tgz
    dist/npm.py --wasm FILES FOLDER     FILES as dist/wasm.sh writes them; FOLDER gets iforest-wasm-VERSION.tgz, FILES a package.json

npm pack makes the files; the same modules give the same bytes.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COMMON = {'license': 'MIT', 'description': 'range-aggregate indexes for trace tables in SQLite: any time window, exact, in logarithmic time'}


def version():
    with open(os.path.join(ROOT, 'sql/pg/iforest.control'), encoding='utf-8') as file:
        found = re.search(r"^default_version = '(.*)'", file.read(), re.M).group(1)
    return found + '.0' * (2 - found.count('.'))


def pack(name, fields, files, folder):
    """files: (path in the package, path of the file)."""
    with tempfile.TemporaryDirectory() as place:
        with open(os.path.join(place, 'package.json'), 'w', encoding='utf-8') as file:
            json.dump({'name': name, 'version': version(), **COMMON, **fields, 'files': [target for target, _ in files]}, file, indent=1)
        for target, source in [*files, ('LICENSE', os.path.join(ROOT, 'LICENSE'))]:
            shutil.copyfile(source, os.path.join(place, target))
        for target in os.listdir(place):
            os.chmod(os.path.join(place, target), 0o644)
        subprocess.run(['npm', 'pack', '--silent', '--pack-destination', os.path.abspath(folder)], cwd=place, check=True, stdout=subprocess.DEVNULL)


def main(modules, folder):
    os.makedirs(folder, exist_ok=True)
    platforms = sorted(os.listdir(modules))
    for platform in platforms:
        system, cpu, *musl = platform.split('-')
        fields = {'os': [system], 'cpu': [cpu]}
        if system == 'linux':
            fields['libc'] = ['musl' if musl else 'glibc']
        module = 'iforest.dll' if system == 'win32' else 'iforest.so'
        pack(f'iforest-{platform}', fields, [(module, os.path.join(modules, platform, module))], folder)
    here = os.path.join(ROOT, 'dist/npm')
    pack('iforest', {'type': 'module', 'main': 'index.js', 'types': 'index.d.ts', 'engines': {'node': '>=20'},
                     'keywords': ['sqlite', 'sqlite-extension', 'trace', 'profiling', 'timeseries', 'aggregate'],
                     'optionalDependencies': {f'iforest-{platform}': version() for platform in platforms}},
         [(name, os.path.join(here, name)) for name in ('index.js', 'index.d.ts', 'README.md')], folder)


def main_wasm(files, folder):
    names = sorted(name for name in os.listdir(files) if name != 'package.json')
    pack('iforest-wasm', {'description': COMMON['description'] + '; with its readers of traces, as WebAssembly', 'type': 'module', 'main': 'index.js',
                          'types': 'index.d.ts', 'engines': {'node': '>=20'}, 'keywords': ['sqlite', 'wasm', 'trace', 'profiling', 'timeseries', 'aggregate']},
         [(name, os.path.join(files, name)) for name in names], folder)
    with open(os.path.join(files, 'package.json'), 'w', encoding='utf-8') as file:
        json.dump({'type': 'module'}, file)


if __name__ == '__main__':
    if len(sys.argv) == 4 and sys.argv[1] == '--wasm':
        main_wasm(*sys.argv[2:])
    elif len(sys.argv) == 3:
        main(*sys.argv[1:])
    else:
        sys.exit(__doc__)
