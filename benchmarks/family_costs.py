#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints absolute costs of every family, as two tables in Markdown.

    python3 benchmarks/family_costs.py [--build build] [--rounds 5] [--latency 2e-6] [--bandwidth 1e10] [--ranks N]
                                       [--models flare,hept]

The first table: seconds per point, core and layer, memory and bytes, measured on one rank with one
thread. The second: from 1 to 8 ranks, measured on at most as many ranks as the machine has cores
(--ranks), beyond by formula: the fraction of the work on the busiest rank (by the plan on that
number of ranks) of the measured time, plus its calls and messages on the network of
scaling/simulate.py; the default is a common cluster's network. On one rank seconds are processor
seconds of the cheapest round, which other load lengthens less; on more ranks they are seconds of
the fastest round, which requires an idle machine: --ranks 1 leaves them to the formula. Needs a
build with -DSURROGATE_BENCHMARKS=ON and mpirun.
"""
import argparse
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "scaling"))
import simulate  # noqa: E402

MODELS = {
    "flare": ("FLARE", "C = 64, 8 heads, 128 latents, 8 blocks", 8),
    "group_compression": ("Ball Sparse Attention", "C = 64, balls of 256, group compression, 2 layers", 2),
    "bsa": ("Ball Sparse Attention", "the same with a compressed branch for every point", 2),
    "sequoia": ("Sequoia", "C = 128, 4 heads of 128, k = 16, 2 layers", 2),
    "hept": ("HEPT", "8 heads of 24, 3 tables, blocks of 100, 4 layers", 4),
    "neighborhood": ("Attention on the Sphere", "128 x 256, C = 128, neighborhood, 4 blocks", 4),
    "global": ("Attention on the Sphere", "128 x 256, C = 128, global, 4 blocks", 4),
}
RANKS = (1, 2, 4, 8)


def costs(arguments, model, ranks, rounds):
    """Returns the output of family_costs on n ranks; with 0 rounds it plans only."""
    program = os.path.join(arguments.build, "bin", "family_costs")
    command = ["mpirun", "--oversubscribe", "-n", str(ranks), program, model, str(rounds)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def by_formula(network, model, one, more):
    """Returns the seconds of a run on the ranks of `more`, from the measured time of one rank."""
    if MODELS[model][0] == "Attention on the Sphere":  # exchanges between neighbors; simulate.py has its layers only
        sent = network.messages(more["messages"], more["busiest_bytes"])
    else:
        tables = simulate.tables_of(model, round(more["points"]), more["ranks"])
        sent, _ = simulate.simulate(tables, 0, network)
    return one["processor_s"] * more["busiest_operations"] / one["operations"] + sent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--latency", type=float, default=2e-6)
    parser.add_argument("--bandwidth", type=float, default=1e10)
    parser.add_argument("--ranks", type=int, default=os.cpu_count(), help="how many may be timed, default: the cores")
    parser.add_argument("--models", default=",".join(MODELS))
    arguments = parser.parse_args()
    network, single, scaling = simulate.Network(arguments.latency, arguments.bandwidth), [], []
    for model in arguments.models.split(","):
        family, shape, layers = MODELS[model]
        plans = {ranks: costs(arguments, model, ranks, arguments.rounds if ranks <= arguments.ranks else 0)
                 for ranks in RANKS}
        one = plans[1]
        seconds = one["processor_s"] / one["points"]
        single.append(f"| {family} | {shape} | {one['points']:,.0f} | {seconds:.2g} | {seconds / layers:.2g} | "
                      f"{one['planning_s'] / one['run_s']:.2g} | {one['memory_bytes'] / one['points'] / 1e3:.2g} KB |")
        times = []
        for ranks, plan in plans.items():
            measured = "run_s" in plan
            key = "processor_s" if ranks == 1 else "run_s"
            time = plan[key] if measured else by_formula(network, model, one, plan)
            mark = "" if measured else "*"
            times.append(f"{time:.2g} s{mark}, {plan['busiest_bytes'] / 1e6:.2g} MB" if ranks > 1 else f"{time:.2g} s")
        scaling.append(f"| {family}, {shape} | " + " | ".join(times) + " |")
        print(f"{model}: {one['vector']}", flush=True)
    print("\n| family | model | points | seconds per point and core | per layer | planning / a run | "
          "memory per point |\n" + "| --- " * 7 + "|")
    print("\n".join(single))
    print("\n| a run, and what its busiest rank sends | "
          + " | ".join(f"{n} rank{'s' if n > 1 else ''}" for n in RANKS) + " |\n" + "| --- " * 5 + "|")
    print("\n".join(scaling))
    print("\n\\* by formula")


if __name__ == "__main__":
    main()
