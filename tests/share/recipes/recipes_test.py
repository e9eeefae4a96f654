#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Validates each recipe of share/recipes at full size, and trains its reduced form.

    recipes_test.py PAPER

Networks and grids have their full size in the dry runs; batches have one sample, and large clouds
and long sequences have fewer points than the published data.
"""

import contextlib
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

missing = [name for name in ("numpy", "h5py") if importlib.util.find_spec(name) is None]
if missing:
    print(f"SKIPPED: this Python has no {', '.join(missing)}")
    sys.exit(0)

folder = pathlib.Path(os.environ["SURROGATE_SHARE"]) / "recipes"
program = os.environ["SURROGATE_PROGRAM"]
recipes = sorted((folder / sys.argv.pop(1)).glob("*.toml"))
large = {"drivaerml_40k", "drivaerml_1m", "lpbf", "shapenet_car", "listops", "text", "modelnet40"}
large |= {"shapenetpart", "tracking_60k", "tracking_6k", "pileup"}

spec = importlib.util.spec_from_file_location("make_data", folder / "make_data.py")
make_data = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_data)


def reduce(text):
    return re.sub(r"= .* # reduced: (.*)", r"= \1", text)


class Recipes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        for name in ("full", "reduced", "command"):
            os.mkdir(f"{cls.folder.name}/{name}")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_in(self, name, *command):
        result = subprocess.run(
            list(map(str, command)),
            cwd=f"{self.folder.name}/{name}",
            capture_output=True,
            text=True,
        )
        self.assertEqual(result.returncode, 0, f"{command}: {result.stdout}{result.stderr}")
        return result.stdout

    def data_of(self, text, name):
        (one,) = re.findall(r'^train = "(.*)_train.h5"$', text, re.MULTILINE)
        place = f"{self.folder.name}/{name}"
        if os.path.exists(f"{place}/{one}_train.h5"):
            return
        n_point = 500 if name == "full" and one in large else None
        with contextlib.redirect_stdout(None):
            make_data.write(one, points=n_point, reduced=name == "reduced", folder=place)

    def test_dry_runs_at_full_size(self):
        for recipe in recipes:
            with self.subTest(recipe=recipe.name):
                text = recipe.read_text()
                self.data_of(text, "full")
                one = re.sub(r"^batch = .*$", "batch = 1", text, flags=re.MULTILINE)
                pathlib.Path(f"{self.folder.name}/full/{recipe.name}").write_text(one)
                printed = self.run_in("full", program, "train", recipe.name, "--dry-run")
                (n_weight,) = re.findall(r"parameters +(\d+)", printed)
                (weights,) = re.findall(r"([\d,]+)\s(?:# )?weights", text)
                self.assertEqual(int(weights.replace(",", "")), int(n_weight))

    def test_data_are_made_by_a_command(self):
        script = folder / "make_data.py"
        printed = self.run_in(
            "command", sys.executable, script, "pipe", "--samples", 9, "--reduced"
        )
        self.assertEqual(printed, "./pipe_train.h5: 9 samples\n./pipe_test.h5: 2 samples\n")

    def test_trains_the_reduced_form(self):
        for recipe in recipes:
            with self.subTest(recipe=recipe.name):
                text = reduce(recipe.read_text())
                self.data_of(text, "reduced")
                pathlib.Path(f"{self.folder.name}/reduced/{recipe.name}").write_text(text)
                printed = self.run_in("reduced", program, "train", recipe.name)
                self.assertRegex(printed, r"best +.*: epoch 1")


if __name__ == "__main__":
    unittest.main()
