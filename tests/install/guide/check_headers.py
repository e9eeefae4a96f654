#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_headers.py HEADER...: every public C function has a comment of its own that begins with a verb in the third person,
says whether the call is collective or local, and lists its errors.

Two headers state the collectivity for all their functions; functions that return no status have no errors.
"""
import pathlib
import re
import sys

function = re.compile(r"SURROGATE_API\s+([\w\s*]*?)\b(surrogate_\w+)\s*\(", re.S)
collectivity = re.compile(r"\b(Collective|Local|collective|local)\b")
# The head of the header has the default.
states_default = {"surrogate_timeloop.h", "surrogate_vtk.h"}


def comment_before(text, position):
    """Returns the comment that ends directly before the position, without its marks, or ""."""
    before = text[:position].rstrip()
    if not before.endswith("*/") or "\n\n" in text[len(before):position]:
        return ""
    comment = before[before.rindex("/*"):]
    return re.sub(r"\n *\* ?", "\n", comment[2:-2]).strip()


def problems(name, text):
    for match in function.finditer(text):
        result, function_name = match[1].strip(), match[2]
        comment = comment_before(text, match.start())
        if not comment:
            yield f"{function_name} has no comment of its own"
            continue
        first = comment.split()[0]
        if not re.fullmatch(r"[A-Z][a-z]+s", first):
            yield f"{function_name}: the comment begins with '{first}', expected a verb in the third person"
        if name not in states_default and not collectivity.search(comment):
            yield f"{function_name}: the comment does not say whether the call is collective or local"
        has_status = result in ("surrogate_status", "PetscErrorCode")
        if has_status and not re.search(r"\b[Ee]rrors?\b|as surrogate_\w+", comment):
            yield f"{function_name}: the comment lists no errors"


def main():
    found, n = [], 0
    for path in map(pathlib.Path, sys.argv[1:]):
        text = path.read_text()
        n += len(function.findall(text))
        found += [f"{path.name}: {problem}" for problem in problems(path.name, text)]
    print("\n".join(found + [f"{len(found)} problems in {n} functions"]))
    return 1 if found or n == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
