#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs sphere_model_bench and the same layers and models of torch-harmonics in alternation; prints medians and ratios.

    python3 benchmarks/compare_torch_harmonics.py [--build build] [--rounds 5] [--only neighborhood_layer,..]

CPU, single precision, inference mode, 2 threads (the benchmark's). Cases: neighborhood_layer (128 x 256, 128 channels, one
head, the Transformer's cutoff), global_layer (64 x 128), neighborhood_model, global_model (the paper's Transformer, 128 x
256). torch-harmonics comes from the Python that runs this (pip install torch torch-harmonics); what is said of pairs in
compare_pytorch.py holds here too. Set OMP_WAIT_POLICY=passive where processor seconds are compared: waiting threads of both
sides would count.
"""
import argparse
import math
import sys

import compare_pytorch as paired
import torch

try:
    import torch_harmonics
    from torch_harmonics import AttentionS2, NeighborhoodAttentionS2
    from torch_harmonics.examples.models import SphericalTransformer
except ImportError:
    sys.exit("compare_torch_harmonics.py needs torch-harmonics: pip install torch torch-harmonics")

THREADS, C = 2, 128
OURS = {
    "neighborhood_layer": "attention/neighborhood_128x256/",
    "global_layer": "attention/global_64x128/",
    "neighborhood_model": "transformer/neighborhood/",
    "global_model": "transformer/global/",
}


def torch_case(name):
    """A function that runs one pass of `name`."""
    torch.manual_seed(1)
    mode, kind = name.split("_")
    if kind == "model":
        model = SphericalTransformer(
            img_size=(128, 256), grid="legendre-gauss", grid_internal="legendre-gauss", scale_factor=2, embed_dim=C,
            num_layers=4, encoder_kernel_shape=(5, 4), filter_basis_type="piecewise linear",
            normalization_layer="instance_norm", residual_prediction=True, attention_mode=mode).eval()
        x = torch.randn(1, 3, 128, 256)
        return lambda: model(x)
    shape = (128, 256) if mode == "neighborhood" else (64, 128)
    if mode == "neighborhood":
        layer = NeighborhoodAttentionS2(C, in_shape=shape, out_shape=shape, num_heads=1,
                                        theta_cutoff=7 * math.sqrt(math.pi) / (shape[0] - 1))
    else:
        layer = AttentionS2(C, 1, in_shape=shape, out_shape=shape)
    x = torch.randn(1, C, *shape)
    return lambda: layer(x)


def compare(build, name, rounds):
    run = torch_case(name)
    run()
    wall, processor = [], []
    for _ in range(rounds):
        own_wall, own_processor, level = paired.measured(build, "sphere_model_bench", OURS[name])
        other_wall, other_processor = paired.theirs(run)
        wall.append((own_wall, other_wall))
        processor.append((own_processor, other_processor))
    print(f"{name} ({level})")
    paired.report("wall", wall, "torch-harmonics")
    paired.report("processor", processor, "torch-harmonics")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--build", default="build")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--only", default=",".join(OURS))
    options = arguments.parse_args()
    torch.set_num_threads(THREADS)
    print(f"torch-harmonics {torch_harmonics.__version__}, PyTorch {torch.__version__}, "
          f"{torch.backends.cpu.get_cpu_capability()}, {THREADS} threads, {options.rounds} rounds")
    with torch.inference_mode():
        for name in options.only.split(","):
            compare(options.build, name, options.rounds)


if __name__ == "__main__":
    main()
