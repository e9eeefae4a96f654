#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the model file from the results of train.py: scores it on unseen events, adds card and check case."""

import argparse
import os
import pickle
import sys

import numpy as np
import torch

import hept
import samples
import score

here = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(here, "../../..", folder) for folder in ("share/python", "python")]  # in the sources, installed
from surrogate.export import model_file, pooled  # noqa: E402


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("trained", help="file of train.py")
    add("--data", required=True, help="folder of the events")
    add("--test", default="3000:1000:20,3000:3000:20,3000:10000:5", help="events never seen: first seed : hits : events")
    add("--radius", type=float, required=True, help="the program's default, in which figures are given")
    add("--check", type=int, default=3000, help="seed of the check case, an event of 300 hits")
    add("--out", required=True, help="model file")
    return parser.parse_args()


def embed(model, scales, event):
    with torch.no_grad():
        return model(*(torch.from_numpy(part) for part in scales.inputs(event))).numpy()


def test(model, scales, folder, text, radius):
    """Returns means over events; momenta are in GeV."""
    first, n_hit, n_event = map(int, text.split(":"))
    rows = []
    for seed in range(first, first + n_event):
        event = samples.read(folder, seed, n_hit)
        e = embed(model, scales, event)
        found = score.efficiency_and_fakes(score.tracks(e, event, radius), event)
        rows.append((score.accuracy(e, event, 0.9), score.accuracy(e, event, 0), *found))
    mean = np.mean(rows, axis=0)
    print("%18s: accuracy@0.9 %.4f, @0 %.4f, efficiency %.4f, fakes %.4f" % (text, *mean), flush=True)
    return dict(zip(("accuracy_at_0.9", "accuracy_at_0", "efficiency", "fake_rate"), (round(float(x), 4) for x in mean)))


def fields_of(scales):
    places = [
        {"name": name, "role": "coordinate", "axis": a, "unit": unit, "mean": 0.0, "std": float(scale),
         "min": float(scales.place_low[a]), "max": float(scales.place_high[a])}
        for a, (name, unit, scale) in enumerate(samples.coordinates)
    ]
    features = [
        {"name": name, "role": "field", "unit": unit, "mean": float(scales.mean[i]), "std": float(scales.std[i]),
         "min": float(scales.low[i]), "max": float(scales.high[i])}
        for i, (name, unit) in enumerate(samples.fields)
    ]
    outputs = [{"name": f"embedding.{i}", "unit": "1", "mean": 0.0, "std": 1.0} for i in range(12)]
    return places + features, outputs


def check_case(model, scales, event):
    x, coords = (torch.from_numpy(part) for part in scales.inputs(event))
    twin = hept.HEPT(model.network).double()
    twin.load_state_dict({name: value.double() for name, value in model.state_dict().items()})
    with torch.no_grad():
        y, y64 = model(x, coords), twin(x.double(), coords.double())
    print("check case: %d hits, single precision %.2e from double" % (len(x), float((y - y64).norm() / y64.norm())))
    batch = torch.zeros(len(x), dtype=torch.int64)
    return {"check/input/x": x, "check/input/coords": coords, "check/input/batch": batch, "check/output/y": y,
            "check/output64/y": y64}


def main():
    options = arguments()
    torch.set_num_threads(1)
    with open(options.trained, "rb") as file:
        trained = pickle.load(file)
    scales, network = trained["scales"], trained["network"]
    model = hept.HEPT(network)
    model.load_state_dict(trained["weights"])
    inputs, outputs = fields_of(scales)
    scores = {text: test(model, scales, options.data, text, options.radius) for text in options.test.split(",")}
    card = {
        "format": 1, "family": "hept", "network": network, "inputs": inputs, "outputs": outputs,
        "provenance": {
            "title": "Hits of charged particles in a synthetic detector, to a space where those of a particle lie together",
            "data": "events of the example tracking, seeds %s (from 5000 on with 20 more collisions), turned and reflected at random"
            % trained["seeds"],
            "training": "examples/tracking/train/train.py, one core, %.0f minutes, Adam, InfoNCE, average of weights; hits an "
            "event * share %s" % (trained["minutes"], trained["sizes"]),
            "test": "first seed : hits : events, never seen; links within %g, particles and candidates of 4 hits or more" % options.radius,
            "test_scores": scores,
            "license": "Apache-2.0",
        },
    }
    low, high = map(int, trained["seeds"].split(",")[0].split(":"))
    rows = [samples.features(samples.read(options.data, seed, 3000)) for seed in range(low, high)]
    arrays = {name: [one[:, i] for one in rows] for i, (name, _) in enumerate(samples.fields)}
    card["pooled"] = pooled.statistics(pooled.features(card, arrays))
    tensors = {name: value.contiguous() for name, value in model.state_dict().items()}
    tensors |= check_case(model, scales, samples.read(options.data, options.check, 300))
    card["checksums"] = model_file.checksums_of(tensors)
    note = {"note": "event of seed %d, about 300 hits; network-level input and output" % options.check}
    model_file.write(options.out, tensors, model_file.metadata_of(card, note), overwrite=True)
    print("wrote", options.out)


if __name__ == "__main__":
    main()
