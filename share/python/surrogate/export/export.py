# SPDX-License-Identifier: Apache-2.0
"""export_model: from weights, a card and arrays to a model file."""

import copy
import datetime
import hashlib
import importlib.metadata
import os
import platform
import re

import numpy as np

from . import check_case, families, fields, hyperparameters, model_file, physicsnemo_flare, pooled, sources
from .errors import ExportError, refuse_unknown_keys

_card_keys = (
    "format family network inputs outputs pooled provenance conventions theta_cutoff_rule basis_norm_mode checksums".split()
)


def _checked_card(card, module, state):
    """A copy of the card with format, family and class; None stands for an empty one."""
    card = copy.deepcopy(card or {})
    if not isinstance(card, dict):
        raise ExportError(f"the card is {card!r}, expected an object")
    refuse_unknown_keys(card, _card_keys, "card")
    if card.setdefault("format", 1) != 1:
        raise ExportError(f"card: format is {card['format']!r}, expected 1")
    card.pop("checksums", None)  # those of another file
    for key in ("network", "provenance"):
        if not isinstance(card.setdefault(key, {}), dict):
            raise ExportError(f"card: {key} is {card[key]!r}, expected an object")
    card["network"] = {key: list(v) if isinstance(v, tuple) else v for key, v in card["network"].items()}
    name = type(module).__name__ if module is not None else card["network"].get("model")
    if name is None and physicsnemo_flare.is_state(state):
        name = physicsnemo_flare.class_name
    if "family" not in card:
        card["family"] = families.family_of_class(name)
        if card["family"] is None:
            raise ExportError(f"card: family is missing (known: {', '.join(families.families)})")
    if families.family_of_class(name) == card["family"]:
        card["network"].setdefault("model", name)
    if ("inputs" in card) != ("outputs" in card):
        raise ExportError("card: give both inputs and outputs, or neither for a bare network")
    return card


def _complete_network(card, module, state):
    """The hyperparameters, with what weights and module tell."""
    constructor = families.constructor_of(card["family"], card["network"])
    network = card["network"]
    families.check_values(network, constructor)
    if physicsnemo_flare.is_network(network):
        network = physicsnemo_flare.complete_network(card, state, physicsnemo_flare.from_module(module, constructor))
        families.check_values(network, constructor)
        physicsnemo_flare.check_inputs(card, network)
    elif card["family"] == "flare":
        network = hyperparameters.join(network, hyperparameters.flare_from_weights(state), "the weights have")
        if module is not None:
            network = hyperparameters.join(network, hyperparameters.flare_from_module(module), "the module has")
    elif module is not None:
        network = hyperparameters.join(network, hyperparameters.attributes_of(module, constructor), "the module has")
    families.check_complete(network, constructor)
    if card["family"] == "flare" and "num_heads" in constructor and network.get("num_heads") is None:
        raise ExportError("card: network.num_heads is missing; weights cannot show it (the official default is channel_dim // 8)")
    card["network"] = network
    return constructor


def _add_conventions(card, say):
    """Releases of torch-harmonics differ in their mathematics; the weights do not show it."""
    if card["family"] != "sphere" or "conventions" in card:
        return
    try:
        version = importlib.metadata.version("torch-harmonics")
    except importlib.metadata.PackageNotFoundError:
        version = "unknown"
    if re.fullmatch(r"0\.[89]\.\d+", version):
        card["conventions"] = "torch-harmonics " + version
    else:
        say(
            f"warning: torch-harmonics {version}: the file is read with the conventions of 0.9.3; if the network was trained "
            "with another release, name it in the card (\"conventions\": \"torch-harmonics 0.8.0\")"
        )


