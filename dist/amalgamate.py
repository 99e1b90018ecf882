#!/usr/bin/env python3
"""Writes the sources as one C file and its header, in FOLDER.

    dist/amalgamate.py sqlite FOLDER    iforest.c, iforest.h: the SQLite extension
    dist/amalgamate.py forest FOLDER    iforest_forest.c, iforest_forest.h: the forest in memory, a C library (docs/forest.md)

A file begins with a header, which stands where it is first included, and is followed by what implements it: from one source (or
header) all others are found by their includes, for a header has its source beside it. Names that belong to one source, but stand in
another as well, get the name of their source in front; which these are is found here, so that the sources need not avoid one another.
"""
import os
import re
import sys
from collections import Counter, defaultdict

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOKEN = re.compile(
    r'(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<directive>^[ \t]*\#(?:[^\n\\/]|\\.|\\\n|/(?!\*)|/\*.*?\*/)*)'
    r'|(?P<string>"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\')|(?P<name>[A-Za-z_]\w*)|(?P<number>\d[\w.]*)|(?P<arrow>->)|(?P<space>\s+)'
    r'|(?P<other>.)', re.S | re.M)
OWN_INCLUDE = re.compile(r'^#include "([a-z_0-9/]+\.h)"\n', re.M)


WINDOWS = '#include <windows.h>\n'


