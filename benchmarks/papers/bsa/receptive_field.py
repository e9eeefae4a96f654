#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figure 2 of the paper on Ball Sparse Attention: the influence of all points on one prediction.

    python3 receptive_field.py BIN [FOLDER]

with the folder of the programs airflow and surrogate. Writes seen_0.vtu and seen_1.vtu, for
ParaView, into the current folder and receptive_field.png into FOLDER, by default beside this file.
Needs numpy, matplotlib and VTK (Debian: python3-vtk9).
"""

import os
import subprocess
import sys

import matplotlib
import numpy
import vtk
from vtk.util.numpy_support import numpy_to_vtk, vtk_to_numpy

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # noqa: E402

here = os.path.dirname(os.path.abspath(__file__))
model = os.path.join(here, "../../../share/models/airflow.safetensors")
TARGETS = ((0.3, 0.4, 0.7), (2.6, 0.5, 1.4))


def read(path):
    reader = vtk.vtkXMLUnstructuredGridReader()
    reader.SetFileName(path)
    reader.Update()
    return reader.GetOutput()


def points_of(grid):
    return vtk_to_numpy(grid.GetPoints().GetData())


def array_of(grid, name):
    return vtk_to_numpy(grid.GetPointData().GetArray(name))


def points_of_cell(grid, index):
    cell = grid.GetCell(index)
    return [cell.GetPointId(k) for k in range(cell.GetNumberOfPoints())]


def write_body(path):
    """Writes a body with the inputs of the model (examples/airflow/feature.hpp)."""
    options = [
        "-points",
        "3800",
        "-panels",
        "500",
        "-seed",
        "3001",
        "-model",
        "",
        "-output",
        "body",
    ]
    subprocess.run([os.path.join(sys.argv[1], "airflow"), *options], check=True)
    grid = read("body/cars/step_000000.vtu")
    points, normal = points_of(grid), array_of(grid, "normal")
    side = numpy.where(points[:, 1] < 0, -1, 1)
    inputs = {"along": points[:, 0], "across": side * points[:, 1], "height": points[:, 2]}
    inputs |= {"normal.along": normal[:, 0], "normal.across": side * normal[:, 1]}
    inputs["normal.up"] = normal[:, 2]
    for name, values in inputs.items():
        array = numpy_to_vtk(values, deep=True)
        array.SetName(name)
        grid.GetPointData().AddArray(array)
    writer = vtk.vtkXMLUnstructuredGridWriter()
    writer.SetFileName(path)
    writer.SetInputData(grid)
    writer.Write()


def draw(figure, position, grid, target):
    points, influence = points_of(grid), array_of(grid, "receptive_field")
    level = numpy.log10(numpy.maximum(influence / influence.max(), 1e-6))
    cells = [points_of_cell(grid, index) for index in range(grid.GetNumberOfCells())]
    axes = figure.add_subplot(*position, projection="3d", computed_zorder=False)
    faces = matplotlib.cm.viridis((numpy.array([level[cell].mean() for cell in cells]) + 4) / 4)
    polygons = [points[cell] for cell in cells]
    axes.add_collection3d(
        Poly3DCollection(polygons, facecolors=faces, edgecolors=faces, linewidths=0.2)
    )
    nearest = numpy.linalg.norm(points - target, axis=1).argmin()
    axes.scatter(*points[nearest], color="red", s=12, zorder=9)
    low, high = points.min(axis=0), points.max(axis=0)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    axes.set_box_aspect(numpy.ptp(points, axis=0), zoom=1.1)
    axes.view_init(25, 125 if target[0] > 1 else 215)
    axes.set_axis_off()
    print(
        f"{target}: {(influence > 0).mean():.0%} of {len(points)} points have influence, "
        f"{(level > -2).mean():.1%} above a hundredth of the largest"
    )


def main():
    folder = sys.argv[2] if len(sys.argv) > 2 else here
    write_body("body.vtu")
    figure = plt.figure(figsize=(10, 3.2))
    for number, target in enumerate(TARGETS):
        out = f"seen_{number}.vtu"
        field = ",".join(map(str, target))
        options = ["--mesh", "body.vtu", "--out", out, "--overwrite", "--receptive-field", field]
        program = os.path.join(sys.argv[1], "surrogate")
        subprocess.run([program, "predict", model, *options], check=True)
        draw(figure, (1, 2, number + 1), read(out), target)
    colors = matplotlib.cm.ScalarMappable(matplotlib.colors.LogNorm(1e-4, 1), "viridis")
    figure.subplots_adjust(0, 0, 0.9, 1, 0, 0)
    bar = figure.add_axes((0.91, 0.15, 0.015, 0.7))
    figure.colorbar(colors, cax=bar, label="influence / largest")
    figure.savefig(os.path.join(folder, "receptive_field.png"), dpi=120)


if __name__ == "__main__":
    main()