class FieldArrays:
    """The arrays of a card's fields: samples, statistics."""

    def __init__(self, card, constructor, inputs, outputs, say):
        self.is_grid = card["family"] == "sphere"
        self.grid = None
        if self.is_grid and constructor is not None:
            self.grid = families.value_of(card["network"], constructor, "img_size")
        widths = families.widths_of(card["family"], card["network"], constructor) if constructor else (None, None)
        self.samples = {}
        for which, arrays, width in (("inputs", inputs, widths[0]), ("outputs", outputs, widths[1])):
            fields.check_fields(card[which], which, width)
            given = fields.named_arrays(arrays, card[which], 1 if self.is_grid else -1, which)
            clouds = {f["name"] for f in card[which] if f.get("role") == "cloud"}
            samples = {name: fields.samples_of(name, array, self.grid, name in clouds) for name, array in given.items()}
            for i, field in enumerate(card[which]):
                card[which][i], word = fields.complete(field, samples.get(field["name"]), which)
                if word:
                    say("note: " + word)
            self.samples |= {(which, name): list_ for name, list_ in samples.items()}

    def of(self, card, which):
        """Samples of all fields of one side, by name; None if an array is missing."""
        found = {f["name"]: self.samples.get((which, f["name"])) for f in card[which]}
        return None if None in found.values() else found

    def add_pooled(self, card, point_weights, say):
        """Statistics of the pooled inputs, if the card has none yet and the arrays tell them."""
        if "pooled" in card:
            return
        samples = {key[1]: one for key, one in self.samples.items() if key[0] == "inputs"}
        weights = None if point_weights is None else fields.samples_of("point_weights", point_weights, self.grid)
        try:
            card["pooled"] = pooled.statistics(pooled.features(card, samples, weights))
        except ExportError as error:
            say(f"note: the card says nothing of pooled inputs, which tell how far a state is from training: {error}")


def make_check_input(card, data, sample, most_points):
    """The network's input for the check case (a dict where it takes coordinates apart), and the targets of the same points if
    there are any."""
    inputs = data.of(card, "inputs")
    if inputs is None:
        missing = [f["name"] for f in card["inputs"] if ("inputs", f["name"]) not in data.samples]
        raise ExportError(f"no check case can be made without arrays of all inputs; missing: {', '.join(missing)}")
    outputs = data.of(card, "outputs")
    together = {("in", k): v for k, v in inputs.items()} | {("out", k): v for k, v in (outputs or {}).items()}
    together = fields.common_samples(together)
    n = len(next(iter(together.values())))
    if not 0 <= sample < n:
        raise ExportError(f"sample {sample} does not exist; the arrays have {n}")
    channels = fields.network_values(card["inputs"], {k[1]: v for k, v in together.items() if k[0] == "in"}, sample)
    targets = None
    if outputs is not None:
        targets = [together["out", f["name"]][sample].astype(np.float64) for f in card["outputs"]]
    if not data.is_grid:
        channels, rows = check_case.thin(channels, most_points)
        targets = [target[rows] for target in targets] if targets else None
    n_axis = sum(field.get("role") == "coordinate" for field in card["inputs"])
    split = families.split_of(card["family"], card["network"], n_axis, len(channels))
    if split is None:
        return check_case.as_network_input(channels, data.is_grid), targets
    parts = check_case.as_split_input(channels, split)
    if physicsnemo_flare.is_network(card["network"]):
        parts = {name: part[None] for name, part in parts.items()}
    return parts, targets


def _require_outputs(card, constructor, arrays):
    """Refuses a check case whose output has another number of channels than the network of the card."""
    axis = -3 if card["family"] == "sphere" else -1
    width = families.widths_of(card["family"], card["network"], constructor)[1]
    expected = width if card.get("outputs") is None else len(card["outputs"])
    for name in ("check/output64/y", "check/output/y"):
        shape = arrays[name].shape if name in arrays else None
        if shape is None or (len(shape) >= -axis and shape[axis] == expected):
            continue
        raise ExportError(
            f"the network returns an array of the shape {tuple(shape)}, expected {expected} channels, those of the card"
        )


def _judge(card, y, targets, is_grid, say):
    """How far the prediction is from the target, in the units of the card: shows a wrong normalisation at once."""
    y = y if y.ndim > 2 else y[None]
    predicted = [y[0, i] if is_grid else y[0, ..., i] for i in range(len(targets))]
    for field, found, target in zip(card["outputs"], predicted, targets):
        error = check_case.distance(found * field["std"] + field["mean"], target)
        say(
            f"prediction of '{field['name']}' on the check sample: {100 * error:.3g} % from the array (relative L2); "
            "compare with what training reported"
        )
        if error > 0.5:
            say("warning: that is far; are mean and std, the order of the inputs and num_heads those of training?")


