#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables 4 and 7 of the paper on HEPT (arXiv 2402.12535): multiply-adds of a run.

    python3 operations.py [FOLDER]

writes operations.csv and operations_data.csv, by default beside this file, and prints them.

The paper gives no number of points beside its counts. For table 4 the cloud of tracking-60k has the
64,600 points for which 3 tables with blocks of 100 give its 52.2 G; the other eight counts for this
data then follow. For table 7 clouds have the mean number of points of their data set.
"""

import os
import sys

import numpy

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))
from network import HEPT, operations_of, plan_of, write_table  # noqa: E402

# tables, block size, G multiply-adds of the paper
TABLE_4 = [
    (1, 50, 24.2),
    (1, 100, 29.8),
    (1, 150, 35.4),
    (3, 50, 35.6),
    (3, 100, 52.2),
    (3, 150, 68.9),
    (5, 50, 46.9),
    (5, 100, 74.7),
    (5, 150, 102.6),
]

# data set, mean number of points, coordinates, inputs, outputs, differences from the network of
# table 4, G multiply-adds of the paper
PILEUP = {"task": "pileup", "in_dim": 8, "coords_dim": 4, "num_regions": 140}
TABLE_7 = [
    ("tracking-6k", 6800, 6, 15, 12, {}, 5.0),
    ("tracking-60k", 56700, 6, 15, 12, {}, 52.2),
    ("pileup-10k", 10300, 4, 8, 1, PILEUP, 8.5),
]


def count(points, axes, n_field, n_output, **network):
    """Returns G multiply-adds of a run."""
    x = numpy.random.default_rng(0).random((points, axes))
    return operations_of(plan_of("hept", {**HEPT, **network}, x, n_field, n_output))[0] / 2e9


def difference(found, published):
    return f"{100 * (found / published - 1):+.1f} %"


def main():
    rows = []
    for tables, block, published in TABLE_4:
        found = count(64600, 6, 15, 12, n_hashes=tables, block_size=block)
        rows.append((tables, block, published, f"{found:.1f}", difference(found, published)))
    write_table(here, ("tables", "block", "G, paper", "G, here", "difference"), rows)
    rows = []
    for name, points, axes, n_field, n_output, more, published in TABLE_7:
        found = count(points, axes, n_field, n_output, n_hashes=3, block_size=100, **more)
        fitting = f"{points * published / found:.0f}"
        row = (name, points, published, f"{found:.1f}", difference(found, published), fitting)
        rows.append(row)
    header = ("data", "mean points", "G, paper", "G, here", "difference")
    write_table(here, (*header, "points for the paper's count"), rows, "operations_data")


if __name__ == "__main__":
    main()
