# SPDX-License-Identifier: Apache-2.0
"""The models stored in tests/data/export: hyperparameters, weights, arrays and cards that every machine makes alike.

    python3 export_cases.py FOLDER [flare.py]

writes them, with the official class of flare.py (pdebench/models/flare.py of vpuri3/FLARE.py, commit 4e05378) or, without
one, with that of flare_module.py; that of the sphere with torch-harmonics, where there is one. The stored files are those of
the official classes (torch-harmonics 0.9.3).
"""

import importlib.util
import os
import sys

import numpy as np
import torch

share = os.environ.get("SURROGATE_SHARE", os.path.join(os.path.dirname(__file__), "..", "..", "..", "share"))
sys.path.insert(0, os.path.join(share, "python"))

from export import export_model  # noqa: E402
from surrogate.export import sources  # noqa: E402


def numbers(n, seed):
    """n numbers in [-1/2, 1/2), the same bits everywhere: no sine, no generator of a library."""
    words = (np.arange(n, dtype=np.uint64) + np.uint64(seed) * np.uint64(1 << 32)) * np.uint64(0x9E3779B97F4A7C15)
    words ^= words >> np.uint64(29)
    words *= np.uint64(0xBF58476D1CE4E5B9)
    return (words >> np.uint64(40)).astype(np.float64) / 2**24 - 0.5


def fill(module, dtype):
    """Deterministic weights that make attention do something: norms near 1, latents of size 1."""
    state = module.state_dict()
    for seed, (name, tensor) in enumerate(state.items()):
        if name.startswith("pos_embed"):
            continue  # computed by the class
        values = numbers(tensor.numel(), seed + 1)
        if "norm" in name.split(".")[-2] or name.startswith("out_proj.0"):
            values = values / 4 + (1 if name.endswith("weight") else 0)
        elif name.endswith("latent_q"):
            values = 4 * values
        elif tensor.ndim >= 2:
            fan_in = tensor.numel() // tensor.shape[0]
            values = values * 2 / 2 ** round(np.log2(fan_in) / 2)  # a power of 2: exact
        state[name] = torch.from_numpy(values).reshape(tensor.shape).to(dtype)
    module.load_state_dict(state)
    return module.to(dtype)


def arrays(n_sample, n_point):
    """Coordinates of a square of 2 m (one sample for all), a field, and two targets."""
    rows = np.arange(n_point)
    field = 3 + 9 * (numbers(n_sample * n_point, 77).reshape(n_sample, n_point) + 0.5)
    return {
        "x": 2 * ((rows * 7) % n_point + 0.5) / n_point,
        "y": 2 * ((rows * 11) % n_point + 0.5) / n_point,
        "mobility": field.astype(np.float32),
        "pressure": 1 / field,
        "speed": field / 8 - 1,
    }


def card():
    return {
        "family": "flare",
        "inputs": [
            {"name": "x", "role": "coordinate", "axis": 0, "unit": "m"},
            {"name": "y", "role": "coordinate", "axis": 1, "unit": "m"},
            {"name": "mobility", "unit": "m^2/(Pa s)"},
        ],
        "outputs": [{"name": "pressure", "unit": "Pa"}, {"name": "speed", "unit": "m/s", "mean": 0.0, "std": 0.5}],
        "provenance": {"data": "made up", "license": "Apache-2.0"},
    }


# name -> constructor arguments and type of the weights. Sizes that are no multiples of anything.
cases = {
    "flare_defaults": (
        {"in_dim": 3, "out_dim": 2, "channel_dim": 24, "num_blocks": 2, "num_heads": 3, "num_latents": 5}, torch.float32),
    "flare_options_bf16": (
        {"in_dim": 3, "out_dim": 2, "channel_dim": 16, "num_blocks": 2, "num_heads": 4, "num_latents": 7, "act": "silu",
         "rmsnorm": True, "qk_norm": True, "attn_scale": 0.5, "num_layers_k_proj": -1, "num_layers_v_proj": 0,
         "num_layers_ffn": 1, "ffn_mlp_ratio": 1.5, "num_layers_in_out_proj": 1, "out_proj_norm": False}, torch.bfloat16),
}


def make(name, class_):
    """The module of a case with its weights."""
    network, dtype = cases[name]
    return fill(class_(**network), dtype)


def export_case(name, class_, folder, say=print):
    """Exports a case into the folder; returns path and card. Hyperparameters come from the module alone."""
    path = os.path.join(folder, name + ".safetensors")
    data = arrays(3, 61)
    outputs = {key: data.pop(key) for key in ("pressure", "speed")}
    return path, export_model(path, make(name, class_), card=card(), inputs=data, outputs=outputs, check_points=41, say=say)


sphere_network = {
    "img_size": [13, 24], "grid": "equiangular", "scale_factor": 2, "in_chans": 2, "out_chans": 2, "embed_dim": 8,
    "num_layers": 2, "encoder_kernel_shape": [3, 3], "filter_basis_type": "morlet", "num_heads": 2, "bias": True,
    "normalization_layer": "layer_norm", "residual_prediction": True,
}


def export_sphere(folder, say=print, **changes):
    """A Spherical Transformer, its weights as float16; needs torch-harmonics."""
    from torch_harmonics.examples.models import SphericalTransformer

    tuples = {key: tuple(value) if isinstance(value, list) else value for key, value in sphere_network.items()}
    module = fill(SphericalTransformer(**tuples), torch.float32)
    state = {name: t if name.startswith("pos_embed") else t.half() for name, t in module.state_dict().items()}
    module.load_state_dict(state)
    values = numbers(2 * 2 * 13 * 24, 5).reshape(2, 2, 13, 24)  # (sample, channel, n_lat, n_lon)
    fields = [{"name": "depth", "unit": "m"}, {"name": "vorticity", "unit": "1/s"}]
    path = os.path.join(folder, "sphere_transformer_f16.safetensors")
    # Arguments that the module does not keep under its constructor's names.
    told = {key: sphere_network[key] for key in ("num_heads", "bias", "filter_basis_type")} | changes
    sphere_card = {"network": told, "inputs": fields, "outputs": fields, "conventions": "torch-harmonics 0.9.3",
                   "provenance": {"data": "made up", "license": "Apache-2.0"}}
    scale = np.array([100.0, 1e-5]).reshape(1, 2, 1, 1)
    arrays_ = values * scale + np.array([1e4, 0.0]).reshape(1, 2, 1, 1)
    return path, export_model(path, module, state_dict=state, card=sphere_card, inputs=arrays_, outputs=arrays_, say=say)


def main():
    folder = sys.argv[1]
    flare = sys.argv[2] if len(sys.argv) > 2 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "flare_module.py")
    for name in cases:
        export_case(name, sources.load_class(flare + ":FLAREModel"), folder)
    if importlib.util.find_spec("torch_harmonics"):
        export_sphere(folder)


if __name__ == "__main__":
    main()
