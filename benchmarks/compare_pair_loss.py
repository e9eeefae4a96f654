#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the pair loss of HEPT and PyTorch in alternation and prints medians and ratios.

    python3 benchmarks/compare_pair_loss.py [--build build] [--rounds 3] [--threads 2]

CPU, single precision, 60,000 points with 12 channels, 20 million directed pairs of particles of 10 hits. PyTorch runs the operations of the
published training code: gathers both embeddings, norm, exponential, its maximum, sums of negative pairs by their first point, means over
pairs and particles, and the backward pass of all of it. Two simplifications favor it: the positive pairs are known in advance, and sums
are scattered at once, whereas the published code sorts first.
PyTorch comes from the Python that runs this, libsurrogate from a build with -DSURROGATE_BENCHMARKS=ON. How to read the ratios: paired.py.
Needs 5 GB of memory.
"""
from paired import compare, measured, parser
from torch_peer import start, torch

PARTICLES, HITS, NEIGHBORS, TAU, WIDTH = 6000, 10, 166, 0.05, 2 * 0.75**2
N = PARTICLES * HITS


def pairs():
    """Returns first and second points, and the particle of each point, as in pair_loss_bench.cpp."""
    place = torch.randperm(N)
    hits = place.view(PARTICLES, HITS)
    others = place[torch.randint(N, (PARTICLES, NEIGHBORS))]
    u = hits.unsqueeze(2).expand(-1, -1, NEIGHBORS).reshape(-1)
    v = others.unsqueeze(1).expand(-1, HITS, -1).reshape(-1)
    a = hits.unsqueeze(2).expand(-1, -1, HITS).reshape(-1)
    b = hits.unsqueeze(1).expand(-1, HITS, -1).reshape(-1)
    first, second = torch.cat([u, v, a[a != b]]), torch.cat([v, u, b[a != b]])
    particle = torch.empty(N, dtype=torch.long)
    particle[hits] = torch.arange(PARTICLES).unsqueeze(1).expand(-1, HITS)
    return first, second, particle


def info_nce(e, first, second, positive, negative, particle):
    distance = torch.linalg.norm(e[first] - e[second], ord=2, dim=-1)
    t = torch.exp(-distance / WIDTH) / TAU
    x = torch.exp(t - t.max())
    sums = torch.zeros(N).index_add(0, first[negative], x[negative])
    own = first[positive]
    each = -torch.log(x[positive] / (x[positive] + sums[own]))
    counts = torch.zeros(PARTICLES).index_add(0, particle[own], torch.ones_like(each))
    return (torch.zeros(PARTICLES).index_add(0, particle[own], each) / counts).mean()


def main():
    options = parser(__doc__, 3).parse_args()
    start(options)
    first, second, particle = pairs()
    positive = torch.nonzero(particle[first] == particle[second]).squeeze(1)
    negative = torch.nonzero(particle[first] != particle[second]).squeeze(1)
    print(f"{len(first)} pairs, {len(positive)} positive")
    e = (2 * torch.randn(N, 12)).requires_grad_()

    def value():
        with torch.inference_mode():
            info_nce(e, first, second, positive, negative, particle)

    def gradient():
        e.grad = None
        info_nce(e, first, second, positive, negative, particle).backward()

    for name, run in (("value", value), ("gradient", gradient)):
        wanted = f"pair_loss/{name}/threads:{options.threads}/level:2/"
        compare(f"pair loss, {name}", lambda: measured(options.build, "pair_loss_bench", wanted), run, "PyTorch",
                options.rounds, 1)


if __name__ == "__main__":
    main()
