#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Errors of the five variants of table 3 of the paper on Ball Sparse Attention (arXiv 2506.12541), on bodies of examples/airflow.

    python3 variants.py [--programs BIN] [--epochs 8] [--variants full,..] [--folder variants]

Trains one small network per variant (4 layers of 32 channels) on 200 bodies of 1,900 points, for equal epochs, with one thread, and
writes variants.csv beside this file. Writes the data sets that the current folder does not have yet, and keeps finished variants.
"""

import argparse
import csv
import json
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "../../../examples/airflow"))
import compare_families  # noqa: E402

SPARSE = {**compare_families.BSA, "ball_size": 128}
KWARGS = {"compress_block_size": 8, "group_selection_size": 8, "selected_blocks_number": 4}
# name, network, mean squared error of the paper on ShapeNet-Car
VARIANTS = {
    "full": ("full attention", {**compare_families.BSA, "attention_type": "global"}, 13.29),
    "bsa": ("BSA", {**SPARSE, "attention_kwargs": KWARGS}, 14.31),
    "no_groups": ("BSA without group selection", {**SPARSE, "attention_kwargs": {**KWARGS, "use_group_selection": False}}, 14.44),
    "compression": ("BSA with group compression",
                    {**SPARSE, "attention_kwargs": {**KWARGS, "use_coarse_q_attn": True, "use_coarse_q_importance": True}}, 14.80),
    "balls": ("Erwin (balls alone)", {**SPARSE, "attention_type": "ball"}, 16.12),
}  # fmt: skip
TRAIN, TEST = "train/cars_1900.h5", "test/cars_1900.h5"


def measure(tools, key, epochs):
    """Returns (relative L2 error, processor minutes) of a variant that is trained now, or was."""
    result = os.path.join(tools.folder, key + ".json")
    if not os.path.exists(result):
        folder = os.path.join(tools.folder, key)
        path = tools.write_config(key + ".toml", "bsa", VARIANTS[key][1], [TRAIN], epochs, 2e-3, folder)
        minutes = tools.train(path)
        error = tools.error(os.path.join(folder, "last.safetensors"), TEST)
        with open(result, "w", encoding="utf-8") as file:
            json.dump((error, minutes), file)
    with open(result, encoding="utf-8") as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--programs", default=os.path.join(here, "../../../build/bin"), help="folder of surrogate and airflow")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--variants", default=",".join(VARIANTS), help="those to train now; the table has all that are finished")
    parser.add_argument("--folder", default="variants", help="of the models")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    tools = compare_families.Tools(options.programs, options.folder)
    sizes = {"train": (1900,), "watch": (1900, 7600), "test": (1900,)}
    compare_families.write_data(tools, {name: (compare_families.DATA[name][0], sizes[name]) for name in sizes})
    rows = []
    for key, (name, _, published) in VARIANTS.items():
        if key in options.variants.split(",") or os.path.exists(os.path.join(options.folder, key + ".json")):
            error, minutes = measure(tools, key, options.epochs)
            rows.append((name, published, f"{100 * error:.2f}", f"{minutes:.1f}"))
    with open(os.path.join(here, "variants.csv"), "w", newline="") as file:
        csv.writer(file).writerows([("variant", "MSE, paper", "error in %, here", "processor minutes"), *rows])
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")


if __name__ == "__main__":
    main()
