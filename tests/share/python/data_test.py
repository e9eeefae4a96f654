#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Data sets by h5py and meshes by meshio, compared with the program `surrogate`."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy
except ModuleNotFoundError:
    print("SKIPPED: this Python has no numpy")
    sys.exit(0)
missing = [name for name in ("h5py", "meshio") if importlib.util.find_spec(name) is None]
if missing:
    print(f"SKIPPED: this Python has no {', '.join(missing)}")
    sys.exit(0)

sys.path.insert(0, os.path.join(os.environ["SURROGATE_SHARE"], "python"))
import surrogate  # noqa: E402

darcy = os.path.join(os.environ["SURROGATE_SHARE"], "models/darcy_flow.safetensors")
program = os.environ["SURROGATE_PROGRAM"]
random = numpy.random.default_rng(4)

config = """
[model]
family = "flare"
inputs = {inputs}
outputs = ["u"]
network = {{ in_dim = {n}, out_dim = 1, channel_dim = 8, num_heads = 2, num_latents = 8, num_blocks = 1 }}
[data]
train = "{folder}/train.h5"
validation = 0.25
[training]
epochs = 2
[output]
folder = "{folder}/out"
"""


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def program(self, *arguments):
        return subprocess.run([program, *arguments], capture_output=True, text=True)

    def train(self, inputs):
        with open(self.path("train.toml"), "w", encoding="utf-8") as file:
            file.write(
                config.format(folder=self.folder.name, inputs=inputs, n=inputs.count(",") + 1)
            )
        return self.program("train", self.path("train.toml"), "--quiet")


class DataSets(Folder):
    def test_points_that_train_reads(self):
        x, f = random.random((30, 2)), random.normal(size=(8, 30))
        coordinates = {"x": (x[:, 0], "m"), "y": (x[:, 1], "m")}
        fields = {"f": (f, "m"), "u": (f + x[:, 0] + 2, "K")}
        numbers = {"speed": (random.random(8), "m/s")}
        file = self.path("train.h5")
        surrogate.dataset.write(
            file, fields, coordinates, numbers=numbers, weight=numpy.ones(30), title="a test"
        )
        found = surrogate.dataset.read(file)
        numpy.testing.assert_array_equal(found["f"].values, f)
        self.assertEqual((found["f"].unit, found["f"].axes), ("m", ("sample", "point")))
        self.assertEqual(found["speed"].axes, ("sample",))
        self.assertEqual(set(found), {"f", "u", "x", "y", "speed", "weight"})
        trained = self.train('["x", "y", "f", "speed"]')
        self.assertEqual(trained.returncode, 0, trained.stderr)

    def test_grids_and_series_that_train_reads(self):
        axes = {"x": (numpy.linspace(0, 1, 5), "m"), "y": (numpy.linspace(0, 1, 6), "m")}
        f = random.normal(size=(8, 5, 6))
        surrogate.dataset.write(self.path("train.h5"), {"f": (f, "m"), "u": (f + 2, "K")}, axes)
        self.assertEqual(surrogate.dataset.read(self.path("train.h5"))["f"].axes[1:], ("x", "y"))
        trained = self.train('["x", "y", "f"]')
        self.assertEqual(trained.returncode, 0, trained.stderr)
        series = random.normal(size=(2, 3, 5, 6))
        arguments = ({"f": (series, "m")}, axes)
        surrogate.dataset.write(self.path("series.h5"), *arguments, time=[0, 1, 2])
        found = surrogate.dataset.read(self.path("series.h5"))
        self.assertEqual(found["f"].axes, ("sample", "time", "x", "y"))

    def test_errors(self):
        fields, coordinates = {"f": numpy.ones((3, 4))}, {"x": numpy.ones(4)}
        write, file = surrogate.dataset.write, self.path("a.h5")
        with self.assertRaisesRegex(surrogate.ShapeError, r"'x' has shape \(5,\), expected \(4,\)"):
            write(file, fields, {"x": numpy.ones(5)})
        with self.assertRaisesRegex(surrogate.NotFinite, r"'f' has nan at \(1, 2\)"):
            write(file, {"f": numpy.where(numpy.arange(12) == 6, numpy.nan, 1.0).reshape(3, 4)}, {})
        with self.assertRaisesRegex(TypeError, "complex128"):
            write(file, {"f": numpy.ones((3, 4), complex)}, coordinates)
        self.assertEqual(os.listdir(self.folder.name), [])
        write(file, fields, coordinates)
        with self.assertRaisesRegex(surrogate.InvalidArgument, "exists"):
            write(file, fields, coordinates)


class Meshes(Folder):
    def test_predictions_are_those_of_the_program(self):
        import meshio

        n = 50
        corners = numpy.c_[random.random((n, 2)), numpy.zeros(n)]
        cells = [("triangle", random.integers(0, n, (30, 3)))]
        mobility = 3 + 9 * random.random(n)
        mesh = meshio.Mesh(corners, cells, point_data={"mobility": mobility})
        mesh.write(self.path("in.vtu"))
        mesh = surrogate.mesh.read(self.path("in.vtu"))
        x = surrogate.mesh.points(mesh, n_axis=2)
        with surrogate.Plan.open(darcy, x, threads=1, reproducible=True) as plan:
            prediction = plan.predict(mobility=surrogate.mesh.fields(mesh)["mobility"])
        surrogate.mesh.add(mesh, prediction)
        mesh.write(self.path("python.vtu"))
        done = self.program("predict", darcy, "--mesh", self.path("in.vtu"), "--out",
            self.path("out.vtu"), "--reproducible", "--ignore-units", "--quiet")  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        truth = surrogate.mesh.fields(surrogate.mesh.read(self.path("out.vtu")))["pressure"]
        found = surrogate.mesh.fields(surrogate.mesh.read(self.path("python.vtu")))["pressure"]
        numpy.testing.assert_array_equal(found.astype(truth.dtype), truth.ravel())
        centers = surrogate.mesh.points(mesh, at="cells")
        self.assertEqual(centers.shape, (30, 3))
        surrogate.mesh.add(mesh, {"a": centers}, at="cells")
        numpy.testing.assert_array_equal(surrogate.mesh.fields(mesh, at="cells")["a"], centers)
        with self.assertRaisesRegex(surrogate.ShapeError, "'a' has 30 rows, expected 50"):
            surrogate.mesh.add(mesh, {"a": centers})


if __name__ == "__main__":
    unittest.main()
