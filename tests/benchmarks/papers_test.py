#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operations of the papers' tables: those of this build are those of the page, and those of the label "exact" are within 2.5 % of the
published ones.

    papers_test.py <benchmarks/papers> <bsa|hept|sequoia>
"""

import csv
import os
import subprocess
import sys
import tempfile


def rows(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


folder = os.path.join(*sys.argv[1:3])
package = os.path.join(folder, "../../../share/python")
with tempfile.TemporaryDirectory() as made:
    subprocess.run([sys.executable, os.path.join(folder, "operations.py"), made], check=True,
                   env={**os.environ, "PYTHONPATH": package})
    names = os.listdir(made)
    here = {name: rows(os.path.join(made, name)) for name in names}
    stored = {name: rows(os.path.join(folder, name)) for name in names}
assert here == stored, (here, stored)
assert len(here["operations.csv"]) >= 6
if sys.argv[2] != "sequoia":
    for row in here["operations.csv"][1:]:
        published, counted = float(row[-3]), float(row[-2])
        assert abs(counted / published - 1) < 0.025, row
