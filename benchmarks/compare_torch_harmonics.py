#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs attention on the sphere in libsurrogate and torch-harmonics in alternation and prints medians and ratios.

    python3 benchmarks/compare_torch_harmonics.py [--build build] [--program build/bin/sphere_model_bench] [--rounds 5]
        [--threads 2] [--only layer_neighborhood,layer_global,model_neighborhood,model_global,training_neighborhood]

CPU, single precision; layers and models in inference mode. Layers: self-attention with its four projections, C = 128, one head, on equiangular
grids, neighborhood on 128 x 256 (cutoff 7 / sqrt(pi) * pi / 127), global on 64 x 128. Models: SphericalTransformer of the
paper, 128 x 256, C = 128, 4 layers, with either attention. Training: attention of the neighborhood layer without its
projections, forward and backward (a pass of torch-harmonics takes seconds). torch-harmonics comes from the Python that runs this (its wheel
must match the PyTorch beside it: 0.9.3 works with 2.14 and 2.15); libsurrogate from a build with -DSURROGATE_BENCHMARKS=ON, 2 threads.
The programs alternate: load on the machine affects both. Only ratios of such paired runs are meaningful: of
wall-clock seconds on an idle machine, of processor seconds (all threads) if other programs run too.
"""
import argparse
import json
import math
import os
import subprocess
import sys

from paired import compare

try:
    import torch
    import torch_harmonics
    from torch_harmonics import AttentionS2, NeighborhoodAttentionS2
    from torch_harmonics.examples.models import SphericalTransformer
except ImportError as error:
    sys.exit(f"compare_torch_harmonics.py needs PyTorch and torch-harmonics ({error}): python3 -m venv venv && "
             "venv/bin/pip install torch torch-harmonics, then run it with venv/bin/python3")

# Benchmarks of the same shapes, and the files beside the program in its folder.
OURS = {
    "layer_neighborhood": "attention/neighborhood_128x256",
    "layer_global": "attention/global_64x128",
    "model_neighborhood": "transformer/neighborhood",
    "model_global": "transformer/global",
    "training_neighborhood": "training/C:128/heads:1/threads:2",
}
PROGRAMS = {"training_neighborhood": "sphere_attention_bench"}


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


def ours(program, name):
    """Returns (seconds, processor seconds of one pass, vector level) as one run of the program measures it."""
    text = subprocess.run([program, f"--benchmark_filter=^{OURS[name]}/", "--benchmark_format=json"],
                          check=True, capture_output=True, text=True).stdout
    runs = json.loads(text)["benchmarks"]
    if len(runs) != 1 or runs[0].get("error_occurred"):
        sys.exit(f"{program} gave no single result for {OURS[name]}: {text}")
    scale = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[runs[0]["time_unit"]]
    return runs[0]["real_time"] * scale, runs[0]["cpu_time"] * scale, runs[0].get("label", "")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--build", default="build")
    arguments.add_argument("--program", help="our benchmark; default: bin/sphere_model_bench of the build")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--threads", type=int, default=2, help="of PyTorch; our program takes 2")
    arguments.add_argument("--only", default=",".join(OURS))
    options = arguments.parse_args()
    program = options.program or os.path.join(options.build, "bin", "sphere_model_bench")
    if not os.path.exists(program):
        sys.exit(f"{program} does not exist; configure with -DSURROGATE_BENCHMARKS=ON and build it")
    names = options.only.split(",")
    for name in names:
        if name not in OURS:
            sys.exit(f"--only {name}: no such case; there are {', '.join(OURS)}")
    torch.set_num_threads(options.threads)
    print(f"PyTorch {torch.__version__}, torch-harmonics {torch_harmonics.__version__}, "
          f"{torch.backends.cpu.get_cpu_capability()}, {options.threads} threads, {options.rounds} rounds")
    for name in names:
        own = os.path.join(os.path.dirname(program), PROGRAMS.get(name, os.path.basename(program)))
        with torch.inference_mode(name not in PROGRAMS):
            compare(name, lambda: ours(own, name), their_case(name), "torch-harmonics", options.rounds,
                    passes=1 if name in PROGRAMS else 2)


if __name__ == "__main__":
    main()
