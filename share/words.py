#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts words and patterns that the project's prose avoids (share/doc/develop/style.md).

    python3 share/words.py [PATH]...           a table of counts by top folder
    python3 share/words.py --list [PATH]...    each place, as path:line: rule: text
    python3 share/words.py --check [PATH]...   the same; exits with 1 if there is one

Reads comments, string literals and pages of the files that git tracks. Two files in tests/install/vocabulary control it:
`rules.txt` has one rule per line; `exceptions.txt` has lines `path-prefix: expression` for text that must stay, such as old
names. An exception suppresses the findings in files whose path begins with the prefix, if a match of the expression in the
comment, string or line covers the words found. Pages that a file names by their path from the root must exist.
In the headers of `finished` the comment before a function begins with a verb in the third person.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
rules_file = root / "tests/install/vocabulary/rules.txt"
exceptions_file = rules_file.with_name("exceptions.txt")
c_like = {".c", ".h", ".hpp", ".cpp", ".cu", ".cuh", ".H", ".C"}
hash_like = {".cmake", ".py", ".sh", ".toml"}
fortran_like = {".F90", ".f90", ".f", ".inc"}
opening = re.compile(r"(What|Who|Where|How|Whether|Of)\b")
# Pages of the sources; share/doc/surrogate is the folder of an installation.
page_path = re.compile(r"(?<![\w/])share/doc/(?!surrogate/)[\w/-]+\.md\b")
# Headers in which the comment of every function begins with a verb, and plural nouns that are not verbs.
finished = re.compile(r"(coupling|kernels|libsurrogate/src(?!/layers/device_image|/model/\w+/device_"
                      r"|/model/sphere/(attention|band|config|sites))|tests/install/vocabulary)/(.*/)?\w+\.hpp")
plurals = set("""As Bytes Channels Chunks Columns Counters Elements Gradients Indices Inputs Integers Is Items Its Kernels Keys
    Latents Layers Levels Messages Names Numbers Offsets Operands Outputs Pairs Parameters Positions Queries Ranges References
    Results Rows Scores Segments Stages Statistics This Tiles Tokens Values Weights Words""".split())
pointer = re.compile(r"\b(that|those) of\b", re.IGNORECASE)


def read_rules():
    """Returns (expression, replacement) of each line `expression => replacement`."""
    rules = []
    for line in rules_file.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        expression, replacement = (part.strip() for part in line.split(" => "))
        rules.append((re.compile(expression), replacement))
    return rules


def read_exceptions(name):
    """Returns the expressions of the lines `path-prefix: expression` whose prefix begins the path `name`."""
    lines = [line for line in exceptions_file.read_text().splitlines() if line and not line.startswith("#")]
    return [re.compile(expression) for prefix, expression in (line.split(": ", 1) for line in lines)
            if name.startswith(prefix)]


def source_files(paths):
    """Returns the files below the paths that git does not ignore; without git, those of the project's folders."""
    try:
        names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", *paths], cwd=root, check=True,
                               capture_output=True, text=True).stdout.split("\n")
    except (OSError, subprocess.CalledProcessError):
        below = paths or ["libsurrogate", "coupling", "kernels", "examples", "tests", "benchmarks", "share", "README.md"]
        names = [str(path.relative_to(root)) for start in below for path in sorted({root / start, *(root / start).rglob("*")})
                 if "__pycache__" not in path.parts]
    return sorted({name for name in names if name and (root / name).is_file() and not (root / name).is_symlink()})


