#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables 4 and 7 of the paper on HEPT (arXiv 2402.12535): multiply-adds of a run.

    python3 operations.py [FOLDER]        writes operations.csv, by default beside this file, and prints it

The paper gives no number of points beside its counts. The cloud of tracking-60k has the 64,600 points for which 3 tables with
blocks of 100 give its 52.2 G; the other eight counts for this data then follow.
"""

import os
import sys

import numpy

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))
from network import HEPT, operations_of, plan_of, write_table  # noqa: E402

# tables, block size, G multiply-adds of the paper
TABLE_4 = [(1, 50, 24.2), (1, 100, 29.8), (1, 150, 35.4), (3, 50, 35.6), (3, 100, 52.2), (3, 150, 68.9), (5, 50, 46.9),
           (5, 100, 74.7), (5, 150, 102.6)]


def main():
    points = numpy.random.default_rng(0).random((64600, 6))
    rows = []
    for tables, block, published in TABLE_4:
        network = {**HEPT, "n_hashes": tables, "block_size": block}
        flops, _ = operations_of(plan_of("hept", network, points, 15, 12))
        count = flops / 2e9
        rows.append((tables, block, published, f"{count:.1f}", f"{100 * (count / published - 1):+.1f} %"))
    write_table(here, ("tables", "block", "G, paper", "G, here", "difference"), rows)


if __name__ == "__main__":
    main()
