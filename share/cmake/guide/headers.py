# SPDX-License-Identifier: Apache-2.0
"""headers.py SOURCE OUT: writes the public headers to OUT/surrogate with comments that Doxygen reads.

The first sentence of a comment becomes the brief description; tables and code, which are indented,
keep their layout. Comments of members and values are before or behind them. The first comment of a
header describes the file. A comment that is already one of Doxygen's stays as it is."""
import pathlib
import re
import sys

source, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])


def split_brief(text):
    """Returns the first sentence and the text that follows it."""
    end = re.search(r"(?<!\.)\.(?=\s|$)", text)
    return (text[:end.end()], text[end.end():]) if end else (text, "")


def escape(text):
    """Returns the text without markup of Doxygen, except names in back quotes."""
    return "".join(part if i % 2 else re.sub(r"([\\@<>#%&*_`])", r"\\\1", part)
                   for i, part in enumerate(re.split(r"(`[^`]*`)", text)))


def blocks(text):
    """Yields (is_layout, lines) of a text: paragraphs and items of lists, or tables and code."""
    was_item, found = False, []
    for line in text.split("\n"):
        is_item = line.startswith("- ") or was_item and line.startswith("  ")
        is_layout = line.startswith("  ") and not is_item
        ends = not line or line.startswith("- ") or was_item and not is_item
        was_item = is_item
        if found and (ends or found[0] != is_layout):
            yield found[0], found[1]
            found = []
        if line:
            found = found or [is_layout, []]
            found[1].append(line)
    if found:
        yield found[0], found[1]


def document(comment, indent=""):
    """Returns the comment with a brief description and with its tables and code as they are."""
    lines = [re.sub(r"^\s*\* ?", "", line) for line in comment.strip().split("\n")]
    if indent:
        return f"{indent}/** {paragraph(lines)} */"
    brief, rest = split_brief("\n".join(lines).rstrip())
    made = f"/** {paragraph([brief])}"
    for is_layout, block in blocks(rest.removeprefix(" ")):
        made += "\n\\verbatim\n{}\n\\endverbatim".format("\n".join(block)) if is_layout else (
            f"\n\n{paragraph(block)}")
    return made + " */"


def paragraph(lines):
    return escape(re.sub(r"\s+", " ", " ".join(lines))).strip()


def convert(text, name):
    text = re.sub(r"^/\* SPDX.*\*/\n|^// SPDX.*\n", "", text)
    # Breathe knows a struct by its tag; the typedef of the same name would declare it twice.
    text = re.sub(r"^typedef struct (\w+) \1;", r"struct \1;", text, flags=re.M)
    text = re.sub(r"^typedef (struct|enum) (\w+) (\{.*?^\}) \2;", r"\1 \2 \3;", text, flags=re.M | re.S)
    text = re.sub(r"(#define SURROGATE\w*_HPP\n\n)((?://.*\n)+)",
                  lambda m: m[1] + "/*" + m[2].replace("//", " *") + " */\n", text)
    of_file = f"/** \\file {name}\n"

    def replace(match):
        nonlocal of_file
        if match.group(2).startswith((" ----", "*")):  # a heading between declarations; one of Doxygen's
            return match.group(0)
        made = document(match.group(2), match.group(1))
        if of_file and not match.group(1):  # the first comment describes the file
            made, of_file = made.replace("/** ", of_file, 1), ""
        return made

    text = re.sub(r"^( *)/\*((?:(?!\*/).)*)\*/[ ]*$", replace, text, flags=re.M | re.S)
    text = re.sub(r"(?<=[;,{0-9A-Z]) +/\* ((?:(?!\*/).)*?) ?\*/", lambda m: " /**< " + escape(
        re.sub(r"\s*\n\s*\*?\s*", " ", m.group(1))) + " */", text, flags=re.S)
    return (of_file + "*/\n" if of_file else "") + text


def main():
    (out / "surrogate").mkdir(parents=True, exist_ok=True)
    headers = [*(source / "libsurrogate/include/surrogate").iterdir(), *source.glob("coupling/*/include/surrogate/*")]
    for header in headers:
        if not header.name.startswith("compat_"):  # old names of functions, nothing of its own
            (out / "surrogate" / header.name).write_text(convert(header.read_text(), f"surrogate/{header.name}"))


main()
