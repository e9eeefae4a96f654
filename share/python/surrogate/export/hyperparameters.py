# SPDX-License-Identifier: Apache-2.0
"""Hyperparameters read from weights and modules, so that a card cannot contradict them."""

import re

from .errors import ExportError


def _depth(state, prefix):
    """num_layers of a ResidualMLP: -1 for a single affine layer, else the number of inner layers."""
    if prefix + ".fc.weight" in state:
        return -1
    if prefix + ".fc1.weight" not in state:
        raise ExportError(f"these are not weights of FLAREModel: '{prefix}.fc1.weight' is missing")
    inner = re.compile(re.escape(prefix) + r"\.fcs\.(\d+)\.weight")
    return len([name for name in state if inner.fullmatch(name)])


def _shape(state, name):
    if name not in state:
        raise ExportError(f"these are not weights of FLAREModel: '{name}' is missing")
    return list(state[name].shape)


def _ends(state, prefix, depth):
    """Input and output width of a ResidualMLP."""
    if depth < 0:
        return _shape(state, prefix + ".fc.weight")[::-1]
    return _shape(state, prefix + ".fc1.weight")[1], _shape(state, prefix + ".fc2.weight")[0]


def flare_from_weights(state):
    """What the shapes of a FLAREModel tell: all but num_heads (unless qk_norm), act and attn_scale."""
    io = _depth(state, "in_proj")
    in_dim, channels = _ends(state, "in_proj", io)
    blocks = {int(m[1]) for m in (re.match(r"blocks\.(\d+)\.", name) for name in state) if m}
    found = {
        "in_dim": in_dim,
        "out_dim": _ends(state, "out_proj.1", _depth(state, "out_proj.1"))[1],
        "channel_dim": channels,
        "num_blocks": max(blocks) + 1 if blocks else 0,
        "num_layers_in_out_proj": io,
        "out_proj_norm": "out_proj.0.weight" in state,
    }
    if not blocks:
        return found
    att = "blocks.0.att."
    found["num_latents"] = _shape(state, att + "latent_q")[1]
    found["rmsnorm"] = "blocks.0.norm1.bias" not in state
    found["qk_norm"] = att + "q_norm.weight" in state
    if found["qk_norm"]:
        found["num_heads"] = channels // _shape(state, att + "q_norm.weight")[0]
    for key, prefix in (("k_proj", att + "k_proj"), ("v_proj", att + "v_proj"), ("ffn", "blocks.0.mlp")):
        depth = _depth(state, prefix)
        found["num_layers_" + key] = depth
        if depth >= 0:
            found[key + "_mlp_ratio"] = _shape(state, prefix + ".fc1.weight")[0] / channels
    return found


def _flare_activation(module):
    import torch

    act = getattr(getattr(module, "in_proj", None), "act", None)
    if act is None:
        return {}
    if isinstance(act, torch.nn.SiLU):
        return {"act": "silu"}
    if isinstance(act, torch.nn.GELU) and act.approximate == "tanh":
        return {"act": "gelu"}
    raise ExportError(f"activation {act} is none of FLAREModel, which has SiLU and GELU(approximate='tanh')")


def flare_from_module(module):
    """What the shapes cannot tell, where the module has it as the official class has."""
    found = _flare_activation(module)
    blocks = getattr(module, "blocks", None)
    if blocks is not None and len(blocks) > 0:
        for key in ("num_heads", "attn_scale"):
            value = getattr(getattr(blocks[0], "att", None), key, None)
            if value is not None:
                found[key] = value
    return found


def attributes_of(module, constructor):
    """Constructor arguments that the module keeps under their own names."""
    found = {}
    for key in constructor:
        value = getattr(module, key, None)
        if isinstance(value, tuple):
            value = list(value)
        if isinstance(value, (bool, int, float, str, list)) and constructor[key].problem(value) is None:
            found[key] = value
    return found


def _agrees(key, given, found, weights_are_of):
    if key.endswith("_mlp_ratio"):  # int(C * ratio) is what counts
        return int(weights_are_of * given) == int(round(weights_are_of * found))
    if isinstance(found, float):
        return isinstance(given, (int, float)) and abs(given - found) <= 1e-6 * abs(found)
    return given == found


def join(network, found, origin):
    """`network` with what was found; refuses what contradicts it."""
    joined = dict(network)
    channels = found.get("channel_dim", 1)
    for key, value in found.items():
        given = joined.get(key)
        if given is None:
            joined[key] = value
        elif not _agrees(key, given, value, channels):
            raise ExportError(f"card: network.{key} is {given!r}, but {origin} {value!r}")
    return joined
