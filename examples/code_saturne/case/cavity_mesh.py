#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mesh of the lid-driven cavity in Gmsh's format, which cs_preprocess reads.

    python3 cavity_mesh.py 32 cavity.msh       n x n x 1 hexahedra of the unit square, in groups lid, walls, sides
"""
import sys

n, path = int(sys.argv[1]), sys.argv[2]
thickness = 0.1
LID, WALLS, SIDES, FLUID = 1, 2, 3, 4
QUAD, HEXAHEDRON = 3, 5


def node(i, j, k):
    return 1 + i + (n + 1) * (j + (n + 1) * k)


elements = []
for j in range(n):
    for i in range(n):
        bottom = [node(i, j, 0), node(i + 1, j, 0), node(i + 1, j + 1, 0), node(i, j + 1, 0)]
        top = [node(i, j, 1), node(i + 1, j, 1), node(i + 1, j + 1, 1), node(i, j + 1, 1)]
        elements += [(HEXAHEDRON, FLUID, bottom + top), (QUAD, SIDES, bottom), (QUAD, SIDES, top)]
for i in range(n):
    for j, group in ((0, WALLS), (n, LID)):
        elements.append((QUAD, group, [node(i, j, 0), node(i + 1, j, 0), node(i + 1, j, 1), node(i, j, 1)]))
        elements.append((QUAD, WALLS, [node(j, i, 0), node(j, i + 1, 0), node(j, i + 1, 1), node(j, i, 1)]))

with open(path, "w") as out:
    out.write("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n")
    out.write('$PhysicalNames\n4\n2 1 "lid"\n2 2 "walls"\n2 3 "sides"\n3 4 "fluid"\n$EndPhysicalNames\n')
    out.write(f"$Nodes\n{2 * (n + 1) ** 2}\n")
    for k in range(2):
        for j in range(n + 1):
            for i in range(n + 1):
                out.write(f"{node(i, j, k)} {i / n} {j / n} {k * thickness}\n")
    out.write(f"$EndNodes\n$Elements\n{len(elements)}\n")
    for number, (shape, group, nodes) in enumerate(elements, 1):
        out.write(f"{number} {shape} 2 {group} {group} {' '.join(map(str, nodes))}\n")
    out.write("$EndElements\n")
