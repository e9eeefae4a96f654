# SPDX-License-Identifier: Apache-2.0
"""The exporter with FLARE of PhysicsNeMo: modules, state_dicts and .mdlus files. The class is that of the package where this
Python has it, and otherwise that of physicsnemo_module.py.

Run by ctest with SURROGATE_TEST_DATA, SURROGATE_SHARE and SURROGATE_PROGRAM in the environment.
"""

import importlib.util
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import types
import unittest
import zipfile

missing = [name for name in ("torch", "safetensors", "numpy") if importlib.util.find_spec(name) is None]
if missing:
    print(f"SKIPPED: this Python ({sys.executable}) has no {', '.join(missing)}; -DSURROGATE_PYTHON=.. names another")
    sys.exit(0)

import numpy as np  # noqa: E402
import safetensors  # noqa: E402
import safetensors.torch  # noqa: E402
import torch  # noqa: E402

import export_cases  # noqa: E402
from export import ExportError, export_model, main  # noqa: E402

try:
    from physicsnemo.models.flare import FLARE
except ImportError:
    from physicsnemo_module import FLARE

    for name in ("physicsnemo", "physicsnemo.models", "physicsnemo.models.flare"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["physicsnemo.models.flare"].FLARE = FLARE

program = os.environ.get("SURROGATE_PROGRAM")
network = {"functional_dim": 1, "out_dim": 2, "embedding_dim": 2, "n_layers": 2, "n_hidden": 16, "n_head": 2, "slice_num": 5}


def made(**changes):
    torch.manual_seed(1)
    return FLARE(**(network | changes))


def write_checkpoint(path, module, opened=zipfile.ZipFile, **changes):
    """A .mdlus file as Module.save() of PhysicsNeMo writes it, or a tar file as it wrote before."""
    weights = io.BytesIO()
    torch.save(module.state_dict(), weights)
    args = module._args | {"__module__": "physicsnemo.models.flare.flare"} | changes
    members = {"model.pt": weights.getvalue(), "args.json": json.dumps(args).encode(), "metadata.json": b"{}"}
    with opened(path, "w") as archive:
        for name, content in members.items():
            if isinstance(archive, tarfile.TarFile):
                info = tarfile.TarInfo("./" + name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
            else:
                archive.writestr(name, content)


class PhysicsNemo(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.out = self.path("model.safetensors")
        self.arrays = export_cases.arrays(3, 61) | {"t": np.array([0.25, 0.5, 2.0])}
        self.card = export_cases.card()
        self.card.pop("network", None)
        self.card.pop("family", None)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def timed_card(self, **changes):
        time = {"name": "t", "role": "cloud", "unit": "s", "mean": 0, "std": 1} | changes
        return self.card | {"inputs": [*self.card["inputs"], time]}

    def export(self, model=None, **changes):
        arguments = {"card": self.card, "say": lambda text: None, "inputs": self.arrays, "outputs": self.arrays}
        return export_model(self.out, model, overwrite=True, **(arguments | changes))

    def check(self):
        """The file passes `surrogate check`; returns its tensors."""
        done = subprocess.run([program, "check", self.out], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return safetensors.torch.load_file(self.out)

    def refused(self, *parts, model=None, **changes):
        with self.assertRaises(ExportError) as caught:
            self.export(model, **changes)
        for part in parts:
            self.assertIn(part, str(caught.exception))

    def test_module(self):
        card = self.export(made())
        expected = {"model": "FLARE", **network, "act": "gelu", "mlp_ratio": 4, "time_input": False}
        self.assertEqual({key: card["network"].get(key) for key in expected}, expected)
        tensors = self.check()
        self.assertEqual(list(tensors["check/input/embedding"].shape), [1, 61, 2])
        self.assertEqual(list(tensors["check/input/fx"].shape), [1, 61, 1])

    def test_time_is_a_number_per_cloud(self):
        model = made(time_input=True, act="silu", mlp_ratio=2, dropout=0.2)
        card = self.export(model, card=self.timed_card(), check_sample=2)
        self.assertEqual(card["network"]["dropout"], 0.2)
        self.assertTrue((self.check()["check/input/time"] == 2.0).all())
        for role in ("field", "coordinate"):
            self.refused("'t' is the last one", 'must be "cloud"', model=model, card=self.timed_card(role=role, axis=2))
        self.refused("functional_dim 1 make 3 channels", model=None, state_dict=made(functional_dim=2).state_dict(), check=False,
                     card=self.card | {"network": {"functional_dim": 1, "embedding_dim": 2}})

    def test_bare_network(self):
        model = made(time_input=True)
        x = {"fx": np.ones((1, 9, 1)), "embedding": np.linspace(0, 1, 18).reshape(1, 9, 2), "time": np.array([0.5])}
        export_model(self.out, model, check_input=x, say=lambda text: None)
        self.assertEqual(list(self.check()["check/input/time"].shape), [1, 9, 1])

    def test_state_dict_of_an_older_release(self):
        model = made(time_input=True)
        state = {name.replace("layers.0", "linear_pre").replace("layers.2", "linear_post"): tensor
                 for name, tensor in model.state_dict().items() if name != "time_embed.freqs"}
        self.assertIn("preprocess.linear_pre.weight", state)
        self.export(model, state_dict=state, card=self.timed_card())
        tensors = self.check()
        for name, tensor in model.state_dict().items():
            self.assertTrue(torch.equal(tensors[name], tensor), name)

    def test_state_dict_without_module(self):
        card = self.export(state_dict=made().state_dict(), check=False)
        self.assertEqual({key: card["network"].get(key) for key in network}, network)  # coordinates are the embedding

    def test_stored_results_of_the_package(self):
        for name in ("small", "ratio2", "time"):
            with safetensors.safe_open(os.path.join(os.environ["SURROGATE_TEST_DATA"], f"flare/physicsnemo_{name}.safetensors"),
                                       "pt") as file:
                stored = {key: file.get_tensor(key) for key in file.keys()}
                card = {"network": json.loads(file.metadata()["surrogate.card"])["network"]}
            state = {key: tensor for key, tensor in stored.items() if not key.startswith("check/")}
            case = {key[6:]: tensor.numpy() for key, tensor in stored.items()
                    if key.startswith(("check/input/", "check/output")) and key[-4:] not in ("loss", "rget")}
            if "input/time" in case:
                case["input/time"] = case["input/time"][:, 0, 0]  # as PhysicsNeMo takes it
            export_model(self.out, state_dict=state, card=card, check_tensors=case, overwrite=True, say=lambda text: None)
            self.check()

    def test_checkpoint(self):
        model = made(time_input=True)
        for opened in (zipfile.ZipFile, tarfile.open):
            write_checkpoint(self.path("trained.mdlus"), model, opened)
            card = self.export(self.path("trained.mdlus"), card=self.timed_card())
            self.assertIn("trained.mdlus, sha256", card["provenance"]["weights_from"])
            self.check()
        with open(self.path("card.json"), "w", encoding="utf-8") as file:
            json.dump(self.timed_card(), file)
        np.savez(self.path("data.npz"), **self.arrays)
        arguments = [self.path("trained.mdlus"), "-o", self.out, "--card", self.path("card.json"), "--data",
                     self.path("data.npz"), "--overwrite", "--quiet"]
        self.assertEqual(main(arguments), 0)
        self.check()
        self.assertEqual(main([*arguments, "--class", "physicsnemo_module.py:FLARE"]), 2)

    def test_state_dict_in_a_program_call(self):
        torch.save(made().state_dict(), self.path("trained.pt"))
        with open(self.path("card.json"), "w", encoding="utf-8") as file:
            json.dump(self.card, file)
        np.savez(self.path("data.npz"), **self.arrays)
        self.assertEqual(main([self.path("trained.pt"), "-o", self.out, "--card", self.path("card.json"), "--data",
                               self.path("data.npz"), "--class", "physicsnemo.models.flare:FLARE", "--quiet"]), 0)
        self.check()

    def test_checkpoints_that_are_refused(self):
        path = self.path("trained.mdlus")
        write_checkpoint(path, made(), __name__="Transolver", __module__="physicsnemo.models.transolver.transolver")
        self.refused("a checkpoint of physicsnemo.models.transolver.transolver.Transolver", model=path)
        write_checkpoint(path, made())
        self.refused("network.n_head is 4, but the checkpoint has 2", model=path, card=self.card | {"network": {"n_head": 4}})
        torch.save(made().state_dict(), path)
        self.refused("is not a checkpoint of PhysicsNeMo", model=path)

        class Payload:
            def __reduce__(self):
                return os.mkdir, (payload,)

        payload = self.path("executed")
        with zipfile.ZipFile(path, "w") as archive:
            weights = io.BytesIO()
            torch.save({"a": Payload()}, weights)
            archive.writestr("model.pt", weights.getvalue())
            archive.writestr("args.json", json.dumps(made()._args | {"__module__": "physicsnemo.models.flare.flare"}))
        self.refused("cannot be read as weights alone", model=path)
        self.assertFalse(os.path.exists(payload))

    def test_what_is_not_built(self):
        state = made().state_dict()
        self.refused("unified_pos=True", "is not supported", state_dict=state | {"embedding": torch.zeros(1, 6, 64)}, check=False)
        scale = {"blocks.0.ln_mlp1.layer_norm_weight": torch.zeros(16)}
        self.refused("use_te=True", "Transformer Engine", state_dict=state | scale, check=False)
        for key in ("unified_pos", "use_te"):
            model = made()
            model._args["__args__"][key] = True
            self.refused(key + "=True", model=model)
            write_checkpoint(self.path("trained.mdlus"), model)
            self.refused(key + "=True", model=self.path("trained.mdlus"))
        without = {name: tensor for name, tensor in state.items() if not name.endswith("q_global")}
        self.refused("another Transolver of PhysicsNeMo", "Attn.q_global", state_dict=without, check=False)
        self.refused("network.act is 'elu', expected one of gelu, silu", model=made(act="elu"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
