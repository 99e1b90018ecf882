#!/usr/bin/env python3
"""The pages of docs/ as a site with a search: dist/site.py FOLDER [WASM [TRACE]] makes FOLDER/html by mkdocs, without a network.

README.md and docs/ are taken as they are, with what they link to, in the same places, so that a page reads the same on a forge
and on the site. A source file that a page links to becomes a page of its own. The menu is docs/README.md's tables. With WASM, the folder
that dist/wasm.sh fills, the tour runs in the page, and the timeline, on TRACE (dist/live_pages.py).
"""
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.parse

from live_pages import write_live_pages
from markdown_links import INLINE, list_files, place_of, targets_of

IMAGES = (".svg", ".png")
LANGUAGES = {".c": "c", ".h": "c", ".sql": "sql", ".sh": "sh", ".py": "python", ".js": "js"}
# where people look for an answer; decisions, results and sources are reached by links
SEARCHED = re.compile(r"(?:docs/[^/]+|README|FORMAT|ARCHITECTURE|tour|timeline)\.(?:md|html)")
# pages of tables with SQL, which needs the width
WIDE = re.compile(r"docs/postgres_queries_.*")
WIDE_PAGE = "---\nhide: [toc]\n---\n\n{}\n<style>.md-typeset td:nth-child(3) {{ min-width: 22rem; }}</style>\n"
CONFIGURATION = """\
site_name: iforest
docs_dir: source
site_dir: html
use_directory_urls: false
theme:
  name: material
  font: false
  features: [navigation.sections, navigation.top, search.highlight, search.suggest]
plugins: [search]
markdown_extensions:
  - tables
  - fenced_code
  - attr_list
  - pymdownx.highlight
  - toc:
      permalink: true
      slugify: !!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}
nav: """


def target_file(place, files):
    """What is shown of a place: the file itself, or the README of a folder; None: nothing."""
    for candidate in (place, os.path.join(place, "README.md")):
        if candidate in files:
            return candidate
    return None


def page_of(file):
    """The page that shows a file."""
    return file if file.endswith((".md",) + IMAGES) else file + ".md"


def linked_files(root, files):
    """README.md, docs/, and all that is reached from there by links."""
    found = set()
    left = [file for file in files if file == "README.md" or file.startswith("docs/")]
    while left:
        file = left.pop()
        if file in found:
            continue
        found.add(file)
        if file.endswith(".md"):
            with open(os.path.join(root, file), encoding="utf-8") as text:
                targets = [urllib.parse.unquote(target.partition("#")[0]) for _, target in targets_of(text.read())]
            left += filter(None, (target_file(place_of(file, target), files) for target in targets if ":" not in target))
    return found


def for_the_site(file, text, files):
    """The text of a page, its links led to the pages of folders and sources."""

    def lead(match):
        name, mark, anchor = match[1].partition("#")
        if not name or ":" in name:
            return match[0]
        target = target_file(place_of(file, urllib.parse.unquote(name)), files)
        if not target:
            return match[0]
        return match[0].replace(match[1], os.path.relpath(page_of(target), os.path.dirname(file)) + mark + anchor)

    # of the words after a fence, Python's Markdown knows the first alone
    return re.sub(r"^( *`{3,}\w+) .*$", r"\1", INLINE.sub(lead, text), flags=re.M)


def write_pages(root, files, folder):
    for file in sorted(linked_files(root, files)):
        place = os.path.join(folder, page_of(file))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if file.endswith(IMAGES):
            shutil.copyfile(os.path.join(root, file), place)
            continue
        with open(os.path.join(root, file), encoding="utf-8") as source:
            text = source.read()
        if not file.endswith(".md"):
            text = f"# {file}\n\n````{LANGUAGES.get(os.path.splitext(file)[1], 'text')}\n{text}\n````\n"
        with open(place, "w", encoding="utf-8") as page:
            text = for_the_site(file, text, files)
            page.write(WIDE_PAGE.format(text) if WIDE.fullmatch(file) else text)


def menu(root):
    """The tables of docs/README.md: a section each."""
    with open(os.path.join(root, "docs", "README.md"), encoding="utf-8") as file:
        lines = file.read().split("\n")
    sections = [{"iforest": ["README.md", "tour.md", "timeline.md", "docs/README.md"]}]
    for line in lines:
        head = re.match(r"\| ([^|\[]+) \| \|$", line)
        row = re.match(r"\| \[[^\]]*\]\(([^)]+)\)", line)
        if head:
            sections.append({head[1].capitalize().replace("Sqlite", "SQLite").replace("Postgresql", "PostgreSQL"): []})
        elif row:
            list(sections[-1].values())[0].append(os.path.normpath(os.path.join("docs", row[1])))
    return sections


def keep_searched(folder):
    """Leaves the pages in the search in which people look for an answer."""
    path = os.path.join(folder, "html", "search", "search_index.json")
    with open(path, encoding="utf-8") as file:
        index = json.load(file)
    index["docs"] = [entry for entry in index["docs"] if SEARCHED.fullmatch(entry["location"].partition("#")[0])]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(index, file)


def main(folder, wasm=None, trace=None):
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    shutil.rmtree(folder, ignore_errors=True)
    write_pages(root, list_files(root), os.path.join(folder, "source"))
    write_live_pages(root, os.path.join(folder, "source"), wasm if wasm and os.path.exists(os.path.join(wasm, "timeline.html")) else None,
                     trace if trace and os.path.exists(trace) else None)
    with open(os.path.join(folder, "mkdocs.yml"), "w", encoding="utf-8") as file:
        file.write(CONFIGURATION + json.dumps(menu(root)) + "\n")
    code = subprocess.run(["mkdocs", "--quiet", "build", "--strict", "-f", os.path.join(folder, "mkdocs.yml")], check=False).returncode
    if code == 0:
        keep_searched(folder)
    return code


sys.exit(main(*sys.argv[1:]))
