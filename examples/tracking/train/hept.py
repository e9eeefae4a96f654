# SPDX-License-Identifier: Apache-2.0
"""HEPT (arXiv 2402.12535) in PyTorch, one cloud of points at a time; keys as in the public example code. The last block of a
row is short (padding "masked")."""

import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


def region_size(n, regions):
    """Returns the points per slab: two roundings to single precision, as in the public code."""
    return torch.ceil((1 / regions.float()) * float(n)).long()


def codes(coords, regions):
    """Returns (C, H, n): slab of the azimuth, then of the pseudorapidity. regions (C, 2, H)."""
    n = len(coords)
    slab = []
    for axis in range(2):
        rank = torch.empty(n, dtype=torch.long)
        rank[torch.argsort(coords[:, axis], stable=True)] = torch.arange(n)
        slab.append(rank // region_size(n, regions[:, axis])[..., None] + 1)
    return slab[1] * (int(slab[0].max()) + 1) + slab[0]


def order(code, hashes):
    """Returns (C, H, n): points sorted by (code, hash, number). A hash is compared in single precision."""
    first = torch.argsort(hashes.float() + 0.0, dim=-1, stable=True)
    return torch.gather(first, -1, torch.argsort(torch.gather(code, -1, first), dim=-1, stable=True))


class Hash(nn.Module):
    def __init__(self, heads, width, tables):
        super().__init__()
        self.register_buffer("alpha", torch.randn(heads, width, tables))  # drawn once


class Core(nn.Module):
    """Attention in blocks of points with similar hashes."""

    def __init__(self, network):
        super().__init__()
        self.heads, self.d, self.block = network["num_heads"], network["h_dim"], network["block_size"]
        self.out_linear = nn.Linear(self.heads * self.d, self.d)
        self.e2lsh = Hash(self.heads, self.d + network["coords_dim"], network["n_hashes"])

    def forward(self, q, k, v, code):
        """q, k (H, n, E), v (H, n, d) -> (n, d)"""
        heads, n, _ = q.shape
        alpha = self.e2lsh.alpha.double()
        with torch.no_grad():
            of_q, of_k = (order(code, torch.einsum("hne,hec->chn", x.double(), alpha)) for x in (q, k))
        numerator, denominator = 0, 0
        last = n % self.block
        for c in range(len(of_q)):
            rows_q, rows_k = of_q[c][..., None], of_k[c][..., None]
            take = lambda x, rows: torch.gather(x, 1, rows.expand(-1, -1, x.shape[-1]))
            sorted_q, sorted_k, sorted_v = take(q, rows_q), take(k, rows_k), take(v, rows_k)
            parts = [self.blocks(*(x[:, : n - last].reshape(-1, self.block, x.shape[-1]) for x in (sorted_q, sorted_k, sorted_v)))]
            parts = [part.reshape(heads, n - last, -1) for part in parts]
            if last:
                parts.append(self.blocks(*(x[:, n - last :] for x in (sorted_q, sorted_k, sorted_v))))
            joined = torch.cat(parts, dim=1)
            back = torch.empty_like(of_q[c])
            back.scatter_(1, of_q[c], torch.arange(n).expand(heads, -1))
            joined = take(joined, back[..., None])
            numerator, denominator = numerator + joined[..., :-1], denominator + joined[..., -1:] + 1e-20
        return self.out_linear((numerator / denominator).transpose(0, 1).reshape(n, -1))

    @staticmethod
    def blocks(q, k, v):
        """Returns (.., block, d + 1): sums of weights times values, and of weights. Centered, so that single precision suffices."""
        middle = k.mean(1, keepdim=True).detach()
        q, k = q - middle, k - middle
        half = lambda x: 0.5 * x.square().sum(-1)
        weight = torch.exp((q @ k.transpose(1, 2) - half(q)[..., None] - half(k)[:, None]).clamp(max=0))
        return weight @ F.pad(v, (0, 1), value=1.0)


class Layer(nn.Module):
    def __init__(self, network):
        super().__init__()
        d, heads, n_coords = network["h_dim"], network["num_heads"], network["coords_dim"]
        self.heads, self.d, self.n_weights = heads, d, network["num_w_per_dist"]
        self.w_q, self.w_k, self.w_v = (nn.Linear(d, heads * d, bias=False) for _ in range(3))
        self.attn = Core(network)
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.ff = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))
        self.w_rpe = nn.Linear(self.n_weights * (n_coords - 1), heads * d)

    def scales(self):
        """Returns (H, Dc): the coordinates' weights; pseudorapidity and azimuth share one."""
        summed = self.w_rpe.weight.reshape(self.heads, self.d, -1, self.n_weights).sum(1)
        omega = torch.exp(summed.clamp(max=50)).sum(-1)
        return torch.sqrt(2 * torch.cat([omega[:, :1], omega], dim=1))

    def forward(self, h, coords, code):
        u = self.norm1(h)
        split = lambda linear: linear(u).reshape(len(h), self.heads, self.d).transpose(0, 1)
        places = self.scales()[:, None] * coords
        q, k = (torch.cat([split(linear), places], dim=-1) for linear in (self.w_q, self.w_k))
        h = h + self.attn(q, k, split(self.w_v), code)
        return h + self.ff(self.norm2(h))


class Head(nn.Module):
    def __init__(self, width, hidden=256):
        super().__init__()
        widths = [width] + 4 * [hidden] + [width]
        self.lins = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))
        self.norms = nn.ModuleList(nn.LayerNorm(hidden) for _ in range(4))

    def forward(self, x):
        for linear, norm in zip(self.lins, self.norms):
            x = torch.tanh(norm(linear(x)))
        return self.lins[-1](x)


def draw_regions(network, random):
    """Returns (C, 2, H): numbers of slabs in both axes, whose product is about num_regions; thirds."""
    g, low = network["num_regions"], 2
    draws = random.uniform(low, 2 * math.sqrt(g) - 2, (network["num_heads"], network["n_hashes"], 2))
    draws = np.round(3 * draws * np.sqrt(g / draws.prod(-1, keepdims=True))) / 3
    return torch.tensor(draws.transpose(1, 2, 0), dtype=torch.float32).contiguous()


class HEPT(nn.Module):
    def __init__(self, network, random=None):
        super().__init__()
        self.network = network
        d, n_layer = network["h_dim"], network["n_layers"]
        self.register_buffer("regions", draw_regions(network, random or np.random.default_rng(42)))
        self.feat_encoder = nn.Sequential(nn.Linear(network["in_dim"], d), nn.ReLU(), nn.Linear(d, d))
        self.attns = nn.ModuleList(Layer(network) for _ in range(n_layer))
        self.W = nn.Linear(d * (n_layer + 1), d // 2, bias=False)
        self.mlp_out = Head(d // 2)

    def forward(self, x, coords):
        """x (n, in_dim), coords (n, coords_dim) -> (n, h_dim / 2)"""
        code, states = codes(coords, self.regions), [self.feat_encoder(x)]
        for layer in self.attns:
            states.append(layer(states[-1], coords, code))
        e = self.W(torch.cat(states, dim=-1))
        return e + self.mlp_out(e)
