#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs HEPT and the authors' example code in alternation and prints medians and ratios.

    git clone https://github.com/Graph-COM/HEPT
    python3 benchmarks/compare_hept.py --code HEPT/example [--build build] [--rounds 3] [--threads 2] [--hits 60000]

CPU, single precision, inference mode, the shape of the published tracking model (3 tables, 8 heads of 24, 4 layers, blocks of 100) with
random weights. Both are whole networks, from hits to embeddings, sorts and gathers included; the authors' code eager or compiled, the
faster in one trial each. libsurrogate finds regions once, during planning; the authors' code in every call.
PyTorch, torch_geometric and einops come from the Python that runs this; libsurrogate from a build with -DSURROGATE_BENCHMARKS=ON, 2
threads. The programs alternate: only ratios of such paired runs are meaningful.
"""
import argparse
import sys

from compare_pytorch import measured
from compare_sequoia import fastest
from paired import compare

try:
    import einops, torch, torch_geometric  # noqa: E401, F401
except ImportError:
    sys.exit("compare_hept.py needs PyTorch and what the authors' code imports: python3 -m venv venv && venv/bin/pip install torch numpy "
             "torch_geometric einops, then run it with venv/bin/python3")

F, D = 15, 6
SHAPE = {"block_size": 100, "n_hashes": 3, "num_regions": 150, "num_heads": 8, "h_dim": 24, "n_layers": 4, "num_w_per_dist": 10}


def hits(n):
    """Returns x, coords and batch of n hits in a detector of ten layers."""
    phi, eta, r = (2 * torch.rand(n) - 1) * torch.pi, 5 * torch.rand(n) - 2.5, 0.03 + 0.1 * torch.randint(0, 10, (n,))
    coords = torch.stack([eta, phi, r, phi / torch.pi, r * torch.sinh(eta), eta], -1)
    return 2 * torch.rand(n, F) - 1, coords, torch.zeros(n, dtype=torch.long)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--code", required=True, help="folder `example` of the authors' repository")
    arguments.add_argument("--build", default="build")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--threads", type=int, default=2, help="of PyTorch; ours take 2")
    arguments.add_argument("--hits", type=int, default=60_000, help="6000 or 60000")
    options = arguments.parse_args()
    sys.path.insert(0, options.code)
    from transformer import Transformer
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    print(f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, {options.threads} threads, {options.hits} hits, "
          f"{options.rounds} rounds")
    network, event = Transformer(in_dim=F, coords_dim=D, num_classes=None, **SHAPE).eval(), hits(options.hits)
    with torch.no_grad():
        variants = {"eager": network, "compiled": torch.compile(network)}
        name, run = fastest({name: lambda event, f=f: f(*event) for name, f in variants.items()}, event)
        compare(f"{name} network", lambda: measured(options.build, "hept_model_bench", f"hept/{options.hits}/"), lambda: run(event),
                "PyTorch", options.rounds, passes=1)


if __name__ == "__main__":
    main()
