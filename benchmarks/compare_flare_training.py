#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs training steps of FLARE, forward and backward, beside PyTorch's autograd and prints medians and ratios.

    python3 benchmarks/compare_flare_training.py [--build build] [--rounds 5] [--threads 2] [--only mixer,block] [--compiled]

CPU, single precision, N = 50,000 points, C = 64, 8 heads, M = 128. mixer: encode and decode, gradients of queries, keys and
values; PyTorch's is two calls of scaled_dot_product_attention. block: one block between input and output projections, gradients
of all weights and of the inputs; neither side has an optimizer. PyTorch runs eager or compiled. It comes from the Python that
runs this, libsurrogate from a build with -DSURROGATE_BENCHMARKS=ON. How to read the ratios: paired.py.
"""
from paired import compare, measured, parser
from torch_peer import Flare, mix, start, torch

N, C, H, M = 50_000, 64, 8, 128


def torch_step(name, compiled):
    """Returns a function that runs one pass forward and backward."""
    torch.manual_seed(1)
    if name == "mixer":
        inputs = [torch.randn(1, H, n, C // H, requires_grad=True) for n in (M, N, N)]
        module, dy, weights = mix, torch.randn(1, H, N, C // H), []
    else:
        module, dy = Flare(1), torch.randn(1, N, 1)
        inputs, weights = [torch.randn(1, N, 3, requires_grad=True)], list(module.parameters())
    run = torch.compile(module) if compiled else module

    def step():
        for x in inputs + weights:
            x.grad = None
        run(*inputs).backward(dy)
    return step


def main():
    arguments = parser(__doc__, 5, "mixer,block")
    arguments.add_argument("--compiled", action="store_true")
    options = arguments.parse_args()
    start(options, f"N = {N}, C = {C}, H = {H}, M = {M}")
    programs = {"mixer": ("mixer_gradient_bench", f"mixer_step/M:{M}/threads:{options.threads}/D:{C // H}/"),
                "block": ("flare_training_bench", f"flare_step/blocks:1/threads:{options.threads}/")}
    for name in options.only.split(","):
        compare(name, lambda: measured(options.build, *programs[name]), torch_step(name, options.compiled), "PyTorch",
                options.rounds, passes=1)


if __name__ == "__main__":
    main()
