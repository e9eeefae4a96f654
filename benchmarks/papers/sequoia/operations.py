#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables 4 and 6 of the paper on Sequoia: operations for ModelNet40 against layers and points.

    python3 operations.py [FOLDER]

writes operations.csv, by default beside this file, and prints it.

The authors' codes for point clouds and for sequences differ. The library follows the latter, so the
counts cannot be equal.
"""

import os
import sys

import numpy

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))
from network import SEQUOIA_POINTS, operations_of, plan_of, write_table  # noqa: E402

# layers, points, GFLOP of the paper
TABLE_4 = [(1, 1024, 0.23), (2, 1024, 0.46), (4, 1024, 0.95), (5, 1024, 1.15)]
TABLE_6 = [(4, 64, 0.35), (4, 256, 0.51), (4, 1024, 0.95), (4, 4096, 2.62)]


def main():
    found = []
    for table, cases in ((4, TABLE_4), (6, TABLE_6)):
        for layers, points, published in cases:
            x = numpy.random.default_rng(0).random((points, 3))
            network = {**SEQUOIA_POINTS, "num_layers": layers}
            flops = operations_of(plan_of("sequoia", network, x, 0, 40))[0]
            found.append((table, layers, points, published, flops / 1e9))
    _, _, _, published_of_4, of_4 = found[2]
    rows = [
        (*row[:4], f"{row[3] / published_of_4:.2f}", f"{row[4]:.2f}", f"{row[4] / of_4:.2f}")
        for row in found
    ]
    ratio = "of 4 layers and 1,024 points"
    header = ("table", "layers", "points", "GFLOP, paper", ratio, "GFLOP, here", ratio)
    write_table(here, header, rows)


if __name__ == "__main__":
    main()
