#!/usr/bin/env python3
"""Links of a site that lead nowhere: site_links.py FOLDER prints PAGE: TARGET: REASON for each."""
import html.parser
import os
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """The ids of a page, and what it links to."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.targets = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("id", "name"):
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.targets.add(value)


def main(folder):
    pages = {}
    for where, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".html"):
                path = os.path.join(where, name)
                with open(path, encoding="utf-8") as file:
                    pages[os.path.relpath(path, folder)] = Page(file.read())
    is_broken = False
    # 404.html is shown in place of any page, so its links are of the server's root
    for path, page in sorted((path, page) for path, page in pages.items() if path != "404.html"):
        for target in sorted(page.targets):
            url = urllib.parse.urlparse(target)
            if url.scheme or url.netloc:
                continue
            name, anchor = urllib.parse.unquote(url.path), urllib.parse.unquote(url.fragment)
            place = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
            if os.path.isdir(os.path.join(folder, place)):
                place = os.path.normpath(os.path.join(place, "index.html"))
            reason = None
            if not os.path.exists(os.path.join(folder, place)):
                reason = "there is no such file"
            elif anchor and place in pages and anchor not in pages[place].ids:
                reason = "there is no such place in it"
            if reason:
                print(f"{path}: {target}: {reason}")
                is_broken = True
    print(f"{len(pages)} pages", file=sys.stderr)
    return is_broken


sys.exit(main(sys.argv[1]))
