# SPDX-License-Identifier: Apache-2.0
"""status_codes.py SOURCE [--check]: reference/status-codes.md from the comments of the enumeration in surrogate.h."""
import pathlib
import re
import sys

from generated import finish, paragraph, table, table_text

text = (pathlib.Path(sys.argv[1]) / "libsurrogate/include/surrogate/surrogate.h").read_text()
values = re.search(r"enum \{\n(    SURROGATE_SUCCESS = 0.*?)\n\};", text, re.S)[1]
entry = re.compile(r"SURROGATE_(\w+) = (\d+),?(?:\s*/\*(.*?)\*/)?", re.S)
rows = [[f"`{name}`", number, table_text(re.sub(r"\n\s*\*? *", " ", words) or ("no error" if name == "SUCCESS" else ""))]
        for name, number, words in entry.findall(values)]
finish("status-codes.md", f"""# Status codes

{paragraph('''Each function of the C interface returns one of these codes, with the prefix `SURROGATE_` in C and `surrogate_`
in Fortran. The page is generated from `surrogate.h` by `share/cmake/guide/status_codes.py`.''')}
**Prerequisites**: none. Causes and remedies are in [troubleshooting](../how-to/troubleshoot.md).

{table(["status", "value", "meaning"], rows)}
{paragraph('''In C++ a code other than `SUCCESS` is thrown as `surrogate::Error` with the code and the text of the error. The
PETSc functions return codes of PETSc; [the table](../how-to/couple-petsc.md#errors) maps them.''')}""")
