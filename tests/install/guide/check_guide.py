# SPDX-License-Identifier: Apache-2.0
"""check_guide.py HTML SOURCE: the guide as HTML. Every link between its files leads somewhere, to an anchor that is there; every
page of share/doc and every function of the C headers is in it, with words; no markup is left over; and the page of errors
has every status."""
import html.parser
import pathlib
import re
import sys
import urllib.parse

html_folder, source = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
problems = []


class Page(html.parser.HTMLParser):
    def __init__(self, file):
        super().__init__()
        self.anchors, self.links, self.text, self.depth = set(), [], [], 0
        self.feed(file.read_text())

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.anchors.update(v for k, v in attributes if k in ("id", "name") and v)
        self.links += [named[k] for k in ("href", "src") if named.get(k)]
        self.depth += tag in ("pre", "code", "script")

    def handle_endtag(self, tag):
        self.depth -= tag in ("pre", "code", "script")

    def handle_data(self, data):
        if self.depth == 0:
            self.text.append(data)


pages = {file.name: Page(file) for file in html_folder.glob("*.html")}
n_link = 0
for name, page in pages.items():
    for link in page.links:
        url = urllib.parse.urlparse(link)
        if url.scheme or link.startswith("#"):
            # Doxygen 1.9.4 links to #nested-classes of classes whose nested classes are private.
            if link.startswith("#") and link not in ("#", "#nested-classes") and urllib.parse.unquote(link[1:]) not in page.anchors:
                problems.append(f"{name}: no {link} in the page")
            continue
        n_link += 1
        target = urllib.parse.unquote(url.path)
        if not (html_folder / target).exists():
            problems.append(f"{name}: {link} does not exist")
        elif url.fragment and target in pages and urllib.parse.unquote(url.fragment) not in pages[target].anchors:
            problems.append(f"{name}: {link}: no such anchor")

titles = {re.search(r"<title>[^<]*?: (.*?)</title>", (html_folder / name).read_text(), re.S).group(1): name for name in pages}
unescaped = {html.unescape(re.sub(r"\s+", " ", title)) for title in titles}
n_page = 0
for file in (source / "share/doc").glob("*.md"):
    title = re.sub(r"`", "", file.read_text().split("\n")[0].lstrip("# "))
    n_page += 1
    if file.name != "guide.md" and title not in unescaped:
        problems.append(f"{file.name}: no page of the title {title!r}")

# Markup that Doxygen did not recognize.
for name, page in pages.items():
    text = "".join(page.text)
    for left in re.findall(r"\]\([^)\s]+\)|\|[ :]*---.*|@ref|\{#\w+", text):
        problems.append(f"{name}: {left!r} is left over")

headers = [*(source / "libsurrogate/include/surrogate").glob("*.h"), *source.glob("coupling/*/include/surrogate/*.h")]
n_function = 0
for header in headers:
    page = pages.get(header.stem.replace("_", "__") + "_8h.html")
    text = re.sub(r"\n#[^\n]*", "\n", header.read_text())
    for name in re.findall(r"SURROGATE[A-Z_]*API[^;(]*?(surrogate_[a-z0-9_]+)\(", text):
        n_function += 1
        if page is None or not re.search(rf"\b{name}\b", "".join(page.text)):
            problems.append(f"{header.name}: {name} is not in the guide")

errors = (source / "share/doc/errors.md").read_text()
for status in re.findall(r"^    SURROGATE_([A-Z_]+) = \d+", (source / "libsurrogate/include/surrogate/surrogate.h").read_text().split(
        "typedef int32_t surrogate_status;")[1].split("}")[0], re.M):
    if f"| `{status}` |" not in errors:
        problems.append(f"errors.md has no {status}")

if n_page < 20 or n_function < 100 or n_link < 500:
    problems.append(f"{n_page} pages, {n_function} functions, {n_link} links: there are more")
if problems:
    sys.exit("\n".join(dict.fromkeys(problems)))
print(f"{n_page} pages, {n_function} functions, {n_link} links: all there")
