# SPDX-License-Identifier: Apache-2.0
"""The exporter for families whose networks take several tensors: stored results of the authors' codes go through it and pass
`surrogate check`, and a module of PyTorch is run in both precisions.

Run by ctest with SURROGATE_TEST_DATA and SURROGATE_PROGRAM in the environment.
"""

import glob
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

missing = [name for name in ("torch", "safetensors", "numpy") if importlib.util.find_spec(name) is None]
if missing:
    print(f"SKIPPED: this Python ({sys.executable}) has no {', '.join(missing)}; -DSURROGATE_PYTHON=.. names another")
    sys.exit(0)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../share/python"))

import numpy as np  # noqa: E402
import safetensors  # noqa: E402
import safetensors.torch  # noqa: E402
import torch  # noqa: E402
from export import ExportError, export_model, main  # noqa: E402

data = os.environ["SURROGATE_TEST_DATA"]
program = os.environ["SURROGATE_PROGRAM"]


def silent(text):
    pass


def content(path):
    """Card, weights, and the check case without its layers and gradients."""
    with safetensors.safe_open(path, "pt") as file:
        card = json.loads(file.metadata()["surrogate.card"])
    tensors = safetensors.torch.load_file(path)
    case = {name[6:]: one.numpy() for name, one in tensors.items()
            if name.startswith(("check/input/", "check/output/y", "check/output64/y"))}
    weights = {name: one for name, one in tensors.items() if not name.startswith("check/")}
    # Stored results of HEPT keep its tables beside the weights; a state_dict has them among them.
    for name, one in tensors.items():
        if name == "check/tables/regions":
            weights.setdefault("regions", one)
        elif name.startswith("check/tables/alpha/"):
            weights.setdefault(f"attns.{name.rsplit('/', 1)[1]}.attn.e2lsh.alpha", one)
    return card, weights, case


def check(path, *options):
    return subprocess.run([program, "check", path, *options], capture_output=True, text=True, check=False)


