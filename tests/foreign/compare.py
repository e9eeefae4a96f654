#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares one field in files of a solver's own output, point by point, with the first file.

    python3 compare.py FORMAT BOUND FILE FILE...      |a - b| <= BOUND * (root mean square of a), at every point

FORMAT: ensight   a scalar a cell of hexahedra in EnSight Gold binary, in the order of the mesh
        openfoam  a volScalarField in ASCII
        lammps    the last column of the last frame of a dump; atoms are known by where they are in the first frame, because
                  LAMMPS numbers them rank by rank
"""
import array
import math
import re
import sys


def ensight(path):
    with open(path, "rb") as file:
        content = file.read()
    head = 3 * 80 + 4  # description, "part", its number, kind of cells
    if content[80:84] != b"part" or content[164:169] != b"hexa8" or (len(content) - head) % 4 != 0:
        sys.exit(f"{path}: not one part of hexahedra")
    return dict(enumerate(array.array("f", content[head:])))


def openfoam(path):
    with open(path) as file:
        found = re.search(r"internalField +nonuniform List<scalar> *\n(\d+) *\n\(\n(.*?)\n\)", file.read(), re.DOTALL)
    values = [float(word) for word in found.group(2).split()] if found else []
    if not found or len(values) != int(found.group(1)):
        sys.exit(f"{path}: no list of scalars")
    return dict(enumerate(values))


def lammps(path):
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


read = {"ensight": ensight, "openfoam": openfoam, "lammps": lammps}[sys.argv[1]]
bound, paths = float(sys.argv[2]), sys.argv[3:]
first = read(paths[0])
scale = math.sqrt(sum(a * a for a in first.values()) / len(first))
if not max(first.values()) - min(first.values()) > 1e-3 * scale:
    sys.exit(f"{paths[0]}: {min(first.values())} everywhere: nothing was predicted")
for path in paths[1:]:
    other = read(path)
    if other.keys() != first.keys():
        sys.exit(f"{path}: {len(other)} points, not those of {paths[0]}, which has {len(first)}")
    worst = max(first, key=lambda point: abs(first[point] - other[point]))
    ratio = abs(first[worst] - other[worst]) / scale
    print(f"{path}: {len(other)} numbers, largest difference {ratio:.1e} of the root mean square")
    if not all(math.isfinite(b) for b in other.values()) or not ratio <= bound:
        sys.exit(f"point {worst}: {first[worst]} and {other[worst]}, bound {bound}")
print("equal")
