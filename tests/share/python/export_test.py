# SPDX-License-Identifier: Apache-2.0
"""The exporter: stored results are made again, its files are read back, what does not fit is refused by name.

Run by ctest with SURROGATE_TEST_DATA, SURROGATE_SHARE and SURROGATE_PROGRAM in the environment.
"""

import contextlib
import importlib.util
import io
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

import numpy as np  # noqa: E402
import safetensors  # noqa: E402
import safetensors.torch  # noqa: E402
import torch  # noqa: E402

import export_cases  # noqa: E402
from export import ExportError, export_model, main  # noqa: E402
from flare_module import FLAREModel  # noqa: E402

stored_folder = os.path.join(os.environ["SURROGATE_TEST_DATA"], "export")
program = os.environ.get("SURROGATE_PROGRAM")
module_file = os.path.join(os.path.dirname(os.path.abspath(__file__)), "flare_module.py")


def silent(text):
    pass


def content(path):
    """Card, check note and tensors of a model file."""
    with safetensors.safe_open(path, "pt") as file:
        metadata = file.metadata()
    return json.loads(metadata["surrogate.card"]), metadata, safetensors.torch.load_file(path)


def small_network(**changes):
    network = {"in_dim": 3, "out_dim": 2, "channel_dim": 16, "num_blocks": 1, "num_heads": 4, "num_latents": 5,
               "num_layers_k_proj": 0, "num_layers_v_proj": 0, "num_layers_ffn": 0, "num_layers_in_out_proj": 0}
    return network | changes


