#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs attention on the sphere in libsurrogate and torch-harmonics in alternation and prints medians and ratios.

    python3 benchmarks/compare_torch_harmonics.py [--build build] [--rounds 5] [--threads 2]
        [--only layer_neighborhood,layer_global,model_neighborhood,model_global,training_neighborhood]

CPU, single precision; layers and models in inference mode. Layers: self-attention with its four projections, C = 128, one head, on equiangular
grids, neighborhood on 128 x 256 (cutoff 7 / sqrt(pi) * pi / 127), global on 64 x 128. Models: SphericalTransformer of the
paper, 128 x 256, C = 128, 4 layers, with either attention. Training: attention of the neighborhood layer without its
projections, forward and backward (a pass of torch-harmonics takes seconds). torch-harmonics comes from the Python that runs this (its wheel
must match the PyTorch beside it: 0.9.3 works with 2.14 and 2.15), libsurrogate from a build with -DSURROGATE_BENCHMARKS=ON, 2 threads.
How to read the ratios: paired.py.
"""
import math
import sys

from paired import compare, measured, parser
from torch_peer import start, torch

try:
    import torch_harmonics
    from torch_harmonics import AttentionS2, NeighborhoodAttentionS2
    from torch_harmonics.examples.models import SphericalTransformer
except ImportError as error:
    sys.exit(f"compare_torch_harmonics.py needs torch-harmonics ({error}): venv/bin/pip install torch-harmonics")

# Programs and their benchmarks of the same shapes.
OURS = {
    "layer_neighborhood": ("sphere_model_bench", "attention/neighborhood_128x256/"),
    "layer_global": ("sphere_model_bench", "attention/global_64x128/"),
    "model_neighborhood": ("sphere_model_bench", "transformer/neighborhood/"),
    "model_global": ("sphere_model_bench", "transformer/global/"),
    "training_neighborhood": ("sphere_attention_bench", "training/C:128/heads:1/threads:2/"),
}


def their_layer(kind):
    shape = (64, 128) if kind == "global" else (128, 256)
    options = {"in_channels": 128, "num_heads": 1, "in_shape": shape, "out_shape": shape, "bias": True}
    if kind == "global":
        return AttentionS2(**options), torch.randn(1, 128, *shape)
    cutoff = 7 / math.sqrt(math.pi) * math.pi / (shape[0] - 1)
    return NeighborhoodAttentionS2(theta_cutoff=cutoff, **options), torch.randn(1, 128, *shape)


def their_model(kind):
    model = SphericalTransformer(
        img_size=(128, 256), grid="legendre-gauss", grid_internal="legendre-gauss", scale_factor=2, embed_dim=128,
        num_layers=4, encoder_kernel_shape=(5, 4), filter_basis_type="piecewise linear",
        normalization_layer="instance_norm", residual_prediction=True, attention_mode=kind)
    return model, torch.randn(1, 3, 128, 256)


def their_training():
    """Returns the operators of torch-harmonics between the projections, forward and backward: channels last, as in its layer."""
    module, _ = their_layer("neighborhood")
    k, v, q, gradient = (torch.randn(1, 128, 256, 128) for _ in range(4))
    for x in (k, v, q):
        x.requires_grad_()
    scaled = 1 / math.sqrt(128)

    def run():
        y = module.attention_handle(k, v, q * scaled, module.quad_weights, module.psi_col_idx, module.psi_roff_idx,
                                    module.psi_seg, module.psi_seg_off, 1, 256, 128, 256)
        torch.autograd.grad(y, (k, v, q), gradient)
    return run


def their_case(name):
    """Returns a function that runs one pass of `name`."""
    torch.manual_seed(1)
    if name == "training_neighborhood":
        return their_training()
    what, kind = name.split("_")
    module, x = their_layer(kind) if what == "layer" else their_model(kind)
    module.eval()
    return lambda: module(x)


def main():
    options = parser(__doc__, 5, ",".join(OURS), "of PyTorch; ours take 2").parse_args()
    names = options.only.split(",")
    for name in names:
        if name not in OURS:
            sys.exit(f"--only {name}: no such case; there are {', '.join(OURS)}")
    start(options, f"torch-harmonics {torch_harmonics.__version__}")
    for name in names:
        trains = name.startswith("training")
        with torch.inference_mode(not trains):
            compare(name, lambda: measured(options.build, *OURS[name]), their_case(name), "torch-harmonics", options.rounds,
                    passes=1 if trains else 2)


if __name__ == "__main__":
    main()
