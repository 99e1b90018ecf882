#!/usr/bin/env python3
"""Relative links of Markdown files that lead nowhere: check_links.py FOLDER prints FILE:LINE: TARGET: REASON for each.

Looked at are links, images, reference definitions, and href and src of HTML, outside code. A target must be a file or folder of
the tree; files that git ignores are no part of it. An anchor must be that of a heading, made by GitHub's rule, or an HTML id.
"""
import html
import os
import re
import subprocess
import sys
import urllib.parse

CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)", re.S)
INLINE = re.compile(r"\]\(\s*(<[^<>\n]*>|(?:[^\s()]|\([^\s()]*\))*)(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)")
DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]:\s*(<[^<>\n]*>|\S+)", re.M)
ATTRIBUTE = re.compile(r"<[a-zA-Z][^<>]*?\s(?:href|src)\s*=\s*[\"']([^\"']*)[\"']")
ID = re.compile(r"<[a-zA-Z][^<>]*?\s(?:id|name)\s*=\s*[\"']([^\"']*)[\"']")


def list_files(root):
    """Paths of the tree's files, relative to root: those of git if it has any, else all."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "-co", "--exclude-standard"], capture_output=True, check=False)
    paths = [path for path in listed.stdout.decode().split("\0") if path] if listed.returncode == 0 else []
    if not paths:
        paths = [os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(root) for name in names]
    return {path for path in paths if os.path.exists(os.path.join(root, path))}


def without_fences(text):
    """The text with fenced code as empty lines, so that line numbers stay."""
    lines, fence = [], None
    for line in text.split("\n"):
        mark = re.match(r"\s*(?:>\s*)*(`{3,}|~{3,})", line)
        if fence is None and mark:
            fence = mark[1]
            line = ""
        elif fence is not None:
            if mark and mark[1].startswith(fence) and line.strip().strip(fence[0] + "> ") == "":
                fence = None
            line = ""
        lines.append(line)
    return "\n".join(lines)


def anchors_of(text):
    """The anchors of a Markdown text: of headings by GitHub's rule, and ids of HTML."""
    anchors, seen = set(ID.findall(text)), {}
    headings = re.findall(r"^ {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$|^(\S.*)\n(?:=+|-+)[ \t]*$", without_fences(text), re.M)
    for hashed, underlined in headings:
        title = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", hashed or underlined)
        title = html.unescape(re.sub(r"<[^<>]*>", "", title))
        anchor = re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
        while anchor in seen:
            seen[anchor] += 1
            anchor = f"{anchor}-{seen[anchor]}"
        seen[anchor] = 0
        anchors.add(anchor)
    return anchors


def targets_of(text):
    """(line, target) of each link of a Markdown text."""
    prose = CODE_SPAN.sub(lambda span: re.sub(r"[^\n]", " ", span[0]), without_fences(text))
    for pattern in (INLINE, DEFINITION, ATTRIBUTE):
        for match in pattern.finditer(prose):
            yield prose.count("\n", 0, match.start(1)) + 1, match[1].strip("<>")


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
            place = path if not name else os.path.normpath(os.path.join(os.path.dirname(path), name)) if name[0] != "/" else name[1:]
            place = "" if place == "." else place
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
