# SPDX-License-Identifier: Apache-2.0
"""PyTorch as a peer: its import, and FLARE as PyTorch has it."""
import os
import sys

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    sys.exit(f"{os.path.basename(sys.argv[0])} needs PyTorch: python3 -m venv venv && venv/bin/pip install torch numpy, then run it with "
             "venv/bin/python3")


def start(options, *more):
    """Sets threads and seed, and prints a line with the versions, the threads, the rounds and `more`."""
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    print(", ".join([f"PyTorch {torch.__version__}", torch.backends.cpu.get_cpu_capability(), f"{options.threads} threads", *more,
                     f"{options.rounds} rounds"]))


class ResidualMlp(torch.nn.Module):
    """FLARE's ResidualMLP: depth inner layers, tanh GELU."""

    def __init__(self, n_in, n_hidden, n_out, depth, residual_in=True, residual_out=True):
        super().__init__()
        self.first = torch.nn.Linear(n_in, n_hidden)
        self.inner = torch.nn.ModuleList(torch.nn.Linear(n_hidden, n_hidden) for _ in range(depth))
        self.last = torch.nn.Linear(n_hidden, n_out)
        self.residual_in = residual_in and n_in == n_hidden
        self.residual_out = residual_out and n_hidden == n_out

    def forward(self, x):
        a = F.gelu(self.first(x), approximate="tanh")
        a = x + a if self.residual_in else a
        for layer in self.inner:
            a = a + F.gelu(layer(a), approximate="tanh")
        y = self.last(a)
        return a + y if self.residual_out else y


def mix(q, k, v):
    """Mixer on q (1, H, M, D), k and v (B, H, N, D): encode and decode as two fused attentions."""
    q = q.expand(len(k), -1, -1, -1)
    z = F.scaled_dot_product_attention(q, k, v, scale=1.0)
    return F.scaled_dot_product_attention(k, q, z, scale=1.0)


class Block(torch.nn.Module):
    """One FLARE block on x (B, N, n_channel): n_head heads, n_latent latents each; K, V and FFN with `depth` inner layers."""

    def __init__(self, n_channel=64, n_head=8, n_latent=128, depth=3):
        super().__init__()
        self.n_head = n_head
        self.norm1, self.norm2 = torch.nn.LayerNorm(n_channel), torch.nn.LayerNorm(n_channel)
        self.q = torch.nn.Parameter(0.1 * torch.randn(1, n_head, n_latent, n_channel // n_head))
        self.k, self.v, self.ffn = (ResidualMlp(n_channel, n_channel, n_channel, depth) for _ in range(3))
        self.out = torch.nn.Linear(n_channel, n_channel)

    def heads(self, x):
        return x.view(*x.shape[:2], self.n_head, -1).transpose(1, 2)

    def forward(self, x):
        u = self.norm1(x)
        y = mix(self.q, self.heads(self.k(u)), self.heads(self.v(u)))
        x = x + self.out(y.transpose(1, 2).reshape(x.shape))
        return x + self.ffn(self.norm2(x))


class Flare(torch.nn.Module):
    """FLARE with 3 inputs and 1 output on x (B, N, 3); depth_io: inner layers of the input and the output projection."""

    def __init__(self, n_block, n_channel=64, depth_io=2, **block):
        super().__init__()
        self.enter = ResidualMlp(3, n_channel, n_channel, depth_io, residual_in=False)
        self.blocks = torch.nn.ModuleList(Block(n_channel, **block) for _ in range(n_block))
        self.norm = torch.nn.LayerNorm(n_channel)
        self.leave = ResidualMlp(n_channel, n_channel, 1, depth_io, residual_out=False)

    def forward(self, x):
        x = self.enter(x)
        for block in self.blocks:
            x = block(x)
        return self.leave(self.norm(x))
