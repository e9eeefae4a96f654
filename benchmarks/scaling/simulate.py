#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Strong and weak scaling to 4,096 ranks by simulation.

    python3 benchmarks/scaling/simulate.py [--latency 2e-6] [--bandwidth 1e10] [--cases flare,hept]
                                           [--csv FILE] [--figure FILE]
    python3 benchmarks/scaling/simulate.py --check build/bin/family_costs    beside measured runs on 1 and 2 ranks

Work and messages of every rank are the tables of plans (formulas.py), seconds of an operation are measured on one core
(RATES). A rank computes the lines of its table one after the other. Where ranks exchange something, all wait for the
last one, then for the call:

    reduce     log2 P steps of (latency + bytes / bandwidth)
    gather     log2 P latencies, and the bytes of all ranks / bandwidth
    rows       a latency for each rank that rows go to (at most PARTNERS), and the most bytes of a rank / bandwidth
    neighbors  a latency for each message, and the most bytes of a rank / bandwidth
    ring       P - 1 steps; a step takes the longer of its message and of the work meanwhile

An operation is a multiply-add; an exponential counts ten. --figure needs matplotlib.
"""
import argparse
import collections
import csv
import functools
import json
import math
import os
import random
import subprocess
import sys

import formulas
from formulas import Layer

RANKS = [2 ** i for i in range(13)]
POINTS = [10 ** 6, 10 ** 7, 10 ** 8]
PARTNERS = 26  # the solver has blocks of space, as the trees have: rows go to ranks beside

# Seconds of an operation on one core: processor seconds of a run over the operations of its plan (--check prints
# them). Intel Xeon with AVX-512, family_costs, 2026-11-27.
RATES = {"flare": 1.65e-11, "group_compression": 2.17e-11, "bsa": 1.8e-11, "erwin": 2.39e-11, "sequoia": 1.58e-11,
         "hept": 3.34e-11, "neighborhood": 1.95e-11, "global": 1.53e-11}


class Network:
    """A cluster: all messages have one latency and one bandwidth."""

    def __init__(self, latency=2e-6, bandwidth=1e10):
        self.latency, self.bandwidth = latency, bandwidth

    def reduce(self, ranks, collectives, n_byte):
        return math.ceil(math.log2(ranks)) * (collectives * self.latency + n_byte / self.bandwidth)

    def gather(self, ranks, collectives, all_bytes):
        return math.ceil(math.log2(ranks)) * collectives * self.latency + all_bytes / self.bandwidth

    def messages(self, count, n_byte):
        return count * self.latency + n_byte / self.bandwidth


def operations(layer):
    return layer.flops / 2 + 10 * layer.exponentials


def simulate(tables, rate, network):
    """Returns seconds of a run, and those that the busiest rank computes."""
    ranks = len(tables)
    clock, work = [0.0] * ranks, [0.0] * ranks
    for lines in zip(*tables):
        computed = [operations(line) * rate for line in lines]
        work = [a + b for a, b in zip(work, computed)]
        call = lines[0].call if ranks > 1 else None
        most = max(line.bytes for line in lines)
        if call == "ring":
            steps = ranks - 1
            step = network.messages(1, most / steps)
            clock = [max(clock)] * ranks
            clock = [t + c / ranks + steps * max(step, max(computed) / ranks) for t, c in zip(clock, computed)]
            continue
        clock = [t + c for t, c in zip(clock, computed)]
        if call is None or max(line.collectives + line.messages for line in lines) == 0:
            continue
        collectives = max(line.collectives for line in lines)
        if call == "reduce":
            taken = network.reduce(ranks, collectives, most)
        elif call == "gather":
            taken = network.gather(ranks, collectives, sum(line.bytes for line in lines))
        elif call == "rows":
            taken = network.messages(collectives * min(ranks - 1, PARTNERS), most)
        else:
            taken = network.messages(max(line.messages for line in lines), most)
        clock = [max(clock) + taken] * ranks
    return max(clock), max(work)


# ---- clouds of any size ----

FLARE = {"blocks": 8, "channels": 64, "heads": 8, "latents": 128}
BSA = {"c_in": 64, "c_hidden": 64, "depth": 2, "num_heads": 8, "mlp_ratio": 4, "ball_size": 256, "dimensionality": 3,
       "attention_type": "sparse"}
GROUPS = dict(BSA, attention_kwargs={"use_coarse_q_attn": True, "use_coarse_q_importance": True})
ERWIN = {"c_in": 64, "dimensionality": 3, "c_out": 1, "c_hidden": [32, 64], "ball_sizes": [128, 128],
         "enc_num_heads": [2, 4], "enc_depths": [2, 4], "strides": [2], "dec_num_heads": [2], "dec_depths": [2],
         "rotate": 45, "mlp_ratio": 4, "mp_steps": 1, "neighbors": 8}
HEPT = {"block_size": 100, "n_hashes": 3, "num_regions": 150, "num_heads": 8, "h_dim": 24, "n_layers": 4, "in_dim": 15,
        "coords_dim": 6}
CASES = {
    "flare": "FLARE, C = 64, 8 heads, 128 latents, 8 blocks",
    "group_compression": "Ball Sparse Attention, C = 64, balls of 256, group compression, 2 layers",
    "bsa": "the same, a compressed branch for every point",
    "erwin": "Erwin, 32 and 64 channels, balls of 128, 8 blocks",
    "sequoia": "Sequoia, C = 128, 4 heads of 128, k = 16, 2 layers",
    "hept": "HEPT, 8 heads of 24, 3 tables, blocks of 100, 150 regions, 4 layers",
    "neighborhood": "sphere, a layer of neighborhood attention, C = 128",
    "global": "sphere, a layer of global attention, C = 128",
}


def tables_of(name, n, ranks):
    given = formulas.solver_points("contiguous", n, ranks)
    if name == "flare":
        return formulas.flare(FLARE, n, ranks, given)
    if name in ("bsa", "group_compression"):
        return formulas.bsa(BSA if name == "bsa" else GROUPS, n, ranks, given)
    if name == "sequoia":
        return formulas.sequoia({"num_layers": 2}, n, ranks, given)
    if name == "erwin":
        return formulas.erwin(ERWIN, n, ranks, given, ghosts=[cube_ghosts(count, ranks) for count in given])
    if name == "hept":
        return hept_tables(n, ranks, given)
    n_lat = max(8, round(math.sqrt(n / 2)))
    return formulas.sphere({"n_lat": n_lat, "n_lon": 2 * n_lat, "channels": 128, "is_global": name == "global"}, ranks)


def cube_ghosts(n, ranks):
    """Rows that a rank sends, and the ranks that read them, if its n points are a cube and every point reads its 8
    nearest: the rows are a layer around the cube as thick as these are far."""
    if ranks == 1:
        return 0, 0
    reach = (3 * ERWIN["neighbors"] / (4 * math.pi)) ** (1 / 3)
    part = min(1, (ranks - 1) / 26)  # two ranks have one face in common
    return round(part * ((n ** (1 / 3) + 2 * reach) ** 3 - n)), min(ranks - 1, 26)


@functools.lru_cache(None)
def token_sample(ranks, n=8192, most=512):
    """(points sent, points received, parts returned, messages) of each rank, for n points at random and blocks of one
    point. The number of regions is a property of the model, so a rank's ghosts are a fraction of all points that
    depends on the number of ranks only. From 512 ranks on a rank's points are fewer than those of a cell, whole cells
    are its ghosts, and their number stays; their owners are more."""
    if ranks > most:
        n, found = token_sample(most, n, most)
        rows = [found[rank * most // ranks] for rank in range(ranks)]
        return n, [[*row[:3], row[3] * ranks // most] for row in rows]
    draw = random.Random(1)
    first, second = ([draw.random() for _ in range(n)] for _ in range(2))
    ghosts, parts = formulas.Tokens(dict(HEPT, block_size=1), first, second, ranks).exchanged()
    found = [[0, 0, 0, 0] for _ in range(ranks)]
    for (home, to), points in ghosts.items():
        found[home][0] += len(points)
        found[to][1] += len(points)
        found[to][2] += sum(parts[home, to])
        found[home][3] += 1
        found[to][3] += sum(1 for count in parts[home, to] if count)
    return n, found


def hept_tables(n, ranks, given):
    d, block = HEPT["h_dim"], HEPT["block_size"]
    if ranks == 1:
        return formulas.hept(HEPT, n, 1, given)
    n_sample, sample = token_sample(ranks)
    begins, scale, tables = formulas.block_begins(n, block, ranks), n / n_sample, []
    for rank, (sent, received, parts, messages) in enumerate(sample):
        own = begins[rank + 1] - begins[rank]
        pairs = (own // block * block * block + (own % block) ** 2) * HEPT["n_hashes"] * HEPT["num_heads"]
        n_byte = round((sent * d + parts * (d + 1)) * scale) * 4
        exchanged = n_byte, 1 + HEPT["num_heads"], messages
        tables.append(formulas.hept_table(HEPT, given[rank], own, own + received * scale, pairs, exchanged))
    return tables


# Strong scaling of POINTS, and weak scaling with as many points per rank as these have on the most ranks.
# work_seconds: of the busiest rank. lost_to_latency, lost_to_bandwidth: seconds by which a run is shorter without
# latency, or with any bandwidth.
Row = collections.namedtuple("Row", "case kind points ranks seconds work_seconds efficiency lost_to_latency "
                                    "lost_to_bandwidth")


def scaling(name, network, rate):
    """Rows of a case."""
    for kind in ("strong", "weak"):
        for points in POINTS:
            for ranks in RANKS:
                n = points if kind == "strong" else max(1, points * ranks // RANKS[-1])
                alone = sum(map(operations, tables_of(name, n, 1)[0])) * rate
                tables = tables_of(name, n, ranks)
                seconds, work = simulate(tables, rate, network)
                lost = [seconds - simulate(tables, rate, faster)[0]
                        for faster in (Network(0, network.bandwidth), Network(network.latency, math.inf))]
                yield Row(name, kind, n, ranks, seconds, work, alone / (ranks * seconds), *lost)


def half(rows):
    """The smallest number of ranks at which communication takes half of a run."""
    return next((row.ranks for row in rows if row.seconds >= 2 * row.work_seconds), None)


# ---- measured runs ----

# Points of the measured runs. The run for the seconds of an operation has half as many. Global attention has 64 x 128
# instead of 68 x 136, on which it takes 12 % more per operation than on 96 x 192.
MEASURED = {"flare": 40_000, "group_compression": 32_768, "bsa": 32_768, "erwin": 65_536, "sequoia": 65_536,
            "hept": 60_000, "neighborhood": 131_072, "global": 18_432}
FEWER_POINTS = {"global": 8_192}
PROGRAM_NAMES = {"neighborhood": "neighborhood_layer", "global": "global_layer"}


def measure(program, ranks, *words, is_spinning=False):
    """Returns the output of family_costs. is_spinning: waiting ranks keep their core instead of sleeping."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                       OMPI_MCA_hwloc_base_binding_policy="none",
                       OMPI_MCA_mpi_yield_when_idle="0" if is_spinning else "1")
    command = ["mpirun", "-n", str(ranks), program, *map(str, words)]
    job = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return json.loads(job.stdout)


