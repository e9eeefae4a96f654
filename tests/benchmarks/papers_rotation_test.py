#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Errors of attention under rotations fall with the resolution on the sphere and stay on the image.

    papers_rotation_test.py <benchmarks/papers>
"""

import csv
import os
import subprocess
import sys
import tempfile

folder = os.path.join(sys.argv[1], "sphere")
package = os.path.join(sys.argv[1], "../../share/python")
with tempfile.TemporaryDirectory() as made:
    subprocess.run([sys.executable, os.path.join(folder, "rotation.py"), made, "--rows", "16,32", "--no-figure"], check=True,
                   env={**os.environ, "PYTHONPATH": package})
    with open(os.path.join(made, "rotation.csv"), newline="") as file:
        error = {tuple(row[:3]): float(row[3]) for row in list(csv.reader(file))[1:]}
for attention, extent, most in (("spherical", "neighborhood", 0.6), ("spherical", "global", 0.05)):
    ratio = error[attention, extent, "32"] / error[attention, extent, "16"]
    assert ratio < most, (attention, extent, error)
for extent in ("neighborhood", "global"):
    assert error["planar", extent, "32"] > 0.1, error
    assert error["spherical", extent, "32"] < 0.2 * error["planar", extent, "32"], error
