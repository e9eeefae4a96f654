# SPDX-License-Identifier: Apache-2.0
"""Hyperparameters of the official classes: names, kinds and defaults of their constructors.

Sources: FLAREModel in pdebench/models/flare.py of vpuri3/FLARE.py, commit 4e05378; SphericalTransformer and
SphericalSegformer in torch_harmonics/examples/models of torch-harmonics 0.9.3.
"""

import math
from dataclasses import dataclass
from typing import Any

from .errors import ExportError, did_you_mean, refuse_unknown_keys

required = object()  # a constructor argument without default


@dataclass(frozen=True)
class Parameter:
    """One constructor argument. kind: integer, integers, positive, number, boolean, or the choices."""

    kind: Any
    default: Any = required
    low: int = 1

    def problem(self, value):
        """What is wrong with the value; None if nothing is."""
        if isinstance(self.kind, tuple):
            return None if value in self.kind else "one of " + ", ".join(self.kind)
        return getattr(self, "_" + self.kind)(value)

    def _integer(self, value):
        is_good = isinstance(value, int) and not isinstance(value, bool) and value >= self.low
        return None if is_good else f"a whole number of at least {self.low}"

    def _integers(self, value):
        values = value if isinstance(value, list) else [value]
        is_good = values and all(self._integer(one) is None for one in values)
        return None if is_good else f"a list of whole numbers of at least {self.low}"

    def _boolean(self, value):
        return None if isinstance(value, bool) else "true or false"

    def _number(self, value):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return None if is_number and math.isfinite(value) else "a finite number"

    def _positive(self, value):
        return None if self._number(value) is None and value > 0 else "a number above 0"


grids = ("equiangular", "legendre-gauss", "lobatto", "equiangular-trapezoidal")
bases = ("piecewise linear", "morlet", "zernike", "harmonic", "fourier-bessel")
activations = ("gelu", "relu", "identity")
attention_modes = ("neighborhood", "global")

flare_model = {
    "in_dim": Parameter("integer"),
    "out_dim": Parameter("integer"),
    "channel_dim": Parameter("integer", 64),
    "num_blocks": Parameter("integer", 8, low=0),
    "num_heads": Parameter("integer", None),
    "act": Parameter(("gelu", "silu"), None),
    "rmsnorm": Parameter("boolean", False),
    "out_proj_norm": Parameter("boolean", True),
    "num_layers_in_out_proj": Parameter("integer", 2, low=-1),
    "attn_scale": Parameter("positive", 1.0),
    "num_latents": Parameter("integer"),
    "num_layers_k_proj": Parameter("integer", 3, low=-1),
    "num_layers_v_proj": Parameter("integer", 3, low=-1),
    "k_proj_mlp_ratio": Parameter("positive", 1.0),
    "v_proj_mlp_ratio": Parameter("positive", 1.0),
    "num_layers_ffn": Parameter("integer", 3, low=-1),
    "ffn_mlp_ratio": Parameter("positive", 1.0),
    "qk_norm": Parameter("boolean", False),
}

spherical_transformer = {
    "img_size": Parameter("integers", [128, 256]),
    "grid": Parameter(grids, "equiangular"),
    "grid_internal": Parameter(grids, "legendre-gauss"),
    "scale_factor": Parameter("integer", 3),
    "in_chans": Parameter("integer", 3),
    "out_chans": Parameter("integer", 3),
    "embed_dim": Parameter("integer", 256),
    "num_layers": Parameter("integer", 4, low=0),
    "activation_function": Parameter(activations, "gelu"),
    "encoder_kernel_shape": Parameter("integers", [3, 3]),
    "filter_basis_type": Parameter(bases, "morlet"),
    "num_heads": Parameter("integer", 1),
    "use_mlp": Parameter("boolean", True),
    "mlp_ratio": Parameter("positive", 2.0),
    "drop_rate": Parameter("number", 0.0),
    "drop_path_rate": Parameter("number", 0.0),
    "normalization_layer": Parameter(("none", "layer_norm", "instance_norm"), "none"),
    "hard_thresholding_fraction": Parameter("number", 1.0),
    "residual_prediction": Parameter("boolean", False),
    "pos_embed": Parameter(
        ("none", "spectral", "sequence", "learnable lat", "learnable latlon"), "spectral"
    ),
    "upsample_sht": Parameter("boolean", False),
    "attention_mode": Parameter(attention_modes, "neighborhood"),
    "bias": Parameter("boolean", False),
    "theta_cutoff": Parameter("positive", None),
}

