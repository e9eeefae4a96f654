#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Errors of emulators of one hour of shallow water: L1, L2 and W11 as in torch-harmonics.

    python3 shallow_water.py held_out.h5 "name=model.safetensors" .. [--output FOLDER/NAME]

held_out.h5 comes from `shallow_water -data`. In place of a model, predictions.npy has the states
[run, hour, field, lat, lon] one hour after those of the file. Fields are normalized by their mean
and deviation over the file; errors are means over all hours, and over the fields in the last
column. With the weights Q of the quadrature (sum 1) and the error e: L1 = sum Q |e|, L2 = sqrt(sum
Q e^2), W11 = sum Q (|d e / d longitude| + |d e / d latitude|), with derivatives by a Fourier
transform of the rows, and of the columns as if they were periodic. Writes NAME.csv, L1 by latitude
and by longitude (NAME_latitude.csv, NAME_longitude.csv) and NAME.png; NAME is shallow_water by
default.
"""

import argparse
import csv
import os

import h5py
import numpy as np
import surrogate

FIELDS = ("geopotential", "vorticity", "divergence")


def read(path):
    """Returns states [run, hour, field, lat, lon], latitudes in degrees, name of the grid."""
    with h5py.File(path) as file:
        grid = file.attrs["grid"]
        grid = grid.decode() if isinstance(grid, bytes) else grid
        return np.stack([file[name][:] for name in FIELDS], axis=2), file["lat"][:], grid


def predictions(path, states, grid):
    """Returns the states one hour after states[:, :-1]."""
    if path.endswith(".npy"):
        return np.load(path)
    context, shape = surrogate.Context(), states.shape[-2:]
    domain = surrogate.Domain.sphere(context, grid, *shape)
    plan = surrogate.Plan(surrogate.Model(context, path), domain)
    inputs = {name: plan.bind_input(name, np.empty(shape, "float32")) for name in FIELDS}
    outputs = {name: plan.bind_output(name, np.empty(shape, "float32")) for name in FIELDS}
    predicted = np.empty_like(states[:, 1:])
    for run, hour in np.ndindex(predicted.shape[:2]):
        for f, name in enumerate(FIELDS):
            inputs[name][:] = states[run, hour, f]
        plan.run()
        for f, name in enumerate(FIELDS):
            predicted[run, hour, f] = outputs[name]
    return predicted


def errors(difference, weight):
    """Returns (L1, L2, W11) by fields, and mean errors [field, lat] and [field, lon].

    `difference` has normalized errors [run, hour, field, lat, lon].
    """
    rows, columns = difference.shape[-2:]
    along = 1j * np.fft.fftfreq(columns, 1 / columns)
    across = 2j * np.fft.fftfreq(rows, 1 / rows)[:, None]
    sums = np.zeros((3, len(FIELDS)))
    for run in difference:
        modes = np.fft.fft2(run)
        slope = sum(np.abs(np.fft.ifft2(k * modes).real) for k in (along, across))
        for norm, term in enumerate((np.abs(run), run**2, slope)):
            mean = (weight * term).sum(axis=(-2, -1))
            sums[norm] += (np.sqrt(mean) if norm == 1 else mean).mean(axis=0)
    by_latitude, by_longitude = (np.abs(difference).mean(axis=(0, 1, axis)) for axis in (4, 3))
    return sums / len(difference), by_latitude, by_longitude


def write_profiles(output, axis, positions, profiles):
    """Writes the mean errors [field, position] of each model along an axis of the grid."""
    with open(f"{output}_{axis}.csv", "w", newline="") as file:
        lines = (
            (name, f"{position:.4f}", *(f"{value:.4g}" for value in profile[:, i]))
            for name, profile in profiles.items()
            for i, position in enumerate(positions)
        )
        csv.writer(file).writerows([("model", axis, *(f"L1 of {name}" for name in FIELDS)), *lines])


def plot(table, latitude, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(FIELDS), figsize=(11, 3.6))
    for f, ax in enumerate(axes):
        for name, (_, by_latitude, _) in table.items():
            style = "k:" if name == "persistence" else "-"
            ax.semilogy(latitude, by_latitude[f], style, label=name)
        ax.set(title=FIELDS[f], xlabel="latitude", xticks=(-90, -45, 0, 45, 90))
    axes[0].set_ylabel("L1, of a deviation")
    axes[-1].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main():
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("held_out")
    arguments.add_argument("models", nargs="+")
    here = os.path.dirname(os.path.abspath(__file__))
    arguments.add_argument("--output", default=os.path.join(here, "shallow_water"))
    options = arguments.parse_args()
    states, latitude, grid = read(options.held_out)
    rows, columns = states.shape[-2:]
    weight = surrogate.sphere_nodes(grid, rows, columns).weight[:, None]
    mean, std = (
        f(states, axis=(0, 1, 3, 4), keepdims=True, dtype=float) for f in (np.mean, np.std)
    )
    table = {}
    for given in ["persistence=", *options.models]:
        name, path = given.split("=", 1)
        predicted = predictions(path, states, grid) if path else states[:, :-1]
        table[name] = errors((predicted - states[:, 1:]) / std[0], weight)
    header = ("model", "norm", *FIELDS, "mean")
    lines = [
        (name, norm, *(f"{v:.4g}" for v in (*found[n], found[n].mean())))
        for name, (found, _, _) in table.items()
        for n, norm in enumerate(("L1", "L2", "W11"))
    ]
    with open(options.output + ".csv", "w", newline="") as file:
        csv.writer(file).writerows([header, *lines])
    write_profiles(
        options.output, "latitude", latitude, {name: found[1] for name, found in table.items()}
    )
    longitude = 360 * np.arange(columns) / columns
    write_profiles(
        options.output, "longitude", longitude, {name: found[2] for name, found in table.items()}
    )
    for line in (header, ["---"] * len(header), *lines):
        print("| " + " | ".join(line) + " |")
    plot(table, latitude, options.output + ".png")


if __name__ == "__main__":
    main()
