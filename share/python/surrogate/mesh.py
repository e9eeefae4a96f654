# SPDX-License-Identifier: Apache-2.0
"""Points and fields of mesh files, through meshio.

mesh = surrogate.mesh.read("plate.vtu")
x = surrogate.mesh.points(mesh, n_axis=2)
with surrogate.Plan.open("model.safetensors", x) as plan:
    surrogate.mesh.add(mesh, plan.predict(distance=mesh.point_data["distance"]))
mesh.write("predicted.vtu")
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy

from ._errors import InvalidArgument, ShapeError

try:
    import meshio
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "surrogate.mesh needs meshio (Debian: python3-meshio)", name=error.name
    ) from None

_locations = ("points", "cells")


def _check(at: str) -> None:
    if at not in _locations:
        raise InvalidArgument(f"at is {at!r}, expected 'points' or 'cells'")


def read(path: str | os.PathLike) -> meshio.Mesh:
    """Reads a mesh file of any format of meshio: .vtu, .msh, .xdmf, .exo, .."""
    return meshio.read(path)


def points(mesh: meshio.Mesh, *, at: str = "points", n_axis: int | None = None) -> numpy.ndarray:
    """Returns coordinates [n, n_axis] of the points, or of the centers of the cells.

    at: "points", or "cells": means of their corners, block after block; n_axis: the first so many.
    """
    _check(at)
    x = numpy.asarray(mesh.points, dtype="float64")
    if at == "cells":
        x = numpy.concatenate([x[block.data].mean(axis=1) for block in mesh.cells])
    return numpy.ascontiguousarray(x[:, :n_axis])


def fields(mesh: meshio.Mesh, *, at: str = "points") -> dict[str, numpy.ndarray]:
    """Returns the arrays at points or cells by name, [n] or [n, n_component]."""
    _check(at)
    if at == "points":
        return dict(mesh.point_data)
    return {name: numpy.concatenate(blocks) for name, blocks in mesh.cell_data.items()}


def add(mesh: meshio.Mesh, arrays: Mapping[str, Any], *, at: str = "points") -> None:
    """Adds arrays [n] or [n, n_component] at points or cells to the mesh, such as predictions."""
    _check(at)
    sizes = [len(block.data) for block in mesh.cells]
    n = len(mesh.points) if at == "points" else sum(sizes)
    for name, values in arrays.items():
        values = numpy.asarray(values)
        if len(values) != n:
            raise ShapeError(f"'{name}' has {len(values)} rows, expected {n}, one for each of {at}")
        if at == "points":
            mesh.point_data[name] = values
        else:
            mesh.cell_data[name] = numpy.split(values, numpy.cumsum(sizes)[:-1])
