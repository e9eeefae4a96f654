#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stress in hyperelastic cells with a hole of random shape: a stand-in for data of Geo-FNO.

    python3 hyperelastic_cells.py --train 1000 --test 200 [--seed 0] [--folder .]

writes cells_train.h5 and cells_test.h5.

A unit square with a hole, fixed at its bottom and pulled at its top, of an incompressible
Rivlin-Saunders material in plane stress: energy C1 (I1 - 3) + C2 (I2 - 3). Constants and the law of
the hole are those of Geo-FNO; the mesh (108 x 9 = 972 nodes of quadrilaterals, graded towards the
hole), the traction, which stretches cells by a tenth to a half, and the stress (von Mises, Cauchy)
are ours. Newton's method of PETSc's SNES with a direct solver; needs petsc4py, numpy and h5py.
"""

import argparse
import os

import numpy
from petsc4py import PETSc
from surrogate import dataset

C1, C2, TRACTION = 1.863e5, 9.79e3, 6e4  # Pa
AROUND, OUT = 108, 9
N = AROUND * OUT

# node (j, i), j around and i outwards, has number j * OUT + i
j, i = numpy.meshgrid(numpy.arange(AROUND), numpy.arange(OUT - 1), indexing="ij")
node, next_node = j * OUT + i, (j + 1) % AROUND * OUT + i
# corners in the order of the shape functions
QUADS = numpy.stack([node, node + 1, next_node + 1, next_node], -1).reshape(-1, 4)
DOFS = (2 * QUADS[:, :, None] + numpy.arange(2)).reshape(-1, 8)
CORNERS = numpy.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
GAUSS_POINTS = CORNERS / numpy.sqrt(3)
DERIVATIVES = numpy.array(
    [[corner * (1 + corner[::-1] * g[::-1]) / 4 for corner in CORNERS] for g in GAUSS_POINTS]
)
# of F as (F11, F12, F21, F22)
COFACTOR = numpy.array([[0, 0, 0, 1], [0, 0, -1, 0], [0, -1, 0, 0], [1, 0, 0, 0]])


def nodes_of(radius):
    """Returns the nodes [N, 2] around a hole with radii [AROUND].

    They are on rays that divide the sides of the square equally.
    """
    side = numpy.linspace(-0.5, 0.5, AROUND // 4, endpoint=False)
    half = numpy.full_like(side, 0.5)
    sides = [[half, side], [-side, half], [-half, -side], [side, -half]]
    outer = numpy.concatenate(sides, axis=1).T
    inner = radius[:, None] * outer / numpy.linalg.norm(outer, axis=1, keepdims=True)
    s = (numpy.linspace(0, 1, OUT) ** 1.3)[:, None]
    return (0.5 + inner[:, None] * (1 - s) + outer[:, None] * s).reshape(-1, 2)


def radii(rng):
    """Returns 0.2 + 0.2 / (1 + exp(r)) with r of N(0, 16 (9 - d^2/dangle^2)^-1) at the rays."""
    outer = nodes_of(numpy.full(AROUND, 0.3)).reshape(AROUND, OUT, 2)[:, -1] - 0.5
    angle = numpy.arctan2(outer[:, 1], outer[:, 0])
    k = numpy.arange(17)
    scale = numpy.sqrt(16 / (k**2 + 9) / numpy.pi / numpy.where(k, 1, 2))
    a, b = scale * rng.normal(size=(2, len(k)))
    phase = numpy.outer(angle, k)
    return 0.2 + 0.2 / (1 + numpy.exp(numpy.cos(phase) @ a + numpy.sin(phase) @ b))


class Cell:
    """Equilibrium of a cell as a nonlinear system: gradient and Hessian of its energy."""

    def __init__(self, nodes):
        jacobian = numpy.einsum("gax,eay->egxy", DERIVATIVES, nodes[QUADS])
        self.volume = numpy.linalg.det(jacobian)
        gradient = numpy.einsum("egyx,gax->egay", numpy.linalg.inv(jacobian), DERIVATIVES)
        # F - 1 = b u, with F and the displacements of an element as vectors
        self.b = numpy.zeros((*self.volume.shape, 4, 8))
        self.b[:, :, :2, 0::2] = self.b[:, :, 2:, 1::2] = numpy.swapaxes(gradient, 2, 3)
        self.fixed = numpy.flatnonzero(numpy.repeat(nodes[:, 1] == 0, 2)).astype("int32")
        self.force = numpy.zeros(2 * N)
        top = numpy.flatnonzero(nodes[:, 1] == 1)
        top = top[numpy.argsort(nodes[top, 0])]
        width = TRACTION * numpy.diff(nodes[top, 0]) / 2
        numpy.add.at(self.force, 2 * top[:-1] + 1, width)
        numpy.add.at(self.force, 2 * top[1:] + 1, width)

    def deformation(self, u):
        """Returns F, its cofactor, its determinant and |F|^2, at the Gauss points."""
        f = numpy.array([1, 0, 0, 1]) + numpy.einsum("egkd,ed->egk", self.b, u[DOFS])
        g = f @ COFACTOR
        return f, g, (f * g).sum(-1, keepdims=True) / 2, (f * f).sum(-1, keepdims=True)

    def stress(self, u):
        """Returns the first Piola-Kirchhoff stress."""
        f, g, det, square = self.deformation(u)
        return 2 * (C1 + C2 / det**2) * f + 2 * (C2 * det - (C1 + C2 * square) / det**3) * g

    def residual(self, snes, x, out):
        u = x.array_r
        sums = -self.force
        forces = numpy.einsum("eg,egk,egkd->ed", self.volume, self.stress(u), self.b)
        numpy.add.at(sums, DOFS, forces)
        sums[self.fixed] = u[self.fixed]
        out.array = sums

    def hessian(self, snes, x, matrix, _):
        f, g, det, square = self.deformation(x.array_r)
        det, square = det[..., None], square[..., None]
        gf = g[..., :, None] * f[..., None, :]
        tangent = 2 * (C1 + C2 / det**2) * numpy.eye(4)
        tangent = tangent + 2 * (C2 * det - (C1 + C2 * square) / det**3) * COFACTOR
        tangent = tangent - 4 * C2 / det**3 * (gf + numpy.swapaxes(gf, -1, -2))
        factor = 2 * C2 + 6 * (C1 + C2 * square) / det**4
        tangent = tangent + factor * g[..., :, None] * g[..., None, :]
        operands = (self.b, self.volume, tangent, self.b)
        blocks = numpy.einsum("egkd,eg,egkl,eglc->edc", *operands, optimize=True)
        matrix.zeroEntries()
        for dofs, block in zip(DOFS.astype("int32"), blocks):
            matrix.setValues(dofs, dofs, block, PETSc.InsertMode.ADD_VALUES)
        matrix.assemble()
        matrix.zeroRows(self.fixed)

    def von_mises(self, u):
        """Returns the von Mises stress at the nodes: means of the nearest Gauss points."""
        f, p = self.deformation(u)[0], self.stress(u)
        f, p = (x.reshape(*x.shape[:2], 2, 2) for x in (f, p))
        cauchy = p @ numpy.swapaxes(f, -1, -2)
        sx, sy, sxy = cauchy[..., 0, 0], cauchy[..., 1, 1], cauchy[..., 0, 1]
        stress = numpy.sqrt(sx**2 - sx * sy + sy**2 + 3 * sxy**2)
        sums = numpy.bincount(QUADS.ravel(), stress.ravel())
        return sums / numpy.bincount(QUADS.ravel())


def solve(cell):
    """Returns the displacements [2 N]."""
    x = PETSc.Vec().createSeq(2 * N)
    matrix = PETSc.Mat().createAIJ([2 * N, 2 * N], nnz=18, comm=PETSc.COMM_SELF)
    matrix.setOption(PETSc.Mat.Option.KEEP_NONZERO_PATTERN, True)
    snes = PETSc.SNES().create(PETSc.COMM_SELF)
    snes.setFunction(cell.residual, x.duplicate())
    snes.setJacobian(cell.hessian, matrix)
    snes.setTolerances(rtol=1e-9, max_it=50)
    snes.ksp.setType("preonly")
    snes.ksp.pc.setType("lu")
    snes.solve(None, x)
    if snes.reason <= 0:
        ending = f"reason {snes.reason} after {snes.its} steps"
        raise RuntimeError(f"Newton's method ended with {ending}, expected convergence")
    return x.array.copy()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--train", type=int, default=1000)
    parser.add_argument("--test", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", default=".")
    arguments = parser.parse_args()
    rng = numpy.random.default_rng(arguments.seed)
    for use, n in (("train", arguments.train), ("test", arguments.test)):
        nodes = [nodes_of(radii(rng)) for _ in range(n)]
        cells = [Cell(one) for one in nodes]
        stress = numpy.array([cell.von_mises(solve(cell)) for cell in cells])
        places = {axis: (numpy.array(nodes)[:, :, k], "1") for k, axis in enumerate("xy")}
        path = os.path.join(arguments.folder, f"cells_{use}.h5")
        source = f"hyperelastic_cells.py --train {arguments.train} --test {arguments.test}"
        source += f" --seed {arguments.seed}"
        title = __doc__.split(":")[0]
        dataset.write(path, {"stress": (stress, "Pa")}, places, title=title, source=source)
        print(f"{path}: {n} samples, stress {stress.min():.3g} to {stress.max():.3g} Pa")


if __name__ == "__main__":
    main()
