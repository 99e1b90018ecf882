#!/usr/bin/env python3
"""Relative links of Markdown files that lead nowhere: check_links.py FOLDER prints FILE:LINE: TARGET: REASON for each.

Looked at are links, images, reference definitions, and href and src of HTML, outside code. A target must be a file or folder of
the tree; files that git ignores are no part of it. An anchor must be that of a heading, made by GitHub's rule, or an HTML id.
"""
import os
import re
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "dist"))
from markdown_links import anchors_of, list_files, place_of, targets_of  # noqa: E402


def main(root):
    files = list_files(root)
    folders = {""}
    for folder in files:
        while folder := os.path.dirname(folder):
            folders.add(folder)
    texts = {}
    for path in files:
        if path.endswith(".md"):
            with open(os.path.join(root, path), encoding="utf-8") as file:
                texts[path] = file.read()
    anchors = {path: anchors_of(text) for path, text in texts.items()}
    n_links = 0
    is_broken = False
    for path in sorted(texts):
        for line, target in sorted(targets_of(texts[path])):
            if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//", target):
                continue
            n_links += 1
            name, _, anchor = target.partition("#")
            name, anchor = urllib.parse.unquote(name), urllib.parse.unquote(anchor)
            place = place_of(path, name)
            reason = None
            if place not in files and place not in folders:
                reason = "there is no such file"
            elif anchor and place.endswith(".md") and anchor not in anchors[place]:
                reason = "there is no such heading"
            if reason:
                print(f"{path}:{line}: {target}: {reason}")
                is_broken = True
    print(f"{n_links} links in {len(texts)} files", file=sys.stderr)
    return is_broken


sys.exit(main(sys.argv[1]))
