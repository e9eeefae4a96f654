# SPDX-License-Identifier: Apache-2.0
"""check_guide.py HTML SOURCE: the guide as HTML. Every link between its files leads to a file and an anchor that exist, every
function of the C headers is in the page of the interface, and the page of status codes and the page of remedies have every
status."""
import html.parser
import pathlib
import re
import sys
import urllib.parse

folder, source = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
problems = []


class Page(html.parser.HTMLParser):
    def __init__(self, file):
        super().__init__()
        self.anchors, self.links = set(), []
        self.feed(file.read_text())

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.anchors.update(v for k, v in attributes if k in ("id", "name") and v)
        self.links += [named[k] for k in ("href", "src") if named.get(k)]


pages = {file.resolve(): Page(file) for file in folder.rglob("*.html") if "examples" not in file.relative_to(folder).parts}
n_link = 0
for file, page in pages.items():
    for link in page.links:
        url = urllib.parse.urlparse(link)
        if url.scheme or link == "#":
            continue
        n_link += 1
        target = (file.parent / urllib.parse.unquote(url.path)).resolve() if url.path else file
        if not target.exists():
            problems.append(f"{file.name}: {link} does not exist")
        elif url.fragment and target in pages and urllib.parse.unquote(url.fragment) not in pages[target].anchors:
            problems.append(f"{file.name}: {link}: no such anchor")

interface = (folder / "reference/api.html").read_text()
n_function = 0
for header in [*(source / "libsurrogate/include/surrogate").glob("*.h"), *source.glob("coupling/*/include/surrogate/*.h")]:
    text = re.sub(r"\n#[^\n]*", "\n", header.read_text())
    for name in re.findall(r"SURROGATE[A-Z_]*API[^;(]*?(surrogate_[a-z0-9_]+)\(", text):
        n_function += 1
        if f'id="c.{name}"' not in interface:
            problems.append(f"{header.name}: {name} is not in the guide")

declared = (source / "libsurrogate/include/surrogate/surrogate.h").read_text()
for status in re.findall(r"^    SURROGATE_([A-Z_]+) = \d+", declared.split("typedef int32_t surrogate_status;")[1].split("}")[0], re.M):
    for name in ("reference/status-codes.md", "how-to/troubleshoot.md"):
        if f"| `{status}` |" not in (source / "share/doc" / name).read_text():
            problems.append(f"{name} has no {status}")

if len(pages) < 40 or n_function < 100 or n_link < 500:
    problems.append(f"{len(pages)} pages, {n_function} functions, {n_link} links: there are more")
if problems:
    sys.exit("\n".join(dict.fromkeys(problems)))
print(f"{len(pages)} pages, {n_function} functions, {n_link} links: all are there")
