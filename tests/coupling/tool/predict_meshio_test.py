# SPDX-License-Identifier: Apache-2.0
"""predict_meshio_test.py <program surrogate> <model darcy_flow> <folder>: meshio reads what `surrogate predict` writes."""

import os
import subprocess
import sys


def main(program, model, folder):
    try:
        import meshio
        import numpy
    except ImportError as missing:
        print(f"SKIPPED: {missing}")
        return
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    points = numpy.array([[x, y, 0.0] for x in (0.0, 0.5, 1.0) for y in (0.0, 0.5, 1.0)])
    quads = [[3 * i + j, 3 * i + j + 3, 3 * i + j + 4, 3 * i + j + 1] for i in (0, 1) for j in (0, 1)]
    mobility = numpy.linspace(4.0, 11.5, 9)
    meshio.Mesh(points, [("quad", quads)], point_data={"mobility": mobility}).write("in.vtu")
    found = {}
    for options in ((), ("--compress", "none"), ("--compress", "zlib")):
        out = "out_" + "".join(options[1:]) + ".vtu"
        command = [program, "predict", model, "--mesh", "in.vtu", "--out", out, "--overwrite", "--quiet", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        mesh = meshio.read(out)
        assert numpy.array_equal(mesh.point_data["mobility"], mobility)
        found[out] = mesh.point_data["pressure"]
        assert numpy.isfinite(found[out]).all()
    first, *others = found.values()
    assert all(numpy.array_equal(first, other) for other in others)
    print("meshio reads all")


if __name__ == "__main__":
    main(*sys.argv[1:])
