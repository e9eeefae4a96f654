#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a script of examples/python: python_example.py MODULE,.. SCRIPT ARGUMENT..

Prints SKIPPED and the missing modules if this Python lacks one.
"""

import importlib.util
import os
import runpy
import sys

missing = [name for name in sys.argv[1].split(",") if importlib.util.find_spec(name) is None]
if missing:
    print(f"SKIPPED: this Python has no {', '.join(missing)}")
    sys.exit(0)
os.environ["MPLBACKEND"] = "Agg"
sys.path.insert(0, os.path.join(os.environ["SURROGATE_SHARE"], "python"))
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
