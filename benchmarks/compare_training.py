#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs epochs of `surrogate train` beside the same training in PyTorch and prints medians and ratios.

    python3 benchmarks/compare_training.py [--build build] [--rounds 3] [--threads 2] [--compiled]

CPU, single precision: the model of the shipped darcy_flow weights (C = 64, 4 blocks, 8 heads, 64 latents, MLPs of one inner
layer), states of 40 x 40 cells in batches of 4, relative L2 loss in Pa, clipping, AdamW. libsurrogate includes reading the data,
symmetries and the optimizer, and excludes the start of the program; PyTorch has its data in memory, and no symmetries. Data
come from `darcy_data` of the build. The programs alternate; only ratios of such paired runs are meaningful.
"""
import argparse
import csv
import os
import subprocess
import tempfile

import compare_pytorch
from compare_pytorch import ResidualMlp, torch
from paired import report, seconds_of

N_RUN, BATCH, N = 40, 4, 1600  # runs of 5 states each
compare_pytorch.M = 64

CONFIG = """
[model]
family = "flare"
inputs = ["x", "y", "mobility"]
outputs = ["pressure"]
[model.network]
in_dim = 3
out_dim = 1
channel_dim = 64
num_blocks = 4
num_heads = 8
num_latents = 64
num_layers_k_proj = 1
num_layers_v_proj = 1
num_layers_ffn = 1
num_layers_in_out_proj = 1
[data]
train = "{folder}/darcy_40.h5"
validation = 0
symmetries = "square"
[training]
epochs = 1
batch = {batch}
schedule = "one_cycle"
[options]
threads = {threads}
[output]
folder = "{folder}/out"
"""


class Block(compare_pytorch.Block):
    def __init__(self):
        super().__init__()
        self.k, self.v, self.ffn = (ResidualMlp(64, 64, 64, 1) for _ in range(3))

    def heads(self, x):
        return x.view(BATCH, -1, 8, 8).transpose(1, 2)

    def forward(self, x):
        u = self.norm1(x)
        q = self.q.expand(BATCH, -1, -1, -1)
        y = compare_pytorch.mix(q, self.heads(self.k(u)), self.heads(self.v(u)))
        x = x + self.out(y.transpose(1, 2).reshape(BATCH, -1, 64))
        return x + self.ffn(self.norm2(x))


class Model(compare_pytorch.Model):
    def __init__(self):
        super().__init__(0)
        self.enter, self.leave = ResidualMlp(3, 64, 64, 1, residual_in=False), ResidualMlp(64, 64, 1, 1, residual_out=False)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(4))


def torch_epoch(compiled):
    """Returns a function that runs the steps of one epoch."""
    torch.manual_seed(1)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-5)
    run = torch.compile(model) if compiled else model
    x, target = torch.randn(5 * N_RUN, N, 3), torch.randn(5 * N_RUN, N, 1) * 0.004 + 0.005

    def epoch():
        for batch in torch.randperm(5 * N_RUN).view(-1, BATCH):
            optimizer.zero_grad()
            prediction, wanted = run(x[batch]) * 0.004 + 0.005, target[batch]
            loss = ((prediction - wanted).flatten(1).norm(dim=1) / wanted.flatten(1).norm(dim=1)).mean()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
    return epoch


def our_epoch(build, folder):
    """Returns seconds and processor seconds of one epoch; start and end of the program are excluded from the former only."""
    before = os.times()
    subprocess.run([os.path.join(build, "bin", "surrogate"), "train", os.path.join(folder, "t.toml"), "--overwrite", "--quiet"],
                   check=True, capture_output=True)
    after = os.times()
    with open(os.path.join(folder, "out", "loss.csv"), encoding="utf-8") as table:
        row = list(csv.DictReader(table))[-1]
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    return 5 * N_RUN / float(row["samples_per_s"]), processor


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--build", default="build")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--compiled", action="store_true")
    options = arguments.parse_args()
    torch.set_num_threads(options.threads)
    epoch = torch_epoch(options.compiled)
    epoch()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.path.join(options.build, "bin", "darcy_data"), "-runs", str(N_RUN), "-output", folder], check=True,
                       capture_output=True)
        with open(os.path.join(folder, "t.toml"), "w", encoding="utf-8") as config:
            config.write(CONFIG.format(folder=folder, batch=BATCH, threads=options.threads))
        wall, processor = [], []
        for _ in range(options.rounds):
            own, other = our_epoch(options.build, folder), seconds_of(epoch, 1)
            wall.append((own[0], other[0]))
            processor.append((own[1], other[1]))
    print(f"PyTorch {torch.__version__}{', compiled' if options.compiled else ''}, {options.threads} threads: an epoch of "
          f"{5 * N_RUN} states of {N} points in batches of {BATCH}")
    report("wall", wall, "PyTorch")
    report("processor", processor, "PyTorch")


if __name__ == "__main__":
    main()
