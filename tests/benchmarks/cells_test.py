#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hyperelastic cells of the stand-in for FLARE's elasticity data: derivatives, balance of forces, small strains, and the data set.

    cells_test.py <benchmarks/papers/flare> <share/python>
"""

import os
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy
    from petsc4py import PETSc
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit()

sys.path[:0] = sys.argv[1:3]
import hyperelastic_cells as cells  # noqa: E402

rng = numpy.random.default_rng(1)
nodes = cells.nodes_of(cells.radii(rng))
cell = cells.Cell(nodes)
n = 2 * cells.N
free = numpy.setdiff1d(numpy.arange(n), cell.fixed)
assert cell.volume.min() > 0


def residual(u):
    x = PETSc.Vec().createWithArray(u.copy())
    out = x.duplicate()
    cell.residual(None, x, out)
    return out.array.copy()


# the Hessian is the derivative of the residual
u, step = 1e-3 * rng.normal(size=n), 1e-6 * rng.normal(size=n)
matrix = PETSc.Mat().createAIJ([n, n], nnz=18, comm=PETSc.COMM_SELF)
cell.hessian(None, PETSc.Vec().createWithArray(u), matrix, None)
product = PETSc.Vec().createSeq(n)
matrix.mult(PETSc.Vec().createWithArray(step), product)
difference = (residual(u + step) - residual(u - step)) / 2
assert abs(product.array - difference)[free].max() < 1e-5 * abs(difference[free]).max()

# the fixed side carries the traction on the side of length 1, and free nodes are in balance
u = cells.solve(cell)
assert abs(residual(u)[free]).max() < 1e-6 * cells.TRACTION
cell.fixed = numpy.array([], "int32")
reaction = residual(u).reshape(-1, 2).sum(0)
assert abs(reaction - [0, -cells.TRACTION]).max() < 1e-6 * cells.TRACTION

# equal biaxial stretch s: Cauchy stress 2 (C1 + C2 s^2) (s^2 - 1 / s^4) along both axes
s = 1.1
uniform = ((s - 1) * nodes).ravel()
expected = 2 * (cells.C1 + cells.C2 * s**2) * (s**2 - s**-4)
assert abs(cell.von_mises(uniform) / expected - 1).max() < 1e-9, (cell.von_mises(uniform)[:3], expected)

with tempfile.TemporaryDirectory() as folder:
    program = os.path.join(sys.argv[1], "hyperelastic_cells.py")
    environment = {**os.environ, "PYTHONPATH": sys.argv[2]}
    subprocess.run([sys.executable, program, "--train", "2", "--test", "1", "--folder", folder], check=True, env=environment)
    with h5py.File(os.path.join(folder, "cells_train.h5")) as file:
        assert file["stress"].shape == file["x"].shape == (2, 972)
        assert 2 < file["stress"][:].max() / cells.TRACTION < 40
