# SPDX-License-Identifier: Apache-2.0
"""Reads events that `tracking -samples` wrote as inputs of the network."""

import os

import numpy as np

columns = ("layer", "radius", "azimuth", "z", "charge", "local_eta", "local_phi", "size_along", "size_across", "size_depth",
           "global_eta", "global_phi", "particle", "momentum")
# Coordinates of the network: name, unit, and what one is in the network.
coordinates = (("eta", "1", 1.0), ("phi", "rad", 1.0), ("r", "mm", 1000.0), ("phi.turn", "rad", np.pi), ("z", "mm", 1000.0),
               ("eta.rz", "1", 1.0))
fields = (("hit.radius", "mm"), ("hit.azimuth", "rad"), ("hit.z", "mm"), ("hit.eta", "1"), ("hit.u", "1/mm"), ("hit.v", "1/mm"),
          ("cluster.charge", "1"), ("cluster.local_eta", "rad"), ("cluster.local_phi", "rad"), ("cluster.along", "mm"),
          ("cluster.across", "mm"), ("cluster.depth", "mm"), ("cluster.global_eta", "1"), ("cluster.global_phi", "rad"),
          ("hit.layer", "1"))


def path(folder, seed, n_hit):
    return os.path.join(folder, f"event_{seed:06d}_{n_hit:07d}.npy")


def read(folder, seed, n_hit):
    """{column: (n,)}"""
    return dict(zip(columns, np.load(path(folder, seed, n_hit)).T))


def wrapped(angle):
    return np.remainder(angle + np.pi, 2 * np.pi) - np.pi


def turned(event, random):
    """Returns the event rotated around the beam, with ends or charges exchanged at random: equally probable."""
    event = dict(event)
    angle, swap_ends, swap_charges = random.uniform(-np.pi, np.pi), random.random() < 0.5, random.random() < 0.5
    if swap_charges:
        for name in ("azimuth", "local_phi", "global_phi"):
            event[name] = -event[name]
    if swap_ends:
        is_barrel = (event["layer"] >= 6) & (event["layer"] < 12)
        event["local_eta"] = np.where(is_barrel, -event["local_eta"], event["local_eta"])
        event["layer"] = np.where(is_barrel, event["layer"], 17 - event["layer"])
        for name in ("z", "global_eta"):
            event[name] = -event[name]
    for name in ("azimuth", "global_phi"):
        event[name] = wrapped(event[name] + angle)
    return event


def places(event):
    """Returns (n, 6) in the units of the card."""
    eta = np.arcsinh(event["z"] / event["radius"])
    return np.stack([eta, event["azimuth"], event["radius"], event["azimuth"], event["z"], eta], axis=1)


def features(event):
    """Returns (n, 15) in the units of the card."""
    r, phi, z = event["radius"], event["azimuth"], event["z"]
    mine = [r, phi, z, np.arcsinh(z / r), np.cos(phi) / r, np.sin(phi) / r]
    names = ("charge", "local_eta", "local_phi", "size_along", "size_across", "size_depth", "global_eta", "global_phi", "layer")
    return np.stack(mine + [event[name] for name in names], axis=1)


class Scales:
    """Mean, deviation and range of inputs over events."""

    def __init__(self, events):
        values, where = (np.concatenate([of(event) for event in events]) for of in (features, places))
        self.mean, self.std, self.low, self.high = values.mean(0), values.std(0), values.min(0), values.max(0)
        self.place_low, self.place_high = where.min(0), where.max(0)
        self.place_unit = np.array([unit for _, _, unit in coordinates])

    def inputs(self, event):
        """Returns x (n, 15) and coords (n, 6) of the network, float32."""
        x, coords = (features(event) - self.mean) / self.std, places(event) / self.place_unit
        return x.astype(np.float32), coords.astype(np.float32)