def _array_hash(samples):
    digest = hashlib.sha256()
    for sample in samples:
        digest.update(f"{sample.dtype.str}{sample.shape}".encode())
        digest.update(np.ascontiguousarray(sample).tobytes())
    return digest.hexdigest()[:16]


def add_provenance(card, data, weights_path):
    """What a reader will ask in two years; keys that the caller gave stay."""
    versions = [f"Python {platform.python_version()}"]
    for package in ("torch", "safetensors", "numpy", "torch-harmonics", "nvidia-physicsnemo"):
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    found = {
        "exported": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d") + " by share/python/export.py",
        "export_versions": ", ".join(versions),
    }
    if weights_path is not None:
        found["weights_from"] = f"{os.path.basename(weights_path)}, sha256 {sources.sha256_of(weights_path)}"
    if data is not None and data.samples:
        hashes = [f"{key[1]} {_array_hash(one)}" for key, one in data.samples.items()]
        found["arrays_sha256_64bit"] = ", ".join(dict.fromkeys(hashes))  # a field may be input and output
    card["provenance"] = {**found, **card["provenance"]}


def _as_given(check_input):
    """What a caller gives as the network's input: one array, or several by name, integers among them."""
    if isinstance(check_input, dict):
        return {name: _as_given(one) for name, one in check_input.items()}
    array = np.ascontiguousarray(check_input)
    return array.astype(np.int64) if array.dtype.kind in "iu" else array.astype(np.float32)


def _is_finite(x):
    return all(map(_is_finite, x.values())) if isinstance(x, dict) else bool(np.isfinite(x).all())


def _make_case(card, module, state, data, check_input, sample, points, constructor, forward, say):
    """Tensors and note of the check case."""
    targets = None
    if forward is None and physicsnemo_flare.is_network(card["network"]):
        forward = physicsnemo_flare.forward
        check_input = physicsnemo_flare.times_at_points(check_input)
    if check_input is not None:
        x = _as_given(check_input)
    elif data is not None:
        x, targets = make_check_input(card, data, sample, points)
    else:
        raise ExportError("a card without inputs is a bare network: give check_input, an array as the network takes it")
    if not _is_finite(x):
        raise ExportError("the check input is not finite")
    if isinstance(x, dict) and forward is None:
        raise ExportError(
            f"the network takes several tensors ({', '.join(x)}), and the codes of its family call it in different ways: give "
            "forward (--forward FILE.py:FUNCTION), a function of the module and a dict of tensors that returns y"
        )
    network = card["network"] if constructor is not None and families.is_built_by_card(card["family"]) else None
    tensors, error = check_case.check_tensors(module, network, state, x, say, forward)
    note = {"note": "computed by PyTorch on the CPU at export"}
    if error is not None:
        note["single_from_double"] = error
        shapes = {name: list(one.shape) for name, one in x.items()} if isinstance(x, dict) else list(x.shape)
        say(f"check case: input {shapes}, single precision is {error:.2g} from double")
        if error > check_case.weak:
            say("warning: that is much; surrogate check allows at most 1e-3")
    if targets is not None:
        _judge(card, tensors.get("check/output64/y", tensors["check/output/y"]), targets, data.is_grid, say)
    return tensors, note