def check(program, names, rounds):
    """Prints measured and simulated seconds of runs on 1 and 2 ranks. Returns whether all are within 10 %.

    A ping-pong of two ranks measures the network, a run of fewer points on one rank the seconds of an operation.
    Compared are processor seconds of the busiest rank, which other programs lengthen less. Runs alternate; of each
    the cheapest counts.
    """
    found = measure(program, 2, "network", is_spinning=True)
    network = Network(found["latency_s"], found["bandwidth"])
    print(f"Ping-pong of two ranks: {1e6 * network.latency:.2f} microseconds, {network.bandwidth / 1e9:.2f} GB/s.\n")
    print("| case | points | seconds of an operation | ranks | processor seconds | simulated | by | seconds |\n"
          + "| --- " * 8 + "|")
    is_right = True
    for name in names:
        n = MEASURED[name]
        fewer = FEWER_POINTS.get(name, n // 2)
        runs = {(fewer, 1): [], (n, 1): [], (n, 2): []}
        for _ in range(rounds):
            for (points, ranks), results in runs.items():
                results.append(measure(program, ranks, PROGRAM_NAMES.get(name, name), 1, points))
        best = {key: min(result["processor_s"] for result in results) for key, results in runs.items()}
        rate = best[fewer, 1] / sum(map(operations, tables_of(name, fewer, 1)[0]))
        for ranks in (1, 2):
            expected, _ = simulate(tables_of(name, n, ranks), rate, network)
            by = expected / best[n, ranks] - 1
            is_right &= abs(by) <= 0.1
            wall = min(result["run_s"] for result in runs[n, ranks])
            print(f"| {name} | {n:,} | {rate:.3g} | {ranks} | {best[n, ranks]:.3g} | {expected:.3g} | "
                  f"{100 * by:+.1f} % | {wall:.3g} |", flush=True)
    return is_right


def figure(rows, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plot
    figure_, axes = plot.subplots(2, len(POINTS), figsize=(12, 7), sharex=True, sharey=True)
    for line, kind in enumerate(("strong", "weak")):
        for column, points in enumerate(POINTS):
            for name in dict.fromkeys(row.case for row in rows):
                series = [row for row in rows if row.case == name and row.kind == kind]
                series = series[column * len(RANKS):(column + 1) * len(RANKS)]
                efficiencies = [100 * row.efficiency for row in series]
                axes[line][column].plot(RANKS, efficiencies, marker="o", markersize=3, label=name)
            axes[line][column].set_title(f"{points:.0e} points" if kind == "strong"
                                         else f"{points // RANKS[-1]:,} points per rank")
            axes[line][column].set_xscale("log", base=2)
            axes[line][column].grid(alpha=0.3)
        axes[line][0].set_ylabel(f"{kind}: efficiency, %")
    for axis in axes[1]:
        axis.set_xlabel("ranks")
    axes[0][0].legend(fontsize=8)
    figure_.tight_layout()
    figure_.savefig(path, dpi=80)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--latency", type=float, default=2e-6, help="seconds of a message, default 2e-6")
    parser.add_argument("--bandwidth", type=float, default=1e10, help="bytes per second of a rank, default 1e10")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--csv", help="a file for all rows")
    parser.add_argument("--figure", help="a picture of the efficiencies")
    parser.add_argument("--check", metavar="PROGRAM", help="family_costs: measures runs on 1 and 2 ranks")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    if arguments.check:
        sys.exit(0 if check(arguments.check, arguments.cases.split(","), arguments.rounds) else 1)
    network, everything = Network(arguments.latency, arguments.bandwidth), []
    print("| case | points | 1 rank | " + " | ".join(f"{ranks:,}" for ranks in RANKS[3::3]) + " | half from |\n"
          + "| --- " * 8 + "|")
    for name in arguments.cases.split(","):
        rows = list(scaling(name, network, RATES[name]))
        everything += rows
        for points in POINTS:
            strong = [row for row in rows if row.kind == "strong" and row.points == points]
            cells = [f"{row.seconds:.2g} s, {100 * row.efficiency:.0f} %" for row in strong[3::3]]
            limit = half(strong)
            print(f"| {CASES[name] if points == POINTS[0] else ''} | {points:.0e} | {strong[0].seconds:.3g} s | "
                  + " | ".join(cells) + f" | {f'{limit:,}' if limit else 'more'} |", flush=True)
    if arguments.csv:
        with open(arguments.csv, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(Row._fields)
            for row in everything:
                writer.writerow(f"{value:.5g}" if isinstance(value, float) else value for value in row)
    if arguments.figure:
        figure(everything, arguments.figure)


if __name__ == "__main__":
    main()
