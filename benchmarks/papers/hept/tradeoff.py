#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Error of a sparse kernel against operations: random features, hashing, and the blocks of HEPT.

    python3 tradeoff.py

writes tradeoff.csv, tradeoff.png and collisions.csv beside this file, in four minutes on one core.

After section 3 and figure 2 of the paper on HEPT (arXiv 2402.12535). The kernel is exp(-dist^2 / (2
sigma^2)) up to the radius R = 3 sigma in which a point has 64 neighbors (fewer at the border), and
zero beyond. The error is |approximation - kernel| / |kernel| in the Frobenius norm over all pairs.
A method that evaluates some pairs exactly and leaves out the others has the error of those that it
leaves out.
"""

import csv
import functools
import math
import os

import matplotlib
import numpy as np
from scipy.spatial import cKDTree

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

here = os.path.dirname(os.path.abspath(__file__))
N, NEIGHBORS, AXES, CHANNELS = 30_000, 64, 2, 24
WIDTHS = (0.5, 1, 1.5, 2, 3, 4, 6, 8)  # of the slots of a hash, in units of R
TABLES = (1, 2, 3, 4, 6, 8, 12)
HASHES = (1, 2, 3, 4)  # of which all must agree
STYLES = {"random Fourier features": "k^-", "OR": "C1s-", "OR and AND": "C0o-", "HEPT": "C2D-"}
BLOCKS, REGIONS = (50, 100, 150), (50, 100, 200)  # of HEPT


class Problem:
    """Uniform points in the unit square, their kernel, and its pairs (a, b) within the radius."""

    def __init__(self, random):
        self.points = random.random((N, AXES))
        self.radius = math.sqrt(NEIGHBORS / (math.pi * N))  # of a disc with 64 of N points
        self.pairs = cKDTree(self.points).query_pairs(self.radius, output_type="ndarray")
        a, b = self.pairs.T
        self.distance = np.linalg.norm(self.points[a] - self.points[b], axis=1)
        self.squares = np.exp(-self.distance**2 / self.sigma**2)  # of the kernel
        self.norm = N + 2 * self.squares.sum()  # squared; the diagonal is one

    @property
    def sigma(self):
        return self.radius / 3

    def error_without(self, found):
        return math.sqrt(2 * self.squares[~found].sum() / self.norm)


def fourier_features(problem, n_feature, random):
    """Returns (error, multiply-adds per point) of n_feature / 2 cosines and sines."""
    frequencies = random.standard_normal((AXES, n_feature // 2)) / problem.sigma
    phase = problem.points @ frequencies
    features = np.hstack([np.cos(phase), np.sin(phase)]).astype(np.float32)
    features *= np.float32(math.sqrt(2 / n_feature))
    a, b = problem.pairs.T
    inner = float(N)  # of the kernel and its approximation
    for part in np.array_split(np.arange(len(a)), len(a) // 20_000):
        approximation = np.einsum("ij,ij->i", features[a[part]], features[b[part]])
        inner += 2 * float(np.sqrt(problem.squares[part]) @ approximation)
    gram = features.T @ features
    error = math.sqrt((problem.norm - 2 * inner + float((gram**2).sum())) / problem.norm)
    return error, n_feature * (AXES / 2 + 2 * CHANNELS)


def bucket_of(codes):
    """Returns the number of the bucket of each point from its codes [n, hashes]."""
    _, bucket = np.unique(codes, axis=0, return_inverse=True)
    return bucket.ravel()


def hash_table(problem, width, n_hash, random):
    """Returns (pairs found, pairs evaluated per point) of one table of E2LSH with n_hash hashes."""
    directions, shift = random.standard_normal((AXES, n_hash)), random.random(n_hash)
    bucket = bucket_of(np.floor(problem.points @ directions / (width * problem.radius) + shift))
    a, b = problem.pairs.T
    return bucket[a] == bucket[b], float((np.bincount(bucket).astype(float) ** 2).sum()) / N


def block_table(problem, block, regions, random):
    """Returns the same of a table of HEPT: order by (region, hash), blocks of equal size."""
    first = random.uniform(2, 2 * math.sqrt(regions) - 2)
    region = np.zeros(N, np.int64)
    for axis, n_interval in enumerate((first, regions / first)):
        position = np.argsort(np.argsort(problem.points[:, axis]))
        region = region * (int(n_interval) + 2) + (position * n_interval / N).astype(np.int64)
    order = np.lexsort((problem.points @ random.standard_normal(AXES), region))
    point_block = np.empty(N, np.int64)
    point_block[order] = np.arange(N) // block
    a, b = problem.pairs.T
    return point_block[a] == point_block[b], float(block)


def rows_of_tables(problem, method, parameters, table):
    """Yields rows for rising numbers of tables: a pair counts if one of them has found it."""
    found, evaluated = np.zeros(len(problem.pairs), bool), 0.0
    for n_table in range(1, max(TABLES) + 1):
        one, pairs = table()
        found |= one
        evaluated += pairs
        if n_table in TABLES:
            operations = evaluated * (AXES + CHANNELS)
            yield method, f"{parameters}, {n_table} tables", operations, problem.error_without(
                found
            )


def study(problem, random):
    for n_feature in (16, 64, 256, 1024, 2048):
        error, operations = fourier_features(problem, n_feature, random)
        yield "random Fourier features", f"{n_feature} features", operations, error
    for n_hash in HASHES:
        method = "OR" if n_hash == 1 else "OR and AND"
        for width in WIDTHS:
            table = functools.partial(hash_table, problem, width, n_hash, random)
            yield from rows_of_tables(problem, method, f"{n_hash} hashes of {width:g} R", table)
    for block in BLOCKS:
        for regions in REGIONS:
            table = functools.partial(block_table, problem, block, regions, random)
            name = f"blocks of {block}, {regions} regions"
            yield from rows_of_tables(problem, "HEPT", name, table)


def best(rows):
    """Returns the rows that no other row with fewer operations beats, by rising operations."""
    front = []
    for row in sorted(rows, key=lambda row: row[2]):
        if not front or row[3] < front[-1][3]:
            front.append(row)
    return front


def tables_of_blocks(rows, block):
    """Returns [(tables, multiply-adds, error)] of HEPT, each with the best number of regions."""
    found = {}
    for method, parameters, operations, error in rows:
        if method == "HEPT" and parameters.startswith(f"blocks of {block},"):
            tables = int(parameters.split()[-2])
            found[tables] = min(found.get(tables, (operations, error)), (operations, error))
    return [(tables, *point) for tables, point in found.items()]


def plot(rows, path):
    figure, (axes, blocks) = plt.subplots(1, 2, figsize=(11, 4.5))
    for method, style in STYLES.items():
        front = [
            row[2:] for row in best([row for row in rows if row[0] == method]) if row[3] > 1e-4
        ]
        axes.loglog(*zip(*front), style, markersize=4, label=method)
    axes.axvline(N * (AXES + CHANNELS), color="gray", linestyle=":", label="all pairs")
    axes.set_title(f"{N:,} points, {NEIGHBORS} neighbors")
    axes.legend()
    for block in BLOCKS:
        tables, operations, error = zip(*tables_of_blocks(rows, block))
        (line,) = blocks.loglog(operations, error, "o-", markersize=4, label=f"blocks of {block}")
        text = {"textcoords": "offset points", "fontsize": 8, "color": line.get_color()}
        text["xytext"] = (4, 4) if block == BLOCKS[-1] else (-8, -10)
        for n, *point in zip(tables, operations, error):
            blocks.annotate(n, point, **text)
    ticks = (1000, 2000, 5000, 10000, 20000, 50000)
    blocks.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    blocks.minorticks_off()
    blocks.set_title("HEPT; numbers of tables at the points")
    for panel in (axes, blocks):
        panel.set(xlabel="multiply-adds per point", ylabel="error of the kernel")
    blocks.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def collisions(random, n=400_000):
    """Yields (distance / width, fraction of pairs with equal hashes, lemma E.1) of E2LSH."""
    for ratio in (0.1, 0.25, 0.5, 1.0, 2.0):
        offset = random.random(n)  # of the first point in its slot, in widths
        measured = float(np.mean(np.floor(offset + ratio * random.standard_normal(n)) == 0))
        t = 1 / ratio
        outside = 0.5 * math.erfc(t / math.sqrt(2))
        formula = 1 - 2 * outside - math.sqrt(2 / math.pi) / t * (1 - math.exp(-t * t / 2))
        yield ratio, f"{measured:.4f}", f"{formula:.4f}"


def write(name, header, rows):
    with open(os.path.join(here, name), "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def main():
    random = np.random.default_rng(0)
    rows = list(study(Problem(random), random))
    rounded = [(*row[:2], round(row[2]), f"{row[3]:.4f}") for row in rows]
    write("tradeoff.csv", ("method", "parameters", "multiply-adds", "error"), rounded)
    write("collisions.csv", ("distance / width", "measured", "lemma E.1"), collisions(random))
    plot(rows, os.path.join(here, "tradeoff.png"))
    for bound in (0.5, 0.1, 0.01):
        for method in dict.fromkeys(row[0] for row in rows):
            enough = [row for row in rows if row[0] == method and row[3] <= bound]
            text = "not reached"
            if enough:
                cheapest = min(enough, key=lambda row: row[2])
                text = f"{cheapest[2]:,.0f} multiply-adds ({cheapest[1]})"
            print(f"error {bound}, {method}: {text}")


if __name__ == "__main__":
    main()
