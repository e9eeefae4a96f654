#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicts the minimum time of encode and decode of FLARE from their issued instructions: a model, without measurements.

    python3 benchmarks/model/issue_slots.py build/lib/libsurrogate_cuda.so.0.2 [--points 1000000] [--latents 128,256,2048]

Width 64, 8 heads of 8. Machine code is read by cuobjdump (CUDA toolkit; or the environment's CUOBJDUMP). Branches that the
kernel's parameters decide are followed; for others the longer path is counted, except paths for the last points only. Loops
are weighted by their trips, and every step of the sum is printed. The counts of products and powers of two are compared with
the algorithm; the script fails if they differ.
"""
import argparse
import collections
import ctypes
import os
import re
import shutil
import sys

from sass import Graph, Parameters, functions

C, H, D, N_LAYER = 64, 8, 8, 5
OPERANDS = ["fp32", "tf32", "fp16", "bf16"]  # as in kernels/device/operand.hpp


class Chip:
    """Cycles for which a warp's instruction occupies a unit. A multiprocessor has four quarters, each with its own units except
    the last two, which all share: their cycles are cycles of the multiprocessor.

    Sources: CUDA C++ Programming Guide, "Throughput of native arithmetic instructions" (results per clock and multiprocessor:
    32-bit float add, multiply, fma 64 on 8.0 and 128 on 9.0; special functions 16; 32-bit integer, compare, minimum,
    conversions, multiply-add of integers 64; shuffles 32). Products: A100 datasheet, 312 TFLOP/s of fp16 at 1.41 GHz = 1024
    fma per clock. H200 datasheet, 989 TFLOP/s = 4096 fma per clock by wgmma; mma.sync, which these kernels use, was measured at
    62 % of that on H100 (arXiv:2402.13499). Shared memory: 128 bytes per clock."""

    def __init__(self, name, architecture, first_parameter, n_multiprocessor, gigahertz, float_cycles, fma_of_quarter):
        self.name, self.architecture, self.first_parameter = name, architecture, first_parameter
        self.n_multiprocessor, self.gigahertz = n_multiprocessor, gigahertz
        self.float_cycles, self.fma_of_quarter = float_cycles, fma_of_quarter

    def product_cycles(self, op):
        fma = {"16816": 16 * 8 * 16, "1688": 16 * 8 * 8, "1684": 16 * 8 * 4}[op.split(".")[1]]
        return fma / (self.fma_of_quarter / (2 if "TF32" in op else 1))

    def cost(self, op):
        """Returns [(unit, cycles)] of one instruction of a warp."""
        base = op.split(".")[0]
        costs = [("issue", 1)]
        wide = 4 if ".128" in op else 2 if ".64" in op else 1
        if base == "MUFU":
            costs.append(("special", 8))
        elif base == "HMMA":
            costs.append(("products", self.product_cycles(op)))
        elif base in ("FADD", "FMUL", "FFMA"):
            costs.append(("float", self.float_cycles))
        elif base.startswith("IMAD"):
            costs.append(("float", 2))
        elif base in ("LDS", "STS", "LD", "ST"):
            costs.append(("shared memory", wide))
        elif base in ("SHFL", "MOVM"):
            costs.append(("shared memory", 1))
        elif base in ("LDG", "STG", "LDGSTS"):
            costs.append(("global memory", wide))
        elif base not in ("BRA", "BSSY", "BSYNC", "NOP", "BAR", "WARPSYNC", "EXIT", "DEPBAR", "LDGDEPBAR") \
                and not base.startswith("U"):
            costs.append(("integer, compare, convert", 2))
        return costs

    def cycles(self, counts):
        """Returns {unit: cycles of a quarter} for the instructions of one warp."""
        sums = collections.Counter()
        for op, n in counts.items():
            for unit, cycles in self.cost(op):
                # Four quarters share the memory units: one warp of each.
                sums[unit] += n * cycles * (4 if unit.endswith("memory") else 1)
        return sums


CHIPS = [
    Chip("H200", "sm_90a", 0x210, 132, 1.98, 1, 1024 * 0.62),
    Chip("A100", "sm_80", 0x160, 108, 1.41, 2, 256),
]


# ---- parameters of the kernels, as in flare_device.hpp -----------------------------------------

def struct(name, *fields):
    return type(name, (ctypes.Structure,), {"_fields_": fields})


I32, U32, I64, POINTER, F32, BOOL = (ctypes.c_int32, ctypes.c_uint32, ctypes.c_int64, ctypes.c_uint64, ctypes.c_float,
                                     ctypes.c_bool)
Shape = struct("Shape", ("n_head", I64), ("n_latent", I64), ("n_dim", I64), ("width", I64), ("n_dim_padded", I64))
Geometry = struct("Geometry", ("n_block", I64), ("n_pass", I64), ("tiles_per_pass", I64), ("shared_bytes", I64),
                  ("resident", BOOL), ("variant", I32), ("n_thread", I32))
Norm = struct("Norm", ("kind", I32), ("eps", F32), ("weight", POINTER), ("bias", POINTER))
Mlp = struct("Mlp", ("layers", POINTER), ("n_layer", I32), ("residual_mask", U32), ("activation", I32))
EncodeArgs = struct("EncodeArgs", ("shape", Shape), ("operand", I32), ("geometry", Geometry), ("n_point", I64), ("x", POINTER),
                    ("norm", Norm), ("k_norm", Norm), ("k_proj", Mlp), ("v_proj", Mlp), ("queries", POINTER), ("k", POINTER),
                    ("partials", POINTER), ("v_max", POINTER))
DecodeArgs = struct("DecodeArgs", ("shape", Shape), ("operand", I32), ("n_point", I64), ("queries", POINTER), ("k", POINTER),
                    ("z", POINTER), ("out_proj", Mlp), ("norm", Norm), ("ffn", Mlp), ("x", POINTER),
                    ("variant", I32))
Encode = struct("Encode", ("args", EncodeArgs), ("first_latent_tile", I32), ("n_latent_tile", I32))
Decode = struct("Decode", ("args", DecodeArgs), ("weight_bytes", I32), ("resident", BOOL), ("latents_fit", BOOL))

SOME = 0x7F0000001000  # an address that is not null
RARE = 1_000_000  # instructions added to a path that does not pass a block


class Case:
    """One pass at one size: arguments of the kernel, and requirements of the algorithm."""

    def __init__(self, which, operand, n_point, n_latent, chip, narrow=(16, 1, 4)):
        self.which, self.operand, self.n_point, self.n_latent, self.chip = which, operand, n_point, n_latent, chip
        self.is_wide = operand in ("fp32", "tf32")
        # tiling_of() of flare_tiling.hpp: warps, tiles of 16 points a warp, tiles whose scores a warp holds.
        self.n_warp, self.n_tile, self.chunk = (8, 1, 4) if self.is_wide else narrow
        self.rows = self.n_warp * 16 * self.n_tile
        self.latent_tiles = (n_latent + 15) // 16
        # Latents whose sums fit beside the weights; see encode_geometry() of flare_device.cpp.
        self.layer_bytes = C * C * (8 if operand == "fp32" else 4 if self.is_wide else 2)
        self.weights_resident = True
        self.passes = [H * self.latent_tiles]
        if which == "encode":
            self.cut_encode()

    def cut_encode(self):
        shared = (227 if self.chip.name == "H200" else 163) * 1024
        exchange = self.rows * C * 2 * (4 if self.is_wide else 2)
        per_tile, resident = 2 * 512, 2 * N_LAYER * self.layer_bytes
        total = H * self.latent_tiles
        room = lambda weights: (shared - exchange - weights) // per_tile
        self.weights_resident = room(resident) >= total
        most = min(total, room(resident if self.weights_resident else 2 * self.layer_bytes))
        n_pass = -(-total // most)
        each = -(-total // n_pass)
        self.passes = [min(each, total - each * i) for i in range(n_pass)]

    def parameters(self, n_latent_tile):
        shape = Shape(H, self.n_latent, D, C, D)
        norm, chain, one = Norm(0, 1e-5, SOME, SOME), Mlp(SOME, N_LAYER, 31, 1), Mlp(SOME, 1, 0, 1)
        operand = OPERANDS.index(self.operand)
        if self.which == "encode":
            geometry = Geometry(self.chip.n_multiprocessor, len(self.passes), n_latent_tile, 0, self.weights_resident)
            launch = Encode(EncodeArgs(shape, operand, geometry, self.n_point, SOME, norm, Norm(), chain, chain, SOME, SOME,
                                       SOME, 0), 0, n_latent_tile)
        else:
            launch = Decode(DecodeArgs(shape, operand, self.n_point, SOME, SOME, SOME, one, norm, chain, SOME),
                            6 * self.layer_bytes, True, True)
        return Parameters(self.chip.first_parameter, bytes(launch))

    # Work of one warp in the passage of one block of points.
    def expected_layers(self):
        return (2 * N_LAYER if self.which == "encode" else N_LAYER + 1) * self.n_tile

    def expected_exponentials(self, n_latent_tile):
        """Returns the scores per lane: a tile of 16 latents x 16 points has 8 per lane."""
        tiles = n_latent_tile * (self.rows // 16)  # of latents x points, for all warps
        return tiles * 8 / self.n_warp


class Walk:
    """Instructions of one passage through a loop, by purpose."""

    def __init__(self, graph, case, n_latent_tile):
        self.graph, self.case, self.n_latent_tile = graph, case, n_latent_tile
        self.memory = {}
        self.lines = []
        self.ways, self.trips_of, self.rare = {}, {}, set()  # the path through each loop, for a
                                                             # replay

    def whole(self, header):
        return sum((self.graph.count(b) for b in self.graph.loops[header]), collections.Counter())

    @staticmethod
    def number(counts, expression):
        return sum(n for op, n in counts.items() if re.search(expression, op))

    def kind(self, header):
        counts = self.whole(header)
        products = self.number(counts, "HMMA")
        exponentials, activations = self.number(counts, "MUFU.EX2"), self.number(counts, "MUFU.(TANH|RCP)")
        if not products:
            return "copies" if self.number(counts, "LDGSTS") else "others"
        inner = [self.kind(h) for h in self.graph.inner_loops(self.graph.loops[header], header)]
        if "layers" in inner or "points" in inner:
            return "points"
        if activations >= 16 and activations * 2 >= exponentials:
            return "layers"
        return "scores" if exponentials >= 16 else "groups"

    def trips(self, header, outer):
        """Returns the trips of a loop for one passage of the loop around it; `outer`: kinds from the outside."""
        kind, case = self.kind(header), self.case
        if kind == "points":
            return 1
        if kind == "layers":
            return None  # shared among the layer loops at the same position, see below
        if kind == "copies":
            return 0 if case.weights_resident else case.layer_bytes / 16 / (32 * case.n_warp)
        if kind == "groups":
            return 1
        if kind == "scores":
            depth = outer.count("scores")
            nest = self.score_depth(header)
            if case.which == "encode":
                # Tiles of latents of this warp, then chunks of points.
                return [self.n_latent_tile / case.n_warp, case.rows / 16 / case.chunk][depth]
            # Tiles of points, heads, chunks of latents; a part that runs once may not be a loop any
            # more.
            dimensions = [case.n_tile, H, max(1, case.latent_tiles / case.chunk)]
            while len(dimensions) > depth + nest and 1 in dimensions:
                dimensions.reverse()
                dimensions.remove(1)
                dimensions.reverse()
            return dimensions[depth]
        return 0

    def score_depth(self, header):
        inner = [h for h in self.graph.inner_loops(self.graph.loops[header], header) if self.kind(h) == "scores"]
        return 1 + max((self.score_depth(h) for h in inner), default=0)

    def is_tail(self, block):
        """Returns True for code of the last points or latents only: comparisons, and no work."""
        counts = self.graph.count(block)
        work = self.number(counts, "HMMA|MUFU|LDS|STS|LDG|STG|SHFL|MOVM|FFMA|FADD|FMUL")
        return not work and self.number(counts, "ISETP") >= 8

    def is_remainder(self, header, block, inner):
        """Returns True for latents after the last chunk: decode has code for fewer beside the loop over chunks."""
        has_chunks = any(self.kind(h) == "scores" and not self.score_depth(h) > 1 for h in inner)
        return self.case.which == "decode" and self.case.latent_tiles % self.case.chunk == 0 and self.kind(header) == "scores" \
            and has_chunks and self.number(self.graph.count(block), "HMMA|MUFU.EX2") > 0

    def path(self, header, outer=()):
        """Returns {part: counts} of one passage through the loop's body: the longest path, inner loops with their trips."""
        if header in self.memory:
            return self.memory[header]
        graph = self.graph
        body = graph.loops[header]
        inner = {h: graph.loops[h] for h in graph.inner_loops(body, header)}
        home = {b: h for h, blocks in inner.items() for b in blocks}
        node = lambda b: home.get(b, b)
        kind = self.kind(header)
        part = {"layers": "layers", "scores": "attention", "groups": "attention"}.get(kind, "rest")
        weights = {}
        for b in body:
            if node(b) in weights:
                continue
            n = node(b)
            if n in inner and n != header:
                trips = self.trips(n, outer + (kind,))
                if trips is None:
                    trips = N_LAYER
                    if self.case.which == "decode" and self.kind(n) == "layers":
                        trips = self.layer_trips(n, inner)
                self.trips_of[n] = trips
                inside = self.path(n, outer + (kind,))
                weights[n] = {p: collections.Counter({op: c * trips for op, c in counts.items()})
                              for p, counts in inside.items()}
                self.lines.append((graph.code[n].address, self.kind(n), len(outer) + 1, trips,
                                   {p: sum(c.values()) for p, c in inside.items()}))
            else:
                is_rare = self.is_tail(b) or self.is_remainder(header, b, inner)
                if is_rare:
                    self.rare.add(b)
                weights[n] = {part: collections.Counter() if is_rare else graph.count(b)}
        self.memory[header] = self.longest(header, body, node, weights)
        return self.memory[header]

    def layer_trips(self, header, inner):
        """Handles decode, which has an output projection of one layer, often not a loop any more, and a chain of five, in order."""
        layers = sorted(h for h in inner if self.kind(h) == "layers")
        return [1, N_LAYER][layers.index(header)] if len(layers) == 2 else N_LAYER

    def longest(self, header, body, node, weights):
        # The longest path around the code for the last points or latents.
        size = {n: -RARE if n in self.rare else sum(sum(c.values()) for c in parts.values())
                for n, parts in weights.items()}
        before = collections.defaultdict(set)
        for b in body:
            for s in self.graph.edges[b]:
                if s in body and node(s) != node(b) and s != header:
                    before[node(s)].add(node(b))
        best, ways = {}, {}
        order, seen = [], set()

        def visit(n):
            stack = [(n, iter(before[n]))]
            seen.add(n)
            while stack:
                m, rest = stack[-1]
                for p in rest:
                    if p not in seen:
                        seen.add(p)
                        stack.append((p, iter(before[p])))
                        break
                else:
                    order.append(m)
                    stack.pop()
        for n in weights:
            if n not in seen:
                visit(n)
        for n in order:
            previous = max((p for p in before[n]), key=lambda p: best.get(p, 0), default=None)
            best[n] = size[n] + (best.get(previous, 0) if previous is not None else 0)
            ways[n] = previous
        ends = {node(b) for b in body if header in self.graph.edges[b]}
        n = max(ends, key=lambda e: best[e])
        total = collections.defaultdict(collections.Counter)
        way = self.ways[header] = []
        while n is not None:
            way.insert(0, n)
            for p, counts in weights[n].items():
                total[p].update(counts)
            n = ways[n]
        return dict(total)


def predict(case, code, show):
    """Returns milliseconds of one pass and the unit that limits it."""
    n_unit = -(-case.n_point // case.rows)
    units_of_block = -(-n_unit // case.chip.n_multiprocessor)
    milliseconds, limits = 0, []
    for number, (n_latent_tile, n_launch) in enumerate(sorted(collections.Counter(case.passes).items(), reverse=True)):
        graph = Graph(code, case.parameters(n_latent_tile))
        walk = Walk(graph, case, n_latent_tile)
        outermost = [h for h in graph.loops if walk.kind(h) == "points"
                     and not any(h in b and h != o for o, b in graph.loops.items() if walk.kind(o) == "points")]
        if len(outermost) != 1:
            raise RuntimeError(f"{len(outermost)} loops over points")
        parts = walk.path(outermost[0])
        check(case, walk, parts, n_latent_tile)
        phases = [("layers, norms", ("layers", "rest")), ("attention", ("attention",))]
        total = 0
        for title, names in phases:
            counts = sum((parts.get(n, collections.Counter()) for n in names), collections.Counter())
            # A quarter of the block's warps.
            cycles = {unit: c * case.n_warp / 4 for unit, c in case.chip.cycles(counts).items()}
            limit = max(cycles, key=cycles.get)
            total += cycles[limit]
            if number == 0:
                limits.append(limit)
                show(f"    {title}: {sum(counts.values()):.0f} instructions a warp for {case.rows} points of its block")
                show("      " + ", ".join(f"{op} {n:.0f}" for op, n in counts.most_common(12)))
                show("      cycles: " + ", ".join(f"{u} {c:.0f}" for u, c in sorted(cycles.items(), key=lambda i: -i[1]))
                     + f"; limit: {limit}")
        ms = n_launch * total * units_of_block / (case.chip.gigahertz * 1e6)
        show(f"    {n_launch} launch(es), {n_latent_tile} tiles of latents: {total:.0f} cycles x {units_of_block} blocks of "
             f"points a multiprocessor / {case.chip.gigahertz} GHz = {ms:.3f} ms")
        milliseconds += ms
    return milliseconds, limits


def check(case, walk, parts, n_latent_tile):
    """Returns the products of layers and the powers of two of attention in the algorithm."""
    layers = parts.get("layers", collections.Counter()) + parts.get("rest", collections.Counter())
    tiles = case.expected_layers()
    done = sum(n * {"16816": 2048, "1688": 1024, "1684": 512}[op.split(".")[1]] for op, n in layers.items() if "HMMA" in op)
    wanted = tiles * 16 * C * C * (3 if case.operand == "fp32" else 1)
    if abs(done - wanted) > 0.01 * wanted:
        raise RuntimeError(f"layers: {done:.0f} multiply-adds a warp counted, {wanted} expected")
    attention = parts.get("attention", collections.Counter())
    wanted = case.expected_exponentials(n_latent_tile)
    done = sum(n for op, n in attention.items() if op == "MUFU.EX2")
    if not 0.5 * wanted <= done <= 1.3 * wanted:
        raise RuntimeError(f"attention: {done:.0f} powers of two a lane counted, {wanted:.0f} scores")


def floors(n_point, n_latent, operand):
    """Returns milliseconds of a block on H200 by its arithmetic: anchors of the project, datasheet and copy bandwidth."""
    special = (2 * n_point * n_latent * H + 12 * C * n_point) / (132 * 16 * 1.98e9)
    rate = {"fp16": 790e12, "bf16": 790e12, "tf32": 395e12, "fp32": 132e12}[operand]
    products = (32 * C * C + 8 * n_latent * C) * n_point / rate
    memory = 5 * C * (4 if operand in ("fp32", "tf32") else 2) * n_point / 4.3e12
    return {"exponentials": 1e3 * special, "1.4 times fewer": 1e3 * special / 1.4, "products": 1e3 * products,
            "memory": 1e3 * memory}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", nargs="+", help="plug-in, or objects of flare_encode_cuda.cu and flare_decode_cuda.cu")
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--latents", default="128,256,2048")
    parser.add_argument("--operands", default="fp16,fp32")
    options = parser.parse_args()
    cuobjdump = os.environ.get("CUOBJDUMP") or shutil.which("cuobjdump")
    if not cuobjdump:
        sys.exit("cuobjdump is not here; it comes with the CUDA toolkit (or name it in CUOBJDUMP)")
    print(f"N = {options.points}, C = {C}, {H} heads of {D}, chains of {N_LAYER} layers; a model, nothing measured.\n")
    rows = []
    for chip in CHIPS:
        code = {}
        for binary in options.binary:
            code.update(functions(binary, chip.architecture, cuobjdump))
        for operand in options.operands.split(","):
            for n_latent in (int(m) for m in options.latents.split(",")):
                row = [chip.name, operand, n_latent]
                for which in ("encode", "decode"):
                    case = Case(which, operand, options.points, n_latent, chip)
                    name = f"{which}_kernelILNS.*OperandE{OPERANDS.index(operand)}ELi{C}E"
                    found = [c for n, c in code.items() if re.search(name, n)]
                    print(f"{chip.name}, {operand}, M = {n_latent}, {which}")
                    if len(found) != 1:
                        sys.exit(f"{len(found)} functions match {name}")
                    try:
                        ms, limits = predict(case, found[0], print)
                        row += [ms, " / ".join(limits)]
                    except RuntimeError as problem:
                        print(f"    no prediction: {problem}")
                        row += [None, "no prediction"]
                rows.append(row)
    print("\n| chip | operands | M | encode ms | limits: layers / attention | decode ms | limits | block ms | H200 floors: "
          "exponentials, 1.4 times fewer, products, memory |")
    print("|" + " --- |" * 9)
    for chip, operand, n_latent, encode, encode_limits, decode, decode_limits in rows:
        text = [f"{ms:.3f}" if ms else "" for ms in (encode, decode)]
        block = f"{encode + decode:.3f}" if encode and decode else ""
        least = ", ".join(f"{v:.2f}" for v in floors(options.points, n_latent, operand).values()) if chip == "H200" else ""
        print(f"| {chip} | {operand} | {n_latent} | {text[0]} | {encode_limits} | {text[1]} | {decode_limits} | {block} | {least} |")


if __name__ == "__main__":
    main()
