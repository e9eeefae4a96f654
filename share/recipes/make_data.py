#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes SET_train.h5 and SET_test.h5: stand-ins for the data sets of the recipes.

    python3 make_data.py elasticity --samples 200
    python3 make_data.py elasticity --reduced

The files have the variables, units and sizes of the published data. Their numbers come from exact
solutions, small solvers and random shapes, so a network can learn them; errors on them say nothing
about errors on the published data. --reduced writes few points, for the reduced recipes.
"""

import argparse
import pathlib
import sys

import numpy

package = pathlib.Path(__file__).resolve().parent.parent / "python"
if package.is_dir():
    sys.path.insert(0, str(package))
from surrogate import dataset  # noqa: E402


def elasticity(rng, n, size):
    """Von Mises stress in a plate with a round hole under tension (Kirsch), random load, hole."""
    radius = rng.uniform(0.2, 0.4, (n, 1))
    direction = rng.uniform(0, numpy.pi, (n, 1))
    r = radius + (0.7 - radius) * numpy.sqrt(rng.random((n, size)))
    phi = rng.uniform(0, 2 * numpy.pi, (n, size))
    q, c, s = (radius / r) ** 2, numpy.cos(2 * (phi - direction)), numpy.sin(2 * (phi - direction))
    radial = 50 * ((1 - q) + (1 - 4 * q + 3 * q**2) * c)
    hoop = 50 * ((1 + q) - (1 + 3 * q**2) * c)
    shear = -50 * (1 + 2 * q - 3 * q**2) * s
    stress = numpy.sqrt(radial**2 - radial * hoop + hoop**2 + 3 * shear**2)
    places = {"x": (0.5 + r * numpy.cos(phi), "1"), "y": (0.5 + r * numpy.sin(phi), "1")}
    return {"fields": {"stress": (stress, "1")}, "coordinates": places}


def darcy(rng, n, size):
    """-div(a grad u) = 1 on a square, u = 0 around it, a = 12 or 3: finite volumes, CG."""
    k = numpy.fft.fftfreq(2 * size, 1 / (2 * size))
    spectrum = 1 / (k[:, None] ** 2 * numpy.pi**2 + k**2 * numpy.pi**2 + 9)
    noise = numpy.fft.fft2(rng.normal(size=(n, 2 * size, 2 * size)))
    a = numpy.where(numpy.fft.ifft2(spectrum * noise).real[:, :size, :size] > 0, 12.0, 3.0)

    def apply(u):
        result = numpy.zeros_like(u)
        for axis in (1, 2):
            v, b = numpy.moveaxis(u, axis, 1), numpy.moveaxis(a, axis, 1)
            flux = numpy.zeros((n, size + 1, size))
            between = 2 * b[:, 1:] * b[:, :-1] / (b[:, 1:] + b[:, :-1])
            flux[:, 1:-1] = between * numpy.diff(v, axis=1)
            flux[:, 0], flux[:, -1] = 2 * b[:, 0] * v[:, 0], -2 * b[:, -1] * v[:, -1]
            result -= numpy.moveaxis(numpy.diff(flux, axis=1), 1, axis)
        return result

    def dot(p, q):
        return (p * q).sum((1, 2), keepdims=True)

    u = numpy.zeros_like(a)
    residual = numpy.full_like(a, 1 / size**2)
    p, rho = residual, dot(residual, residual)
    for _ in range(6 * size):
        q = apply(p)
        step = rho / dot(p, q)
        u, residual = u + step * p, residual - step * q
        rho, old = dot(residual, residual), rho
        p = residual + rho / old * p
    axis = numpy.linspace(0, 1, size)
    return {
        "fields": {"coefficient": (a, "1"), "pressure": (u, "1")},
        "coordinates": {"x": (axis, "1"), "y": (axis, "1")},
    }


def airfoil(rng, n, size):
    """Mach number around Joukowski profiles: potential flow with circulation, 221 x 51 points."""
    around, outwards = size
    angle = 2 * numpy.pi * (numpy.arange(around) + 0.5) / around
    distance = 1 + 4 * numpy.linspace(0, 1, outwards) ** 2
    center = rng.uniform(-0.12, -0.04, n) + 1j * rng.uniform(0, 0.1, n)
    attack = rng.uniform(0, 0.1, n)
    radius = abs(1 - center)
    circle = (distance * numpy.exp(1j * angle)[:, None]).reshape(1, -1) * radius[:, None]
    zeta = center[:, None] + circle
    turn = numpy.exp(-1j * attack)[:, None]
    vortex = 4 * numpy.pi * radius * numpy.sin(attack + numpy.arcsin(center.imag / radius))
    potential = turn - radius[:, None] ** 2 / turn / circle**2
    velocity = (potential + 1j * vortex[:, None] / (2 * numpy.pi * circle)) / (1 - zeta**-2)
    z = zeta + 1 / zeta
    return {
        "fields": {"mach": (0.3 * abs(velocity), "1")},
        "coordinates": {"x": (z.real / 4, "1"), "y": (z.imag / 4, "1")},
    }


def pipe(rng, n, size):
    """Horizontal velocity of a parabolic profile in bent pipes, size x size points."""
    along, across = numpy.meshgrid(
        numpy.linspace(0, 10, size), numpy.linspace(-0.5, 0.5, size), indexing="ij"
    )
    bend = rng.normal(scale=0.5, size=(n, 4, 1, 1))
    k = numpy.arange(1, 5)[:, None, None] * numpy.pi / 10
    middle, slope = (bend * numpy.sin(k * along)).sum(1), (bend * k * numpy.cos(k * along)).sum(1)
    length = numpy.sqrt(1 + slope**2)
    velocity = 0.25 * (1 - 4 * across**2) / length
    x, y = along - across * slope / length, middle + across / length
    return {
        "fields": {"velocity.x": (velocity.reshape(n, -1), "1")},
        "coordinates": {"x": (x.reshape(n, -1), "1"), "y": (y.reshape(n, -1), "1")},
    }


def car(rng, n, size):
    """Pressure of potential flow on ellipsoids of the size of cars, exact."""
    half = rng.uniform([1.8, 0.8, 0.6], [2.4, 1.0, 0.9], (n, 3))
    point = rng.normal(size=(n, size, 3))
    point *= half[:, None] / numpy.linalg.norm(point, axis=2, keepdims=True)
    t, weight = numpy.polynomial.legendre.leggauss(64)
    t, weight = (t + 1) / 2, weight / 2
    shift = (t / (1 - t)) ** 2  # integral over 0 .. infinity
    a2 = half[:, :, None] ** 2 + shift
    integrand = 2 * t / (1 - t) ** 3 / a2[:, 0] / numpy.sqrt(a2.prod(1))
    alpha = half.prod(1) * (weight * integrand).sum(1)
    normal = point / half[:, None] ** 2
    normal /= numpy.linalg.norm(normal, axis=2, keepdims=True)
    speed2 = (2 / (2 - alpha))[:, None] ** 2 * (1 - normal[:, :, 0] ** 2)
    pressure = 0.5 * 1.2 * 20**2 * (1 - speed2)
    return {
        "fields": {"pressure": (pressure, "Pa")},
        "coordinates": {axis: (point[:, :, i], "m") for i, axis in enumerate("xyz")},
    }


def lpbf(rng, n, size):
    """A formula for the distortion of printed blocks of random extents, in mm."""
    extent = rng.uniform(5, 60, (n, 1, 3))
    point = (rng.random((n, size, 3)) - [0.5, 0.5, 0]) * extent
    radius2 = (point[:, :, :2] ** 2).sum(2) / 900
    z, height = point[:, :, 2], extent[:, :, 2]
    displacement = 1e-4 * z * (height - z / 2) / 60 * (1 + 4 * radius2) - 0.01 * radius2
    return {
        "fields": {"displacement.z": (displacement, "mm")},
        "coordinates": {axis: (point[:, :, i], "mm") for i, axis in enumerate("xyz")},
    }


def listops(rng, n, size):
    """Nested MIN, MAX, MED and SUM MOD 10 of digits: the generator of Long Range Arena.

    Tokens: 0 padding, 1 to 10 digits, 11 to 14 operators with a bracket, 15 a closing bracket."""
    functions = (min, max, lambda v: int(numpy.median(v)), lambda v: sum(v) % 10)

    def expression(depth, tokens):
        if depth > 0 and (depth == 10 or rng.random() > 0.25) or len(tokens) > size:
            digit = int(rng.integers(10))
            tokens.append(1 + digit)
            return digit
        operator = int(rng.integers(4))
        tokens.append(11 + operator)
        values = [expression(depth + 1, tokens) for _ in range(rng.integers(2, 11))]
        tokens.append(15)
        return functions[operator](values)

    rows, answers = numpy.zeros((n, size), "int64"), numpy.zeros(n, "int64")
    for i in range(n):
        tokens = []
        while not size // 4 <= len(tokens) <= size:
            tokens = []
            answers[i] = expression(0, tokens)
        rows[i, : len(tokens)] = tokens
    fields = {"token": rows, "mask": numpy.ones_like(rows)}  # the authors count the padding, too
    return {"fields": fields, "coordinates": {}, "numbers": {"label": answers}}


def image(rng, n, size):
    """Gray images of gratings in ten directions, with noise, as sequences of 256 gray levels."""
    label = rng.integers(10, size=n)
    i, j = numpy.meshgrid(numpy.arange(size), numpy.arange(size), indexing="ij")
    turn = label[:, None, None] * numpy.pi / 10
    phase = rng.uniform(0, 2 * numpy.pi, (n, 1, 1))
    wave = numpy.sin(0.9 * (numpy.cos(turn) * i + numpy.sin(turn) * j) + phase)
    gray = numpy.clip(128 + 60 * wave + 30 * rng.normal(size=(n, size, size)), 0, 255)
    token = gray.astype("int64").reshape(n, -1)
    fields = {"token": token, "mask": numpy.ones_like(token)}
    return {"fields": fields, "coordinates": {}, "numbers": {"label": label}}


def text(rng, n, size):
    """Bytes of made-up reviews of two kinds, which prefer other words, as sequences of tokens.

    Tokens: 0 padding, 1 to 256 the byte plus one; 96 of 4,096 tokens are padding at least."""
    letters = [rng.integers(97, 123, rng.integers(2, 10)) for _ in range(200)]
    words = [numpy.append(word, 32) for word in letters]
    label = rng.integers(2, size=n)
    token = numpy.zeros((n, size), "int64")
    for row, kind in zip(token, label):
        weight = numpy.ones(len(words))
        weight[kind::20] = 3
        drawn = rng.choice(len(words), size // 3, p=weight / weight.sum())
        length = rng.integers(size // 8, size - size * 96 // 4096)
        row[:length] = numpy.concatenate([words[i] for i in drawn])[:length] + 1
    fields = {"token": token, "mask": numpy.ones_like(token)}
    return {"fields": fields, "coordinates": {}, "numbers": {"label": label}}


def pathfinder(rng, n, size):
    """Gray images of two discs and dashed curves; label 1: the discs are ends of one curve."""
    label = rng.integers(2, size=n)
    gray = numpy.zeros((n, size, size))
    every = numpy.arange(n)

    def draw_curve(n_dash):
        """Draws a random curve in each image, reflected by the borders; returns its ends."""
        place = rng.uniform(0, size, (n, 2))
        heading, first = rng.uniform(0, 2 * numpy.pi, n), place.copy()
        for _ in range(n_dash):
            heading += rng.normal(scale=0.4, size=n)
            for is_drawn in (True, True, True, False):
                place += 0.75 * numpy.stack([numpy.cos(heading), numpy.sin(heading)], axis=1)
                heading += numpy.where(((place < 0) | (place >= size)).any(1), numpy.pi, 0)
                place = numpy.clip(place, 0, size - 1e-6)
                i, j = place.astype("int64").T
                gray[every, i, j] = numpy.maximum(gray[every, i, j], 190 * is_drawn)
        return first, place

    n_dash = max(3, 14 * size // 32)
    first, last = draw_curve(n_dash)
    other = draw_curve(n_dash)[1]
    for _ in range(5):
        draw_curve(n_dash // 3)
    axis = numpy.arange(size) + 0.5
    for disc in (first, numpy.where(label[:, None] == 1, last, other)):
        distance2 = (axis[:, None] - disc[:, :1, None]) ** 2 + (axis - disc[:, 1:, None]) ** 2
        gray = numpy.where(distance2 < 1.5**2, 255, gray)
    token = gray.astype("int64").reshape(n, -1)
    fields = {"token": token, "mask": numpy.ones_like(token)}
    return {"fields": fields, "coordinates": {}, "numbers": {"label": label}}


def superquadrics(rng, n, size, first, second, length):
    """Points [n, size, 3] on superquadrics whose exponents and length follow from the class."""
    u = rng.uniform(-numpy.pi / 2, numpy.pi / 2, (n, size))
    v = rng.uniform(-numpy.pi, numpy.pi, (n, size))

    def power(values, exponent):
        return numpy.sign(values) * abs(values) ** exponent[:, None]

    around = power(numpy.cos(u), first)
    point = [around * power(numpy.cos(v), second), around * power(numpy.sin(v), second)]
    return numpy.stack([*point, power(numpy.sin(u), first) * length[:, None]], axis=2)


def modelnet40(rng, n, size):
    """Forty classes of superquadrics, turned about z; one label per sample."""
    label = rng.integers(40, size=n)
    first, second = 0.3 + 0.4 * (label % 5), 0.3 + 0.25 * (label // 5)
    point = superquadrics(rng, n, size, first, second, numpy.ones(n))
    turn = numpy.exp(1j * rng.uniform(0, 2 * numpy.pi, (n, 1)))
    turned = (point[:, :, 0] + 1j * point[:, :, 1]) * turn
    point = numpy.stack([turned.real, turned.imag, point[:, :, 2]], axis=2)
    point /= numpy.linalg.norm(point, axis=2).max(1)[:, None, None]
    return {
        "fields": {"height": (point[:, :, 2] - point[:, :, 2].min(1, keepdims=True), "1")},
        "coordinates": {axis: (point[:, :, i], "1") for i, axis in enumerate("xyz")},
        "numbers": {"label": label},
    }


def shapenetpart(rng, n, size):
    """Sixteen categories of superquadrics, each with up to four parts by height: 50 labels."""
    category = rng.integers(16, size=n)
    point = superquadrics(
        rng, n, size, 0.3 + 0.5 * (category % 4), 0.3 + 0.5 * (category // 4), 1 + category / 16
    )
    level = (point[:, :, 2] / (1 + category[:, None] / 16) + 1) / 2
    part = numpy.minimum((3 * level).astype("int64"), 2)
    numbers = {f"category_{i}": numpy.where(category == i, 1.0, 0.0) for i in range(16)}
    places = {axis: (point[:, :, i], "1") for i, axis in enumerate("xyz")}
    return {
        "fields": {
            "part": 3 * category[:, None] + part,
            **{f"feature.{axis}": places[axis] for axis in "xyz"},
        },
        "coordinates": places,
        "numbers": numbers,
    }


def trackml(rng, n, size):
    """Hits of helices on ten cylinders, a tenth of them noise, with HEPT's coordinates."""
    particle = numpy.arange(size) // 10 + numpy.zeros((n, 1), "int64")
    layer = numpy.arange(size) % 10
    radius = 0.03 + 0.1 * layer
    n_particle = particle.max() + 1
    pt = 0.5 + rng.exponential(1, (n, n_particle))
    charge = rng.choice([-1, 1], (n, n_particle))
    azimuth = rng.uniform(-numpy.pi, numpy.pi, (n, n_particle))
    slope = numpy.sinh(rng.uniform(-2, 2, (n, n_particle)))

    def of_hits(values):
        return numpy.take_along_axis(values, particle, axis=1)

    turned = of_hits(azimuth) + of_hits(charge) * 0.3 * radius / of_hits(pt)
    hits = radius * numpy.cos(turned), radius * numpy.sin(turned), radius * of_hits(slope)
    noise = rng.random((n, size)) < 0.1
    z = numpy.where(noise, rng.uniform(-3, 3, (n, size)), hits[2])
    angle = numpy.arctan2(hits[1], hits[0])
    r = radius + numpy.zeros((n, size))
    eta = numpy.arcsinh(z / r)
    x, y = r * numpy.cos(angle), r * numpy.sin(angle)
    places = {"eta": eta, "phi": angle, "radius": r, "azimuth": angle, "z": z, "eta_rz": eta}
    features = [x, y, z, r, angle, eta, numpy.hypot(r, z), *rng.normal(size=(8, n, size))]
    return {
        "fields": {
            **{f"f{i}": (values, "1") for i, values in enumerate(features)},
            "pt": (of_hits(pt), "GeV"),
            "particle": numpy.where(noise, -100, particle),
        },
        "coordinates": {name: (values, "1") for name, values in places.items()},
        "weight": numpy.where(noise | (of_hits(pt) <= 0.9), 0.0, 1.0),
    }


