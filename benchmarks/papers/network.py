# SPDX-License-Identifier: Apache-2.0
"""Networks of the papers on random points: their plans, operations and times of a run."""

import csv
import os
import sys
import time

import numpy
import surrogate

# The networks of the papers' tables, as cards have them.
BSA = {
    "dimensionality": 3,
    "pos_enc": "fourier",
    "c_in": 64,
    "c_out": 1,
    "c_hidden": 64,
    "depth": 18,
    "num_heads": 8,
    "mlp_ratio": 4,
    "ball_size": 256,
    "block_size": 6,
    "should_rotate": True,
    "rotation_angle": 45.0,
}
BSA_VARIANTS = {
    "full attention": {**BSA, "attention_type": "global"},
    "Erwin (balls alone)": {**BSA, "attention_type": "ball"},
    "BSA": BSA,
    "BSA without group selection": {**BSA, "attention_kwargs": {"use_group_selection": False}},
    "BSA with group compression": {
        **BSA,
        "attention_kwargs": {"use_coarse_q_attn": True, "use_coarse_q_importance": True},
    },
}
SEQUOIA_POINTS = {
    "dimensionality": 3,
    "pos_enc": "fourier",
    "tree": "points",
    "c_in": 64,
    "num_classes": 40,
    "k": 8,
    "ancestors": "parent",
    "probe_layer": "root",
}
HEPT = {
    "in_dim": 15,
    "coords_dim": 6,
    "h_dim": 24,
    "num_heads": 8,
    "n_layers": 4,
    "num_w_per_dist": 10,
    "num_regions": 150,
}


def field(name, **more):
    """Returns a field of a card without a unit, normalized."""
    return {"name": name, "unit": "1", "mean": 0.0, "std": 1.0, **more}


def plan_of(family, network, points, n_field, n_output, gradients=False, **options):
    """Returns a plan of a new network for points [n, axes], with n_field further inputs."""
    context = surrogate.Context(**options)
    axes = [field(f"x{axis}", role="coordinate", axis=axis) for axis in range(points.shape[1])]
    card = {
        "format": 1,
        "family": family,
        "network": network,
        "inputs": axes + [field(f"input{i}", role="field") for i in range(n_field)],
        "outputs": [field(f"output{i}") for i in range(n_output)],
    }
    model = surrogate.Model.initialize(context, card)
    return surrogate.Plan(model, surrogate.Domain(context, points), gradients=gradients)


def operations_of(plan):
    """Returns (flops, exponentials) of a run, a multiply-add as two."""
    return plan.counter("flops"), plan.counter("exponentials")


def _cheapest(call, rounds):
    """Returns the processor seconds of the cheapest call after a first one; 0 rounds: of that."""
    seconds = []
    for _ in range(rounds + 1):
        begin = time.process_time()
        call()
        seconds.append(time.process_time() - begin)
    return min(seconds[1:] or seconds)  # the first call initializes memory


def _bind(plan, bind_output):
    """Binds random values to all inputs but the coordinates, and to outputs or targets."""
    random, n = numpy.random.default_rng(0), plan.input_domain.n_local
    for port in plan.model.inputs:
        if port.name.startswith("input"):
            plan.bind_input(port.name, random.standard_normal(n).astype("float32"))
    for port in plan.model.outputs:
        bind_output(port.name, random.standard_normal(n).astype("float32"))


def seconds_of(plan, rounds=3):
    """Returns the processor seconds of a run on random inputs."""
    _bind(plan, plan.bind_output)
    return _cheapest(plan.run, rounds)


def training_seconds_of(plan, rounds=3):
    """Returns the processor seconds of the loss and its gradient by all weights."""
    trainer = surrogate.Trainer(plan, loss="mse", accumulate=rounds + 2)
    _bind(plan, trainer.bind_target)
    return _cheapest(trainer.accumulate, rounds)


def write_table(folder, header, rows, name="operations"):
    """Writes NAME.csv into a folder, or the first argument, and prints it in Markdown."""
    folder = sys.argv[1] if len(sys.argv) > 1 else folder
    with open(os.path.join(folder, name + ".csv"), "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    for row in (header, ["---"] * len(header), *rows):
        print("| " + " | ".join(map(str, row)) + " |")
