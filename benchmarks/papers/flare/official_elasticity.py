#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the authors' FLARE on the data of a configuration of `surrogate train`, with their trainer.

    python3 official_elasticity.py CHECKOUT elasticity.toml [--own-order]

Prints the test error of the last weights and processor seconds. Begins with the initial weights of
the library and takes the samples in its order, or in the order of PyTorch (--own-order).
Coordinates are normalized, as the library does; the authors leave them as they are. CHECKOUT is a
copy of github.com/vpuri3/FLARE.py (commit 4e05378 was used). Needs torch, einops, tqdm, packaging,
matplotlib, safetensors, h5py, and a build of the library.
"""

import argparse
import importlib.util
import os
import sys
import time
import tomllib

import h5py
import numpy
import safetensors.torch
import surrogate
import torch

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from network import field  # noqa: E402


def module(checkout, path):
    """Returns a module of the checkout without the package around it, which needs more packages."""
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], os.path.join(checkout, path))
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def initial_weights(network, names, seed):
    """Returns the weights that `surrogate train` begins with."""
    inputs = [field(name, role="coordinate", axis=axis) for axis, name in enumerate(names[:-1])]
    card = {"format": 1, "family": "flare", "network": network, "inputs": inputs, "outputs": [field(names[-1])]}
    model = surrogate.Model.initialize(surrogate.Context(), card, seed)
    model.save("initial.safetensors")
    return safetensors.torch.load_file("initial.safetensors")


def mixed(*words):
    """Returns a pseudorandom number of 64 bits, as coupling/training/sample.cpp."""
    x = 0
    for word in words:
        x = (x + word + 0x9E3779B97F4A7C15) % 2**64
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
        x ^= x >> 31
    return x


class OrderOfTheLibrary(torch.utils.data.Sampler):
    """The samples of each epoch in the order in which `surrogate train` takes them."""

    seed = 0

    def __init__(self, data):
        self.n, self.epoch = len(data), 0

    def __len__(self):
        return self.n

    def __iter__(self):
        order, key = list(range(self.n)), mixed(self.seed, self.epoch, 1)
        for i in range(self.n, 1, -1):
            other = mixed(key, i, 2) % i
            order[i - 1], order[other] = order[other], order[i - 1]
        self.epoch += 1
        return iter(order)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkout")
    parser.add_argument("configuration")
    parser.add_argument("--own-order", action="store_true", help="of PyTorch's random numbers")
    arguments = parser.parse_args()
    checkout = arguments.checkout
    sys.path.insert(0, checkout)
    import mlutils

    flare, utils = module(checkout, "pdebench/models/flare.py"), module(checkout, "pdebench/utils.py")
    with open(arguments.configuration, "rb") as file:
        given = tomllib.load(file)
    options, names = given["training"], [*given["model"]["inputs"], *given["model"]["outputs"]]
    torch.manual_seed(options["seed"])
    torch.set_num_threads(1)
    if not arguments.own_order:
        OrderOfTheLibrary.seed = options["seed"]
        sys.modules[mlutils.Trainer.__module__].RandomSampler = OrderOfTheLibrary

    sets = {}
    for use in ("train", "validation"):
        with h5py.File(given["data"][use]) as file:
            sets[use] = [torch.tensor(file[name][:], dtype=torch.float32)[..., None] for name in names]
    normalizers = [utils.UnitGaussianNormalizer(values) for values in sets["train"]]
    data = {}
    for use, values in sets.items():
        encoded = [normalizer.encode(one) for normalizer, one in zip(normalizers, values)]
        data[use] = torch.utils.data.TensorDataset(torch.cat(encoded[:-1], -1), encoded[-1])

    network = dict(given["model"]["network"])
    weights = initial_weights(network, names, options["seed"])
    network.pop("model")
    model = flare.FLAREModel(**network)
    model.load_state_dict(weights)

    decode, relative = normalizers[-1].decode, utils.RelL2Loss()
    trainer = mlutils.Trainer(
        model, data["train"], data["validation"], device="cpu", compile_model=False, print_iterator=False,
        ema=True, ema_decay=options["ema_decay"], _batch_size=options["batch"], epochs=options["epochs"],
        make_optimizer=utils.make_optimizer_adamw, lr=options["learning_rate"], weight_decay=options["weight_decay"],
        opt_beta1=0.9, opt_beta2=0.999, opt_eps=1e-8, clip_grad_norm=options["max_grad_norm"], Schedule="OneCycleLR",
        one_cycle_pct_start=options["warmup"], one_cycle_div_factor=options["initial_divisor"],
        one_cycle_final_div_factor=options["final_divisor"], lossfun=lambda yh, y: relative(decode(yh), decode(y)),
        stats_every=5, _fullbatch_stats=False,
    )  # fmt: skip
    begin = time.process_time()
    trainer.train()
    seconds = time.process_time() - begin
    errors = []
    with torch.no_grad():
        for x, y in data["validation"]:
            errors.append(relative(decode(model(x[None])), decode(y[None])).item())
    print(f"test error {numpy.mean(errors):.4e}, {seconds:.0f} processor seconds, {trainer.step} steps")


if __name__ == "__main__":
    main()
