"""Links and anchors of Markdown files, by GitHub's rules."""
import html
import os
import re
import subprocess

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


def place_of(path, name):
    """The path of what a link in the file at path names, relative to the root; "" is the root."""
    place = path if not name else os.path.normpath(os.path.join(os.path.dirname(path), name)) if name[0] != "/" else name[1:]
    return "" if place == "." else place


def targets_of(text):
    """(line, target) of each link of a Markdown text."""
    prose = CODE_SPAN.sub(lambda span: re.sub(r"[^\n]", " ", span[0]), without_fences(text))
    for pattern in (INLINE, DEFINITION, ATTRIBUTE):
        for match in pattern.finditer(prose):
            yield prose.count("\n", 0, match.start(1)) + 1, match[1].strip("<>")
