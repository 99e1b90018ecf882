#!/usr/bin/env python3
"""Writes the timeline as one page that needs no server (examples/timeline/static): its scripts, and the worker with the module, within.

    dist/wasm/page.py FOLDER FILE      FOLDER has the worker.js and worker.wasm that dist/wasm/build.sh writes

The page may run these scripts and no others, and may connect to nothing.
"""
import base64
import hashlib
import os
import re
import sys

HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), 'examples/timeline')


def read(*path):
    with open(os.path.join(HERE, *path), encoding='utf-8') as file:
        return file.read()


def main(folder, target):
    page, policy = read('timeline.html'), []

    def inline(match):
        name = match.group(1)
        text = '\n' + read('static/file.js' if name == 'server.js' else name)
        policy.append("'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'")
        return f'<script>{text}</script>'

    code = read(os.path.abspath(folder), 'worker.js') + read('static/worker.js')
    assert '</script' not in code and '<!--' not in code
    with open(os.path.join(folder, 'worker.wasm'), 'rb') as file:
        module = base64.b64encode(file.read()).decode()
    page = re.sub(r'<script src="(.*?)"></script>', inline, page)
    page = page.replace('<script>', f'<script id="worker" type="text/plain">{code}</script>\n'
                        f'<script id="module" type="text/plain">{module}</script>\n<script>', 1)
    page = page.replace('<title>', '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\'; '
                        f'script-src {" ".join(policy)} \'wasm-unsafe-eval\' blob:; worker-src blob:; base-uri \'none\'; form-action \'none\'">\n<title>', 1)
    with open(target, 'w', encoding='utf-8') as file:
        file.write(page)


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
