# SPDX-License-Identifier: Apache-2.0
"""The check case: what PyTorch computes with these weights, in single and in double precision."""

import numpy as np

from . import evaluate
from .errors import ExportError

most_contradictory = 0.1  # `surrogate check` refuses cases whose single and double results are further apart
weak = 1e-3 / 3  # beyond, its bound of 1e-3 may be below what single precision can reach


def as_network_input(channels, is_grid):
    """float32 (1, n, channel) of points or (1, channel, n_lat, n_lon) of one sample's channels."""
    return np.stack(channels, axis=0 if is_grid else -1)[None].astype(np.float32)


def as_split_input(channels, split):
    """The same of points for networks that take several tensors, (name, channels) each: (n, channel)."""
    parts, first = {}, 0
    for name, n in split:
        if n > 0:
            parts[name] = np.stack(channels[first : first + n], axis=-1).astype(np.float32)
        first += n
    return parts


def thin(channels, most):
    """Evenly spaced points, at most `most` of them: networks on points take any number."""
    n = channels[0].shape[0]
    rows = np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))
    return [channel[rows] for channel in channels], rows


def distance(found, truth):
    """Relative L2, or the root mean square where the truth is zero."""
    truth = truth.astype(np.float64)
    difference = float(np.linalg.norm((found - truth).ravel()))
    norm = float(np.linalg.norm(truth.ravel()))
    return difference / norm if norm > 0 else difference / np.sqrt(truth.size)


def _require_finite(y):
    if not np.isfinite(y).all():
        raise ExportError("the network's output for the check case is not finite")


def _require_same_model(module, network, single, state, x, forward):
    """What was built anew from the card must compute what the module computes: this finds what shapes cannot show, heads,
    activations and scales."""
    own, most = evaluate.run_in_place(module, state, x, forward)
    _require_finite(own)
    difference = distance(single, own)
    if not difference <= most:
        given = ", ".join(f"{key} {value!r}" for key, value in (network or {}).items())
        raise ExportError(
            f"the card's network computes something else than the module (by {difference:.3g}): which hyperparameter is "
            f"wrong or missing? The card says {given}"
        )


def _double(module, state, x, say, forward):
    """The truth; None where the module's kernels have no double precision."""
    try:
        return evaluate.run(module, state, x, is_double=True, forward=forward)
    except RuntimeError as error:
        say(
            f"warning: the module does not run in double precision ({str(error).splitlines()[0][:200]}): the check case is "
            "of single precision alone, and surrogate check compares with that"
        )
        return None


def check_tensors(module, network, state, x, say, forward=None):
    """check/input/.. (x, or the names of a dict), check/output/y and, if there is one, check/output64/y as arrays; the
    distance of the last two."""
    for_single, for_double, word = evaluate.instances(module, network)
    if word:
        say("warning: " + word)
    try:
        single = evaluate.run(for_single, state, x, is_double=False, forward=forward)
    except ExportError as error:
        raise ExportError(f"the card's network is not the module's: {error}" if network else str(error)) from None
    _require_finite(single)
    _require_same_model(module, network, single, state, x, forward)
    inputs = x if isinstance(x, dict) else {"x": x}
    tensors = {"check/input/" + name: one for name, one in inputs.items()} | {"check/output/y": single}
    double = _double(for_double, state, x, say, forward)
    if double is None:
        return tensors, None
    _require_finite(double)
    error = distance(single, double)
    if error > most_contradictory:
        raise ExportError(
            f"single and double precision differ by {error:.3g} for the check case: not a case that can judge anything"
        )
    return tensors | {"check/output64/y": double}, error


def given_tensors(given):
    """The tensors of a check case that was computed elsewhere, by their names without check/; the distance of its outputs."""
    tensors = {}
    for name, array in given.items():
        array = np.ascontiguousarray(array)
        wanted = {"output64": np.float64, "output": np.float32, "input": np.float32}.get(name.split("/")[0])
        if wanted is None or name.count("/") != 1:
            raise ExportError(f"check_tensors: '{name}' is not input/.., output/.. or output64/..")
        if array.dtype.kind in "iu" and name.startswith("input/"):
            array = array.astype(np.int64)
        elif array.dtype.kind == "f":
            array = array.astype(wanted)
        else:
            raise ExportError(f"check_tensors: '{name}' holds {array.dtype}")
        if not np.isfinite(array).all():
            raise ExportError(f"check_tensors: '{name}' is not finite")
        tensors["check/" + name] = array
    outputs = [name for name in tensors if name.startswith(("check/output/", "check/output64/"))]
    if not outputs or len(outputs) == len(tensors):
        raise ExportError("check_tensors: needs input/.. and output/.. or output64/..")
    single, double = tensors.get("check/output/y"), tensors.get("check/output64/y")
    return tensors, None if single is None or double is None else distance(single, double)