def text_of(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        return file.read()


def exists(path):
    return os.path.exists(os.path.join(ROOT, path))


def version():
    return re.search(r"^default_version = '(.*)'", text_of('sql/pg/iforest.control'), re.M).group(1)


def sources_behind(roots):
    """The files that the roots need: sources, each after those of the headers that it includes."""
    ordered, seen = [], set()

    def visit(path):
        if path in seen:
            return
        seen.add(path)
        for header in OWN_INCLUDE.findall(text_of(path)):
            visit(header)
            visit(header[:-1] + 'c') if exists(header[:-1] + 'c') else None
        if path.endswith('.c'):
            ordered.append(path)

    for root in roots:
        visit(root)
        if root.endswith('.h') and exists(root[:-1] + 'c'):
            visit(root[:-1] + 'c')
    # what Windows declares has names of ours, so that comes last
    return sorted(ordered, key=lambda path: WINDOWS in text_of(path))


def tokens_of(text):
    return [(match.lastgroup, match.group()) for match in TOKEN.finditer(text)]


def walk(tokens):
    """Each name with its place: index, the token before it, the braces around it ('struct', 'enum' or 'body')."""
    braces, before, before_that, head = [], '', '', []
    for i, (kind, token) in enumerate(tokens):
        if kind in ('comment', 'space', 'directive'):
            continue
        if kind == 'name':
            yield i, token, before, braces
        if token == '{':
            aggregate = [word for word in head[-2:] if word in ('struct', 'union', 'enum')]
            braces.append('body' if not aggregate else 'enum' if aggregate[-1] == 'enum' else 'struct')
        elif token == '}' and braces:
            braces.pop()
        head = [] if token in '{};' else head + [token]
        before = token


def next_token(tokens, i):
    for kind, token in tokens[i + 1:]:
        if kind not in ('comment', 'space', 'directive'):
            return token
    return ''


def names_of(text):
    """What a file defines outside of functions: {('tag' | 'name' | 'macro', name)}."""
    tokens, names = tokens_of(text), set()
    statement = []
    for i, token, before, braces in walk(tokens):
        follows = next_token(tokens, i)
        if before in ('struct', 'union', 'enum'):
            if follows == '{' and not braces:
                names.add(('tag', token))
        elif braces and braces[-1] == 'enum' and len(braces) == 1:
            if before in ('{', ','):
                names.add(('name', token))
        elif not braces and follows in ('(', '[', '=', ';') and (before == '*' or re.match(r'\w|\}', before)):
            if token != '__attribute__' and before not in ('return', '__attribute__'):
                names.add(('name', token))
    for kind, token in tokens:
        macro = re.match(r'\s*#\s*define\s+(\w+)', token) if kind == 'directive' else None
        if macro:
            names.add(('macro', macro.group(1)))
    return names


def renamed(text, names, module):
    """The text of a source with these names made its own."""
    own = {kind: {name: f'{module}_{name}' for k, name in names if k == kind} for kind in ('tag', 'name', 'macro')}
    tokens = tokens_of(text)
    result = [token for _, token in tokens]
    for i, token, before, braces in walk(tokens):
        if before in ('.', '->'):
            continue
        if before in ('struct', 'union', 'enum'):
            result[i] = own['tag'].get(token, token)
        elif token in own['macro']:
            result[i] = own['macro'][token]
        elif not (braces and braces[-1] == 'struct') or before == '[':
            result[i] = own['name'].get(token, token)
    in_macros = {**own['name'], **own['macro']}
    for i, (kind, token) in enumerate(tokens):
        if kind == 'directive' and not token.lstrip().startswith('#include'):
            result[i] = re.sub(r'"(?:[^"\\]|\\.)*"|(?<![\w.>])[A-Za-z_]\w*', lambda m: in_macros.get(m.group(), m.group()), token)
    return ''.join(result)


class Amalgamation:
    def __init__(self, roots):
        self.sources = sources_behind(roots)
        self.included = set()
        self.out = []
        headers = set()
        for source in self.sources:
            self.headers_of(source, headers)
        self.names = {path: names_of(text_of(path)) for path in [*self.sources, *sorted(headers)]}
        self.count = Counter()
        for path, names in self.names.items():
            self.count.update({(('tag' if kind == 'tag' else 'name'), name) for kind, name in names})

    def headers_of(self, path, found):
        for header in OWN_INCLUDE.findall(text_of(path)):
            if header not in found:
                found.add(header)
                self.headers_of(header, found)

    def system_headers(self):
        """They come first where names are hidden: what they declare is not for hiding."""
        lines = {line for path in self.names for line in re.findall(r'^#include <.*>$', text_of(path), re.M)} - {WINDOWS.strip()}
        unix = sorted(line for line in lines if re.search('<(sys/|pthread|unistd)', line))
        return '\n'.join(['', *sorted(lines - set(unix)), '#if defined(__unix__) || defined(__APPLE__)', *unix, '#endif', ''])

    def expand(self, path, text, already=()):
        """Text with headers in the place of their first inclusion."""
        def header(match):
            name = match.group(1)
            if name in self.included or name in already:
                return ''
            self.included.add(name)
            return f'\n/* ---- {name} ---- */\n{self.expand(name, text_of(name), already)}\n'
        return OWN_INCLUDE.sub(header, text)

    def source(self, path, already=()):
        """A source's text, in which what others have as well is its own, and which leaves no macro behind."""
        text = text_of(path)
        shared = {(kind, name) for kind, name in self.names[path]
                  if self.count['tag' if kind == 'tag' else 'name', name] > 1 and not self.is_of_its_header(path, name)}
        module = os.path.basename(path)[:-2]
        folder = path.split('/')[-2]
        if sum(os.path.basename(other) == os.path.basename(path) for other in self.sources) > 1:
            module = f'{folder}_{module}'
        text = renamed(text, shared, module)
        macros = [m.group(1) for m in re.finditer(r'^\s*#\s*define\s+(\w+)', text, re.M) if m.group(1) not in ('_GNU_SOURCE', 'MAP_NORESERVE', 'WIN32_LEAN_AND_MEAN')]
        undone = ''.join(f'#undef {name}\n' for name in macros)
        return f'\n/* ==== {path} ==== */\n{self.expand(path, text, already)}{undone}'

    def is_of_its_header(self, path, name):
        """A function or constant that a header declares is one and the same everywhere."""
        return any(('name', name) in names for other, names in self.names.items() if other.endswith('.h'))


BANNER = '''/* {name} -- {what}
 *
 * Version {version} of iforest, as one file: made of {n} sources, which are the place to change it. MIT licence, as below.
{usage} *
{licence} */
'''


def banner(name, what, n, usage):
    licence = ''.join(f' * {line}'.rstrip() + '\n' for line in text_of('LICENSE').splitlines())
    return BANNER.format(name=name, what=what, version=version(), n=n, licence=licence,
                         usage=''.join(f' * {line}'.rstrip() + '\n' for line in usage.splitlines()))


# a product is rounded before it is added, in all builds: files are then the same to the bit
EXACT = '''
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#pragma clang diagnostic ignored "-Wunused-function" /* of headers, as they are in the middle of a source here */
#elif defined(__GNUC__) && defined(__FP_FAST_FMA) && !defined(__STRICT_ANSI__)
#pragma GCC optimize("fp-contract=off")
#endif
'''
HIDDEN = '''
#if defined(__GNUC__) && !defined(_WIN32)
#pragma GCC visibility push(hidden)
#endif
'''
SHOWN = '''
#if defined(__GNUC__) && !defined(_WIN32)
#pragma GCC visibility pop
#endif
'''


def sqlite(folder):
    made = Amalgamation(['sqlite_ext/vtab/extension.c'])
    what = 'range-aggregate indexes for trace tables, in SQLite'
    usage = '''
A module to load:      cc -O2 -shared -fPIC iforest.c -o iforest.so -pthread -lm
A part of a program:   cc -O2 -DSQLITE_CORE iforest.c sqlite3.c program.c -pthread -lm -ldl
and in the program, before databases are opened: sqlite3_auto_extension((void (*)(void))sqlite3_iforest_init);'''
    header = banner('iforest.h', what, len(made.sources), usage) + f'''#ifndef IFOREST_H
#define IFOREST_H

#include <sqlite3.h>

#define IFOREST_VERSION "{version()}"

#ifdef __cplusplus
extern "C" {{
#endif

/* Makes iforest known to a connection, as load_extension() does: modules and functions (docs/sqlite.md). The last argument is not
 * looked at with SQLITE_CORE. Needs SQLite 3.38. Returns SQLITE_OK, or an error with a message that sqlite3_free() releases. */
int sqlite3_iforest_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

#ifdef __cplusplus
}}
#endif

#endif
'''
    text = banner('iforest.c', what, len(made.sources), usage) + EXACT + made.system_headers() + HIDDEN
    text += f'\n#define IFOREST_VERSION "{version()}"\n'
    text += ''.join(made.source(source) for source in made.sources) + SHOWN
    write(folder, 'iforest', text, header)


def forest(folder):
    public = sorted(f'core/forest/{name}' for name in os.listdir(os.path.join(ROOT, 'core/forest')) if name.endswith('.h'))
    made = Amalgamation(public)
    what = 'range aggregates over an array in memory: any window in logarithmic time'
    usage = '\ncc -O2 -std=c11 iforest_forest.c program.c -pthread -lm; what there is to call is in iforest_forest.h.'
    body = ''.join(made.expand('', f'#include "{name}"\n') for name in public)
    headers = set(made.included)
    header = banner('iforest_forest.h', what, len(made.sources), usage) + '#ifndef IFOREST_FOREST_H\n#define IFOREST_FOREST_H\n' \
        '\n#ifdef __cplusplus\nextern "C" {\n#endif\n' + body + '\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n'
    text = banner('iforest_forest.c', what, len(made.sources), usage) + EXACT + '\n#include "iforest_forest.h"\n'
    text += ''.join(made.source(source, headers) for source in made.sources)
    write(folder, 'iforest_forest', text, header)


def write(folder, name, text, header):
    os.makedirs(folder, exist_ok=True)
    for suffix, content in (('.c', text), ('.h', header)):
        content = re.sub(r'\n{3,}', '\n\n', content)
        with open(os.path.join(folder, name + suffix), 'w', encoding='utf-8') as file:
            file.write(content)


if __name__ == '__main__':
    if len(sys.argv) != 3 or sys.argv[1] not in ('sqlite', 'forest'):
        sys.exit(__doc__)
    {'sqlite': sqlite, 'forest': forest}[sys.argv[1]](sys.argv[2])
