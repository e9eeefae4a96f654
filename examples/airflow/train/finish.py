#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the model file from the results of train.py: measures the error on unseen bodies, adds card and check case."""

import argparse
import os
import pickle
import sys

import numpy as np
import torch

import bsa
import samples

here = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(here, "../../..", folder) for folder in ("share/python", "python")]  # in the sources, installed
from surrogate.export import model_file, pooled  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("trained", help="file of train.py")
    add("--data", required=True, help="folder of the samples")
    add("--test", type=int, default=3000, help="first seed of bodies never seen")
    add("--test_points", default="1900:20,3800:20,7600:20,20000:5", help="points a body : the first so many bodies")
    add("--out", required=True, help="model file")
    return parser.parse_args()


@torch.no_grad()
def test(model, scales, network, folder, seeds, n_point):
    """Returns mean and largest relative L2 error over bodies of about n_point points."""
    errors = []
    for seed in seeds:
        sample = samples.read(folder, seed, n_point)
        inputs = torch.from_numpy(scales.network_input(sample))
        predicted = model(inputs, scales.cloud(sample, network)) * scales.pressure_std + scales.pressure_mean
        target = torch.from_numpy(sample[:, 6:7].copy())
        errors.append(float((predicted - target).norm() / target.norm()))
    print("%6d points: error %.2f %%, largest %.2f %%" % (n_point, 100 * np.mean(errors), 100 * max(errors)), flush=True)
    return {"mean": round(float(np.mean(errors)), 5), "largest": round(max(errors), 5), "bodies": len(errors)}


def fields_of(scales):
    names = ("x", "y", "z")
    coordinates = [
        {"name": names[a], "role": "coordinate", "axis": a, "unit": "m", "mean": float(scales.place_mean[a]),
         "std": scales.place_std, "min": float(scales.place_low[a]), "max": float(scales.place_high[a])}
        for a in range(3)
    ]
    features = [
        {"name": samples.inputs[i], "role": "field", "unit": samples.units[i], "mean": float(scales.mean[i]),
         "std": float(scales.std[i]), "min": float(scales.low[i]), "max": float(scales.high[i])}
        for i in range(len(samples.inputs))
    ]
    output = {"name": "pressure_coefficient", "unit": "1", "mean": scales.pressure_mean, "std": scales.pressure_std,
              "min": scales.pressure_low, "max": scales.pressure_high}
    return coordinates + features, [output]


def in_double(model, inputs, positions, cloud, network):
    """Returns the result of the same network in double, with positions that are not rounded."""
    twin = bsa.BSA(network).double()
    twin.load_state_dict({name: value.double() for name, value in model.state_dict().items()})
    exact = bsa.Cloud(positions, np.arange(len(positions)), network, dtype=torch.float64)
    return twin(inputs.double(), exact)


@torch.no_grad()
def check_case(model, scales, network, sample):
    positions, inputs = scales.positions(sample), torch.from_numpy(scales.network_input(sample))
    cloud = scales.cloud(sample, network)
    return {
        "check/input/positions": torch.from_numpy(positions),
        "check/input/gid": torch.arange(len(sample)),
        "check/input/features": inputs,
        "check/output/y": model(inputs, cloud),
        "check/output64/y": in_double(model, inputs, positions, cloud, network),
    }


def main():
    options = arguments()
    torch.set_num_threads(1)
    with open(options.trained, "rb") as file:
        trained = pickle.load(file)
    scales, network = trained["scales"], trained["network"]
    model = bsa.BSA(network)
    model.load_state_dict(trained["weights"])
    first = options.test
    sizes = [map(int, size.split(":")) for size in options.test_points.split(",")]
    errors = {str(n): test(model, scales, network, options.data, range(first, first + n_body), n) for n, n_body in sizes}
    inputs, outputs = fields_of(scales)
    card = {
        "format": 1, "family": "bsa", "network": network, "inputs": inputs, "outputs": outputs,
        "provenance": {
            "title": "Pressure coefficient on car-like bodies above the ground, in a flow without friction",
            "data": "bodies of seeds %s by a source panel method with 10,000 panels" % trained["seeds"],
            "solver": "2.5 to 3 % from 20,000 panels (relative L2 distance, three bodies); extrapolated, about 7 % from the truth",
            "training": "examples/airflow/train/train.py on a CPU, AdamW, relative L2, one body a step, average of weights; "
            "points a body * share : steps " + trained["stages"],
            "meshes": "bodies by points of their mesh: " + ", ".join("%d: %d" % pair for pair in trained["bodies"].items()),
            "test": "bodies of seeds from %d on, never seen in training; by points a body" % first,
            "test_relative_l2": errors,
            "license": "Apache-2.0",
        },
    }
    low, high = map(int, trained["seeds"].split(":"))
    read = [samples.features(samples.read(options.data, seed, 1900)) for seed in range(low, high)]
    arrays = {name: [one[:, i] for one in read] for i, name in enumerate(samples.inputs)}
    card["pooled"] = pooled.statistics(pooled.features(card, arrays))
    tensors = {name: value.contiguous() for name, value in model.state_dict().items()}
    tensors |= check_case(model, scales, network, samples.read(options.data, first, 1900))
    card["checksums"] = model_file.checksums_of(tensors)
    note = {"note": "body of seed %d, about 1900 points; network-level input and output" % first}
    model_file.write(options.out, tensors, model_file.metadata_of(card, note), overwrite=True)
    print("wrote", options.out)


if __name__ == "__main__":
    main()
