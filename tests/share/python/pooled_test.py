# SPDX-License-Identifier: Apache-2.0
"""Statistics of pooled inputs, and the program that puts them into a card. Needs numpy alone.

Run by ctest with SURROGATE_TEST_DATA, SURROGATE_SHARE and SURROGATE_PROGRAM in the environment.
"""

import contextlib
import importlib.util
import io
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

if importlib.util.find_spec("numpy") is None:
    print(f"SKIPPED: this Python ({sys.executable}) has no numpy; -DSURROGATE_PYTHON=.. names another")
    sys.exit(0)

import numpy as np  # noqa: E402

share = os.environ["SURROGATE_SHARE"]
sys.path.insert(0, os.path.join(share, "python"))

import add_pooled  # noqa: E402
from surrogate.export import ExportError, export, plain_file, pooled  # noqa: E402

models = os.path.join(share, "models")
program = os.environ.get("SURROGATE_PROGRAM")


def field(name, mean=0.0, std=1.0):
    return {"name": name, "unit": "1", "mean": mean, "std": std}


def points_card(*inputs):
    coordinate = {**field("x"), "role": "coordinate", "axis": 0}
    return {"family": "flare", "network": {}, "inputs": [coordinate, *inputs]}


class Features(unittest.TestCase):
    def test_are_mean_and_deviation_of_network_values(self):
        card = points_card(field("a", 1.0, 2.0), field("b"))
        samples = {"a": [np.array([1, 5]), np.array([3, 3, 3])], "b": [np.array([0, 2]), np.array([1, 1, 4])]}
        found = pooled.features(card, samples)
        np.testing.assert_allclose(found, [[1, 1, 1, 1], [1, 0, 2, np.sqrt(2)]], rtol=1e-15)

    def test_count_weights(self):
        card = points_card(field("a"))
        found = pooled.features(card, {"a": [np.array([0, 4]), np.array([4, 0])]}, [np.array([3.0, 1.0])])
        np.testing.assert_allclose(found, [[1, np.sqrt(3)], [3, np.sqrt(3)]], rtol=1e-15)
        for bad in ([-1.0, 2.0], [0.0, 0.0]):
            with self.assertRaisesRegex(ExportError, "weights"):
                pooled.features(card, {"a": [np.array([0, 4])]}, [np.array(bad)])

    def test_need_every_field_and_no_coordinate(self):
        with self.assertRaisesRegex(ExportError, "no array of b"):
            pooled.features(points_card(field("a"), field("b")), {"a": [np.zeros(3)]})
        with self.assertRaisesRegex(ExportError, "no input that is a field"):
            pooled.features(points_card(), {})

    def test_are_of_the_area_on_the_sphere(self):
        for grid in ("legendre-gauss", "lobatto", "equiangular", "equiangular-trapezoidal"):
            for n_lat in (8, 9):
                card = {"family": "sphere", "inputs": [field("a")],
                        "network": {"model": "SphericalTransformer", "img_size": [n_lat, 5], "grid": grid}}
                area = pooled.area_weights(card)
                self.assertAlmostEqual(area.sum(), 1, places=13)
                np.testing.assert_allclose(area, area[::-1], atol=1e-15)
                ones = {"a": [np.full((n_lat, 5), 2.0)]}
                np.testing.assert_allclose(pooled.features(card, ones), [[2, 0]], atol=1e-13)
                if grid == "equiangular-trapezoidal":
                    continue
                # The mean of sin(latitude)^2 over the sphere is 1/3, exact for these rules.
                theta = np.pi * np.arange(n_lat) / (n_lat - 1)
                if grid == "legendre-gauss":
                    theta = np.arccos(np.polynomial.legendre.leggauss(n_lat)[0])
                if grid == "lobatto":
                    basis = np.polynomial.legendre.Legendre.basis(n_lat - 1)
                    theta = np.arccos(np.concatenate([[-1], np.sort(basis.deriv().roots()), [1]]))
                squares = np.repeat(np.cos(theta)[:, None] ** 2, 5, axis=1)
                self.assertAlmostEqual(pooled.features(card, {"a": [squares]})[0, 0], 1 / 3, places=12)