def pileup(rng, n, size):
    """Particles of jets and of pile-up; labels of neutral ones above 0.9 GeV: 1 from a jet."""
    jets = rng.uniform([-2, -numpy.pi], [2, numpy.pi], (n, 6, 2))
    is_jet = rng.random((n, size)) < 0.1
    of_jet = jets[numpy.arange(n)[:, None], rng.integers(6, size=(n, size))]
    near = of_jet + rng.normal(scale=0.1, size=(n, size, 2))
    far = rng.uniform([-2.5, -numpy.pi], [2.5, numpy.pi], (n, size, 2))
    eta, phi = numpy.moveaxis(numpy.where(is_jet[:, :, None], near, far), 2, 0)
    pt = numpy.where(is_jet, 0.5, 0.2) + rng.exponential(numpy.where(is_jet, 3, 0.7))
    kind = rng.integers(7, size=(n, size))
    vertex = numpy.where(kind < 3, numpy.where(is_jet, 0, rng.normal(scale=5, size=(n, size))), 0)
    label = numpy.where((kind >= 3) & (pt > 0.9), is_jet, -100)
    features = [pt, pt * numpy.cosh(eta), pt * numpy.cos(phi), pt * numpy.sin(phi)]
    features += [pt * numpy.sinh(eta), vertex, kind < 3]
    return {
        "fields": {
            **{f"f{i}": (1.0 * values, "1") for i, values in enumerate(features)},
            "kind": (1.0 * kind, "1"),
            "label": label,
        },
        "coordinates": {
            "eta": (eta, "1"),
            "phi": (phi, "1"),
            "log_pt": (numpy.log(pt), "1"),
            "vertex": (vertex, "mm"),
        },
    }


