#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small FLARE network on samples made by numpy, and writes a model file.

python3 train.py small.safetensors
"""

import sys

import numpy

import surrogate

random = numpy.random.default_rng(0)
x = random.random((200, 2))  # m
coordinate = {"role": "coordinate", "unit": "m", "mean": 0.5, "std": 0.29}
numbers = {"unit": "K", "mean": 0.0, "std": 1.0}
card = {
    "format": 1,
    "family": "flare",
    "network": {"model": "FLAREModel", "in_dim": 3, "out_dim": 1, "channel_dim": 32,
                "num_heads": 4, "num_latents": 16, "num_blocks": 2},  # fmt: skip
    "inputs": [
        {"name": "x", "axis": 0, **coordinate},
        {"name": "y", "axis": 1, **coordinate},
        {"name": "source", **numbers},
    ],
    "outputs": [{"name": "temperature", **numbers}],
}
context = surrogate.Context()
model = surrogate.Model.initialize(context, card, seed=0)
plan = surrogate.Plan(model, surrogate.Domain(context, x), gradients=True)
source = plan.bind_input("source", numpy.zeros(len(x)))
trainer = surrogate.Trainer(plan, learning_rate=4e-3, accumulate=4, schedule="one_cycle", steps=400)
target = trainer.bind_target("temperature", numpy.zeros(len(x)))
losses = []

for sample in range(1600):
    wave, phase = random.uniform(2, 4, size=2), random.uniform(0, 6)
    source[:] = numpy.sin(x @ wave + phase)
    target[:] = source / (wave @ wave)  # the solution of -laplace(temperature) = source
    report = trainer.step()
    if report.samples:
        losses.append(report.loss)
    if sample % 400 == 399:
        print(f"step {report.step}: relative error {numpy.mean(losses[-50:]):.3f}")
trainer.widen_ranges()
trainer.save_model(sys.argv[1])