def c_parts(text):
    """Yields (kind, line, text) of comments and string literals; kind is comment or string."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', re.DOTALL)
    for found in token.finditer(text):
        kind = "string" if found[0][0] in "\"'" else "comment"
        yield kind, text.count("\n", 0, found.start()) + 1, found.start(), found[0]


def parts_of(name, text):
    """Yields (kind, line, text) of a file; consecutive comment lines are one part."""
    suffix = pathlib.Path(name).suffix
    # The license is blanked, so that the comment behind it has an opening of its own.
    text = re.sub(r"^(/\*|//|#|!|C +) *SPDX-.*?( \*/|$)",
                  lambda match: "/*" if match[1] == "/*" and not match[2] else "", text, flags=re.M)
    if suffix == ".md":
        is_code = False
        for number, line in enumerate(text.split("\n"), 1):
            if line.lstrip().startswith("```"):
                is_code = not is_code
            elif not is_code:
                yield "page", number, line
        return
    if suffix in c_like:
        lines = text.split("\n")
        block, first, last = [], 0, -1
        for kind, line, start, content in c_parts(text):
            begins = text[text.rfind("\n", 0, start) + 1:start].strip() == ""
            if kind == "string":
                yield kind, line, content[1:-1]
                continue
            if content.startswith("/*"):
                words = re.sub(r"\n[ \t]*\* ?", "\n", content[2:-2]).lstrip("*<! ")
                yield "comment", line, words
                continue
            words = content.lstrip("/<! ")
            if block and begins and line == last + 1:
                block.append(words)
            else:
                if block:
                    yield "comment", first, "\n".join(block)
                block, first = [words], line
            last = line if begins else -1
        if block:
            yield "comment", first, "\n".join(block)
        return
    mark = "!" if suffix in fortran_like else "#"
    if suffix not in hash_like | fortran_like and pathlib.Path(name).name != "CMakeLists.txt":
        return
    block, first = [], 0
    for number, line in enumerate(text.split("\n"), 1):
        words = line.strip()
        if words.startswith(mark) and not words.startswith(("#!", "#include", "#if", "#e", "#define")):
            if not block:
                first = number
            block.append(words.lstrip(mark + " "))
        elif block:
            yield "comment", first, "\n".join(block)
            block = []
    if block:
        yield "comment", first, "\n".join(block)


def function_comments(text):
    """Yields (line, first word) of the comments that are directly before a function of C++."""
    blocks = re.compile(r"((?:^ *///(?!<).*\n)+)(?: *template <.*\n)*((?:(?! *///).*\n){1,12})", re.M)
    for block in blocks.finditer(text):
        declaration = re.split("[;{]", re.sub(r"operator\S+|//.*|->", "", block[2]))[0]
        while (without := re.sub("<[^<>]*>", "", declaration)) != declaration:
            declaration = without
        head, parenthesis, _ = declaration.partition("(")
        if parenthesis and "=" not in head and not re.match(r"\s*(struct|class|enum|union|using|friend|#|\})", head):
            yield text.count("\n", 0, block.start()) + 1, (block[1].split()[1:] or ["nothing"])[0].rstrip(",.:;")


def findings(name, text, rules):
    """Yields (line, rule, text)."""
    suffix = pathlib.Path(name).suffix
    exceptions = read_exceptions(name)

    def is_excepted(text, first, last):
        return any(match.start() <= first and last <= match.end()
                   for expression in exceptions for match in expression.finditer(text))

    for found in page_path.finditer(text):
        if not (root / found[0]).is_file():
            yield text.count("\n", 0, found.start()) + 1, "there is no such page", found[0]
    if finished.fullmatch(name):
        for line, word in function_comments(text):
            if not re.fullmatch("[A-Z][a-z]+s", word) or word in plurals:
                yield line, "comment of a function without a verb in the third person", word
    if suffix in c_like | fortran_like:
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > 100 and suffix in c_like and not is_excepted(line, 0, len(line)):
                yield number, "line above 100 columns", line.strip()[:60]
    for kind, line, words in parts_of(name, text):
        shown = " ".join(words.split())[:90]
        # Tables, links, figures and indented code keep their lines.
        if kind == "page" and len(words) > 100 and not words.lstrip().startswith(("|", "[", "![")) \
                and not words.startswith("    "):
            yield line, "line above 100 columns", shown
        if kind == "comment" and opening.match(words) and not is_excepted(words, *opening.match(words).span()):
            yield line, "opens with " + opening.match(words)[0], shown
        if kind != "string":
            for found in pointer.finditer(words):
                if not is_excepted(words, *found.span()):
                    yield line, "that of, those of", shown
        for expression, replacement in rules:
            for found in expression.finditer(words):
                if not is_excepted(words, *found.span()):
                    yield (line + words.count("\n", 0, found.start()), f"'{found[0]}' => {replacement}", shown)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true", help="exits with 1 if there is any place")
    arguments = parser.parse_args()
    rules = read_rules()
    own_files = ("tests/data/", "tests/install/vocabulary/", "share/words.py")
    counts = collections.Counter()
    for name in source_files(arguments.paths):
        if name.startswith(own_files) and name not in arguments.paths:
            continue
        try:
            text = (root / name).read_text()
        except UnicodeDecodeError:
            continue
        for line, rule, shown in findings(name, text, rules):
            key = rule if not rule.startswith("'") else "words: " + rule.split(" => ")[1]
            counts[name.split("/")[0], key] += 1
            if arguments.list or arguments.check:
                print(f"{name}:{line}: {rule}: {shown}")
    if arguments.check:
        print(f"{sum(counts.values())} places")
        return 1 if counts else 0
    if not arguments.list:
        for (folder, rule), n in sorted(counts.items()):
            print(f"{n:6}  {folder:14} {rule}")
        print(f"{sum(counts.values()):6}  in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
