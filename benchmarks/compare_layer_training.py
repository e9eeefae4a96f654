#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs training steps of Ball Sparse Attention, Sequoia and HEPT beside PyTorch's autograd and prints medians and ratios.

    python3 benchmarks/compare_layer_training.py [--build build] [--rounds 5] [--threads 2] [--only bsa,group,sequoia,hept] [--code F]

CPU, single precision: forward pass, mean squared error, backward pass, AdamW. libsurrogate trains a whole model (embedding, order of
the tree, head), whose plan is made before timing; PyTorch trains the layers alone, on points in the order of the tree, and chooses
blocks in every step, as ours does.
  bsa, group  one layer, 4,096 points, C = 64, 8 heads, balls of 256, blocks and groups of 8, 4 chosen blocks (group compression)
  sequoia     one layer, 4,096 leaves, k = 16, C = 128, 4 heads of 128: siblings as batched products, see compare_sequoia.py
  hept        6,000 hits, the published tracking network of 4 layers: the authors' code (--code, folder `example` of
              https://github.com/Graph-COM/HEPT), which finds its regions in every step
PyTorch runs eager or compiled, the faster in one trial. It comes from the Python that runs this, libsurrogate from a build with
-DSURROGATE_BENCHMARKS=ON, 2 threads. How to read the ratios: paired.py.
"""
import sys

from paired import compare, fastest, measured, parser
from torch_peer import F, start, torch

N, C, H, BALL, BLOCK, GROUP, CHOSEN, RATIO = 4096, 64, 8, 256, 8, 8, 4, 4
D = C // H


def coarse_mlp():
    e = 2 * BLOCK * D
    return torch.nn.Sequential(torch.nn.Linear(BLOCK * D, e), torch.nn.ReLU(), torch.nn.Linear(e, D))


class BallSparse(torch.nn.Module):
    """A layer on x (N, C), in the order of a ball tree. Three branches, gated, then SwiGLU."""

    def __init__(self, compresses_groups):
        super().__init__()
        self.compresses_groups = compresses_groups
        self.norm1, self.norm2 = torch.nn.RMSNorm(C), torch.nn.RMSNorm(C)
        self.position, self.qkv, self.out = torch.nn.Linear(3, C), torch.nn.Linear(C, 3 * C), torch.nn.Linear(C, C)
        self.gate = torch.nn.Linear(C, 3 * H)
        self.phi_q, self.phi_k, self.phi_v = (coarse_mlp() for _ in range(3))
        self.w1, self.w2, self.w3 = torch.nn.Linear(C, RATIO * C), torch.nn.Linear(C, RATIO * C), torch.nn.Linear(RATIO * C, C)
        self.register_buffer("sigma", -torch.ones(H, 1, 1))
        p = torch.rand(N // BALL, BALL, 3)
        self.register_buffer("rel", (p - p.mean(1, keepdim=True)).reshape(N, 3))
        self.register_buffer("distance", torch.cdist(p, p).unsqueeze(1))
        own = torch.arange(N // GROUP) * GROUP // BALL
        self.register_buffer("in_ball", own[:, None] == (torch.arange(N // BLOCK) * BLOCK // BALL)[None])

    def coarse(self, phi, u):
        return phi(u.reshape(H, N // BLOCK, BLOCK * D))

    def attend(self, x):
        q, k, v = self.qkv(x).view(N, 3, H, D).permute(1, 2, 0, 3)  # (H, N, D) each
        in_balls = [u.reshape(H, N // BALL, BALL, D).transpose(0, 1) for u in (q, k, v)]
        ball = F.scaled_dot_product_attention(*in_balls, attn_mask=self.sigma * self.distance).transpose(0, 1).reshape(H, N, D)
        coarse_k, coarse_v = self.coarse(self.phi_k, k), self.coarse(self.phi_v, v)
        coarse_q = self.coarse(self.phi_q, q) if self.compresses_groups else q
        compressed = F.scaled_dot_product_attention(coarse_q[None], coarse_k[None], coarse_v[None])[0]
        if self.compresses_groups:
            compressed = compressed.repeat_interleave(BLOCK, 1)
        with torch.no_grad():
            mean_q = coarse_q if self.compresses_groups else q.reshape(H, N // GROUP, GROUP, D).mean(2)
            scores = (mean_q @ coarse_k.transpose(-1, -2)).masked_fill(self.in_ball, -torch.inf)
            chosen = scores.topk(CHOSEN, dim=-1).indices  # (H, groups, CHOSEN)
        head = torch.arange(H)[:, None, None]
        keys, values = (u.reshape(H, N // BLOCK, BLOCK, D)[head, chosen].flatten(2, 3) for u in (k, v))
        selected = F.scaled_dot_product_attention(q.reshape(H, N // GROUP, GROUP, D), keys, values).view(H, N, D)
        gate = torch.sigmoid(self.gate(x)).view(N, H, 3, 1).permute(2, 1, 0, 3)
        mixed = gate[0] * ball + gate[1] * compressed + gate[2] * selected
        return self.out(mixed.transpose(0, 1).reshape(N, C))

    def forward(self, x):
        x = x + self.attend(self.norm1(x) + self.position(self.rel))
        y = self.norm2(x)
        return x + self.w3(self.w2(y) * F.silu(self.w1(y)))


def ball_sparse(compresses_groups):
    x = torch.randn(N, C)
    return BallSparse(compresses_groups), lambda layer: layer(x)


def sequoia():
    import compare_sequoia as s
    levels = s.Levels(N)
    x = torch.randn(levels.n_node, s.C)
    return s.Layer(s.Blocks(s.products, levels)), lambda layer: layer(x)


def hept(code):
    sys.path.insert(0, code)
    from transformer import Transformer

    import compare_hept as h
    event = h.hits(6000)
    return Transformer(in_dim=h.F, coords_dim=h.D, num_classes=None, **h.SHAPE).train(), lambda network: network(*event)


def training_step(module, run):
    optimizer = torch.optim.AdamW(module.parameters(), foreach=True)

    def step():
        optimizer.zero_grad()
        y = run()
        (y * y).mean().backward()
        optimizer.step()
    return step


def fastest_step(module, run, is_eager_only):
    variants = {"eager": training_step(module, lambda: run(module))}
    if not is_eager_only:
        compiled = torch.compile(module)
        variants["compiled"] = training_step(module, lambda: run(compiled))
    return fastest(variants, passes=3, warm=2)


def main():
    arguments = parser(__doc__, 5, "bsa,group,sequoia", "of PyTorch; ours take 2")
    arguments.add_argument("--code", help="folder `example` of HEPT's repository")
    arguments.add_argument("--eager", action="store_true", help="no trial of compiled PyTorch")
    options = arguments.parse_args()
    start(options)
    cases = {"bsa": (lambda: ball_sparse(False), "step/bsa/4096/"), "group": (lambda: ball_sparse(True), "step/group_compression/4096/"),
             "sequoia": (sequoia, "step/sequoia/4096/"), "hept": (lambda: hept(options.code), "step/hept/6000/")}
    for case in options.only.split(","):
        make, wanted = cases[case]
        name, step = fastest_step(*make(), options.eager)
        compare(f"{case}, PyTorch {name}", lambda: measured(options.build, "training_bench", wanted), step, "PyTorch", options.rounds,
                passes=2)


if __name__ == "__main__":
    main()