class Statistics(unittest.TestCase):
    rows = np.random.default_rng(7).normal(size=(400, 2)) @ np.array([[2.0, 1.0], [0.0, 0.5]]) + [3, -1]

    def test_are_mean_and_covariance(self):
        found = pooled.statistics(self.rows)
        np.testing.assert_allclose(found["mean"], self.rows.mean(axis=0), rtol=1e-15)
        expected = np.cov(self.rows, rowvar=False) + 1e-6 * np.eye(2)
        np.testing.assert_allclose(found["covariance"], expected, rtol=1e-14)
        self.assertEqual((found["quantile"], found["samples"]), (0.99, 400))

    def test_distance_is_exceeded_by_the_rest(self):
        for quantile in (0.5, 0.9, 0.99):
            found = pooled.statistics(self.rows, quantile)
            beyond = (pooled.distances(found, self.rows) > found["distance"]).sum()
            self.assertEqual(beyond, round(400 * (1 - quantile)))

    def test_distance_is_in_units_of_deviations(self):
        given = {"mean": [1, 2], "covariance": [[4, 0], [0, 9]]}
        np.testing.assert_allclose(pooled.distances(given, np.array([[1, 2], [3, 2], [3, 5]])), [0, 1, np.sqrt(2)])

    def test_features_that_never_change_are_possible(self):
        found = pooled.statistics(np.column_stack([self.rows, np.full(400, 0.25), self.rows[:, 0]]))
        self.assertEqual(found["covariance"][2], [0, 0, 1e-6, 0])
        beside = np.array([[*found["mean"][:2], 0.26, found["mean"][3]]])
        self.assertAlmostEqual(pooled.distances(found, beside)[0], 10, places=6)

    def test_of_few_samples_are_refused(self):
        with self.assertRaisesRegex(ExportError, "19 samples .* 20 are needed"):
            pooled.statistics(self.rows[:19])

    def test_are_those_of_the_exporter(self):
        card = points_card(field("a", 1.0, 2.0)) | {"outputs": [field("b")]}
        values = np.random.default_rng(3).normal(size=(30, 11))
        arrays = {"x": np.arange(11.0), "a": values, "b": np.zeros((30, 11))}
        said = []
        data = export.FieldArrays(card, None, arrays, arrays, said.append)
        data.add_pooled(card, None, said.append)
        self.assertEqual(card["pooled"], pooled.statistics(pooled.features(card, {"a": list(values)})))
        given = card["pooled"] = {"mean": "as given"}
        data.add_pooled(card, None, said.append)
        self.assertIs(card["pooled"], given)
        del card["pooled"]
        said.clear()
        few = {name: array if array.ndim == 1 else array[:3] for name, array in arrays.items()}
        export.FieldArrays(card, None, few, few, said.append).add_pooled(card, None, said.append)
        self.assertNotIn("pooled", card)
        self.assertIn("3 samples tell too little", "".join(said))


