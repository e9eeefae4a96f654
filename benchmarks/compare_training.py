#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs epochs of `surrogate train` beside the same training in PyTorch and prints medians and ratios.

    python3 benchmarks/compare_training.py [--build build] [--rounds 3] [--threads 2] [--compiled]

CPU, single precision: the model of the shipped darcy_flow weights (C = 64, 4 blocks, 8 heads, 64 latents, MLPs of one inner
layer), states of 40 x 40 cells in batches of 4, relative L2 loss in Pa, clipping, AdamW. libsurrogate includes reading the data,
symmetries and the optimizer, and excludes the start of the program; PyTorch has its data in memory, and no symmetries. Data
come from `darcy_data` of the build. How to read the ratios: paired.py.
"""
import csv
import os
import subprocess
import tempfile

from paired import parser, program_path, report, seconds_of
from torch_peer import Flare, start, torch

N_RUN, BATCH, N = 40, 4, 1600  # runs of 5 states each

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


def torch_epoch(compiled):
    """Returns a function that runs the steps of one epoch."""
    model = Flare(4, depth=1, depth_io=1, n_latent=64)
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
    subprocess.run([program_path(build, "surrogate"), "train", os.path.join(folder, "t.toml"), "--overwrite", "--quiet"],
                   check=True, capture_output=True)
    after = os.times()
    with open(os.path.join(folder, "out", "loss.csv"), encoding="utf-8") as table:
        row = list(csv.DictReader(table))[-1]
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    return 5 * N_RUN / float(row["samples_per_s"]), processor


def main():
    arguments = parser(__doc__, 3)
    arguments.add_argument("--compiled", action="store_true")
    options = arguments.parse_args()
    start(options, f"{'compiled' if options.compiled else 'eager'}, an epoch of {5 * N_RUN} states of {N} points in batches of {BATCH}")
    epoch = torch_epoch(options.compiled)
    epoch()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program_path(options.build, "darcy_data"), "-runs", str(N_RUN), "-output", folder], check=True,
                       capture_output=True)
        with open(os.path.join(folder, "t.toml"), "w", encoding="utf-8") as config:
            config.write(CONFIG.format(folder=folder, batch=BATCH, threads=options.threads))
        wall, processor = [], []
        for _ in range(options.rounds):
            own, other = our_epoch(options.build, folder), seconds_of(epoch, 1)
            wall.append((own[0], other[0]))
            processor.append((own[1], other[1]))
    report("wall", wall, "PyTorch")
    report("processor", processor, "PyTorch")


if __name__ == "__main__":
    main()
