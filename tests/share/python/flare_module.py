# SPDX-License-Identifier: Apache-2.0
"""FLAREModel written from its formulas (encode by a softmax over points, decode by one over latents), with the names of
the official state_dict and constructor, so that the exporter can be tested where the official class is not."""

import torch
from torch import nn


def activation(name):
    return nn.SiLU() if name == "silu" else nn.GELU(approximate="tanh")


class ResidualMLP(nn.Module):
    """layers = -1: one affine layer; else layers + 2 of them, the inner ones with residuals."""

    def __init__(self, n_in, hidden, n_out, layers, act, residual_in, residual_out):
        super().__init__()
        self.layers = layers
        if layers < 0:
            self.fc = nn.Linear(n_in, n_out)
            self.adds_in, self.adds_out = False, residual_in and residual_out and n_in == n_out
            return
        self.act = activation(act)
        self.fc1 = nn.Linear(n_in, hidden)
        self.fcs = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(layers))
        self.fc2 = nn.Linear(hidden, n_out)
        self.adds_in = residual_in and n_in == hidden
        self.adds_out = residual_out and hidden == n_out

    def forward(self, x):
        if self.layers < 0:
            return self.fc(x) + x if self.adds_out else self.fc(x)
        a = self.act(self.fc1(x)) + (x if self.adds_in else 0)
        for fc in self.fcs:
            a = a + self.act(fc(a))
        return self.fc2(a) + (a if self.adds_out else 0)


class Mixer(nn.Module):
    def __init__(self, c, norm):
        super().__init__()
        self.num_heads, self.attn_scale = c["num_heads"], c["attn_scale"]
        width, layers = c["channel_dim"], "num_layers_%s_proj"
        self.latent_q = nn.Parameter(torch.zeros(width, c["num_latents"]))
        if c["qk_norm"]:
            self.q_norm, self.k_norm = norm(width // self.num_heads), norm(width // self.num_heads)
        for key in "kv":
            hidden = int(width * c[key + "_proj_mlp_ratio"])
            setattr(self, key + "_proj", ResidualMLP(width, hidden, width, c[layers % key], c["act"], True, True))
        self.out_proj = nn.Linear(width, width)

    def forward(self, x):
        batch, n, width = x.shape
        heads = (batch, n, self.num_heads, width // self.num_heads)
        k = self.k_proj(x).view(heads).transpose(1, 2)  # (batch, head, n, d)
        v = self.v_proj(x).view(heads).transpose(1, 2)
        q = self.latent_q.view(self.num_heads, -1, heads[3])  # a memory view, not a transpose
        if hasattr(self, "q_norm"):
            q, k = self.q_norm(q), self.k_norm(k)
        scores = self.attn_scale * (q @ k.transpose(2, 3))  # (batch, head, latent, n)
        z = scores.softmax(dim=3) @ v
        y = scores.softmax(dim=2).transpose(2, 3) @ z
        return self.out_proj(y.transpose(1, 2).reshape(batch, n, width))


class Block(nn.Module):
    def __init__(self, c, norm):
        super().__init__()
        width = c["channel_dim"]
        self.norm1, self.norm2 = norm(width), norm(width)
        self.att = Mixer(c, norm)
        hidden = int(width * c["ffn_mlp_ratio"])
        self.mlp = ResidualMLP(width, hidden, width, c["num_layers_ffn"], c["act"], True, True)

    def forward(self, x):
        x = x + self.att(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class FLAREModel(nn.Module):
    def __init__(
        self, in_dim, out_dim, channel_dim=64, num_blocks=8, num_heads=None, act=None, rmsnorm=False, out_proj_norm=True,
        num_layers_in_out_proj=2, attn_scale=1.0, num_latents=None, num_layers_k_proj=3, num_layers_v_proj=3,
        k_proj_mlp_ratio=1.0, v_proj_mlp_ratio=1.0, num_layers_ffn=3, ffn_mlp_ratio=1.0, qk_norm=False,
    ):
        c = {key: value for key, value in locals().items() if key not in ("self", "__class__")}
        c["num_heads"] = num_heads or channel_dim // 8
        super().__init__()
        norm = nn.RMSNorm if rmsnorm else nn.LayerNorm
        io, width = num_layers_in_out_proj, channel_dim
        self.in_proj = ResidualMLP(in_dim, width, width, io, act, False, True)
        self.out_proj = nn.Sequential(
            norm(width) if out_proj_norm else nn.Identity(), ResidualMLP(width, width, out_dim, io, act, True, False)
        )
        self.blocks = nn.ModuleList(Block(c, norm) for _ in range(num_blocks))

    def forward(self, x):
        x = self.in_proj(x)
        for block in self.blocks:
            x = block(x)
        return self.out_proj(x)