def rows_of(grid, n_lat):
    """Latitudes in degrees from north to south."""
    if grid == "legendre-gauss":
        return numpy.degrees(numpy.arcsin(numpy.polynomial.legendre.leggauss(n_lat)[0][::-1]))
    return numpy.linspace(90, -90, n_lat)


def sphere_axes(grid, size):
    n_lat, n_lon = size
    return {"lat": rows_of(grid, n_lat), "lon": numpy.arange(n_lon) * 360 / n_lon}


def shallow_water(rng, n, size):
    """Waves that travel around the sphere, six states an hour apart. The program shallow_water
    (-data, -nlat 128 -nlon 256) writes solutions of the equations under the same names."""
    axes = sphere_axes("legendre-gauss", size)
    lat, lon = numpy.meshgrid(*(numpy.radians(axis) for axis in axes.values()), indexing="ij")
    time = 3600.0 * numpy.arange(6)
    fields = {}
    for name, mean, scale, unit in (
        ("geopotential", 98000, 400, "m^2/s^2"),
        ("vorticity", 0, 2e-5, "1/s"),
        ("divergence", 0, 2e-6, "1/s"),
    ):
        values = numpy.full((n, len(time), *size), float(mean))
        for m in range(1, 7):
            phase = rng.uniform(0, 2 * numpy.pi, (n, 1, 1, 1))
            amplitude = scale * rng.normal(size=(n, 1, 1, 1)) / m
            turned = m * lon - 2e-5 * m * time[:, None, None] + phase
            values += amplitude * numpy.cos(lat) ** m * numpy.cos(turned)
        fields[name] = (values, unit)
    return {"fields": fields, "coordinates": axes, "time": time, "grid": "legendre-gauss"}


