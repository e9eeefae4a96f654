# SPDX-License-Identifier: Apache-2.0
"""torch_package: packages are written to the folder of the first argument, checked, and run beside PyTorch in one process.

Run by ctest with SURROGATE_SHARE, SURROGATE_PROGRAM, SURROGATE_LIBRARY_DIR and SURROGATE_TORCH_PLUGIN in the environment. The
compiler takes most of the time.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

missing = [name for name in ("torch", "safetensors", "numpy", "xxhash") if importlib.util.find_spec(name) is None]
if missing:
    print(f"SKIPPED: this Python ({sys.executable}) has no {', '.join(missing)}; -DSURROGATE_PYTHON=.. names another")
    sys.exit(0)

import numpy as np  # noqa: E402
import torch  # noqa: E402

sys.path.insert(0, os.path.join(os.environ["SURROGATE_SHARE"], "python"))

from surrogate.export import ExportError, torch_package  # noqa: E402

program = os.environ["SURROGATE_PROGRAM"]
has_plugin = bool(os.environ.get("SURROGATE_TORCH_PLUGIN"))
folder = sys.argv.pop(1)

card = {
    "inputs": [
        {"name": "x", "role": "coordinate", "axis": 0, "unit": "m", "mean": 0.5, "std": 0.3},
        {"name": "k", "unit": "1", "mean": 2.0, "std": 1.5, "min": -3.0, "max": 9.0},
    ],
    "outputs": [{"name": "u", "unit": "m/s", "mean": 1.0, "std": 2.0}],
}


class Attention(torch.nn.Module):
    """A row depends on all rows. Takes and returns [1, points, channels]."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 8)
        self.outer = torch.nn.Linear(8, 1)

    def forward(self, x):
        h = self.inner(x)
        return self.outer(torch.softmax(h @ h.transpose(1, 2), -1) @ h)


class FirstRows(torch.nn.Module):
    def forward(self, x):
        return x[:3]


def mlp():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.GELU(), torch.nn.Linear(16, 1)).eval()


def attention():
    torch.manual_seed(2)
    return Attention().eval()


def silent(text):
    pass


class Errors(unittest.TestCase):
    def refused(self, text, model=None, example=None, per="point", **changes):
        with tempfile.TemporaryDirectory() as empty:
            with self.assertRaises(ExportError) as caught:
                torch_package(os.path.join(empty, "m.safetensors"), model or mlp(),
                              torch.rand(9, 2) if example is None else example, per=per, say=silent, **changes)
            self.assertIn(text, str(caught.exception))
            self.assertEqual(os.listdir(empty), [])

    def test_what_does_not_fit_is_named(self):
        self.refused("per is 'points', expected 'point' or 'cloud'", per="points")
        self.refused("rows depend on other rows; give per='cloud'", attention(), torch.rand(1, 9, 2), batch_axis=True)
        self.refused("has the shape (9, 2), expected [1, points, channels]", batch_axis=True)
        self.refused("the example has 9 points, expected from min_points = 10", min_points=10)
        self.refused("maps 9 rows to 3 rows", FirstRows())
        self.refused("the example holds float16", mlp().half(), torch.rand(9, 2).half())
        self.refused("2 inputs, but the module has 3 channels", torch.nn.Linear(3, 1), torch.rand(9, 3), card=card)
        self.refused("unknown key 'weights'", card={"weights": 1})
        self.refused("has no mean and std", card={"inputs": [{"name": "k", "unit": "1"}], "outputs": []})

    def test_existing_files_stay(self):
        with tempfile.TemporaryDirectory() as other:
            with open(os.path.join(other, "m.pt2"), "w") as file:
                file.write("mine")
            with self.assertRaises(ExportError) as caught:
                torch_package(os.path.join(other, "m.safetensors"), mlp(), torch.rand(9, 2), per="point", say=silent)
            self.assertIn("m.pt2' exists", str(caught.exception))
            self.assertEqual(os.listdir(other), ["m.pt2"])


