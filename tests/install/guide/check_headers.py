#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_headers.py HEADER...: every public C function has a comment of its own that begins with a
verb in the third person, says whether the call is collective or local, and lists its errors. Every
public C++ function has a comment that begins with a verb in the third person. Every struct,
enumeration, member and value has a comment.

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


def c_members(text):
    """Yields (type, member, has_comment) of structs and enumerations; "": the type itself."""
    # A comment before a member is on lines of its own; one behind it begins on the member's line.
    declaration = re.compile(r"(?P<before>^ +/\*(?:(?!\*/).)*\*/\n)?^ +(?P<text>[^/\n]+?)[;,]? *"
                             r"(?P<behind>/\*.*?\*/)?$", re.S | re.M)
    types = re.compile(r"^(?:typedef )?(?:struct|enum)\s*(\w*) \{\n(.*?)^\}", re.S | re.M)
    for match in types.finditer(text):
        first = re.search(r"\w+", re.sub(r"/\*.*?\*/", "", match[2], flags=re.S))[0]
        own_name = match[1] or first
        yield own_name, "", bool(comment_before(text, match.start()))
        for member in declaration.finditer(match[2]):
            declared = [one.split(" = ")[0] for one in member["text"].split(", ")]
            has_comment = bool(member["before"] or member["behind"]) and len(declared) == 1
            for one in declared:
                yield own_name, re.search(r"(\w+)(?:\[\d+\])*$", one)[1], has_comment


def cpp_problems(text):
    """Checks the public functions of classes and of the namespace."""
    internal = r"^namespace detail \{.*?^\}  // namespace detail|^private:.*?(?=^\};)"
    text = re.sub(internal, "", text, flags=re.S | re.M)
    bodies = re.compile(r"^((?:inline|template|surrogate_)[^;]*?\{\n).*?^\}", re.S | re.M)
    text = bodies.sub(r"\1}", text)
    declaration = re.compile(r"^((?: {4})?)(?:template <[^\n]*\n\1)?(?:(?:inline|explicit) )*"
                             r"(?:[A-Za-z_][\w:<>,*& ]* )?(\w+)\(", re.M)
    for match in declaration.finditer(text):
        line = text[:match.start()].rstrip("\n").rsplit("\n", 1)[-1]
        if not line.strip().startswith("///"):
            yield f"{match[2]} has no comment of its own: {match[0].strip()}"
            continue
        comment = re.search(r"((?:^ *///.*\n)+)\Z", text[:match.start()], re.M)[1]
        first = comment.split()[1]
        if not re.fullmatch(r"[A-Z][a-z]+s", first):
            yield (f"{match[2]}: the comment begins with '{first}', expected a verb in the third "
                   "person")


def problems(name, text):
    if name.endswith(".hpp"):
        yield from cpp_problems(text)
        return
    for own_name, member, has_comment in c_members(text):
        if not has_comment:
            yield f"{own_name}.{member} has no comment" if member else f"{own_name} has no comment"
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
        if has_status and not re.search(r"\bErrors\b", comment):
            yield f"{function_name}: the comment lists no errors"


def main():
    found, n = [], 0
    for path in map(pathlib.Path, sys.argv[1:]):
        text = path.read_text()
        n += len(function.findall(text)) if path.suffix == ".h" else text.count("///")
        found += [f"{path.name}: {problem}" for problem in problems(path.name, text)]
    print("\n".join(found + [f"{len(found)} problems in {n} functions"]))
    return 1 if found or n == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