class BallAttention(torch.nn.Module):
    """Erwin's ball attention (maxxxzdn/erwin, BallMSA), here of one ball that holds all points."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = torch.nn.Linear(dim, 3 * dim)
        self.proj = torch.nn.Linear(dim, dim)
        self.pe_proj = torch.nn.Linear(3, dim)
        self.sigma_att = torch.nn.Parameter(-1 + 0.01 * torch.randn(1, heads, 1, 1))

    def forward(self, x, positions):
        n, dim = x.shape
        x = x + self.pe_proj(positions - positions.mean(0, keepdim=True))
        q, k, v = self.qkv(x).reshape(n, self.heads, dim // self.heads, 3).permute(3, 1, 0, 2)
        distance = (positions[:, None] - positions[None]).square().sum(-1).sqrt()
        scores = q @ k.transpose(-1, -2) / (dim // self.heads) ** 0.5 + self.sigma_att[0] * distance
        y = torch.softmax(scores, dim=-1) @ v
        return self.proj(y.permute(1, 0, 2).reshape(n, dim))


def forward(module, tensors):
    return module(tensors["x"], tensors["positions"])


class Families(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "model.safetensors")

    def test_stored_results_of_all_families_pass_the_check(self):
        count = {}
        for path in sorted(glob.glob(f"{data}/bsa/*.safetensors") + glob.glob(f"{data}/sequoia/*.safetensors")
                           + glob.glob(f"{data}/hept/*.safetensors")):
            if path.endswith(("_train.safetensors", "losses.safetensors", "tree_official.safetensors")):
                continue  # no check case
            card, weights, case = content(path)
            with self.subTest(os.path.basename(path)):
                export_model(self.path, state_dict=weights, card=card, check_tensors=case, overwrite=True, say=silent)
                found = check(self.path)
                self.assertEqual(found.returncode, 0, found.stdout + found.stderr)
                again, stored, same_case = content(self.path)
                self.assertEqual(again["network"], card["network"])
                self.assertEqual(set(stored), {name for name in weights if not name.endswith(".num_batches_tracked")})
                self.assertEqual(set(same_case), set(case))
                count[card["family"]] = count.get(card["family"], 0) + 1
        for family, least in (("bsa", 8), ("erwin", 1), ("sequoia", 5), ("hept", 4)):
            self.assertGreaterEqual(count.get(family, 0), least, count)

    def ball_attention(self):
        torch.manual_seed(7)
        card = {"family": "bsa",
                "network": {"model": "erwin_ball_attention", "dim": 16, "heads": 2, "ball": 32, "d": 3},
                "inputs": [{"name": name, "role": "coordinate", "axis": i, "unit": "m"} for i, name in enumerate("abc")]
                + [{"name": f"u{i}", "unit": "1"} for i in range(16)],
                "outputs": [{"name": f"v{i}", "unit": "1", "mean": 0.0, "std": 1.0} for i in range(16)]}
        random = np.random.default_rng(3)
        arrays = {field["name"]: random.normal(2, 3, (4, 32)) for field in card["inputs"]}
        return BallAttention(16, 2), card, arrays

    def test_a_module_is_run_in_both_precisions(self):
        module, card, arrays = self.ball_attention()
        export_model(self.path, module, card=card, inputs=arrays, forward=forward, say=silent)
        _, _, case = content(self.path)
        self.assertEqual(case["input/positions"].shape, (32, 3))
        self.assertEqual(case["input/x"].shape, (32, 16))
        wide = BallAttention(16, 2).double()
        wide.load_state_dict(module.state_dict())
        y = forward(wide, {key: torch.from_numpy(case["input/" + key]).double() for key in ("x", "positions")})
        np.testing.assert_allclose(case["output64/y"], y.detach().numpy(), rtol=1e-12)
        for options in ([], ["--precision", "fp64"]):
            found = check(self.path, *options)
            self.assertEqual(found.returncode, 0, found.stdout + found.stderr)
        os.remove(self.path)
        self.refuse(["network.heads is 4", "the module has 2"], {"network": card["network"] | {"heads": 4}}, forward=forward)

    def test_the_program_takes_a_function_and_a_case(self):
        module, card, arrays = self.ball_attention()
        files = {name: os.path.join(self.folder.name, name) for name in ("w.pt", "card.json", "train.npz", "case.npz", "own.py")}
        torch.save(module.state_dict(), files["w.pt"])
        with open(files["card.json"], "w", encoding="utf-8") as file:
            json.dump(card, file)
        np.savez(files["train.npz"], **arrays)
        with open(files["own.py"], "w", encoding="utf-8") as file:
            file.write("from export_families_test import BallAttention, forward\n\n\ndef make(dim, heads, **others):\n"
                       "    return BallAttention(dim, heads)\n")
        sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
        options = [files["w.pt"], "--card", files["card.json"], "--data", files["train.npz"], "-o", self.path, "--quiet"]
        self.assertEqual(main(options + ["--class", files["own.py"] + ":make", "--forward", files["own.py"] + ":forward"]), 0)
        self.assertEqual(check(self.path).returncode, 0)
        np.savez(files["case.npz"], **content(self.path)[2])
        self.assertEqual(main(options + ["--check", files["case.npz"], "--overwrite"]), 0)
        self.assertEqual(check(self.path).returncode, 0)

    def refuse(self, words, card, **arguments):
        module, good, arrays = self.ball_attention()
        card = good | card
        with self.assertRaises(ExportError) as caught:
            export_model(self.path, arguments.pop("model", module), card=card, inputs=arrays if "inputs" in card else None,
                         say=silent, **arguments)
        for word in words:
            self.assertIn(word, str(caught.exception))
        self.assertFalse(os.path.exists(self.path))

    def test_what_does_not_fit_is_refused_by_name(self):
        network = {"model": "erwin_ball_attention", "dim": 16, "heads": 2, "ball": 32, "d": 3}
        self.refuse(["several tensors", "positions, x", "forward"], {})
        self.refuse(["of the shape (32, 12), expected 16 channels"], {},
                    forward=lambda module, tensors: forward(module, tensors)[:, :12])
        self.refuse(["returns a tuple"], {}, forward=lambda module, tensors: (1,))
        self.refuse(["'haeds'", "heads"], {"network": network | {"haeds": 2}}, forward=forward)
        self.refuse(["network.dim", "16"], {"network": network | {"dim": "16"}}, forward=forward)
        self.refuse(["attention_kwargs", "compress_block_sise", "compress_block_size"],
                    {"network": {"attention_kwargs": {"compress_block_sise": 4}}}, forward=forward)
        self.refuse(["block_size is missing"], {"family": "hept", "network": {}}, forward=forward)
        self.refuse(["have no such key"], {"family": "hept", "network": {"model": "Transformer"}}, forward=forward)
        self.refuse(["'outputs/y'"], {}, check_tensors={"outputs/y": np.zeros(3)})
        self.refuse(["needs input/"], {}, check_tensors={"output/y": np.zeros(3)})
        self.refuse(["not finite"], {}, check_tensors={"input/x": np.zeros(3), "output/y": np.full(3, np.nan)})


if __name__ == "__main__":
    unittest.main()