def rooms(rng, n, size):
    """Panoramas of empty rooms: color, depth and kind of surface, six of 14."""
    axes = sphere_axes("equiangular", size)
    lat, lon = numpy.meshgrid(*(numpy.radians(axis) for axis in axes.values()), indexing="ij")
    direction = numpy.cos(lat) * numpy.cos(lon), numpy.cos(lat) * numpy.sin(lon), numpy.sin(lat)
    wall = rng.uniform(1, 5, (n, 6, 1, 1))  # distances of the six sides
    with numpy.errstate(divide="ignore"):
        to_side = numpy.stack([1 / numpy.maximum(s * d, 1e-9) for d in direction for s in (1, -1)])
    distance = wall * to_side
    kind, depth = distance.argmin(1), distance.min(1)
    paint = rng.random((n, 6, 3))
    color = paint[numpy.arange(n)[:, None, None], kind] / (1 + 0.1 * depth[..., None])
    color += 0.02 * rng.normal(size=color.shape)
    known = rng.random(depth.shape) > 0.05  # holes of the scanner
    area = numpy.cos(lat)
    return {
        "fields": {
            **{name: (color[..., i], "1") for i, name in enumerate(("red", "green", "blue"))},
            "depth": (depth, "m"),
            "kind": kind,
        },
        "coordinates": axes,
        "weight": numpy.where(known, area, 0),
        "grid": "equiangular",
    }


