#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes share/upgrade-0.2.sed and surrogate/compat_0_1.h from names-0.2.txt.

    python3 share/upgrade/upgrade.py            writes both
    python3 share/upgrade/upgrade.py --check    exits with 1 if one of them is not what it would write
"""
import pathlib
import re
import sys

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent
sed_file = here.parent / "upgrade-0.2.sed"
header_file = root / "libsurrogate/include/surrogate/compat_0_1.h"


def read_names():
    """Returns (kind, old, new) of each line."""
    lines = (here / "names-0.2.txt").read_text().splitlines()
    return [tuple(line.split()) for line in lines if line and not line.startswith("#")]


def sed_line(kind, old, new):
    pattern = re.escape(old).replace("/", "\\/")
    if kind == "option":
        return f"s/(['\"]){pattern}(['\"])/\\1{new}\\2/g; s/^([ \\t]*){pattern}([ \\t]*=)/\\1{new}\\2/"
    if old.startswith("."):
        return f"s/(\\.|->){re.escape(old[1:])}/\\1{new[1:]}/g"
    return f"s/\\b{pattern}\\b/{new}/g"


def sed_script(names):
    head = """# SPDX-License-Identifier: Apache-2.0
# Replaces names of libsurrogate 0.1 by names of 0.2, in sources and configurations (see upgrade-0.2.md):
#     sed -E -i -f upgrade-0.2.sed FILE..
# Made by share/upgrade/upgrade.py from share/upgrade/names-0.2.txt.
"""
    lines = []
    for kind, old, new in names:
        lines.append(sed_line(kind, old, new))
        if kind == "c" and old != old.lower():  # Fortran's constants
            lines.append(sed_line(kind, old.lower(), new.lower()))
    return head + "\n".join(lines) + "\n"


def header(names):
    head = """/* SPDX-License-Identifier: Apache-2.0 */
/* Names of version 0.1 for sources that are not upgraded yet: include it before or after the other
 * headers of this library. It goes with version 0.3. Members of structures, options and names of
 * C++ are not in it: share/upgrade-0.2.sed replaces them all.
 * Made by share/upgrade/upgrade.py from share/upgrade/names-0.2.txt. */
#ifndef SURROGATE_COMPAT_0_1_H
#define SURROGATE_COMPAT_0_1_H

"""
    macros = [f"#define {old} {new}" for kind, old, new in names if kind == "c"]
    return head + "\n".join(macros) + "\n\n#endif\n"


def main():
    names = read_names()
    wanted = {sed_file: sed_script(names), header_file: header(names)}
    if "--check" not in sys.argv:
        for path, text in wanted.items():
            path.write_text(text)
        return 0
    stale = [str(path) for path, text in wanted.items()
             if not path.exists() or path.read_text() != text]
    for path in stale:
        print(f"{path} is not what share/upgrade/upgrade.py makes of names-0.2.txt; run it")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
