#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicts the time of encode and decode of FLARE from the compiler's own stall counts: a model, without measurements.

    python3 benchmarks/model/stall_replay.py build/lib/libsurrogate_cuda.so.0.2 [--points 1000000] [--latents 128,256]

issue_slots.py counts instructions; this script computes the cycle in which each can issue. The instructions of one
passage of a block of points, found by the same method, are replayed in order for all warps of one quarter of an H200's multiprocessor.
An instruction waits until
    - the stall count of the previous instruction of its warp has elapsed,
    - the barriers it names have been released by the loads, powers, shuffles that set them,
    - its unit is free; units are shared by the warps of the quarter, shared memory by all four quarters,
and one instruction per cycle issues. Results are means over schedules (the same warp first; the least recent first) and over
distances between the warps. Latencies are assumed: LDS 30 cycles, SHFL 24, MUFU 22, and loads from global memory twice: near,
as if all were in the L1 cache (40), and far, as with many points: queries of encode in L2 (270), x and the keys of
decode in memory (700), weights of the norms in L1. Results of products are available according to the stall counts. Not modeled: instruction
cache, register banks, divergence, barriers of the block beyond the ends of encode's phases, the small kernels. The estimated error is 20 %.
"""
import argparse
import collections
import itertools
import os
import re
import shutil
import sys

from issue_slots import C, CHIPS, H, OPERANDS, Case, Walk, check
from sass import Graph, functions

QUARTERS = 4
LATENCY = {"LDS": 30, "LD": 38, "SHFL": 24, "MOVM": 34, "MUFU": 22, "I2F": 22, "F2I": 22, "LDC": 30, "ULDC": 30}
L1, L2, MEMORY = 40, 270, 700

# One instruction in the replay: its unit, the cycles for which it occupies the unit, the cycles
# until its result is available, control.
Step = collections.namedtuple("Step", "unit busy latency stall write read wait")


def trace(walk, header):
    """Returns [(loop's kind, instruction)] of one passage through a loop, inner loops repeated by their trips."""
    steps, inner = [], set(walk.graph.inner_loops(walk.graph.loops[header], header))
    for node in walk.ways[header]:
        if node in inner:
            steps += trace(walk, node) * round(walk.trips_of[node])
        elif node not in walk.rare:
            steps += [(walk.kind(header), walk.graph.code[i]) for i in walk.graph.blocks[node]]
    return steps


def is_attention(kind):
    return kind in ("scores", "groups")


def load_latency(case, kind, op, where):
    """Returns the latency of a load from global memory. One word: norms; several: fragments of x, queries, keys."""
    if where == "near" or not re.search(r"\.(64|128)", op):
        return L1
    return L2 if is_attention(kind) and case.which == "encode" else MEMORY


def step(instruction, chip, load):
    base = instruction.op.split(".")[0]
    unit, busy = "none", 1
    for name, cycles in chip.cost(instruction.op)[1:]:
        # Four quarters share one path to shared and global memory.
        unit, busy = ("memory", QUARTERS * cycles) if name.endswith("memory") else (name, cycles)
    latency = load if base in ("LDG", "ATOMG") else LATENCY.get(base, 8)
    control = instruction.control
    return Step(unit, busy, latency + busy, max(1, control.stall), control.write, control.read, control.wait)


def replay(steps, n_warp, distance, is_greedy):
    """Returns the cycles in which n_warp warps, `distance` cycles apart, execute the steps."""
    place, ready = [0] * n_warp, [w * distance for w in range(n_warp)]
    barriers = [[0] * 6 for _ in range(n_warp)]
    free = collections.defaultdict(int)
    clock, last = 0, 0
    waiting = set(range(n_warp))
    while waiting:
        can = {}
        for w in waiting:
            s = steps[place[w]]
            at = max(ready[w], free[s.unit])
            for b in range(6):
                if s.wait >> b & 1:
                    at = max(at, barriers[w][b])
            can[w] = at
        clock = max(clock, min(can.values()))
        now = [w for w, at in can.items() if at <= clock]
        w = last if is_greedy and last in now else min(now, key=lambda w: (w - last - 1) % n_warp)
        s = steps[place[w]]
        if s.unit != "none":
            free[s.unit] = clock + s.busy
        if s.write < 6:
            barriers[w][s.write] = max(barriers[w][s.write], clock + s.latency)
        if s.read < 6:
            barriers[w][s.read] = max(barriers[w][s.read], clock + 8 + s.busy)
        ready[w] = clock + s.stall
        place[w] += 1
        if place[w] == len(steps):
            waiting.remove(w)
        last = w
        clock += 1
    return clock


def mean_cycles(steps, n_warp):
    runs = [replay(steps, n_warp, distance, is_greedy) - (n_warp - 1) * distance / 2
            for distance, is_greedy in itertools.product((37, 400), (False, True))]
    return sum(runs) / len(runs)


def passage(case, code, n_latent_tile, chip, where, show):
    """Returns the cycles of one block of points in one launch."""
    graph = Graph(code, case.parameters(n_latent_tile))
    walk = Walk(graph, case, n_latent_tile)
    points = [h for h in graph.loops if walk.kind(h) == "points"]
    outermost = [h for h in points if not any(h in graph.loops[o] and h != o for o in points)]
    if len(outermost) != 1:
        raise RuntimeError(f"{len(outermost)} loops over points")
    check(case, walk, walk.path(outermost[0]), n_latent_tile)
    whole = trace(walk, outermost[0])
    steps = [(k, step(i, chip, load_latency(case, k, i.op, where))) for k, i in whole]
    if case.which == "encode":  # a barrier between both
        phases = [("layers, norms", [s for k, s in steps if not is_attention(k)]),
                  ("attention", [s for k, s in steps if is_attention(k)])]
    else:
        phases = [("attention, layers, norms", [s for _, s in steps])]
    total = 0
    for title, instructions in phases:
        n_warp = case.n_warp // QUARTERS
        cycles = mean_cycles(instructions, n_warp)
        show(f"    {title}, loads {where}: {len(instructions)} instructions a warp, {cycles:.0f} cycles for "
             f"{n_warp} warps, {n_warp * len(instructions) / cycles:.2f} a cycle")
        total += cycles
    return total


def predict(case, code, chip, where, show):
    n_unit = -(-case.n_point // case.rows)
    units = -(-n_unit // chip.n_multiprocessor)
    ms = 0
    for n_latent_tile, n_launch in collections.Counter(case.passes).items():
        cycles = passage(case, code, n_latent_tile, chip, where, show)
        ms += n_launch * cycles * units / (chip.gigahertz * 1e6)
    return ms


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", nargs="+", help="plug-in, or objects of flare_encode_cuda.cu and flare_decode_cuda.cu")
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--latents", default="128,256")
    parser.add_argument("--operands", default="fp16,fp32")
    parser.add_argument("--tiling", default="16x1x4", help="of 16-bit operands, as the binary was compiled")
    options = parser.parse_args()
    cuobjdump = os.environ.get("CUOBJDUMP") or shutil.which("cuobjdump")
    if not cuobjdump:
        sys.exit("cuobjdump is not here; it comes with the CUDA toolkit (or name it in CUOBJDUMP)")
    chip, code, rows = CHIPS[0], {}, []
    for binary in options.binary:
        code.update(functions(binary, chip.architecture, cuobjdump))
    print(f"N = {options.points}, C = {C}, {H} heads of {C // H}; {chip.name}; a model, nothing measured.\n")
    for operand in options.operands.split(","):
        for n_latent in (int(m) for m in options.latents.split(",")):
            row = [operand, str(n_latent)]
            for which in ("encode", "decode"):
                case = Case(which, operand, options.points, n_latent, chip,
                            tuple(int(n) for n in options.tiling.split("x")))
                name = f"{which}_kernelILNS.*OperandE{OPERANDS.index(operand)}ELi{C}E"
                found = [c for n, c in code.items() if re.search(name, n)]
                if len(found) != 1:
                    sys.exit(f"{len(found)} functions match {name}")
                print(f"{operand}, M = {n_latent}, {which}")
                row += [predict(case, found[0], chip, where, print) for where in ("near", "far")]
            rows.append(row)
    print("\n| operands | M | encode ms, loads near / far | decode ms | block ms |")
    print("|" + " --- |" * 5)
    for operand, n_latent, *ms in rows:
        print(f"| {operand} | {n_latent} | {ms[0]:.2f} / {ms[1]:.2f} | {ms[2]:.2f} / {ms[3]:.2f} | "
              f"{ms[0] + ms[2]:.2f} / {ms[1] + ms[3]:.2f} |")


if __name__ == "__main__":
    main()
