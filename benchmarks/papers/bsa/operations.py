#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Table 3 of the paper on Ball Sparse Attention (arXiv 2506.12541): operations on 4,096 points.

    python3 operations.py [FOLDER]

writes operations.csv, by default beside this file, and prints it.
"""

import os
import sys

import numpy

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))
from network import BSA_VARIANTS, operations_of, plan_of, write_table  # noqa: E402

# GFLOP of the paper
PUBLISHED = {
    "Erwin (balls alone)": 14.60,
    "full attention": 87.08,
    "BSA": 27.91,
    "BSA without group selection": 32.67,
    "BSA with group compression": 20.82,
}


def main():
    points = numpy.random.default_rng(0).random((4096, 3))
    rows = []
    for name, published in PUBLISHED.items():
        found = operations_of(plan_of("bsa", BSA_VARIANTS[name], points, 0, 1))[0] / 1e9
        difference = f"{100 * (found / published - 1):+.2f} %"
        rows.append((name, f"{published:.2f}", f"{found:.2f}", difference))
    write_table(here, ("variant", "GFLOP, paper", "GFLOP, here", "difference"), rows)


if __name__ == "__main__":
    main()
