#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one layer of Sequoia and the same layer in PyTorch in alternation and prints medians and ratios.

    python3 benchmarks/compare_sequoia.py [--build build] [--rounds 5] [--threads 2] [--only blocks,lists]

CPU, single precision, inference mode, 65,536 leaves, k = 16, C = 128, 4 heads of 128, all ancestors, bottom-up. libsurrogate runs the whole
model of one layer (features, embedding, head), PyTorch only the layer, in two variants:
  blocks  siblings as batched products (N/k, H, k, k) on views of whole levels, only ancestors are gathered; eager or compiled, with
          products written out or scaled_dot_product_attention: the fastest of the four in one trial each
  lists   as in the authors' code: lists of indices for every neighborhood, keys and values gathered by them; the lists are built once,
          before timing (the authors' code builds them in every call)
PyTorch comes from the Python that runs this, libsurrogate from a build with -DSURROGATE_BENCHMARKS=ON, 2 threads. How to read the ratios:
paired.py.
"""
import sys

from paired import compare, fastest, measured, parser
from torch_peer import F, start, torch

N, K, C, H, D, M = 65_536, 16, 128, 4, 128, 128


class Levels:
    """Sizes of the levels of a tree, leaves first, and where each begins; n_leaf is a power of K."""

    def __init__(self, n_leaf=N):
        self.sizes = [n_leaf]
        while self.sizes[-1] > 1:
            self.sizes.append(-(-self.sizes[-1] // K))
        self.begin = [sum(self.sizes[:level]) for level in range(len(self.sizes) + 1)]

    @property
    def n_node(self):
        return self.begin[-1]


def products(q, k, v):
    return torch.softmax(q @ k.transpose(-1, -2) / D ** 0.5, -1) @ v


class Layer(torch.nn.Module):
    """Layer on x (T, C) of all levels, leaves first; every group of siblings is full."""

    def __init__(self, attend_levels):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(C), torch.nn.LayerNorm(C)
        self.q, self.k, self.v = (torch.nn.Linear(C, H * D) for _ in range(3))
        self.ff = torch.nn.Linear(H * D, C)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(C, M), torch.nn.GELU(), torch.nn.Linear(M, C))
        self.attend_levels = attend_levels

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.ff(self.attend_levels(self.q(y), self.k(y), self.v(y)))
        return x + self.mlp(self.norm2(x))


class Blocks:
    def __init__(self, attention, levels):
        self.attention, self.sizes = attention, levels.sizes

    def __call__(self, q, k, v):
        q, k, old = (list(torch.split(t, self.sizes)) for t in (q, k, v))
        new = []
        for level, n in enumerate(self.sizes):
            group = min(K, n)
            blocks = lambda t, m: t.view(-1, m, H, D).transpose(1, 2)   # (groups, H, m, D)
            queries = blocks(q[level], group)
            y = self.attention(queries, blocks(k[level], group), blocks(old[level], group))
            if level + 1 < len(self.sizes):
                y = y + self.attention(queries, self.ancestors(k, level), self.ancestors(old, level))
            y = y.transpose(1, 2).reshape(n, H * D)
            if level > 0:
                below = self.attention(blocks(q[level], 1), blocks(k[level - 1], K), blocks(new[level - 1], K))
                y = y + below.reshape(n, H * D)
            new.append(y / 3)
        return torch.cat(new)

    def ancestors(self, t, level):
        """Returns (groups, H, n_ancestor, D) of the groups of a level, from the parent upwards."""
        n_group = self.sizes[level + 1]
        above = [t[a].repeat_interleave(n_group // self.sizes[a], 0) for a in range(level + 1, len(self.sizes))]
        return torch.stack(above, 1).view(n_group, -1, H, D).transpose(1, 2)


class Lists:
    def __init__(self, levels):
        self.begin, n_level = levels.begin, len(levels.sizes)
        self.of_level = []
        for level, n in enumerate(levels.sizes):
            i, j = torch.arange(n).view(-1, 1), torch.arange(min(K, n)).view(1, -1)
            lists = [self.begin[level] + i // K * K + j]
            if level + 1 < n_level:
                lists.append(torch.cat([self.begin[a] + i // K ** (a - level) for a in range(level + 1, n_level)], 1))
            if level > 0:
                lists.append(self.begin[level - 1] + i * K + torch.arange(K).view(1, -1))
            self.of_level.append(lists)

    def __call__(self, q, k, v):
        heads = lambda t, n: t.view(n, -1, H, D).transpose(1, 2)   # (n, H, m, D)
        v = v.clone()
        for level, lists in enumerate(self.of_level):
            begin, end = self.begin[level], self.begin[level + 1]
            queries = heads(q[begin:end], end - begin)
            y = sum(products(queries, heads(k[nodes], end - begin), heads(v[nodes], end - begin)) for nodes in lists)
            v[begin:end] = y.reshape(end - begin, H * D) / 3
        return v


def same_weights(layer, like):
    layer.load_state_dict(like.state_dict())
    return layer


def main():
    options = parser(__doc__, 5, "blocks,lists", "of PyTorch; ours take 2").parse_args()
    start(options)
    levels = Levels()
    x = torch.randn(levels.n_node, C)
    with torch.inference_mode():
        written_out = Layer(Blocks(products, levels))
        fused = same_weights(Layer(Blocks(F.scaled_dot_product_attention, levels)), written_out)
        lists = same_weights(Layer(Lists(levels)), written_out)
        difference = max((other(x) - written_out(x)).abs().max().item() for other in (fused, lists))
        if not difference < 1e-4:
            sys.exit(f"the three ways of writing the layer differ by {difference}")
        for name in options.only.split(","):
            if name == "blocks":
                variants = {"products": written_out, "fused attention": fused,
                            "products, compiled": torch.compile(written_out), "fused attention, compiled": torch.compile(fused)}
                how, run = fastest({how: lambda layer=layer: layer(x) for how, layer in variants.items()})
                name = f"blocks: {how}"
            else:
                run = lambda: lists(x)
            compare(name, lambda: measured(options.build, "tree_model_bench", f"sequoia/{N}/"), run, "PyTorch",
                    options.rounds, passes=1 if name == "lists" else 2)


if __name__ == "__main__":
    main()
