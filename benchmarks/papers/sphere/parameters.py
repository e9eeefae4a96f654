#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the paper's spherical models: python3 parameters.py prints a table (README.md)."""

import os
import sys

import surrogate

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from network import field  # noqa: E402

SHARED = {
    "img_size": [128, 256],
    "in_chans": 3,
    "out_chans": 1,
    "filter_basis_type": "piecewise linear",
    "scale_factor": 2,
    "bias": False,
}
TRANSFORMER = {
    **SHARED,
    "model": "SphericalTransformer",
    "embed_dim": 128,
    "num_layers": 4,
    "encoder_kernel_shape": [5, 4],
    "normalization_layer": "instance_norm",
}
SEGFORMER = {
    **SHARED,
    "model": "SphericalSegformer",
    "embed_dims": [16, 32, 64, 128],
    "heads": [1, 2, 4, 8],
    "depths": [3, 4, 6, 3],
    "kernel_shape": [5, 4],
    "grid_internal": "equiangular",
}
PAPER = {"Spherical Transformer": (TRANSFORMER, 531968), "Spherical SegFormer": (SEGFORMER, 606113)}

print("| model | attention | paper | here |\n| --- | --- | --- | --- |")
for name, (network, published) in PAPER.items():
    for mode in ("global", "neighborhood"):
        card = {
            "format": 1,
            "family": "sphere",
            "network": {**network, "attention_mode": mode},
            "inputs": [field(f"x{c}", role="field") for c in range(3)],
            "outputs": [field("y")],
        }
        model = surrogate.Model.initialize(surrogate.Context(), card)
        print(f"| {name} | {mode} | {published:,} | {model.describe()['parameters']:,} |")
