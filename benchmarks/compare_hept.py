#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs HEPT and the authors' example code in alternation and prints medians and ratios.

    git clone https://github.com/Graph-COM/HEPT
    python3 benchmarks/compare_hept.py --code HEPT/example [--build build] [--rounds 3] [--threads 2] [--hits 60000]

CPU, single precision, inference mode, the shape of the published tracking model (3 tables, 8 heads of 24, 4 layers, blocks of 100) with
random weights. Both are whole networks, from hits to embeddings, sorts and gathers included; the authors' code eager or compiled, the
faster in one trial each. libsurrogate finds regions once, during planning; the authors' code in every call.
PyTorch, torch_geometric and einops come from the Python that runs this, libsurrogate from a build with -DSURROGATE_BENCHMARKS=ON, 2
threads. How to read the ratios: paired.py.
"""
import sys

from paired import compare, fastest, measured, parser
from torch_peer import start, torch

try:
    import einops, torch_geometric  # noqa: E401, F401
except ImportError:
    sys.exit("compare_hept.py needs what the authors' code imports: venv/bin/pip install torch_geometric einops")

F, D = 15, 6
SHAPE = {"block_size": 100, "n_hashes": 3, "num_regions": 150, "num_heads": 8, "h_dim": 24, "n_layers": 4, "num_w_per_dist": 10}


def hits(n):
    """Returns x, coords and batch of n hits in a detector of ten layers."""
    phi, eta, r = (2 * torch.rand(n) - 1) * torch.pi, 5 * torch.rand(n) - 2.5, 0.03 + 0.1 * torch.randint(0, 10, (n,))
    coords = torch.stack([eta, phi, r, phi / torch.pi, r * torch.sinh(eta), eta], -1)
    return 2 * torch.rand(n, F) - 1, coords, torch.zeros(n, dtype=torch.long)


def main():
    arguments = parser(__doc__, 3, peer_threads="of PyTorch; ours take 2")
    arguments.add_argument("--code", required=True, help="folder `example` of the authors' repository")
    arguments.add_argument("--hits", type=int, default=60_000, help="6000 or 60000")
    options = arguments.parse_args()
    sys.path.insert(0, options.code)
    from transformer import Transformer
    start(options, f"{options.hits} hits")
    network, event = Transformer(in_dim=F, coords_dim=D, num_classes=None, **SHAPE).eval(), hits(options.hits)
    with torch.no_grad():
        compiled = torch.compile(network)
        name, run = fastest({"eager": lambda: network(*event), "compiled": lambda: compiled(*event)})
        compare(f"{name} network", lambda: measured(options.build, "hept_model_bench", f"hept/{options.hits}/"), run, "PyTorch", options.rounds,
                passes=1)


if __name__ == "__main__":
    main()
