#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Error of spherical and of planar attention under rotations of the sphere, by resolution.

    python3 rotation.py [FOLDER] [--rows 16,32,64,128]

writes rotation.csv and rotation.png into FOLDER, by default beside this file.

A layer A with seeded weights gets a band-limited field f on a grid, and R f, the field rotated
about an axis in the equator. The error is |A(R f) - R A(f)| / |A(f)|, in the L2 norm with the
weights of the quadrature. Both rotations are exact: f is a sum of zonal harmonics, and A(f) is
rotated through its spherical harmonics, of all degrees below the number of rows. The planar layer
is the same formula on the image of latitudes and longitudes: equal weights, and neighbors by their
distance in rows and columns. Neighborhoods keep their size in radians when the grid gets finer, so
that each layer approximates one operator.
"""

import argparse
import csv
import os
import sys

import numpy as np
import surrogate

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from network import field  # noqa: E402

CHANNELS, DEGREES, ZONES = (
    8,
    6,
    12,
)  # of the input; its highest degree; zonal harmonics of a channel
CUTOFF = 0.35  # radians, of spherical neighborhoods and of half the side of planar ones
ROTATIONS = ((30, 0.3), (90, 1.9))  # degrees, azimuth of the axis in radians
GLOBAL_ROWS = 64  # maximum for global attention, whose work grows with the fourth power


class Field:
    """CHANNELS band-limited functions: sums of zonal harmonics in random directions."""

    def __init__(self, random):
        self.direction = random.standard_normal((CHANNELS, ZONES, 3))
        self.direction /= np.linalg.norm(self.direction, axis=-1, keepdims=True)
        self.coefficient = random.standard_normal((CHANNELS, ZONES, DEGREES + 1)) / np.sqrt(ZONES)

    def at(self, points):
        """Returns the values [n, CHANNELS] at unit vectors [n, 3]."""
        value = np.empty((len(points), CHANNELS))
        for channel in range(CHANNELS):
            zones = zip(self.direction[channel], self.coefficient[channel])
            value[:, channel] = sum(np.polynomial.legendre.legval(points @ d, c) for d, c in zones)
        return value


class Grid:
    """A legendre-gauss grid of rows x 2 rows points, from the north, and its harmonics."""

    def __init__(self, rows):
        nodes = surrogate.sphere_nodes("legendre-gauss", rows, 2 * rows)
        self.shape = (rows, 2 * rows)
        self.weight = np.repeat(nodes.weight, 2 * rows)  # fractions of the area
        colatitude, longitude = np.meshgrid(
            np.radians(90 - nodes.latitude), np.radians(nodes.longitude), indexing="ij"
        )
        self.points = unit_vectors(colatitude.ravel(), longitude.ravel())

    def coefficients(self, value):
        """Returns the coefficients of values [n, channels]: by order m [degrees m .., channels]."""
        rows, columns = self.shape
        modes = np.fft.rfft(value.reshape(rows, columns, -1), axis=1) / columns
        row_weight, x = self.weight[::columns] * columns, self.points[::columns, 2]
        return [(legendre(x, m, rows) * row_weight) @ modes[:, m] for m in range(rows)]

    def norm(self, value):
        """Returns the L2 norm of values [n, channels]."""
        return np.sqrt((self.weight @ value**2).sum())


def unit_vectors(colatitude, longitude):
    sine = np.sin(colatitude)
    return np.stack(
        [sine * np.cos(longitude), sine * np.sin(longitude), np.cos(colatitude)], axis=1
    )


def legendre(x, m, end):
    """Returns the associated Legendre functions [degrees m .. end - 1, n] of order m at x.

    They have a mean square of one on the sphere.
    """
    before, now = np.zeros_like(x), np.ones_like(x)
    for k in range(1, m + 1):
        now = now * np.sqrt((2 * k + 1) / (2 * k) * (1 - x * x))
    functions = [now]
    for degree in range(m + 1, end):
        a = np.sqrt((4 * degree**2 - 1) / (degree**2 - m**2))
        b = np.sqrt(((degree - 1) ** 2 - m**2) / (4 * (degree - 1) ** 2 - 1))
        before, now = now, a * (x * now - b * before)
        functions.append(now)
    return np.array(functions)


def evaluate(coefficients, points):
    """Returns the values [n, channels] of coefficients at unit vectors [n, 3]."""
    x, longitude = np.clip(points[:, 2], -1, 1), np.arctan2(points[:, 1], points[:, 0])
    value = np.zeros((len(points), coefficients[0].shape[1]))
    for m, order in enumerate(coefficients):
        p = legendre(x, m, m + len(order)).T
        cosine, sine = np.cos(m * longitude)[:, None], np.sin(m * longitude)[:, None]
        value += (1 if m == 0 else 2) * (p @ order.real * cosine - p @ order.imag * sine)
    return value


def rotation_matrix(angle, azimuth):
    """Returns a rotation about the axis (cos azimuth, sin azimuth, 0), by Rodrigues' formula."""
    axis = np.array([np.cos(azimuth), np.sin(azimuth), 0])
    cross = np.cross(np.eye(3), axis)
    return np.eye(3) + np.sin(angle) * -cross + (1 - np.cos(angle)) * cross @ cross


