# SPDX-License-Identifier: Apache-2.0
"""FLARE of PhysicsNeMo written from its formulas, with the names of its state_dict and constructor, so that the exporter can
be tested where the package is not installed."""

import torch
from torch import nn


class Layers(nn.Module):
    def __init__(self, n_in, n_hidden, n_out, act):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_in, n_hidden), act(), nn.Linear(n_hidden, n_out))

    def forward(self, x):
        return self.layers(x)


class Attention(nn.Module):
    def __init__(self, n_hidden, n_head, slice_num, dropout):
        super().__init__()
        n = n_hidden // n_head
        self.q_global = nn.Parameter(torch.randn(1, n_head, slice_num, n))
        self.in_project_x = nn.Linear(n_hidden, n_hidden)
        self.self_k, self.self_v = nn.Linear(n, n), nn.Linear(n, n)
        self.out_linear = nn.Linear(n_hidden, n_hidden)
        self.out_dropout = nn.Dropout(dropout)

    def forward(self, x):
        heads = self.in_project_x(x).unflatten(-1, (self.q_global.shape[1], -1)).transpose(1, 2)
        k, v = self.self_k(heads), self.self_v(heads)
        scores = self.q_global @ k.transpose(2, 3)
        z = scores.softmax(-1) @ v
        y = scores.transpose(2, 3).softmax(-1) @ z
        return self.out_dropout(self.out_linear(y.transpose(1, 2).flatten(2)))


class Block(nn.Module):
    def __init__(self, c, is_last):
        super().__init__()
        n = c["n_hidden"]
        self.ln_1 = nn.LayerNorm(n)
        self.Attn = Attention(n, c["n_head"], c["slice_num"], c["dropout"])
        self.ln_mlp1 = nn.Sequential(nn.LayerNorm(n), Layers(n, n * c["mlp_ratio"], n, activations[c["act"]]))
        if is_last:
            self.ln_mlp2 = nn.Sequential(nn.LayerNorm(n), nn.Linear(n, c["out_dim"]))

    def forward(self, x):
        x = x + self.Attn(self.ln_1(x))
        x = x + self.ln_mlp1(x)
        return self.ln_mlp2(x) if hasattr(self, "ln_mlp2") else x


class TimeEmbedding(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("freqs", 1e-4 ** (torch.arange(n // 2, dtype=torch.float32) / (n // 2)))

    def forward(self, time):
        angles = torch.outer(time, self.freqs)
        return torch.cat([angles.cos(), angles.sin()], 1)


activations = {"gelu": nn.GELU, "silu": nn.SiLU, "elu": nn.ELU}


class FLARE(nn.Module):
    def __init__(self, functional_dim, out_dim, embedding_dim=None, n_layers=4, n_hidden=256, dropout=0.0, n_head=8, act="gelu",
                 mlp_ratio=4, slice_num=32, unified_pos=False, ref=8, structured_shape=None, time_input=False, use_te=False):
        super().__init__()
        arguments = {key: value for key, value in locals().items() if key not in ("self", "__class__")}
        self._args = {"__name__": "FLARE", "__module__": "physicsnemo.models.flare.flare", "__args__": arguments}
        self.preprocess = Layers(embedding_dim + functional_dim, 2 * n_hidden, n_hidden, activations[act])
        if time_input:
            self.time_embed = TimeEmbedding(n_hidden)
            self.time_fc = nn.Sequential(nn.Linear(n_hidden, n_hidden), nn.SiLU(), nn.Linear(n_hidden, n_hidden))
        self.blocks = nn.ModuleList(Block(arguments, i == n_layers - 1) for i in range(n_layers))

    def forward(self, fx, embedding=None, time=None):
        x = self.preprocess(torch.cat([embedding, fx], -1))
        if time is not None:
            x = x + self.time_fc(self.time_embed(time))[:, None]
        for block in self.blocks:
            x = block(x)
        return x
