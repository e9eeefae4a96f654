# SPDX-License-Identifier: Apache-2.0
"""headers.py SOURCE OUT: writes the public headers to OUT/surrogate with comments that Doxygen reads.

The first sentence of a comment becomes the brief description; the rest keeps its layout. Comments behind
members and values are attached to these. A comment that is already one of Doxygen's stays as it is."""
import pathlib
import re
import sys

source, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])


def split_brief(text):
    """Returns the first sentence and the text that follows it."""
    end = re.search(r"\.(?=\s|$)", text)
    return (text[:end.end()], text[end.end():]) if end else (text, "")


def escape(text):
    return re.sub(r"([\\@<>#%&*_`])", r"\\\1", text)


def document(comment, indent=""):
    """Returns the comment as a brief description and a verbatim block."""
    lines = [re.sub(r"^\s*\* ?", "", line) for line in comment.strip().split("\n")]
    brief, rest = split_brief("\n".join(lines).rstrip())
    brief = escape(re.sub(r"\s+", " ", brief)).strip()
    body = f"\n\\verbatim\n{rest.strip(chr(10))}\n\\endverbatim\n" if rest.strip() else " "
    return f"{indent}/** {brief}{body}*/"


def convert(text, name):
    text = re.sub(r"^/\* SPDX.*\*/\n|^// SPDX.*\n", "", text)
    # Breathe knows a struct by its tag; the typedef of the same name would declare it twice.
    text = re.sub(r"^typedef struct (\w+) \1;", r"struct \1;", text, flags=re.M)
    text = re.sub(r"^typedef (struct|enum) (\w+) (\{.*?^\}) \2;", r"\1 \2 \3;", text, flags=re.M | re.S)
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
