#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks every family on many ranks, more than this machine has cores.

    python3 benchmarks/scaling/many_ranks.py build/bin/many_ranks [--ranks 16,32,64] [--cases flare,hept]
                                             [--partitions scattered] [--launcher "mpirun --oversubscribe"]

For each case, partition (contiguous, scattered, uneven with a rank without points) and mode: numbers are those of one
rank (bitwise, by a hash, in reproducible mode), the bytes that the library counts are those at the calls of MPI and
those of the plan's table, and the table of every rank is what formulas.py says: bytes, collectives and messages
exactly, operations to the three digits that the table has. Prints a table in Markdown; exit status 1 if something
differs.
"""
import argparse
import json
import os
import subprocess
import sys

import formulas

# As the tests: no single copies between processes of one node, and waiting ranks sleep (many_ranks.cpp).
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
               "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def close(found, expected):
    return abs(found - expected) <= 0.006 * max(abs(expected), abs(found)) + 100


def differences(plan):
    """Texts of what differs from the formulas."""
    expected = formulas.tables(plan["case"], plan["facts"], plan["n"], plan["ranks"], plan["partition"],
                               plan["reproducible"])
    is_bound = plan["case"] in ("bsa", "group_compression")
    for rank, (table, found) in enumerate(zip(expected, plan["tables"])):
        if len(table) != len(found["layers"]):
            yield f"rank {rank}: {len(found['layers'])} lines, expected {len(table)}"
            continue
        for line, (name, flops, exponentials, n_byte, collectives, messages) in zip(table, found["layers"]):
            where = f"rank {rank}, {name}: "
            if not close(flops, line.flops) or not close(exponentials, line.exponentials):
                yield (where + f"{flops:g} flops and {exponentials:g} exponentials, "
                       f"expected {line.flops:g} and {line.exponentials:g}")
            if is_bound and name.endswith("selected, mlp"):
                if n_byte > line.bytes or collectives > line.collectives:
                    yield (where + f"{n_byte:.0f} bytes in {collectives:.0f} collectives, "
                           f"expected at most {line.bytes} in {line.collectives}")
                continue
            if (n_byte, collectives, messages) != (line.bytes, line.collectives, line.messages):
                yield (where + f"{n_byte:.0f} bytes, {collectives:.0f} collectives, {messages:.0f} messages, "
                       f"expected {line.bytes}, {line.collectives}, {line.messages}")
        has_ring = plan["case"] == "full" and not plan["reproducible"]
        rings = sum(layer[4] for layer in found["layers"] if has_ring and layer[0].endswith("attention"))
        if found["mpi_messages"] != sum(layer[5] for layer in found["layers"]) + rings:
            yield f"rank {rank}: MPI has sent {found['mpi_messages']} messages"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--ranks", default="16,32,64")
    parser.add_argument("--cases", default="", help="default: all")
    parser.add_argument("--partitions", default="", help="default: all")
    parser.add_argument("--launcher", default="mpirun --oversubscribe")
    arguments = parser.parse_args()
    is_right = True
    print("| case | points | ranks | partition | planning | bytes of the busiest rank, of all | equal to one rank | "
          "formulas |\n" + "| --- " * 8 + "|", flush=True)
    for ranks in arguments.ranks.split(","):
        words = [word for word in f"{arguments.cases},{arguments.partitions}".split(",") if word]
        command = [*arguments.launcher.split(), "-n", ranks, arguments.program, *words]
        job = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ, **ENVIRONMENT))
        for line in job.stdout:
            plan = json.loads(line)
            wrong = list(differences(plan))
            is_right &= not wrong and plan["right"]
            sent = [rank["bytes"] for rank in plan["tables"]]
            same = f"hash {plan['hash']}" if plan["reproducible"] else f"to {plan['difference']:.1g}"
            if not plan["right"]:
                same = "NO: " + same + f" ({plan['hash_of_one_rank']} alone), or bytes differ"
            mode = ", reproducible" if plan["reproducible"] else ""
            print(f"| {plan['case']} | {plan['n']:,} | {ranks} | {plan['partition']}{mode} | "
                  f"{plan['planning_s']:.1f} s | {max(sent):,}, {sum(sent):,} | {same} | "
                  f"{'hold' if not wrong else 'NO'} |", flush=True)
            for text in wrong[:8]:
                print("    " + text, file=sys.stderr, flush=True)
        is_right &= job.wait() == 0
    sys.exit(0 if is_right else 1)


if __name__ == "__main__":
    main()