def small_model(dtype=torch.float32, **changes):
    return export_cases.fill(FLAREModel(**small_network(**changes)), dtype)


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.out = os.path.join(self.folder.name, "model.safetensors")

    def export(self, model=None, **changes):
        arguments = {"card": export_cases.card(), "say": silent}
        arrays = export_cases.arrays(3, 61)
        arguments["inputs"] = arguments["outputs"] = arrays
        arguments |= changes
        return export_model(self.out, model or small_model(), **arguments)

    def refused(self, *parts, model=None, **changes):
        """Refused with a text that has these parts, and nothing was written."""
        with self.assertRaises(ExportError) as caught:
            self.export(model, **changes)
        for part in parts:
            self.assertIn(part, str(caught.exception))
        self.assertEqual(os.listdir(self.folder.name), [])

    def check(self):
        """What the program says of the file; 0: passed."""
        done = subprocess.run([program, "check", self.out], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def card_with(self, **changes):
        return export_cases.card() | changes


class StoredResults(Folder):
    """tests/data/export was made by the official class; here by the one of flare_module.py."""

    def assert_cards_agree(self, found, stored):
        for card in (found, stored):
            card.pop("checksums", None)
            for key in ("exported", "export_versions"):
                self.assertIn(key, card["provenance"])
                del card["provenance"][key]
        for which in ("inputs", "outputs"):
            for a, b in zip(found.pop(which), stored.pop(which), strict=True):
                for key in ("mean", "std", "min", "max"):
                    self.assertAlmostEqual(a.pop(key), b.pop(key), delta=1e-13 * 100)
                self.assertEqual(a, b)
        self.assertEqual(found, stored)

    def assert_as_stored(self, path, most_double, type_of_weights):
        card, _, tensors = content(path)
        stored_card, _, stored = content(os.path.join(stored_folder, os.path.basename(path)))
        self.assert_cards_agree(card, stored_card)
        self.assertEqual(set(tensors), set(stored))
        for key, tensor in stored.items():
            if key.startswith("check/output"):
                most = 2e-6 if tensor.dtype == torch.float32 else most_double
                error = (tensors[key].double() - tensor.double()).norm() / tensor.double().norm()
                self.assertLessEqual(float(error), most, key)
            else:
                self.assertTrue(torch.equal(tensors[key], tensor), key)
                self.assertEqual(tensor.dtype, torch.float32 if key.startswith(("check/", "pos_embed")) else type_of_weights)

    def test_flare_is_made_again(self):
        for name, (_, dtype) in export_cases.cases.items():
            with self.subTest(name):
                path, _ = export_cases.export_case(name, FLAREModel, self.folder.name, say=silent)
                self.assert_as_stored(path, 1e-13, dtype)

    @unittest.skipUnless(importlib.util.find_spec("torch_harmonics"), "this Python has no torch-harmonics")
    def test_sphere_is_made_again(self):
        path, card = export_cases.export_sphere(self.folder.name, say=silent)
        self.assertEqual(card["network"]["embed_dim"], 8)  # read from the module
        # Tables of the official code are of single precision, even in double.
        self.assert_as_stored(path, 1e-6, torch.float16)
        os.unlink(path)
        for wrong in ({"num_heads": 1}, {"filter_basis_type": "zernike"}, {"theta_cutoff": 1.0}, {"attention_mode": "global"}):
            with self.subTest(wrong), self.assertRaises(ExportError) as caught:
                export_cases.export_sphere(self.folder.name, say=silent, **wrong)
            self.assertRegex(str(caught.exception), "computes something else|not the module's")
        self.assertEqual(os.listdir(self.folder.name), [])


class Files(Folder):
    def test_statistics_are_those_of_the_arrays(self):
        card = self.export()
        arrays = export_cases.arrays(3, 61)
        for field in (*card["inputs"], card["outputs"][0]):
            array = arrays[field["name"]].astype(np.float64)
            self.assertAlmostEqual(field["mean"], array.mean(), places=13)
            self.assertAlmostEqual(field["std"], array.std(ddof=1), places=13)
            self.assertEqual((field["min"], field["max"]), (array.min(), array.max()))
        self.assertEqual(card["outputs"][1]["std"], 0.5)  # given in the card: stays
        self.assertEqual(card["outputs"][1]["min"], arrays["speed"].min())

    def test_sums_are_in_double(self):
        value = np.full((4, 1 << 20), 0.1, dtype=np.float32)  # a sum in single loses its digits
        value[0, 0] = 0.2
        found = self.export(inputs=export_cases.arrays(3, 61) | {"mobility": value.reshape(-1)[: 3 * 61].reshape(3, 61)})
        self.assertAlmostEqual(found["inputs"][2]["mean"], float(np.float32(0.1)) + float(np.float32(0.2) - np.float32(0.1)) / 183, places=12)
        from surrogate.export.fields import statistics

        mean = statistics([value])["mean"]
        exact = float(np.float32(0.1)) + (float(np.float32(0.2)) - float(np.float32(0.1))) / value.size
        self.assertLessEqual(abs(mean - exact), 1e-15)

    def test_check_input_is_the_normalised_sample(self):
        card = self.export(check_sample=2, check_points=1000)
        x = content(self.out)[2]["check/input/x"].numpy()
        self.assertEqual(x.shape, (1, 61, 3))
        arrays = export_cases.arrays(3, 61)
        for i, field in enumerate(card["inputs"]):
            values = arrays[field["name"]]
            values = values[2] if values.ndim == 2 else values
            expected = ((values.astype(np.float64) - field["mean"]) / field["std"]).astype(np.float32)
            np.testing.assert_array_equal(x[0, :, i], expected)

    def test_numbers_per_cloud_are_read_by_all_points(self):
        card = export_cases.card()
        card["inputs"][2]["role"] = "cloud"
        numbers = np.array([3.0, 5.0, 10.0])
        found = self.export(card=card, check_sample=1, check_points=1000, inputs=export_cases.arrays(3, 61) | {"mobility": numbers})
        field = found["inputs"][2]
        self.assertEqual(field["role"], "cloud")
        self.assertAlmostEqual(field["std"], numbers.std(ddof=1), places=13)
        x = content(self.out)[2]["check/input/x"].numpy()
        np.testing.assert_array_equal(x[0, :, 2], np.full(61, (5 - field["mean"]) / field["std"], dtype=np.float32))
        os.remove(self.out)
        self.refused("expected one number per sample", card=card)

    def test_stacked_and_ragged_arrays_are_the_same(self):
        arrays = export_cases.arrays(3, 61)
        expected = self.export()
        names = [f["name"] for f in expected["inputs"]]
        stacked = np.stack([np.broadcast_to(arrays[n], (3, 61)).astype(np.float64) for n in names], axis=-1)
        found = self.export(inputs=stacked, overwrite=True)
        for a, b in zip(found["inputs"], expected["inputs"], strict=True):
            self.assertAlmostEqual(a["mean"], b["mean"], places=13)
        ragged = {n: [stacked[i, : 61 - i, j] for i in range(3)] for j, n in enumerate(names)}
        self.export(inputs=ragged, outputs=None, card=self.card_with(outputs=[
            {"name": "a", "unit": "1", "mean": 0.0, "std": 1.0}, {"name": "b", "unit": "1", "mean": 0.0, "std": 1.0}]),
            check_sample=2, overwrite=True)
        self.assertEqual(content(self.out)[2]["check/input/x"].shape, (1, 59, 3))

    def test_checksums_are_those_of_xxhash(self):
        card = self.export()
        if importlib.util.find_spec("xxhash") is None:
            self.assertNotIn("checksums", card)
            return
        import xxhash

        _, metadata, tensors = content(self.out)
        self.assertEqual(set(card["checksums"]), set(tensors))
        bias = tensors["in_proj.fc1.bias"].numpy().tobytes()
        self.assertEqual(card["checksums"]["in_proj.fc1.bias"], xxhash.xxh3_64_hexdigest(bias))
        self.assertEqual(metadata["surrogate.card_checksum"], xxhash.xxh3_64_hexdigest(metadata["surrogate.card"].encode()))

    def test_weights_keep_their_type_but_float64_is_rounded(self):
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
            with self.subTest(dtype):
                model = small_model()
                with torch.no_grad():
                    model.blocks[0].att.out_proj.weight += 1e-3  # not exact in any
                self.export(model.to(dtype), overwrite=True)
                found = content(self.out)[2]["blocks.0.att.out_proj.weight"]
                stored = torch.float32 if dtype == torch.float64 else dtype
                self.assertTrue(torch.equal(found, model.blocks[0].att.out_proj.weight.detach().to(stored)))
                if program:
                    self.check()

    def test_wrapped_modules_have_their_own_names(self):
        model = small_model()
        self.export(torch.nn.DataParallel(model))
        self.assertIn("blocks.0.att.latent_q", content(self.out)[2])
        prefixed = {"_orig_mod.module." + name: tensor for name, tensor in model.state_dict().items()}
        self.export(model, state_dict=prefixed, overwrite=True)
        self.assertIn("blocks.0.att.latent_q", content(self.out)[2])

    def test_the_module_is_left_as_it_was(self):
        model = small_model().train()
        before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        self.export(model)
        self.assertTrue(model.training)
        self.assertEqual(next(model.parameters()).dtype, torch.float32)
        for name, tensor in model.state_dict().items():
            self.assertTrue(torch.equal(tensor, before[name]))

    def test_prediction_far_from_the_target_is_said(self):
        said = []
        self.export(say=said.append)
        self.assertTrue(any("prediction of 'pressure'" in line for line in said), said)
        self.assertTrue(any(line.startswith("warning: that is far") for line in said), said)

    def test_statistics_of_the_card_that_are_not_those_of_the_array_are_said(self):
        said = []
        self.export(say=said.append)
        self.assertTrue(any("'speed': the card says mean 0, std 0.5" in line for line in said), said)

    def test_bare_network(self):
        x = export_cases.numbers(3 * 17, 5).reshape(1, 17, 3)
        card = self.export(card={"family": "flare"}, inputs=None, outputs=None, check_input=x)
        self.assertNotIn("inputs", card)
        if program:
            self.check()

    def test_the_library_reads_what_was_written(self):
        self.export()
        if not program:
            self.skipTest("no program surrogate")
        self.assertIn("passed", self.check())
        done = subprocess.run([program, "info", self.out], capture_output=True, text=True)
        self.assertIn("mobility", done.stdout)
        self.assertIn("F32 (as stored)", done.stdout)


class Refusals(Folder):
    """Nothing is written, and the text says what to do."""

    def test_unknown_keys_name_near_ones(self):
        self.refused("unknown key 'familly'", "did you mean 'family'", card=export_cases.card() | {"familly": "flare"})
        self.refused("network: unknown key 'num_head'", "'num_heads'", card=self.card_with(network={"num_head": 4}))
        card = export_cases.card()
        card["inputs"][2]["units"] = "m"
        self.refused("inputs[2]: unknown key 'units'", "'unit'", card=card)
        card = export_cases.card()
        card["outputs"][0]["axis"] = 0
        self.refused("outputs[0]: unknown key 'axis'", card=card)
        card = export_cases.card()
        card["outputs"][0]["role"] = "class"
        self.refused("outputs[0].unit: a class has unit", card=card)
        card["outputs"][0] = {"name": "sea", "role": "class", "unit": "1", "std": 2}
        self.refused("outputs[0].std: a class has", card=card)
        card["outputs"][0] = {"name": "sea", "role": "class", "unit": "1"}
        self.refused("for all outputs or for none", card=card)

    def test_misspelt_family_and_class(self):
        self.refused("family 'flair' is not known", "did you mean 'flare'", card=self.card_with(family="flair"))
        card = self.card_with(network={"model": "FLAREModell"})
        self.refused("'FLAREModell' is not known", "'FLAREModel'", card=card)

    def test_networks_that_the_library_does_not_run(self):
        card = self.card_with(family="my_gnn", network={"layers": 3})
        self.refused("family 'my_gnn' is not known", "known: flare", card=card)
        self.refused("network.model 'Perceptron' is not known", card=self.card_with(network={"model": "Perceptron"}))

    def test_another_class_of_the_name_has_other_weights(self):
        class FLARE(torch.nn.Linear):
            pass

        self.refused("not weights of FLARE of PhysicsNeMo", "'preprocess.layers.2.weight' is missing", model=FLARE(3, 3))

    def test_hyperparameters_that_contradict_the_module(self):
        for key, wrong in (("num_heads", 2), ("attn_scale", 0.5), ("act", "silu"), ("num_latents", 6), ("channel_dim", 32),
                           ("num_blocks", 2), ("num_layers_ffn", 1), ("ffn_mlp_ratio", 2.0), ("rmsnorm", True)):
            with self.subTest(key):
                self.refused(f"network.{key} is {wrong!r}, but", card=self.card_with(network={key: wrong}))

    def test_hyperparameters_that_neither_shapes_nor_attributes_show(self):
        """A class that keeps nothing under its official name is built anew from the card and compared."""

        class Shy(FLAREModel):
            def __init__(self, **network):
                super().__init__(**network)
                for block in self.blocks:
                    block.att.heads_, block.att.scale_ = block.att.num_heads, block.att.attn_scale
                    block.att.__class__ = ShyMixer
                    del block.att.num_heads, block.att.attn_scale

        import flare_module

        class ShyMixer(flare_module.Mixer):
            def __getattr__(self, name):
                if "forward_" in self.__dict__ and name in ("num_heads", "attn_scale"):
                    return self.heads_ if name == "num_heads" else self.scale_
                return super().__getattr__(name)

            def forward(self, x):
                self.forward_ = True
                try:
                    return super().forward(x)
                finally:
                    del self.forward_

        shy = export_cases.fill(Shy(**small_network()), torch.float32)
        self.refused("network.num_heads is missing", model=shy)
        network = {"num_heads": 4, "model": "FLAREModel"}
        self.export(shy, card=self.card_with(network=network))
        os.unlink(self.out)
        for wrong in ({"num_heads": 2}, {"attn_scale": 0.25}):
            self.refused("computes something else than the module", model=shy, card=self.card_with(network=network | wrong))

    def test_values_of_the_wrong_kind(self):
        for key, wrong in (("num_heads", 4.0), ("num_heads", True), ("in_dim", 0), ("act", "relu"), ("attn_scale", -1),
                           ("rmsnorm", 1), ("num_layers_ffn", -2), ("ffn_mlp_ratio", float("nan"))):
            with self.subTest(key):
                state = small_model().state_dict()
                card = self.card_with(network={"num_heads": 4} | {key: wrong})
                self.refused(f"network.{key}", card=card, state_dict=state, check=False, model=None)

    def test_wrong_weights(self):
        state = small_model().state_dict()
        del state["blocks.0.att.k_proj.fc1.bias"]
        self.refused("do not fit the module", "k_proj.fc1.bias", state_dict=state)
        state = small_model().state_dict()
        state["blocks.0.norm1.weight"][3] = float("nan")
        self.refused("'blocks.0.norm1.weight'", "not finite", state_dict=state)
        state = small_model(torch.float64).state_dict()
        state["blocks.0.norm1.weight"][3] = 1e300
        self.refused("'blocks.0.norm1.weight'", "not finite in torch.float32", state_dict=state)
        state = small_model().state_dict()
        state["counter"] = torch.tensor([1])
        self.refused("tensor 'counter' is torch.int64", state_dict=state)
        self.refused("are not weights of FLAREModel", state_dict={"conv.weight": torch.zeros(3, 3)})
        self.refused("begin with check/", state_dict={"check/input/x": torch.zeros(3)})
        self.refused("two tensors are called 'a'", state_dict={"a": torch.zeros(1), "module.a": torch.zeros(1)})

    def test_fields(self):
        def changed(which, i, **changes):
            card = export_cases.card()
            card[which][i] |= changes
            return card

        self.refused("2 inputs, but the network has 3", card=self.card_with(inputs=export_cases.card()["inputs"][:2]))
        self.refused("'x' is empty or appears twice", card=changed("inputs", 1, name="x"))
        self.refused("inputs[1].axis: axis 0 appears twice", card=changed("inputs", 1, axis=0))
        self.refused("inputs[0].axis is 8, expected 0 to 7", card=changed("inputs", 0, axis=8))
        self.refused("inputs[2].axis: only", card=changed("inputs", 2, axis=2))
        self.refused("role is 'coord', expected", card=changed("inputs", 0, role="coord"))
        self.refused("inputs[2].std is 0.0, expected a number above 0", card=changed("inputs", 2, mean=0.0, std=0.0))
        self.refused("give both mean and std", card=changed("inputs", 2, mean=0.0))
        self.refused("without control characters", card=changed("inputs", 2, name="a\x1b[31m"))
        self.refused("give both inputs and outputs", card={"family": "flare", "inputs": export_cases.card()["inputs"]})

    def test_arrays(self):
        def changed(**arrays):
            return export_cases.arrays(3, 61) | arrays

        arrays = export_cases.arrays(3, 61)
        bad = arrays["mobility"].copy()
        bad[1, 2] = np.inf
        self.refused("'mobility' has values that are not finite", inputs=changed(mobility=bad))
        self.refused("different numbers of samples", inputs=changed(mobility=arrays["mobility"][:2]))
        self.refused("different shapes", inputs=changed(x=arrays["x"][:60]))
        self.refused("is 5.0 everywhere", "give mean and std", inputs=changed(y=np.full(61, 5.0)))
        self.refused("not real numbers", inputs=changed(mobility=arrays["mobility"].astype(str)))
        self.refused("'mobility' is empty", inputs=changed(mobility=np.zeros((0, 61))))
        del arrays["mobility"]
        self.refused("inputs 'mobility' has no mean and std", inputs=arrays)
        self.refused("expected 3 channels on axis -1", inputs=np.zeros((3, 61, 2)))
        self.refused("sample 3 does not exist; the arrays have 3", check_sample=3)
        self.refused("the card has no inputs and outputs", card={"family": "flare"})

    def test_check_case(self):
        state = small_model().state_dict()
        with self.assertRaises(ExportError) as caught:
            export_model(self.out, state_dict=state, card=self.card_with(network={"num_heads": 4}), say=silent)
        self.assertIn("a check case needs the module", str(caught.exception))
        huge = small_model()
        with torch.no_grad():
            huge.blocks[0].att.latent_q *= 1e30
            huge.blocks[0].att.k_proj.fc2.weight *= 1e30
        self.refused("not finite", model=huge)
        card = self.card_with(inputs=[f | {"mean": 0.0, "std": 1.0} for f in export_cases.card()["inputs"]])
        self.refused("without arrays of all inputs; missing: x, y, mobility", card=card, inputs=None)
        self.refused("give check_input", card={"family": "flare"}, inputs=None, outputs=None)

    def test_a_case_that_contradicts_itself(self):
        class Moody(FLAREModel):
            def forward(self, x):
                return super().forward(x) * (1.2 if x.dtype == torch.float64 else 1)

        moody = export_cases.fill(Moody(**small_network()), torch.float32)
        self.refused("single and double precision differ by 0.167", model=moody)

    def test_without_double_precision_the_case_is_of_single_alone(self):
        class Single(FLAREModel):
            def forward(self, x):
                if x.dtype == torch.float64:
                    raise RuntimeError("expected scalar type Float but found Double")
                return super().forward(x)

        said = []
        self.export(export_cases.fill(Single(**small_network()), torch.float32), say=said.append)
        names = [name for name in content(self.out)[2] if name.startswith("check/")]
        self.assertEqual(sorted(names), ["check/input/x", "check/output/y"])
        self.assertTrue(any("does not run in double precision (expected scalar" in line for line in said), said)

    def test_modules_that_can_be_neither_built_nor_copied(self):
        class Odd(FLAREModel):
            def __init__(self, everything):
                super().__init__(**everything)

            def __deepcopy__(self, memo):
                raise TypeError("holds a handle")

        odd = export_cases.fill(Odd(small_network()), torch.float32)
        self.refused("Odd cannot be built with them", "cannot be copied (holds a handle)", model=odd)
        del Odd.__deepcopy__
        said = []
        self.export(odd, say=said.append)
        self.assertTrue(any("hyperparameters are not verified" in line for line in said), said)

    def test_never_replaces_silently(self):
        self.export()
        with open(self.out, "rb") as file:
            before = file.read()
        with self.assertRaises(ExportError) as caught:
            self.export()
        self.assertIn("exists; --overwrite", str(caught.exception))
        with self.assertRaises(ExportError):
            self.export(card=self.card_with(family="flair"), overwrite=True)
        with open(self.out, "rb") as file:
            self.assertEqual(file.read(), before)
        self.export(overwrite=True, check_sample=1)
        self.assertEqual(os.listdir(self.folder.name), ["model.safetensors"])

    def test_places_that_do_not_exist(self):
        self.out = os.path.join(self.folder.name, "nowhere", "model.safetensors")
        with self.assertRaises(ExportError) as caught:
            self.export()
        self.assertIn("there is no folder", str(caught.exception))


class Program(Folder):
    """export.py as users call it."""

    def setUp(self):
        super().setUp()
        self.write_inputs()

    def write_inputs(self):
        self.weights = os.path.join(self.folder.name, "trained.pt")
        self.model = small_model()
        torch.save(self.model.state_dict(), self.weights)
        self.card = os.path.join(self.folder.name, "card.json")
        with open(self.card, "w", encoding="utf-8") as file:
            json.dump(self.card_with(network={"num_heads": 4}), file)
        self.data = os.path.join(self.folder.name, "train.npz")
        np.savez(self.data, **export_cases.arrays(3, 61))

    def call(self, *arguments, weights=None):
        """(status, output, errors)"""
        output, errors = io.StringIO(), io.StringIO()
        all_arguments = [weights or self.weights, "-o", self.out, "--card", self.card, "--data", self.data, *arguments]
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            try:
                status = main(all_arguments)
            except SystemExit as ended:
                status = ended.code
        return status, output.getvalue(), errors.getvalue()

    def test_writes_what_the_function_writes(self):
        status, output, errors = self.call("--class", module_file + ":FLAREModel")
        self.assertEqual(status, 0, output + errors)
        found, _, tensors = content(self.out)
        expected = self.export(self.model, overwrite=True)
        for card in (found, expected):
            for key in ("exported", "weights_from"):
                card["provenance"].pop(key, None)
        self.assertEqual(found, expected)
        for name, tensor in content(self.out)[2].items():
            self.assertTrue(torch.equal(tensor, tensors[name]), name)

    def test_file_by_file_arrays_and_safetensors(self):
        weights = os.path.join(self.folder.name, "weights.safetensors")
        safetensors.torch.save_file(self.model.state_dict(), weights)
        arrays = export_cases.arrays(3, 61)
        os.unlink(self.data)
        self.data = os.path.join(self.folder.name, "x.npy")
        np.save(self.data, arrays.pop("x"))
        more = []
        for name, array in arrays.items():
            path = os.path.join(self.folder.name, "array_" + name + ".npy")
            np.save(path, array)
            more += ["--data", f"{name}={path}"]
        status, output, errors = self.call(*more, "--class", module_file + ":FLAREModel", weights=weights)
        self.assertEqual(status, 0, output + errors)

    def test_checkpoints_of_trainers(self):
        ema = {name: tensor + 1 for name, tensor in self.model.state_dict().items()}
        content_ = {"model_state": self.model.state_dict(), "ema_shadow": ema, "epoch": 3}
        torch.save(content_, self.weights)
        status, output, _ = self.call("--no-check")
        self.assertEqual(status, 0)
        self.assertIn("key 'model_state'", output)
        self.assertTrue(torch.equal(content(self.out)[2]["in_proj.fc1.bias"], self.model.in_proj.fc1.bias))
        self.assertEqual(self.call("--no-check", "--overwrite", "--key", "ema_shadow")[0], 0)
        self.assertTrue(torch.equal(content(self.out)[2]["in_proj.fc1.bias"], ema["in_proj.fc1.bias"]))
        status, _, errors = self.call("--no-check", "--overwrite", "--key", "ema")
        self.assertEqual(status, 2)
        self.assertIn("its keys: model_state, ema_shadow, epoch", errors)
        torch.save({"student": self.model.state_dict(), "teacher": ema}, self.weights)
        self.assertIn("under student, teacher: choose one with --key", self.call("--no-check", "--overwrite")[2])

    def test_modules_in_pickles_are_not_run(self):
        torch.save(self.model, self.weights)
        status, _, errors = self.call("--class", module_file + ":FLAREModel")
        self.assertEqual(status, 2)
        self.assertIn("runs code when it is opened", errors)
        self.assertFalse(os.path.exists(self.out))

    def test_errors_are_one_line_and_status_two(self):
        class_ = ("--class", module_file + ":FLAREModel")
        for part, arguments in (
            ("a check case needs the module", ()),
            ("there is no class Flare", ("--class", module_file + ":Flare")),
            ("nothere", ("--class", "nothere:Flare")),
            ("expected FILE.py:CLASS", ("--class", "flare")),
            ("there is no file", (*class_, "--data", "nowhere.npz")),
            ("sample 9 does not exist", (*class_, "--sample", "9")),
        ):
            with self.subTest(part):
                status, _, errors = self.call(*arguments)
                self.assertEqual(status, 2)
                self.assertIn(part, errors)
                self.assertEqual(len(errors.strip().splitlines()), 1, errors)
                self.assertFalse(os.path.exists(self.out))
        self.assertEqual(self.call("--nonsense")[0], 2)
        with open(self.card, "w", encoding="utf-8") as file:
            file.write("{")
        self.assertIn("cannot be read", self.call(*class_)[2])

    def test_help_has_an_example(self):
        output = io.StringIO()
        with contextlib.redirect_stdout(output), self.assertRaises(SystemExit):
            main(["--help"])
        self.assertIn("example:", output.getvalue())
        self.assertIn("how-to/export-from-pytorch.md", output.getvalue())


if __name__ == "__main__":
    unittest.main(verbosity=1)
