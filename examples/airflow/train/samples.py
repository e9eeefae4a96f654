# SPDX-License-Identifier: Apache-2.0
"""Reads samples that the example wrote (-samples) as inputs and targets of the network."""

import os

import numpy as np

import bsa

# Columns of a sample: position (m), outward normal, pressure coefficient.
inputs = ("along", "across", "height", "normal.along", "normal.across", "normal.up")
units = ("m", "m", "m", "1", "1", "1")


def path(folder, seed, n_point):
    return os.path.join(folder, f"car_{seed:05d}_{n_point:06d}.npy")


def read(folder, seed, n_point):
    """Returns (n, 7) float32 of the body of a seed, on the mesh of about n_point points."""
    return np.load(path(folder, seed, n_point))


def features(sample):
    """Returns (n, 6) in the units of the card: the body is symmetric, so left counts as right."""
    x, y, z, nx, ny, nz = sample[:, :6].astype(np.float64).T
    side = np.where(y < 0, -1.0, 1.0)
    return np.stack([x, side * y, z, nx, side * ny, nz], axis=1)


class Scales:
    """Mean and deviation of inputs, positions and pressures over samples. Positions have one deviation, so that distances
    are scaled alike in all directions."""

    def __init__(self, samples):
        values = np.concatenate([features(one) for one in samples])
        pressures = np.concatenate([one[:, 6] for one in samples]).astype(np.float64)
        self.mean, self.std = values.mean(0), values.std(0)
        self.low, self.high = values.min(0), values.max(0)
        places = np.concatenate([one[:, :3] for one in samples]).astype(np.float64)
        self.place_mean, self.place_std = places.mean(0) * [1, 0, 1], float(np.sqrt(places.var(0).mean()))
        self.place_low, self.place_high = places.min(0), places.max(0)
        self.pressure_mean, self.pressure_std = float(pressures.mean()), float(pressures.std())
        self.pressure_low, self.pressure_high = float(pressures.min()), float(pressures.max())

    def positions(self, sample):
        return ((sample[:, :3].astype(np.float64) - self.place_mean) / self.place_std).astype(np.float32)

    def network_input(self, sample):
        return ((features(sample) - self.mean) / self.std).astype(np.float32)

    def cloud(self, sample, network):
        return bsa.Cloud(self.positions(sample), np.arange(len(sample)), network)
