# SPDX-License-Identifier: Apache-2.0
"""check_guide.py HTML SOURCE: the guide as HTML. Every link between its files leads to a file and
an anchor that exist, every function and member of the C headers and every class and public function
of the C++ headers is in the page of the interface, and the page of status codes and the page of
remedies have every status."""
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
n_function = n_member = n_cpp = 0
for header in [*(source / "libsurrogate/include/surrogate").glob("*.h"), *source.glob("coupling/*/include/surrogate/*.h")]:
    text = re.sub(r"\n#[^\n]*", "\n", header.read_text())
    for name in re.findall(r"SURROGATE[A-Z_]*API[^;(]*?(surrogate_[a-z0-9_]+)\(", text):
        n_function += 1
        if f'id="c.{name}"' not in interface:
            problems.append(f"{header.name}: {name} is not in the guide")
    for name, body in re.findall(r"^typedef struct (\w+) \{\n(.*?)^\}", text, re.S | re.M):
        for member in re.findall(r"(\w+)(?:\[\d+\])?;", re.sub(r"/\*.*?\*/", "", body, flags=re.S)):
            n_member += 1
            if f'id="c.{name}.{member}"' not in interface:
                problems.append(f"{header.name}: {name}.{member} is not in the guide")


def mangled(*names):
    return "9surrogate" + "".join(f"{len(name)}{name}" for name in names)


internal = re.compile(r"^namespace detail \{.*?^\}  // namespace detail|^private:.*?(?=^\})",
                      re.S | re.M)
for header in [*source.glob("libsurrogate/include/surrogate/*.hpp"),
               *source.glob("coupling/*/include/surrogate/*.hpp")]:
    text = internal.sub("", header.read_text())
    names = [(name,) for name in re.findall(r"^(?:enum )?class (\w+)", text, re.M) +
             re.findall(r"^(?:inline )?[\w:]+ (\w+)\(", text, re.M)]
    for own_name, body in re.findall(r"^class (\w+)[^\n]*\{\n(.*?)^\}", text, re.S | re.M):
        methods = re.findall(r"^    (?:[\w:<>*]+ )+(\w+)\(", body, re.M)
        names += [(own_name, name) for name in methods if name != own_name]
    n_cpp += len(names)
    problems += [f"{header.name}: {'::'.join(one)} is not in the guide" for one in names
                 if mangled(*one) not in interface]

declared = (source / "libsurrogate/include/surrogate/surrogate.h").read_text()
for status in re.findall(r"^    SURROGATE_([A-Z_]+) = \d+", declared.split("typedef int32_t surrogate_status;")[1].split("}")[0], re.M):
    for name in ("reference/status-codes.md", "how-to/troubleshoot.md"):
        if f"| `{status}` |" not in (source / "share/doc" / name).read_text():
            problems.append(f"{name} has no {status}")

found = (f"{len(pages)} pages, {n_function} functions, {n_member} members, "
         f"{n_cpp} entities of C++, {n_link} links")
if len(pages) < 40 or n_function < 100 or n_member < 100 or n_cpp < 150 or n_link < 500:
    problems.append(f"{found}: there are more")
if problems:
    sys.exit("\n".join(dict.fromkeys(problems)))
print(f"{found}: all are there")
