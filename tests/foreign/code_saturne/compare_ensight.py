#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares scalar fields of EnSight Gold binary files, one number a cell in the order of the mesh, with the first one.

    python3 compare_ensight.py BOUND FILE FILE...      |a - b| <= BOUND * (root mean square of a), in every cell
"""
import array
import math
import sys


def numbers(path):
    with open(path, "rb") as file:
        content = file.read()
    head = 3 * 80 + 4  # description, "part", its number, kind of cells
    if content[80:84] != b"part" or content[164:169] != b"hexa8" or (len(content) - head) % 4 != 0:
        sys.exit(f"{path}: not one part of hexahedra")
    return array.array("f", content[head:])


bound, paths = float(sys.argv[1]), sys.argv[2:]
first = numbers(paths[0])
scale = math.sqrt(sum(a * a for a in first) / len(first))
if not scale > 0:
    sys.exit(f"{paths[0]}: the field is zero or not finite")
for path in paths[1:]:
    other = numbers(path)
    if len(other) != len(first):
        sys.exit(f"{path}: {len(other)} numbers, expected {len(first)}")
    worst = max(range(len(first)), key=lambda i: abs(first[i] - other[i]))
    ratio = abs(first[worst] - other[worst]) / scale
    print(f"{path}: {len(other)} numbers, largest difference {ratio:.1e} of the root mean square")
    if not all(math.isfinite(b) for b in other) or not ratio <= bound:
        sys.exit(f"cell {worst}: {first[worst]} and {other[worst]}, bound {bound}")
print("equal")
