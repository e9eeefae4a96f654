#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of a run against the number of points, beside full attention, of four papers.

    python3 run_times.py bsa|hept|sequoia|flare [FOLDER]

writes run_times.csv and run_times.png, by default into the paper's folder.

Full attention is the library's own (attention_type "global"), with the channels, heads and layers
of the network beside it. Seconds are processor seconds with one thread, without planning, of the
cheapest of three runs, from 16,384 points on of one run; memory is the workspace of the plan. A
name that ends with ", training": a mean squared error and its gradient by all weights.
"""

import csv
import os
import sys

import matplotlib
import numpy
from network import BSA_VARIANTS, HEPT, plan_of, seconds_of, training_seconds_of

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

FULL = {
    "dimensionality": 3,
    "pos_enc": "none",
    "c_out": 1,
    "mlp_ratio": 4,
    "block_size": 2,
    "attention_type": "global",
    "should_rotate": False,
}
SEQUOIA = {"dimensionality": 3, "pos_enc": "none", "tree": "points", "c_in": 16, "num_classes": 1}
FLARE = {
    "in_dim": 19,
    "out_dim": 1,
    "channel_dim": 128,
    "num_blocks": 1,
    "num_heads": 8,
    "num_latents": 128,
}
FOUR_LAYERS = {**FULL, "c_in": 16, "c_hidden": 128, "depth": 4, "num_heads": 4}
ONE_LAYER = {**FULL, "c_in": 16, "c_hidden": 128, "depth": 1, "num_heads": 8}

# of each paper: (name, family, network, axes, fields, outputs, largest number of points)
CASES = {
    "bsa": [
        (name, "bsa", network, 3, 0, 1, 32768 if name == "full attention" else 65536)
        for name, network in BSA_VARIANTS.items()
    ],
    "hept": [
        (name, "hept", {**HEPT, "n_hashes": 3, "block_size": 100}, 6, 15, 12, 262144)
        for name in ("HEPT", "HEPT, training")
    ],
    "sequoia": [
        ("full attention", "bsa", FOUR_LAYERS, 3, 16, 1, 32768),
        ("Sequoia", "sequoia", SEQUOIA, 3, 16, 1, 65536),
    ],
    "flare": [
        (name + suffix, family, network, 3, 16, 1, largest)
        for suffix in ("", ", training")
        for name, family, network, largest in (
            ("full attention", "bsa", ONE_LAYER, 65536),
            ("FLARE", "flare", FLARE, 1048576),
        )
    ],
}
POINTS = {
    "bsa": [2**k for k in range(8, 17)],
    "hept": [2**k for k in range(10, 19)],
    "sequoia": [2**k for k in range(8, 17)],
    "flare": [4**k for k in range(5, 11)],
}


def measure(paper):
    """Yields (name, points, seconds, bytes of the workspace)."""
    for name, family, network, axes, fields, outputs, largest in CASES[paper]:
        for n in (n for n in POINTS[paper] if n <= largest):
            points = numpy.random.default_rng(0).random((n, axes))
            is_training = name.endswith("training")
            plan = plan_of(family, network, points, fields, outputs, is_training, threads=1)
            time_of = training_seconds_of if is_training else seconds_of
            seconds = time_of(plan, 3 if n < 16384 else 0)
            yield name, n, f"{seconds:.4g}", plan.counter("workspace_bytes")
            print(f"{name}, {n:,} points: {seconds:.4g} s", flush=True)


def plot(rows, path):
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
    for name in dict.fromkeys(row[0] for row in rows):
        n, seconds, memory = zip(*(map(float, row[1:]) for row in rows if row[0] == name))
        left.loglog(n, seconds, "o-", markersize=4, label=name)
        right.loglog(n, numpy.array(memory) / 1e6, "o-", markersize=4)
    left.set(xlabel="points", ylabel="seconds of a run, one core")
    right.set(xlabel="points", ylabel="workspace in MB")
    left.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main():
    paper = sys.argv[1]
    here = os.path.dirname(os.path.abspath(__file__))
    folder = sys.argv[2] if len(sys.argv) > 2 else os.path.join(here, paper)
    rows = list(measure(paper))
    with open(os.path.join(folder, "run_times.csv"), "w", newline="") as file:
        csv.writer(file).writerows([("network", "points", "seconds", "bytes"), *rows])
    plot(rows, os.path.join(folder, "run_times.png"))


if __name__ == "__main__":
    main()
