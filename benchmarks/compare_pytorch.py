#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmarks of libsurrogate and the same shapes in PyTorch in alternation and prints medians and ratios.

    python3 benchmarks/compare_pytorch.py [--build build] [--rounds 5] [--threads 2]
                                          [--only mixer,mlp,block,model,clouds,clouds_compiled]

CPU, single precision, inference mode, N = 100,000 points, C = 64, 8 heads, M = 128. PyTorch comes from the Python that
runs this (clouds: 4,096 clouds of 64 points in one batch, eager or compiled); the programs from a build with -DSURROGATE_BENCHMARKS=ON. The programs alternate: load on the machine
affects both. Only ratios of such paired runs are meaningful: of wall-clock seconds on an idle machine, of processor
seconds (all threads) if other programs run too.
"""
import argparse
import json
import os
import subprocess
import sys

from paired import compare

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    sys.exit("compare_pytorch.py needs PyTorch: python3 -m venv venv && venv/bin/pip install torch numpy, "
             "then run it with venv/bin/python3")

N, C, H, M = 100_000, 64, 8, 128
CLOUDS, CLOUD_POINTS = 4096, 64


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
    """One FLARE block with K, V and FFN of depth 3."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(C), torch.nn.LayerNorm(C)
        self.q = torch.nn.Parameter(0.1 * torch.randn(1, H, M, C // H))
        self.k, self.v, self.ffn = (ResidualMlp(C, C, C, 3) for _ in range(3))
        self.out = torch.nn.Linear(C, C)

    def heads(self, x):
        return x.view(len(x), -1, H, C // H).transpose(1, 2)

    def forward(self, x):
        u = self.norm1(x)
        y = mix(self.q, self.heads(self.k(u)), self.heads(self.v(u)))
        x = x + self.out(y.transpose(1, 2).reshape(x.shape))
        return x + self.ffn(self.norm2(x))


class Model(torch.nn.Module):
    """Input and output projections of depth 2 around n_block blocks; 3 inputs, 1 output."""

    def __init__(self, n_block):
        super().__init__()
        self.enter = ResidualMlp(3, C, C, 2, residual_in=False)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(n_block))
        self.norm = torch.nn.LayerNorm(C)
        self.leave = ResidualMlp(C, C, 1, 2, residual_out=False)

    def forward(self, x):
        x = self.enter(x)
        for block in self.blocks:
            x = block(x)
        return self.leave(self.norm(x))


def torch_case(name):
    """Returns a function that runs one pass of `name`."""
    torch.manual_seed(1)
    if name == "mixer":
        q, k, v = torch.randn(1, H, M, C // H), torch.randn(1, H, N, C // H), torch.randn(1, H, N, C // H)
        return lambda: mix(q, k, v)
    if name == "mlp":
        mlp, x = ResidualMlp(C, C, C, 3), torch.randn(1, N, C)
        return lambda: mlp(x)
    if name.startswith("clouds"):
        model, x = Model(8), torch.randn(CLOUDS, CLOUD_POINTS, 3)
        model = torch.compile(model) if name == "clouds_compiled" else model
        return lambda: model(x)
    model, x = Model(1 if name == "block" else 8), torch.randn(1, N, 3)
    return lambda: model(x)


def measured(build, program, wanted):
    """Returns (seconds, processor seconds of one pass, vector level) as one run of the program measures it."""
    path = os.path.join(build, "bin", program)
    if not os.path.exists(path):
        sys.exit(f"{path} does not exist; configure with -DSURROGATE_BENCHMARKS=ON and build it")
    text = subprocess.run([path, f"--benchmark_filter=^{wanted}", "--benchmark_format=json"],
                          check=True, capture_output=True, text=True).stdout
    runs = json.loads(text)["benchmarks"]
    if len(runs) != 1 or runs[0].get("error_occurred"):
        sys.exit(f"{program} gave no single result for {wanted}: {text}")
    scale = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[runs[0]["time_unit"]]
    return runs[0]["real_time"] * scale, runs[0]["cpu_time"] * scale, runs[0].get("label", "")


def ours(build, name, threads):
    return measured(build, *{
        "mixer": ("mixer_bench", f"mixer/M:{M}/threads:{threads}/"),
        "mlp": ("mlp_bench", f"mlp/gelu/threads:{threads}/"),
        "block": ("model_bench", "flare_model/fast/1"),
        "model": ("model_bench", "flare_model/fast/8"),
        "clouds": ("model_bench", "flare_clouds/fast/8"),
        "clouds_compiled": ("model_bench", "flare_clouds/fast/8"),
    }[name])


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--build", default="build")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--only", default="mixer,mlp,block,model")
    options = arguments.parse_args()
    torch.set_num_threads(options.threads)
    print(f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, {options.threads} threads, "
          f"N = {N}, C = {C}, H = {H}, M = {M}, {options.rounds} rounds")
    with torch.inference_mode():
        for name in options.only.split(","):
            compare(name, lambda: ours(options.build, name, options.threads), torch_case(name), "PyTorch",
                    options.rounds, passes=1 if name.startswith("clouds") else 3)


if __name__ == "__main__":
    main()
