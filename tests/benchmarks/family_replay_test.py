#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the replay of the families' loops counts by formula, against counting one by one.

    python3 family_replay_test.py <benchmarks/model>
"""
import math
import sys

sys.path.insert(0, sys.argv[1])
from family_replay import Loop, linear, neighborhood, resident_blocks


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found}, not {wanted}")


def pairs_one_by_one(n_lat, n_lon, cutoff):
    place = [(math.pi * i / (n_lat - 1), 2 * math.pi * j / n_lon) for i in range(n_lat) for j in range(n_lon)]
    sees = lambda a, b: (math.cos(a[0]) * math.cos(b[0]) + math.sin(a[0]) * math.sin(b[0]) * math.cos(a[1] - b[1])
                         >= math.cos(cutoff))
    return sum(sees(a, b) for a in place for b in place)


for n_lat, n_lon, cutoff in ((7, 12, 0.61), (12, 32, 0.4)):
    pairs, tiles = neighborhood(n_lat, n_lon, cutoff)
    expect(f"neighbors on {n_lat} x {n_lon}", pairs, pairs_one_by_one(n_lat, n_lon, cutoff))
    if 256 * tiles < pairs:
        sys.exit("fewer pairs in the tiles that are visited than are seen")

block = lambda warps, shared: Loop("", "", (0,), [], 1, 1, warps, shared, 0, 0, {})
expect("blocks that 128 registers allow", resident_blocks(block(8, 0), 128), 2)
expect("blocks that 129 registers allow", resident_blocks(block(8, 0), 129), 1)
expect("blocks that shared memory allows", resident_blocks(block(4, 60 * 1024), 32), 3)
expect("blocks that threads allow", resident_blocks(block(8, 0), 16), 8)

layer = linear("", 1280, 128, 384, "fp16", False)
expect("chunks and tiles of outputs of a warp", layer.passages * layer.n_warp, 10 * 8 * (128 / 64) * (384 / 128))
expect("multiply-adds of all warps", layer.passages * layer.n_warp * layer.multiply_adds, 1280 * 128 * 384)
