#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same as python3 -m surrogate.export, for a package that is not on Python's path."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

try:
    from surrogate.export import ExportError, export_model  # noqa: F401
    from surrogate.export.__main__ import main
except ModuleNotFoundError as error:
    if __name__ != "__main__" or error.name.startswith("surrogate"):
        raise
    print(f"export: this Python has no {error.name}: pip install numpy", file=sys.stderr)
    sys.exit(2)

if __name__ == "__main__":
    sys.exit(main())