def export_model(
    path,
    model=None,
    *,
    state_dict=None,
    card=None,
    inputs=None,
    outputs=None,
    point_weights=None,
    check=True,
    check_input=None,
    check_sample=0,
    check_points=2048,
    check_tensors=None,
    forward=None,
    overwrite=False,
    say=print,
    weights_path=None,
):
    """Writes a model file of libsurrogate; returns its card. share/doc/how-to/export-from-pytorch.md walks through it.

    path          of the file to be written; never replaced without overwrite=True, and never left half written
    model         torch.nn.Module, trained: of an official class (FLAREModel, FLARE of PhysicsNeMo, SphericalTransformer,
                  SphericalSegformer), or the path of a .mdlus file of a FLARE of PhysicsNeMo, or of the code that has the weights of a Ball Sparse Attention, Erwin, Sequoia or HEPT under their names
    state_dict    other weights for it; without `model` no check case can be computed (check=False)
    card          dict as in share/doc/reference/model-file.md: family and network where the module does not tell, inputs and outputs
                  with name, unit, role and axis, provenance. mean, std, min, max are computed where they are left out
    inputs,       arrays in the units of the card: {name: array}, or one array of all channels (last axis; on the sphere
    outputs       axis 1). Points: axis 0 counts samples, a list holds samples of different lengths. Grids:
                  (sample, n_lat, n_lon). A field of one sample, such as a coordinate, belongs to all samples
    point_weights what points count with in statistics of pooled inputs, if not all alike: what the solver gives as weight
                  of its domain; one axis, or a sample each. Grids count by area
    check         False: no check case. Then nobody can tell a wrong number of heads from a right one
    check_input   the network's input of the check case as it takes it, instead of one made of `inputs`; a dict of arrays by
                  name for networks that take several: positions and features, coords and x, tokens, gid, batch, edges
    forward       forward(model, tensors) -> y, a row a point, for these: how the module is called. It must work in single
                  and in double precision
    check_tensors a check case that was computed elsewhere, instead of all of these: {"input/positions": .., "output/y": ..,
                  "output64/y": ..}
    check_sample  which sample the check case is made of; check_points: at most so many of its points
    say           receives notes and warnings, line by line
    weights_path  file that the weights came from, for the provenance

    Raises ExportError, with nothing written, for whatever does not fit.
    """
    model_file.require_writable(path, overwrite)
    if model is None and state_dict is None:
        raise ExportError("neither model nor state_dict is given")
    if isinstance(model, (str, os.PathLike)):
        weights_path = weights_path or model
        needs_module = check and check_tensors is None
        model, own_state, card = physicsnemo_flare.open_checkpoint(model, card, needs_module)
        state_dict = own_state if state_dict is None else state_dict
    module = None if model is None else sources.unwrapped(model)
    if check and module is None and check_tensors is None:
        raise ExportError(
            "a check case needs the module: give model (--class FILE.py:CLASS), or check=False (--no-check); without a check "
            "case nobody can tell a wrong number of heads, activation or scale from a right one"
        )
    state_dict = module.state_dict() if state_dict is None else state_dict
    physicsnemo_flare.refuse_others(physicsnemo_flare.arguments_of(module), state_dict)
    state = physicsnemo_flare.complete_state(sources.clean_state(state_dict))
    card = _checked_card(card, module, state)
    constructor = _complete_network(card, module, state)
    _add_conventions(card, say)
    data = FieldArrays(card, constructor, inputs, outputs, say) if "inputs" in card else None
    if data is None and (inputs is not None or outputs is not None):
        raise ExportError("arrays are given, but the card has no inputs and outputs that say what they are")
    if data is not None:
        data.add_pooled(card, point_weights, say)
    tensors, note = dict(state), None
    if check:
        import torch

        if check_tensors is not None:
            if physicsnemo_flare.is_network(card["network"]):
                check_tensors = physicsnemo_flare.given_at_points(check_tensors)
            arrays, error = check_case.given_tensors(check_tensors)
            note = {"note": "given at export"} | ({} if error is None else {"single_from_double": error})
        else:
            arrays, note = _make_case(
                card, module, state, data, check_input, check_sample, check_points, constructor, forward, say
            )
        _require_outputs(card, constructor, arrays)
        tensors |= {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}
    else:
        say("warning: no check case: surrogate check cannot judge this file")
    add_provenance(card, data, weights_path)
    checksums = model_file.checksums_of(tensors)
    if checksums is None:
        say("note: no checksums (pip install xxhash adds them)")
    else:
        card["checksums"] = checksums
    model_file.write(path, tensors, model_file.metadata_of(card, note), overwrite)
    say(f"wrote {path}: {len(state)} tensors, {sum(t.numel() for t in state.values())} numbers")
    return card
