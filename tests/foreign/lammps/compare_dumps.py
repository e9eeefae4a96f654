#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the last column of the last frame of dumps of LAMMPS with that of the first dump. Atoms are known by where they are in
the first frame, because LAMMPS numbers them rank by rank.

    python3 compare_dumps.py BOUND FILE FILE...      |a - b| <= BOUND, for every atom
"""
import math
import sys


def last_column(path):
    frames = []
    with open(path) as file:
        for line in file:
            if line.startswith("ITEM:"):
                is_atoms = line.startswith("ITEM: ATOMS")
                if is_atoms:
                    frames.append({})
            elif is_atoms:
                number, *values = line.split()
                frames[-1][number] = values
    start, end = frames[0], frames[-1]
    return {tuple(start[atom][:3]): float(end[atom][-1]) for atom in end}


bound, paths = float(sys.argv[1]), sys.argv[2:]
first = last_column(paths[0])
if not max(first.values()) - min(first.values()) > 1:
    sys.exit(f"{paths[0]}: all atoms have {min(first.values())}: nothing was predicted")
for path in paths[1:]:
    other = last_column(path)
    if other.keys() != first.keys():
        sys.exit(f"{path}: other atoms")
    worst = max(first, key=lambda atom: abs(first[atom] - other[atom]))
    difference = abs(first[worst] - other[worst])
    print(f"{path}: {len(other)} atoms, largest difference {difference:.1e}")
    if not all(math.isfinite(b) for b in other.values()) or not difference <= bound:
        sys.exit(f"atom {worst}: {first[worst]} and {other[worst]}, bound {bound}")
print("equal")
