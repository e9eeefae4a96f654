#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Table 3 of the paper on Ball Sparse Attention (arXiv 2506.12541): operations of five variants on 4,096 points.

    python3 operations.py [FOLDER]        writes operations.csv, by default beside this file, and prints it
"""

import os
import sys

import numpy

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))
from network import operations_of, plan_of, write_table  # noqa: E402

NETWORK = {
    "dimensionality": 3, "pos_enc": "fourier", "c_in": 32, "c_out": 1, "c_hidden": 64, "depth": 18, "num_heads": 8,
    "mlp_ratio": 4, "ball_size": 256, "block_size": 6, "should_rotate": True, "rotation_angle": 45.0,
}
# variant, GFLOP of the paper, type of attention, its arguments
ROWS = [
    ("Erwin (balls alone)", 14.60, "ball", {}),
    ("full attention", 87.08, "global", {}),
    ("BSA", 27.91, "sparse", {}),
    ("BSA without group selection", 32.67, "sparse", {"use_group_selection": False}),
    ("BSA with group compression", 20.82, "sparse", {"use_coarse_q_attn": True, "use_coarse_q_importance": True}),
]


def main():
    points = numpy.random.default_rng(0).random((4096, 3))
    rows = []
    for name, published, attention, arguments in ROWS:
        network = {**NETWORK, "attention_type": attention}
        if attention == "sparse":
            network["attention_kwargs"] = arguments
        flops, _ = operations_of(plan_of("bsa", network, points, 0, 1))
        rows.append((name, f"{published:.2f}", f"{flops / 1e9:.2f}", f"{100 * (flops / 1e9 / published - 1):+.1f} %"))
    write_table(here, ("variant", "GFLOP, paper", "GFLOP, here", "difference"), rows)


if __name__ == "__main__":
    main()