# Names of the sets, with the published size, the reduced size, and the samples written by default.
sets = {
    "elasticity": (elasticity, 972, 100, 4),
    "darcy": (darcy, 85, 12, 4),
    "airfoil": (airfoil, (221, 51), (16, 6), 4),
    "pipe": (pipe, 129, 10, 4),
    "drivaerml_40k": (car, 40_000, 200, 2),
    "drivaerml_1m": (car, 1_000_000, 400, 1),
    "lpbf": (lpbf, 40_000, 200, 2),
    "shapenet_car": (car, 3586, 200, 4),
    "listops": (listops, 2000, 64, 32),
    "image": (image, 32, 8, 32),
    "text": (text, 4096, 64, 32),
    "pathfinder": (pathfinder, 32, 8, 32),
    "modelnet40": (modelnet40, 1024, 64, 32),
    "shapenetpart": (shapenetpart, 2048, 64, 16),
    "tracking_60k": (trackml, 56_700, 200, 1),
    "tracking_6k": (trackml, 6800, 200, 1),
    "pileup": (pileup, 10_300, 200, 2),
    "shallow_water": (shallow_water, (128, 256), (16, 32), 2),
    "rooms": (rooms, (128, 256), (16, 32), 8),
}


def write(name, samples=None, points=None, reduced=False, seed=0, folder=".", **options):
    """Writes the training and the test set `name` to a folder. options: see surrogate.dataset."""
    make, size, reduced_size, n_train = sets[name]
    size = points or (reduced_size if reduced else size)
    n_train = samples or n_train
    rng = numpy.random.default_rng(seed)
    for use, n in (("train", n_train), ("test", max(1, n_train // 4))):
        path = f"{folder}/{name}_{use}.h5"
        title = make.__doc__.split("\n")[0]
        dataset.write(path, **make(rng, n, size), title=title, source="make_data.py", **options)
        print(f"{path}: {n} samples")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("name", metavar="SET", choices=sets, help=", ".join(sets))
    parser.add_argument("--samples", type=int, help="training samples; the test set has a quarter")
    parser.add_argument("--points", type=int, help="points of a sample of a cloud")
    parser.add_argument("--reduced", action="store_true", help="size of the reduced recipes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", default=".")
    parser.add_argument("--overwrite", action="store_true")
    write(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
