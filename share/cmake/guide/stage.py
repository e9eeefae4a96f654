# SPDX-License-Identifier: Apache-2.0
"""stage.py SOURCE OUT: checks the pages of share/doc and copies them to OUT for Sphinx.

Checked: each link leads to a file and to a heading, each page is listed in the index of its folder and begins with its
scope and prerequisites, each how-to guide has numbered steps and ends with "See also". All problems are printed.
Copied: the pages, the pictures and CHANGELOG.md. The index of a folder gets a table of contents in the order of its
links, the page of the interface a directive for each header, and links to examples and recipes lead to copies in the HTML."""
import pathlib
import re
import shutil
import sys

source, out = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
documents = source / "share/doc"
problems = []


def anchor(heading):
    """Returns the anchor that GitHub gives a heading: lower case, hyphens for blanks, no other signs."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def outside_code(text):
    """Yields (is_code, line) of a page."""
    is_code = False
    for line in text.split("\n"):
        is_fence = line.lstrip().startswith("```")
        yield is_code or is_fence, line
        is_code ^= is_fence


def anchors(text):
    found = [anchor(m.group(1)) for is_code, line in outside_code(text) if not is_code
             for m in [re.match(r"#+ +(.*)", line)] if m]
    return {one + (f"-{found[:i].count(one)}" if one in found[:i] else "") for i, one in enumerate(found)}


def links(text):
    for is_code, line in outside_code(text):
        if not is_code:
            yield from re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line))


def check_links(page, text):
    for link in links(text):
        path, _, part = link.partition("#")
        if re.match(r"https?:", link):
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            problems.append(f"{page.relative_to(source)}: {link} does not exist")
        elif part and part not in anchors(target.read_text()):
            problems.append(f"{page.relative_to(source)}: {link}: no such heading")


def check_form(page, text):
    name = page.relative_to(documents)
    if page.name == "index.md" or name.parts[:2] == ("explanation", "decisions"):
        return
    if not re.search(r"^\*\*Prerequisites\*\*: ", "\n".join(text.split("\n")[:12]), re.M):
        problems.append(f"{name}: no line 'Prerequisites' after the scope")
    if name.parts[0] == "how-to":
        if "## See also" not in text:
            problems.append(f"{name}: no 'See also' at the end")
        if not re.search(r"^(#+ )?1\. ", text, re.M):
            problems.append(f"{name}: no numbered steps")


def listed(index):
    """Returns the pages that an index links to, in order and without their suffix."""
    found = []
    for link in links(index.read_text()):
        if link.endswith(".md") and ".." not in link and link != index.name and link[:-3] not in found:
            found.append(link[:-3])
    return found


def toctree(names, caption=""):
    return "\n```{toctree}\n:hidden:\n" + (f":caption: {caption}\n" if caption else "") + "\n" + "\n".join(names) + "\n```\n"


def directive(kind, name, options=()):
    return f".. doxygen{kind}:: {name}\n" + "".join(f"   :{one}\n" for one in options) + "\n"


def cpp_directives(header):
    """Returns a directive per entity of a C++ header: Sphinx accepts a namespace only once."""
    text = next(one for folder in ("libsurrogate", "coupling/*")
                for one in source.glob(f"{folder}/include/surrogate/{header}")).read_text()
    text = re.sub(r"^namespace detail \{.*?^\}  // namespace detail", "", text, flags=re.S | re.M)
    entity = re.compile(r"^(?:(class|enum class) (\w+)|(?:inline |template <.*>\n)?[\w:]+ (\w+)"
                        r"(\((?:[^{]|\{\})*\)) \{)", re.M)
    functions = [match[3] for match in entity.finditer(text)]
    made = directive("file", f"surrogate/{header}",
                     ("sections: briefdescription detaileddescription",))
    for kind, name, function, parameters in entity.findall(text):
        if kind:
            options = ("members:",) if kind == "class" else ()
            made += directive(kind.split()[0], f"surrogate::{name}", options)
        else:
            parameters = re.sub(r"\s+", " ", re.sub(r" = [\w{}]+", "", parameters))
            is_overloaded = functions.count(function) > 1
            made += directive("function", f"surrogate::{function}{parameters * is_overloaded}")
    return made


def staged(page, text):
    name = page.relative_to(documents)
    up = "../" * (len(name.parts) - 1)

    def example(match):
        words = re.sub(r"`([^`]*)`", r"<code>\1</code>", match.group(1))
        return f'<a class="reference external" href="{up}{match.group(2)}/{match.group(3)}">{words}</a>'

    text = re.sub(r"\[([^\]]*)\]\((?:\.\./)+(examples|recipes)/([^)]*)\)", example, text)
    text = re.sub(r"\]\((\.\./)*CHANGELOG\.md", f"]({up}CHANGELOG.md", text)
    if page.name == "index.md":
        names = listed(page) if up else [one for one in listed(page) if one.endswith("/index")] + ["CHANGELOG"]
        text += toctree(names, "" if up else "Contents")
    if str(name) == "reference/api.md":
        for header in re.findall(r"^## `(surrogate\w*\.h(?:pp)?)`", text, re.M):
            made = cpp_directives(header) if header.endswith("pp") else directive(
                "file", f"surrogate/{header}", (
                    "sections: briefdescription detaileddescription innerclass define enum typedef"
                    " func public-attrib",))
            title = f"## `{header}`\n"
            text = text.replace(title, f"{title}\n```{{eval-rst}}\n{made}```\n")
    return text


def main():
    pages = sorted(documents.rglob("*.md"))
    for page in [*pages, source / "README.md", source / "CHANGELOG.md"]:
        check_links(page, page.read_text())
    for page in pages:
        check_form(page, page.read_text())
    for index in documents.rglob("index.md"):
        names = {p.stem for p in index.parent.glob("*.md")} | {f"{p.parent.name}/index" for p in index.parent.glob("*/index.md")}
        missing = names - set(listed(index)) - {"index"}
        if missing:
            problems.append(f"{index.relative_to(source)}: not listed: {', '.join(sorted(missing))}")
    if problems:
        sys.exit("\n".join(problems))
    shutil.rmtree(out, ignore_errors=True)
    for page in pages:
        file = out / page.relative_to(documents)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(staged(page, page.read_text()))
    for picture in documents.rglob("*.png"):
        shutil.copy(picture, out / picture.relative_to(documents))
    changes = (source / "CHANGELOG.md").read_text()
    (out / "CHANGELOG.md").write_text(changes.replace("](share/doc/", "]("))
    print(f"{len(pages)} pages: all links lead somewhere")


main()
