#!/usr/bin/env python3
"""Packs the SQLite modules as Python wheels, one for each platform.

    dist/wheel.py MODULES FOLDER    MODULES as dist/modules.sh writes them; FOLDER gets iforest-VERSION-py3-none-PLATFORM.whl

A wheel is a zip with a few lines of metadata (PEP 427); the same modules give the same bytes.
"""
import base64
import hashlib
import os
import re
import sys
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TAGS = {'linux-x64': 'manylinux_2_31_x86_64', 'linux-arm64': 'manylinux_2_31_aarch64', 'linux-x64-musl': 'musllinux_1_2_x86_64',
        'linux-arm64-musl': 'musllinux_1_2_aarch64', 'win32-x64': 'win_amd64'}
METADATA = '''Metadata-Version: 2.1
Name: iforest
Version: {version}
Summary: Range-aggregate indexes for trace tables in SQLite: any time window, exact, in logarithmic time
License: MIT
Requires-Python: >=3.8
Classifier: License :: OSI Approved :: MIT License
Classifier: Topic :: Database
Description-Content-Type: text/markdown

The SQLite extension iforest, compiled. `iforest.load(db)` loads it into a connection; `iforest.loadable_path()` is its path.
'''


def read(*path):
    with open(os.path.join(*path), 'rb') as file:
        return file.read()


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()


def wheel(module, tag, version, folder):
    info = f'iforest-{version}.dist-info'
    files = {'iforest/__init__.py': read(ROOT, 'dist/python/__init__.py'), f'iforest/{os.path.basename(module)}': read(module),
             f'{info}/LICENSE': read(ROOT, 'LICENSE'), f'{info}/METADATA': METADATA.format(version=version).encode(),
             f'{info}/WHEEL': f'Wheel-Version: 1.0\nGenerator: iforest\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n'.encode()}
    record = ''.join(f'{name},sha256={digest(data)},{len(data)}\n' for name, data in files.items()) + f'{info}/RECORD,,\n'
    files[f'{info}/RECORD'] = record.encode()
    with zipfile.ZipFile(os.path.join(folder, f'iforest-{version}-py3-none-{tag}.whl'), 'w', zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)


def main(modules, folder):
    version = re.search(rb"^default_version = '(.*)'", read(ROOT, 'sql/pg/iforest.control'), re.M).group(1).decode()
    os.makedirs(folder, exist_ok=True)
    for platform in sorted(os.listdir(modules)):
        (module,) = os.listdir(os.path.join(modules, platform))
        wheel(os.path.join(modules, platform, module), TAGS[platform], version, folder)


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
