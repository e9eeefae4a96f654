# SPDX-License-Identifier: Apache-2.0
"""pages.py SOURCE OUT: what Doxygen makes the guide of.
OUT/pages     pages of share/doc: headings with the anchors that GitHub gives them, links between pages as references, a page
              changes.md of all fragments; links to examples lead to copies in OUT/html/examples
OUT/headers   public headers, their comments kept as they are laid out
A link to nowhere ends with a list of all of them."""
import pathlib
import re
import shutil
import sys

source, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
documents = source / "share/doc"
problems = []


def anchor(heading):
    """As GitHub makes it: small letters, blanks as hyphens, no other signs."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def label(page, heading=""):
    return re.sub(r"\W", "_", f"page_{page}_{heading}" if heading else f"page_{page}")


def outside_code(text):
    """Splits a page into (is_code, lines) pieces at its fences."""
    piece, is_code = [], False
    for line in text.split("\n"):
        if line.startswith("```"):
            if not is_code:
                yield False, piece
                piece, is_code = [line], True
            else:
                yield True, piece + [line]
                piece, is_code = [], False
            continue
        piece.append(line)
    yield is_code, piece


def headings(text):
    """Anchors of a page's headings in their order; of equal ones the second gets -1."""
    found = [anchor(m.group(2)) for is_code, lines in outside_code(text) if not is_code
             for m in (re.match(r"(#+) +(.*)", line) for line in lines) if m]
    return [one + (f"-{found[:i].count(one)}" if one in found[:i] else "") for i, one in enumerate(found)]


def changes():
    """One page of all fragments, the newest first."""
    text = "# What has changed\n\nThe newest first; what a version promises: [install.md](install.md#versions).\n"
    for file in sorted((documents / "changes").glob("*.md"), reverse=True):
        text += "\n" + re.sub(r"^#", "##", file.read_text(), flags=re.M).replace("](../", "](") + "\n"
    return text


pages = {str(file.relative_to(documents)): file.read_text() for file in sorted(documents.rglob("*.md"))
         if file.parent.name != "changes"}
pages["changes.md"] = changes()
anchors = {name: headings(text) for name, text in pages.items()}


def resolve(page, target):
    """A link of a page as Doxygen takes it."""
    if re.match(r"https?:", target):
        return target
    path, _, part = target.partition("#")
    folder = pathlib.PurePosixPath(page).parent
    if path.startswith("../../examples/") or path.startswith("../../../examples/"):
        example = re.sub(r"^(\.\./)+", "", path)
        if not (source / example).exists():
            problems.append(f"{page}: {target} does not exist")
        return example
    to = str(folder / path) if path else page
    to = {"changes": "changes.md"}.get(to, to)
    while re.search(r"[^/]+/\.\./", to):
        to = re.sub(r"[^/]+/\.\./", "", to, count=1)
    if to in pages:
        part = "" if part == anchors[to][0] else part   # its title: the page
        if part and part not in anchors[to]:
            problems.append(f"{page}: {to} has no heading #{part}")
        return "@ref " + label(to, part)
    if not (documents / to).exists():
        problems.append(f"{page}: {target} does not exist")
    return to


def convert(page, text):
    lines_out, marks = [], iter(anchors[page])
    for is_code, lines in outside_code(text):
        if is_code:
            # Doxygen's languages; what has none is not coloured.
            language = {"c++": "{.cpp}", "cpp": "{.cpp}", "c": "{.c}", "fortran": "{.f90}", "python": "{.py}"}
            lines_out += ["```" + language.get(lines[0][3:].strip(), "{.txt}")] + lines[1:]
            continue
        for line in lines:
            heading = re.match(r"(#+) +(.*)", line)
            if heading:
                mark = next(marks)
                mark = label(page, mark if mark != anchors[page][0] else "")
                text = heading.group(2).replace("`", "") if len(heading.group(1)) == 1 else heading.group(2)   # a title
                line = f"{heading.group(1)} {text} {{#{mark}}}"
            # Code in a line stays as it is; elsewhere <, > and @ would be read as commands.
            parts = re.split(r"(`[^`]*`)", line)
            for i in range(0, len(parts), 2):
                parts[i] = re.sub(r"<(?![A-Za-z!/])", "&lt;", parts[i])
                parts[i] = re.sub(r"(?<!\])\@(?!ref)", r"\\@", parts[i])
            line = "".join(parts)
            lines_out.append(re.sub(r"\]\(([^)\s]+)\)", lambda m: f"]({resolve(page, m.group(1))})", line))
    return "\n".join(lines_out)


def split_brief(text):
    """The first sentence, and the lines that follow it."""
    end = re.search(r"\.(?=\s|$)", text)
    return (text[:end.end()], text[end.end():]) if end else (text, "")


def document(comment, indent=""):
    """A comment of ours as one of Doxygen's: a brief, then the rest as it is laid out."""
    lines = [re.sub(r"^\s*\* ?", "", line) for line in comment.strip().split("\n")]
    brief, rest = split_brief("\n".join(lines).rstrip())
    brief = re.sub(r"([\\@<>#%&*_`])", r"\\\1", re.sub(r"\s+", " ", brief)).strip()
    body = f"\n\\verbatim\n{rest.strip(chr(10))}\n\\endverbatim\n" if rest.strip() else " "
    return f"{indent}/** {brief}{body}*/"


def convert_header(text, name):
    text = re.sub(r"^/\* SPDX.*\*/\n|^// SPDX.*\n", "", text)
    # In front of declarations; behind members and values.
    of_file = f"/** \\file {name}\n"

    def replace(match):
        nonlocal of_file
        if match.group(2).startswith(" ----"):   # a heading between declarations
            return match.group(0)
        made = document(match.group(2), match.group(1))
        if of_file and not match.group(1):       # the first one is about the file
            made, of_file = made.replace("/** ", of_file, 1), ""
        return made
    text = re.sub(r"^( *)/\*((?:(?!\*/).)*)\*/[ ]*$", replace, text, flags=re.M | re.S)
    text = re.sub(r"(?<=[;,{0-9A-Z]) +/\* ((?:(?!\*/).)*?) ?\*/", lambda m: " /**< " + re.sub(
        r"([\\@<>#%&])", r"\\\1", re.sub(r"\s*\n\s*\*?\s*", " ", m.group(1))) + " */", text, flags=re.S)
    return (of_file + "*/\n" if of_file else "") + text


shutil.rmtree(out, ignore_errors=True)
for name, text in pages.items():
    file = out / "pages" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(convert(name, text))
(out / "html").mkdir()
for picture in documents.rglob("*.png"):
    shutil.copy(picture, out / "pages")
shutil.copytree(source / "examples", out / "html/examples", ignore=shutil.ignore_patterns("__pycache__"))
(out / "headers/surrogate").mkdir(parents=True)
for header in [*(source / "libsurrogate/include/surrogate").iterdir(), *source.glob("coupling/*/include/surrogate/*")]:
    (out / "headers/surrogate" / header.name).write_text(convert_header(header.read_text(), f"surrogate/{header.name}"))
if problems:
    sys.exit("\n".join(problems))
