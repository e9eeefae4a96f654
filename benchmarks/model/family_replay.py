#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicts the time of the hot loops of Ball Sparse Attention, Sequoia, HEPT, the sphere and the wide layers on an H200 from
the compiler's own stall counts: a model, without measurements.

    python3 benchmarks/model/family_replay.py build/lib/libsurrogate_cuda.so.0.2 [--only attend]

Works like stall_replay.py, which lists the assumptions. Here a kernel consists of the passages through its one hot loop; code
before and after it is left out. The loop is found by its contents, its inner loops get the trips of the case, and the
multiply-adds and powers of two of a passage are compared with those in the algorithm: the script fails if they differ. If
branches are not decided by an inner loop, the longer path is counted, except paths for a grown maximum. Blocks of threads per multiprocessor
follow from registers, threads and shared memory. Loads from global memory, near: L1; far: L2.
"""
import argparse
import collections
import dataclasses
import functools
import math
import os
import re
import shutil
import subprocess
import sys

from issue_slots import CHIPS, OPERANDS, Walk
from sass import Graph, Parameters, functions
from stall_replay import L1, L2, QUARTERS, mean_cycles, step, trace

CHIP = CHIPS[0]
REGISTERS, THREADS, SHARED, BLOCKS = 65536, 2048, 227 * 1024, 32  # per multiprocessor
PRODUCT = {"16816": 2048, "1688": 1024, "1684": 512}  # multiply-adds per instruction


@dataclasses.dataclass
class Loop:
    """The hot loop of a kernel at one size."""
    title: str
    kernel: str  # part of the mangled name
    place: tuple  # which of the outermost loops that hold `mark`, by address; then which of the
                  # loops inside, recursively
    trips: list  # trip counts of its inner loops, outer before inner, by address
    passages: float  # per warp
    n_warp: float  # in total
    block_warps: int
    shared: int  # bytes per block
    multiply_adds: float  # per passage and warp, by the algorithm; 0: no products
    powers: float  # powers of two, likewise
    floor: dict  # milliseconds by unit: required by the algorithm, without hidden or padded work
    mark: str = "HMMA"
    note: str = ""


class LoopWalk(Walk):
    """Returns the instructions of one passage, with the trips of the case."""

    def __init__(self, graph, loop, header):
        super().__init__(graph, None, 0)
        self.trips_by_header = dict(zip(self.preorder(header), loop.trips))

    def preorder(self, header):
        found = []
        for inner in sorted(self.graph.inner_loops(self.graph.loops[header], header)):
            found += [inner] + self.preorder(inner)
        return found

    def kind(self, header):
        return "loop"

    def trips(self, header, outer):
        if header not in self.trips_by_header:
            raise RuntimeError(f"no trips given for the loop at {self.graph.code[header].address:#x}")
        return self.trips_by_header[header]

    def is_tail(self, block):
        """Detects code that rescales sums after a grown maximum: products with one factor, and no other operation."""
        counts = self.graph.count(block)
        return self.number(counts, "FMUL") >= 8 and self.number(counts, "FMUL") >= 0.7 * sum(counts.values())

    def is_remainder(self, header, block, inner):
        return False


def hot_loop(graph, loop):
    holds = lambda h: any(re.match(loop.mark, graph.code[i].op) for b in graph.loops[h] for i in graph.blocks[b])
    loops = [h for h in graph.loops if not any(h in body and o != h for o, body in graph.loops.items())]
    for nth in loop.place:
        marked = sorted(h for h in loops if holds(h))
        if nth >= len(marked):
            raise RuntimeError(f"{len(marked)} loops with {loop.mark}")
        loops = graph.inner_loops(graph.loops[marked[nth]], marked[nth])
    return marked[nth]


def check(loop, instructions):
    products = sum(PRODUCT[i.op.split(".")[1]] for i in instructions if i.op.startswith("HMMA"))
    powers = 32 * sum(i.op.startswith("MUFU.EX2") for i in instructions)
    if loop.multiply_adds and abs(products - loop.multiply_adds) > 0.01 * loop.multiply_adds:
        raise RuntimeError(f"{products} multiply-adds a passage counted, {loop.multiply_adds:.0f} expected")
    if not loop.powers <= powers <= 1.6 * loop.powers:
        raise RuntimeError(f"{powers} powers of two a passage counted, {loop.powers:.0f} scores")


def resident_blocks(loop, registers):
    of_warp = -(-registers * 32 // 256) * 256
    return min(REGISTERS // (of_warp * loop.block_warps), THREADS // (32 * loop.block_warps),
               SHARED // (loop.shared + 1024), BLOCKS)


def predict(loop, code, registers, show):
    graph = Graph(code, Parameters(CHIP.first_parameter, b""))
    header = hot_loop(graph, loop)
    walk = LoopWalk(graph, loop, header)
    walk.path(header)
    instructions = [i for _, i in trace(walk, header) if i.guard != "!PT"]  # these have no effect
    check(loop, instructions)
    n_block = math.ceil(loop.n_warp / loop.block_warps)
    most = resident_blocks(loop, registers)
    blocks = -(-n_block // CHIP.n_multiprocessor)  # per multiprocessor, one after another if
                                                   # necessary
    resident = min(most, blocks)
    n_warp = max(1, round(resident * loop.block_warps / QUARTERS))
    rounds = n_block / CHIP.n_multiprocessor / resident if blocks > 4 * most else -(-blocks // resident)
    ms = []
    for load in (L1, L2):
        cycles = mean_cycles([step(i, CHIP, load) for i in instructions], n_warp)
        ms.append(rounds * loop.passages * cycles / (CHIP.gigahertz * 1e6))
        show(f"    loads {load}: {len(instructions)} instructions a passage and warp, {cycles:.0f} cycles for {n_warp} warps, "
             f"{n_warp * len(instructions) / cycles:.2f} a cycle")
    units = CHIP.cycles(collections.Counter(i.op for i in instructions))
    show("    units of a warp's passage, cycles: " + ", ".join(f"{u} {c:.0f}" for u, c in units.most_common(5)))
    return ms, n_warp * QUARTERS


# ---- the cases -------------------------------------------------------------------------------------------------

def floor(powers=0.0, multiply_adds=0.0, float_steps=0.0, operand="fp16"):
    """Returns milliseconds of the units: 16 powers per clock and multiprocessor, 790 TFLOP/s of 16-bit products (132 in three
    of tf32), 128 float instructions per clock."""
    rate = {"fp16": 790e12, "bf16": 790e12, "tf32": 395e12, "fp32": 132e12}[operand]
    clock = CHIP.n_multiprocessor * CHIP.gigahertz * 1e9
    parts = {"powers": powers / (16 * clock), "products": 2 * multiply_adds / rate, "float": float_steps / (128 * clock)}
    return {name: 1e3 * seconds for name, seconds in parts.items() if seconds > 0}


def wide(operand):
    return operand in ("fp32", "tf32")


def factor(operand):
    return 3 if operand == "fp32" else 1


def linear(title, n_row, n_in, n_out, operand, reads_pieces):
    chunk, inputs = (32, 8) if wide(operand) else (64, 16)
    n_block, n_out_tile = math.ceil(n_row / 128), math.ceil(n_out / 128)
    n_split = max(1, min(-(-8 * CHIP.n_multiprocessor // n_block), n_out_tile))
    inputs_bytes = 128 * (min(n_in, 256) * 2 if not wide(operand) else min(n_in, 64) * 4)
    return Loop(f"linear {n_in} x {n_out}, loop over inputs: {title}",
                rf"linear_kernel.*OperandE{OPERANDS.index(operand)}ELb{int(reads_pieces)}E", (0, 0, 0), [chunk / inputs],
                n_in / chunk * n_out_tile / n_split, 8 * n_block * n_split, 8,
                (64 if operand == "fp32" else 32) * 1024 + inputs_bytes, 32 * 64 * chunk * factor(operand), 0,
                floor(multiply_adds=n_row * n_in * n_out, operand=operand))


def row_sums(operand):
    """Returns the multiply-adds that sum a tile of 16-bit probabilities, and the fraction of powers of two on their unit:
    one score in four uses a polynomial."""
    return (0, 1) if wide(operand) else (16 * 8 * 16, 0.75)


@functools.lru_cache
def neighborhood(n_lat, n_lon, cutoff):
    """Returns (pairs, key tiles processed by all tiles of 16 queries) of an equiangular grid with both poles."""
    pairs = tiles = 0
    ring_tiles = -(-n_lon // 16)
    lat = [math.pi / 2 - math.pi * i / (n_lat - 1) for i in range(n_lat)]
    reach = math.ceil(cutoff * (n_lat - 1) / math.pi) + 1
    for i in range(n_lat):
        for j in range(max(0, i - reach), min(n_lat, i + reach + 1)):
            if abs(lat[i] - lat[j]) > cutoff:
                continue
            across = math.cos(lat[i]) * math.cos(lat[j])
            least = (math.cos(cutoff) - math.sin(lat[i]) * math.sin(lat[j])) / across if across > 1e-12 else -1
            half = n_lon if least <= -1 else math.acos(min(1, least)) / (2 * math.pi) * n_lon
            seen = min(n_lon, 2 * int(half) + 1)
            pairs += seen * n_lon
            # An interval of seen + 15 columns with any begin in a tile of 16.
            tiles += ring_tiles * min(ring_tiles, (seen + 15 - 1) / 16 + 1)
    return pairs, tiles


def sphere(title, n_lat, n_lon, channels, n_head, cutoff, operand):
    dim = channels // n_head
    groups = dim // 8
    n_value = 8 if groups <= 8 else 16
    n_tile = n_lat * -(-n_lon // 16)
    pairs, tiles = neighborhood(n_lat, n_lon, cutoff)
    sums, share = row_sums(operand)
    # Four warps of a block share the tiles of keys of 16 queries, two tiles per passage.
    passages = tiles / n_tile / 8
    return Loop(f"attend, head of {dim}: {title}", rf"sphere_attend_cuda.*OperandE{OPERANDS.index(operand)}ELi{n_value}E", (0,),
                [0, 0, groups / (4 if wide(operand) else 8)], passages, 4 * n_tile * n_head, 4, (17 if n_value == 8 else 33) * 1024,
                2 * (256 * dim * 2 * factor(operand) + sums), share * 2 * 256,
                floor(pairs * n_head, pairs * n_head * dim * 2, operand=operand),
                note=f"{100 * pairs / (tiles * 256):.0f} % of pairs seen")


def bsa(title, kind, n, channels, n_head, operand, ball=256, block=8, group=8, n_choice=4, coarse_queries=1):
    dim = channels // n_head
    if dim > 16:
        raise ValueError("heads up to 16 channels")
    n_query = n // coarse_queries
    key_tiles = 1 if wide(operand) else 2  # per step
    keys = {"coarse": n / block, "ball": ball, "chosen": n_choice * block}[kind]
    steps = keys / 16 / key_tiles
    kinds = ["coarse", "ball", "chosen"]
    # A passage is: a step; for a ball 64 keys with their distances; for chosen blocks a group,
    # which fills half of one tile of 16 queries.
    passages, trips, tiles = {"coarse": (steps, [], 2 * key_tiles),
                              "ball": (keys / 64, [32 / n_head, 4 / key_tiles], 8),
                              "chosen": (32 / group, [steps], n_choice * block / 16)}[kind]
    seen = 2 if kind == "chosen" else 1  # tiles of queries in the code, of which a group uses one
    sums, share = row_sums(operand)
    return Loop(f"attend, {kind}, head of {dim}: {title}",
                rf"bsa_attend.*OperandE{OPERANDS.index(operand)}ELi2ELi2.*KeysE{kinds.index(kind)}E", (0,), trips, passages,
                n_head * n_query / 32, n_head, 4 * 32 * 72 if kind == "ball" else 0,
                seen * tiles * (256 * dim * 2 * factor(operand) + sums), share * seen * tiles * 256,
                floor(n_query * n_head * keys, n_query * n_head * keys * dim * 2, operand=operand))


def hept(title, n, n_head, n_table, dim, coordinates, block, operand):
    width, x = -(-dim // 8) * 8, 4 if coordinates <= 4 else 8
    pairs = n * block * n_head * n_table
    n_query = 2 if width <= 24 else 1  # per thread
    n_side = 3 if 3 * block <= 320 else 1  # blocks of tokens side by side
    warps = math.ceil(n_side * math.ceil(block / n_query) / 32)
    blocks = n / (n_side * block) * n_head * n_table
    key = (2 * width + x) * 4
    return Loop(f"attend, head of {dim} + {coordinates}: {title}", rf"hept_attend.*attend_kernelILi{width}ELi{x}E", (0,),
                [64 * n_side * key / 16 / (32 * warps), 64], block / 64, warps * blocks, warps, 64 * n_side * key, 0,
                n_query * 64 * 32,
                floor(powers=pairs, float_steps=pairs * (3 * dim + 2 * coordinates)), mark="MUFU.EX2")


def cases(operand):
    cut = lambda n_lat: 7 / math.sqrt(math.pi) * math.pi / (n_lat - 1)
    return [
        linear("sphere 721 x 1440, q k v", 721 * 1440, 128, 384, operand, False),
        linear("Sequoia, 69,905 nodes, q k v of 4 heads of 128", 69905, 512, 1536, operand, False),
        linear("Sequoia, 69,905 nodes, back", 69905, 512, 512, operand, True),
        sphere("neighborhood, 128 x 256", 128, 256, 128, 1, cut(128), operand),
        sphere("neighborhood, 721 x 1440", 721, 1440, 128, 1, cut(721), operand),
        bsa("65,536 slots", "ball", 65536, 128, 8, operand),
        bsa("65,536 slots", "coarse", 65536, 128, 8, operand),
        bsa("65,536 slots", "chosen", 65536, 128, 8, operand),
        bsa("65,536 slots, group compression", "coarse", 65536, 128, 8, operand, coarse_queries=8),
        hept("60,000 tokens, 3 tables, blocks of 100", 60000, 8, 3, 24, 6, 100, operand),
    ]


def registers_of(binary, cuobjdump):
    text = subprocess.run([cuobjdump, "-res-usage", "-arch", CHIP.architecture, binary], check=True, capture_output=True,
                          text=True)
    return {name: int(n) for name, n in re.findall(r"Function (\S+):\s+REG:(\d+)", text.stdout + text.stderr)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="plug-in")
    parser.add_argument("--operands", default="fp16,fp32")
    parser.add_argument("--only", default="", help="cases whose titles hold this")
    options = parser.parse_args()
    cuobjdump = os.environ.get("CUOBJDUMP") or shutil.which("cuobjdump")
    if not cuobjdump:
        sys.exit("cuobjdump is not here; it comes with the CUDA toolkit (or name it in CUOBJDUMP)")
    code, registers, rows = functions(options.binary, CHIP.architecture, cuobjdump), registers_of(options.binary, cuobjdump), []
    for operand in options.operands.split(","):
        for loop in cases(operand):
            if options.only not in loop.title:
                continue
            found = [n for n in code if re.search(loop.kernel, n)]
            if not found:
                continue
            if len(found) != 1:
                sys.exit(f"{len(found)} functions match {loop.kernel}")
            print(f"{operand}, {loop.title}: {registers[found[0]]} registers")
            try:
                ms, n_warp = predict(loop, code[found[0]], registers[found[0]], print)
            except RuntimeError as problem:
                print(f"    no prediction: {problem}")
                continue
            unit, least = max(loop.floor.items(), key=lambda i: i[1])
            rows.append((operand, loop.title + (f" ({loop.note})" if loop.note else ""), least, unit, ms, ms[0] / least,
                         registers[found[0]], n_warp))
    print("\n| operands | hot loop | floor ms, by | replay ms, loads near / far | near / floor | registers | warps resident |")
    print("|" + " --- |" * 7)
    for operand, title, least, unit, ms, ratio, n_register, n_warp in rows:
        print(f"| {operand} | {title} | {least:.3g}, {unit} | {ms[0]:.3g} / {ms[1]:.3g} | {ratio:.1f} | {n_register} | {n_warp} |")


if __name__ == "__main__":
    main()
