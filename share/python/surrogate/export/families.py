# SPDX-License-Identifier: Apache-2.0
"""Hyperparameters of the official classes: names, kinds and defaults of their constructors.

Names and defaults of the other families are those of their pages (share/doc/reference/families/bsa.md, erwin.md, sequoia.md, hept.md): their
authors' code has no one class for them.

Sources: FLARE in physicsnemo/models/flare of nvidia-physicsnemo 2.2.2; FLAREModel in pdebench/models/flare.py of vpuri3/FLARE.py, commit 4e05378; SphericalTransformer and
SphericalSegformer in torch_harmonics/examples/models of torch-harmonics 0.9.3.
"""

import math
from dataclasses import dataclass
from typing import Any

from . import physicsnemo_flare
from .errors import ExportError, did_you_mean, refuse_unknown_keys

required = object()  # a constructor argument without default


@dataclass(frozen=True)
class Parameter:
    """One constructor argument. kind: integer, integers, positive, number, boolean, text, numbers (also as hexadecimal
    texts), words, an object with parameters of its own (a dict), or the choices (a tuple)."""

    kind: Any
    default: Any = required
    low: int = 1

    def problem(self, value):
        """What is wrong with the value; None if nothing is."""
        if isinstance(self.kind, dict):
            return self._problem_inside(value)
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

    def _problem_inside(self, value):
        if not isinstance(value, dict):
            return "an object"
        for key, one in value.items():
            if key not in self.kind:
                return f"without the unknown key '{key}'{did_you_mean(key, self.kind)}"
            problem = None if one is None else self.kind[key].problem(one)
            if problem:
                return f"an object whose {key} is {problem}"
        return None

    def _text(self, value):
        return None if isinstance(value, str) else "a text"

    def _words(self, value):
        is_good = isinstance(value, list) and all(isinstance(one, str) for one in value)
        return None if is_good else "a list of words"

    def _numbers(self, value):
        def is_number(one):
            try:
                return math.isfinite(float.fromhex(one) if isinstance(one, str) else float(one))
            except (TypeError, ValueError, OverflowError):
                return False

        return None if isinstance(value, list) and all(map(is_number, value)) else "a list of finite numbers"

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

