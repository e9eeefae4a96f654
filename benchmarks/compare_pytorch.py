#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmarks of libsurrogate and the same shapes in PyTorch in alternation and prints medians and ratios.

    python3 benchmarks/compare_pytorch.py [--build build] [--rounds 5] [--threads 2]
                                          [--only mixer,mlp,block,model,clouds,clouds_compiled]

CPU, single precision, inference mode, N = 100,000 points, C = 64, 8 heads, M = 128; clouds: 4,096 clouds of 64 points in one batch, eager
or compiled. PyTorch comes from the Python that runs this, libsurrogate from a build with -DSURROGATE_BENCHMARKS=ON. How to read the
ratios: paired.py.
"""
from paired import compare, measured, parser
from torch_peer import Flare, ResidualMlp, mix, start, torch

N, C, H, M = 100_000, 64, 8, 128
CLOUDS, CLOUD_POINTS = 4096, 64


def torch_case(name):
    """Returns a function that runs one pass of `name`."""
    torch.manual_seed(1)
    if name == "mixer":
        q, k, v = torch.randn(1, H, M, C // H), torch.randn(1, H, N, C // H), torch.randn(1, H, N, C // H)
        return lambda: mix(q, k, v)
    if name == "mlp":
        mlp, x = ResidualMlp(C, C, C, 3), torch.randn(1, N, C)
        return lambda: mlp(x)
    if name.startswith("clouds"):
        model, x = Flare(8), torch.randn(CLOUDS, CLOUD_POINTS, 3)
        model = torch.compile(model) if name == "clouds_compiled" else model
        return lambda: model(x)
    model, x = Flare(1 if name == "block" else 8), torch.randn(1, N, 3)
    return lambda: model(x)


def ours(build, name, threads):
    return measured(build, *{
        "mixer": ("mixer_bench", f"mixer/M:{M}/threads:{threads}/"),
        "mlp": ("mlp_bench", f"mlp/gelu/threads:{threads}/"),
        "block": ("model_bench", "flare_model/fast/1"),
        "model": ("model_bench", "flare_model/fast/8"),
        "clouds": ("model_bench", "flare_clouds/fast/8"),
        "clouds_compiled": ("model_bench", "flare_clouds/fast/8"),
    }[name])


def main():
    options = parser(__doc__, 5, "mixer,mlp,block,model").parse_args()
    start(options, f"N = {N}, C = {C}, H = {H}, M = {M}")
    with torch.inference_mode():
        for name in options.only.split(","):
            compare(name, lambda: ours(options.build, name, options.threads), torch_case(name), "PyTorch",
                    options.rounds, passes=1 if name.startswith("clouds") else 3)


if __name__ == "__main__":
    main()
