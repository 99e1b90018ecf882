"""The pages of the site that run in the browser: the tour, made of sql/sqlite/tour.sql, and the timeline on a trace.

Both are over the WebAssembly build (dist/wasm.sh). Without it the tour is text with the answers that the tests expect, the timeline a picture, and
both pages say so.
"""
import base64
import html
import os
import re
import shutil

MISSING = "This site was built without the WebAssembly module, for which emscripten was missing, so {} here: `make wasm`, then `make site` again."
TIMELINE = """\
---
hide: [navigation, toc]
---

# Timeline

{}
"""
LIVE_TIMELINE = """\
Any span of the trace at any zoom: each pixel has the longest span that lies in it, of the index that the page has made of the trace. It is the
[timeline example](examples/timeline/README.md), with its server's C compiled to WebAssembly. {}
`W` and `S` zoom where the pointer is, `A` and `D` go left and right, a click on a span tells all that is known of it, `Q` opens a box for SQL, and `?` says the rest.

<iframe class="live-timeline" src="live/timeline.html" title="timeline"></iframe>

[In a window of its own](live/timeline.html){{target=_blank}}. The page is one file and needs no server; `make wasm` makes it without the trace.
"""
STYLE = '\n<link rel="stylesheet" href="live/tour.css">\n'


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def title_of(line):
    """What a line `.print 4. Words.` prints, if it begins a step."""
    match = re.fullmatch(r"\.print \"?(\d+\. .*?)\"?", line)
    return match and match[1]


def steps_of(sql):
    """[title, SQL] of each step; the first one, which prints nothing, is what comes before."""
    steps = [["", []]]
    for line in sql.split("\n"):
        if title_of(line):
            steps.append([title_of(line), []])
        elif not line.startswith(".") and not line.startswith("-- A tour"):
            steps[-1][1].append(line)
    return [[title, "\n".join(lines).strip()] for title, lines in steps]


def answers_of(expected):
    """What is expected below the title of each step."""
    parts = re.split(r"^(\d+\. .*)$", expected, flags=re.M)
    return {title: text.strip() for title, text in zip(parts[1::2], parts[2::2])}


def step_page(title, sql, answer):
    if title:
        head, dot, rest = title.partition(". ")[2].partition(". ")
        said = f"## {title.partition('. ')[0]}. {head if dot else head.rstrip('.')}\n\n{rest}\n"
    else:
        comment, _, sql = sql.partition("\n")
        said = f"## A table\n\n{comment.removeprefix('-- ')}\n"
    shown = f"\n```text\n{answer}\n```\n" if answer else ""
    return f"{said}\n```sql\n{sql}\n```\n{shown}"


def tour_page(root, is_live):
    sql, answers = read(root, "sql/sqlite/tour.sql"), answers_of(read(root, "sql/sqlite/tour.expected"))
    how = ("SQLite with iforest runs in this page, and nothing leaves it. Change what is in the boxes; `ctrl` `Enter` runs one, and what comes before it first."
           if is_live else MISSING.format("nothing can be run"))
    steps = steps_of(sql)
    text = f"# Tour\n\n{len(steps) - 1} steps, over seven spans. {how} The same in a shell, once built: `sqlite3 :memory: < sql/sqlite/tour.sql`. All there is: [iforest in SQLite](docs/sqlite.md).\n\n"
    text += "\n".join(step_page(title, part, answers.get(title, "")) for title, part in steps)
    return text + (STYLE + '<script type="module" src="live/tour.js"></script>\n' if is_live else "")


def timeline_page(is_live, trace):
    if not is_live:
        return TIMELINE.format(MISSING.format("there is a picture alone") + "\n\n![A compiler's trace](docs/timeline.svg)\n\n"
                               "With a server: [the timeline example](examples/timeline/README.md).")
    what = "Below is a trace of clang compiling this project, without what took less than 0.1 ms." if trace else "No trace is bundled, as there was no clang to record one with."
    return TIMELINE.format(LIVE_TIMELINE.format(what + " Drop one of yours there: it stays on this machine.")) + STYLE


def timeline_with(page, trace):
    """The timeline's one page with a trace within, which it opens by itself."""
    if not trace:
        return page
    with open(trace, "rb") as file:
        data = base64.b64encode(file.read()).decode()
    place = '<script id="worker"'
    assert place in page
    return page.replace(place, f'<script id="trace" type="text/plain" data-name="{html.escape(os.path.basename(trace))}">{data}</script>\n{place}', 1)


def write_live_pages(root, folder, wasm, trace):
    """tour.md, timeline.md, and what they load. wasm is what dist/wasm.sh makes, trace a file; either may be None."""
    pages = {"tour.md": tour_page(root, bool(wasm)), "timeline.md": timeline_page(bool(wasm), trace)}
    if wasm:
        live = os.path.join(folder, "live")
        os.makedirs(live)
        files = [os.path.join(wasm, "npm", name) for name in ("module.js", "iforest.wasm")]
        files += [os.path.join(root, "dist", name) for name in ("wasm/index.js", "site/tour.js", "site/tour_worker.js", "site/tour.css")]
        for file in files:
            shutil.copyfile(file, os.path.join(live, os.path.basename(file)))
        pages["live/timeline.html"] = timeline_with(read(wasm, "timeline.html"), trace)
    for name, text in pages.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