spherical_segformer = {
    "img_size": Parameter("integers", [128, 256]),
    "grid": Parameter(grids, "equiangular"),
    "grid_internal": Parameter(grids, "legendre-gauss"),
    "in_chans": Parameter("integer", 3),
    "out_chans": Parameter("integer", 3),
    "embed_dims": Parameter("integers", [64, 128, 256, 512]),
    "heads": Parameter("integers", [1, 2, 4, 8]),
    "depths": Parameter("integers", [3, 4, 6, 3], low=0),
    "scale_factor": Parameter("integer", 2),
    "activation_function": Parameter(activations, "gelu"),
    "kernel_shape": Parameter("integers", [3, 3]),
    "filter_basis_type": Parameter(bases, "morlet"),
    "mlp_ratio": Parameter("positive", 2.0),
    "att_drop_rate": Parameter("number", 0.0),
    "drop_path_rate": Parameter("number", 0.1),
    "attention_mode": Parameter(attention_modes, "neighborhood"),
    "theta_cutoff": Parameter("positive", None),
    "upsampling_method": Parameter(("bilinear", "conv"), "bilinear"),
    "bias": Parameter("boolean", True),
}

# family -> class -> constructor. What the library runs.
families = {
    "flare": {"FLAREModel": flare_model, "FLAREExperimentalModel": flare_model},
    "sphere": {"SphericalTransformer": spherical_transformer, "SphericalSegformer": spherical_segformer},
}


def family_of_class(name):
    """The family that has a class of this name; None if none has."""
    return next((family for family, classes in families.items() if name in classes), None)


def constructor_of(family, network):
    """The constructor's table; None if the library does not run this family or class."""
    classes = families.get(family)
    if classes is None:
        near = did_you_mean(family, families)
        if "did you mean" in near:
            raise ExportError(f"card: family '{family}' is not known{near}")
        return None
    name = network.get("model", "FLAREModel" if family == "flare" else None)
    if name is None:
        raise ExportError(f"card: network.model must name the class: {', '.join(classes)}")
    if name not in classes and "did you mean" in did_you_mean(name, classes):
        raise ExportError(f"card: network.model '{name}' is not known{did_you_mean(name, classes)}")
    return classes.get(name)


def check_values(network, constructor):
    """Refuses unknown keys and values of the wrong kind. None means the default."""
    refuse_unknown_keys(network, ["model", *constructor], "card: network")
    for key, parameter in constructor.items():
        value = network.get(key)
        problem = None if value is None else parameter.problem(value)
        if problem:
            raise ExportError(f"card: network.{key} must be {problem}, is {value!r}")


def check_complete(network, constructor):
    """Refuses a network that lacks what its constructor needs."""
    for key, parameter in constructor.items():
        if parameter.default is required and network.get(key) is None:
            raise ExportError(f"card: network.{key} is missing")


def arguments_of(network):
    """What the constructor is called with. Lists of JSON become tuples: torch-harmonics keeps tables by their sizes."""
    return {key: tuple(v) if isinstance(v, list) else v for key, v in network.items() if key != "model"}


def value_of(network, constructor, key):
    """The value given, or the constructor's default."""
    value = network.get(key)
    return constructor[key].default if value is None else value


def widths_of(family, network, constructor):
    """Channels of input and output."""
    keys = ("in_dim", "out_dim") if family == "flare" else ("in_chans", "out_chans")
    return tuple(value_of(network, constructor, key) for key in keys)
