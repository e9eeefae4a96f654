#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs HEPT and the same network in PyTorch in alternation and prints medians and ratios.

    python3 benchmarks/compare_hept.py [--build build] [--rounds 3] [--threads 2] [--hits 60000]

CPU, single precision, inference mode, the shape of the published tracking model (3 tables, 8 heads of 24, 4 layers, blocks of 100) with
random weights. Both are whole networks, from hits to embeddings. PyTorch's takes the steps of the authors' example: regions by two sorts of
coordinates, hashes of all tables, two sorts of all hits for each table and head, gather, products of blocks with half norms, exponentials,
scatter back by the inverse order; eager or compiled, the faster in one trial each. Ours plans regions once and sorts in every run.
PyTorch comes from the Python that runs this; ours from a build with -DSURROGATE_BENCHMARKS=ON, 2 threads. Ours and theirs take
turns: only ratios of such paired runs mean anything.
"""
import argparse
import sys

from compare_pytorch import measured
from compare_sequoia import fastest
from paired import compare

try:
    import torch
except ImportError:
    sys.exit("compare_hept.py needs PyTorch: python3 -m venv venv && venv/bin/pip install torch numpy, then run it with "
             "venv/bin/python3")

C, H, D, X, L, K, B, F, G = 3, 8, 24, 6, 4, 10, 100, 15, 150


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (torch.nn.Linear(D, H * D, bias=False) for _ in range(3))
        self.out = torch.nn.Linear(H * D, D)
        self.w_rpe = torch.nn.Linear(K * (X - 1), H * D)
        self.register_buffer("alpha", torch.randn(H, D + X, C))

    def scale(self):
        w = self.w_rpe.weight.view(H, D, X - 1, K).sum(1).clamp(max=50).exp().sum(-1)
        return (2 * torch.cat([w[:, :1], w], 1)).sqrt()   # (H, X): both axes of regions share a weight

    def forward(self, u, coords, code):
        """u (N, D), coords (N, X), code (C, H, N) -> (N, D)"""
        n = u.shape[0]
        heads = lambda t: t.view(n, H, D).transpose(0, 1)
        place = self.scale().unsqueeze(1) * coords
        q = torch.cat([heads(self.q(u)), place], -1)   # (H, N, E)
        k = torch.cat([heads(self.k(u)), place], -1)
        v = heads(self.v(u))
        hash_q, hash_k = (torch.bmm(t, self.alpha).permute(2, 0, 1) for t in (q, k))   # (C, H, N)
        both = torch.stack([hash_q, hash_k])
        shift = code * (both.amax((0, 3)) - both.amin((0, 3))).unsqueeze(-1)
        order_q, order_k = (hash_q + shift).argsort(-1), (hash_k + shift).argsort(-1)

        def sorted_blocks(t, order):   # (C, H, N / B, B, width)
            picked = t.unsqueeze(0).expand(C, -1, -1, -1).gather(2, order.unsqueeze(-1).expand(-1, -1, -1, t.shape[-1]))
            return picked.view(C, H, -1, B, t.shape[-1])

        q, k, v = sorted_blocks(q, order_q), sorted_blocks(k, order_k), sorted_blocks(v, order_k)
        half = lambda t: 0.5 * (t * t).sum(-1, keepdim=True)
        weight = (q @ k.transpose(-1, -2) - half(q) - half(k).transpose(-1, -2)).clamp(max=0).exp()
        den = weight.sum(-1, keepdim=True) + 1e-20
        both = torch.cat([weight @ v, den], -1).view(C, H, n, D + 1)
        back = order_q.argsort(-1).unsqueeze(-1).expand(-1, -1, -1, D + 1)
        total = both.gather(2, back).sum(0)   # (H, N, D + 1)
        return self.out((total[..., :D] / total[..., D:]).transpose(0, 1).reshape(n, H * D))


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(D), torch.nn.LayerNorm(D)
        self.attention = Attention()
        self.ff = torch.nn.Sequential(torch.nn.Linear(D, D), torch.nn.ReLU(), torch.nn.Linear(D, D))

    def forward(self, h, coords, code):
        h = h + self.attention(self.norm1(h), coords, code)
        return h + self.ff(self.norm2(h))


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Sequential(torch.nn.Linear(F, D), torch.nn.ReLU(), torch.nn.Linear(D, D))
        self.layers = torch.nn.ModuleList(Layer() for _ in range(L))
        self.states = torch.nn.Linear(D * (L + 1), D // 2, bias=False)
        widths, mlp = [D // 2, 256, 256, 256, 256], []
        for a, b in zip(widths, widths[1:]):
            mlp += [torch.nn.Linear(a, b), torch.nn.LayerNorm(b), torch.nn.Tanh()]
        self.mlp = torch.nn.Sequential(*mlp, torch.nn.Linear(256, D // 2))
        along = 6 + torch.rand(C, H) * 18
        self.register_buffer("regions", torch.stack([along, G / along], 1))

    def codes(self, coords):
        n = coords.shape[0]
        slabs = []
        for axis in range(2):
            rank = coords[:, axis].argsort().argsort()
            size = torch.ceil(n / self.regions[:, axis]).unsqueeze(-1)
            slabs.append(torch.div(rank, size, rounding_mode="floor") + 1)   # (C, H, N)
        return slabs[1] * 64 + slabs[0]

    def forward(self, x, coords):
        code = self.codes(coords)
        states = [self.encoder(x)]
        for layer in self.layers:
            states.append(layer(states[-1], coords, code))
        e = self.states(torch.cat(states, -1))
        return e + self.mlp(e)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--build", default="build")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--threads", type=int, default=2, help="of PyTorch; ours take 2")
    arguments.add_argument("--hits", type=int, default=60_000, help="6000 or 60000")
    options = arguments.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    n = options.hits
    print(f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, {options.threads} threads, {n} hits, "
          f"{options.rounds} rounds")
    phi, eta, r = (2 * torch.rand(n) - 1) * torch.pi, 5 * torch.rand(n) - 2.5, 0.03 + 0.1 * torch.randint(0, 10, (n,))
    coords = torch.stack([eta, phi, r, phi / torch.pi, r * torch.sinh(eta), eta], -1)
    x = 2 * torch.rand(n, F) - 1
    network = Network().eval()
    with torch.inference_mode():
        variants = {"eager": network, "compiled": torch.compile(network)}
        name, run = fastest({name: lambda pair, f=f: f(*pair) for name, f in variants.items()}, (x, coords))
        compare(f"{name} network", lambda: measured(options.build, "hept_model_bench", f"hept/{n}/"), lambda: run((x, coords)),
                "PyTorch", options.rounds, passes=1)


if __name__ == "__main__":
    main()