@unittest.skipUnless(has_plugin, "the plug-in for PyTorch is not built")
class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.point = os.path.join(folder, "point.safetensors")
        cls.cloud = os.path.join(folder, "cloud.safetensors")
        torch_package(cls.point, mlp(), torch.rand(300, 2), per="point", card=card, overwrite=True, say=silent)
        torch_package(cls.cloud, attention(), torch.rand(1, 100, 2), per="cloud", batch_axis=True, overwrite=True, say=silent)

    def check(self, *arguments):
        return subprocess.run([program, "check", *arguments], capture_output=True, text=True)

    def test_program_checks_them_if_it_may(self):
        for path in (self.point, self.cloud):
            report = os.path.join(folder, "report.json")
            done = self.check(path, "--allow-code", "--json", report)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(report) as file:
                self.assertLess(json.load(file)["relative_l2"], 2e-6)
            for arguments, text in (([], "option allow_code is false"), (["--allow-code", "--reproducible"], "no reproducible mode"),
                                    (["--allow-code", "--precision", "fp64"], "set precision=fp32")):
                done = self.check(path, *arguments)
                self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
                self.assertIn(text, done.stderr)
            done = subprocess.run([program, "info", path], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_plans_beside_pytorch_predict_what_it_predicts(self):
        import surrogate

        rng = np.random.default_rng(3)
        x, k = rng.random((10000, 1)), 2 + rng.random((10000, 1))
        u = np.zeros((10000, 1))
        with surrogate.Context(allow_code=True, threads=2) as context:
            model = surrogate.Model(context, self.point)
            plan = surrogate.Plan(model, surrogate.Domain(context, x))
            plan.bind_input("k", k)
            plan.bind_output("u", u)
            before = torch.get_num_threads()
            plan.run()
            self.assertEqual(torch.get_num_threads(), before)
        self.assertLess(np.abs(u - self.expected(x, k)).max(), 1e-5)

    def expected(self, x, k):
        with torch.no_grad():
            normalized = np.hstack([(x - 0.5) / 0.3, (k - 2.0) / 1.5]).astype(np.float32)
            return mlp()(torch.from_numpy(normalized)).numpy() * 2.0 + 1.0

    def test_a_time_loop_steps_with_a_package(self):
        import surrogate

        x = np.linspace(0, 1, 1000).reshape(-1, 1)
        k, u = 2 + x, np.zeros((1000, 1))
        with surrogate.Context(allow_code=True) as context:
            loop = surrogate.TimeLoop(surrogate.Plan(surrogate.Model(context, self.point), surrogate.Domain(context, x)),
                                      range="fallback")
            loop.bind("k", k)
            loop.bind("u", u, "m/s")
            loop.set_fallback(lambda time_s, dt_s: u.fill(-1))
            self.assertEqual(loop.step(0.5), surrogate.StepOutcome.ACCEPTED)
            self.assertLess(np.abs(u - self.expected(x, k)).max(), 1e-5)
            k += 20  # outside of the card's range
            self.assertEqual(loop.step(0.5), surrogate.StepOutcome.FALLBACK)
            self.assertTrue((u == -1).all())

    @unittest.skipUnless(importlib.util.find_spec("petsc4py"), "this Python has no petsc4py")
    def test_vecs_of_petsc_take_its_predictions(self):
        import surrogate
        import surrogate.petsc
        from petsc4py import PETSc

        grid = PETSc.DMDA().create([1000], dof=1)
        grid.setUniformCoordinates(0, 1)
        k, u = grid.createGlobalVec(), grid.createGlobalVec()
        x = grid.getCoordinates().array.reshape(-1, 1).copy()
        k.array = 2 + x[:, 0]
        with surrogate.Context(allow_code=True) as context:
            plan = surrogate.Plan(surrogate.Model(context, self.point), surrogate.petsc.domain(context, grid))
            surrogate.petsc.run(plan, {"k": k}, {"u": u})
        self.assertLess(np.abs(u.array.reshape(-1, 1) - self.expected(x, 2 + x)).max(), 1e-5)


if __name__ == "__main__":
    unittest.main()
