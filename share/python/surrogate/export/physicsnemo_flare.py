# SPDX-License-Identifier: Apache-2.0
"""FLARE of NVIDIA's PhysicsNeMo: its checkpoint files, weights, hyperparameters and tensors.

Source: physicsnemo/models/flare/flare.py and core/module.py of nvidia-physicsnemo 2.2.2.
"""

import io
import json
import re
import tarfile
import zipfile

import numpy as np

from .errors import ExportError
from .hyperparameters import join

class_name = "FLARE"
origin = "checkpoint of PhysicsNeMo"
_first = "preprocess.layers.0.weight"
_members = ("args.json", "model.pt")


def is_network(network):
    """Whether the network of a card of family flare is of this class."""
    return network.get("model") == class_name


# ---- checkpoint files ----


def _members_of(path):
    """Bytes of args.json and model.pt of an archive; None for other files. Older archives are tar files."""
    try:
        if tarfile.is_tarfile(path):
            with tarfile.open(path) as archive:
                found = {name.removeprefix("./"): name for name in archive.getnames()}
                if any(name not in found for name in _members):
                    return None
                files = [archive.extractfile(found[name]) for name in _members]
                return [file.read() for file in files] if all(files) else None
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                if any(name not in archive.namelist() for name in _members):
                    return None
                return [archive.read(name) for name in _members]
    except (OSError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise ExportError(f"'{path}' cannot be read: {error}") from None
    return None


def read_checkpoint(path):
    """(arguments of the constructor, state_dict) of a .mdlus file; None for other files. Executes nothing of the file."""
    members = _members_of(path)
    if members is None:
        return None
    import torch

    try:
        args = json.loads(members[0])
        name, module, arguments = args["__name__"], args["__module__"], dict(args["__args__"])
    except (ValueError, KeyError, TypeError) as error:
        raise ExportError(f"'{path}' is not a checkpoint of PhysicsNeMo: args.json has no arguments ({error})") from None
    if name != class_name or ".flare" not in module:
        raise ExportError(f"'{path}' is a checkpoint of {module}.{name}, expected physicsnemo.models.flare.{class_name}")
    try:
        state = torch.load(io.BytesIO(members[1]), map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises several kinds, and pickle more
        raise ExportError(f"'{path}': model.pt cannot be read as weights alone ({str(error).splitlines()[0][:200]})") from None
    return arguments, state


def open_checkpoint(path, card, needs_module):
    """(module or None, state_dict, card with the arguments) of a .mdlus file."""
    checkpoint = read_checkpoint(path)
    if checkpoint is None:
        raise ExportError(f"'{path}' is not a checkpoint of PhysicsNeMo (.mdlus): it is no archive of args.json and model.pt")
    arguments, state = checkpoint
    refuse_others(arguments, state)
    found = {key: value for key, value in arguments.items() if value is not None}
    card = {"family": "flare", **(card or {})}
    card["network"] = join({"model": class_name, **card.get("network", {})}, found, "the checkpoint has")
    return _made(arguments, state) if needs_module else None, state, card


def _made(arguments, state):
    try:
        from physicsnemo.models.flare import FLARE
    except ImportError as error:
        raise ExportError(
            f"the check case needs PhysicsNeMo ({error}): pip install nvidia-physicsnemo, or give a check case that was computed "
            "elsewhere (--check, check_tensors)"
        ) from None
    try:
        module = FLARE(**{key: tuple(v) if isinstance(v, list) else v for key, v in arguments.items()})
        module.load_state_dict(state)
    except Exception as error:  # PhysicsNeMo raises several kinds
        raise ExportError(f"FLARE cannot be built with the arguments of the checkpoint: {str(error)[:400]}") from None
    return module


# ---- weights ----


def complete_state(state):
    """The weights under the names of today; a state_dict of another class is returned unchanged."""
    import torch

    names = (("linear_pre", "layers.0"), ("linear_post", "layers.2"))
    renamed = {}
    for name, tensor in state.items():
        for old, new in names:
            name = re.sub(rf"^(preprocess|blocks\.\d+\.ln_mlp1\.1)\.{old}\.", rf"\1.{new}.", name)
        renamed[name] = tensor
    if "time_fc.0.weight" in renamed and "time_embed.freqs" not in renamed:
        n = renamed["time_fc.0.weight"].shape[1] // 2
        renamed["time_embed.freqs"] = (1 / 10000) ** (torch.arange(n, dtype=torch.float32) / n)
    return renamed


def is_state(state):
    """Whether the weights have the names of this class."""
    return _first in state and "blocks.0.Attn.q_global" in state


def refuse_others(arguments, state):
    """Refuses what is not built of FLARE, and other networks with the layers of a Transolver. arguments: of the constructor,
    as far as they are known; state: names as they are."""
    signs = (
        ("use_te", "layers of Transformer Engine", r"ln_mlp1\.layer_norm_weight$|Attn\..*_extra_state$"),
        ("unified_pos", "distances to a reference grid in place of coordinates", r"^(module\.|_orig_mod\.)*embedding$"),
    )
    names = [name for name in state if "Attn." in name or "preprocess." in name or name.endswith("embedding") or "ln_mlp1." in name]
    if not any("preprocess." in name for name in names):
        return
    for key, what, sign in signs:
        if arguments.get(key) or any(re.search(sign, name) for name in names):
            raise ExportError(f"FLARE of PhysicsNeMo with {key}=True ({what}) is not supported; train it with {key}=False")
    if not any(name.endswith("Attn.q_global") for name in names):
        raise ExportError(
            "these are weights of another Transolver of PhysicsNeMo, without FLARE's attention (blocks.0.Attn.q_global is missing); "
            "supported: physicsnemo.models.flare.FLARE"
        )


def _shape(state, name):
    if name not in state:
        raise ExportError(f"these are not weights of FLARE of PhysicsNeMo: '{name}' is missing")
    return list(state[name].shape)


def from_weights(state):
    """What the shapes tell: all but act, dropout, and which channels are the embedding."""
    n_hidden = _shape(state, "preprocess.layers.2.weight")[0]
    blocks = {int(m[1]) for m in (re.match(r"blocks\.(\d+)\.", name) for name in state) if m}
    _, n_head, slice_num, _ = _shape(state, "blocks.0.Attn.q_global")
    return {
        "out_dim": _shape(state, f"blocks.{max(blocks)}.ln_mlp2.1.weight")[0],
        "n_layers": max(blocks) + 1,
        "n_hidden": n_hidden,
        "n_head": n_head,
        "slice_num": slice_num,
        "mlp_ratio": _shape(state, "blocks.0.ln_mlp1.1.layers.0.weight")[0] // n_hidden,
        "time_input": "time_fc.0.weight" in state,
    }


def arguments_of(module):
    """The arguments that a module of PhysicsNeMo keeps; none of other modules."""
    return getattr(module, "_args", {}).get("__args__", {})


def from_module(module, constructor):
    """The same in the form of a card."""
    arguments = arguments_of(module)
    return {key: list(v) if isinstance(v, tuple) else v for key, v in arguments.items() if key in constructor and v is not None}


def complete_network(card, state, found):
    """The hyperparameters of the card's network, with those found in a module, and what the weights tell."""
    network = join(card["network"], found, "the module has")
    network = join(network, from_weights(state), "the weights have")
    return _with_widths(network, card, state)


def _with_widths(network, card, state):
    """embedding_dim and functional_dim: without other knowledge, coordinates are the embedding."""
    n = _shape(state, _first)[1]
    if network.get("embedding_dim") is None and network.get("functional_dim") is None and "inputs" in card:
        roles = [one.get("role") for one in card["inputs"] if isinstance(one, dict)]
        network["embedding_dim"] = roles.count("coordinate")
    for key, other in (("embedding_dim", "functional_dim"), ("functional_dim", "embedding_dim")):
        if network.get(key) is None and isinstance(network.get(other), int):
            network[key] = n - network[other]
    if isinstance(network.get("embedding_dim"), int) and network["embedding_dim"] + network["functional_dim"] != n:
        raise ExportError(
            f"card: network.embedding_dim {network['embedding_dim']} and functional_dim {network['functional_dim']} make "
            f"{network['embedding_dim'] + network['functional_dim']} channels, but the weights have {n}"
        )
    return network


# ---- tensors ----


def split(network):
    """(name, channels) of the tensors that the network takes, in the order of the card's inputs."""
    parts = [("embedding", network["embedding_dim"]), ("fx", network["functional_dim"]), ("time", int(bool(network.get("time_input"))))]
    return [(name, n) for name, n in parts if n > 0]


def check_inputs(card, network):
    """Refuses a card whose time is not one number per cloud."""
    if not network.get("time_input") or "inputs" not in card:
        return
    last = card["inputs"][-1]
    if last.get("role") != "cloud":
        raise ExportError(
            f"card: inputs: '{last.get('name')}' is the last one, where the network takes the time (time_input): its role must be "
            "\"cloud\", one number per sample"
        )


def times_at_points(tensors):
    """Tensors of a check case whose time is one number per sample, as PhysicsNeMo takes it: the number at every point."""
    if not isinstance(tensors, dict) or "time" not in tensors or "embedding" not in tensors:
        return tensors
    embedding, time = np.asarray(tensors["embedding"]), np.asarray(tensors["time"])
    if time.ndim > 1:
        return tensors
    shape = (*embedding.shape[:-1], 1)
    time = time.reshape(-1, *[1] * (len(shape) - 1))
    return {**tensors, "time": np.broadcast_to(time, shape)}


def given_at_points(tensors):
    """The same of a check case that was computed elsewhere, whose names begin with input/."""
    inputs = {name.removeprefix("input/"): one for name, one in tensors.items() if name.startswith("input/")}
    return {**tensors, **{"input/" + name: one for name, one in times_at_points(inputs).items()}}


def forward(module, tensors):
    """Calls the module with tensors (1, point, channel)."""
    embedding = tensors["embedding"]
    fx = tensors.get("fx", embedding[..., :0])
    return module(fx, embedding, tensors["time"][:, 0, 0] if "time" in tensors else None)