def whole(path):
    with open(path, "rb") as file:
        return file.read()


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.model = os.path.join(self.folder, "model.safetensors")
        self.use(os.path.join(models, "darcy_flow.safetensors"))
        mobility = 3 + 9 * np.random.default_rng(1).random((50, 40))
        self.train = self.arrays("train", mobility=mobility)
        self.far = self.arrays("far", mobility=mobility + 100)

    def use(self, path):
        shutil.copyfile(path, self.model)
        self.before = whole(self.model)

    def arrays(self, name, **arrays):
        path = os.path.join(self.folder, name + ".npz")
        np.savez(path, **arrays)
        return path

    def run_program(self, *arguments):
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            status = add_pooled.main([self.model, *arguments])
        return status, output.getvalue()

    def assert_refused(self, part, *arguments):
        status, text = self.run_program(*arguments)
        self.assertEqual(status, 2, text)
        self.assertIn(part, text)
        self.assertEqual(whole(self.model), self.before)

    def assert_only_the_card_changed(self, path):
        header, begin = plain_file.read_header(path)
        old = os.path.join(self.folder, "old")
        with open(old, "wb") as file:
            file.write(self.before)
        old_header, old_begin = plain_file.read_header(old)
        self.assertEqual(begin % 8, 0)
        self.assertEqual(whole(path)[begin:], self.before[old_begin:])
        for key in ("surrogate.card", "surrogate.card_checksum"):
            header["__metadata__"].pop(key, None)
            old_header["__metadata__"].pop(key, None)
        self.assertEqual(header, old_header)
        card, old_card = plain_file.read_card(path), plain_file.read_card(old)
        for one in (card, old_card):
            one.pop("pooled", None)
            one["provenance"].pop("pooled", None)
        self.assertEqual(card, old_card)

    def said_by_the_program(self, *arguments):
        done = subprocess.run([program, *arguments, self.model], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_changes_the_card_and_nothing_else(self):
        status, text = self.run_program("--data", self.train, "--note", "made up", "--compare", self.far)
        self.assertEqual(status, 0, text)
        self.assertIn("50 states: 100 % are farther", text)
        self.assertIn("2 features of 50 samples, 99 % within distance", text)
        self.assert_only_the_card_changed(self.model)
        card = plain_file.read_card(self.model)
        self.assertEqual(card["provenance"]["pooled"], "made up")
        self.assertEqual(card["pooled"]["samples"], 50)

    def test_writes_another_file_only_if_asked(self):
        out = os.path.join(self.folder, "out.safetensors")
        status, text = self.run_program("--data", self.train, "-o", out)
        self.assertEqual(status, 0, text)
        self.assertEqual(whole(self.model), self.before)
        self.assert_only_the_card_changed(out)
        self.assert_refused("exists; --overwrite", "--data", self.train, "-o", out)
        self.assertEqual(self.run_program("--data", self.train, "-o", out, "--overwrite")[0], 0)

    def test_points_may_count_with_weights(self):
        weighted = self.arrays("weighted", mobility=np.load(self.train)["mobility"], point_weights=np.arange(40.0))
        self.run_program("--data", self.train)
        alike = plain_file.read_card(self.model)["pooled"]
        self.assertEqual(self.run_program("--data", weighted)[0], 0)
        self.assertNotEqual(plain_file.read_card(self.model)["pooled"]["mean"], alike["mean"])

    @unittest.skipUnless(program, "no program surrogate is named")
    def test_the_library_reads_what_is_written(self):
        self.run_program("--data", self.train)
        self.assertIn("2 features of 50 samples, 99 % within distance", self.said_by_the_program("info"))

    @unittest.skipUnless(program and importlib.util.find_spec("xxhash"), "no xxhash, or no program surrogate is named")
    def test_renews_the_checksum_of_the_card(self):
        self.use(os.path.join(os.environ["SURROGATE_TEST_DATA"], "export", "flare_defaults.safetensors"))
        status, text = self.run_program("--data", self.train)
        self.assertEqual(status, 0, text)
        self.assert_only_the_card_changed(self.model)
        self.said_by_the_program("check")

    def test_refuses_what_does_not_fit(self):
        self.assert_refused("no array of mobility", "--data", self.arrays("other", porosity=np.zeros((30, 4))))
        self.assert_refused("2 samples tell too little", "--data", self.arrays("few", mobility=np.ones((2, 4))))
        self.assert_refused("not finite", "--data", self.arrays("nan", mobility=np.full((30, 4), np.nan)))
        self.assert_refused("there is no file", "--data", "/nowhere.npz")
        sphere = os.path.join(models, "shallow_water.safetensors")
        self.use(sphere)
        flat = {name: np.zeros((70, 8, 16)) for name in ("geopotential", "vorticity", "divergence")}
        self.assert_refused("the network's grid is (64, 128)", "--data", self.arrays("coarse", **flat))
        bare = os.path.join(os.environ["SURROGATE_TEST_DATA"], "flare", "tiny.safetensors")
        self.use(bare)
        self.assert_refused("bare network", "--data", self.train)
        with open(self.model, "wb") as file:
            file.write(b"\x80\x02}q\x00.")
        self.before = whole(self.model)
        self.assert_refused("no safetensors file", "--data", self.train)


if __name__ == "__main__":
    unittest.main()