physicsnemo_flare_model = {
    "functional_dim": Parameter("integer", low=0),
    "out_dim": Parameter("integer"),
    "embedding_dim": Parameter("integer"),
    "n_layers": Parameter("integer", 4),
    "n_hidden": Parameter("integer", 256),
    "dropout": Parameter("number", 0.0),
    "n_head": Parameter("integer", 8),
    "act": Parameter(("gelu", "silu", "relu", "tanh", "identity"), "gelu"),
    "mlp_ratio": Parameter("integer", 4),
    "slice_num": Parameter("integer", 32),
    "unified_pos": Parameter("boolean", False),
    "ref": Parameter("integer", 8),
    "structured_shape": Parameter("integers", None),
    "time_input": Parameter("boolean", False),
    "use_te": Parameter("boolean", False),
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

sparse_attention = {
    "compress_block_size": Parameter("integer", 8),
    "selected_blocks_number": Parameter("integer", 4),
    "use_compress_mlp": Parameter("boolean", True),
    "compress_mlp_expand_factor": Parameter("positive", 2.0),
    "use_group_selection": Parameter("boolean", True),
    "group_selection_size": Parameter("integer", 8),
    "should_mask_blocks_in_ball": Parameter("boolean", True),
    "use_token_gated_attention": Parameter("boolean", True),
    "use_coarse_q_attn": Parameter("boolean", False),
    "use_coarse_q_importance": Parameter("boolean", False),
}

bsa_network = {
    "c_in": Parameter("integer", 64),
    "c_hidden": Parameter("integer", 64),
    "c_out": Parameter("integer", 1),
    "depth": Parameter("integer", 18, low=0),
    "num_heads": Parameter("integer", 8),
    "mlp_ratio": Parameter("integer", 4),
    "dimensionality": Parameter("integer", 3),
    "ball_size": Parameter("integer", 256, low=2),
    "block_size": Parameter("integer", 6, low=0),
    "should_rotate": Parameter("boolean", True),
    "rotation_angle": Parameter("number", 45.0),
    "rotation": Parameter("numbers", None),
    "attention_type": Parameter(("sparse", "ball", "global"), "sparse"),
    "attention_kwargs": Parameter(sparse_attention, None),
    "pos_enc": Parameter(("fourier", "linear", "none"), "fourier"),
    "rotated_order": Parameter(("full", "ball"), "full"),
    "sigma_trainable": Parameter("boolean", False),
}

erwin_ball_attention = {
    "dim": Parameter("integer", 64),
    "heads": Parameter("integer", 8),
    "ball": Parameter("integer", 256, low=2),
    "d": Parameter("integer", 3),
    "qkv_layout": Parameter("text", "interleaved"),
}

erwin_network = {
    "c_in": Parameter("integer", 64),
    "dimensionality": Parameter("integer", 3),
    "mp_steps": Parameter("integer", 3, low=0),
    "mlp_ratio": Parameter("integer", 4),
    "rotate": Parameter("number", 0.0),
    "rotation": Parameter("numbers", None),
    "neighbors": Parameter("integer", 0, low=0),
    "c_out": Parameter("integer", 0, low=0),
    "pos_enc": Parameter(("fourier", "linear", "none"), "none"),
    "c_hidden": Parameter("integers"),
    "strides": Parameter("integers", []),
    "ball_sizes": Parameter("integers"),
    "enc_num_heads": Parameter("integers"),
    "enc_depths": Parameter("integers", low=0),
    "dec_num_heads": Parameter("integers", []),
    "dec_depths": Parameter("integers", [], low=0),
}

sequoia_network = {
    "pos_enc": Parameter(("fourier", "linear", "none", "tokens"), "fourier"),
    "tree": Parameter(("points", "sequence"), None),
    "c_in": Parameter("integer", 64),
    "dimensionality": Parameter("integer", 3),
    "num_classes": Parameter("integer", 1),
    "vocab_size": Parameter("integer", None),
    "max_seq_len": Parameter("integer", None),
    "ragged": Parameter(("exact", "repeat"), None),
    "virtual_pos_encodings": Parameter(("none", "sin"), None),
    "level_marker": Parameter(("none", "zero"), None),
    "pooling_mode": Parameter(("NONE", "MEAN"), None),
    "transformer_dim": Parameter("integer", 128),
    "num_head": Parameter("integer", 4),
    "head_dim": Parameter("integer", 128),
    "transformer_hidden_dim": Parameter("integer", 128),
    "num_layers": Parameter("integer", 4, low=0),
    "tied_weights": Parameter("boolean", False),
    "dropout_prob": Parameter("number", 0.1),
    "k": Parameter("integer", 16, low=2),
    "seq_mode": Parameter(("bottom-up", "top-down", "complete", "interleaved"), "bottom-up"),
    "ancestors": Parameter(("all", "parent", "none"), "all"),
    "drop": Parameter("words", []),
    "probe_layer": Parameter(("true", "root", "virtual", "all"), "true"),
}

hept_network = {
    "task": Parameter(("tracking", "pileup"), "tracking"),
    "in_dim": Parameter("integer", None),
    "coords_dim": Parameter("integer", None, low=2),
    "num_classes": Parameter("integer", None),
    "h_dim": Parameter("integer", 24, low=2),
    "num_heads": Parameter("integer", 8),
    "n_layers": Parameter("integer", 4),
    "n_hashes": Parameter("integer", 3),
    "num_w_per_dist": Parameter("integer", 10),
    "num_regions": Parameter("integer", None, low=4),
    "block_size": Parameter("integer"),
    "padding": Parameter(("zero", "duplicate", "masked"), None),
    "implementation": Parameter(("S", "X", "independent"), None),
    "dropout": Parameter("number", 0.1),
    "use_ckpt": Parameter("boolean", False),
    "pe_type": Parameter(("none",), "none"),
}

# family -> class -> constructor. What the library runs.
families = {
    "flare": {"FLAREModel": flare_model, "FLAREExperimentalModel": flare_model, "FLARE": physicsnemo_flare_model},
    "sphere": {"SphericalTransformer": spherical_transformer, "SphericalSegformer": spherical_segformer},
    "bsa": {"bsa": bsa_network, "erwin_ball_attention": erwin_ball_attention},
    "erwin": {None: erwin_network},
    "sequoia": {None: sequoia_network},
    "hept": {None: hept_network},
}

# The class of a card without network.model; None: the family's cards name none.
unnamed = {"flare": "FLAREModel", "bsa": "bsa", "erwin": None, "sequoia": None, "hept": None}

# Families whose network takes its coordinates as a tensor of their own: the names of the two tensors.
split_inputs = {
    "bsa": ("positions", "features"),
    "erwin": ("positions", "features"),
    "sequoia": ("positions", "features"),
    "hept": ("coords", "x"),
}


def split_of(family, network, n_coordinate, n_input):
    """(name, channels) of the tensors that the network takes; None for networks that take one."""
    if family == "flare":
        return physicsnemo_flare.split(network) if physicsnemo_flare.is_network(network) else None
    names = input_names(family, network)
    return names and [(names[0], n_coordinate), (names[1], n_input - n_coordinate)]


def input_names(family, network):
    """Names of the tensors for coordinates and for fields; None for networks that take one tensor."""
    if family == "bsa" and network.get("model") == "erwin_ball_attention":
        return "positions", "x"
    return split_inputs.get(family)


def is_built_by_card(family):
    """Whether a module can be made from the card's network: the official constructors have these names."""
    return family in ("flare", "sphere")


def family_of_class(name):
    """The family that has a class of this name; None if none has."""
    return next((family for family, classes in families.items() if name is not None and name in classes), None)


def constructor_of(family, network):
    """Returns the constructor's table. Raises ExportError for a family or class that the library does not run."""
    classes = families.get(family)
    if classes is None:
        raise ExportError(f"card: family '{family}' is not known{did_you_mean(family, families)}")
    name = network.get("model") or unnamed.get(family)
    if name is None and name not in classes:
        raise ExportError(f"card: network.model is missing, expected one of {', '.join(classes)}")
    if None in classes and name is not None:
        raise ExportError(f"card: network.model is {name!r}; cards of family '{family}' have no such key")
    if name not in classes:
        raise ExportError(f"card: network.model '{name}' is not known{did_you_mean(name, classes)}")
    return classes[name]


def check_values(network, constructor):
    """Refuses unknown keys and values of the wrong kind. None means the default."""
    refuse_unknown_keys(network, ["model", *constructor], "card: network")
    for key, parameter in constructor.items():
        value = network.get(key)
        problem = None if value is None else parameter.problem(value)
        if problem:
            raise ExportError(f"card: network.{key} is {value!r}, expected {problem}")


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


def _widths_of_trees(network, value, out):
    has_fields = value("pos_enc") == "none"
    return value("dimensionality") + (value("c_in") if has_fields else 0), value(out)


def widths_of(family, network, constructor):
    """Channels of input and output, as the card's inputs and outputs list them."""

    def value(key):
        return value_of(network, constructor, key)

    if physicsnemo_flare.is_network(network):
        return sum(n for _, n in physicsnemo_flare.split(network)), value("out_dim")
    if family == "flare":
        return value("in_dim"), value("out_dim")
    if family == "sphere":
        return value("in_chans"), value("out_chans")
    if family == "bsa" and "dim" in constructor:
        return value("d") + value("dim"), value("dim")
    if family == "bsa":
        return _widths_of_trees(network, value, "c_out")
    if family == "erwin":
        n_in, n_out = _widths_of_trees(network, value, "c_out")
        return n_in, n_out or value("c_hidden")[0]
    if family == "sequoia":
        return (1, value("num_classes")) if value("pos_enc") == "tokens" else _widths_of_trees(network, value, "num_classes")
    is_pileup = value("task") == "pileup"
    n_in = (value("coords_dim") or (4 if is_pileup else 6)) + (value("in_dim") or (8 if is_pileup else 15))
    return n_in, value("num_classes") or (1 if is_pileup else value("h_dim") // 2)
