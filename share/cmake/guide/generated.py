# SPDX-License-Identifier: Apache-2.0
"""Functions shared by the scripts that generate reference pages from the sources: options.py, status_codes.py, cli.py.

    python3 SCRIPT SOURCE           writes the page of the script below SOURCE/share/doc/reference
    python3 SCRIPT SOURCE --check   exits with 1 if the page differs"""
import pathlib
import re
import sys
import textwrap

literal = r'"((?:[^"\\\n]|\\.)*)"'


def literals(text):
    """Joins the adjacent string literals of C++ at the beginning of the text; None if there are none."""
    found = re.match(rf"\s*(?:{literal}\s*)+", text)
    if not found:
        return None
    joined = "".join(re.findall(literal, found[0]))
    return joined.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")


def table_text(text):
    """Returns the text as the cell of a table: names are code, bars and signs of markup are escaped."""
    text = re.sub(r"\s+", " ", text).strip()
    text = "".join(part if part.startswith("`") else re.sub(r"\b\w+_\w+\b(?:\(\))?", r"`\g<0>`", part)
                   for part in re.split(r"(`[^`]*`)", text))
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [re.sub(r"([<>*_|\\])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts).replace("|", "\\|").replace("\\\\|", "\\|")


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "| " + " | ".join("---" for _ in heads) + " |"]
    return "\n".join(lines + ["| " + " | ".join(row).replace("|  |", "| |") + " |" for row in rows]) + "\n"


def paragraph(text):
    return textwrap.fill(re.sub(r"\s+", " ", text).strip(), 100, break_on_hyphens=False, break_long_words=False) + "\n"


def block_before(text, function):
    """Returns the lines of the block comment before the first declaration of a function, without their stars."""
    end = re.search(rf"\*/\s*(?:\w+\s+)+\*?{function}\(", text)
    begin = text.rfind("/*", 0, end.start())
    return [re.sub(r"^ ?\*? ?", "", line) for line in text[begin + 2:end.start()].split("\n")]


def descriptions(lines, keys):
    """Returns {key: text} from lines `  key   text`, whose continuations are indented further."""
    found, current = {}, []
    for line in lines:
        match = re.match(r"  ([a-z_0-9]+(?:, [a-z_0-9]+)*)(?:\s{2,}|\s*$)(.*)", line)
        if match and all(one in keys for one in match[1].split(", ")):
            current = match[1].split(", ")
            found.update({one: [match[2]] for one in current})
        elif current and line.startswith("    ") and line.strip():
            for one in current:
                found[one].append(line.strip())
        elif line.strip():
            current = []
    return {key: described(parts) for key, parts in found.items()}


def described(parts):
    """Joins the lines of a description; a value in a column of its own becomes code."""
    joined = ""
    for part in parts:
        head, gap, tail = re.match(r"(.*?)(\s{2,}|$)(.*)", part).groups()
        if gap:
            begins = joined and not joined.endswith((".", ";", ":"))
            joined += ("; " if begins else " ") + f"`{head}`: {tail}"
        else:
            joined += " " + head
    return joined.strip()


def without_column(text, default, values):
    """Removes what other columns of the table say: the list of values and the default."""
    listed = [re.sub(r" \(default\)$", "", word) for word in text.split(": ")[0].strip("`").split(", ")]
    if values and listed == values:
        text = text.partition(": ")[2]
    text = re.sub(rf"(?:^|[;:,] )default {re.escape(default)}(?=$|\. |;)", "", text) if default else text
    return text.strip()


def finish(name, text):
    """Writes the page or, with --check, compares it."""
    page = pathlib.Path(sys.argv[1]) / "share/doc/reference" / name
    text = re.sub(r"\n{3,}", "\n\n", text)
    if "--check" not in sys.argv:
        page.write_text(text)
    elif not page.exists() or page.read_text() != text:
        sys.exit(f"{page} differs from the sources; write it again: python3 {sys.argv[0]} {sys.argv[1]}")
    else:
        print(f"{name} is current")