def weights(random):
    """Returns the weights of a layer, drawn as by torch-harmonics."""
    bound = np.sqrt(3 / CHANNELS)
    return {
        f"{name}_weights": random.uniform(-bound, bound, (CHANNELS, CHANNELS, 1, 1)).astype(
            "float32"
        )
        for name in ("q", "k", "v", "proj")
    }


def spherical(grid, weight, is_global):
    """Returns the layer of the library on a grid, as a function of values [n, CHANNELS]."""
    network = {
        "layer": "AttentionS2" if is_global else "NeighborhoodAttentionS2",
        "in_channels": CHANNELS,
        "bias": False,
        "in_shape": grid.shape,
        "out_shape": grid.shape,
        "grid_in": "legendre-gauss",
        "grid_out": "legendre-gauss",
    }
    if not is_global:
        network["theta_cutoff"] = CUTOFF
    card = {
        "format": 1,
        "family": "sphere",
        "network": network,
        "inputs": [field(f"x{c}", role="field") for c in range(CHANNELS)],
        "outputs": [field(f"y{c}") for c in range(CHANNELS)],
    }
    context = surrogate.Context()
    model = surrogate.Model.create(context, card, weight)
    plan = surrogate.Plan(model, surrogate.Domain.sphere(context, "legendre-gauss", *grid.shape))

    def layer(value):
        columns = value.T.reshape(CHANNELS, *grid.shape).copy()
        outputs = plan.predict({f"x{c}": column for c, column in enumerate(columns)})
        return np.stack([np.ravel(outputs[f"y{c}"]) for c in range(CHANNELS)], axis=1)

    return layer


def planar(grid, weight, is_global):
    """Returns planar attention with the same weights, periodic in longitude.

    Keys are the whole image, or a square around each point.
    """
    rows, columns = grid.shape
    half = round(CUTOFF / np.pi * rows)  # of the side of the square
    q_weight, k_weight, v_weight, proj = (
        weight[f"{name}_weights"][:, :, 0, 0] for name in ("q", "k", "v", "proj")
    )

    def layer(value):
        value = value.astype("float32")
        q = value @ q_weight.T / np.sqrt(np.float32(CHANNELS))
        k, v = value @ k_weight.T, value @ v_weight.T
        y = np.empty_like(value)
        for row in range(rows):
            near = slice(0, rows) if is_global else slice(max(0, row - half), row + half + 1)
            own = slice(row * columns, (row + 1) * columns)
            keys, values = (
                x.reshape(rows, columns, CHANNELS)[near].reshape(-1, CHANNELS) for x in (k, v)
            )
            p = np.exp(q[own] @ keys.T)
            if not is_global:
                apart = np.abs(np.arange(columns)[:, None] - np.arange(len(keys)) % columns)
                p *= np.minimum(apart, columns - apart) <= half
            y[own] = p @ values / p.sum(axis=1, keepdims=True)
        return y @ proj.T

    return layer


def error_of(layer, grid, field, matrix):
    """Returns |A(R f) - R A(f)| / |A(f)| for the rotation (R f)(x) = f(matrix^T x)."""
    sources = grid.points @ matrix  # matrix^T x of each point x
    output = layer(field.at(grid.points))
    rotated_output = evaluate(grid.coefficients(output), sources)
    output_of_rotated = layer(field.at(sources))
    return grid.norm(output_of_rotated - rotated_output) / grid.norm(output)


def study(all_rows):
    """Yields (attention, extent, rows, root mean square of the errors over the rotations)."""
    matrices = [rotation_matrix(np.radians(angle), azimuth) for angle, azimuth in ROTATIONS]
    for rows in all_rows:
        grid = Grid(rows)
        for is_global in (False, True) if rows <= GLOBAL_ROWS else (False,):
            for name, make in (("spherical", spherical), ("planar", planar)):
                random = np.random.default_rng(1)
                layer, field = make(grid, weights(random), is_global), Field(random)
                errors = [error_of(layer, grid, field, matrix) for matrix in matrices]
                yield name, "global" if is_global else "neighborhood", rows, np.sqrt(
                    np.mean(np.square(errors))
                )


def plot(table, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    for name, color in (("spherical", "C0"), ("planar", "C3")):
        for extent, style in (("neighborhood", "o-"), ("global", "s--")):
            points = [(rows, error) for n, e, rows, error in table if (n, e) == (name, extent)]
            axes.loglog(*zip(*points), style, color=color, label=f"{name}, {extent}")
    axes.set(xlabel="rows of the grid", ylabel="error under rotations")
    axes.set_xticks(
        sorted({row[2] for row in table}), [str(n) for n in sorted({row[2] for row in table})]
    )
    axes.minorticks_off()
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main():
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("folder", nargs="?", default=os.path.dirname(os.path.abspath(__file__)))
    arguments.add_argument("--rows", default="16,32,64,128")
    arguments.add_argument("--no-figure", action="store_true")
    options = arguments.parse_args()
    table = list(study([int(rows) for rows in options.rows.split(",")]))
    with open(os.path.join(options.folder, "rotation.csv"), "w", newline="") as file:
        csv.writer(file).writerows(
            [
                ("attention", "extent", "rows", "error"),
                *((*row[:3], f"{row[3]:.4g}") for row in table),
            ]
        )
    for name, extent, rows, error in table:
        print(f"{name}, {extent}, {rows} x {2 * rows}: {100 * error:.3g} %")
    if not options.no_figure:
        plot(table, os.path.join(options.folder, "rotation.png"))


if __name__ == "__main__":
    main()
